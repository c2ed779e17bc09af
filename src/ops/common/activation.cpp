// SPDX-License-Identifier: Apache-2.0
#include "ops/common/activation.hpp"

#include "kernels/common/activation.h"

namespace tw {

static_assert(+kActIdentity == static_cast<uint32_t>(Activation::identity) &&
              +kActRelu == static_cast<uint32_t>(Activation::relu) &&
              +kActGelu == static_cast<uint32_t>(Activation::gelu) &&
              +kActGeluTanh == static_cast<uint32_t>(Activation::gelu_tanh) &&
              +kActSilu == static_cast<uint32_t>(Activation::silu));

Status check_activation(Activation activation) {
  if (activation >= Activation::identity && activation <= Activation::silu) return {};
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "activation",
               .rule = "activation",
               .got = static_cast<int64_t>(activation),
               .limit = static_cast<int64_t>(Activation::silu)},
              "activation is %d: TW_ACTIVATION_NONE is 0, RELU 1, GELU 2, GELU_TANH 3, SILU 4",
              static_cast<int>(activation));
}

const char* activation_name(Activation activation) {
  constexpr const char* kNames[] = {"", "relu", "gelu", "gelu_tanh", "silu"};
  return kNames[static_cast<int32_t>(activation)];
}

}  // namespace tw
