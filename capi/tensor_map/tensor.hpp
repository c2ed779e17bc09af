// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "capi/common/boundary.hpp"

namespace tw::capi {

/// Reads a tensor of the caller. Refuses one that is not initialized, has an unknown type, or has
/// an invalid rank or extent. `name` is the name of the argument.
Status read_tensor(const tw_tensor* tensor, const char* name, tw_tensor* out);

}  // namespace tw::capi
