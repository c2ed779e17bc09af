// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout handle: a plain value that belongs to no device and never changes.

#include "layout/layout.hpp"
#include "tilewright.h"

struct tw_layout {
  tw::Layout value;
};
