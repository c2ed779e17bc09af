// SPDX-License-Identifier: Apache-2.0
#pragma once
// The CUDA driver, found at run time: a table of functions and the meaning of their results.
//
// Nothing here links against libcuda. The table is filled once a process, on first use, from
// libcuda.so.1, which is never closed: its own threads and exit handlers would not survive that.
// Thread-safety: everything may be called from any thread.

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"

#ifndef CUDA_VERSION  // cuda.h was included before: its names are these
#include "driver/cuda_types.inc"
#define CU_STREAM_LEGACY (reinterpret_cast<CUstream>(1))
#define CU_STREAM_PER_THREAD (reinterpret_cast<CUstream>(2))
#define CU_MEMHOSTALLOC_PORTABLE 1
#endif

namespace tw {

/// Oldest driver that has everything `required` in symbols.inc, as cuDriverGetVersion numbers it.
/// The one that decides is cuKernelGetParamInfo. Embedded kernels may need a newer one: see
/// kernels/image/driver_choice.hpp.
inline constexpr int32_t kMinimumDriver = 12040;

/// cu.MemAlloc is cuMemAlloc, and so on. An `optional` function may be nullptr.
struct Driver {
#define TW_DRIVER_SYMBOL(name, version, need, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
#include "driver/symbols.inc"
#undef TW_DRIVER_SYMBOL
  int32_t version = 0;
};

/// The initialised driver of this process. Fails with ERROR_NO_DRIVER, ERROR_DRIVER_TOO_OLD,
/// ERROR_NO_DEVICE, or ERROR_FORKED in a child of a process that had initialised it; a failure is
/// not remembered.
Status find_driver(const Driver** out);

/// Puts another table in the place of libcuda's (nullptr: libcuda's again). For tests: no device
/// may be open. `fake` must outlive its use.
void replace_driver(const Driver* fake);

/// Whether a result has killed the context it came from.
bool is_sticky(CUresult result);

/// The failure of a driver call as a Status: the name, number and text of the result, after what
/// was being done.
Status driver_failure(const Driver& cu, CUresult result, const char* call);

/// The driver's name of a result, "CUDA_ERROR_INVALID_VALUE"; never nullptr.
const char* result_name(const Driver& cu, CUresult result);

}  // namespace tw
