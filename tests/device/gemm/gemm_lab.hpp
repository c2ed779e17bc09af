// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gemm on a GPU, case by case, compared on the GPU with float64: operands in one arena, everything
// between their lines is NaN, D lies in poisoned memory that is looked at whole afterwards.

#include <memory>
#include <string>

#include "ops/gemm/gemm.hpp"
#include "tests/device/common/fixture.hpp"
#include "tests/device/gemm/gemm_check.hpp"

namespace tw::test {

struct GemmCase {
  GemmDesc desc;
  float alpha = 1.0f, beta = 0.0f;
  uint64_t d_offset = 0;   ///< bytes past a multiple of 1024
  uint64_t ab_offset = 0;  ///< the same for A and B
  int magnitude = 0;       ///< integers up to it; 0: N(0, 1)
  int64_t run_m = -1;
  bool in_place = false;        ///< C is D
  bool plant_specials = false;  ///< NaN and infinities in A
  int64_t special_step = 29;    ///< along k, from one of them to the next
  uint64_t seed = 1;
};

std::string describe(const GemmCase& c);

/// What is wrong with one case's result; nothing is if text is empty.
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
  static constexpr uint64_t kRegionBytes = 96 << 20;  ///< of A, B, C, D and each float64 result
  static constexpr uint64_t kWorkspaceBytes = 4 * kRegionBytes;
  static constexpr uint8_t kPoison = 0xa7;

  /// nullptr, and the case said why, where there is no GPU.
  static std::unique_ptr<GemmLab> open();
  ~GemmLab();

  const std::shared_ptr<Device>& device() const { return device_; }
  Stream& stream() { return *stream_; }
  GemmCheck& check() { return check_; }

  /// Operands filled, D poisoned, and the reference computed.
  GemmOperands prepare(const GemmCase& c);
  /// Runs a plan on them and compares D, and what lies round it.
  GemmOutcome run(const GemmPlan& plan, const GemmCase& c, const GemmOperands& at);
  /// The comparison alone, of what an earlier launch wrote.
  GemmOutcome look(const GemmCase& c, const GemmOperands& at);
  GemmOutcome run(const GemmPlan& plan, const GemmCase& c) { return run(plan, c, prepare(c)); }
  /// Memory for the test's own use, of kRegionBytes.
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

/// Largest distance 1 - 2 <x, y> / (<x, x> + <y, y>) from float64 that results may have.
double distance_limit(const GemmDesc& desc);

}  // namespace tw::test
