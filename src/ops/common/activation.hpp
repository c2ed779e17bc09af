// SPDX-License-Identifier: Apache-2.0
#pragma once
// The activation functions that operations apply, as tw_activation numbers them.

#include <cstdint>

#include "base/status.hpp"

namespace tw {

enum class Activation : int32_t { identity = 0, relu = 1, gelu = 2, gelu_tanh = 3, silu = 4 };

/// Refuses a number that is no activation.
Status check_activation(Activation activation);

/// "relu"; empty for the identity.
const char* activation_name(Activation activation);

}  // namespace tw
