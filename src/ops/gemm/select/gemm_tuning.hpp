// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tuning entries: measured choices, which overrule the cost model, and their text format.
//
//   tilewright gemm tuning 1
//   device NVIDIA H200
//   rates 4800 700
//   bf16 bf16 f32 rcr 132 64 2112 7168 gemm_bf16_bf16_rc_..._split_wgmma/4 12.7
//
// A line "rates" has the chip's memory bandwidth in GB/s and its TFLOP/s at the power limit, as
// calibration has found them; the cost model then uses these instead of the published ones.
// An entry's line has these fields: the types of A and B, of D and of the accumulators; the orders
// of A, B and D (r or c); the SMs used; m, n, k; the choice; and its time in microseconds. Optional
// fields follow: the batch count ("x16"); "programmatic" for an entry measured with dependent
// launch, which serves only plans with dependent launch; and for narrow types "by <type of B>",
// "scales <letters of A and B>", "fast" and "quantized". An entry serves devices with the name of
// the last device line before it. Empty lines and lines that begin with # are skipped.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/process_lock.hpp"
#include "ops/gemm/select/gemm_chip.hpp"
#include "ops/gemm/select/gemm_select.hpp"

namespace tw {

/// Everything but m that a tuning entry must share with a problem to serve it.
struct GemmTuningKey {
  std::string device;
  DType a_dtype{}, d_dtype{}, accumulator{};
  Order a_order{}, b_order{}, d_order{};
  uint32_t sms = 0;
  int64_t n = 0, k = 0;
  int64_t batch = 1;
  // The problem needs an epilogue kernel. A tuning text has no field for this: an entry has it if
  // the kernel of its choice is an epilogue kernel.
  bool epilogue_kernel = false;
  bool programmatic = false;
  DType b_dtype{};  // 0: the type of A
  ScaleKind a_scale{}, b_scale{};
  bool fast = false;       // TW_GEMM_FAST_ACCUMULATE
  bool quantizes = false;  // the kernel computes scales of D
  bool operator==(const GemmTuningKey&) const = default;
};

GemmTuningKey gemm_tuning_key(const Device& device, const GemmProblem& problem);

struct GemmTuningEntry {
  GemmTuningKey key;
  int64_t m = 0;
  GemmCandidate candidate;  // its time is the measured one
};

/// Rates of a chip that calibration has found, in the units of GemmRates.
struct GemmTuningRates {
  std::string device;
  double dram_bytes_per_ns = 0, power_limit_flop_per_ns = 0;
};

/// A set of tuning entries and rates. Thread-safe, and usable in a child of fork() even if another
/// thread was inside it at the time.
class GemmTuning {
 public:
  /// Adds an entry; it replaces one with the same key and m.
  void add(const GemmTuningEntry& entry);
  /// Adds rates; they replace those of the same device.
  void set_rates(const GemmTuningRates& rates);
  /// Adds all entries and rates of a text, or none if a line cannot be read.
  Status load(std::string_view text);
  std::string format() const;

  /// The entries for a key, sorted by m.
  std::vector<GemmTuningEntry> find(const GemmTuningKey& key) const;
  /// Replaces the rates that calibration has found for the device, if it has.
  void apply_rates(const std::string& device, GemmRates* rates) const;

 private:
  struct Contents {
    std::vector<GemmTuningEntry> entries;  // in the order in which they were added
    std::vector<GemmTuningRates> rates;    // likewise
  };
  void add_all(const Contents& added);

  mutable ForkSafeLock lock_;
  // An update replaces the whole set, so that a child forked meanwhile sees the old or the new one.
  std::unique_ptr<const Contents> contents_ = std::make_unique<Contents>();
};

}  // namespace tw
