// SPDX-License-Identifier: Apache-2.0
#include "capi/tensor_map/tensor_map_desc.hpp"

#include <algorithm>

namespace tw::capi {

tw_tensor_map_desc to_public(const TensorMapDesc& desc) {
  tw_tensor_map_desc out{.struct_size = 0,
                         .struct_mark = 0,
                         .dtype = static_cast<tw_dtype>(desc.dtype),
                         .rank = desc.rank,
                         .interleave = static_cast<tw_interleave>(desc.interleave),
                         .swizzle = static_cast<tw_swizzle>(desc.swizzle),
                         .l2_promotion = static_cast<tw_l2_promotion>(desc.l2_promotion),
                         .oob_fill = static_cast<tw_oob_fill>(desc.oob_fill),
                         .kind = static_cast<tw_tensor_map_kind>(desc.kind),
                         .wide_mode = desc.wide_mode,
                         .global_address = desc.global_address,
                         .global_dim = {},
                         .global_stride_bytes = {},
                         .box_dim = {},
                         .element_strides = {},
                         .channels_per_pixel = desc.channels_per_pixel,
                         .pixels_per_column = desc.pixels_per_column,
                         .lower_corner = {},
                         .upper_corner = {}};
  std::copy_n(desc.global_dim, 5, out.global_dim);
  std::copy_n(desc.global_stride_bytes, 5, out.global_stride_bytes);
  std::copy_n(desc.box_dim, 5, out.box_dim);
  std::copy_n(desc.element_strides, 5, out.element_strides);
  std::copy_n(desc.lower_corner, 3, out.lower_corner);
  std::copy_n(desc.upper_corner, 3, out.upper_corner);
  return out;
}

Status read_desc(const tw_tensor_map_desc* desc, TensorMapDesc* out) {
  tw_tensor_map_desc in = to_public(TensorMapDesc{});
  TW_TRY(read_struct(desc, "desc", &in));
  out->dtype = static_cast<DType>(in.dtype);
  out->rank = in.rank;
  out->interleave = static_cast<Interleave>(in.interleave);
  out->swizzle = static_cast<Swizzle>(in.swizzle);
  out->l2_promotion = static_cast<L2Promotion>(in.l2_promotion);
  out->oob_fill = static_cast<OobFill>(in.oob_fill);
  out->kind = static_cast<MapKind>(in.kind);
  out->global_address = in.global_address;
  out->wide_mode = in.wide_mode;
  out->channels_per_pixel = in.channels_per_pixel;
  out->pixels_per_column = in.pixels_per_column;
  std::copy_n(in.global_dim, 5, out->global_dim);
  std::copy_n(in.global_stride_bytes, 5, out->global_stride_bytes);
  std::copy_n(in.box_dim, 5, out->box_dim);
  std::copy_n(in.element_strides, 5, out->element_strides);
  std::copy_n(in.lower_corner, 3, out->lower_corner);
  std::copy_n(in.upper_corner, 3, out->upper_corner);
  return Code::OK;
}

int32_t arch_of(const Device& device) {
  const DeviceInfo& info = device.info();
  return info.kind == DeviceKind::host ? TW_ARCH_SM_90
                                       : info.compute_major * 10 + info.compute_minor;
}

}  // namespace tw::capi
