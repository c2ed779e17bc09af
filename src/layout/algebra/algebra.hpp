// SPDX-License-Identifier: Apache-2.0
#pragma once
// The layout algebra: one header for each family of functions. Names and results are CuTe's. Where
// CuTe would return a layout that is mathematically wrong, these functions return the right one or
// fail with ERROR_NOT_A_LAYOUT and the reason. `out` must not be an operand and is undefined after
// an error.
//
// Functions that only split, join or reorder modes keep the frame (swizzle and offset or origin).
// Functions whose result would depend on the frame fail if there is one.

#include "layout/algebra/common.hpp"
#include "layout/algebra/composition.hpp"
#include "layout/algebra/divide.hpp"
#include "layout/algebra/inverse.hpp"
#include "layout/algebra/make.hpp"
#include "layout/algebra/modes.hpp"
#include "layout/algebra/product.hpp"
#include "layout/algebra/queries.hpp"
#include "layout/algebra/recast.hpp"
#include "layout/algebra/slice.hpp"
#include "layout/algebra/tiler.hpp"
