// SPDX-License-Identifier: Apache-2.0
// What a run's addresses may not be to one another.
#include <string>
#include <vector>

#include "paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Everything that a run may name, far apart.
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
                         .skipped = 9ull << 40,
                         .bias = 10ull << 40,
                         .scale = 11ull << 40,
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
                             {"skipped", &GemmRun::skipped, true},
                             {"bias", &GemmRun::bias, false},
                             {"scale", &GemmRun::scale, false},
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
    CHECK(device_->launches.size() == before);  // nothing happened
    return true;
  }

 private:
  std::shared_ptr<PaperDevice> device_;
  std::unique_ptr<GemmPlan> plan_;
  std::unique_ptr<Stream> stream_;
};

GemmDesc everything(uint32_t flags) {
  GemmDesc desc = gemm_desc(64, 64, 64);
  desc.batch = 2;
  desc.flags = flags | kGemmDeviceM | kGemmDeviceScalars;
  desc.epilogue = {.bias = Per::column, .scale = Per::row, .amax = true};
  return desc;
}

}  // namespace

TEST_CASE("what a run writes is nothing else that it names") {
  const auto device = hopper();
  for (const uint32_t flags : {0u, kGemmPointers}) {
    Refuser runs(device, everything(flags));
    GemmRun all = kApart;
    if (flags == 0) all.skipped = 0;
    REQUIRE_FALSE(runs.refused(all));
    const auto named = [&](const Field& field) {
      return flags != 0 || !(is(field, "skipped") || is(field, "workspace"));
    };
    // Of arrays of addresses, d's is read too: two that are only read may be one, but d's matrices
    // are none that are read but C's.
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
    // In part, from either side.
    GemmRun run = all;
    run.amax = run.bias + 124;
    CHECK(runs.refused(run));
    run.amax = run.bias + 128;
    CHECK_FALSE(runs.refused(run));
    run.amax = run.bias - 4;
    CHECK_FALSE(runs.refused(run));
    if (flags == 0) continue;
    run = all;
    run.d = run.c + 8;  // a product's D is the next one's C
    CHECK(runs.refused(run));
    run.d = run.a + 8;
    CHECK(runs.refused(run));
    run.d = run.a + 16;
    CHECK_FALSE(runs.refused(run));
    run.alpha = 0;  // A is read all the same, for device_alpha says so
    run.d = run.a;
    CHECK(runs.refused(run));
    run.device_alpha = 0;
    CHECK_FALSE(runs.refused(run));
  }
}

TEST_CASE("what a run does not look at may lie anywhere") {
  const auto device = hopper();
  GemmDesc desc = everything(0);
  desc.epilogue.scale = Per::tensor;
  Refuser runs(device, desc);
  GemmRun run = kApart;
  run.skipped = run.device_alpha = run.device_beta = 0;
  run.alpha = run.beta = 0;
  run.a = run.b = run.c = run.amax;  // not read
  CHECK_FALSE(runs.refused(run));
  run.scale = 0;
  CHECK_FALSE(runs.refused(run));
  run.alpha = 1;
  CHECK(runs.refused(run));
}

TEST_CASE("a workspace that nothing is copied into may be any operand") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(64, 64, 64);
  desc.lda = 65;
  desc.realign = true;
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
