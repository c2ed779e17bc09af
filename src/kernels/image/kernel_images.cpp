// SPDX-License-Identifier: Apache-2.0
// Finds embedded images. embed.py writes the tables that this reads.
#include "kernels/image/kernel_images.hpp"

#include <cstdio>
#include <cstring>

namespace {

struct Entry {
  const char* name;  // "<family>_<shard>"; nullptr ends the table
  const void* begin;
  const void* end;
};

}  // namespace

extern "C" const Entry tw_kernel_image_table[];
// Names of the kernels that a build with -Dkernels has, ended by nullptr; none where it has all.
extern "C" const char* const tw_kernel_chosen_table[];

namespace tw {

KernelImage kernel_image(Family family, int32_t shard) {
  char name[32];
  std::snprintf(name, sizeof name, "%s_%d", family_name(family), shard);
  for (const Entry* entry = tw_kernel_image_table; entry->name; ++entry) {
    if (std::strcmp(entry->name, name) != 0) continue;
    const auto* begin = static_cast<const char*>(entry->begin);
    return {begin, static_cast<size_t>(static_cast<const char*>(entry->end) - begin)};
  }
  return {nullptr, 0};
}

bool kernel_left_out(const KernelRow& row) {
  if (row.shard < 0 || !tw_kernel_chosen_table[0]) return false;
  for (const char* const* name = tw_kernel_chosen_table; *name; ++name)
    if (std::strcmp(*name, row.symbol) == 0) return false;
  return true;
}

}  // namespace tw
