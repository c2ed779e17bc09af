// SPDX-License-Identifier: Apache-2.0
// Which method a copy uses and what its kernel is launched with, seen by a stream that only records
// launches.
#include "ops/copy/copy.hpp"

#include <cstring>
#include <initializer_list>
#include <string>
#include <tilewright/device/cache.cuh>
#include <vector>

#include "doctest_main.hpp"
#include "runtime/host/host_device.hpp"
#include "tests/ops/copy/copy_desc.hpp"

using namespace tw;
using namespace tw::test;

namespace {

class NotingStream final : public Stream {
 public:
  using Stream::Stream;
  Status synchronize() override { return {}; }
  Status query() override { return {}; }
  Status wait(Event&) override { return {}; }
  Status record(Event&) override { return {}; }
  Status copy_to_device(uint64_t, const void*, uint64_t) override { return {}; }
  Status copy_to_host(void*, uint64_t, uint64_t) override { return {}; }
  Status copy_on_device(uint64_t, uint64_t, uint64_t bytes) override {
    copied = bytes;
    return {};
  }
  Status fill(uint64_t, uint8_t, uint64_t) override { return {}; }
  Status launch(Kernel&, const LaunchConfig&, const void* from, size_t bytes) override {
    arguments.assign(static_cast<const uint8_t*>(from), static_cast<const uint8_t*>(from) + bytes);
    return {};
  }
  Status launch_params(Kernel&, const LaunchConfig&, void**) override { return {}; }
  Status copy_between(Device&, uint64_t, Device&, uint64_t, uint64_t) override { return {}; }
  Status begin_capture() override { return {}; }
  Status end_capture(std::unique_ptr<Graph>*) override { return {}; }
  Status is_captured(bool* yes) override { return *yes = false, Code::OK; }

  template <class Args>
  Args as() const {
    Args args;
    REQUIRE(arguments.size() == sizeof args);
    std::memcpy(&args, arguments.data(), sizeof args);
    return args;
  }

  std::vector<uint8_t> arguments;
  uint64_t copied = 0;
};

constexpr uint64_t kSrc = 1 << 20;
constexpr uint64_t kDst = uint64_t{1} << 40;

struct Example {
  uint32_t method;
  CopyDesc desc;
  uint64_t src = kSrc;
  uint64_t dst = kDst;
};

// One copy for each method that the plan chooses by itself.
std::vector<Example> examples() {
  std::vector<Example> list = {
      {kCopyDriver, copy_desc(DType::F32, {{1000, 1, 1}})},
      {kCopyDriver, copy_desc(DType::F32, {{1 << 20, 1, 1}}), kSrc + 4, kDst + 8},
      {kCopyShift, copy_desc(DType::U8, {{1 << 22, 1, 1}}), kSrc + 3, kDst + 5},
      {kCopyPieces, copy_desc(DType::U8, {{(1 << 22) - 5, 1, 1}}), kSrc + 3, kDst + 3},
      {kCopyTranspose, copy_desc(DType::BF16, {{256, 1, 512}, {512, 256, 1}})},
      {kCopyInterleave, copy_desc(DType::U8, {{1600, 1, 3}, {3, 1600, 1}})},
      {kCopyInterleave, copy_desc(DType::U8, {{3, 1, 1600}, {1600, 3, 1}})},
      {kCopyInterleave, copy_desc(DType::BF16, {{12, 1, 1600}, {1600, 12, 1}})},
      {kCopyTransposePlain, copy_desc(DType::BF16, {{255, 1, 511}, {511, 255, 1}})},
      {kCopyPermute, copy_desc(DType::BF16, {{20, 1, 40 * 9}, {40, 20 * 9, 9}, {9, 20, 1}})},
      {kCopyShift, copy_desc(DType::U8, {{100, 4097, 4352}, {4097, 1, 1}})},
      {kCopyStrided, copy_desc(DType::F32, {{100, 20, 30}, {7, 2, 1}})}};
  list.push_back({kCopyPieces, copy_desc(DType::U8, {{100, 128, 256}, {100, 1, 1}})});
  list.push_back(
      {kCopyPieces, copy_desc(DType::U8, {{100, 128, 256}, {100, 1, 1}}), kSrc + 3, kDst + 19});
  list.push_back(
      {kCopyShift, copy_desc(DType::U8, {{100, 128, 256}, {100, 1, 1}}), kSrc + 3, kDst + 18});
  return list;
}

template <class Args>
void check_policies(const NotingStream& stream, uint64_t src, uint64_t dst) {
  const auto args = stream.as<Args>();
  CHECK(args.src == kSrc);
  CHECK(args.dst == kDst);
  CHECK(args.src_policy == src);
  CHECK(args.dst_policy == dst);
}

// Nothing is copied, but the host device requires registered memory.
void register_operands(Device& device) {
  REQUIRE(device.register_memory(kSrc, 2 * kDst).ok());
}

}  // namespace

TEST_CASE("copy_plan: each shape takes its method") {
  std::shared_ptr<Device> device;
  REQUIRE(open_host_device(&device).ok());
  for (const Example& e : examples()) {
    std::unique_ptr<Plan> plan;
    REQUIRE(CopyPlan::create(device, e.desc, &plan).ok());
    INFO(plan->explain());
    CHECK(static_cast<CopyPlan&>(*plan).method_for_test(e.src, e.dst) == e.method);
  }
}

TEST_CASE("copy_plan: the cache priorities reach the kernel's parameters, in every method") {
  std::shared_ptr<Device> device;
  REQUIRE(open_host_device(&device).ok());
  register_operands(*device);
  NotingStream stream(device);
  const CopyDesc rows = copy_desc(DType::U8, {{100, 1040, 2064}, {1024, 1, 1}});
  const CopyDesc turned = copy_desc(DType::BF16, {{256, 1, 512}, {512, 256, 1}});
  const CopyDesc planes = copy_desc(DType::U8, {{1600, 1, 3}, {3, 1600, 1}});
  const struct {
    uint32_t method;
    CopyDesc desc;
    void (*check)(const NotingStream&, uint64_t, uint64_t);
  } cases[] = {{kCopyBoxes, rows, check_policies<CopyBoxArgs>},
               {kCopyRows, rows, check_policies<CopyRowArgs>},
               {kCopyPieces, rows, check_policies<CopyPieceArgs>},
               {kCopyShift, rows, check_policies<CopyPieceArgs>},
               {kCopyStrided, rows, check_policies<CopyStridedArgs>},
               {kCopyPermute, turned, check_policies<CopyPermuteArgs>},
               {kCopyTranspose, turned, check_policies<CopyTransposeArgs>},
               {kCopyTransposePlain, turned, check_policies<CopyTransposeArgs>},
               {kCopyInterleave, planes, check_policies<CopyInterleaveArgs>}};
  const std::pair<CachePriority, uint64_t> priorities[] = {
      {CachePriority::normal, tilewright::kEvictNormal},
      {CachePriority::evict_first, tilewright::kEvictFirst},
      {CachePriority::evict_last, tilewright::kEvictLast}};
  for (const auto& c : cases)
    for (const auto& [src, src_policy] : priorities)
      for (const auto& [dst, dst_policy] : priorities) {
        CopyDesc desc = c.desc;
        desc.methods = 1u << c.method;
        desc.src_cache = src;
        desc.dst_cache = dst;
        std::unique_ptr<Plan> plan;
        REQUIRE(CopyPlan::create(device, desc, &plan).ok());
        REQUIRE(static_cast<CopyPlan&>(*plan).run(stream, kSrc, kDst).ok());
        c.check(stream, src_policy, dst_policy);
      }
  CopyDesc wrong = rows;
  wrong.dst_cache = CachePriority{3};
  std::unique_ptr<Plan> plan;
  CHECK(CopyPlan::create(device, wrong, &plan).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(std::string(last_failure().message).find("dst_cache") == 0);
}

TEST_CASE("copy_plan: the driver's copy takes what no hint and no bound on SMs is for") {
  std::shared_ptr<Device> device;
  REQUIRE(open_host_device(&device).ok());
  register_operands(*device);
  NotingStream stream(device);
  std::unique_ptr<Plan> plan;
  CopyDesc desc = copy_desc(DType::F32, {{10, 100, 100}, {100, 1, 1}});
  REQUIRE(CopyPlan::create(device, desc, &plan).ok());
  REQUIRE(static_cast<CopyPlan&>(*plan).run(stream, kSrc, kDst).ok());
  CHECK(stream.copied == 4000);
  CHECK(stream.arguments.empty());
  CHECK(plan->explain().find("driver's own copy") != std::string::npos);
  desc.src_cache = CachePriority::evict_last;
  REQUIRE(CopyPlan::create(device, desc, &plan).ok());
  REQUIRE(static_cast<CopyPlan&>(*plan).run(stream, kSrc, kDst).ok());
  CHECK(!stream.arguments.empty());
}

TEST_CASE("copy_plan: a row's padding is written only where it is free") {
  std::shared_ptr<Device> device;
  REQUIRE(open_host_device(&device).ok());
  register_operands(*device);
  NotingStream stream(device);
  CopyDesc desc = copy_desc(DType::U8, {{100, 4112, 4128}, {4097, 1, 1}});
  for (const bool free : {false, true}) {
    desc.padding_writable = free;
    std::unique_ptr<Plan> plan;
    desc.methods = 1u << kCopyBoxes;
    REQUIRE(CopyPlan::create(device, desc, &plan).ok());
    REQUIRE(static_cast<CopyPlan&>(*plan).run(stream, kSrc, kDst).ok());
    CHECK(stream.as<CopyBoxArgs>().tail_bytes == (free ? 0 : 1));
    desc.methods = 1u << kCopyPieces;
    REQUIRE(CopyPlan::create(device, desc, &plan).ok());
    REQUIRE(static_cast<CopyPlan&>(*plan).run(stream, kSrc, kDst).ok());
    CHECK(stream.as<CopyPieceArgs>().ends_padded == (free ? 1 : 0));
    // Rows that begin off a 16-byte boundary share 16 bytes with the next row.
    REQUIRE(static_cast<CopyPlan&>(*plan).run(stream, kSrc + 3, kDst + 3).ok());
    CHECK(stream.as<CopyPieceArgs>().ends_padded == 0);
  }
}
