// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory that a run names: what it writes must be nothing else that it names.

#include <cstdint>

#include "ops/plan/plan.hpp"

namespace tw {

/// The bytes of an operand: `matrices` of `lines` of `contiguous` bytes, `pitch` from line to line
/// and `apart` from matrix to matrix; none where an extent is 0. They span 2^63 - 1 at most.
/// Without defaults: a run has room for more of them than it fills.
struct GemmBytes {
  int64_t contiguous;
  int64_t lines, pitch;
  int64_t matrices, apart;

  bool none() const { return contiguous == 0 || lines == 0 || matrices == 0; }
  /// From the first byte to one past the last.
  int64_t span() const {
    return none() ? 0 : (matrices - 1) * apart + (lines - 1) * pitch + contiguous;
  }
};

class GemmSpans {
 public:
  void writes(const char* name, uint64_t address, const GemmBytes& bytes) {
    written_[writes_++] = {name, address, bytes};
  }
  void reads(const char* name, uint64_t address, const GemmBytes& bytes) {
    read_[reads_++] = {name, address, bytes};
  }
  /// Of bytes one behind the other.
  void writes(const char* name, uint64_t address, uint64_t bytes) {
    writes(name, address, flat(bytes));
  }
  void reads(const char* name, uint64_t address, uint64_t bytes) {
    reads(name, address, flat(bytes));
  }

  /// Fails with TW_ERROR_OVERLAP where two of them that are not both read share a byte, or where a
  /// short search does not find out that they share none. Refuses what lies in no memory that the
  /// device knows.
  Status check(const Device& device) const;

 private:
  struct Span {
    const char* name;
    uint64_t address;
    GemmBytes bytes;
  };
  static GemmBytes flat(uint64_t bytes) { return {static_cast<int64_t>(bytes), 1, 0, 1, 0}; }
  static Status check_memory(const Device& device, const Span& span);
  static Status apart(const Span& a, const Span& b);

  // Of a product: workspace, d, its scales, amax, skipped.
  Span written_[5];
  // Of a product: a, b, c, d where they are arrays, device_m, alpha, beta, bias, scale, scales of a
  // and b. Of a grouped one: a, b, bias, groups, map, alpha, rows of a and d, row weights, inverse,
  // scales of a and b.
  Span read_[12];
  int writes_ = 0, reads_ = 0;
};

}  // namespace tw
