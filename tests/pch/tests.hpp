// SPDX-License-Identifier: Apache-2.0
// What most tests include, compiled once for each program of several sources: it takes longer than
// what a source does with it. Sources include what they use all the same; -Db_pch=false shows it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>
