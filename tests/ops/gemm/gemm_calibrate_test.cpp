// SPDX-License-Identifier: Apache-2.0
// Calibration, on a device whose clock the test controls.
#include "ops/gemm/gemm_calibrate.hpp"

#include <string>

#include "tests/ops/gemm/tuning_text.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr uint64_t kScratch = 1 << 20;

GemmDesc probe_desc(int64_t m, int64_t n) {
  return gemm_desc(m, n, 8192);
}

/// What the cost model predicts, in milliseconds, for the two products of calibration.
struct Predicted {
  double memory, power;
};
Predicted predicted(const PaperDevice& device, const GemmTuning* tuning) {
  const auto best = [&](int64_t m, int64_t n) {
    GemmDesc desc = probe_desc(m, n);
    desc.min_m = m;
    desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
    return GemmRanking(device, gemm_problem_of(desc), tuning).best(m).nanoseconds * 1e-6;
  };
  return {best(16, 16384), best(8192, 8192)};
}

/// Calibrates on a device on which the two products take so long.
void calibrate(const std::shared_ptr<PaperDevice>& device, const Predicted& times,
               GemmTuning* tuning) {
  device->time_of = [=](const PaperLaunch& launch) {
    return launch.args.m == 16 || launch.args.n == 16 ? times.memory : times.power;
  };
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const Status status = calibrate_gemm(device, *stream, kScratch, kGemmCalibrationBytes, tuning);
  INFO(last_failure().message);
  REQUIRE(status.ok());
}

}  // namespace

TEST_CASE("after calibration the model predicts the measured times") {
  for (const double factor : {0.7, 1.0, 1.9}) {
    const auto device = hopper();
    const Predicted before = predicted(*device, nullptr);
    const Predicted times{before.memory * factor, before.power * factor};
    GemmTuning tuning;
    calibrate(device, times, &tuning);
    INFO(tuning.format());
    const Predicted after = predicted(*device, &tuning);
    // With other rates another kernel may be a little better than the measured one.
    CHECK(after.memory == doctest::Approx(times.memory).epsilon(0.05));
    if (factor > 1) CHECK(after.power == doctest::Approx(times.power).epsilon(0.05));
    // Nothing but rates was added, for the device's name.
    GemmRates rates = gemm_rates(device->info()), published = rates;
    tuning.apply_rates(device->info().name, &rates);
    if (factor == 1.0)
      CHECK(rates.dram_bytes_per_ns == doctest::Approx(published.dram_bytes_per_ns).epsilon(0.01));
    else
      CHECK((rates.dram_bytes_per_ns < published.dram_bytes_per_ns) == (factor > 1));
    CHECK(rates.clock == published.clock);
    GemmRates other = published;
    tuning.apply_rates("another", &other);
    CHECK(other.dram_bytes_per_ns == published.dram_bytes_per_ns);
  }
}

TEST_CASE("calibration needs no workspace, whatever kernel the model prefers") {
  const auto calibrates = [](int32_t sms, const char* name) {
    INFO(name << " with " << sms << " SMs");
    GemmTuning tuning;
    calibrate(std::make_shared<PaperDevice>(kHopper, sms, name), {0.1, 2.0}, &tuning);
    CHECK(tuning.format().find("\nrates ") != std::string::npos);
  };
  calibrates(78, "NVIDIA H20");
  for (const int32_t sms : {85, 113, 144}) calibrates(sms, "paper");
}

TEST_CASE("calibration lasts about a second by the device's clock") {
  const auto device = hopper();
  GemmTuning tuning;
  calibrate(device, {0.07, 1.7}, &tuning);
  CHECK(device->now > 300);
  CHECK(device->now < 1500);
}

TEST_CASE("what calibration refuses") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmTuning tuning;
  const auto refused = [&](uint64_t scratch, uint64_t bytes) {
    return calibrate_gemm(device, *stream, scratch, bytes, &tuning).code();
  };
  CHECK(refused(0, kGemmCalibrationBytes) == Code::ERROR_MISALIGNED);
  CHECK(refused(kScratch + 128, kGemmCalibrationBytes) == Code::ERROR_MISALIGNED);
  CHECK(refused(kScratch, kGemmCalibrationBytes - 1) == Code::ERROR_BUFFER_TOO_SMALL);
  device->capturing = true;
  CHECK(refused(kScratch, kGemmCalibrationBytes) == Code::ERROR_CAPTURE);
  CHECK(device->launches.empty());
  CHECK(tuning.format() == "tilewright gemm tuning 1\n");
}

TEST_CASE("rates in the text of a tuning set") {
  GemmTuning tuning;
  const std::string text =
      "tilewright gemm tuning 1\ndevice NVIDIA H200\nrates 4321.5 612.0\ndevice other\n"
      "rates 1000.0 100.0\n";
  REQUIRE(tuning.load(text).ok());
  CHECK(tuning.format() == text);
  GemmRates rates;
  tuning.apply_rates("NVIDIA H200", &rates);
  CHECK(rates.dram_bytes_per_ns == 4321.5);
  CHECK(rates.power_limit_flop_per_ns == 612000);
  // Later rates of the same device replace earlier ones.
  REQUIRE(tuning.load("tilewright gemm tuning 1\ndevice other\nrates 2000 200\n").ok());
  tuning.apply_rates("other", &rates);
  CHECK(rates.dram_bytes_per_ns == 2000);
  for (const char* line : {"rates", "rates 1", "rates 0 1", "rates 1 -1", "rates nan 1",
                           "rates 1 1e7", "rates 1 1 1", "rates x 1"}) {
    INFO(line);
    CHECK(tuning.load(std::string("tilewright gemm tuning 1\ndevice d\n") + line).code() ==
          Code::ERROR_PARSE);
  }
  CHECK(tuning.load("tilewright gemm tuning 1\nrates 1 1\n").code() == Code::ERROR_PARSE);
}
