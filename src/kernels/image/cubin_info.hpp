// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a cubin says of its kernels.

#include <cstddef>
#include <cstdint>

namespace tw {

/// What ptxas gave a kernel.
struct CubinInfo {
  int32_t registers = 0;
  int32_t static_smem_bytes = 0;
  int32_t local_bytes = 0;  ///< stack frame, spills included
  int32_t max_threads = 0;
  int32_t param_count = 0;
  int32_t param_bytes = 0;  ///< to the end of the last one
  int32_t param_offset =
      0;  ///< of the first one: not 0 where it wants more alignment than the bank
};
/// Reads it out of a cubin; false where the kernel is not in it or the file is damaged.
bool read_cubin_info(const uint8_t* cubin, size_t size, const char* kernel, CubinInfo* out);

}  // namespace tw
