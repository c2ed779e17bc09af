// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of gemm_check.cu, callable: data on the device, a float64 reference, comparisons.
// One stream, everything in its order; only the functions that return counts wait for it.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/dtype.hpp"
#include "runtime/device.hpp"

namespace tw::test {

/// D = alpha A B + beta C by strides in elements, for any orders and padding.
struct ReferenceProblem {
  int64_t m = 0, n = 0, k = 0;
  DType in = DType::BF16, out = DType::BF16;
  double alpha = 1.0, beta = 0.0;
  uint64_t a = 0, b = 0, c = 0;
  int64_t a_stride_m = 0, a_stride_k = 0, b_stride_k = 0, b_stride_n = 0;
  int64_t c_stride_m = 0, c_stride_n = 0;
};

/// What a comparison found, the layout of gemm_check.cu's Verdict.
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
  /// Loads the kernels; `stream` must outlive this.
  Status open(const std::shared_ptr<Device>& device, Stream& stream);
  ~GemmCheck();

  /// Lines of `along` elements, `leading` apart: N(0, 1), or integers up to `magnitude` unless 0.
  Status fill(uint64_t address, int64_t lines, int64_t along, int64_t leading, DType type,
              uint64_t seed, int magnitude);
  /// Row-major float64 results and error scales, 8 m n bytes each.
  Status reference(const ReferenceProblem& problem, uint64_t value, uint64_t magnitude);
  /// Each element within half an ulp of the output and `slack` of its error scale.
  Status against(const ReferenceProblem& problem, uint64_t value, uint64_t magnitude, uint64_t d,
                 int64_t stride_m, int64_t stride_n, double slack, Verdict* verdict);
  Status difference(uint64_t x, uint64_t y, int64_t count, DType type, Verdict* verdict);
  /// Adds to a count on the device, which different() reads and clears.
  Status compare_bits(Stream& stream, uint64_t x, uint64_t y, uint64_t bytes);
  Status compare_poison(uint64_t base, uint64_t bytes, uint64_t offset, int64_t lines,
                        int64_t along, int64_t pitch, uint8_t poison);
  Status different(uint64_t* count);
  /// Fills `blocks` SMs (the shared memory of each) on `stream` until let_go().
  Status hold(Stream& stream, uint32_t blocks);
  /// How many of them run by now.
  Status holding(Stream& stream, uint32_t* blocks);
  Status let_go(Stream& stream);
  /// From here on in `stream` blocks beside it use little shared memory and all the time, so that
  /// others' accesses to theirs queue up; until disperse().
  Status crowd(Stream& stream, uint32_t blocks, uint32_t threads);
  Status disperse(Stream& stream);
  /// Blocks of crowds since the last call that had gone before: what came did not fit beside them.
  Status alone(Stream& stream, uint32_t* blocks);
  /// Blocks that come and go, each with 4 KB of shared memory which nobody else may write: adds to
  /// the count what is not as it was left.
  Status tenants(Stream& stream, uint32_t blocks, uint32_t seed);

 private:
  Status launch(const char* name, int64_t items, void** params);
  Status launch_on(Stream& stream, const char* name, int64_t items, void** params);
  Status verdict(Verdict* out);

  std::shared_ptr<Device> device_;
  Stream* stream_ = nullptr;
  std::unique_ptr<Module> module_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
  std::unique_ptr<Stream> beside_;  // of the crowd
  std::unique_ptr<Event> begin_, end_;
  uint32_t arrived_ = 0;  // blocks of all crowds so far
  uint64_t scratch_ = 0;  // a Verdict, a count, the flag, the number of held SMs, the crowd's words
};

}  // namespace tw::test
