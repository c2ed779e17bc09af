// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs GEMM cases on a GPU and compares them there with float64. All bytes between the operands'
// lines are NaN. D is in poisoned memory, all of which is checked after a run.

#include <memory>
#include <string>

#include "ops/gemm/gemm.hpp"
#include "tests/device/common/fixture.hpp"
#include "tests/device/gemm/gemm_check.hpp"

namespace tw::test {

struct GemmCase {
  GemmDesc desc;
  float alpha = 1.0f, beta = 0.0f;
  uint64_t d_offset = 0;   ///< offset of C and D past a multiple of 1024 bytes
  uint64_t ab_offset = 0;  ///< the same for A and B
  int magnitude = 0;       ///< elements are integers up to this magnitude; 0: N(0, 1)
  int64_t run_m = -1;
  bool in_place = false;        ///< C is D
  bool plant_specials = false;  ///< NaN and infinities in A
  int64_t special_step = 29;    ///< distance of the specials along k
  uint64_t seed = 1;
};

std::string describe(const GemmCase& c);

/// Result of a case. `text` describes the errors; it is empty if there is none.
struct GemmOutcome {
  std::string text;
  Verdict verdict;
};

/// Addresses and packed leading dimensions of a case.
struct GemmOperands {
  GemmDesc desc;
  uint64_t a = 0, b = 0, c = 0, d = 0;
  uint64_t workspace = 0;
  uint64_t d_bytes = 0;
  GemmRun run(const GemmCase& of) const;
};

class GemmLab {
 public:
  static constexpr uint64_t kRegionBytes = 96 << 20;  ///< for A, B, C, D and each float64 result
  static constexpr uint64_t kWorkspaceBytes = 4 * kRegionBytes;
  static constexpr uint8_t kPoison = 0xa7;

  /// Returns nullptr, and skips the test case, without a GPU.
  static std::unique_ptr<GemmLab> open();
  ~GemmLab();

  const std::shared_ptr<Device>& device() const { return device_; }
  Stream& stream() { return *stream_; }
  GemmCheck& check() { return check_; }

  /// Fills the operands, poisons D, and computes the reference.
  GemmOperands prepare(const GemmCase& c);
  /// Runs a plan on the operands, and compares D and the memory around it.
  GemmOutcome run(const GemmPlan& plan, const GemmCase& c, const GemmOperands& at);
  /// Only compares what an earlier launch has written.
  GemmOutcome look(const GemmCase& c, const GemmOperands& at);
  GemmOutcome run(const GemmPlan& plan, const GemmCase& c) { return run(plan, c, prepare(c)); }
  /// kRegionBytes of memory for the test.
  uint64_t spare() const { return arena_ + 6 * kRegionBytes; }

 private:
  GemmLab() = default;
  uint64_t region(int index) const { return arena_ + static_cast<uint64_t>(index) * kRegionBytes; }
  void fill_matrix(uint64_t region, uint64_t at, int64_t rows, int64_t columns, Order order,
                   int64_t leading, DType type, uint64_t seed, int magnitude);

  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  GemmCheck check_;
  uint64_t arena_ = 0;
};

/// Bound of Verdict::distance() between the results and float64.
double distance_limit(const GemmDesc& desc);

}  // namespace tw::test
