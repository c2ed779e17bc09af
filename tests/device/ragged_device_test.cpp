// SPDX-License-Identifier: Apache-2.0
// Compares ragged copies with a reference loop: random lengths, windows, pitches, layouts of the
// padded operand, and wrong offsets.
#include <algorithm>

#include "ops/ragged/ragged.hpp"
#include "tests/device/common/arena.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr DType kTypes[] = {DType::U8, DType::BF16, DType::F32, DType::F64, DType::B128};
constexpr uint64_t kArena = 1 << 18;

struct Bench {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> packed, padded, offsets, faults;
  std::mt19937_64 random;

  explicit Bench(uint64_t seed, uint64_t bytes = kArena) : random(seed) {
    device = open_test_device();
    if (!device) return;
    TW_REQUIRE_OK(device->create_stream(&stream));
    packed = std::make_unique<Arena>(device, *stream, bytes);
    padded = std::make_unique<Arena>(device, *stream, bytes);
    offsets = std::make_unique<Arena>(device, *stream, 1 << 16);
    faults = std::make_unique<Arena>(device, *stream, 64);
  }
  bool host() const { return device->info().kind == DeviceKind::host; }
};

struct Case {
  RaggedDesc desc;
  int64_t batch = -1;
  int64_t tokens = -1;
  int64_t row = 0;
  int64_t column = 0;
  int64_t packed_at = 64;  // bytes from the arenas' begin
  int64_t padded_at = 64;
  bool counts = true;
  std::vector<int64_t> offsets;  // desc.batch + 1 of them
};

std::string describe(const Case& c) {
  const RaggedDesc& d = c.desc;
  char text[400];
  std::snprintf(text, sizeof text,
                "%s %s fill %d: batch %d (%d), tokens %d (%d), rows %d, columns %d of %d, pitches "
                "%d %d %d, window %d %d, at %d %d, %s offsets, methods %u, max_sms %u",
                d.direction == RaggedDirection::pad ? "pad" : "unpad", dtype_name(d.dtype),
                int(d.fill), int(d.batch), int(c.batch), int(d.tokens), int(c.tokens), int(d.rows),
                int(d.columns), int(d.packed_columns), int(d.packed_pitch), int(d.padded_pitch),
                int(d.padded_batch_pitch), int(c.row), int(c.column), int(c.packed_at),
                int(c.padded_at), dtype_name(d.offset_dtype), d.methods & 15, d.max_sms);
  return text;
}

void put_offsets(Bench& bench, const Case& c) {
  auto& image = bench.offsets->image();
  std::memset(image.data(), 0x77, image.size());
  for (size_t i = 0; i < c.offsets.size(); ++i) {
    const auto narrow = static_cast<int32_t>(c.offsets[i]);
    if (c.desc.offset_dtype == DType::I64)
      std::memcpy(&image[i * 8], &c.offsets[i], 8);
    else
      std::memcpy(&image[i * 4], &narrow, 4);
  }
  bench.offsets->upload();
}

// The arena of the written operand after the run; *faults counts sequences with wrong offsets.
std::vector<uint8_t> expected(const Case& c, const std::vector<uint8_t>& packed,
                              const std::vector<uint8_t>& padded, uint64_t* faults) {
  const RaggedDesc& d = c.desc;
  const bool pads = d.direction == RaggedDirection::pad;
  std::vector<uint8_t> out = pads ? padded : packed;
  const auto bytes = static_cast<int64_t>(dtype_bytes(d.dtype));
  const int64_t batch = c.batch < 0 ? d.batch : c.batch;
  const int64_t tokens = c.tokens < 0 ? d.tokens : c.tokens;
  const int64_t packed_columns = d.packed_columns ? d.packed_columns : d.columns;
  const int64_t packed_pitch = d.packed_pitch ? d.packed_pitch : packed_columns;
  const int64_t padded_pitch = d.padded_pitch ? d.padded_pitch : d.columns;
  const int64_t batch_pitch = d.padded_batch_pitch ? d.padded_batch_pitch : d.rows * padded_pitch;
  *faults = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t begin = c.offsets[static_cast<size_t>(b)];
    const int64_t end = c.offsets[static_cast<size_t>(b) + 1];
    const bool wrong = begin < 0 || end < 0 || begin > tokens || end > tokens || end < begin;
    *faults += wrong;
    for (int64_t r = 0; r < d.rows; ++r) {
      const bool has = !wrong && c.row + r >= 0 && c.row + r < end - begin;
      for (int64_t x = 0; x < d.columns; ++x) {
        const int64_t there = c.padded_at + (b * batch_pitch + r * padded_pitch + x) * bytes;
        const int64_t row = has ? begin + c.row + r : 0;  // a wrong offset may be any number
        const int64_t here = c.packed_at + (row * packed_pitch + c.column + x) * bytes;
        if (has && pads) std::memcpy(&out[size_t(there)], &packed[size_t(here)], size_t(bytes));
        if (has && !pads) std::memcpy(&out[size_t(here)], &padded[size_t(there)], size_t(bytes));
        for (int64_t k = 0; k < bytes && !has && pads; ++k)
          out[size_t(there + k)] = d.fill == OobFill::zero ? 0 : k % 2 ? 0x7f : 0xf7;
      }
    }
  }
  return out;
}

// Returns false, without a run, if the only allowed method does not support the case.
bool check_case(Bench& bench, const Case& c) {
  INFO(describe(c));
  bench.packed->fill_random(bench.random);
  bench.padded->fill_random(bench.random);
  bench.faults->fill(0);
  put_offsets(bench, c);
  std::unique_ptr<Plan> plan;
  const Code planned = RaggedPlan::create(bench.device, c.desc, &plan).code();
  if (planned == Code::ERROR_UNSUPPORTED && c.desc.methods != ~0u) return false;
  INFO(last_failure().message);
  REQUIRE(planned == Code::OK);
  INFO(plan->explain());
  const RaggedRun run{.packed = bench.packed->address() + static_cast<uint64_t>(c.packed_at),
                      .offsets = bench.offsets->address(),
                      .padded = bench.padded->address() + static_cast<uint64_t>(c.padded_at),
                      .batch = c.batch,
                      .tokens = c.tokens,
                      .row = c.row,
                      .column = c.column,
                      .invalid_count = c.counts ? bench.faults->address() + 8 : 0};
  uint64_t faults = 0;
  const auto wanted = expected(c, bench.packed->image(), bench.padded->image(), &faults);
  const Code code = static_cast<RaggedPlan&>(*plan).run(*bench.stream, run).code();
  if (code == Code::ERROR_MISALIGNED && c.desc.methods != ~0u) return false;
  INFO(last_failure().message);
  const bool pads = c.desc.direction == RaggedDirection::pad;
  Arena& written = pads ? *bench.padded : *bench.packed;
  Arena& source = pads ? *bench.packed : *bench.padded;
  if (bench.host() && !c.counts && faults != 0 && c.desc.rows * c.desc.columns != 0) {
    CHECK(code == Code::ERROR_INVALID_ARGUMENT);
    CHECK(std::string(last_failure().fault.argument) == "offsets");
    CHECK(first_difference(written.read(), written.image()) == -1);
    return true;
  }
  REQUIRE(code == Code::OK);
  CHECK(first_difference(written.read(), wanted) == -1);
  CHECK(first_difference(source.read(), source.image()) == -1);
  std::vector<uint8_t> counted(64);
  const bool ran = c.counts && c.desc.rows * c.desc.columns != 0;
  if (ran) std::memcpy(&counted[8], &faults, 8);
  CHECK(bench.faults->read() == counted);
  return true;
}

enum class Lengths { random, zero, one, full, wild, last_kind = wild };

std::vector<int64_t> draw_offsets(std::mt19937_64& random, Lengths kind, const RaggedDesc& d,
                                  int64_t tokens) {
  std::vector<int64_t> out{kind == Lengths::random && pick(random, 0, 3) == 0
                               ? pick(random, 0, std::min<int64_t>(tokens, 3))
                               : 0};
  for (int64_t b = 0; b < d.batch; ++b) {
    int64_t length = pick(random, 0, std::max<int64_t>(1, d.rows + d.rows / 4));
    if (kind == Lengths::zero) length = 0;
    if (kind == Lengths::one) length = 1;
    if (kind == Lengths::full) length = d.rows;
    out.push_back(std::min(out.back() + length, tokens));
  }
  if (kind != Lengths::wild) return out;
  const bool wide = d.offset_dtype == DType::I64;
  const int64_t wrong[] = {-1,
                           tokens + 1,
                           INT32_MIN,
                           INT32_MAX,
                           wide ? INT64_MIN : -7,
                           wide ? INT64_MAX : -9,
                           wide ? (int64_t{1} << 32) + 1 : tokens + 9};
  for (int64_t& offset : out)
    if (pick(random, 0, 3) == 0) offset = wrong[pick(random, 0, 6)];
  if (d.batch > 1 && pick(random, 0, 1)) std::swap(out.front(), out[out.size() / 2]);
  return out;
}

// Whether sequences share rows of the packed operand. Unpadding them has no defined result.
bool sequences_meet(const Case& c) {
  const int64_t tokens = c.tokens < 0 ? c.desc.tokens : c.tokens;
  std::vector<bool> taken(static_cast<size_t>(tokens));
  for (size_t b = 0; b + 1 < c.offsets.size(); ++b) {
    const int64_t begin = c.offsets[b], end = c.offsets[b + 1];
    if (begin < 0 || end > tokens || begin > end) continue;
    for (int64_t t = begin; t < end; ++t) {
      if (taken[static_cast<size_t>(t)]) return true;
      taken[static_cast<size_t>(t)] = true;
    }
  }
  return false;
}

Case random_case(std::mt19937_64& random) {
  for (;;) {
    Case c;
    RaggedDesc& d = c.desc;
    d.direction = pick(random, 0, 1) ? RaggedDirection::pad : RaggedDirection::unpad;
    d.dtype = kTypes[pick(random, 0, 4)];
    d.offset_dtype = pick(random, 0, 1) ? DType::I32 : DType::I64;
    const int64_t bytes = dtype_bytes(d.dtype);
    const bool aligned = pick(random, 0, 1) == 0;
    const int64_t unit = aligned ? std::max<int64_t>(1, 16 / bytes) : 1;
    const int64_t most[] = {1, 5, 40, 300, 1500};
    d.columns = pick(random, 1, most[pick(random, 0, 4)]) * unit;
    d.batch = pick(random, 1, pick(random, 0, 1) ? 40 : 4);
    d.rows = pick(random, 1, pick(random, 0, 1) ? 12 : 100);
    d.tokens = pick(random, 0, d.batch * d.rows);
    const bool floating = d.dtype == DType::BF16 || d.dtype == DType::F32 || d.dtype == DType::F64;
    if (floating && d.direction == RaggedDirection::pad && pick(random, 0, 1))
      d.fill = OobFill::nan;
    if (pick(random, 0, 2) == 0) {
      d.packed_columns = d.columns + pick(random, 0, 5) * unit;
      c.column = pick(random, 0, (d.packed_columns - d.columns) / unit) * unit;
    }
    if (pick(random, 0, 2) == 0)
      d.packed_pitch = std::max(d.packed_columns, d.columns) + pick(random, 0, 5) * unit;
    if (pick(random, 0, 2) == 0) d.padded_pitch = d.columns + pick(random, 0, 5) * unit;
    if (pick(random, 0, 3) == 0)
      d.padded_batch_pitch =
          d.rows * std::max(d.padded_pitch, d.columns) + pick(random, 0, 5) * unit;
    else if (pick(random, 0, 3) == 0) {  // time first
      d.padded_batch_pitch = d.columns + pick(random, 0, 2) * unit;
      d.padded_pitch = d.batch * d.padded_batch_pitch + pick(random, 0, 2) * unit;
    }
    const int64_t offset = pick(random, 0, 2) ? 16 : bytes;
    c.packed_at = 64 + pick(random, 0, 32) / offset * offset;
    c.padded_at = 64 + pick(random, 0, 32) / offset * offset;
    RaggedProblem p;
    INFO(last_failure().message);
    REQUIRE(ragged_problem(d, &p).ok());
    if (p.packed_bytes(d.tokens) > 260000 || p.padded_bytes(d.batch) > 260000) continue;
    if (pick(random, 0, 4) == 0) c.batch = pick(random, 0, d.batch);
    if (pick(random, 0, 4) == 0) c.tokens = pick(random, 0, d.tokens);
    if (pick(random, 0, 2) == 0) c.row = pick(random, -d.rows - 2, d.rows + 2);
    if (pick(random, 0, 20) == 0) c.row = pick(random, 0, 1) ? INT64_MAX : INT64_MIN;
    if (c.row != 0 && (c.row == INT64_MAX || c.row == INT64_MIN)) c.row /= 4;
    if (pick(random, 0, 4) == 0) d.max_sms = static_cast<uint32_t>(pick(random, 1, 5));
    c.counts = pick(random, 0, 2) != 0;
    c.offsets = draw_offsets(random, static_cast<Lengths>(pick(random, 0, 4)), d,
                             c.tokens < 0 ? d.tokens : c.tokens);
    if (d.direction == RaggedDirection::unpad && sequences_meet(c)) continue;
    return c;
  }
}

}  // namespace

TEST_CASE("ragged: random lengths, windows, pitches and offsets") {
  Bench bench(1);
  if (!bench.device) return;
  for (int i = 0; i < 500; ++i) CHECK(check_case(bench, random_case(bench.random)));
}

// Each method alone on all cases it supports, with other stage sizes and warps than the plan's own.
TEST_CASE("ragged: every method on random rows") {
  Bench bench(2);
  if (!bench.device) return;
  for (const uint32_t method : {kRaggedBulk, kRaggedPlain}) {
    int done = 0;
    for (int i = 0; i < 3000 && done < 200; ++i) {
      Case c = random_case(bench.random);
      c.desc.methods = 1u << method;
      c.desc.stage_bytes = static_cast<uint32_t>(pick(bench.random, 0, 3)) * 1024;
      c.desc.warps = static_cast<uint32_t>(pick(bench.random, 0, 8));
      c.desc.warp_items = static_cast<uint32_t>(pick(bench.random, 0, 9));
      done += check_case(bench, c);
    }
    INFO("method ", method);
    CHECK(done == 200);
  }
}

TEST_CASE("ragged: lengths of nothing, one row and all rows") {
  Bench bench(3);
  if (!bench.device) return;
  for (const Lengths kind : {Lengths::zero, Lengths::one, Lengths::full})
    for (const RaggedDirection direction : {RaggedDirection::pad, RaggedDirection::unpad})
      for (const int64_t columns : {1, 64, 65, 1024})
        for (const int64_t row : {-1, 0, 1, 6, 7}) {
          Case c;
          c.desc.direction = direction;
          c.desc.columns = columns;
          c.desc.batch = 9;
          c.desc.rows = 7;
          c.desc.tokens = 63;
          c.row = row;
          c.offsets = draw_offsets(bench.random, kind, c.desc, 63);
          CHECK(check_case(bench, c));
        }
}

TEST_CASE("ragged: long rows in parts, many short ones, and reused stages") {
  Bench bench(4, 4 << 20);
  if (!bench.device) return;
  struct Size {
    int64_t batch, rows, columns;
  };
  for (const Size size :
       {Size{3, 5, 100000}, {2, 40, 4096}, {64, 512, 8}, {200, 300, 1}, {5, 700, 33}})
    for (const RaggedDirection direction : {RaggedDirection::pad, RaggedDirection::unpad})
      for (const uint32_t max_sms : {0u, 2u}) {
        Case c;
        c.desc.direction = direction;
        c.desc.batch = size.batch;
        c.desc.rows = size.rows;
        c.desc.columns = size.columns;
        c.desc.tokens = size.batch * size.rows;
        c.desc.max_sms = max_sms;
        c.offsets = draw_offsets(bench.random, Lengths::random, c.desc, c.desc.tokens);
        CHECK(check_case(bench, c));
      }
}

TEST_CASE("ragged: nothing to do, and refusals of a run") {
  Bench bench(5);
  if (!bench.device) return;
  RaggedDesc desc;
  desc.batch = 4;
  desc.rows = 8;
  desc.columns = 64;
  desc.packed_columns = 72;
  desc.tokens = 20;
  desc.packed_alignment = desc.padded_alignment = 16;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(RaggedPlan::create(bench.device, desc, &plan));
  Case zero;
  zero.desc = desc;
  zero.offsets.assign(5, 0);
  put_offsets(bench, zero);
  const RaggedRun good{.packed = bench.packed->address(),
                       .offsets = bench.offsets->address(),
                       .padded = bench.padded->address()};
  const auto code = [&](auto change) {
    RaggedRun run = good;
    change(run);
    return static_cast<RaggedPlan&>(*plan).run(*bench.stream, run).code();
  };
  CHECK(code([](RaggedRun&) {}) == Code::OK);
  CHECK(code([](RaggedRun& r) { r.batch = 0; }) == Code::OK);
  CHECK(code([](RaggedRun& r) { r.tokens = 0, r.packed = 0; }) == Code::OK);
  CHECK(code([](RaggedRun& r) { r.column = 8; }) == Code::OK);
  CHECK(code([](RaggedRun& r) { r.batch = 5; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code([](RaggedRun& r) { r.batch = -2; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code([](RaggedRun& r) { r.tokens = 21; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code([](RaggedRun& r) { r.column = 9; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code([](RaggedRun& r) { r.column = -1; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code([](RaggedRun& r) { r.packed = 0; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code([](RaggedRun& r) { r.padded = 0; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code([](RaggedRun& r) { r.offsets = 0; }) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code([](RaggedRun& r) { r.packed += 8; }) == Code::ERROR_MISALIGNED);
  CHECK(code([](RaggedRun& r) { r.padded += 2; }) == Code::ERROR_MISALIGNED);
  CHECK(code([](RaggedRun& r) { r.offsets += 2; }) == Code::ERROR_MISALIGNED);
  CHECK(code([](RaggedRun& r) { r.invalid_count = r.offsets + 4; }) == Code::ERROR_MISALIGNED);
  CHECK(code([](RaggedRun& r) { r.packed = r.padded + 128; }) == Code::ERROR_OVERLAP);
  CHECK(code([](RaggedRun& r) { r.offsets = r.padded; }) == Code::ERROR_OVERLAP);
  CHECK(code([](RaggedRun& r) { r.invalid_count = r.padded + 8; }) == Code::ERROR_OVERLAP);
  for (const int64_t extent : {0, 1, 2}) {
    RaggedDesc empty = desc;
    (extent == 0 ? empty.batch : extent == 1 ? empty.rows : empty.columns) = 0;
    TW_REQUIRE_OK(RaggedPlan::create(bench.device, empty, &plan));
    TW_REQUIRE_OK(static_cast<RaggedPlan&>(*plan).run(*bench.stream, {}));
  }
  TW_REQUIRE_OK(bench.stream->synchronize());
}
