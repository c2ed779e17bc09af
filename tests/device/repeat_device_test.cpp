// SPDX-License-Identifier: Apache-2.0
// Copies, gathers and scatters a thousand times each, by every method with barriers: each run gives
// the bytes that plain loads and stores give. Most telling in a build with kernel_delays.
#include <algorithm>
#include <functional>
#include <numeric>

#include "fixture.hpp"
#include "gemm_check.hpp"
#include "ops/copy.hpp"
#include "ops/rows.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int kRuns = 1000;
constexpr uint64_t kBytes = 8 << 20;
constexpr int64_t kRows = 1500;

// Source, destination and the truth on the GPU.
struct Lab {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  GemmCheck check;
  uint64_t memory = 0;

  bool open() {
    if (std::string(test_device()) != "cuda") {
      skip("compares on the GPU");
      return false;
    }
    device = open_test_device();
    if (!device) return false;
    TW_REQUIRE_OK(device->create_stream(&stream));
    TW_REQUIRE_OK(check.open(device, *stream));
    TW_REQUIRE_OK(device->allocate(4 * kBytes, &memory));
    TW_REQUIRE_OK(check.fill(source(), 1, kBytes / 4, 0, DType::F32, 1, 0));
    return true;
  }
  ~Lab() {
    if (memory) (void)device->release(memory);
  }
  uint64_t source() const { return memory; }
  uint64_t result() const { return memory + kBytes; }
  uint64_t truth() const { return memory + 2 * kBytes; }
  uint64_t index() const { return memory + 3 * kBytes; }

  // The same bytes each time, those that `plain` writes into the truth.
  void repeat(const std::function<Status(uint64_t to)>& plain,
              const std::function<Status(uint64_t to)>& run) {
    TW_REQUIRE_OK(stream->fill(truth(), 0x5c, kBytes));
    TW_REQUIRE_OK(plain(truth()));
    for (int i = 0; i < kRuns; ++i) {
      TW_REQUIRE_OK(stream->fill(result(), 0x5c, kBytes));
      TW_REQUIRE_OK(run(result()));
      TW_REQUIRE_OK(check.compare_bits(*stream, result(), truth(), kBytes));
    }
    uint64_t different = 0;
    TW_REQUIRE_OK(check.different(&different));
    CHECK(different == 0);
  }
};

std::unique_ptr<Plan> copy_plan(const Lab& lab, CopyDesc desc, uint32_t method) {
  desc.methods = 1u << method;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(CopyPlan::create(lab.device, desc, &plan));
  return plan;
}

CopyDesc matrix(int64_t bytes, int64_t src_pitch, int64_t dst_pitch) {
  CopyDesc desc;
  desc.rank = 2;
  desc.shape[0] = kRows;
  desc.shape[1] = bytes;
  desc.src_stride[0] = src_pitch;
  desc.dst_stride[0] = dst_pitch;
  desc.src_stride[1] = desc.dst_stride[1] = 1;
  desc.max_sms = 20;  // rings go round
  return desc;
}

std::unique_ptr<Plan> rows_plan(const Lab& lab, Op op, RowsDesc desc, uint32_t method) {
  desc.methods = 1u << method;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(RowsPlan::create(lab.device, op, desc, &plan));
  return plan;
}

}  // namespace

TEST_CASE("copy: a thousand runs by each method") {
  Lab lab;
  if (!lab.open()) return;
  // [a][b] of a packed destination from [b][a] of a packed source.
  const auto turned = [](int64_t a, int64_t b) {
    CopyDesc desc;
    desc.dtype = DType::BF16;
    desc.rank = 2;
    desc.shape[0] = a;
    desc.shape[1] = desc.dst_stride[0] = b;
    desc.src_stride[0] = desc.dst_stride[1] = 1;
    desc.src_stride[1] = a;
    return desc;
  };
  CopyDesc bounded = turned(1032, 1504);
  bounded.max_sms = 3;  // tiles go round
  const std::pair<uint32_t, CopyDesc> cases[] = {
      {kCopyBoxes, matrix(4097, 4112, 4128)},  {kCopyBoxes, matrix(272, 304, 272)},
      {kCopyRows, matrix(4097, 4112, 4128)},   {kCopyPieces, matrix(4097, 4112, 4128)},
      {kCopyPieces, matrix(1003, 1008, 1024)}, {kCopyShift, matrix(4097, 4101, 4115)},
      {kCopyTranspose, turned(1032, 1504)},    {kCopyTranspose, bounded},
      {kCopyTranspose, turned(120, 240)},      {kCopyTransposePlain, turned(1031, 1501)},
      {kCopyInterleave, turned(3, 800000)},    {kCopyInterleave, turned(800000, 3)},
      {kCopyPermute, turned(1031, 1504)}};
  for (const auto& [method, desc] : cases) {
    const auto plan = copy_plan(lab, desc, method);
    const auto plain = copy_plan(lab, desc, kCopyStrided);
    INFO(plan->explain());
    const auto run = [&lab](const Plan& which, uint64_t to) {
      return static_cast<const CopyPlan&>(which).run(*lab.stream, lab.source(), to);
    };
    lab.repeat([&](uint64_t to) { return run(*plain, to); },
               [&](uint64_t to) { return run(*plan, to); });
  }
}

TEST_CASE("gather and scatter: a thousand runs by each method") {
  Lab lab;
  if (!lab.open()) return;
  std::vector<int32_t> order(static_cast<size_t>(kRows));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(3));
  TW_REQUIRE_OK(lab.stream->copy_to_device(lab.index(), order.data(), order.size() * 4));
  TW_REQUIRE_OK(lab.stream->synchronize());
  for (const Op op : {Op::gather, Op::scatter})
    for (const auto& [method, bytes] :
         {std::pair<uint32_t, int64_t>{kRowsBulk, 4096}, {kRowsBulk, 48}, {kRowsShift, 4099}}) {
      RowsDesc desc;
      desc.dtype = DType::U8;
      desc.columns = bytes;
      desc.table_rows = kRows;
      desc.table_pitch = bytes + (method == kRowsBulk ? 16 : 3);
      desc.count = kRows;
      desc.max_sms = 20;
      const auto plan = rows_plan(lab, op, desc, method);
      const auto plain = rows_plan(lab, op, desc, kRowsPlain);
      INFO(plan->explain());
      const auto run = [&lab, op = op](const Plan& which, uint64_t to) {
        const bool gather = op == Op::gather;
        return static_cast<const RowsPlan&>(which).run(*lab.stream,
                                                       {.table = gather ? lab.source() : to,
                                                        .index = lab.index(),
                                                        .packed = gather ? to : lab.source()});
      };
      lab.repeat([&](uint64_t to) { return run(*plain, to); },
                 [&](uint64_t to) { return run(*plan, to); });
    }
}
