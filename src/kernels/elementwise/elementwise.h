// SPDX-License-Identifier: Apache-2.0
#pragma once
// dst = act(alpha * a + beta * b) or act(alpha * a) * b, element by element: kernel arguments, and
// the elements that each thread computes.
//
// Only one thread reads and writes an element of the destination. So a result may be reduced into
// the destination, and a source may alias the destination, without atomics.

#include "kernels/arguments.h"
#include "kernels/common/activation.h"
#include "kernels/common/convert.h"
#include "kernels/common/divide.h"

namespace tw {

/// KernelEntry::variant of this family. Bits 0 to 7: the method. Bits 8 to 15: elements per vector.
/// Bits 16 to 23: the kind of elements (kElementwiseConvert and so on). 0 in a host entry means
/// any.
enum : u32 {
  kElementwiseVectors = 1,  // rows that are contiguous in every operand, by vectors
  kElementwiseStrided = 2,  // any strides, one element per thread
  kElementwiseMethods = 3
};
enum : u32 {
  kElementwiseConvert = 1,     // one source of a floating format, no activation, no reduction
  kElementwiseFloats = 2,      // any operation on floating formats
  kElementwiseIntegersF64 = 3  // any operation on integers or f64; all operands have one type
};

/// Element types of the operands: formats of convert.h, or one of these for all three operands.
enum : u32 {
  kTypeUnsigned = 16,
  kTypeSigned = 17,
  kTypeF64 = 18,
};

/// How two sources are combined; the same values as tw_combine.
enum : u32 { kCombineAdd = 0, kCombineMultiply = 1 };

inline constexpr u32 kElementwiseThreads = 256;
inline constexpr u32 kElementwiseRank = 8;
// Vectors of each operand that a thread has in flight; conversions have a number of their own.
inline constexpr u32 kElementwiseFlight = 2;
inline constexpr u32 kElementwiseStridedFlight = 4;  // elements that a thread has in flight

/// Operand numbers.
enum : u32 { kOperandA = 0, kOperandB = 1, kOperandDst = 2, kElementwiseOperands = 3 };

/// Dimensions are innermost first, strides are in bytes, and the destination's strides are
/// positive. For vectors, the dimensions are those outside a row of `row_elements`; each row has
/// `slots` vectors.
struct ElementwiseArgs {
  u64 address[kElementwiseOperands];
  u64 src_policy;
  u64 dst_policy;
  // Number of vectors (rows times slots, below kElementwiseLimit); for kElementwiseStrided, of
  // elements.
  u64 items;
  u64 row_elements;
  u64 alpha;         // bits of an f32 or f64, or an integer
  u64 beta;          // 0 if there is one source or the sources are multiplied
  u64 device_alpha;  // address of an f32 that replaces alpha; 0: none
  u64 device_beta;
  u64 extent[kElementwiseRank];
  i64 stride[kElementwiseOperands][kElementwiseRank];
  Divider divider[kElementwiseRank];  // by `extent`; used if `items` is below kDividerLimit
  Divider slots;
  u32 rank;                         // at least 1
  u32 sources;                      // 1 or 2
  u32 kind[kElementwiseOperands];   // formats of convert.h or kType...
  u32 bytes[kElementwiseOperands];  // per element; 0 without a second source
  u32 reduction;
  float saturate_at;  // largest magnitude of a floating-point result; infinity: no saturation
  u32 dst_shift;      // an element of the destination has 1 << dst_shift bytes
  u32 combine;        // kCombineMultiply only with two sources
  u32 activation;     // kActIdentity and so on; floating formats only
};
static_assert(sizeof(ElementwiseArgs) == 504, "host and device must agree on the layout");
static_assert(__builtin_offsetof(ElementwiseArgs, device_alpha) == 72, "as above");
static_assert(__builtin_offsetof(ElementwiseArgs, extent) == 88, "as above");
static_assert(__builtin_offsetof(ElementwiseArgs, divider) == 344, "as above");
static_assert(__builtin_offsetof(ElementwiseArgs, rank) == 452, "as above");
static_assert(__builtin_offsetof(ElementwiseArgs, dst_shift) == 492, "as above");
static_assert(__builtin_offsetof(ElementwiseArgs, activation) == 500, "as above");

/// Vectors per thread in flight in a conversion. Conversions from 2 to 4 bytes are fastest with
/// fewer, those from 2 to 1 byte with more.
TW_KERNEL_HD constexpr u32 elementwise_convert_flight(u32 vector) {
  return vector == 4 ? 3 : 4;
}

/// Leaves room for a grid-stride step past the last item, so that the sum still suits divide().
inline constexpr u64 kElementwiseLimit = kDividerLimit - (1 << 20);

/// The most elements of a vector with an activation; 16 would exceed a thread's registers.
inline constexpr u32 kActivatedVector = 8;

/// Elements per vector: 16 bytes of the widest operand. bytes[kOperandB] is 0 with one source.
TW_KERNEL_HD constexpr u32 elementwise_vector(const u32 (&bytes)[kElementwiseOperands],
                                              u32 activation) {
  u32 widest = 1;
  for (u32 o = 0; o < kElementwiseOperands; ++o) widest = bytes[o] > widest ? bytes[o] : widest;
  const u32 elements = 16 / widest;
  return activation != kActIdentity && elements > kActivatedVector ? kActivatedVector : elements;
}

/// Elements [first, end) of a vector whose element 0 lies at these addresses, possibly before the
/// row; `end` is 0 if there is nothing. The destination address is a multiple of the vector's
/// bytes.
struct ElementwiseSlot {
  u64 address[kElementwiseOperands];
  u32 first;
  u32 end;
};

/// Returns the slot's elements. `kVector` is the number of elements per vector, a power of two.
template <u32 kVector>
TW_KERNEL_HD constexpr ElementwiseSlot elementwise_slot(const ElementwiseArgs& args, u32 slot) {
  const u32 row = divide(slot, args.slots);
  const u32 number = slot - row * args.slots.divisor;
  ElementwiseSlot s{};
  for (u32 o = 0; o < kElementwiseOperands; ++o) s.address[o] = args.address[o];
  u32 rest = row;
  for (u32 d = 0; d < args.rank; ++d) {
    const u32 next = d + 1 < args.rank ? divide(rest, args.divider[d]) : 0;
    const i64 index = rest - next * args.divider[d].divisor;
    for (u32 o = 0; o < kElementwiseOperands; ++o)
      s.address[o] += static_cast<u64>(index * args.stride[o][d]);
    rest = next;
  }
  // Offset of the row's first element within its vector of the destination.
  const u64 lead_bytes = s.address[kOperandDst] & ((u64{kVector} << args.dst_shift) - 1);
  const auto lead = static_cast<i64>(lead_bytes >> args.dst_shift);
  const i64 start = static_cast<i64>(number) * kVector - lead;
  for (u32 o = 0; o < kElementwiseOperands; ++o)
    s.address[o] += static_cast<u64>(start * static_cast<i64>(args.bytes[o]));
  const i64 remaining = static_cast<i64>(args.row_elements) - start;
  s.first = start < 0 ? static_cast<u32>(-start) : 0;
  s.end = remaining >= static_cast<i64>(kVector) ? kVector
          : remaining > 0                        ? static_cast<u32>(remaining)
                                                 : 0;
  if (slot >= args.items) s.end = 0;
  return s;
}

/// Computes the addresses of element `unit` (strided method). With `kSmall`, `unit` is below
/// kDividerLimit, so that divide() can be used.
template <bool kSmall>
TW_KERNEL_HD constexpr void elementwise_place(const ElementwiseArgs& args, u64 unit,
                                              u64 (&address)[kElementwiseOperands]) {
  for (u32 o = 0; o < kElementwiseOperands; ++o) address[o] = args.address[o];
  u64 rest = unit;
  for (u32 d = 0; d < args.rank; ++d) {
    u64 next = 0;
    if (d + 1 < args.rank) {
      if constexpr (kSmall)
        next = divide(static_cast<u32>(rest), args.divider[d]);
      else
        next = rest / args.extent[d];
    }
    const auto index = static_cast<i64>(rest - next * args.extent[d]);
    for (u32 o = 0; o < kElementwiseOperands; ++o)
      address[o] += static_cast<u64>(index * args.stride[o][d]);
    rest = next;
  }
}

}  // namespace tw
