// SPDX-License-Identifier: Apache-2.0
// Replaces the library's kernel_image() (linker option --wrap, in meson.build).
#include "tests/device/common/kernel_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>

#include "kernels/image/kernel_images.hpp"

// Mangled names of tw::kernel_image(const char*).
extern "C" tw::KernelImage __real__ZN2tw12kernel_imageEPKc(const char* name);
extern "C" tw::KernelImage __wrap__ZN2tw12kernel_imageEPKc(const char* name);

namespace {

std::vector<std::string>& taken() {
  static std::vector<std::string> names;
  return names;
}

}  // namespace

extern "C" tw::KernelImage __wrap__ZN2tw12kernel_imageEPKc(const char* part) {
  static std::mutex mutex;
  static std::map<std::string, std::string> images;
  const char* folder = std::getenv("TW_KERNEL_IMAGES");
  if (!folder) return __real__ZN2tw12kernel_imageEPKc(part);
  const std::string name = std::string(part) + ".cubin";
  const std::lock_guard lock(mutex);
  auto known = images.find(name);
  if (known == images.end()) {
    std::ifstream file(folder + ("/" + name), std::ios::binary);
    known = images.emplace(name, std::string{std::istreambuf_iterator<char>(file), {}}).first;
    if (!known->second.empty()) taken().push_back(name);
  }
  if (known->second.empty()) return __real__ZN2tw12kernel_imageEPKc(part);
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
