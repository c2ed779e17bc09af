// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory that a run names: what it writes must be nothing else that it names.

#include <cstdint>

#include "ops/plan.hpp"

namespace tw {

class GemmSpans {
 public:
  void writes(const char* name, uint64_t address, uint64_t bytes) {
    written_[writes_++] = {name, address, bytes};
  }
  void reads(const char* name, uint64_t address, uint64_t bytes) {
    read_[reads_++] = {name, address, bytes};
  }

  /// Fails with TW_ERROR_OVERLAP where two of them that are not both read meet.
  Status check() const {
    for (int i = 0; i < writes_; ++i) {
      for (int j = i + 1; j < writes_; ++j) TW_TRY(apart(written_[i], written_[j]));
      for (int j = 0; j < reads_; ++j) TW_TRY(apart(written_[i], read_[j]));
    }
    return {};
  }

 private:
  struct Span {
    const char* name;
    uint64_t address, bytes;
  };
  static Status apart(const Span& a, const Span& b) {
    return check_disjoint(a.name, a.address, a.bytes, b.name, b.address, b.bytes);
  }

  Span written_[4];  // workspace, d, amax, skipped
  Span read_[9];     // a, b, c, d where they are arrays, device_m, alpha, beta, bias, scale
  int writes_ = 0, reads_ = 0;
};

}  // namespace tw
