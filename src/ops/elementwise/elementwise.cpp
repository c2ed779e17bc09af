// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.hpp"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "base/checked.hpp"
#include "base/decimal.hpp"
#include "base/excluded.hpp"
#include "ops/common/rows_ring.hpp"

namespace tw {
namespace {

constexpr const char* kAlignmentNames[] = {"a_alignment", "b_alignment", "dst_alignment"};

Status read_desc(const ElementwiseDesc& desc, ElementwiseShape* shape) {
  TW_TRY(elementwise_shape(desc, shape));
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    if (shape->bytes[o] != 0)
      TW_TRY(check_alignment(kAlignmentNames[o], desc.alignment[o], shape->bytes[o]));
  TW_TRY(check_cache("src_cache", desc.src_cache));
  return check_cache("dst_cache", desc.dst_cache);
}

}  // namespace

Status ElementwisePlan::check(const Device&, const ElementwiseDesc& desc) {
  ElementwiseShape shape;
  return read_desc(desc, &shape);
}

Status ElementwisePlan::create(const std::shared_ptr<Device>& device, const ElementwiseDesc& desc,
                               std::unique_ptr<Plan>* out) {
  ElementwiseShape shape;
  TW_TRY(read_desc(desc, &shape));
  std::unique_ptr<ElementwisePlan> plan(new ElementwisePlan(device, desc, shape));
  if (!shape.empty) TW_TRY(plan->prepare());
  *out = std::move(plan);
  return {};
}

Status ElementwisePlan::prepare() {
  vector_ = elementwise_vector(shape_.bytes, static_cast<u32>(desc_.activation));
  fill_common();
  fill_strided();
  rows_equally_misaligned_ = true;
  const int64_t vector_bytes = int64_t{vector_} * shape_.bytes[kOperandDst];
  for (int32_t d = shape_.row_dims; d < shape_.rank; ++d)
    rows_equally_misaligned_ =
        rows_equally_misaligned_ && shape_.stride[kOperandDst][d] % vector_bytes == 0;
  // Rows of less than two vectors consist mostly of partial vectors.
  const bool vectors_pay = shape_.row_elements >= 2 * int64_t{vector_} ||
                           (desc_.methods & 1u << kElementwiseStrided) == 0;
  vectors_ = (desc_.methods & 1u << kElementwiseVectors) != 0 && shape_.row_dims == 1 &&
             vectors_pay && strides_keep_misalignment() && fill_vectors(vector_ - 1);
  if (vectors_) TW_TRY(prepare_method(kElementwiseVectors));
  if (desc_.methods & 1u << kElementwiseStrided) return prepare_method(kElementwiseStrided);
  if (vectors_) return {};
  return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
              "none of the allowed methods 0x%x supports this description", desc_.methods);
}

// Returns the class of elements (kElementwiseConvert and so on) that the kernel entry must serve.
uint32_t ElementwisePlan::element_class() const {
  if (shape_.kind[kOperandDst] >= kTypeUnsigned) return kElementwiseIntegersF64;
  const bool converts = shape_.sources == 1 && desc_.reduction == kReduceNone &&
                        desc_.activation == Activation::identity;
  return converts ? kElementwiseConvert : kElementwiseFloats;
}

Status ElementwisePlan::prepare_method(uint32_t method) {
  const uint32_t detail = method == kElementwiseVectors ? vector_ | element_class() << 8 : 0;
  const KernelEntry* entry =
      find_entry(*device(), Family::elementwise, [&](const KernelEntry& candidate) {
        return (candidate.variant & 0xff) == method &&
               (candidate.feature == feature::host || candidate.variant >> 8 == detail);
      });
  return prepare_entry(*device(), Family::elementwise, entry, 0, &kernels_[method]);
}

void ElementwisePlan::fill_common() {
  ElementwiseArgs args{};
  args.src_policy = cache_policy(desc_.src_cache);
  args.dst_policy = cache_policy(desc_.dst_cache);
  args.row_elements = static_cast<u64>(shape_.row_elements);
  args.sources = shape_.sources;
  for (uint32_t o = 0; o < kElementwiseOperands; ++o) {
    args.kind[o] = shape_.kind[o];
    args.bytes[o] = shape_.bytes[o];
  }
  args.dst_shift = static_cast<u32>(std::countr_zero(shape_.bytes[kOperandDst]));
  args.reduction = static_cast<u32>(desc_.reduction);
  args.combine = desc_.combine;
  args.activation = static_cast<u32>(desc_.activation);
  args.saturate_at =
      desc_.saturates ? format_max(shape_.kind[kOperandDst]) : float_of(kInfinityF32);
  args.rank = 1;
  args.extent[0] = 1;
  args.divider[0] = make_divider(1);
  vector_args_ = strided_args_ = args;
}

bool ElementwisePlan::strides_keep_misalignment() const {
  for (int32_t d = shape_.row_dims; d < shape_.rank; ++d)
    for (uint32_t o = 0; o < shape_.sources; ++o) {
      const int64_t mine = shape_.stride[o][d] / shape_.bytes[o];
      const int64_t dst = shape_.stride[kOperandDst][d] / shape_.bytes[kOperandDst];
      if ((mine - dst) % vector_ != 0) return false;
    }
  return true;
}

bool ElementwisePlan::fill_vectors(uint32_t misaligned) {
  ElementwiseArgs& args = vector_args_;
  const int64_t ahead = rows_equally_misaligned_ ? misaligned : vector_ - 1;
  const int64_t slots = ceil_div(ahead + shape_.row_elements, vector_);
  int64_t items = 0;
  if (!checked_mul(shape_.elements / shape_.row_elements, slots, &items) ||
      items >= static_cast<int64_t>(kElementwiseLimit))
    return false;
  args.items = static_cast<u64>(items);
  args.slots = make_divider(static_cast<u32>(slots));
  const int32_t outer = shape_.rank - shape_.row_dims;
  if (outer > 0) args.rank = static_cast<u32>(outer);
  for (int32_t d = 0; d < outer; ++d) {
    const int32_t from = d + shape_.row_dims;
    args.extent[d] = static_cast<u64>(shape_.extent[from]);
    args.divider[d] = make_divider(static_cast<u32>(shape_.extent[from]));
    for (uint32_t o = 0; o < kElementwiseOperands; ++o) args.stride[o][d] = shape_.stride[o][from];
  }
  return true;
}

void ElementwisePlan::fill_strided() {
  ElementwiseArgs& args = strided_args_;
  args.items = static_cast<u64>(shape_.elements);
  if (shape_.rank > 0) args.rank = static_cast<u32>(shape_.rank);
  for (int32_t d = 0; d < shape_.rank; ++d) {
    args.extent[d] = static_cast<u64>(shape_.extent[d]);
    if (args.items < kDividerLimit)
      args.divider[d] = make_divider(static_cast<u32>(args.extent[d]));
    for (uint32_t o = 0; o < kElementwiseOperands; ++o) args.stride[o][d] = shape_.stride[o][d];
  }
}

ElementwisePlan::FirstElements ElementwisePlan::first_elements(const Addresses& address) const {
  FirstElements at{};
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    at.address[o] = address[o] + static_cast<uint64_t>(shape_.offset[o]);
  return at;
}

ElementwisePlan::FirstElements ElementwisePlan::promised_elements() const {
  Addresses address;
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    address[o] = promised_address(desc_.alignment[o]);
  return first_elements(address);
}

uint32_t ElementwisePlan::misalignment(const FirstElements& at) const {
  return static_cast<uint32_t>(at.address[kOperandDst] / shape_.bytes[kOperandDst] % vector_);
}

// Vectors require all operands to have the same misalignment, in elements.
uint32_t ElementwisePlan::choose(const FirstElements& at) const {
  bool alike = vectors_;
  for (uint32_t o = 0; o < shape_.sources; ++o)
    alike = alike && at.address[o] / shape_.bytes[o] % vector_ == misalignment(at);
  if (alike) return kElementwiseVectors;
  if (kernels_[kElementwiseStrided]) return kElementwiseStrided;
  return 0;
}

ElementwiseArgs ElementwisePlan::arguments(uint32_t method, const FirstElements& at) const {
  ElementwiseArgs args = method == kElementwiseVectors ? vector_args_ : strided_args_;
  std::copy(std::begin(at.address), std::end(at.address), args.address);
  if (method == kElementwiseVectors && rows_equally_misaligned_) {
    const int64_t slots = ceil_div(misalignment(at) + shape_.row_elements, vector_);
    args.items = static_cast<u64>(shape_.elements / shape_.row_elements * slots);
    args.slots = make_divider(static_cast<u32>(slots));
  }
  return args;
}

// Unless max_sms limits the grid, each block ends after one iteration, because the hardware
// balances blocks better than a persistent grid does.
LaunchConfig ElementwisePlan::config(uint32_t method, const ElementwiseArgs& args) const {
  u32 flight = kElementwiseFlight;
  if (method == kElementwiseStrided)
    flight = kElementwiseStridedFlight;
  else if (element_class() == kElementwiseConvert)
    flight = elementwise_convert_flight(static_cast<u32>(vector_));
  const uint64_t items_per_block = uint64_t{kElementwiseThreads} * flight;
  const uint64_t maximum = max_blocks(*device(), desc_.max_sms, 0);
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(
      std::clamp<uint64_t>((args.items + items_per_block - 1) / items_per_block, 1, maximum));
  config.block[0] = kElementwiseThreads;
  return config;
}

// Converts a factor for the kernels: bits of an f32 or f64, or an integer that wraps.
Status ElementwisePlan::factor(const char* argument, float value, u64* bits) const {
  const uint32_t kind = shape_.kind[kOperandDst];
  if (kind < kTypeUnsigned) {
    *bits = bits_of(value);
    return {};
  }
  if (kind == kTypeF64) {
    *bits = std::bit_cast<u64>(static_cast<double>(value));
    return {};
  }
  if (value != std::trunc(value) || !(std::fabs(value) < 0x1p63f))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = argument, .rule = "elementwise_whole_factor"},
                "%s is %s: factors of integers must be whole numbers below 2^63", argument,
                Decimal::significant(static_cast<double>(value), 9).text());
  *bits = static_cast<u64>(static_cast<int64_t>(value));
  return {};
}

// Checks the address of a scalar. `beta`: the scalar replaces beta, not alpha.
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
    TW_TRY(check_null_address("b", run.address[kOperandB], "the description has no b"));
    return check_excluded(run.beta == 1.0f, "beta", static_cast<int64_t>(run.beta),
                          "the description has no b");
  }
  if (shape_.sources == 2 && !(run.beta == 1))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "beta", .rule = "elementwise_multiply_beta"},
                "beta is %s, and combine is TW_COMBINE_MULTIPLY, which has no beta: leave it 1, as "
                "tw_elementwise_args_init() sets it",
                Decimal::significant(static_cast<double>(run.beta), 9).text());
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
  const FirstElements at = first_elements(run.address);
  const uint32_t method = choose(at);
  if (method == 0)
    return fail(
        Code::ERROR_MISALIGNED, {.argument = "a", .rule = "elementwise_methods"},
        "the only allowed method needs operands that all have the same address modulo %u elements",
        vector_);
  ElementwiseArgs args = arguments(method, at);
  args.alpha = alpha;
  args.beta = beta;
  args.device_alpha = run.device_alpha;
  args.device_beta = run.device_beta;
  return stream.launch(*kernels_[method].kernel, config(method, args), &args, sizeof args);
}

namespace {

// Bytes of an operand's distinct elements: along a dimension of stride 0 all elements are the same.
uint64_t distinct_bytes(const ElementwiseShape& shape, uint32_t operand) {
  int64_t bytes = shape.bytes[operand];
  for (int32_t d = 0; d < shape.rank; ++d)
    if (shape.stride[operand][d] != 0) bytes *= shape.extent[d];
  return static_cast<uint64_t>(bytes);
}

// Returns whether red and TMA reductions support the operation for the type.
bool hardware_reduces(int32_t op, DType type) {
  const bool word = type == DType::U32 || type == DType::I32 || type == DType::U64;
  switch (op) {
    case kReduceAdd:
      return word || type == DType::F16 || type == DType::BF16 || type == DType::F32 ||
             type == DType::F64;
    case kReduceMin:
    case kReduceMax:
      return word || type == DType::I64 || type == DType::F16 || type == DType::BF16;
    case kReduceInc:
    case kReduceDec:
      return type == DType::U32;
    default:
      return word;
  }
}

}  // namespace

PlanInfo ElementwisePlan::info() const {
  PlanInfo info;
  info.op = Op::elementwise;
  if (shape_.empty) return info;
  const FirstElements at = promised_elements();
  const uint32_t method = choose(at);
  if (method == 0) return info;
  info.kernel = kernels_[method].entry->symbol;
  const LaunchConfig launch = config(method, arguments(method, at));
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  info.tile[0] = 1;
  info.tile[1] = method == kElementwiseVectors ? vector_ : 1;
  for (uint32_t o = 0; o < shape_.sources; ++o) info.bytes_read += distinct_bytes(shape_, o);
  info.bytes_written = distinct_bytes(shape_, kOperandDst);
  if (desc_.reduction != kReduceNone) info.bytes_read += info.bytes_written;
  return info;
}

// "dst f8e4m3 = silu(alpha * a bf16) * b bf16".
std::string ElementwisePlan::formula() const {
  std::string text = "dst " + std::string(dtype_name(desc_.dtype[kOperandDst]));
  text += desc_.reduction == kReduceNone
              ? " = "
              : " = " + std::string(reduction_name(desc_.reduction)) + " of itself and ";
  const bool activates = desc_.activation != Activation::identity;
  if (activates) text += std::string(activation_name(desc_.activation)) + "(";
  text += "alpha * a " + std::string(dtype_name(desc_.dtype[kOperandA]));
  if (has_beta()) text += " + beta * b " + std::string(dtype_name(desc_.dtype[kOperandB]));
  if (activates) text += ")";
  if (desc_.combine == kCombineMultiply)
    text += " * b " + std::string(dtype_name(desc_.dtype[kOperandB]));
  return text;
}

std::string ElementwisePlan::reduction_note() const {
  const DType type = desc_.dtype[kOperandDst];
  const std::string name =
      std::string(reduction_name(desc_.reduction)) + " of " + std::string(dtype_name(type));
  std::string text =
      "reduced by the thread that owns the element, which reads and writes it: no atomics, so "
      "nobody else may write the destination meanwhile\n";
  if (hardware_reduces(desc_.reduction, type))
    return text + name + " with the result of the hardware's reduction\n";
  if (type == DType::I64 && desc_.reduction == kReduceAdd)
    return text + name + " with the bits of u64 addition\n";
  if (type == DType::F32 || type == DType::F64)
    return text + name + " by comparing ordered integers, -0 below +0\n";
  return text + name + " in registers: the hardware has none of that type\n";
}

std::string ElementwisePlan::explain() const {
  std::string out = "elementwise " + formula() + ", [";
  for (int32_t d = 0; d < desc_.rank; ++d) {
    if (d != 0) out += ", ";
    out += std::to_string(desc_.shape[d]);
  }
  if (shape_.empty) return out + "]: empty, nothing runs\n";
  const PlanInfo i = info();
  char text[512];
  std::snprintf(text, sizeof text,
                "]: after merging, %" PRId64 " rows of %" PRId64
                " elements that are contiguous in every operand\nkernel %s: %u blocks of %u "
                "threads\n%" PRIu64 " bytes read, %" PRIu64 " written\n",
                shape_.elements / shape_.row_elements, shape_.row_elements, i.kernel, i.grid[0],
                i.block[0], i.bytes_read, i.bytes_written);
  out += text;
  if (choose(promised_elements()) == kElementwiseVectors) {
    std::snprintf(text, sizeof text,
                  "vectors of %u elements, %u bytes of the widest operand; ends of rows element by "
                  "element\n",
                  vector_, vector_ * std::ranges::max(shape_.bytes));
    out += text;
    if (kernels_[kElementwiseStrided])
      out += "runs whose operands differ in address modulo a vector use " +
             std::string(kernels_[kElementwiseStrided].entry->symbol) +
             ": promise alignments to avoid it\n";
  } else if (vectors_) {
    out += "element by element: the promised addresses differ modulo a vector\n";
  } else {
    out +=
        "element by element: vectors need rows of at least two vectors that are contiguous and "
        "equally misaligned in every operand\n";
  }
  if (shape_.kind[kOperandDst] < kTypeUnsigned)
    out +=
        desc_.saturates
            ? "computed in f32, rounded to nearest even; beyond the largest finite number: that "
              "number\n"
            : "computed in f32, rounded to nearest even; beyond the range: infinity, or NaN where "
              "the format has none\n";
  if (desc_.device_scalars)
    out += "factors whose addresses a run gives are read from device memory when it executes\n";
  if (desc_.reduction != kReduceNone) out += reduction_note();
  return out;
}

}  // namespace tw
