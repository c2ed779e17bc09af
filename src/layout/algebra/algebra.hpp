// SPDX-License-Identifier: Apache-2.0
#pragma once
// All verbs of the algebra, a header for each family. Names and answers are CuTe's; where CuTe
// would return a layout that is not the mathematical answer these return the right one, or refuse
// with ERROR_NOT_A_LAYOUT and the reason. `out` must not be an operand and is undefined after an
// error.
//
// Verbs that only cut, join or reorder modes keep a layout's swizzle and offset in front; those
// whose answer would depend on them refuse them.

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
