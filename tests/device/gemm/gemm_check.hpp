// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host side of the kernels of gemm_check.cu: data on the device, a float64 reference, comparisons.
// All work is in order on one stream. Only functions that return counts wait for it.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/dtype.hpp"
#include "runtime/device.hpp"

namespace tw::test {

/// D = alpha A B + beta C. Strides are in elements and allow any order and padding.
struct ReferenceProblem {
  int64_t m = 0, n = 0, k = 0;
  DType in = DType::BF16, out = DType::BF16;
  double alpha = 1.0, beta = 0.0;
  uint64_t a = 0, b = 0, c = 0;
  int64_t a_stride_m = 0, a_stride_k = 0, b_stride_k = 0, b_stride_n = 0;
  int64_t c_stride_m = 0, c_stride_n = 0;
};

/// Result of a comparison; the same layout as in gemm_check.cu.
struct Verdict {
  double xy = 0, xx = 0, yy = 0;
  uint64_t wrong = 0;
  uint64_t not_finite = 0;
  uint64_t first = 0;  ///< one more than the index of a wrong element; 0: none
  double worst = 0;
  /// 1 - 2 <x, y> / (<x, x> + <y, y>): 0 for equal tensors.
  double distance() const { return xx + yy > 0 ? 1.0 - 2.0 * xy / (xx + yy) : 0.0; }
};

class GemmCheck {
 public:
  /// Loads the kernels. `stream` must outlive this object.
  Status open(const std::shared_ptr<Device>& device, Stream& stream);
  ~GemmCheck();

  /// Fills lines of `along` elements, `leading` apart, with N(0, 1) numbers, or with integers of
  /// -magnitude to magnitude if that is not 0.
  Status fill(uint64_t address, int64_t lines, int64_t along, int64_t leading, DType type,
              uint64_t seed, int magnitude);
  /// Computes row-major float64 results and their error scales, 8 m n bytes each.
  Status reference(const ReferenceProblem& problem, uint64_t value, uint64_t magnitude);
  /// Compares D with a reference: the error of an element may be half an ulp of the output plus
  /// `slack` times its error scale.
  Status against(const ReferenceProblem& problem, uint64_t value, uint64_t magnitude, uint64_t d,
                 int64_t stride_m, int64_t stride_n, double slack, Verdict* verdict);
  Status difference(uint64_t x, uint64_t y, int64_t count, DType type, Verdict* verdict);
  /// compare_bits() and compare_poison() add to a count, which different() reads and clears.
  Status compare_bits(Stream& stream, uint64_t x, uint64_t y, uint64_t bytes);
  Status compare_poison(uint64_t base, uint64_t bytes, uint64_t offset, int64_t lines,
                        int64_t along, int64_t pitch, uint8_t poison);
  Status different(uint64_t* count);
  /// Occupies the shared memory of `blocks` SMs until let_go().
  Status hold(Stream& stream, uint32_t blocks);
  /// Number of these blocks that run now.
  Status holding(Stream& stream, uint32_t* blocks);
  Status let_go(Stream& stream);
  /// Runs blocks beside the later work of `stream`, until disperse(). They access shared memory all
  /// the time, so that accesses of the other blocks of the SM queue up.
  Status crowd(Stream& stream, uint32_t blocks, uint32_t threads);
  Status disperse(Stream& stream);
  /// Crowd blocks since the last call that timed out: the work did not fit beside them.
  Status alone(Stream& stream, uint32_t* blocks);
  /// Runs short-lived blocks with 4 KB of shared memory each. Counts words that others overwrite.
  Status tenants(Stream& stream, uint32_t blocks, uint32_t seed);

 private:
  Status launch(const char* name, int64_t items, void** params);
  Status launch_on(Stream& stream, const char* name, int64_t items, void** params);
  Status verdict(Verdict* out);

  std::shared_ptr<Device> device_;
  Stream* stream_ = nullptr;
  std::unique_ptr<Module> module_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
  std::unique_ptr<Stream> beside_;  // the crowd's stream
  std::unique_ptr<Event> begin_, end_;
  uint32_t arrived_ = 0;  // number of crowd blocks launched so far
  uint64_t scratch_ = 0;  // a Verdict, a count, and the words of hold() and crowd()
};

}  // namespace tw::test
