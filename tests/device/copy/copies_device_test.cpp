// SPDX-License-Identifier: Apache-2.0
// Compares batches of copies with a reference loop: random shapes, strides, addresses and
// alignments, and addresses that are 0 or less aligned than promised.
#include <algorithm>

#include "ops/copies/copies.hpp"
#include "tests/device/common/arena.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr DType kTypes[] = {DType::U8, DType::BF16, DType::F32, DType::I64, DType::B128};
constexpr uint64_t kArena = 1 << 19;

struct Bench {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> src, dst, lists;
  std::mt19937_64 random;

  explicit Bench(uint64_t seed, uint64_t bytes = kArena) : random(seed) {
    device = open_test_device();
    if (!device) return;
    TW_REQUIRE_OK(device->create_stream(&stream));
    src = std::make_unique<Arena>(device, *stream, bytes);
    dst = std::make_unique<Arena>(device, *stream, bytes);
    lists = std::make_unique<Arena>(device, *stream, 1 << 16);
  }
  bool host() const { return device->info().kind == DeviceKind::host; }
};

constexpr int64_t kLeftOut = -1;  // stands for address 0: the pair is skipped

struct Case {
  CopiesDesc desc;
  int64_t count = -1;
  bool counts = true;
  std::vector<int64_t> src, dst;  // of coordinate 0, in bytes from the arenas' begin
};

std::string describe(const Case& c) {
  const CopiesDesc& d = c.desc;
  std::string text = std::string(dtype_name(d.dtype)) + " x " + std::to_string(d.count) + " (" +
                     std::to_string(c.count) + ")";
  for (int32_t i = 0; i < d.rank; ++i)
    text += " " + std::to_string(d.shape[i]) + ":" + std::to_string(d.src_stride[i]) + ":" +
            std::to_string(d.dst_stride[i]);
  return text + " aligned " + std::to_string(d.src_alignment) + " " +
         std::to_string(d.dst_alignment) + " methods " + std::to_string(d.methods & 15) +
         " max_sms " + std::to_string(d.max_sms);
}

bool takes_part(const Case& c, uint64_t src_base, uint64_t dst_base, size_t i) {
  const auto element = static_cast<uint64_t>(dtype_bytes(c.desc.dtype));
  if (c.src[i] == kLeftOut || c.dst[i] == kLeftOut) return false;
  return (src_base + uint64_t(c.src[i])) % std::max<uint64_t>(element, c.desc.src_alignment) == 0 &&
         (dst_base + uint64_t(c.dst[i])) % std::max<uint64_t>(element, c.desc.dst_alignment) == 0;
}

void copy_loop(const CopiesDesc& d, int32_t dim, int64_t src, int64_t dst,
               const std::vector<uint8_t>& from, std::vector<uint8_t>* to) {
  const auto bytes = static_cast<int64_t>(dtype_bytes(d.dtype));
  if (dim == d.rank) {
    std::memcpy(&(*to)[size_t(dst)], &from[size_t(src)], size_t(bytes));
    return;
  }
  for (int64_t i = 0; i < d.shape[dim]; ++i)
    copy_loop(d, dim + 1, src + i * d.src_stride[dim] * bytes, dst + i * d.dst_stride[dim] * bytes,
              from, to);
}

// Returns false, without a run, if the only allowed method does not support the case.
bool check_case(Bench& bench, const Case& c) {
  INFO(describe(c));
  const CopiesDesc& d = c.desc;
  bench.src->fill_random(bench.random);
  bench.dst->fill_random(bench.random);
  auto& lists = bench.lists->image();
  std::memset(lists.data(), 0, lists.size());
  const size_t half = lists.size() / 2;
  for (size_t i = 0; i < c.src.size(); ++i) {
    const uint64_t src = c.src[i] == kLeftOut ? 0 : bench.src->address() + uint64_t(c.src[i]);
    const uint64_t dst = c.dst[i] == kLeftOut ? 0 : bench.dst->address() + uint64_t(c.dst[i]);
    std::memcpy(&lists[64 + i * 8], &src, 8);
    std::memcpy(&lists[half + i * 8], &dst, 8);
  }
  bench.lists->upload();
  std::unique_ptr<Plan> plan;
  const Code planned = CopiesPlan::create(bench.device, d, &plan).code();
  if (planned == Code::ERROR_UNSUPPORTED && d.methods != ~0u) return false;
  INFO(last_failure().message);
  REQUIRE(planned == Code::OK);
  INFO(plan->explain());
  std::vector<uint8_t> wanted = bench.dst->image();
  uint64_t skipped = 0;
  const auto count = static_cast<size_t>(c.count < 0 ? d.count : c.count);
  for (size_t i = 0; i < count; ++i) {
    const bool moves = takes_part(c, bench.src->address(), bench.dst->address(), i);
    if (moves) copy_loop(d, 0, c.src[i], c.dst[i], bench.src->image(), &wanted);
    skipped += !moves;
  }
  const CopiesRun run{.src_list = bench.lists->address() + 64,
                      .dst_list = bench.lists->address() + half,
                      .count = c.count,
                      .invalid_count = c.counts ? bench.lists->address() : 0};
  const Code code = static_cast<CopiesPlan&>(*plan).run(*bench.stream, run).code();
  INFO(last_failure().message);
  const bool empty = std::find(d.shape, d.shape + d.rank, 0) != d.shape + d.rank;
  if (bench.host() && !c.counts && skipped != 0 && !empty) {
    CHECK((code == Code::ERROR_INVALID_ARGUMENT || code == Code::ERROR_MISALIGNED));
    CHECK(last_failure().fault.index >= 0);
    CHECK(first_difference(bench.dst->read(), bench.dst->image()) == -1);
    return true;
  }
  REQUIRE(code == Code::OK);
  CHECK(first_difference(bench.dst->read(), wanted) == -1);
  CHECK(first_difference(bench.src->read(), bench.src->image()) == -1);
  auto counted = lists;
  if (c.counts && !empty) std::memcpy(counted.data(), &skipped, 8);
  CHECK(bench.lists->read() == counted);
  return true;
}

// Draws strides with gaps, in random order if `permuted`. Returns the extent in elements.
int64_t draw_strides(std::mt19937_64& random, const CopiesDesc& d, bool permuted, int64_t unit,
                     int64_t (&stride)[kMaxCopyRank]) {
  int32_t order[kMaxCopyRank];
  for (int32_t i = 0; i < d.rank; ++i) order[i] = d.rank - 1 - i;
  if (permuted) std::shuffle(order, order + d.rank, random);
  int64_t next = 1;
  for (int32_t i = 0; i < d.rank; ++i) {
    stride[order[i]] = next;
    next *= d.shape[order[i]];
    if (pick(random, 0, 2) == 0) next = (next + unit - 1) / unit * unit + pick(random, 0, 2) * unit;
  }
  return next;
}

Case random_case(std::mt19937_64& random) {
  for (;;) {
    Case c;
    CopiesDesc& d = c.desc;
    d.dtype = kTypes[pick(random, 0, 4)];
    const int64_t bytes = dtype_bytes(d.dtype);
    const bool aligned = pick(random, 0, 1) == 0;
    const int64_t unit = aligned ? std::max<int64_t>(1, 16 / bytes) : 1;
    d.rank = static_cast<int32_t>(pick(random, 1, 4));
    for (int32_t i = 0; i < d.rank; ++i) d.shape[i] = pick(random, 1, i + 1 == d.rank ? 60 : 6);
    if (d.rank == 1 && pick(random, 0, 1)) d.shape[0] = pick(random, 1, 8000);
    if (aligned) d.shape[d.rank - 1] = (d.shape[d.rank - 1] + unit - 1) / unit * unit;
    const int64_t src_span =
        draw_strides(random, d, pick(random, 0, 3) == 0, unit, d.src_stride) * bytes;
    const int64_t dst_span =
        draw_strides(random, d, pick(random, 0, 3) == 0, unit, d.dst_stride) * bytes;
    d.count = pick(random, 1, pick(random, 0, 1) ? 60 : 5);
    if (pick(random, 0, 4) == 0) c.count = pick(random, 0, d.count);
    if (pick(random, 0, 4) == 0) d.max_sms = static_cast<uint32_t>(pick(random, 1, 5));
    if (pick(random, 0, 3) == 0) d.src_alignment = 16;
    if (pick(random, 0, 3) == 0) d.dst_alignment = 32;
    const int64_t step = pick(random, 0, 2) ? 16 : bytes;
    const int64_t room = (std::max(src_span, dst_span) + 63 + 32) / 64 * 64;
    if (room * d.count + 256 > int64_t{kArena}) continue;
    std::vector<int64_t> slots;
    for (int64_t i = 0; i < d.count; ++i) slots.push_back(i);
    std::shuffle(slots.begin(), slots.end(), random);
    const bool faulty = pick(random, 0, 2) == 0;
    for (int64_t i = 0; i < d.count; ++i) {
      c.src.push_back(64 + i * room + pick(random, 0, 32) / step * step);
      c.dst.push_back(64 + slots[size_t(i)] * room + pick(random, 0, 32) / step * step);
      if (faulty && pick(random, 0, 3) == 0)
        (pick(random, 0, 1) ? c.src : c.dst).back() = kLeftOut;
      else if (faulty && pick(random, 0, 3) == 0)
        (pick(random, 0, 1) ? c.src : c.dst).back() += 1;
    }
    c.counts = pick(random, 0, 2) != 0;
    if (pick(random, 0, 2) == 0) {  // a negative stride
      const auto dim = static_cast<size_t>(pick(random, 0, d.rank - 1));
      const bool source = pick(random, 0, 1) != 0;
      auto& stride = source ? d.src_stride[dim] : d.dst_stride[dim];
      for (int64_t& at : source ? c.src : c.dst)
        if (at != kLeftOut) at += (d.shape[dim] - 1) * stride * bytes;
      stride = -stride;
    }
    return c;
  }
}

}  // namespace

TEST_CASE("copies: random shapes, strides and addresses") {
  Bench bench(1);
  if (!bench.device) return;
  for (int i = 0; i < 500; ++i) CHECK(check_case(bench, random_case(bench.random)));
}

TEST_CASE("copies: every method on random copies") {
  Bench bench(2);
  if (!bench.device) return;
  for (const uint32_t method : {kCopiesBulk, kCopiesPlain}) {
    int done = 0;
    for (int i = 0; i < 3000 && done < 150; ++i) {
      Case c = random_case(bench.random);
      c.desc.methods = 1u << method;
      c.desc.stage_bytes = static_cast<uint32_t>(pick(bench.random, 0, 3)) * 1024;
      c.desc.warps = static_cast<uint32_t>(pick(bench.random, 0, 8));
      c.desc.warp_items = static_cast<uint32_t>(pick(bench.random, 0, 9));
      done += check_case(bench, c);
    }
    INFO("method ", method);
    CHECK(done == 150);
  }
}

TEST_CASE("copies: long rows whose last bytes are no whole unit, and reused stages") {
  Bench bench(3, 6 << 20);
  if (!bench.device) return;
  for (const int64_t bytes : {1000003, 65536, 65537})
    for (const int64_t offset : {0, 16, 3})
      for (const uint32_t max_sms : {0u, 2u}) {
        Case c;
        c.desc.shape[0] = bytes;
        c.desc.src_stride[0] = c.desc.dst_stride[0] = 1;
        c.desc.count = 5;
        c.desc.max_sms = max_sms;
        for (int64_t i = 0; i < 5; ++i) {
          c.src.push_back(64 + i * 1000064 + offset);
          c.dst.push_back(64 + (4 - i) * 1000064 + (i % 2) * offset);
        }
        CHECK(check_case(bench, c));
      }
}

TEST_CASE("copies: nothing to do, and refusals") {
  Bench bench(4);
  if (!bench.device) return;
  CopiesDesc desc;
  desc.shape[0] = 64;
  desc.src_stride[0] = desc.dst_stride[0] = 1;
  desc.count = 4;
  std::unique_ptr<Plan> plan;
  const auto refused = [&](auto change) {
    CopiesDesc d = desc;
    change(d);
    return CopiesPlan::create(bench.device, d, &plan).code();
  };
  CHECK(refused([](CopiesDesc& d) { d.count = -1; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](CopiesDesc& d) { d.count = INT64_MAX; }) == Code::ERROR_OVERFLOW);
  CHECK(refused([](CopiesDesc& d) { d.shape[0] = -1; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](CopiesDesc& d) { d.rank = 9; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](CopiesDesc& d) { d.dtype = DType{0}; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](CopiesDesc& d) { d.src_alignment = 3; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(refused([](CopiesDesc& d) { d.dst_stride[0] = 0; }) == Code::ERROR_OVERLAP);
  TW_REQUIRE_OK(CopiesPlan::create(bench.device, desc, &plan));
  const auto run = [&](uint64_t src, uint64_t dst, int64_t count, uint64_t skipped) {
    return static_cast<CopiesPlan&>(*plan)
        .run(*bench.stream,
             {.src_list = src, .dst_list = dst, .count = count, .invalid_count = skipped})
        .code();
  };
  bench.lists->fill(0);
  const uint64_t list = bench.lists->address();
  CHECK(run(list, list + 64, -1, list + 128) == Code::OK);
  CHECK(run(list, list + 64, 5, list + 128) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(run(list, list + 64, -2, list + 128) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(run(list, list + 64, 0, 0) == Code::OK);
  CHECK(run(0, list + 64, 4, 0) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(run(list, 0, 4, 0) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(run(list + 4, list + 64, 4, 0) == Code::ERROR_MISALIGNED);
  CHECK(run(list, list + 66, 4, 0) == Code::ERROR_MISALIGNED);
  CHECK(run(list, list + 64, 4, list + 132) == Code::ERROR_MISALIGNED);
  TW_REQUIRE_OK(bench.stream->synchronize());
  if (bench.host()) {  // only the host device checks pairs for overlap
    auto& image = bench.lists->image();
    for (size_t i = 0; i < 4; ++i) {
      const uint64_t src = bench.src->address() + i * 256;
      const uint64_t dst = i == 2 ? src + 63 : bench.dst->address() + i * 256;
      std::memcpy(&image[i * 8], &src, 8);
      std::memcpy(&image[64 + i * 8], &dst, 8);
    }
    bench.lists->upload();
    CHECK(run(list, list + 64, 4, 0) == Code::ERROR_OVERLAP);
    CHECK(std::string(last_failure().message).find("pair 2") != std::string::npos);
    CHECK(run(list, list + 64, 2, 0) == Code::OK);
  }
  desc.count = 0;
  TW_REQUIRE_OK(CopiesPlan::create(bench.device, desc, &plan));
  CHECK(run(0, 0, -1, 0) == Code::OK);
  TW_REQUIRE_OK(bench.stream->synchronize());
}
