// SPDX-License-Identifier: Apache-2.0
#pragma once
// The images that are embedded in the library. kernel_images.cpp finds them; no_kernel_images.cpp
// is in its place in a build without device code.

#include <cstddef>
#include <cstdint>

#include "kernels/table/kernel_table.hpp"

namespace tw {

/// The embedded fatbin of one shard; size 0 where this build has none.
struct KernelImage {
  const void* data;
  size_t size;
};
KernelImage kernel_image(Family family, int32_t shard);

/// Whether this build was configured with -Dkernels and has not this one. What it has of the row's
/// shard is then the chosen kernels alone.
bool kernel_left_out(const KernelRow& row);

}  // namespace tw
