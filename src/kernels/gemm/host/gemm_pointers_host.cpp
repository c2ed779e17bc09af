// SPDX-License-Identifier: Apache-2.0
// Host body that prepares a batch given by addresses, see gemm_pointers.cuh.
#include "kernels/gemm/arguments/gemm_pointers.h"
#include "kernels/gemm/host/gemm_host.hpp"
#include "tensor_map/rebind.hpp"

namespace tw {
namespace {

// Reads the addresses of one product; false if it has to be skipped.
bool read_addresses(const GemmPointersArgs& args, i32 index, u64 (&out)[kGemmOperands]) {
  bool good = true;
  for (u32 operand = 0; operand < kGemmOperands; ++operand) {
    out[operand] = 0;
    if (args.arrays[operand] == 0) continue;
    out[operand] = reinterpret_cast<const u64*>(args.arrays[operand])[index];
    good = good && !gemm_bad_address(out[operand], args.alignment[operand]);
  }
  return good;
}

}  // namespace

void gemm_host_pointers(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GemmPointersArgs*>(arguments);
  for (i32 index = 0; index < args.count; ++index) {
    u64 address[kGemmOperands];
    if (!read_addresses(args, index, address)) {
      for (u64& one : address) one = 0;
      if (args.invalid_count != 0) ++*reinterpret_cast<u64*>(args.invalid_count);
    }
    reinterpret_cast<GemmMatrix*>(args.matrices)[index] = {address[0], address[1], address[2],
                                                           address[3]};
    if (args.product_maps == 0) continue;
    auto* maps = reinterpret_cast<KernelMap*>(args.product_maps) + i64{index} * kGemmMaps;
    for (u32 map = 0; map < kGemmMaps; ++map) {
      maps[map] = args.maps[map];
      rebind_address(&maps[map],
                     gemm_map_address(address[gemm_operand_of_map(map)], args.product_maps));
    }
  }
}

}  // namespace tw
