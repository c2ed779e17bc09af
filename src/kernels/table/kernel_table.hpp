// SPDX-License-Identifier: Apache-2.0
#pragma once
// The table of kernels: one row for every precompiled kernel and every host body.
//
// A row is a kernel entry of <family>/kernels.inc or of a table that it includes. Device code, the
// tests and the benchmarks read them too. Within a family, order is preference.

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

/// Runs a whole launch on the CPU. `arguments` is the family's argument struct; `grid` and
/// `cluster` are what a GPU would have been launched with.
using HostBody = void (*)(HostEngine& engine, const void* arguments);

struct KernelRow {
  Family family;
  FeatureMask feature;  ///< what it needs; one bit
  const char* symbol;   ///< of the kernel, and the name users see
  const char* image;    ///< which image holds it: its part's; nullptr for a host row
  HostBody host;        ///< for a host row; nullptr otherwise
  int32_t threads;      ///< a block
  int32_t tile[3];      ///< rows, columns, k of a tile; 0 where it has none
  int32_t stages;
  int32_t cluster[2];  ///< along m and n
  /// Of A (or all inputs), of outputs, of B, where the row is bound to types; B's 0: as A's.
  DType dtypes[3];
  uint32_t variant;  ///< the family's own bits, see its header
  /// Its SMs are set up for shared memory, whatever it needs: blocks of the kernel behind, which do
  /// need it, then begin beside it where there is room for them.
  bool shared_first = false;
};

struct RowRange {
  const KernelRow* begin_;
  const KernelRow* end_;
  const KernelRow* begin() const { return begin_; }
  const KernelRow* end() const { return end_; }
};

// Each family's rows, defined in its folder: copy_rows(), ...
#define TW_FAMILY(name, value) RowRange name##_rows();
#include "kernels/families.inc"
#undef TW_FAMILY

/// The rows of a family, best first.
RowRange kernel_rows(Family family);
const char* family_name(Family family);

}  // namespace tw
