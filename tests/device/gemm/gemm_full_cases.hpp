// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cases of the epilogue kernels for tests that run them many times and compare bits: epilogues,
// batches by strides and by arrays of addresses, and values that the device reads (m, scalars). The
// tests gemm_epilogue and gemm_batch check that their results are right.

#include <vector>

#include "ops/gemm/gemm.hpp"
#include "tests/device/gemm/gemm_choices.hpp"
#include "tests/device/gemm/gemm_lab.hpp"

namespace tw::test {

struct FullWay {
  const char* name;
  GemmEpilogue epilogue;
  float beta = 0.0f;
  int64_t batch = 1;
  uint32_t flags = 0;
  int64_t odd = 0;  ///< added to D's leading dimension, so that no tensor map can describe D
};

inline std::vector<FullWay> full_ways() {
  GemmEpilogue laid_out, more, in_turn, gated, neighbours, large;
  laid_out.bias = more.d_factor = in_turn.bias = gated.bias = Per::column;
  laid_out.activation = Activation::relu;
  more.bias = large.bias = Per::row;
  more.amax = neighbours.amax = true;
  in_turn.activation = large.activation = Activation::gelu;
  gated.activation = neighbours.activation = Activation::silu;
  gated.gate = Gate::halves;
  neighbours.gate = Gate::interleaved;
  return {
      {"alpha alone, a batch by strides", {}, 0.0f, 3},
      {"bias and relu", laid_out},
      {"bias, relu and C", laid_out, 0.75f},
      {"bias, d_factor and amax", more},
      {"a longer function", in_turn},
      {"a gate of halves", gated},
      {"a gate of neighbours", neighbours},
      {"a longer function and C", large, 0.75f},
      {"D by plain stores", large, 0.75f, 1, 0, 1},
      {"a batch by addresses", {}, 0.5f, 3, kGemmPointers},
      {"rows and scalars of the device's", laid_out, 0.0f, 1, kGemmDeviceM | kGemmDeviceScalars}};
}

/// A description with partial tiles in both dimensions and several tiles per block, if the kernel
/// is persistent. `small`: a small one.
inline GemmDesc full_desc(const GemmChoice& choice, const FullWay& way, bool small = false) {
  GemmDesc desc = desc_for(choice, Order::row);
  desc.m = 1032;
  desc.n = 1552;
  desc.k = 840;
  if (choice.has(kGemmSplit)) desc.m = 264, desc.n = 272;
  if (small) {
    const bool turned = choice.has(kGemmSwapAB), split = choice.has(kGemmSplit);
    const int64_t rows = choice.entry->tile[turned ? 1 : 0] * choice.entry->cluster[turned ? 1 : 0];
    const int64_t columns =
        choice.entry->tile[turned ? 0 : 1] * choice.entry->cluster[turned ? 0 : 1];
    // A block of a split-K kernel has one tile.
    desc.m = split ? std::max<int64_t>(8, rows - 8) : rows + 8;
    desc.n = split ? std::max<int64_t>(16, columns - 16) : columns + 16;
    desc.k = choice.split * 64 + 72;
    desc.max_sms = split ? 0 : std::max(2u, choice.cluster());
  }
  desc.epilogue = way.epilogue;
  desc.batch = way.batch;
  desc.flags = way.flags;
  if (way.batch > 1 && choice.has(kGemmSplit)) desc.max_sms = 0;
  const auto pitch = [](int64_t least) { return (least + 7) / 8 * 8; };
  desc.lda = pitch(desc.a_order == Order::row ? desc.k : desc.m);
  desc.ldb = pitch(desc.b_order == Order::row ? desc.n : desc.k);
  desc.ldc = desc.n;
  desc.ldd = (way.epilogue.gate == Gate::none ? desc.n : desc.n / 2) + way.odd;
  desc.a_alignment = desc.b_alignment = 16;
  desc.d_alignment = way.odd == 0 ? 16 : 0;
  return desc;
}

/// Operands on the GPU, and slots for everything that a run writes. Slot 0 has the truth; runs in
/// the other slots must write the same bytes.
class FullLab {
 public:
  static constexpr int kSlots = 5;
  static constexpr uint64_t kRegion = 48 << 20;
  static constexpr uint64_t kAmax = 0, kGuard = 4096;  // offsets in a slot of amax and of D

  explicit FullLab(GemmLab& lab) : lab_(lab) {
    TW_REQUIRE_OK(lab.device()->allocate((4 + 2 * kSlots) * kRegion, &memory_));
    for (int i = 0; i < 4; ++i)
      TW_REQUIRE_OK(lab.check().fill(region(i), 1, kRegion / 2, 0, DType::BF16,
                                     static_cast<uint64_t>(i + 1), 0));
  }
  ~FullLab() { (void)lab_.device()->release(memory_); }
  FullLab(const FullLab&) = delete;
  FullLab& operator=(const FullLab&) = delete;

  /// Prepares runs of a plan, which the caller makes from full_desc().
  void begin(const GemmDesc& desc, const FullWay& way, const Plan& plan) {
    desc_ = desc;
    way_ = &way;
    d_bytes_ = static_cast<uint64_t>((desc.batch * desc.m - 1) * desc.ldd + desc.ldd) *
               static_cast<uint64_t>(dtype_bytes(desc.d_dtype));
    REQUIRE(d_bytes_ + 2 * kGuard <= kRegion);
    workspace_bytes_ = plan.info().workspace_bytes;
    REQUIRE(workspace_bytes_ + kGuard <= kRegion);
    const int64_t rows = desc.m - 37 % desc.m;
    const float alpha = 0.5f, beta = 0.25f;
    put(words(), &rows, sizeof rows);
    put(words() + 8, &alpha, sizeof alpha);
    put(words() + 12, &beta, sizeof beta);
    if (!desc.has(kGemmPointers)) return;
    for (int slot = 0; slot < kSlots; ++slot) {
      std::vector<uint64_t> arrays;
      const auto of = [&](uint64_t base, int64_t lines, int64_t leading, DType type) {
        for (int64_t i = 0; i < desc.batch; ++i)
          arrays.push_back(base + static_cast<uint64_t>(i * lines * leading * dtype_bytes(type)));
      };
      of(region(0), desc.a_order == Order::row ? desc.m : desc.k, desc.lda, desc.a_dtype);
      of(region(1), desc.b_order == Order::row ? desc.k : desc.n, desc.ldb, desc.a_dtype);
      of(region(2), desc.m, desc.ldc, desc.d_dtype);
      of(place(slot) + kGuard, desc.m, desc.ldd, desc.d_dtype);
      put(arrays_at(slot), arrays.data(), arrays.size() * 8);
    }
  }

  GemmRun run(int slot) const {
    GemmRun run{.alpha = 0.75f,
                .beta = way_->beta,
                .a = region(0),
                .b = region(1),
                .c = way_->beta == 0.0f ? 0 : region(2),
                .d = place(slot) + kGuard};
    if (desc_.has(kGemmPointers)) {
      const auto step = static_cast<uint64_t>(desc_.batch * 8);
      run.a = arrays_at(slot);
      run.b = run.a + step;
      run.c = way_->beta == 0.0f ? 0 : run.b + step;
      run.d = run.b + 2 * step;
    }
    if (workspace_bytes_ != 0) {
      run.workspace = place(slot) + kSlots * kRegion;
      run.workspace_bytes = workspace_bytes_;
    }
    if (desc_.has(kGemmDeviceM)) run.device_m = words();
    if (desc_.has(kGemmDeviceScalars)) {
      run.device_alpha = words() + 8;
      run.device_beta = words() + 12;
      run.c = region(2);
    }
    if (desc_.epilogue.bias != Per::none) run.bias = region(3);
    if (desc_.epilogue.d_factor != Per::none) run.d_factor = region(3) + (1 << 20);
    if (desc_.epilogue.amax) run.amax = place(slot) + kAmax;
    return run;
  }
  /// Poisons everything that a run in this slot may write.
  void clear(Stream& stream, int slot) {
    TW_REQUIRE_OK(stream.fill(place(slot), GemmLab::kPoison, d_bytes_ + 2 * kGuard));
    if (desc_.epilogue.amax) TW_REQUIRE_OK(stream.fill(place(slot) + kAmax, 0, 4));
  }
  /// Adds the differences from slot 0 to the count of GemmCheck::different().
  void compare(Stream& stream, int slot) {
    TW_REQUIRE_OK(lab_.check().compare_bits(stream, place(slot), place(0), d_bytes_ + 2 * kGuard));
  }
  /// Fills slot 0 by one run and checks that it has written something.
  void make_truth(const GemmPlan& plan) {
    clear(lab_.stream(), 1);
    clear(lab_.stream(), 0);
    TW_REQUIRE_OK(plan.run(lab_.stream(), run(0)));
    compare(lab_.stream(), 1);
    uint64_t different = 0;
    TW_REQUIRE_OK(lab_.check().different(&different));
    REQUIRE(different != 0);
  }

 private:
  uint64_t region(int i) const { return memory_ + static_cast<uint64_t>(i) * kRegion; }
  uint64_t place(int slot) const { return region(4 + slot); }
  uint64_t words() const { return region(3) + (2 << 20); }
  uint64_t arrays_at(int slot) const { return words() + 4096 * static_cast<uint64_t>(slot + 1); }
  void put(uint64_t at, const void* from, uint64_t bytes) {
    TW_REQUIRE_OK(lab_.stream().copy_to_device(at, from, bytes));
    TW_REQUIRE_OK(lab_.stream().synchronize());
  }

  GemmLab& lab_;
  uint64_t memory_ = 0;
  GemmDesc desc_;
  const FullWay* way_ = nullptr;
  uint64_t d_bytes_ = 0, workspace_bytes_ = 0;
};

/// A plan with a forced kernel. Returns nullptr if the kernel lacks the gate, or only computes
/// alpha * A B and the description asks for more; any other refusal fails the test.
inline std::unique_ptr<Plan> full_plan(const std::shared_ptr<Device>& device,
                                       const GemmChoice& choice, const GemmDesc& desc) {
  GemmProblem problem;
  TW_REQUIRE_OK(gemm_problem(desc, &problem));
  if (!check_gemm_choice(*device, problem, choice).ok()) {
    INFO(gemm_choice_text(choice) << ": " << last_failure().message);
    const bool more = desc.epilogue.any() || desc.has(kGemmPointers);
    CHECK((desc.epilogue.gate != Gate::none || (choice.has(kGemmBatched) && more)));
    return nullptr;
  }
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create_forced(device, desc, choice, &plan));
  return plan;
}

}  // namespace tw::test
