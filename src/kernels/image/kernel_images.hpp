// SPDX-License-Identifier: Apache-2.0
#pragma once
// The images that are embedded in the library. kernel_images.cpp finds them; no_kernel_images.cpp
// is in its place in a build without device code.

#include <cstddef>
#include <cstdint>

#include "kernels/table/kernel_table.hpp"

namespace tw {

/// The embedded fatbin of one part of the device code (see emit.cuh); size 0 where this build has
/// none, and for nullptr.
struct KernelImage {
  const void* data;
  size_t size;
};
KernelImage kernel_image(const char* name);
/// The name of the index-th one; nullptr past the end.
const char* kernel_image_name(int32_t index);

/// Whether this build was configured with -Dkernels and has not this one. What it has of the row's
/// image is then the chosen kernels alone.
bool kernel_left_out(const KernelRow& row);

}  // namespace tw
