// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads a kernel's resource usage from a cubin, without a driver.

#include <cstddef>
#include <cstdint>

namespace tw {

/// Resources that ptxas assigned to a kernel.
struct CubinInfo {
  int32_t registers = 0;
  int32_t static_smem_bytes = 0;
  int32_t local_bytes = 0;  ///< stack frame, with spills
  int32_t max_threads = 0;
  int32_t param_count = 0;
  int32_t param_bytes = 0;  ///< to the end of the last parameter
  int32_t param_offset =
      0;  ///< of the first parameter; not 0 if its alignment exceeds the constant bank's
};
/// False if the cubin does not hold the kernel or is damaged.
bool read_cubin_info(const uint8_t* cubin, size_t size, const char* kernel, CubinInfo* out);

}  // namespace tw
