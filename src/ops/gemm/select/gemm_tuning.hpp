// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measured choices: what overrules the cost model, and the text they travel in.
//
//   tilewright gemm tuning 1
//   device NVIDIA H200
//   bf16 bf16 f32 rcr 132 64 2112 7168 gemm_bf16_bf16_rc_..._split_wgmma/4 12.7
//
// A line holds the types of A and B, of D and of sums, the orders of A, B and D (r or c), the SMs
// that were used, m, n, k, the choice, the microseconds that it took, where there are several
// products in a run their number ("x16"), and "programmatic" where it was launched so: then it
// counts for such plans alone. It counts for devices of the name that the last device line before
// it gives, and for no others. Empty lines and lines that begin with # are skipped.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_lock.hpp"
#include "ops/gemm/select/gemm_select.hpp"

namespace tw {

/// What a measured choice is for.
struct GemmTuningKey {
  std::string device;
  DType a_dtype{}, d_dtype{}, accumulator{};
  Order a_order{}, b_order{}, d_order{};
  uint32_t sms = 0;
  int64_t n = 0, k = 0;
  int64_t batch = 1;
  bool full = false;  // with an epilogue: the choice's kernel says so, of whichever it is
  bool programmatic = false;
  DType b_dtype{};  // where it is not A's
  ScaleKind a_scale{}, b_scale{};
  bool fast = false;       // TW_GEMM_FAST_ACCUMULATE
  bool quantizes = false;  // D has scales of its own
  bool operator==(const GemmTuningKey&) const = default;
};

GemmTuningKey gemm_tuning_key(const Device& device, const GemmProblem& problem);

struct GemmTuned {
  GemmTuningKey key;
  int64_t m = 0;
  GemmCandidate candidate;  // with the measured time
};

/// May be used from several threads at once, and by a child of fork() whatever they were doing.
class GemmTuning {
 public:
  /// Adds an entry, in the place of one for the same shape.
  void add(const GemmTuned& entry);
  /// Adds all entries of a text, or none where a line cannot be read.
  Status load(std::string_view text);
  std::string format() const;

  /// The entries for a key, by m.
  std::vector<GemmTuned> find(const GemmTuningKey& key) const;

 private:
  void add_all(std::span<const GemmTuned> added);

  using Entries = std::vector<GemmTuned>;  // in the order of their arrival

  mutable ProcessLock lock_;
  // Replaced as a whole: a child that was forked meanwhile has the old ones or the new ones.
  std::unique_ptr<const Entries> entries_ = std::make_unique<Entries>();
};

}  // namespace tw
