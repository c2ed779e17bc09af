// SPDX-License-Identifier: Apache-2.0
// Tries all combinations of the enumerated fields (kind, type, rank, interleave, swizzle) that may
// change, in a fixed order of preference. The requested rank, and types as large as the requested
// one, come first. For each combination it corrects the numeric fields.
#include "tensor_map/rules/propose.hpp"

#include <algorithm>
#include <cstring>

#include "tensor_map/geometry.hpp"
#include "tensor_map/rules/check.hpp"
#include "tensor_map/rules/fields.hpp"
#include "tensor_map/rules/propose_box.hpp"

namespace tw {
namespace {

// The values of one enumerated field in the order to try.
struct Choices {
  int32_t count = 0;
  int32_t values[24];
  void add(int32_t value) {
    for (int32_t i = 0; i < count; ++i)
      if (values[i] == value) return;
    values[count++] = value;
  }
};

// Types of the same size first.
Choices dtype_choices(DType asked) {
  static constexpr DType kTypes[] = {
#define TW_DTYPE(name, value, bits, map_type, text) DType::name,
#include "base/dtypes.inc"
#undef TW_DTYPE
  };
  Choices choices;
  for (const bool same : {true, false})
    for (const DType dtype : kTypes)
      if (dtype_tensor_map_type(dtype) >= 0 && (element_bits(dtype) == element_bits(asked)) == same)
        choices.add(static_cast<int32_t>(dtype));
  return choices;
}

// Only the requested value if the field may not change, otherwise `values`.
Choices field_choices(FieldMask fields, FieldMask field, int32_t asked,
                      std::initializer_list<int32_t> values) {
  Choices choices;
  if ((fields & field) == 0)
    choices.add(asked);
  else
    for (const int32_t value : values) choices.add(value);
  return choices;
}

class Proposer {
 public:
  Proposer(const TensorMapDesc& desc, int32_t arch, FieldMask fields)
      : asked_(desc), arch_(arch), fields_(fields) {}

  bool run(TensorMapDesc* out);

 private:
  bool may(FieldMask field) const { return (fields_ & field) != 0; }
  bool consider(TensorMapDesc desc);
  void fix_tensor(TensorMapDesc* desc) const;
  void fix_dims(TensorMapDesc* desc) const;
  void fix_box(TensorMapDesc* desc);
  void fix_element_strides(TensorMapDesc* desc) const;
  void fix_column(TensorMapDesc* desc);
  void fix_corners(TensorMapDesc* desc) const;
  double enough_elements(const TensorMapDesc& desc) const;

  const TensorMapDesc& asked_;
  int32_t arch_;
  FieldMask fields_;
  TensorMapDesc best_;
  double best_share_ = -1;
  int32_t budget_ = 20000;  // steps of all box searches together
};

// The number of elements with which consider() accepts a box at once: half the bytes of the
// requested box, in elements of desc's type.
double Proposer::enough_elements(const TensorMapDesc& desc) const {
  const double element = element_bits(desc.dtype) / 8.0;
  return element == 0 ? 0 : unchecked_box_bytes(asked_) / 2 / element;
}

bool Proposer::run(TensorMapDesc* out) {
  const auto number = [](auto value) { return static_cast<int32_t>(value); };
  const Choices kinds = field_choices(fields_, field::kind, number(asked_.kind), {0, 1, 2});
  const Choices dtypes = may(field::dtype)
                             ? dtype_choices(asked_.dtype)
                             : field_choices(/*fields=*/0, field::dtype, number(asked_.dtype), {});
  const int32_t near = std::clamp(asked_.rank, 1, 5);
  const Choices ranks = field_choices(fields_, field::rank, asked_.rank, {near, 5, 4, 3, 2, 1});
  const Choices interleaves =
      field_choices(fields_, field::interleave, number(asked_.interleave), {0, 1, 2});
  const Choices swizzles =
      field_choices(fields_, field::swizzle, number(asked_.swizzle), {3, 2, 1, 0, 4, 5, 6});

  TensorMapDesc desc = asked_;
  if (may(field::l2_promotion)) desc.l2_promotion = L2Promotion::none;
  if (may(field::oob_fill)) desc.oob_fill = OobFill::zero;
  if (may(field::wide_mode)) desc.wide_mode = 0;
  for (int32_t k = 0; k < kinds.count; ++k)
    for (int32_t t = 0; t < dtypes.count; ++t)
      for (int32_t r = 0; r < ranks.count; ++r)
        for (int32_t i = 0; i < interleaves.count; ++i)
          for (int32_t s = 0; s < swizzles.count; ++s) {
            desc.kind = static_cast<MapKind>(kinds.values[k]);
            desc.dtype = static_cast<DType>(dtypes.values[t]);
            desc.rank = ranks.values[r];
            desc.interleave = static_cast<Interleave>(interleaves.values[i]);
            desc.swizzle = static_cast<Swizzle>(swizzles.values[s]);
            if (consider(desc)) {
              *out = best_;
              return true;
            }
          }
  *out = best_share_ >= 0 ? best_ : asked_;
  return best_share_ >= 0;
}

// Corrects the numbers of a description and keeps the best one. Returns true if it is good enough
// to stop.
bool Proposer::consider(TensorMapDesc desc) {
  if (desc.rank < 1 || desc.rank > 5) return false;
  fix_tensor(&desc);
  fix_element_strides(&desc);
  if (desc.kind != MapKind::tiled && desc.rank >= 3) fix_corners(&desc);
  Violations violations;
  check_all(desc, arch_, &violations);
  if (violations.count != 0) {  // otherwise keep the box
    if (desc.kind == MapKind::tiled)
      fix_box(&desc);
    else
      fix_column(&desc);
    check_all(desc, arch_, &violations);
  }
  if (violations.count != 0) return false;
  const double asked = unchecked_box_bytes(asked_);
  const double share = asked == 0 ? 1 : unchecked_box_bytes(desc) / asked;
  if (share > best_share_) {
    best_share_ = share;
    best_ = desc;
  }
  return share >= 0.5;
}

void Proposer::fix_tensor(TensorMapDesc* desc) const {
  const auto align = static_cast<uint64_t>(global_alignment(*desc));
  const auto max_address = static_cast<uint64_t>(kMaxAddress);
  const auto max_stride = static_cast<uint64_t>(kMaxStride);
  // Round up: the bytes before the address might not belong to the tensor.
  if (may(field::global_address))
    desc->global_address =
        (std::min(desc->global_address, max_address - (align - 1)) + align - 1) / align * align;
  if (may(field::global_dim)) fix_dims(desc);
  if (may(field::global_stride_bytes))
    for (int32_t i = 0; i + 1 < desc->rank; ++i) {
      const uint64_t stride = std::min(desc->global_stride_bytes[i], max_stride - (align - 1));
      desc->global_stride_bytes[i] =
          std::min((stride + align - 1) / align * align, max_stride / align * align);
    }
}

void Proposer::fix_dims(TensorMapDesc* desc) const {
  // The innermost extent must be a multiple of 128 elements for a padded type, and of 2 for
  // U4X16_ALIGN8B, the only packed type without padding.
  const uint64_t group = is_padded(desc->dtype) ? 128 : (is_packed(desc->dtype) ? 2 : 1);
  // The driver treats extents of im2col maps as signed 32-bit numbers. Dimension 0 is limited to
  // `maximum` here. In the others an extent between `maximum` and kMaxDim stays. If the bounding
  // box includes the dimension, fix_corners() finds corners for the extent, or reduces it. The
  // bounding box does not include N and, with interleave, the dimension before it. Their extents
  // may be up to kMaxDim.
  const uint64_t maximum =
      desc->kind == MapKind::tiled ? static_cast<uint64_t>(kMaxDim) : 0x7fffffffu;
  for (int32_t i = 0; i < desc->rank; ++i) {
    uint64_t& dim = desc->global_dim[i];
    if (dim == 0) dim = 1;
    if (dim > static_cast<uint64_t>(kMaxDim)) dim = maximum;
    if (i == 0) dim = std::min((dim + group - 1) / group, maximum / group) * group;
  }
}

void Proposer::fix_element_strides(TensorMapDesc* desc) const {
  if (!may(field::element_strides)) return;
  for (int32_t i = 0; i < desc->rank; ++i)
    desc->element_strides[i] =
        std::clamp(desc->element_strides[i], 1u, static_cast<uint32_t>(kMaxElementStride));
  if (desc->kind != MapKind::tiled || may(field::box_dim)) return;
  // If the box may not change, larger element strides can reduce its bytes.
  const auto too_long = [&] {
    uint64_t bits = element_bits(desc->dtype);
    for (int32_t i = 0; i < desc->rank; ++i) bits *= desc->box_dim[i] / desc->element_strides[i];
    return bits / 8 > static_cast<uint64_t>(kMaxBoxBytes);
  };
  for (int32_t i = desc->rank - 1; i >= 0; --i)
    while (desc->element_strides[i] < kMaxElementStride && too_long()) ++desc->element_strides[i];
}

// Sets unit and cap of the axis along dimension 0.
void row_axis(const TensorMapDesc& desc, BoxAxis* axis) {
  const uint32_t bits = element_bits(desc.dtype);
  if (bits == 0) return;
  const uint32_t span = desc.interleave == Interleave::none ? swizzle_span(desc.swizzle) : 0;
  axis->unit = is_padded(desc.dtype) ? 128 : 128 / bits;
  axis->cap = static_cast<uint32_t>(kMaxBoxDim);
  if (is_padded(desc.dtype)) axis->cap = 128;
  if (span != 0) axis->cap = std::max(std::min(axis->cap, span * 8 / bits), axis->unit);
}

void Proposer::fix_box(TensorMapDesc* desc) {
  if (!may(field::box_dim)) return;
  BoxAxis axes[5];
  for (int32_t i = 0; i < desc->rank; ++i) {
    axes[i].asked = desc->box_dim[i];
    axes[i].cap = static_cast<uint32_t>(kMaxBoxDim);
    const uint32_t stride = desc->element_strides[i];
    axes[i].stride = stride == 0 ? 1 : stride;  // 0 fails the check later
  }
  row_axis(*desc, &axes[0]);
  const uint32_t bits = std::max(element_bits(desc->dtype), 1u);
  solve_box(axes, desc->rank, static_cast<uint64_t>(kMaxBoxBytes) * 8 / bits,
            enough_elements(*desc), &budget_);
  for (int32_t i = 0; i < desc->rank; ++i) desc->box_dim[i] = axes[i].value;
}

void Proposer::fix_column(TensorMapDesc* desc) {
  if (!may(field::channels_per_pixel) && !may(field::pixels_per_column)) return;
  BoxAxis axes[2];
  axes[0].asked = desc->channels_per_pixel;
  axes[0].fixed = !may(field::channels_per_pixel);
  row_axis(*desc, &axes[0]);
  axes[1].asked = desc->pixels_per_column;
  axes[1].fixed = !may(field::pixels_per_column);
  axes[1].cap = static_cast<uint32_t>(kMaxPixels);
  const uint32_t bits = std::max(element_bits(desc->dtype), 1u);
  solve_box(axes, 2, static_cast<uint64_t>(kMaxBoxBytes) * 8 / bits, enough_elements(*desc),
            &budget_);
  desc->channels_per_pixel = axes[0].value;
  desc->pixels_per_column = axes[1].value;
}

// The upper corner nearest to `upper` that makes the bounding box nonempty. The driver adds extent
// and upper corner in 32 bits with wraparound, so `wrapped_extent` is negative for an extent above
// 2^31 - 1. An extent just below 2^31 allows only upper corners of at most 2^31 - 1 - extent. An
// extent of 2^31 or just above it needs a negative upper corner.
int32_t fitting_upper(int64_t wrapped_extent, int32_t lower, int32_t upper, CornerRange range) {
  const int64_t least = std::max<int64_t>(int64_t{lower} + 1 - wrapped_extent, range.min);
  const int64_t maximum = std::min<int64_t>(INT32_MAX - wrapped_extent, range.max);
  if (least <= maximum) return static_cast<int32_t>(std::clamp<int64_t>(upper, least, maximum));
  const int64_t wraps = INT32_MIN - int64_t{1} - wrapped_extent;  // the sum wraps to INT32_MAX
  return static_cast<int32_t>(std::clamp<int64_t>(wraps, range.min, range.max));
}

void Proposer::fix_corners(TensorMapDesc* desc) const {
  const bool wide = desc->kind == MapKind::im2col_wide;
  const CornerRange range = corner_range(wide && arch_ >= 100 ? 3 : desc->rank);
  for (int32_t i = 0; i < desc->rank - 2; ++i) {
    const bool has_corner = !wide || i == 0;
    uint64_t& dim = desc->global_dim[desc->interleave == Interleave::none ? i + 1 : i];
    int32_t& lower = desc->lower_corner[i];
    int32_t& upper = desc->upper_corner[i];
    if (has_corner && may(field::lower_corner)) lower = std::clamp(lower, range.min, range.max);
    if (has_corner && may(field::upper_corner)) upper = std::clamp(upper, range.min, range.max);
    // Change the upper corner first, then the lower one, then both, then the extent.
    const bool may_lower = has_corner && may(field::lower_corner);
    const bool may_upper = has_corner && may(field::upper_corner);
    const auto wrapped_extent = static_cast<int32_t>(static_cast<uint32_t>(dim));
    const int32_t asked = upper;
    if (bounding_positions(*desc, i) <= 0 && may_upper)
      upper = fitting_upper(wrapped_extent, lower, asked, range);
    const int64_t missing = 1 - bounding_positions(*desc, i);
    if (missing > 0 && may_lower)
      lower = static_cast<int32_t>(std::max<int64_t>(lower - missing, range.min));
    if (bounding_positions(*desc, i) <= 0 && may_lower && may_upper) {
      lower = range.min;
      upper = fitting_upper(wrapped_extent, lower, asked, range);
    }
    if (bounding_positions(*desc, i) <= 0 && may(field::global_dim))
      dim = static_cast<uint64_t>(INT32_MAX - std::max(has_corner ? upper : 0, 0));
  }
}

}  // namespace

double unchecked_box_bytes(const TensorMapDesc& desc) {
  double elements = 1;
  if (desc.kind == MapKind::tiled)
    for (int32_t i = 0; i < std::clamp(desc.rank, 0, 5); ++i) elements *= desc.box_dim[i];
  else
    elements = static_cast<double>(desc.channels_per_pixel) * desc.pixels_per_column;
  return elements * element_bits(desc.dtype) / 8;
}

bool propose(const TensorMapDesc& desc, int32_t arch, const Violations& violations,
             TensorMapDesc* out) {
  return Proposer(desc, arch, named_fields(violations)).run(out);
}

}  // namespace tw
