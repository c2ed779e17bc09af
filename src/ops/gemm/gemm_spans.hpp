// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory operands of a run. Checks that nothing that the run writes overlaps another operand.

#include <cstdint>

#include "ops/plan/plan.hpp"

namespace tw {

/// The bytes of an operand: `matrices` matrices of `lines` lines of `contiguous` bytes. Lines begin
/// every `pitch` bytes, matrices every `matrix_stride` bytes. The span is at most 2^63 - 1. Members
/// have no default values, because most elements of GemmSpans' arrays stay unused.
struct GemmBytes {
  int64_t contiguous;
  int64_t lines, pitch;
  int64_t matrices, matrix_stride;

  bool empty() const { return contiguous == 0 || lines == 0 || matrices == 0; }
  /// From the first byte to one past the last.
  int64_t span() const {
    return empty() ? 0 : (matrices - 1) * matrix_stride + (lines - 1) * pitch + contiguous;
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
  /// The same for `bytes` consecutive bytes.
  void writes(const char* name, uint64_t address, uint64_t bytes) {
    writes(name, address, one_line(bytes));
  }
  void reads(const char* name, uint64_t address, uint64_t bytes) {
    reads(name, address, one_line(bytes));
  }

  /// Fails with TW_ERROR_OVERLAP if a written operand shares a byte with another one, or if a short
  /// search cannot rule that out. On a device that knows its memory, also fails for operands
  /// outside it.
  Status check(const Device& device) const;

 private:
  struct Span {
    const char* name;
    uint64_t address;
    GemmBytes bytes;
  };
  static GemmBytes one_line(uint64_t bytes) { return {static_cast<int64_t>(bytes), 1, 0, 1, 0}; }
  static Status check_memory(const Device& device, const Span& span);
  static Status check_disjoint(const Span& a, const Span& b);

  // A product writes at most the workspace, d, its scales, amax and invalid_count.
  Span written_[5];
  // A product reads at most a, b, c and d (if they are arrays), device_m, alpha, beta, bias,
  // d_factor, scales of a and b. A grouped product reads at most a, b, bias, groups, map, alpha,
  // rows of a and d, row weights, inverse, scales of a and b.
  Span read_[12];
  int writes_ = 0, reads_ = 0;
};

}  // namespace tw
