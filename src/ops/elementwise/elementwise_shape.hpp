// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks the description of an elementwise operation and reduces it to the form from which both
// methods start. Pure host code.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "kernels/elementwise/elementwise.h"
#include "ops/common/activation.hpp"
#include "ops/common/fields.hpp"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// The fields of tw_elementwise_desc: extents and strides in elements, outermost first. Operands
/// are indexed by number (kOperandA and so on).
struct ElementwiseDesc {
  DType dtype[kElementwiseOperands] = {};  // DType{} for b: there is one source
  int32_t rank = 1;
  uint32_t alignment[kElementwiseOperands] = {};
  uint32_t max_sms = 0;
  int32_t reduction = 0;  // kReduceNone and so on
  uint32_t combine = kCombineAdd;
  Activation activation = Activation::identity;
  bool saturates = false;
  bool device_scalars = false;  // runs may give addresses of alpha and beta
  int64_t shape[kMaxCopyRank] = {};
  int64_t stride[kElementwiseOperands][kMaxCopyRank] = {};
  CachePriority src_cache = CachePriority::normal;
  CachePriority dst_cache = CachePriority::normal;
  /// For tests and benchmarks: a bit 1 << method for each method that may be chosen.
  uint32_t methods = ~0u;
};

/// Dimensions have extents above 1 and are sorted by the destination's stride, innermost first.
/// None is contiguous with its neighbor in every operand. Strides are in bytes; those of the
/// destination are positive.
struct ElementwiseShape {
  bool empty = false;
  uint32_t sources = 1;
  uint32_t kind[kElementwiseOperands] = {};   // the kernels' element type, see elementwise.h
  uint32_t bytes[kElementwiseOperands] = {};  // per element; 0 without a second source
  int64_t elements = 0;
  int32_t rank = 0;
  int64_t extent[kMaxCopyRank] = {};
  int64_t stride[kElementwiseOperands][kMaxCopyRank] = {};
  /// 1: dimension 0 is contiguous in every operand.
  int32_t row_dims = 0;
  int64_t row_elements = 1;
  /// Offsets in bytes from the caller's addresses to the first elements. Nonzero if dimensions that
  /// ran backwards in the destination were reversed.
  int64_t offset[kElementwiseOperands] = {};
  ByteRange range[kElementwiseOperands];
};

/// Returns "a", "b" or "dst".
const char* operand_name(uint32_t operand);
/// Returns for example "add". The number must have passed check_elementwise_types().
const char* reduction_name(int32_t reduction);

/// Computes the kernels' element type; returns false if they do not support the type.
bool kind_of(DType dtype, uint32_t* kind);

/// Checks that types, reduction, activation and flags fit, and fills sources, kinds and bytes.
Status check_elementwise_types(const ElementwiseDesc& desc, ElementwiseShape* out);

/// Checks the description, including that the destination's elements do not overlap, and computes
/// its shape.
Status elementwise_shape(const ElementwiseDesc& desc, ElementwiseShape* out);

/// Fails unless, in a run at these addresses, each source either coincides with the destination
/// element by element or shares no byte with it. Also fails if the bounded search does not decide.
Status check_elementwise_disjoint(const ElementwiseShape& shape,
                                  const uint64_t (&address)[kElementwiseOperands]);

/// Fails if a run with that destination would write one of the 4 bytes of the scalar at `address`.
Status check_elementwise_scalar(const ElementwiseShape& shape, const char* name, uint64_t address,
                                uint64_t dst);

}  // namespace tw
