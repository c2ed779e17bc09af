// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of a padding or unpadding copy, checked and converted to bytes.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"
#include "tensor_map/tensor_map.hpp"

namespace tw {

/// The values of tw_ragged_direction.
enum class RaggedDirection : int32_t { pad = 0, unpad = 1 };

/// The fields of tw_ragged_desc: extents and pitches in elements.
struct RaggedDesc {
  DType dtype = DType::BF16;
  DType offset_dtype = DType::I32;
  RaggedDirection direction = RaggedDirection::pad;
  OobFill fill = OobFill::zero;
  int64_t batch = 0;
  int64_t tokens = 0;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t packed_columns = 0;
  int64_t packed_pitch = 0;
  int64_t padded_pitch = 0;
  int64_t padded_batch_pitch = 0;
  uint32_t packed_alignment = 0;
  uint32_t padded_alignment = 0;
  uint32_t max_sms = 0;
  /// For tests and benchmarks: a bit 1 << method for each method that may be chosen, and sizes,
  /// where 0 means the library chooses.
  uint32_t methods = ~0u;
  uint32_t warps = 0;
  uint32_t stages = 0;
  uint32_t stage_bytes = 0;
  uint32_t warp_items = 0;
};

/// The checked description in bytes, with pitches filled in.
struct RaggedProblem {
  RaggedDesc desc;
  int64_t element_bytes = 1;
  int64_t offset_bytes = 4;
  int64_t row_bytes = 0;
  int64_t packed_pitch = 0;
  int64_t packed_width = 0;  // bytes of a packed row, inside which windows must lie
  int64_t padded_pitch = 0;
  int64_t batch_pitch = 0;
  bool empty() const { return desc.batch == 0 || desc.rows == 0 || desc.columns == 0; }
  bool pads() const { return desc.direction == RaggedDirection::pad; }
  int64_t packed_bytes(int64_t tokens) const {
    return tokens == 0 ? 0 : (tokens - 1) * packed_pitch + packed_width;
  }
  int64_t padded_bytes(int64_t batch) const {
    return batch == 0 ? 0 : (batch - 1) * batch_pitch + (desc.rows - 1) * padded_pitch + row_bytes;
  }
};
/// Checks a description and converts it. Messages name the field at fault.
Status ragged_problem(const RaggedDesc& desc, RaggedProblem* out);

}  // namespace tw
