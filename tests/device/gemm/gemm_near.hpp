// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers with error bounds, propagated through an epilogue.

#include <cmath>

#include "tests/device/common/activations.hpp"

namespace tw::test {

/// A number and the error bound of its computed value.
struct Near {
  double value, error;
};

/// Propagates an error: no slope exceeds 1.13; activation.h has the functions' own errors.
inline Near activated(Activation which, const Near& x) {
  const double own = which == Activation::identity || which == Activation::relu
                         ? 0.0
                         : 0x1p-20 * std::fabs(x.value) + 0x1p-23;
  return {exact_activation(which, x.value), 1.13 * x.error + own};
}

inline Near product(const Near& a, const Near& b) {
  const double value = a.value * b.value;
  return {value, std::fabs(a.value) * b.error + std::fabs(b.value) * a.error + a.error * b.error +
                     std::fabs(value) * 0x1p-24};
}

}  // namespace tw::test
