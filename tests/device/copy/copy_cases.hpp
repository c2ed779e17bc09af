// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the tests of copies: a device with two arenas, a case, and a reference loop over
// elements. Tests compare the destination's whole arena.
#include <algorithm>

#include "ops/copy/copy.hpp"
#include "runtime/host/host_device.hpp"
#include "tests/device/common/arena.hpp"

namespace tw::test {

inline constexpr uint64_t kArena = 1 << 18;
inline constexpr DType kTypes[] = {DType::U8, DType::BF16, DType::F32, DType::I64, DType::B128};

struct CopyBench {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> src, dst;
  std::mt19937_64 random;

  explicit CopyBench(uint64_t seed, uint64_t bytes = kArena) : random(seed) {
    device = open_test_device();
    if (!device) return;
    TW_REQUIRE_OK(device->create_stream(&stream));
    src = std::make_unique<Arena>(device, *stream, bytes);
    dst = std::make_unique<Arena>(device, *stream, bytes);
    src->fill_random(random);
    TW_REQUIRE_OK(stream->synchronize());
  }
};

struct CopyCase {
  CopyDesc desc;
  int64_t src_offset = 0;  // of coordinate 0, in bytes from the arena's begin
  int64_t dst_offset = 0;
};

inline std::string describe(const CopyCase& c) {
  std::string text = dtype_name(c.desc.dtype);
  const auto add = [&text](const char* before, int64_t number) {
    text += before;
    text += std::to_string(number);
  };
  add(" methods ", c.desc.methods & ((1 << kCopyMethods) - 1));
  add(" offsets ", c.src_offset);
  add(" ", c.dst_offset);
  for (int d = 0; d < c.desc.rank; ++d) {
    add("; ", c.desc.shape[d]);
    add(":", c.desc.src_stride[d]);
    add(",", c.desc.dst_stride[d]);
  }
  return text;
}

// The destination's arena after the copy.
inline std::vector<uint8_t> expected(const CopyCase& c, const std::vector<uint8_t>& src,
                                     std::vector<uint8_t> dst) {
  const int64_t bytes = dtype_bytes(c.desc.dtype);
  int64_t at[kMaxCopyRank] = {};
  for (int d = 0; d < c.desc.rank; ++d)
    if (c.desc.shape[d] == 0) return dst;
  for (;;) {
    int64_t from = c.src_offset, to = c.dst_offset;
    for (int d = 0; d < c.desc.rank; ++d) {
      from += at[d] * c.desc.src_stride[d] * bytes;
      to += at[d] * c.desc.dst_stride[d] * bytes;
    }
    std::memcpy(&dst[static_cast<size_t>(to)], &src[static_cast<size_t>(from)],
                static_cast<size_t>(bytes));
    int d = c.desc.rank - 1;
    while (d >= 0 && ++at[d] == c.desc.shape[d]) at[d--] = 0;
    if (d < 0) return dst;
  }
}

inline void check_case(CopyBench& bench, const CopyCase& c) {
  INFO(describe(c));
  bench.dst->fill(0xa7);
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(CopyPlan::create(bench.device, c.desc, &plan));
  INFO(plan->explain());
  const uint64_t src = bench.src->address() + static_cast<uint64_t>(c.src_offset);
  const uint64_t dst = bench.dst->address() + static_cast<uint64_t>(c.dst_offset);
  const BoxCounters before = host_counters(*bench.device);
  TW_REQUIRE_OK(static_cast<CopyPlan&>(*plan).run(*bench.stream, src, dst));
  const auto got = bench.dst->read();
  CHECK(first_difference(got, expected(c, bench.src->image(), bench.dst->image())) == -1);
  if (bench.device->info().kind == DeviceKind::host && src % 16 == 0 && dst % 16 == 0) {
    const BoxCounters after = host_counters(*bench.device);
    CHECK(after.boxes_loaded - before.boxes_loaded == plan->info().boxes_loaded);
    CHECK(after.boxes_stored - before.boxes_stored == plan->info().boxes_stored);
  }
}

}  // namespace tw::test
