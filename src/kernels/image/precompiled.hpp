// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lists the embedded kernels and extracts their machine code or PTX, for inspection by users only.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/feature.hpp"
#include "base/status.hpp"
#include "kernels/table/kernel_table.hpp"

namespace tw {

/// A target of archs.inc.
struct Target {
  const char* name;  ///< "sm_90a"
  bool ptx;
  uint32_t sm;  ///< fatbinary's number: 90
  FeatureMask features;
};

struct TargetRange {
  const Target* begin_;
  const Target* end_;
  const Target* begin() const { return begin_; }
  const Target* end() const { return end_; }
};
/// All targets of archs.inc, whether this build has them or not.
TargetRange targets();

struct Precompiled {
  const KernelEntry* entry;
  const Target* target;
};

/// One packed image in a fatbin.
struct FatbinEntry {
  const uint8_t* data = nullptr;
  size_t packed_size = 0;  ///< bytes in the library
  size_t size = 0;         ///< bytes after unpack()
  enum class Packing { none, lz4, zstd } packing = Packing::none;
  uint16_t version[2] = {};  ///< for PTX: major and minor version of the language
};

/// Number of pairs of a kernel and a target that this build embeds.
int32_t precompiled_count();
/// The index-th pair, ordered by family, kernel entry and target; false past the end.
bool precompiled_at(int32_t index, Precompiled* out);
/// Finds a kernel by name and target. The error ERROR_NOT_FOUND lists the kernel's targets.
Status find_precompiled(const char* name, const char* target, Precompiled* out);

/// The image that contains the kernel; it contains the other kernels of its part, too.
Status precompiled_image(const Precompiled& kernel, FatbinEntry* out);
/// Finds a target's entry in a fatbin; false if there is none or the fatbin is damaged.
bool find_entry(const void* fatbin, size_t size, const Target& target, FatbinEntry* out);
/// Unpacks an image to `out`, which has entry.size bytes.
Status unpack(const FatbinEntry& entry, void* out);

}  // namespace tw
