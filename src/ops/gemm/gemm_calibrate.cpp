// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_calibrate.hpp"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <random>

#include "ops/gemm/gemm.hpp"

namespace tw {
namespace {

constexpr int64_t kSide = 8192;
constexpr uint64_t kMatrixBytes = uint64_t{2} * kSide * kSide;
static_assert(kGemmCalibrationBytes == 3 * kMatrixBytes);
// A fitted rate differs from the assumed one by at most this factor.
constexpr double kMaxFactor = 8;

// A product to measure: D begins behind B, and B behind A. It runs for `warm_ns` first.
struct Probe {
  int64_t m, n, k;
  double warm_ns, measured_ns;
  double GemmRates::*rate;
};

// 16 rows and 256 MB of weights, so that the time is that of reading them.
constexpr Probe kMemory = {16, 2 * kSide, kSide, 20e6, 40e6, &GemmRates::dram_bytes_per_ns};
// 1.1 TFLOP a run. Chips take some tenths of a second to reach their power limit.
constexpr Probe kPower = {kSide, kSide, kSide, 400e6, 400e6, &GemmRates::power_limit_flop_per_ns};

Status check_scratch(const Device& device, uint64_t scratch, uint64_t bytes) {
  if (device.info().kind == DeviceKind::host)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "stream"},
                "the stream is of the host device: calibration measures a GPU");
  if (scratch == 0 || scratch % 256 != 0)
    return fail(Code::ERROR_MISALIGNED, {.argument = "scratch", .limit = 256},
                "scratch is 0x%" PRIx64 ": it must be a multiple of 256 other than 0", scratch);
  if (bytes < kGemmCalibrationBytes)
    return fail(Code::ERROR_BUFFER_TOO_SMALL,
                {.argument = "scratch_bytes",
                 .got = static_cast<int64_t>(bytes),
                 .limit = static_cast<int64_t>(kGemmCalibrationBytes)},
                "scratch_bytes is %" PRIu64 ": calibration needs %" PRIu64, bytes,
                kGemmCalibrationBytes);
  return {};
}

// Fills the matrices with bf16 values between 0.5 and 2 of both signs. Zeros would need less power
// than real operands.
Status fill(Stream& stream, uint64_t scratch) {
  constexpr uint64_t kChunk = uint64_t{1} << 22;
  static_assert(kMatrixBytes % kChunk == 0);
  std::vector<uint16_t> values(kChunk / 2);
  std::mt19937 random(1);
  for (uint16_t& value : values)
    value = static_cast<uint16_t>((random() & 0x80ff) | (random() & 1 ? 0x3f00 : 0x3f80));
  for (uint64_t at = 0; at < 3 * kMatrixBytes; at += kChunk)
    TW_TRY(stream.copy_to_device(scratch + at, values.data(), kChunk));
  return stream.synchronize();
}

class Prober {
 public:
  Prober(const std::shared_ptr<Device>& device, Stream& stream, uint64_t scratch)
      : device_(device), stream_(stream), scratch_(scratch) {}

  Status prepare() {
    TW_TRY(device_->create_event(&start_));
    return device_->create_event(&end_);
  }

  // Sets chip->rates' rate so that the model predicts the probe's measured time.
  Status measure(const Probe& probe, GemmChip* chip) {
    GemmDesc desc;
    desc.a_dtype = desc.d_dtype = DType::BF16;
    desc.m = desc.min_m = probe.m;
    desc.n = probe.n;
    desc.k = probe.k;
    desc.b_order = Order::column;
    desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
    GemmProblem problem;
    TW_TRY(gemm_problem(desc, &problem));
    GemmRun run;
    run.a = scratch_;
    run.b = scratch_ + static_cast<uint64_t>(probe.m * probe.k) * 2;
    run.d = run.b + static_cast<uint64_t>(probe.n * probe.k) * 2;
    run.m = probe.m;
    // The best candidate that needs no workspace.
    for (const GemmCandidate& candidate : GemmRanking(*device_, problem).candidates(probe.m)) {
      std::unique_ptr<Plan> made;
      TW_TRY(GemmPlan::create_forced(device_, desc, candidate.choice, &made));
      const auto& plan = static_cast<const GemmPlan&>(*made);
      if (!plan.kernel_for(probe.m).supports(run, probe.m)) continue;
      double nanoseconds = 0;
      TW_TRY(time(plan, run, probe, &nanoseconds));
      fit(candidate.choice, gemm_kernel_view(candidate.choice, problem), nanoseconds, probe.rate,
          chip);
      return {};
    }
    return fail(Code::ERROR_UNSUPPORTED, {}, "no gemm kernel of this build runs on %s",
                device_->info().name.c_str());
  }

 private:
  // The mean time of a run, in nanoseconds. The first two runs load the kernel and warm up.
  Status time(const GemmPlan& plan, const GemmRun& run, const Probe& probe, double* nanoseconds) {
    TW_TRY(time_runs(plan, run, 1, nanoseconds));
    TW_TRY(time_runs(plan, run, 1, nanoseconds));
    TW_TRY(time_runs(plan, run, runs_in(probe.warm_ns, *nanoseconds), nanoseconds));
    return time_runs(plan, run, runs_in(probe.measured_ns, *nanoseconds), nanoseconds);
  }

  static int32_t runs_in(double ns, double once) {
    return static_cast<int32_t>(std::clamp(ns / std::max(once, 1.0), 1.0, 4000.0));
  }

  Status time_runs(const GemmPlan& plan, const GemmRun& run, int32_t runs, double* once) {
    TW_TRY(stream_.record(*start_));
    for (int32_t i = 0; i < runs; ++i) TW_TRY(plan.run(stream_, run));
    TW_TRY(stream_.record(*end_));
    TW_TRY(end_->synchronize());
    float milliseconds = 0;
    TW_TRY(end_->elapsed_since(*start_, &milliseconds));
    *once = double{milliseconds} * 1e6 / runs;
    return {};
  }

  // The predicted time falls with the rate. The search is over the logarithm of the factor.
  static void fit(const GemmChoice& choice, const GemmProblem& kernel_problem, double nanoseconds,
                  double GemmRates::*rate, GemmChip* chip) {
    const double assumed = chip->rates.*rate;
    double low = -std::log(kMaxFactor), high = std::log(kMaxFactor);
    for (int i = 0; i < 40; ++i) {
      const double middle = (low + high) / 2;
      chip->rates.*rate = assumed * std::exp(middle);
      const bool slower = gemm_candidate(choice, kernel_problem, *chip).nanoseconds > nanoseconds;
      (slower ? low : high) = middle;
    }
    chip->rates.*rate = assumed * std::exp(high);
  }

  std::shared_ptr<Device> device_;
  Stream& stream_;
  uint64_t scratch_;
  std::unique_ptr<Event> start_, end_;
};

}  // namespace

Status calibrate_gemm(const std::shared_ptr<Device>& device, Stream& stream, uint64_t scratch,
                      uint64_t scratch_bytes, GemmTuning* out) {
  TW_TRY(check_scratch(*device, scratch, scratch_bytes));
  TW_TRY(stream.synchronize());  // fails on a captured stream before anything is launched
  TW_TRY(fill(stream, scratch));
  TW_TRY(query_cluster_occupancy(*device));
  GemmChip chip = GemmChip::of(*device, 0);
  Prober prober(device, stream, scratch);
  TW_TRY(prober.prepare());
  for (const Probe& probe : {kMemory, kPower}) TW_TRY(prober.measure(probe, &chip));
  out->set_rates(
      {device->info().name, chip.rates.dram_bytes_per_ns, chip.rates.power_limit_flop_per_ns});
  return {};
}

}  // namespace tw
