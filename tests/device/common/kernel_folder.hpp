// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kernels of another build in a test program: where TW_KERNEL_IMAGES names a folder, images that it
// has (<part>.cubin) take the place of the library's own. A program that is linked with
// kernel_folder.cpp (kernel_folder_dep) has every plan take its kernels that way.

#include <string>
#include <vector>

namespace tw::test {

/// Names of the images that plans took from the folder so far; none where there is no folder.
const std::vector<std::string>& images_of_folder();
/// Whether there is a folder.
bool have_kernel_folder();

}  // namespace tw::test
