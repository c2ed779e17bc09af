// SPDX-License-Identifier: Apache-2.0
#pragma once
// Activation functions of the operations, with the values of tw_activation.

#include <cstdint>

#include "base/status.hpp"

namespace tw {

enum class Activation : int32_t { identity = 0, relu = 1, gelu = 2, gelu_tanh = 3, silu = 4 };

/// Fails if the number is not an activation.
Status check_activation(Activation activation);

/// Returns for example "relu"; an empty string for the identity.
const char* activation_name(Activation activation);

}  // namespace tw
