// SPDX-License-Identifier: Apache-2.0
// What an elementwise run must give, and its launch.
#include <bit>
#include <cinttypes>
#include <cmath>

#include "base/decimal.hpp"
#include "base/excluded.hpp"
#include "ops/elementwise/elementwise.hpp"

namespace tw {

// A factor as the kernels take it: f32, f64, or an integer that wraps.
Status ElementwisePlan::factor(const char* argument, float value, u64* bits) const {
  const uint32_t kind = shape_.kind[kOperandDst];
  if (kind < kWordUnsigned) {
    *bits = bits_of(value);
    return {};
  }
  if (kind == kWordF64) {
    *bits = std::bit_cast<u64>(static_cast<double>(value));
    return {};
  }
  if (value != std::trunc(value) || !(std::fabs(value) < 0x1p63f))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = argument, .rule = "elementwise_whole_factor"},
                "%s is %s: integers are multiplied by whole numbers below 2^63", argument,
                Decimal::shortest(static_cast<double>(value), 9).text());
  *bits = static_cast<u64>(static_cast<int64_t>(value));
  return {};
}

// The address of a scalar; `beta` where it is the second source's.
Status ElementwisePlan::check_scalar(const char* argument, uint64_t address, bool beta) const {
  if (address == 0) return {};
  const Fault fault{.argument = argument, .rule = "elementwise_option"};
  if (!desc_.device_scalars)
    return fail(Code::ERROR_INVALID_ARGUMENT, fault,
                "%s is 0x%" PRIx64
                ", and the description's flags lack TW_ELEMENTWISE_DEVICE_SCALARS",
                argument, address);
  if (beta && !has_beta())
    return fail(Code::ERROR_INVALID_ARGUMENT, fault,
                "%s is 0x%" PRIx64 ", and the description has no beta, for %s: leave it 0",
                argument, address, shape_.sources == 1 ? "there is no b" : "b is multiplied by a");
  return check_address(argument, address, 4);
}

Status ElementwisePlan::check_factors(const ElementwiseRun& run, u64* alpha, u64* beta) const {
  TW_TRY(check_scalar("device_alpha", run.device_alpha, false));
  TW_TRY(check_scalar("device_beta", run.device_beta, true));
  TW_TRY(factor("alpha", run.alpha, alpha));
  *beta = 0;
  if (has_beta()) return factor("beta", run.beta, beta);
  if (shape_.sources == 1) {
    TW_TRY(check_no_address("b", run.address[kOperandB], "the description has no b"));
    return check_excluded(run.beta == 1.0f, "beta", static_cast<int64_t>(run.beta),
                          "the description has no b");
  }
  if (shape_.sources == 2 && !(run.beta == 1))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "beta", .rule = "elementwise_multiply_beta"},
                "beta is %s, and combine is TW_COMBINE_MULTIPLY, which has no beta: leave it 1, as "
                "tw_elementwise_args_init() sets it",
                Decimal::shortest(static_cast<double>(run.beta), 9).text());
  return {};
}

Status ElementwisePlan::check_addresses(const ElementwiseRun& run) const {
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    if (shape_.bytes[o] != 0)
      TW_TRY(check_address(operand_name(o), run.address[o], shape_.bytes[o], desc_.alignment[o]));
  TW_TRY(check_elementwise_disjoint(shape_, run.address));
  const uint64_t dst = run.address[kOperandDst];
  if (run.device_alpha != 0)
    TW_TRY(check_elementwise_scalar(shape_, "device_alpha", run.device_alpha, dst));
  if (run.device_beta != 0)
    TW_TRY(check_elementwise_scalar(shape_, "device_beta", run.device_beta, dst));
  return check_memory(run);
}

Status ElementwisePlan::check_memory(const ElementwiseRun& run) const {
  if (!device()->checks_memory()) return {};
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    if (shape_.bytes[o] != 0)
      TW_TRY(check_memory_range(*device(), operand_name(o), run.address[o], shape_.range[o]));
  TW_TRY(device()->check_memory("device_alpha", run.device_alpha, run.device_alpha == 0 ? 0 : 4));
  return device()->check_memory("device_beta", run.device_beta, run.device_beta == 0 ? 0 : 4);
}

Status ElementwisePlan::run(Stream& stream, const ElementwiseRun& run) const {
  u64 alpha = 0;
  u64 beta = 0;
  TW_TRY(check_factors(run, &alpha, &beta));
  if (shape_.empty) return {};
  TW_TRY(check_addresses(run));
  const Placed at = first(run.address);
  const uint32_t method = choose(at);
  if (method == 0)
    return fail(Code::ERROR_MISALIGNED, {.argument = "a", .rule = "elementwise_methods"},
                "the only method allowed needs operands that lie alike modulo %u elements",
                vector_);
  ElementwiseArgs args = arguments(method, at);
  args.alpha = alpha;
  args.beta = beta;
  args.device_alpha = run.device_alpha;
  args.device_beta = run.device_beta;
  return stream.launch(*kernels_[method].kernel, config(method, args), &args, sizeof args);
}

}  // namespace tw
