// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of an elementwise operation, checked and brought into the form that both methods
// start from. Pure host code.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "kernels/elementwise/elementwise.h"
#include "ops/common/activation.hpp"
#include "ops/common/fields.hpp"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// As tw_elementwise_desc: extents and strides in elements, outermost first; operands by number
/// (kOperandA and so on).
struct ElementwiseDesc {
  DType dtype[kElementwiseOperands] = {};  // b's is DType{} where there is one source
  int32_t rank = 1;
  uint32_t alignment[kElementwiseOperands] = {};
  uint32_t max_sms = 0;
  int32_t reduction = 0;  // kCombineNone and so on
  uint32_t combine = kSourcesAdd;
  Activation activation = Activation::identity;
  bool saturates = false;
  bool device_scalars = false;  // runs may give addresses of alpha and beta
  int64_t shape[kMaxCopyRank] = {};
  int64_t stride[kElementwiseOperands][kMaxCopyRank] = {};
  CachePriority src_cache = CachePriority::normal;
  CachePriority dst_cache = CachePriority::normal;
  /// For tests and benchmarks: bits 1 << method of the methods that may be chosen.
  uint32_t methods = ~0u;
};

/// Dimensions of an extent above 1, innermost first, sorted by the destination's stride, none that
/// continues its neighbour in every operand. Strides count bytes; the destination's are positive.
struct ElementwiseShape {
  bool empty = false;
  uint32_t sources = 1;
  uint32_t kind[kElementwiseOperands] = {};
  uint32_t bytes[kElementwiseOperands] = {};  // of an element; 0 without a second source
  int64_t elements = 0;
  int32_t rank = 0;
  int64_t extent[kMaxCopyRank] = {};
  int64_t stride[kElementwiseOperands][kMaxCopyRank] = {};
  /// 1: dimension 0 is contiguous in every operand.
  int32_t row_dims = 0;
  int64_t row_elements = 1;
  /// From the caller's addresses to those of the first element: dimensions that ran backwards along
  /// the destination were turned round.
  int64_t offset[kElementwiseOperands] = {};
  ByteRange range[kElementwiseOperands];
};

/// "a", "b", "dst".
const char* operand_name(uint32_t operand);
/// "add", ...; for a number that check_elementwise_types() lets through.
const char* combine_name(int32_t reduction);

/// What elements of a type are to the kernels; false for a type that none takes.
bool kind_of(DType dtype, uint32_t* kind);

/// Refuses types, reductions, activations and flags that do not go together by name, and fills
/// sources, kinds and bytes.
Status check_elementwise_types(const ElementwiseDesc& desc, ElementwiseShape* out);

/// Checks the description by name, the destination's elements for being distinct included, and
/// brings it into that form.
Status elementwise_shape(const ElementwiseDesc& desc, ElementwiseShape* out);

/// Whether each source either lies exactly where the destination does, element on element, or
/// shares no byte with it in a run at these addresses. A case too hard to decide is refused by
/// name.
Status check_elementwise_disjoint(const ElementwiseShape& shape,
                                  const uint64_t (&address)[kElementwiseOperands]);

/// Whether the four bytes of a scalar at `address` are none that a run with that destination
/// writes.
Status check_elementwise_scalar(const ElementwiseShape& shape, const char* name, uint64_t address,
                                uint64_t dst);

}  // namespace tw
