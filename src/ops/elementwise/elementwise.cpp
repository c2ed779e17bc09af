// SPDX-License-Identifier: Apache-2.0
#include "ops/elementwise/elementwise.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"
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
  rows_begin_alike_ = true;
  const int64_t whole = int64_t{vector_} * shape_.bytes[kOperandDst];
  for (int32_t d = shape_.row_dims; d < shape_.rank; ++d)
    rows_begin_alike_ = rows_begin_alike_ && shape_.stride[kOperandDst][d] % whole == 0;
  // Rows of less than two vectors are mostly ends.
  const bool worth = shape_.row_elements >= 2 * int64_t{vector_} ||
                     (desc_.methods & 1u << kElementwiseStrided) == 0;
  vectors_ = (desc_.methods & 1u << kElementwiseVectors) != 0 && shape_.row_dims == 1 && worth &&
             strides_alike() && fill_vectors(vector_ - 1);
  if (vectors_) TW_TRY(prepare_method(kElementwiseVectors));
  if (desc_.methods & 1u << kElementwiseStrided) return prepare_method(kElementwiseStrided);
  if (vectors_) return {};
  return fail(Code::ERROR_UNSUPPORTED, {.argument = "methods"},
              "none of the methods 0x%x serves this description", desc_.methods);
}

// What a row of the table has to be for, above its vector's elements.
uint32_t ElementwisePlan::what() const {
  if (shape_.kind[kOperandDst] >= kWordUnsigned) return kElementwiseWords;
  const bool converts = shape_.sources == 1 && desc_.reduction == kCombineNone &&
                        desc_.activation == Activation::identity;
  return converts ? kElementwiseConvert : kElementwiseFloats;
}

Status ElementwisePlan::prepare_method(uint32_t method) {
  const uint32_t detail = method == kElementwiseVectors ? vector_ | what() << 8 : 0;
  const KernelRow* row = find_row(*device(), Family::elementwise, [&](const KernelRow& r) {
    return (r.variant & 0xff) == method && (r.feature == feature::host || r.variant >> 8 == detail);
  });
  return prepare_row(*device(), Family::elementwise, row, 0, &kernels_[method]);
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

bool ElementwisePlan::strides_alike() const {
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
  const int64_t ahead = rows_begin_alike_ ? misaligned : vector_ - 1;
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

ElementwisePlan::Placed ElementwisePlan::first(const Addresses& address) const {
  Placed at{};
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    at.address[o] = address[o] + static_cast<uint64_t>(shape_.offset[o]);
  return at;
}

ElementwisePlan::Placed ElementwisePlan::promised() const {
  Addresses address;
  for (uint32_t o = 0; o < kElementwiseOperands; ++o)
    address[o] = promised_address(desc_.alignment[o]);
  return first(address);
}

uint32_t ElementwisePlan::misalignment(const Placed& at) const {
  return static_cast<uint32_t>(at.address[kOperandDst] / shape_.bytes[kOperandDst] % vector_);
}

// Vectors need every operand to lie alike, counted in elements.
uint32_t ElementwisePlan::choose(const Placed& at) const {
  bool alike = vectors_;
  for (uint32_t o = 0; o < shape_.sources; ++o)
    alike = alike && at.address[o] / shape_.bytes[o] % vector_ == misalignment(at);
  if (alike) return kElementwiseVectors;
  if (kernels_[kElementwiseStrided]) return kElementwiseStrided;
  return 0;
}

ElementwiseArgs ElementwisePlan::arguments(uint32_t method, const Placed& at) const {
  ElementwiseArgs args = method == kElementwiseVectors ? vector_args_ : strided_args_;
  std::copy(std::begin(at.address), std::end(at.address), args.address);
  if (method == kElementwiseVectors && rows_begin_alike_) {
    const int64_t slots = ceil_div(misalignment(at) + shape_.row_elements, vector_);
    args.items = static_cast<u64>(shape_.elements / shape_.row_elements * slots);
    args.slots = make_divider(static_cast<u32>(slots));
  }
  return args;
}

// Blocks for each piece of work: the hardware spreads them better than threads that go round, and
// only a bound on the SMs bounds the blocks.
LaunchConfig ElementwisePlan::config(uint32_t method, const ElementwiseArgs& args) const {
  u32 flight = kElementwiseFlight;
  if (method == kElementwiseStrided)
    flight = kElementwiseStridedFlight;
  else if (what() == kElementwiseConvert)
    flight = elementwise_convert_flight(static_cast<u32>(vector_));
  const uint64_t items_of_block = uint64_t{kElementwiseThreads} * flight;
  const uint64_t most = most_blocks(*device(), desc_.max_sms, 0);
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(
      std::clamp<uint64_t>((args.items + items_of_block - 1) / items_of_block, 1, most));
  config.block[0] = kElementwiseThreads;
  return config;
}

}  // namespace tw
