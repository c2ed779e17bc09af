// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/rules/check.hpp"

#include "tensor_map/descriptor.hpp"
#include "tensor_map/geometry.hpp"
#include "tensor_map/rules/fields.hpp"
#include "tensor_map/rules/propose.hpp"

namespace tw {
namespace {

template <class T>
int64_t number(T value) {
  return static_cast<int64_t>(value);
}

// The values of CUtensorMapDataType from FLOAT16 to TFLOAT32_FTZ.
bool floating(int32_t map_type) {
  return map_type >= 6 && map_type <= 12;
}

// Despite their names, the rules packed_interleave, packed_swizzle, packed_box and packed_channels
// concern only the padded types (is_padded()). packed_dim concerns all packed types.

void check_type(const TensorMapDesc& desc, int32_t arch, Violations* out) {
  const int32_t type = dtype_tensor_map_type(desc.dtype);
  if (type < 0)
    out->add(Rule::dtype_value, -1, number(desc.dtype), 0);
  else if (is_packed(desc.dtype) && arch < 100)
    out->add(Rule::dtype_arch, -1, number(desc.dtype), 100);
  const int64_t fill = number(desc.oob_fill);
  if (fill < 0 || fill > 1)
    out->add(Rule::oob_fill_value, -1, fill, 1);
  else if (fill == 1 && type >= 0 && !floating(type))
    out->add(Rule::oob_fill_dtype, -1, fill, number(desc.dtype));
}

void check_rank_and_interleave(const TensorMapDesc& desc, Violations* out) {
  const bool tiled = desc.kind == MapKind::tiled;
  if (desc.rank < (tiled ? 1 : 3) || desc.rank > 5)
    out->add(tiled ? Rule::rank_range : Rule::rank_im2col, -1, desc.rank, 5);
  const int64_t interleave = number(desc.interleave);
  if (interleave < 0 || interleave > 2)
    out->add(Rule::interleave_value, -1, interleave, 2);
  else if (interleave != 0 && tiled && desc.rank < 3)
    out->add(Rule::interleave_rank, -1, interleave, desc.rank);
  if (interleave != 0 && is_padded(desc.dtype))
    out->add(Rule::packed_interleave, -1, interleave, 0);
}

void check_swizzle(const TensorMapDesc& desc, int32_t arch, Violations* out) {
  const int64_t swizzle = number(desc.swizzle);
  if (swizzle < 0 || swizzle > 6) {
    out->add(Rule::swizzle_value, -1, swizzle, 6);
    return;
  }
  if (swizzle > 3 && arch < 100) {
    out->add(Rule::swizzle_arch, -1, swizzle, 3);
    return;
  }
  // Padded types allow the swizzles 0 (none), 3 (128 bytes) and 4 (128 bytes, 32-byte atoms).
  // U6X16 also allows 6 (128 bytes, 64-byte atoms).
  if (is_padded(desc.dtype) && swizzle != 0 && swizzle != 3 && swizzle != 4 &&
      !(swizzle == 6 && desc.dtype == DType::U6X16_ALIGN16B))
    out->add(Rule::packed_swizzle, -1, swizzle, number(desc.dtype));
  // From 10.0 on, wide maps allow only the swizzles 2 to 4. 9.0 has no such rule: the driver
  // accepts 0 to 3 there.
  if (desc.kind == MapKind::im2col_wide && arch >= 100 && (swizzle < 2 || swizzle > 4))
    out->add(Rule::wide_arch_swizzle, -1, swizzle, 4);
}

void check_extents(const TensorMapDesc& desc, int32_t rank, Violations* out) {
  for (int32_t i = 0; i < rank; ++i) {
    const uint64_t dim = desc.global_dim[i];
    if (dim == 0)
      out->add(Rule::global_dim_zero, i, 0, 1);
    else if (dim > static_cast<uint64_t>(kMaxDim))
      out->add(Rule::global_dim_limit, i, number(dim), kMaxDim);
  }
  // The innermost extent of a padded type must be a multiple of 128 elements, the extent of a box.
  // That of U4X16_ALIGN8B, the only packed type without padding, must be a whole number of bytes (a
  // multiple of 2 elements).
  const uint32_t group = is_padded(desc.dtype) ? 128 : (is_packed(desc.dtype) ? 2 : 1);
  if (rank > 0 && desc.global_dim[0] % group != 0)
    out->add(Rule::packed_dim, 0, number(desc.global_dim[0]), group);
}

void check_tensor(const TensorMapDesc& desc, int32_t rank, Violations* out) {
  const int64_t align = global_alignment(desc);
  const uint64_t below = static_cast<uint64_t>(align) - 1;  // align is a power of two
  if ((desc.global_address & below) != 0)
    out->add(Rule::global_address_alignment, -1, number(desc.global_address), align);
  if (desc.global_address > static_cast<uint64_t>(kMaxAddress))
    out->add(Rule::global_address_range, -1, number(desc.global_address), kMaxAddress);
  check_extents(desc, rank, out);
  for (int32_t i = 0; i + 1 < rank; ++i) {
    const uint64_t stride = desc.global_stride_bytes[i];
    if ((stride & below) != 0) out->add(Rule::global_strides_alignment, i, number(stride), align);
    if (stride > static_cast<uint64_t>(kMaxStride))
      out->add(Rule::global_strides_limit, i, number(stride), kMaxStride);
  }
  for (int32_t i = 0; i < rank; ++i)
    if (desc.element_strides[i] - 1u >= static_cast<uint32_t>(kMaxElementStride))
      out->add(Rule::element_strides_range, i, desc.element_strides[i], kMaxElementStride);
}

// Rows must be whole 16-byte chunks and, without interleave, no wider than the swizzle.
void check_row(const TensorMapDesc& desc, Rule row_alignment, Rule row_swizzle, Violations* out) {
  const auto bytes = static_cast<int64_t>(row_bytes(desc));
  // `bytes` is rounded down. Without the + 1 the message could say that 16 bytes are not a multiple
  // of 16.
  if (row_bits(desc) % 128 != 0)
    out->add(row_alignment, 0, bytes % 16 != 0 ? bytes : bytes + 1, 16);
  const int64_t span = swizzle_span(desc.swizzle);
  if (desc.interleave == Interleave::none && span != 0 && bytes > span)
    out->add(row_swizzle, 0, bytes, span);
}

void check_corner_ranges(const TensorMapDesc& desc, int32_t i, CornerRange range, Violations* out) {
  const int32_t lower = desc.lower_corner[i];
  const int32_t upper = desc.upper_corner[i];
  if (lower < range.min || lower > range.max)
    out->add(Rule::lower_corner_range, i, lower, lower < range.min ? range.min : range.max);
  if (upper < range.min || upper > range.max)
    out->add(Rule::upper_corner_range, i, upper, upper < range.min ? range.min : range.max);
}

void check_corners(const TensorMapDesc& desc, int32_t rank, int32_t arch, Violations* out) {
  const bool wide = desc.kind == MapKind::im2col_wide;
  // On 9.0 the driver limits a wide map's corner by rank, as for other im2col maps.
  const CornerRange range = corner_range(wide && arch >= 100 ? 3 : rank);
  for (int32_t i = 0; i < (wide ? 1 : rank - 2); ++i) check_corner_ranges(desc, i, range, out);
  for (int32_t i = 0; i < rank - 2; ++i)
    if (const int64_t positions = bounding_positions(desc, i); positions <= 0)
      out->add(Rule::bounding_box_empty, i, positions, 1);
}

// For tiled maps. `rank` is 0 if the description's rank is invalid.
void check_box(const TensorMapDesc& desc, int32_t rank, Violations* out) {
  bool sane = true;  // whether the product below can be computed
  int64_t bits = element_bits(desc.dtype);
  for (int32_t i = 0; i < rank; ++i) {
    const uint32_t box = desc.box_dim[i];
    const uint32_t stride = desc.element_strides[i];
    if (box - 1u >= static_cast<uint32_t>(kMaxBoxDim)) {
      out->add(Rule::box_dim_range, i, box, kMaxBoxDim);
      sane = false;
    }
    if (stride - 1u >= static_cast<uint32_t>(kMaxElementStride)) sane = false;
    // Rounded down, as the driver does for this limit. The TMA moves box / stride rounded up.
    if (sane) bits *= stride == 1 ? box : box / stride;
  }
  if (rank > 0) {
    if (is_padded(desc.dtype) && desc.box_dim[0] != 128)
      out->add(Rule::packed_box, 0, desc.box_dim[0], 128);
    check_row(desc, Rule::box_row_alignment, Rule::box_row_swizzle, out);
  }
  if (sane && bits / 8 > kMaxBoxBytes) out->add(Rule::box_bytes_limit, -1, bits / 8, kMaxBoxBytes);
}

// For im2col maps.
void check_column(const TensorMapDesc& desc, int32_t rank, int32_t arch, Violations* out) {
  const uint32_t channels = desc.channels_per_pixel;
  const uint32_t pixels = desc.pixels_per_column;
  const bool channels_ok = channels - 1u < static_cast<uint32_t>(kMaxBoxDim);
  const bool pixels_ok = pixels - 1u < static_cast<uint32_t>(kMaxPixels);
  if (!channels_ok) out->add(Rule::channels_range, -1, channels, kMaxBoxDim);
  if (is_padded(desc.dtype) && channels != 128) out->add(Rule::packed_channels, -1, channels, 128);
  check_row(desc, Rule::channels_row_alignment, Rule::channels_row_swizzle, out);
  if (!pixels_ok) out->add(Rule::pixels_range, -1, pixels, kMaxPixels);
  const auto bytes = static_cast<int64_t>(row_bytes(desc) * pixels);
  if (channels_ok && pixels_ok && bytes > kMaxBoxBytes)
    out->add(Rule::column_bytes_limit, -1, bytes, kMaxBoxBytes);
  if (rank >= 3) check_corners(desc, rank, arch, out);
  if (desc.kind == MapKind::im2col_wide && (desc.wide_mode < 0 || desc.wide_mode > 1))
    out->add(Rule::wide_mode_value, -1, desc.wide_mode, 1);
}

}  // namespace

bool known_arch(int32_t arch) {
  switch (arch) {
#define TW_CAPABILITY(major, minor, features, text) case (major)*10 + (minor):
#include "base/devices.inc"
#undef TW_CAPABILITY
    return true;
  }
  return false;
}

int64_t global_alignment(const TensorMapDesc& desc) {
  return desc.interleave == Interleave::b32 || is_padded(desc.dtype) ? 32 : 16;
}

int64_t bounding_positions(const TensorMapDesc& desc, int32_t i) {
  // As the driver does it: with interleave it applies corner i to dimension i. It adds extent and
  // upper corner in 32 bits with wraparound and compares the sum with the lower corner as signed.
  const uint64_t dim = desc.global_dim[desc.interleave == Interleave::none ? i + 1 : i];
  const bool has_corner = desc.kind == MapKind::im2col || i == 0;
  const auto upper = static_cast<uint32_t>(has_corner ? desc.upper_corner[i] : 0);
  const auto end = static_cast<int32_t>(static_cast<uint32_t>(dim) + upper);
  return int64_t{end} - (has_corner ? desc.lower_corner[i] : 0);
}

void check_all(const TensorMapDesc& desc, int32_t arch, Violations* out) {
  out->count = 0;
  const auto kind = static_cast<int32_t>(desc.kind);
  if (kind < 0 || kind > 2) {
    out->add(Rule::kind_value, -1, kind, 2);
    return;  // which other rules apply depends on the kind
  }
  check_type(desc, arch, out);
  check_rank_and_interleave(desc, out);
  check_swizzle(desc, arch, out);
  if (static_cast<uint32_t>(desc.l2_promotion) > 3)
    out->add(Rule::l2_promotion_value, -1, number(desc.l2_promotion), 3);
  // With an invalid rank, skip the rules for single dimensions.
  const int32_t rank = desc.rank < 0 || desc.rank > 5 ? 0 : desc.rank;
  check_tensor(desc, rank, out);
  if (desc.kind == MapKind::tiled)
    check_box(desc, rank, out);
  else
    check_column(desc, rank, arch, out);
}

Status check(const TensorMapDesc& desc, int32_t arch) {
  Violations violations;
  check_all(desc, arch, &violations);
  return violations.count == 0 ? Status() : report(desc, arch, violations);
}

Status report(const TensorMapDesc& desc, int32_t arch, const Violations& violations) {
  const Violation& first = violations.items[0];
  const RuleRow& row = rule_row(first.rule);
  TensorMapDesc proposed;
  const bool found = propose(desc, arch, violations, &proposed);
  char message[512];
  char proposal[384];
  format_violation(first, message, sizeof message);
  format_proposal(desc, found ? &proposed : nullptr, proposal, sizeof proposal);
  return fail(Code::ERROR_RULE,
              {.argument = row.argument,
               .index = first.index,
               .rule = row.id,
               .got = first.got,
               .limit = first.limit},
              "%s%s. %s", message, violations.count > 1 ? " (and other rules are broken)" : "",
              proposal);
}

Status encode(const TensorMapDesc& desc, int32_t arch, TensorMapBytes* bytes) {
  TW_TRY(check(desc, arch));
  if (!can_encode(desc))
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "dtype"},
                "the bits of packed types and of 128-byte swizzles with wider atoms are not known "
                "to this library: let the CUDA device's driver encode this map");
  encode_accepted(desc, bytes);
  return {};
}

}  // namespace tw
