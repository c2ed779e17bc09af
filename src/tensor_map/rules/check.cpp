// SPDX-License-Identifier: Apache-2.0
// The rules of the modes and of the tensor in global memory; check_box.cpp has those of the box.
#include "tensor_map/rules/check.hpp"

#include "tensor_map/geometry.hpp"
#include "tensor_map/rules/check_box.hpp"

namespace tw {
namespace {

template <class T>
int64_t number(T value) {
  return static_cast<int64_t>(value);
}

bool floating(int32_t map_type) {
  return map_type >= 6 && map_type <= 12;
}

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

void check_interleave(const TensorMapDesc& desc, Violations* out) {
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
  if (is_padded(desc.dtype) && swizzle != 0 && swizzle != 3 && swizzle != 4 &&
      !(swizzle == 6 && desc.dtype == DType::U6X16_ALIGN16B))
    out->add(Rule::packed_swizzle, -1, swizzle, number(desc.dtype));
  // The driver takes all four on 9.0.
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
  const uint32_t group = is_padded(desc.dtype) ? 128 : (is_packed(desc.dtype) ? 2 : 1);
  if (rank > 0 && desc.global_dim[0] % group != 0)
    out->add(Rule::packed_dim, 0, number(desc.global_dim[0]), group);
}

void check_tensor(const TensorMapDesc& desc, int32_t rank, Violations* out) {
  const int64_t align = global_alignment(desc);
  const uint64_t below = static_cast<uint64_t>(align) - 1;  // a power of two: no division
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

void check_all(const TensorMapDesc& desc, int32_t arch, Violations* out) {
  out->count = 0;
  const auto kind = static_cast<int32_t>(desc.kind);
  if (kind < 0 || kind > 2) {
    out->add(Rule::kind_value, -1, kind, 2);
    return;  // no rule beyond this one is known to apply
  }
  check_type(desc, arch, out);
  check_interleave(desc, out);
  check_swizzle(desc, arch, out);
  if (static_cast<uint32_t>(desc.l2_promotion) > 3)
    out->add(Rule::l2_promotion_value, -1, number(desc.l2_promotion), 3);
  // Dimensions of a rank that cannot be have no meaning; rules of one dimension are left out then.
  const int32_t rank = desc.rank < 0 || desc.rank > 5 ? 0 : desc.rank;
  check_tensor(desc, rank, out);
  if (desc.kind == MapKind::tiled)
    check_box(desc, rank, out);
  else
    check_column(desc, rank, arch, out);
}

}  // namespace tw
