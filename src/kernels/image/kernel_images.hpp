// SPDX-License-Identifier: Apache-2.0
#pragma once
// The images embedded in the library. no_kernel_images.cpp replaces kernel_images.cpp in a build
// without device code.

#include <cstddef>
#include <cstdint>

#include "kernels/table/kernel_table.hpp"

namespace tw {

/// The embedded fatbin of one part of the device code (see emit.cuh). Its size is 0 if this build
/// does not have it, and for a name of nullptr.
struct KernelImage {
  const void* data;
  size_t size;
};
KernelImage kernel_image(const char* name);
/// The name of the index-th image; nullptr past the end.
const char* kernel_image_name(int32_t index);

/// Whether this build was configured with -Dkernels and without this kernel. The kernel's image may
/// still exist, with other kernels.
bool kernel_left_out(const KernelEntry& entry);

}  // namespace tw
