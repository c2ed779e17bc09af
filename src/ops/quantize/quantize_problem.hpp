// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of a quantization or dequantization, checked and converted to bytes.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "kernels/arguments.h"
#include "ops/common/fields.hpp"
#include "ops/common/scale_kind.hpp"

namespace tw {

/// The values of tw_order, for the matrix of scales.
enum class ScaleOrder : int32_t { row = 0, column = 1 };

/// Bits of QuantizeDesc::flags.
inline constexpr uint32_t kQuantizeDescPowersOfTwo = 1;
inline constexpr uint32_t kQuantizeDescGivenScale = 2;

/// Bits of QuantizeDesc::methods.
inline constexpr uint32_t kQuantizeByVectors = 1;
inline constexpr uint32_t kQuantizeByElements = 2;

/// The fields of tw_quantize_desc: extents and pitches in elements.
struct QuantizeDesc {
  DType src_dtype = DType::BF16;
  DType dst_dtype = DType::F8E4M3;
  ScaleKind scale = ScaleKind::none;
  ScaleOrder scale_order = ScaleOrder::row;
  uint32_t flags = 0;
  uint32_t max_sms = 0;
  CachePriority src_cache = CachePriority::normal;
  CachePriority dst_cache = CachePriority::normal;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t src_pitch = 0;
  int64_t dst_pitch = 0;
  int64_t scale_ld = 0;
  /// For tests and benchmarks: the methods that may be chosen.
  uint32_t methods = ~0u;
};

/// The checked description, with defaults filled in.
struct QuantizeProblem {
  QuantizeDesc desc;
  bool dequantizes = false;  // narrow to wide, instead of wide to narrow
  u32 src_format = 0;
  u32 dst_format = 0;
  int64_t src_bytes = 0;  // per element
  int64_t dst_bytes = 0;
  int64_t vector = 8;  // elements in 16 bytes of the wide type

  bool empty() const { return desc.rows == 0 || desc.columns == 0; }
  bool tensor() const { return desc.scale == ScaleKind::tensor; }
  bool given() const { return dequantizes || (desc.flags & kQuantizeDescGivenScale) != 0; }
  /// Whether a first kernel finds the largest magnitude, from which a second computes the scale.
  bool two_steps() const { return tensor() && !given(); }
  int64_t groups() const;
  int64_t scale_rows(int64_t rows) const;
  int64_t scale_columns() const;
  /// Bytes from a scale to that of the next row or column of the scale matrix.
  int64_t scale_row_step() const;
  int64_t scale_column_step() const;
};
/// Checks a description and fills in its defaults. Messages name the field at fault.
Status quantize_problem(const QuantizeDesc& desc, QuantizeProblem* out);

}  // namespace tw
