// SPDX-License-Identifier: Apache-2.0
// Host bodies of the elementwise kernels: the kernels' vectors, with element.h defining the bits
// that the kernels must reproduce. The family's kernel entries are at the end.
#include <cstring>

#include "kernels/elementwise/element.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/table/table_entry.hpp"

namespace tw {
namespace {

u64 load(u64 address, u32 bytes) {
  u64 value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(address), bytes);
  return value;
}

void one(const ElementwiseArgs& args, u64 a, u64 b, u64 dst) {
  const u64 x = load(a, args.bytes[kOperandA]);
  const u64 y = args.sources == 2 ? load(b, args.bytes[kOperandB]) : 0;
  const u32 bytes = args.bytes[kOperandDst];
  const u64 before = args.reduction != kReduceNone ? load(dst, bytes) : 0;
  const u64 value = any_element(args, x, y, before);
  std::memcpy(reinterpret_cast<void*>(dst), &value, bytes);
}

template <u32 kVector>
void vectors(const ElementwiseArgs& args) {
  for (u64 item = 0; item < args.items; ++item) {
    const ElementwiseSlot s = elementwise_slot<kVector>(args, static_cast<u32>(item));
    for (u32 e = s.first; e < s.end; ++e)
      one(args, s.address[kOperandA] + e * args.bytes[kOperandA],
          s.address[kOperandB] + e * args.bytes[kOperandB],
          s.address[kOperandDst] + e * args.bytes[kOperandDst]);
  }
}

// Processes the vectors in the kernels' order, and the elements of each vector one by one.
void elementwise_vectors_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const ElementwiseArgs*>(arguments);
  switch (elementwise_vector(args.bytes, args.activation)) {
    case 2:
      return vectors<2>(args);
    case 4:
      return vectors<4>(args);
    case 8:
      return vectors<8>(args);
    default:
      return vectors<16>(args);
  }
}

void elementwise_strided_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const ElementwiseArgs*>(arguments);
  const bool small = args.items < kDividerLimit;
  for (u64 item = 0; item < args.items; ++item) {
    u64 at[kElementwiseOperands];
    if (small)
      elementwise_place<true>(args, item, at);
    else
      elementwise_place<false>(args, item, at);
    one(args, at[kOperandA], at[kOperandB], at[kOperandDst]);
  }
}

#define TW_ELEMENTWISE_VECTORS(feature, part, symbol, elements, what)     \
  TW_TABLE_ENTRY(elementwise, feature, part, symbol, kElementwiseThreads, \
                 kElementwiseVectors | (elements) << 8 | (what) << 16)
#define TW_ELEMENTWISE_CONVERT(feature, part, symbol, elements) \
  TW_ELEMENTWISE_VECTORS(feature, part, symbol, elements, kElementwiseConvert)
#define TW_ELEMENTWISE_FLOATS(feature, part, symbol, elements) \
  TW_ELEMENTWISE_VECTORS(feature, part, symbol, elements, kElementwiseFloats)
#define TW_ELEMENTWISE_INTEGERS_F64(feature, part, symbol, elements) \
  TW_ELEMENTWISE_VECTORS(feature, part, symbol, elements, kElementwiseIntegersF64)
#define TW_ELEMENTWISE_STRIDED(feature, part, symbol) \
  TW_TABLE_ENTRY(elementwise, feature, part, symbol, kElementwiseThreads, kElementwiseStrided)

constexpr KernelEntry kEntries[] = {
#include "kernels/elementwise/kernels.inc"
};

}  // namespace

KernelEntries elementwise_entries() {
  return {kEntries, kEntries + sizeof kEntries / sizeof kEntries[0]};
}

}  // namespace tw
