// SPDX-License-Identifier: Apache-2.0
#pragma once
// The precompiled kernels as they are embedded: which there are for which target, the machine code
// or PTX of each. For people who want to look; no run comes through here.

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
  uint32_t sm;  ///< 90, as fatbinary writes it
  FeatureMask features;
};

struct TargetRange {
  const Target* begin_;
  const Target* end_;
  const Target* begin() const { return begin_; }
  const Target* end() const { return end_; }
};
/// All of them, whether this build has them or not.
TargetRange targets();

/// One kernel for one target.
struct Precompiled {
  const KernelRow* row;
  const Target* target;
};

/// One packed image in a fatbin.
struct FatbinEntry {
  const uint8_t* data = nullptr;
  size_t packed_size = 0;  ///< what it takes of the library
  size_t size = 0;         ///< unpacked
  enum class Packing { none, lz4, zstd } packing = Packing::none;
  uint16_t version[2] = {};  ///< major and minor: of the PTX language, where it is PTX
};

/// How many kernels for how many targets this build embeds, counted one by one.
int32_t precompiled_count();
/// The k-th of them, in the order of the families, their rows and archs.inc; false past the end.
bool precompiled_at(int32_t index, Precompiled* out);
/// The one of this name and target. ERROR_NOT_FOUND says which there are.
Status find_precompiled(const char* name, const char* target, Precompiled* out);

/// Its image in its part's fatbin, which holds other kernels too.
Status precompiled_image(const Precompiled& kernel, FatbinEntry* out);
/// Finds an entry of a target in a fatbin; false where there is none or the fatbin is damaged.
bool find_entry(const void* fatbin, size_t size, const Target& target, FatbinEntry* out);
/// Unpacks an image into `size` bytes.
Status unpack(const FatbinEntry& entry, void* out);

}  // namespace tw
