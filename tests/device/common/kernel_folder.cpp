// SPDX-License-Identifier: Apache-2.0
// The linker sends the library's calls of kernel_image() here (--wrap, in meson.build).
#include "tests/device/common/kernel_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "kernels/image/kernel_images.hpp"
#include "kernels/table/kernel_table.hpp"

// The names are the mangled ones of tw::kernel_image(tw::Family, int32_t).
extern "C" tw::KernelImage __real__ZN2tw12kernel_imageENS_6FamilyEi(tw::Family family,
                                                                    int32_t shard);
extern "C" tw::KernelImage __wrap__ZN2tw12kernel_imageENS_6FamilyEi(tw::Family family,
                                                                    int32_t shard);

namespace {

std::vector<std::string>& taken() {
  static std::vector<std::string> names;
  return names;
}

}  // namespace

extern "C" tw::KernelImage __wrap__ZN2tw12kernel_imageENS_6FamilyEi(tw::Family family,
                                                                    int32_t shard) {
  static std::mutex mutex;
  static std::map<std::string, std::string> images;
  const char* folder = std::getenv("TW_KERNEL_IMAGES");
  if (!folder) return __real__ZN2tw12kernel_imageENS_6FamilyEi(family, shard);
  const std::string name =
      std::string(tw::family_name(family)) + "_" + std::to_string(shard) + ".cubin";
  const std::lock_guard lock(mutex);
  auto known = images.find(name);
  if (known == images.end()) {
    std::ifstream file(folder + ("/" + name), std::ios::binary);
    known = images.emplace(name, std::string{std::istreambuf_iterator<char>(file), {}}).first;
    if (!known->second.empty()) taken().push_back(name);
  }
  if (known->second.empty()) return __real__ZN2tw12kernel_imageENS_6FamilyEi(family, shard);
  return {known->second.data(), known->second.size()};
}

namespace tw::test {

const std::vector<std::string>& images_of_folder() {
  return taken();
}

bool have_kernel_folder() {
  return std::getenv("TW_KERNEL_IMAGES") != nullptr;
}

}  // namespace tw::test
