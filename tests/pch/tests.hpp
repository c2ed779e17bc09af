// SPDX-License-Identifier: Apache-2.0
// Headers that most tests include, precompiled once per test program because parsing them dominates
// the build time. Sources still include what they use; -Db_pch=false verifies it.
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
