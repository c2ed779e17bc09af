// SPDX-License-Identifier: Apache-2.0
// Copies that transpose or interleave in registers, and copies of rows in pieces. Checks that plans
// choose each method where they should, and its results at its limits.
#include <tilewright/device/cache.cuh>

#include "tests/device/copy/copy_cases.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr DType kNarrow[] = {DType::U8, DType::BF16, DType::F32, DType::I64};

// The method that a plan chooses for the case's offsets modulo 16.
uint32_t method_of(CopyBench& bench, const CopyCase& c) {
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(CopyPlan::create(bench.device, c.desc, &plan));
  return static_cast<CopyPlan&>(*plan).method_for_test(static_cast<uint64_t>(c.src_offset),
                                                       static_cast<uint64_t>(c.dst_offset));
}

// dst[a][b] from src[b][a] for `planes` planes, with rows padded by multiples of 16 bytes.
CopyCase transpose(std::mt19937_64& random, DType type, int64_t a, int64_t b, int64_t planes) {
  const int64_t side = 16 / dtype_bytes(type);
  const int64_t src_pitch = a + pick(random, 0, 2) * side;
  const int64_t dst_pitch = b + pick(random, 0, 2) * side;
  CopyCase c;
  c.desc.dtype = type;
  c.desc.rank = 3;
  const int64_t shape[] = {planes, a, b};
  const int64_t src[] = {b * src_pitch + side * pick(random, 0, 1), 1, src_pitch};
  const int64_t dst[] = {a * dst_pitch + side * pick(random, 0, 1), dst_pitch, 1};
  for (int d = 0; d < 3; ++d) {
    c.desc.shape[d] = shape[d];
    c.desc.src_stride[d] = src[d];
    c.desc.dst_stride[d] = dst[d];
  }
  c.src_offset = 16 * pick(random, 4, 20);
  c.dst_offset = 16 * pick(random, 4, 20);
  return c;
}

// Interleaves `planes` planes of n elements each, `rows` times; `to_planes`: the reverse.
CopyCase interleaved(std::mt19937_64& random, DType type, int64_t planes, int64_t n, int64_t rows,
                     bool to_planes) {
  const int64_t side = 16 / dtype_bytes(type);
  const int64_t pitch = n + pick(random, 0, 2) * side;
  CopyCase c;
  c.desc.dtype = type;
  c.desc.rank = 3;
  const int64_t shape[] = {rows, n, planes};
  const int64_t planar[] = {planes * pitch, 1, pitch};
  const int64_t packed[] = {planes * n + side * pick(random, 0, 1), planes, 1};
  for (int d = 0; d < 3; ++d) {
    c.desc.shape[d] = shape[d];
    c.desc.src_stride[d] = to_planes ? packed[d] : planar[d];
    c.desc.dst_stride[d] = to_planes ? planar[d] : packed[d];
  }
  c.src_offset = 16 * pick(random, 4, 20);
  c.dst_offset = 16 * pick(random, 4, 20);
  return c;
}

}  // namespace

TEST_CASE("copy: transposes in registers, tiles cut on either side") {
  CopyBench bench(11);
  if (!bench.device) return;
  for (const DType type : kNarrow)
    for (int done = 0; done < 60; ++done) {
      const int64_t side = 16 / dtype_bytes(type);
      const int64_t a = side * pick(bench.random, 4, pick(bench.random, 0, 1) ? 10 : 37);
      const int64_t room = static_cast<int64_t>(kArena - 8192) / (a + 2 * side) / dtype_bytes(type);
      const int64_t planes = pick(bench.random, 1, 3);
      const int64_t b = side * std::min(pick(bench.random, 4, 37), room / planes / side - 3);
      if (b < 4 * side) continue;
      const CopyCase c = transpose(bench.random, type, a, b, planes);
      INFO(describe(c));
      // Up to 16 elements may be interleaved as planes instead.
      if (std::min(a, b) > 16) CHECK(method_of(bench, c) == kCopyTranspose);
      check_case(bench, c);
    }
}

TEST_CASE("copy: transposes of a megabyte and more, which have kernels of their own") {
  CopyBench bench(16, 3 << 20);
  if (!bench.device) return;
  for (const DType type : kNarrow) {
    const int64_t side = 16 / dtype_bytes(type);
    const int64_t a = side * 37;
    const int64_t b = ((int64_t{1} << 20) / dtype_bytes(type) / a / side + 1) * side;
    const CopyCase c = transpose(bench.random, type, a, b, 1);
    INFO(describe(c));
    CHECK(method_of(bench, c) == kCopyTranspose);
    check_case(bench, c);
  }
}

TEST_CASE("copy: transposes of any extent, pitch and address") {
  CopyBench bench(16);
  if (!bench.device) return;
  for (const DType type : kNarrow)
    for (int done = 0; done < 40; ++done) {
      const int64_t bytes = dtype_bytes(type);
      const int64_t a = pick(bench.random, 32, pick(bench.random, 0, 1) ? 70 : 200);
      const int64_t room = static_cast<int64_t>(kArena - 8192) / (a + 4) / bytes;
      const int64_t planes = pick(bench.random, 1, 3);
      const int64_t b = std::min(pick(bench.random, 32, 200), room / planes - 8);
      if (b < 32) continue;
      CopyCase c;
      c.desc.dtype = type;
      c.desc.rank = 3;
      const int64_t src_pitch = a + pick(bench.random, 0, 3);
      const int64_t dst_pitch = b + pick(bench.random, 0, 3);
      const int64_t shape[] = {planes, a, b};
      const int64_t src[] = {b * src_pitch, 1, src_pitch};
      const int64_t dst[] = {a * dst_pitch, dst_pitch, 1};
      for (int d = 0; d < 3; ++d) {
        c.desc.shape[d] = shape[d];
        c.desc.src_stride[d] = src[d];
        c.desc.dst_stride[d] = dst[d];
      }
      c.src_offset = 128 + bytes * pick(bench.random, 0, 16 / bytes);
      c.dst_offset = 256 + bytes * pick(bench.random, 0, 16 / bytes);
      c.desc.methods = ~(1u << kCopyTranspose);
      INFO(describe(c));
      CHECK(method_of(bench, c) == kCopyTransposePlain);
      check_case(bench, c);
      c.desc.methods = ~0u;
      check_case(bench, c);
    }
}

TEST_CASE("copy: planes are interleaved and taken apart in registers") {
  CopyBench bench(12);
  if (!bench.device) return;
  for (const DType type : kNarrow)
    for (int64_t planes = 2; planes <= interleave_planes(static_cast<u32>(dtype_bytes(type)));
         ++planes)
      for (const bool to_planes : {false, true})
        for (int done = 0; done < 8; ++done) {
          const int64_t side = 16 / dtype_bytes(type);
          const int64_t most = static_cast<int64_t>(kArena - 16384) / 4 / planes / 16 - 4;
          const int64_t n =
              side * (done == 0 ? 1 : pick(bench.random, 1, std::min(most, int64_t{150})));
          const CopyCase c =
              interleaved(bench.random, type, planes, n, pick(bench.random, 1, 4), to_planes);
          INFO(describe(c));
          // With n <= planes it is another small transpose, for which plans may differ.
          if (n > planes) CHECK(method_of(bench, c) == kCopyInterleave);
          check_case(bench, c);
        }
}

TEST_CASE("copy: rows in pieces, at every misalignment of the two sides") {
  CopyBench bench(13);
  if (!bench.device) return;
  for (const int64_t bytes : {1, 15, 16, 17, 31, 32, 33, 47, 100, 495, 496, 497, 513})
    for (int64_t from = 0; from < 16; ++from)
      for (const int64_t to : {from, pick(bench.random, 0, 15)}) {
        const int64_t rows = pick(bench.random, 1, 40);
        const bool even = pick(bench.random, 0, 1) == 0;
        CopyCase c;
        c.desc.dtype = DType::U8;
        c.desc.rank = 2;
        c.desc.shape[0] = rows;
        c.desc.shape[1] = bytes;
        c.desc.src_stride[0] = even ? (bytes + 31) / 16 * 16 : bytes + pick(bench.random, 0, 3);
        c.desc.dst_stride[0] = even ? (bytes + 15) / 16 * 16 : bytes + pick(bench.random, 0, 3);
        c.desc.src_stride[1] = c.desc.dst_stride[1] = 1;
        c.src_offset = 256 + from;
        c.dst_offset = 512 + to;
        for (const uint32_t method : {kCopyPieces, kCopyShift}) {
          c.desc.methods = 1u << method | 1u << kCopyStrided;
          if (bytes < 32) c.desc.methods = 1u << method;
          std::unique_ptr<Plan> plan;
          if (!CopyPlan::create(bench.device, c.desc, &plan).ok()) continue;
          const uint32_t chosen = method_of(bench, c);
          if (method == kCopyShift) CHECK(chosen == kCopyShift);
          if (method == kCopyPieces && even && from == to) CHECK(chosen == kCopyPieces);
          if (chosen != 0) check_case(bench, c);
        }
      }
}

TEST_CASE("copy: the driver copies one contiguous row unless max_sms is set") {
  CopyBench bench(14);
  if (!bench.device) return;
  CopyCase c;
  c.desc.dtype = DType::F32;
  c.desc.rank = 2;
  c.desc.shape[0] = 30;
  c.desc.shape[1] = c.desc.src_stride[0] = c.desc.dst_stride[0] = 77;
  c.desc.src_stride[1] = c.desc.dst_stride[1] = 1;
  c.src_offset = 64;
  c.dst_offset = 132;
  CHECK(method_of(bench, c) == kCopyDriver);
  check_case(bench, c);
  c.desc.max_sms = 2;
  CHECK(method_of(bench, c) == kCopyShift);
  check_case(bench, c);
  c.desc.max_sms = 0;
  c.desc.dst_cache = CachePriority::evict_first;
  CHECK(method_of(bench, c) == kCopyShift);
  check_case(bench, c);
}

TEST_CASE("copy: free padding may be written, and nothing else") {
  CopyBench bench(15);
  if (!bench.device) return;
  for (const uint32_t method : {kCopyBoxes, kCopyPieces, kCopyShift})
    for (const int64_t bytes : {33, 100, 497, 4090}) {
      const int64_t rows = 20, src_pitch = (bytes + 31) / 16 * 16, dst_pitch = src_pitch + 32;
      CopyCase c;
      c.desc.dtype = DType::U8;
      c.desc.rank = 2;
      c.desc.shape[0] = rows;
      c.desc.shape[1] = bytes;
      c.desc.src_stride[0] = src_pitch;
      c.desc.dst_stride[0] = dst_pitch;
      c.desc.src_stride[1] = c.desc.dst_stride[1] = 1;
      c.desc.padding_writable = true;
      c.desc.methods = 1u << method;
      c.src_offset = 256;
      c.dst_offset = 512;
      INFO(describe(c));
      bench.dst->fill(0xa7);
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(CopyPlan::create(bench.device, c.desc, &plan));
      TW_REQUIRE_OK(static_cast<CopyPlan&>(*plan).run(*bench.stream, bench.src->address() + 256,
                                                      bench.dst->address() + 512));
      const auto got = bench.dst->read();
      auto wanted = expected(c, bench.src->image(), bench.dst->image());
      int64_t written = 0;
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t at = bytes; at < (bytes + 15) / 16 * 16; ++at) {
          const auto place = static_cast<size_t>(512 + row * dst_pitch + at);
          written += wanted[place] != got[place];
          wanted[place] = got[place];
        }
      CHECK(first_difference(got, wanted) == -1);
      CHECK(written > 0);
    }
}

TEST_CASE("copy: cache policies are those that createpolicy makes") {
  CopyBench bench(17);
  if (!bench.device) return;
  if (bench.device->info().kind == DeviceKind::host) return;  // has no createpolicy
  const char text[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry policies(.param .u64 out)
{
  .reg .b64 to, normal, first, last;
  ld.param.u64 to, [out];
  createpolicy.fractional.L2::evict_normal.b64 normal, 1.0;
  createpolicy.fractional.L2::evict_first.b64 first, 1.0;
  createpolicy.fractional.L2::evict_last.b64 last, 1.0;
  st.global.u64 [to], normal;
  st.global.u64 [to+8], first;
  st.global.u64 [to+16], last;
  ret;
}
)";
  std::unique_ptr<Module> module;
  std::unique_ptr<Kernel> kernel;
  TW_REQUIRE_OK(bench.device->load_module(text, sizeof text, &module));
  TW_REQUIRE_OK(module->kernel("policies", &kernel));
  uint64_t to = bench.dst->address();
  void* params[] = {&to};
  LaunchConfig config;
  config.block[0] = 1;
  TW_REQUIRE_OK(bench.stream->launch_params(*kernel, config, params));
  uint64_t made[3] = {};
  TW_REQUIRE_OK(bench.stream->copy_to_host(made, to, sizeof made));
  TW_REQUIRE_OK(bench.stream->synchronize());
  CHECK(made[0] == tilewright::kEvictNormal);
  CHECK(made[1] == tilewright::kEvictFirst);
  CHECK(made[2] == tilewright::kEvictLast);
}

TEST_CASE("copy: small copies that overlap their launches see what the ones before them wrote") {
  CopyBench bench(18);
  if (!bench.device) return;
  // Each pair of copies transposes in place. Reading too early would leave a part unchanged.
  const int64_t edge = 128, pitch = 136, pairs = 101;
  CopyCase turn;
  turn.desc.dtype = DType::U16;
  turn.desc.rank = 2;
  turn.desc.shape[0] = turn.desc.shape[1] = edge;
  turn.desc.src_stride[0] = turn.desc.dst_stride[1] = 1;
  turn.desc.src_stride[1] = turn.desc.dst_stride[0] = pitch;
  CopyCase back = turn;
  back.desc.src_stride[0] = back.desc.dst_stride[0] = pitch;
  back.desc.src_stride[1] = back.desc.dst_stride[1] = 1;
  CHECK(method_of(bench, turn) == kCopyTranspose);
  CHECK(method_of(bench, back) == kCopyPieces);
  std::unique_ptr<Plan> turning, copying;
  TW_REQUIRE_OK(CopyPlan::create(bench.device, turn.desc, &turning));
  TW_REQUIRE_OK(CopyPlan::create(bench.device, back.desc, &copying));
  const auto run = [&](Plan& plan, uint64_t from, uint64_t to) {
    TW_REQUIRE_OK(static_cast<CopyPlan&>(plan).run(*bench.stream, from, to));
  };
  const uint64_t a = bench.dst->address() + 1024;
  const uint64_t b = a + kArena / 2;
  for (int round = 0; round < 20; ++round) {
    bench.dst->fill(0xa7);
    run(*copying, bench.src->address() + 256 * static_cast<uint64_t>(round), a);
    for (int pair = 0; pair < pairs; ++pair) {
      run(*turning, a, b);
      run(*copying, b, a);
    }
    turn.src_offset = 256 * round;
    turn.dst_offset = 1024;
    auto wanted = expected(turn, bench.src->image(), bench.dst->image());
    turn.dst_offset += static_cast<int64_t>(kArena / 2);
    wanted = expected(turn, bench.src->image(), wanted);
    CHECK(first_difference(bench.dst->read(), wanted) == -1);
  }
}
