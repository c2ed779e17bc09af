// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernel table: one entry (KernelEntry) for every precompiled kernel and every host body.
//
// An entry comes from <family>/kernels.inc or a table that it includes. Device code, tests and
// benchmarks read the same files. Within a family, earlier entries are preferred.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/feature.hpp"

namespace tw {

enum class Family : int32_t {
#define TW_FAMILY(name, value) name = value,
#include "kernels/families.inc"
#undef TW_FAMILY
};

class HostEngine;

/// Runs a whole launch on the CPU. `arguments` is the family's argument struct.
using HostBody = void (*)(HostEngine& engine, const void* arguments);

struct KernelEntry {
  Family family;
  FeatureMask feature;  ///< the one feature that the kernel needs
  const char* symbol;   ///< the kernel's symbol, and its name for users
  const char* image;    ///< name of the image (part) that holds it; nullptr for a host body
  HostBody host;        ///< the host body; nullptr for a kernel
  int32_t threads;      ///< per block
  int32_t tile[3];      ///< rows, columns and k of a tile; 0 if there is no fixed tile
  int32_t stages;
  int32_t cluster[2];  ///< blocks along m and n
  /// Types of A (or all inputs), of outputs, and of B. DType{}: any type; for B: A's type.
  DType dtypes[3];
  uint32_t variant;  ///< the family's own bits, see its argument header
  /// Launch with the carveout set to shared memory although the kernel needs none: blocks of a
  /// dependent kernel that does need shared memory can then start on the same SM.
  bool prefers_shared_carveout = false;
};

struct KernelEntries {
  const KernelEntry* begin_;
  const KernelEntry* end_;
  const KernelEntry* begin() const { return begin_; }
  const KernelEntry* end() const { return end_; }
};

// Each family defines its entries in its folder: copy_entries(), ...
#define TW_FAMILY(name, value) KernelEntries name##_entries();
#include "kernels/families.inc"
#undef TW_FAMILY

/// The entries of a family, preferred ones first.
KernelEntries kernel_entries(Family family);
const char* family_name(Family family);

}  // namespace tw
