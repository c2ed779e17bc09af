// SPDX-License-Identifier: Apache-2.0
#pragma once
// Plans of every operation through the C API, each with operands and the expected output, computed
// by plain loops. All numbers are exact in their formats, so every result has one right bit
// pattern.

#include <tilewright/tilewright.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "doctest_main.hpp"

#define TW_REQUIRE_CALL(call)                         \
  do {                                                \
    const tw_status status_ = (call);                 \
    INFO(#call ": ", status_ ? tw_last_error() : ""); \
    REQUIRE(status_ == TW_OK);                        \
  } while (0)

namespace tw::test {

template <class T, void (*destroy)(T*)>
struct Destroy {
  void operator()(T* handle) const { destroy(handle); }
};
template <class T, void (*destroy)(T*)>
using Owned = std::unique_ptr<T, Destroy<T, destroy>>;
using DeviceHandle = Owned<tw_device, tw_device_destroy>;
using StreamHandle = Owned<tw_stream, tw_stream_destroy>;
using PlanHandle = Owned<tw_plan, tw_plan_destroy>;

inline StreamHandle new_stream(tw_device* device) {
  tw_stream* stream = nullptr;
  TW_REQUIRE_CALL(tw_stream_create(device, &stream));
  return StreamHandle(stream);
}

/// Returns the device under test. Skips the test case and returns nullptr if there is none.
inline DeviceHandle open_any_device() {
  tw_device* device = nullptr;
  if (std::string(test_device()) == "host") {
    TW_REQUIRE_CALL(tw_device_create(TW_DEVICE_HOST, 0, &device));
  } else if (tw_device_create(TW_DEVICE_CUDA, 0, &device) != TW_OK) {
    skip(tw_last_error());
  }
  return DeviceHandle(device);
}

/// One plan with its operands.
struct Job {
  std::string name;
  PlanHandle plan;
  std::function<tw_status(tw_plan*, tw_stream*)> run;
  uint64_t out = 0;               ///< device address
  std::vector<uint8_t> expected;  ///< bytes at `out` after a run, if they were kPoison before
};
inline constexpr uint8_t kPoison = 0xa5;

/// Jobs on memory of tw_malloc(). Outputs are contiguous, so that one call poisons or fetches all.
class PlanSet {
 public:
  explicit PlanSet(tw_device* device) : device_(device), setup_(new_stream(device)) {
    TW_REQUIRE_CALL(tw_malloc(device, kOutBytes, &out_));
  }
  PlanSet(const PlanSet&) = delete;
  PlanSet& operator=(const PlanSet&) = delete;
  ~PlanSet() {
    jobs_.clear();
    for (const uint64_t address : inputs_) (void)tw_free(device_, address);
    (void)tw_free(device_, out_);
  }

  /// Adds the k-th job: k % 10 chooses the operation, k the sizes and the random numbers.
  void add(int k);
  std::vector<Job>& jobs() { return jobs_; }
  uint64_t out() const { return out_; }
  uint64_t out_bytes() const { return used_; }

  /// Fills a job's output with kPoison.
  static tw_status poison(const Job& job, tw_stream* stream) {
    return tw_memset(stream, job.out, kPoison, job.expected.size());
  }
  /// Waits for the stream and returns whether the job's output is right.
  static bool right(const Job& job, tw_stream* stream) {
    std::vector<uint8_t> got(job.expected.size());
    return tw_memcpy_to_host(stream, got.data(), job.out, got.size()) == TW_OK &&
           tw_stream_synchronize(stream) == TW_OK && got == job.expected;
  }

 private:
  static constexpr uint64_t kOutBytes = 16 << 20;

  uint64_t input(const void* bytes, size_t size);
  uint64_t output(size_t size);
  void add_copy(int k, bool transpose);
  void add_rows(int k, bool scatter);
  void add_gemm(int k);
  void add_ragged(int k);
  void add_copies(int k);
  void add_route(int k);
  void add_grouped(int k);
  void add_quantize(int k);

  tw_device* device_;
  StreamHandle setup_;
  std::vector<uint64_t> inputs_;
  uint64_t out_ = 0;
  uint64_t used_ = 0;
  std::vector<Job> jobs_;
};

}  // namespace tw::test
