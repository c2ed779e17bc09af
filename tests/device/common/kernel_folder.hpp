// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs a test with the kernels of another build: images in the folder TW_KERNEL_IMAGES
// (<part>.cubin) replace the library's own, for every plan of a program that is linked with
// kernel_folder.cpp (kernel_folder_dep).

#include <string>
#include <vector>

namespace tw::test {

/// Names of the images that plans have taken from the folder so far.
const std::vector<std::string>& images_of_folder();
/// Whether TW_KERNEL_IMAGES is set.
bool have_kernel_folder();

}  // namespace tw::test
