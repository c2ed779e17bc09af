// SPDX-License-Identifier: Apache-2.0
// C API: tuning entries of matrix products.
#include "ops/gemm/select/gemm_tuning.hpp"

#include "capi/plan/plan_gemm.hpp"
#include "ops/gemm/gemm_calibrate.hpp"
#include "ops/gemm/gemm_tune.hpp"

using namespace tw;
using namespace tw::capi;

struct tw_gemm_tuning {
  static constexpr const char* kKind = "gemm_tuning";
  std::unique_ptr<GemmTuning> value;
};

namespace {

constinit DestroyedHandles<tw_gemm_tuning> g_destroyed_tunings;

tw_gemm_tune_desc default_tune_desc() {
  const GemmTuneDesc ours;
  tw_gemm_tune_desc desc{};
  desc.candidates = ours.candidates;
  desc.rounds = ours.rounds;
  return desc;
}

Status read_tune_desc(const tw_gemm_tune_desc* how, GemmTuneDesc* out) {
  if (!how) return {};
  tw_gemm_tune_desc ours = default_tune_desc();
  TW_TRY(read_struct(how, "how", &ours));
  *out = {.candidates = ours.candidates,
          .rounds = ours.rounds,
          .scratch_d = ours.scratch_d,
          .flush = ours.flush,
          .flush_bytes = ours.flush_bytes};
  return {};
}

}  // namespace

tw_status tw_gemm_tune_desc_init(tw_gemm_tune_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_tune_desc()); });
}

tw_status tw_gemm_tuning_create(tw_gemm_tuning** tuning) {
  return guard([&]() -> Status {
    TW_TRY(clear_output(tuning, "tuning"));
    *tuning = new tw_gemm_tuning{std::make_unique<GemmTuning>()};
    return {};
  });
}

void tw_gemm_tuning_destroy(tw_gemm_tuning* tuning) {
  g_destroyed_tunings.destroy(tuning);
}

tw_status tw_gemm_tuning_load(tw_gemm_tuning* tuning, const char* text) {
  return guard([&]() -> Status {
    TW_TRY(require(tuning, "tuning"));
    TW_TRY(require(text, "text"));
    return tuning->value->load(text);
  });
}

tw_status tw_gemm_tuning_format(const tw_gemm_tuning* tuning, char* buffer, size_t capacity,
                                size_t* length) {
  return guard([&]() -> Status {
    if (length) *length = 0;
    if (buffer && capacity) *buffer = '\0';
    TW_TRY(require(tuning, "tuning"));
    return write_text(tuning->value->format(), buffer, capacity, length);
  });
}

tw_status tw_gemm_tune(tw_gemm_tuning* tuning, tw_stream* stream, const tw_gemm_desc* desc,
                       const tw_gemm_args* args, const tw_gemm_tune_desc* how,
                       tw_gemm_candidate* best) {
  return guard(stream, [&]() -> Status {
    if (best) TW_TRY(clear_output_struct(best, "best"));
    TW_TRY(require(tuning, "tuning"));
    TW_TRY(usable(stream, "stream"));
    GemmDesc our_desc;
    GemmRun run;
    GemmTuneDesc our_how;
    TW_TRY(read_gemm_desc(desc, &our_desc));
    TW_TRY(read_gemm_args(args, &run));
    TW_TRY(read_tune_desc(how, &our_how));
    GemmTuningEntry tuned;
    Stream& on = *stream->value;
    TW_TRY(tune_gemm(on.device(), on, our_desc, run, our_how, *tuning->value, &tuned));
    // Before the entry is added to the set, because this may fail for lack of memory.
    const tw_gemm_candidate told = public_candidate({tuned.m, tuned.m, tuned.candidate});
    tuning->value->add(tuned);
    if (best) write_struct(best, told);
    return {};
  });
}

static_assert(TW_GEMM_CALIBRATION_BYTES == kGemmCalibrationBytes);

tw_status tw_gemm_calibrate(tw_gemm_tuning* tuning, tw_stream* stream, uint64_t scratch,
                            uint64_t scratch_bytes) {
  return guard(stream, [&]() -> Status {
    TW_TRY(require(tuning, "tuning"));
    TW_TRY(usable(stream, "stream"));
    Stream& on = *stream->value;
    return calibrate_gemm(on.device(), on, scratch, scratch_bytes, tuning->value.get());
  });
}

tw_status tw_gemm_plan_tuned(tw_device* device, const tw_gemm_desc* desc,
                             const tw_gemm_tuning* tuning, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    GemmDesc ours;
    TW_TRY(read_gemm_desc(desc, &ours));
    TW_TRY(require(tuning, "tuning"));
    std::unique_ptr<Plan> made;
    TW_TRY(GemmPlan::create(device->value, ours, tuning->value.get(), &made));
    return give_plan(std::move(made), plan);
  });
}
