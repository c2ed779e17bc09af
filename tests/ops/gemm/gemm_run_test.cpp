// SPDX-License-Identifier: Apache-2.0
// Which operands of a run may overlap.
#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// All operands that a run may name, far apart.
constexpr GemmRun kApart{.alpha = 1.0f,
                         .beta = 0.5f,
                         .a = 1ull << 40,
                         .b = 2ull << 40,
                         .c = 3ull << 40,
                         .d = 4ull << 40,
                         .workspace = 5ull << 40,
                         .workspace_bytes = 1 << 24,
                         .device_m = 6ull << 40,
                         .device_alpha = 7ull << 40,
                         .device_beta = 8ull << 40,
                         .invalid_count = 9ull << 40,
                         .bias = 10ull << 40,
                         .d_factor = 11ull << 40,
                         .amax = 12ull << 40};

struct Field {
  const char* name;
  uint64_t GemmRun::*address;
  bool written;
};

constexpr Field kFields[] = {{"a", &GemmRun::a, false},
                             {"b", &GemmRun::b, false},
                             {"c", &GemmRun::c, false},
                             {"d", &GemmRun::d, true},
                             {"workspace", &GemmRun::workspace, true},
                             {"device_m", &GemmRun::device_m, false},
                             {"device_alpha", &GemmRun::device_alpha, false},
                             {"device_beta", &GemmRun::device_beta, false},
                             {"skipped", &GemmRun::invalid_count, true},
                             {"bias", &GemmRun::bias, false},
                             {"d_factor", &GemmRun::d_factor, false},
                             {"amax", &GemmRun::amax, true}};

bool is(const Field& field, const char* name) {
  return std::string(field.name) == name;
}

class Refuser {
 public:
  Refuser(const std::shared_ptr<PaperDevice>& device, const GemmDesc& desc)
      : device_(device), plan_(plan_of(device, desc)) {
    REQUIRE(device->create_stream(&stream_).ok());
  }
  bool refused(const GemmRun& run) {
    const size_t before = device_->launches.size();
    const Status status = plan_->run(*stream_, run);
    if (status.ok()) return false;
    CHECK(status.code() == Code::ERROR_OVERLAP);
    CHECK(device_->launches.size() == before);  // nothing was launched
    return true;
  }

 private:
  std::shared_ptr<PaperDevice> device_;
  std::unique_ptr<GemmPlan> plan_;
  std::unique_ptr<Stream> stream_;
};

int64_t pick(std::mt19937_64& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// The address of every element of `batch` matrices with `lines` lines of `contiguous` elements,
// ordered by matrix, line and element.
std::vector<uint64_t> bytes_of(uint64_t address, int64_t lines, int64_t contiguous, int64_t leading,
                               int64_t batch, int64_t stride, int64_t element) {
  std::vector<uint64_t> out;
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t line = 0; line < lines; ++line)
      for (int64_t byte = 0; byte < contiguous * element; ++byte)
        out.push_back(address +
                      static_cast<uint64_t>((i * stride + line * leading) * element + byte));
  return out;
}

bool share_bytes(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  const std::set<uint64_t> all(a.begin(), a.end());
  return std::any_of(b.begin(), b.end(), [&](uint64_t byte) { return all.count(byte) != 0; });
}

// A small product whose operands may lie in each other's padding.
GemmDesc interleaved(std::mt19937_64& random) {
  GemmDesc d = gemm_desc(pick(random, 1, 5), pick(random, 1, 5), pick(random, 1, 5));
  d.a_order = pick(random, 0, 1) ? Order::row : Order::column;
  d.b_order = pick(random, 0, 1) ? Order::row : Order::column;
  d.d_order = pick(random, 0, 1) ? Order::row : Order::column;
  d.d_padding_writable = pick(random, 0, 4) == 0;
  d.batch = pick(random, 1, 3);
  const bool one_pitch = pick(random, 0, 1) != 0;
  const int64_t pitch = pick(random, 5, 16), apart = pick(random, 1, 3) * 5;
  for (int64_t* leading : {&d.lda, &d.ldb, &d.ldc, &d.ldd})
    *leading = one_pitch ? pitch : pick(random, 5, 16);
  for (int64_t* stride :
       {&d.a_batch_stride, &d.b_batch_stride, &d.c_batch_stride, &d.d_batch_stride})
    *stride = one_pitch ? apart : pick(random, 0, 3) == 0 ? 0 : pick(random, 1, 80);
  return d;
}

GemmDesc everything(uint32_t flags) {
  GemmDesc desc = gemm_desc(64, 64, 64);
  desc.batch = 2;
  desc.flags = flags | kGemmDeviceM | kGemmDeviceScalars;
  desc.epilogue = {.bias = Per::column, .d_factor = Per::row, .amax = true};
  return desc;
}

}  // namespace

TEST_CASE("what a run writes is nothing else that it names") {
  const auto device = hopper();
  for (const uint32_t flags : {0u, kGemmPointers}) {
    Refuser runs(device, everything(flags));
    GemmRun all = kApart;
    if (flags == 0) all.invalid_count = 0;
    REQUIRE_FALSE(runs.refused(all));
    const auto named = [&](const Field& field) {
      return flags != 0 || !(is(field, "skipped") || is(field, "workspace"));
    };
    // With pointer arrays, the array of d is only read. Two arrays that are only read may be the
    // same, but d's may equal only c's.
    const auto written = [&](const Field& field) {
      return field.written && !(flags != 0 && is(field, "d"));
    };
    const auto allowed = [&](const Field& one, const Field& other) {
      if (written(one) || written(other)) return is(one, "c") && is(other, "d");
      return flags == 0 || !is(other, "d") || !(is(one, "a") || is(one, "b"));
    };
    int pairs = 0, refusals = 0;
    for (const Field& one : kFields)
      for (const Field& other : kFields) {
        if (&one >= &other || !named(one) || !named(other)) continue;
        INFO(one.name << " and " << other.name << ", flags " << flags);
        GemmRun run = all;
        run.*one.address = run.*other.address;
        CHECK(runs.refused(run) == !allowed(one, other));
        ++pairs;
        refusals += !allowed(one, other);
      }
    CHECK(pairs == (flags == 0 ? 45 : 66));
    CHECK(refusals == (flags == 0 ? 16 : 32));
    // Partial overlap, from either side.
    GemmRun run = all;
    run.amax = run.bias + 124;
    CHECK(runs.refused(run));
    run.amax = run.bias + 128;
    CHECK_FALSE(runs.refused(run));
    run.amax = run.bias - 4;
    CHECK_FALSE(runs.refused(run));
    if (flags == 0) continue;
    run = all;
    run.d = run.c + 8;  // D of one matrix would be C of the next
    CHECK(runs.refused(run));
    run.d = run.a + 8;
    CHECK(runs.refused(run));
    run.d = run.a + 16;
    CHECK_FALSE(runs.refused(run));
    run.alpha = 0;  // device_alpha: A is read all the same
    run.d = run.a;
    CHECK(runs.refused(run));
    run.device_alpha = 0;
    CHECK_FALSE(runs.refused(run));
  }
}

TEST_CASE("what a run does not look at may lie anywhere") {
  const auto device = hopper();
  GemmDesc desc = everything(0);
  desc.epilogue.d_factor = Per::tensor;
  Refuser runs(device, desc);
  GemmRun run = kApart;
  run.invalid_count = run.device_alpha = run.device_beta = 0;
  run.alpha = run.beta = 0;
  run.a = run.b = run.c = run.amax;  // not read
  CHECK_FALSE(runs.refused(run));
  run.d_factor = 0;
  CHECK_FALSE(runs.refused(run));
  run.alpha = 1;
  CHECK(runs.refused(run));
}

TEST_CASE("a workspace that nothing is copied into may be any operand") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(64, 64, 64);
  desc.lda = 65;
  desc.staging_copy = true;
  desc.min_m = 64;
  Refuser runs(device, desc);
  GemmRun run{.beta = 0.5f, .a = kA, .b = kB, .c = kC, .d = kD};
  run.workspace_bytes = 1 << 20;
  for (const uint64_t operand : {kA, kB, kC, kD}) {
    run.workspace = operand;
    run.alpha = 1;
    CHECK(runs.refused(run));
    run.alpha = 0;
    CHECK_FALSE(runs.refused(run));
  }
}

TEST_CASE("operands may lie between each other's lines, and are refused where they share a byte") {
  const auto device = hopper();
  std::mt19937_64 random(7);
  int together = 0, between = 0, in_place = 0;
  for (int i = 0; i < 20000; ++i) {
    const GemmDesc desc = interleaved(random);
    std::unique_ptr<Plan> plan;
    if (!GemmPlan::create(device, desc, &plan).ok()) {
      REQUIRE(last_failure().code == Code::ERROR_OVERLAP);  // D's own matrices overlap
      continue;
    }
    const auto near = [&](int64_t most) {
      return kD + static_cast<uint64_t>(2 * pick(random, -most, most));
    };
    const bool a_row = desc.a_order == Order::row, b_row = desc.b_order == Order::row;
    const bool d_row = desc.d_order == Order::row;
    const GemmRun run{.beta = pick(random, 0, 1) ? 1.0f : 0.0f,
                      .a = near(40),
                      .b = pick(random, 0, 1) ? kB : near(40),
                      .c = pick(random, 0, 3) == 0 ? kD : near(40),
                      .d = kD};
    const auto a = bytes_of(run.a, a_row ? desc.m : desc.k, a_row ? desc.k : desc.m, desc.lda,
                            desc.batch, desc.a_batch_stride, 2);
    const auto b = bytes_of(run.b, b_row ? desc.k : desc.n, b_row ? desc.n : desc.k, desc.ldb,
                            desc.batch, desc.b_batch_stride, 2);
    const int64_t lines = d_row ? desc.m : desc.n, contiguous = d_row ? desc.n : desc.m;
    const auto c = bytes_of(run.c, lines, contiguous, desc.ldc, desc.batch, desc.c_batch_stride, 2);
    const auto d = bytes_of(run.d, lines, contiguous, desc.ldd, desc.batch, desc.d_batch_stride, 2);
    const auto written = bytes_of(run.d, lines, desc.d_padding_writable ? desc.ldd : contiguous,
                                  desc.ldd, desc.batch, desc.d_batch_stride, 2);
    const bool ab = share_bytes(a, written) || share_bytes(b, written);
    const bool in_c = run.beta != 0 && c != d && share_bytes(c, written);
    INFO("case " << i << ": m " << desc.m << " n " << desc.n << " k " << desc.k << " ld "
                 << desc.lda << " " << desc.ldb << " " << desc.ldc << " " << desc.ldd);
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    const Status status = static_cast<GemmPlan&>(*plan).run(*stream, run);
    if (status.ok() == (ab || in_c)) CHECK(status.ok() == !(ab || in_c));
    if (!status.ok()) {
      if (status.code() != Code::ERROR_OVERLAP) CHECK(status.code() == Code::ERROR_OVERLAP);
      ++together;
    } else {
      const auto spans = [&](const std::vector<uint64_t>& of) {
        return of.front() <= written.back() && written.front() <= of.back();
      };
      between += spans(a) || spans(b);
      in_place += run.beta != 0 && c == d &&
                  (desc.ldc != desc.ldd || desc.c_batch_stride != desc.d_batch_stride);
    }
    device->launches.clear();
  }
  MESSAGE(together << " share bytes, " << between << " lie between lines, " << in_place
                   << " are in place with numbers that do not count");
  CHECK((together > 1000 && between > 500 && in_place > 50));
}

TEST_CASE(
    "C that is D but for its pitch is refused with both numbers, by arrays of addresses too") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  for (const bool pointers : {false, true})
    for (const Order order : {Order::row, Order::column}) {
      GemmDesc desc = gemm_desc(8, 8, 8);
      desc.d_order = order;
      desc.ldc = 16;
      desc.batch = 2;
      desc.d_batch_stride = desc.c_batch_stride = 128;
      if (pointers) desc.flags = kGemmPointers;
      const auto said = [&](const GemmDesc& of, const GemmRun& run, const char* words) {
        const Status status = plan_of(device, of)->run(*stream, run);
        INFO(last_failure().message);
        CHECK(status.code() == Code::ERROR_OVERLAP);
        CHECK(std::string(last_failure().fault.argument) == "c");
        CHECK(std::string(last_failure().fault.rule) == "gemm_in_place");
        CHECK(std::string(last_failure().message).find(words) != std::string::npos);
      };
      GemmRun run{.beta = 1, .a = kA, .b = kB, .c = kD, .d = kD};
      if (pointers) run.workspace = 1ull << 52, run.workspace_bytes = 1 << 20;
      said(desc, run, "ldc is 16 and ldd 8");
      // With a single line, or with equal pitches, in-place runs are allowed.
      GemmDesc one = desc;
      (order == Order::row ? one.m : one.n) = 1;
      CHECK(plan_of(device, one)->run(*stream, run).ok());
      one = desc;
      one.ldc = 8;
      CHECK(plan_of(device, one)->run(*stream, run).ok());
      one.epilogue.gate = Gate::interleaved;
      one.ldd = 8;
      said(one, run, "gate");
      if (pointers) continue;
      one = desc;
      one.ldc = 8;
      one.c_batch_stride = 0;
      said(one, run, "c_batch_stride is 0 and d_batch_stride 128");
      one.batch = 1;
      for (const int64_t unused : {int64_t{0}, int64_t{129}, INT64_MAX}) {
        one.c_batch_stride = unused;
        CHECK(plan_of(device, one)->run(*stream, run).ok());
      }
    }
}

// The layout of attention heads: each matrix is a slice of every line.
TEST_CASE("whether large operands share bytes is known in a few steps") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmDesc desc = gemm_desc(1 << 16, 128, 128);
  desc.batch = 64;
  desc.lda = desc.ldd = 3 * 64 * 128;
  desc.a_batch_stride = desc.d_batch_stride = 128;
  const auto plan = plan_of(device, desc);
  const uint64_t row = 64 * 128 * 2;
  for (const uint64_t third : {1, 2}) {
    CHECK(plan->run(*stream, {.a = kD + third * row, .b = kB, .d = kD}).ok());
    CHECK(plan->run(*stream, {.a = kD - third * row, .b = kB, .d = kD}).ok());
    for (const int64_t off : {-256, -2, 2, 256}) {
      // A shift reaches D to the left of the second third, or to the right of the last one.
      const bool meets = third == 1 ? off < 0 : off > 0;
      const Status status = plan->run(
          *stream, {.a = kD + third * row + static_cast<uint64_t>(off), .b = kB, .d = kD});
      CHECK(status.ok() == !meets);
    }
  }
}

TEST_CASE("what a short search does not decide is refused, with what would be decided") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmDesc desc = gemm_desc(800, 1, 1);
  desc.ldd = 1000;
  desc.lda = 1001;
  // 1001 j + 100100 = 1000 i has few solutions: only j = 900, 1900 and so on.
  const GemmRun run{.a = kD + 2 * 100100, .b = kB, .d = kD};
  CHECK(plan_of(device, desc)->run(*stream, run).code() == Code::ERROR_OVERLAP);
  CHECK(std::string(last_failure().fault.rule) == "gemm_overlap_undecided");
  CHECK(std::string(last_failure().message).find("same pitch") != std::string::npos);
  desc.lda = 1000;
  CHECK(plan_of(device, desc)->run(*stream, {.a = run.a + 2, .b = kB, .d = kD}).ok());
}
