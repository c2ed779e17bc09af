// SPDX-License-Identifier: Apache-2.0
#pragma once
// An operation a thousand times over on the GPU, each time with the bytes that another way of doing
// it leaves: most telling with kernels that wait at random (TW_KERNEL_IMAGES, or a build with
// kernel_delays), or that lack a wait (kernel_mutants.py).

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>

#include "ops/plan/plan.hpp"
#include "tests/device/common/fixture.hpp"
#include "tests/device/common/kernel_folder.hpp"
#include "tests/device/gemm/gemm_check.hpp"

namespace tw::test {

/// Of each case; TW_RUNS says another number, for tools that slow kernels down.
inline int repeat_runs() {
  const char* runs = std::getenv("TW_RUNS");
  return runs ? std::max(1, std::atoi(runs)) : 1000;
}

/// Memory on the GPU in regions of kBytes each, and what compares them there.
class RepeatLab {
 public:
  static constexpr uint64_t kBytes = 8 << 20;
  using Run = std::function<Status(uint64_t to)>;

  /// False, and the case said why, where there is no GPU.
  bool open() {
    if (std::string(test_device()) != "cuda") {
      skip("needs a GPU, which compares the results");
      return false;
    }
    device = open_test_device();
    if (!device) return false;
    TW_REQUIRE_OK(device->create_stream(&stream));
    TW_REQUIRE_OK(check.open(device, *stream));
    TW_REQUIRE_OK(device->allocate(6 * kBytes, &memory_));
    TW_REQUIRE_OK(check.fill(source(), 1, kBytes / 4, 0, DType::F32, 1, 0));
    TW_REQUIRE_OK(check.fill(other(), 1, kBytes / 4, 0, DType::F32, 2, 0));
    return true;
  }
  ~RepeatLab() {
    if (memory_) (void)device->release(memory_);
  }
  uint32_t sm_count() const { return static_cast<uint32_t>(device->info().sm_count); }
  uint64_t source() const { return memory_; }
  uint64_t other() const { return memory_ + kBytes; }
  uint64_t result() const { return memory_ + 2 * kBytes; }
  uint64_t truth() const { return memory_ + 3 * kBytes; }
  uint64_t index() const { return memory_ + 4 * kBytes; }
  uint64_t workspace() const { return memory_ + 5 * kBytes; }

  template <class T>
  void put(uint64_t address, const std::vector<T>& values) {
    TW_REQUIRE_OK(stream->copy_to_device(address, values.data(), values.size() * sizeof(T)));
    TW_REQUIRE_OK(stream->synchronize());
  }

  /// Each time all of the region is what `plain` leaves of one that was filled with `byte`.
  void repeat(const Run& plain, const Run& run, uint8_t byte = 0x5c) {
    TW_REQUIRE_OK(stream->fill(truth(), byte, kBytes));
    TW_REQUIRE_OK(plain(truth()));
    // What writes nothing is equal to anything that writes nothing.
    TW_REQUIRE_OK(stream->fill(result(), byte, kBytes));
    TW_REQUIRE_OK(check.compare_bits(*stream, result(), truth(), kBytes));
    uint64_t different = 0;
    TW_REQUIRE_OK(check.different(&different));
    CHECK(different != 0);
    for (int i = repeat_runs(); i > 0; --i) {
      TW_REQUIRE_OK(stream->fill(result(), byte, kBytes));
      if (crowd != 0) TW_REQUIRE_OK(check.crowd(*stream, sm_count(), crowd));
      TW_REQUIRE_OK(run(result()));
      if (crowd != 0) TW_REQUIRE_OK(check.disperse(*stream));
      TW_REQUIRE_OK(check.compare_bits(*stream, result(), truth(), kBytes));
    }
    TW_REQUIRE_OK(check.different(&different));
    CHECK(different == 0);
    ++cases;
  }

  /// Runs since the last call that found no room beside a crowd.
  uint32_t alone() {
    uint32_t blocks = 0;
    TW_REQUIRE_OK(check.alone(*stream, &blocks));
    return blocks / sm_count();
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  /// Threads a block of a crowd beside each run; 0: there is none.
  uint32_t crowd = 0;
  GemmCheck check;
  int cases = 0;

 private:
  uint64_t memory_ = 0;
};

/// Kernels that plans took, so that none of a family's is left out.
class TakenRows {
 public:
  void take(const Plan& plan) { taken_.insert(plan.info().kernel); }
  /// Those that the device has and `counts` holds for.
  template <class Counts>
  void check_all(const Device& device, Family family, Counts counts) const {
    for (const KernelEntry& row : kernel_entries(family)) {
      if (!(row.feature & device.info().kernel_features) || !counts(row)) continue;
      INFO(std::string(row.symbol));
      CHECK(taken_.count(row.symbol) == 1);
    }
    if (have_kernel_folder()) CHECK(!images_of_folder().empty());
  }

 private:
  std::set<std::string> taken_;
};

}  // namespace tw::test
