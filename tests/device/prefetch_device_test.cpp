// SPDX-License-Identifier: Apache-2.0
// Prefetches of any size and alignment: they request as much as the plan says and change nothing.
#include "ops/prefetch/prefetch.hpp"
#include "runtime/host/host_device.hpp"
#include "tests/device/common/arena.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Bench {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> src;

  Bench() {
    device = open_test_device();
    if (!device) return;
    TW_REQUIRE_OK(device->create_stream(&stream));
    src = std::make_unique<Arena>(device, *stream, 1 << 20);
    std::mt19937_64 random(1);
    src->fill_random(random);
  }
};

void check_case(Bench& bench, const PrefetchDesc& desc, uint64_t offset) {
  INFO("rows " << desc.rows << " columns " << desc.columns << " pitch " << desc.pitch << " offset "
               << offset << " " << dtype_name(desc.dtype));
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(PrefetchPlan::create(bench.device, desc, &plan));
  INFO(plan->explain());
  TW_REQUIRE_OK(bench.stream->synchronize());
  const BoxCounters before = host_counters(*bench.device);
  TW_REQUIRE_OK(
      static_cast<PrefetchPlan&>(*plan).run(*bench.stream, bench.src->address() + offset));
  TW_REQUIRE_OK(bench.stream->synchronize());
  if (bench.device->info().kind != DeviceKind::host) return;
  const BoxCounters after = host_counters(*bench.device);
  CHECK(after.boxes_loaded == before.boxes_loaded);
  if (offset % 16 == desc.alignment % 16)
    CHECK(after.boxes_prefetched - before.boxes_prefetched == plan->info().boxes_prefetched);
}

}  // namespace

TEST_CASE("prefetch: ranges and matrices of any size and alignment") {
  Bench bench;
  if (!bench.device) return;
  std::mt19937_64 random(2);
  for (int i = 0; i < 400; ++i) {
    PrefetchDesc desc;
    const DType types[] = {DType::U8, DType::BF16, DType::F32, DType::B128};
    desc.dtype = types[pick(random, 0, 3)];
    const int64_t bytes = dtype_bytes(desc.dtype);
    const int64_t most[] = {3, 40, 700, 5000};
    desc.columns = pick(random, 1, most[pick(random, 0, 3)]);
    desc.rows = pick(random, 1, std::min<int64_t>(300, 400000 / ((desc.columns + 16) * bytes)));
    if (pick(random, 0, 2)) desc.pitch = desc.columns + pick(random, 0, 16);
    if (pick(random, 0, 2) == 0) {
      const int64_t unit = std::max<int64_t>(1, 16 / bytes);
      desc.pitch = (desc.columns + unit - 1) / unit * unit + pick(random, 0, 3) * unit;
    }
    desc.by = static_cast<PrefetchBy>(pick(random, 0, 1));
    const uint64_t offset = static_cast<uint64_t>(pick(random, 0, 16) * bytes);
    // Promise the address's alignment, so that the plan's numbers hold for it.
    const uint64_t lowest = offset % 16 & (~(offset % 16) + 1);
    if (lowest >= static_cast<uint64_t>(bytes)) desc.alignment = static_cast<uint32_t>(lowest);
    check_case(bench, desc, offset);
  }
  const auto after = bench.src->read();
  CHECK(first_difference(after, bench.src->image()) == -1);
}

TEST_CASE("prefetch: tensors of any rank, strides and budget") {
  Bench bench;
  if (!bench.device) return;
  std::mt19937_64 random(3);
  for (int i = 0; i < 400; ++i) {
    PrefetchDesc desc;
    const DType types[] = {DType::U8, DType::BF16, DType::F32, DType::B128};
    desc.dtype = types[pick(random, 0, 3)];
    const int64_t bytes = dtype_bytes(desc.dtype);
    desc.rank = static_cast<int32_t>(pick(random, 1, 5));
    desc.cache = static_cast<CachePriority>(pick(random, 0, 2));
    desc.by = static_cast<PrefetchBy>(pick(random, 0, 1));
    int64_t next = 1;
    int64_t below = 0;  // elements before coordinate 0
    int64_t all = bytes;
    for (int32_t d = desc.rank - 1; d >= 0; --d) {
      desc.shape[d] = pick(random, 1, d + 1 == desc.rank ? 400 : 5);
      desc.stride[d] = pick(random, 0, 5) ? next : 0;
      all *= desc.stride[d] == 0 ? 1 : desc.shape[d];
      if (pick(random, 0, 4) == 0) {
        desc.stride[d] = -desc.stride[d];
        below -= (desc.shape[d] - 1) * desc.stride[d];
      }
      next = next * desc.shape[d] + (pick(random, 0, 2) ? 0 : pick(random, 0, 40));
    }
    if (next * bytes > 900000) continue;
    if (pick(random, 0, 1)) desc.budget = pick(random, bytes, all + 100);
    const uint64_t offset = static_cast<uint64_t>((below + pick(random, 0, 16)) * bytes);
    const uint64_t lowest = offset % 16 & (~(offset % 16) + 1);
    if (lowest >= static_cast<uint64_t>(bytes)) desc.alignment = static_cast<uint32_t>(lowest);
    check_case(bench, desc, offset);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(PrefetchPlan::create(bench.device, desc, &plan));
    const auto asked = static_cast<int64_t>(plan->info().bytes_read);
    CHECK(asked <= all);
    if (desc.budget == 0 || desc.budget >= all) CHECK(asked == all);
    if (desc.budget != 0) CHECK(asked <= desc.budget);
    if (desc.budget != 0) CHECK(asked > 0);
  }
  const auto after = bench.src->read();
  CHECK(first_difference(after, bench.src->image()) == -1);
}

TEST_CASE("prefetch: boxes and rows are loaded or requested, as the plan says") {
  Bench bench;
  if (!bench.device) return;
  for (const int64_t columns : {20, 200, 256, 5000})
    for (const int64_t gap : {1, 16})
      for (const PrefetchBy by : {PrefetchBy::loads, PrefetchBy::requests}) {
        PrefetchDesc desc;
        desc.dtype = DType::U8;
        desc.rows = 100;
        desc.columns = columns;
        desc.pitch = (columns + 15) / 16 * 16 + gap;
        desc.by = by;
        std::unique_ptr<Plan> plan;
        TW_REQUIRE_OK(PrefetchPlan::create(bench.device, desc, &plan));
        const bool loads = by == PrefetchBy::loads;
        INFO(plan->explain());
        CHECK((plan->explain().find("loaded into shared memory and discarded") !=
               std::string::npos) == loads);
        const PrefetchBoxArgs& args = static_cast<PrefetchPlan&>(*plan).boxes_for_test();
        // A box fits its place in shared memory and has the bytes that the TMA reports as written.
        if (gap == 16) CHECK(args.box_bytes <= kPrefetchBytes);
        if (gap == 16) CHECK((args.box_bytes != 0) == loads);
        if (gap == 16 && loads) CHECK(args.box_bytes % (args.box[0] * args.box[1]) == 0);
        check_case(bench, desc, 0);
      }
}

TEST_CASE("prefetch: more loads than are in flight at once") {
  Bench bench;
  if (!bench.device) return;
  for (const int64_t columns : {1048576, 300, 40})
    for (const PrefetchBy by : {PrefetchBy::loads, PrefetchBy::requests}) {
      PrefetchDesc desc;
      desc.dtype = DType::U8;
      desc.columns = columns;
      desc.pitch = columns == 1048576 ? 0 : columns / 16 * 16 + 16 + (columns == 40 ? 1 : 0);
      desc.rows = columns == 1048576 ? 1 : 1000000 / desc.pitch;
      desc.by = by;
      desc.max_sms = 1;
      check_case(bench, desc, 0);
    }
  CHECK(first_difference(bench.src->read(), bench.src->image()) == -1);
}

TEST_CASE("prefetch: addresses of rows by number") {
  PrefetchRowArgs args{};
  args.src = 1000;
  args.rank = 3;
  const u64 extent[] = {4, 3, 5};
  const i64 stride[] = {100, 1000, 77};
  for (int d = 0; d < 3; ++d) args.extent[d] = extent[d], args.stride[d] = stride[d];
  u64 row = 0;
  for (u64 z = 0; z < 5; ++z)
    for (u64 y = 0; y < 3; ++y)
      for (u64 x = 0; x < 4; ++x)
        CHECK(prefetch_row(args, row++) == 1000 + 100 * x + 1000 * y + 77 * z);
  args.rank = 0;
  CHECK(prefetch_row(args, 0) == 1000);
}

// The stride is negative: the tensor begins 198 bytes below the address, where no box can begin.
TEST_CASE("prefetch: rows with a negative stride at an aligned address") {
  Bench bench;
  if (!bench.device) return;
  PrefetchDesc desc;
  desc.rank = 2;
  desc.dtype = DType::U16;
  desc.shape[0] = 64, desc.shape[1] = 100;
  desc.stride[0] = 128, desc.stride[1] = -1;
  desc.alignment = 16;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(PrefetchPlan::create(bench.device, desc, &plan));
  CHECK(plan->info().boxes_prefetched > 0);
  CHECK(plan->explain().size() > 0);
  const uint64_t address = (bench.src->address() + 4096 + 15) / 16 * 16;
  TW_REQUIRE_OK(static_cast<PrefetchPlan&>(*plan).run(*bench.stream, address));
  TW_REQUIRE_OK(bench.stream->synchronize());
}

TEST_CASE("prefetch: nothing to do, and refusals") {
  Bench bench;
  if (!bench.device) return;
  std::unique_ptr<Plan> plan;
  PrefetchDesc desc{.rows = 0, .columns = 100};
  TW_REQUIRE_OK(PrefetchPlan::create(bench.device, desc, &plan));
  TW_REQUIRE_OK(static_cast<PrefetchPlan&>(*plan).run(*bench.stream, 0));
  const auto refused = [&](PrefetchDesc d) {
    return PrefetchPlan::create(bench.device, d, &plan).code();
  };
  CHECK(refused({.rows = -1, .columns = 1}) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused({.rows = 1, .columns = -1}) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused({.rows = 2, .columns = 8, .pitch = 7}) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused({.rows = 2, .columns = 8, .alignment = 3}) == Code::ERROR_INVALID_ARGUMENT);
  const auto tensor = [](auto change) {
    PrefetchDesc d;
    d.rank = 2;
    d.shape[0] = 4, d.shape[1] = 64;
    d.stride[0] = 64, d.stride[1] = 1;
    change(d);
    return d;
  };
  using D = PrefetchDesc;
  CHECK(refused(tensor([](D&) {})) == Code::OK);
  CHECK(refused(tensor([](D& d) { d.shape[0] = 0; })) == Code::OK);
  CHECK(refused(tensor([](D& d) { d.rank = 9; })) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused(tensor([](D& d) { d.rank = -1; })) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused(tensor([](D& d) { d.shape[1] = -1; })) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused(tensor([](D& d) { d.budget = -1; })) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused(tensor([](D& d) { d.budget = 1; })) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused(tensor([](D& d) { d.cache = CachePriority{3}; })) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused(tensor([](D& d) { d.stride[0] = INT64_MIN; })) == Code::ERROR_OVERFLOW);
  CHECK(refused({.rows = INT64_MAX, .columns = INT64_MAX}) == Code::ERROR_OVERFLOW);
  TW_REQUIRE_OK(PrefetchPlan::create(bench.device, {.rows = 2, .columns = 8}, &plan));
  const auto& prefetch = static_cast<PrefetchPlan&>(*plan);
  CHECK(prefetch.run(*bench.stream, 0).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(prefetch.run(*bench.stream, bench.src->address() + 1).code() == Code::ERROR_MISALIGNED);
}
