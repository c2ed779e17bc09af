// SPDX-License-Identifier: Apache-2.0
#pragma once
// The activation functions in float64, and the errors that the API states for them.

#include <cmath>

#include "ops/common/activation.hpp"

namespace tw::test {

inline double exact_activation(Activation which, double x) {
  switch (which) {
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:  // x / 2 (1 + tanh(u)), without its cancellation
      return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    default:
      return x;
  }
}

/// Error bound of a function's result, for an exact argument.
inline double activation_error(Activation which, double x) {
  const double value = std::fabs(exact_activation(which, x));
  switch (which) {
    case Activation::gelu:
      return 0x1p-21 * std::fabs(x);
    case Activation::gelu_tanh:
      return 0x1p-20 * (1 + std::fabs(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) * value +
             0x1p-110;
    case Activation::silu:
      return 0x1p-20 * (1 + std::fabs(x)) * value + 0x1p-110;
    default:
      return 0;
  }
}

}  // namespace tw::test
