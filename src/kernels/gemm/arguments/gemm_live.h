// SPDX-License-Identifier: Apache-2.0
#pragma once
// Effective sizes, scalars and matrices of an epilogue kernel: those of the launch arguments, or
// values in device memory whose addresses the run gives. Kernels and host bodies share these
// functions. A kernel may read a value in device memory before griddepcontrol.wait only if the plan
// knows that no grid that may still run writes it.

#include "kernels/gemm/arguments/gemm_full.h"
#include "kernels/gemm/arguments/gemm_pointers.h"

namespace tw {

/// Sizes of a run after device_m and device_alpha are applied.
struct GemmEffectiveSizes {
  i32 m, n, k;  // k is 0 where alpha is 0
  i32 units_m, units_n, band;
};

/// The f32 at `address`, or `otherwise` if the address is 0.
TW_KERNEL_HD inline float gemm_scalar(u64 address, float otherwise) {
  return address == 0 ? otherwise : *reinterpret_cast<const float*>(address);
}

/// The value of device_m, clamped to the range from 0 to the run's m.
TW_KERNEL_HD inline i32 gemm_clamped_rows(i64 wanted, i32 most) {
  return wanted < 0 ? 0 : wanted < most ? static_cast<i32>(wanted) : most;
}

/// The sizes of a run. A unit has `rows` rows and `columns` columns of D.
TW_KERNEL_HD inline GemmEffectiveSizes gemm_effective_sizes(const GemmEpilogueArgs& args, i32 rows,
                                                            i32 columns) {
  const GemmArgs& base = args.base;
  GemmEffectiveSizes sizes{base.m, base.n, base.k, base.units_m, base.units_n, base.band};
  if (args.device_alpha != 0 && *reinterpret_cast<const float*>(args.device_alpha) == 0.0f)
    sizes.k = 0;
  if (args.device_m == 0) return sizes;
  const i64 wanted = *reinterpret_cast<const i64*>(args.device_m);
  if (args.flags & kFullSwapped) {
    sizes.n = gemm_clamped_rows(wanted, sizes.n);
    sizes.units_n = (sizes.n + columns - 1) / columns;
  } else {
    sizes.m = gemm_clamped_rows(wanted, sizes.m);
    sizes.units_m = (sizes.m + rows - 1) / rows;
    if (sizes.band > sizes.units_m) sizes.band = sizes.units_m;
  }
  return sizes;
}

/// Number of units in all matrices of the batch.
TW_KERNEL_HD inline i32 gemm_units(const GemmEpilogueArgs& args, const GemmEffectiveSizes& sizes) {
  return sizes.units_m * sizes.units_n * args.batch;
}

/// Addresses of product `z` of the batch; d is 0 if the product is skipped (gemm_pointers.h).
TW_KERNEL_HD inline GemmMatrix gemm_matrix(const GemmEpilogueArgs& args, i32 z, i32 in_bytes,
                                           i32 out_bytes) {
  if (args.matrices != 0) return reinterpret_cast<const GemmMatrix*>(args.matrices)[z];
  return {args.base.a + static_cast<u64>(z * args.a_batch * in_bytes),
          args.base.b + static_cast<u64>(z * args.b_batch * in_bytes),
          args.base.c + static_cast<u64>(z * args.c_batch * out_bytes),
          args.base.d + static_cast<u64>(z * args.d_batch * out_bytes)};
}

/// The maps of product `z`, and its index in their third dimension. A skipped product has an index
/// outside of the map, so that its boxes load zeros and touch no memory.
struct GemmProductMaps {
  const KernelMap* a;
  const KernelMap* b;
  i32 a_index, b_index;
};

TW_KERNEL_HD inline GemmProductMaps gemm_product_maps(const GemmEpilogueArgs& args, i32 z) {
  if (args.maps == 0)
    return {&args.base.map_a, &args.base.map_b, args.a_batch == 0 ? 0 : z,
            args.b_batch == 0 ? 0 : z};
  const auto* maps =
      reinterpret_cast<const KernelMap*>(args.maps) + static_cast<i64>(z) * kGemmMaps;
  const i32 index = reinterpret_cast<const GemmMatrix*>(args.matrices)[z].d == 0 ? 1 : 0;
  return {maps, maps + 1, index, index};
}

/// Map of D of product `z`, if kFullTmaStores is set.
TW_KERNEL_HD inline const KernelMap* gemm_d_map(const GemmEpilogueArgs& args, i32 z) {
  if (args.maps == 0) return &args.base.map_d;
  return reinterpret_cast<const KernelMap*>(args.maps) + static_cast<i64>(z) * kGemmMaps + 2;
}

}  // namespace tw
