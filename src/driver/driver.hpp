// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA driver, loaded at run time: a table of its functions, and what their results mean.
//
// Nothing links against libcuda. The first use in a process loads libcuda.so.1 and fills the table.
// libcuda is never closed, because its threads and exit handlers would crash. All functions may be
// called from any thread.

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

#ifndef CUDA_VERSION  // defined if cuda.h was included before, which has the same names
#include "driver/cuda_types.inc"
#define CU_STREAM_LEGACY (reinterpret_cast<CUstream>(1))
#define CU_STREAM_PER_THREAD (reinterpret_cast<CUstream>(2))
#define CU_MEMHOSTALLOC_PORTABLE 1
#endif

namespace tw {

/// The oldest driver that has every `required` function of symbols.inc, as cuDriverGetVersion
/// numbers it. The newest of them is cuKernelGetParamInfo. Embedded kernels may need a newer
/// driver: see kernels/image/driver_choice.hpp.
inline constexpr int32_t kMinimumDriver = 12040;

/// The member MemAlloc is cuMemAlloc, and so on. `optional` functions may be nullptr.
struct Driver {
#define TW_DRIVER_SYMBOL(name, version, need, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
#include "driver/symbols.inc"
#undef TW_DRIVER_SYMBOL
  int32_t version = 0;
};

/// Loads the driver if necessary, and calls cuInit. Fails with ERROR_NO_DRIVER or
/// ERROR_DRIVER_TOO_OLD, with the code of results.inc if cuInit fails (such as ERROR_NO_DEVICE), or
/// with ERROR_FORKED in a child of a process that had initialized the driver. After a failure the
/// next call tries again.
Status find_driver(const Driver** out);

/// For tests: replaces libcuda's table by `fake`, or restores it if `fake` is nullptr. No device
/// may be open. `fake` must outlive its use.
void replace_driver(const Driver* fake);

/// Whether a result means that the context is dead.
bool is_sticky(CUresult result);

/// Records the failure of a driver call with the name, number and text of its result. `call` is the
/// function's name.
Status driver_failure(const Driver& cu, CUresult result, const char* call);

/// The name of a result, such as "CUDA_ERROR_INVALID_VALUE"; never nullptr.
const char* result_name(const Driver& cu, CUresult result);

}  // namespace tw
