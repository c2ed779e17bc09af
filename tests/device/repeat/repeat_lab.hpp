// SPDX-License-Identifier: Apache-2.0
#pragma once
// Repeats an operation a thousand times on the GPU. Each run must leave the bytes that another
// method leaves. This finds most with kernels that wait for random times (TW_KERNEL_IMAGES, or a
// build with kernel_delays) or lack a wait (kernel_mutants.py).

#include <functional>
#include <set>
#include <string>

#include "ops/plan/plan.hpp"
#include "tests/device/common/counts.hpp"
#include "tests/device/common/fixture.hpp"
#include "tests/device/common/kernel_folder.hpp"
#include "tests/device/gemm/gemm_check.hpp"

namespace tw::test {

/// GPU memory in regions of kBytes, which it compares on the GPU.
class RepeatLab {
 public:
  static constexpr uint64_t kBytes = 8 << 20;
  using Run = std::function<Status(uint64_t to)>;

  /// Returns false, and skips the test case, without a GPU.
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

  /// Repeats `run` on a region filled with `byte`. Each time it must leave what `plain` leaves.
  void repeat(const Run& plain, const Run& run, uint8_t byte = 0x5c) {
    TW_REQUIRE_OK(stream->fill(truth(), byte, kBytes));
    TW_REQUIRE_OK(plain(truth()));
    // `plain` must have written something.
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

  /// Number of runs since the last call that did not fit beside the crowd.
  uint32_t alone() {
    uint32_t blocks = 0;
    TW_REQUIRE_OK(check.alone(*stream, &blocks));
    return blocks / sm_count();
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  /// Threads per block of a crowd (GemmCheck::crowd()) beside each run; 0: no crowd.
  uint32_t crowd = 0;
  GemmCheck check;
  int cases = 0;

 private:
  uint64_t memory_ = 0;
};

/// Records the kernels that plans choose, to check that all of a family were tested.
class TakenRows {
 public:
  void take(const Plan& plan) { taken_.insert(plan.info().kernel); }
  /// Checks that all kernels of the family on the device were recorded, if counts() holds.
  template <class Counts>
  void check_all(const Device& device, Family family, Counts counts) const {
    for (const KernelEntry& entry : kernel_entries(family)) {
      if (!(entry.feature & device.info().kernel_features) || !counts(entry)) continue;
      INFO(std::string(entry.symbol));
      CHECK(taken_.count(entry.symbol) == 1);
    }
    if (have_kernel_folder()) CHECK(!images_of_folder().empty());
  }

 private:
  std::set<std::string> taken_;
};

}  // namespace tw::test
