// SPDX-License-Identifier: Apache-2.0
#pragma once
// The description of a routing: as the caller gives it, and after the checks, with pitches in
// bytes.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"

namespace tw {

/// Values of tw_route_score.
enum class RouteScore : int32_t { softmax = 0, sigmoid = 1, softmax_chosen = 2 };

/// Values of tw_route_group_score.
enum class RouteGroupScore : int32_t { best = 0, top2 = 1 };

/// Bits of RouteDesc::flags.
inline constexpr uint32_t kRouteDescRenormalize = 1;
inline constexpr uint32_t kRouteDescGivenIds = 2;

/// The fields of tw_route_desc: extents and pitches in elements.
struct RouteDesc {
  DType dtype = DType::F32;
  DType id_dtype = DType::I32;
  DType offset_dtype = DType::I32;
  RouteScore score = RouteScore::softmax;
  RouteGroupScore group_score = RouteGroupScore::best;
  uint32_t flags = 0;
  float scale = 1.0f;
  uint32_t max_sms = 0;
  int64_t tokens = 0;
  int64_t experts = 0;
  int64_t top_k = 0;
  int64_t local_experts = 0;
  int64_t groups = 0;
  int64_t top_groups = 0;
  int64_t logits_pitch = 0;
  /// For tests and benchmarks: a bit 1 << variant for each kernel that may be chosen.
  uint32_t methods = ~0u;
};

/// The checked description with all defaults filled in. The new fields are in bytes.
struct RouteProblem {
  RouteDesc desc;
  int64_t element_bytes = 4;  // of logits
  int64_t id_bytes = 4;
  int64_t offset_bytes = 4;
  int64_t pitch = 0;  // from the logits of one token to those of the next
  bool given() const { return (desc.flags & kRouteDescGivenIds) != 0; }
  /// Bytes of a token's logits.
  int64_t row_bytes() const { return desc.experts * element_bytes; }
  int64_t pairs(int64_t tokens) const { return tokens * desc.top_k; }
};
/// Checks a description and fills in its defaults. Messages name the field at fault.
Status route_problem(const RouteDesc& desc, RouteProblem* out);

}  // namespace tw
