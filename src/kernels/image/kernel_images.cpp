// SPDX-License-Identifier: Apache-2.0
// Finds embedded images in the tables that embed.py writes.
#include "kernels/image/kernel_images.hpp"

#include <cstring>

namespace {

struct Entry {
  const char* name;  // name of a part: "gemm_basic_0"; nullptr ends the table
  const void* begin;
  const void* end;
};

}  // namespace

extern "C" const Entry tw_kernel_image_table[];
// Names of the kernels in a build with -Dkernels, ended by nullptr. Empty if the build has all.
extern "C" const char* const tw_kernel_chosen_table[];

namespace tw {

KernelImage kernel_image(const char* name) {
  for (const Entry* entry = tw_kernel_image_table; name && entry->name; ++entry) {
    if (std::strcmp(entry->name, name) != 0) continue;
    const auto* begin = static_cast<const char*>(entry->begin);
    return {begin, static_cast<size_t>(static_cast<const char*>(entry->end) - begin)};
  }
  return {nullptr, 0};
}

const char* kernel_image_name(int32_t index) {
  const Entry* entry = tw_kernel_image_table;
  while (entry->name && index-- > 0) ++entry;
  return entry->name;
}

bool kernel_left_out(const KernelEntry& entry) {
  if (!entry.image || !tw_kernel_chosen_table[0]) return false;
  for (const char* const* name = tw_kernel_chosen_table; *name; ++name)
    if (std::strcmp(*name, entry.symbol) == 0) return false;
  return true;
}

}  // namespace tw
