// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "capi/common/boundary.hpp"

namespace tw::capi {

/// A tensor that comes in: initialised, of a known type, with a rank and extents that can be.
/// `name` is the argument's.
Status read_tensor(const tw_tensor* tensor, const char* name, tw_tensor* out);

}  // namespace tw::capi
