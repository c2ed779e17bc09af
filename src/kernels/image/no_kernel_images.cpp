// SPDX-License-Identifier: Apache-2.0
// Replaces kernel_images.cpp in a build without device code.
#include "kernels/image/kernel_images.hpp"

namespace tw {

KernelImage kernel_image(const char*) {
  return {nullptr, 0};
}

const char* kernel_image_name(int32_t) {
  return nullptr;
}

bool kernel_left_out(const KernelEntry&) {
  return false;
}

}  // namespace tw
