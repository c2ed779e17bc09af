// SPDX-License-Identifier: Apache-2.0
// C API: plans of matrix products, and their candidates.
#include "capi/plan/plan_gemm.hpp"

#include <algorithm>
#include <cstdio>

using namespace tw;
using namespace tw::capi;

// Flags below kGemmFlagsEnd are passed on as bits of GemmDesc::flags; the others become fields of
// GemmDesc.
static_assert(TW_GEMM_BATCH_POINTERS == kGemmPointers &&
              TW_GEMM_BATCH_INVARIANT == kGemmInvariant &&
              TW_GEMM_PROGRAMMATIC == kGemmProgrammatic && TW_GEMM_A_CONSTANT == kGemmConstantA &&
              TW_GEMM_B_CONSTANT == kGemmConstantB && TW_GEMM_DEVICE_M == kGemmDeviceM &&
              TW_GEMM_DEVICE_SCALARS == kGemmDeviceScalars &&
              TW_GEMM_STAGING_COPY == kGemmFlagsEnd);
static_assert(TW_PER_TENSOR == static_cast<int>(Per::tensor) &&
              TW_PER_COLUMN == static_cast<int>(Per::column) &&
              TW_ACTIVATION_GELU == static_cast<int>(Activation::gelu) &&
              TW_ACTIVATION_SILU == static_cast<int>(Activation::silu) &&
              TW_GATE_HALVES == static_cast<int>(Gate::halves) &&
              TW_GATE_INTERLEAVED == static_cast<int>(Gate::interleaved));
static_assert(TW_SCALE_TENSOR == static_cast<int>(ScaleKind::tensor) &&
              TW_SCALE_ROW == static_cast<int>(ScaleKind::row) &&
              TW_SCALE_1X128 == static_cast<int>(ScaleKind::row128) &&
              TW_SCALE_128X128 == static_cast<int>(ScaleKind::block128) &&
              TW_SCALE_K32_UE8M0 == static_cast<int>(ScaleKind::row32_ue8m0) &&
              TW_SCALE_K16_UE4M3 == static_cast<int>(ScaleKind::row16_ue4m3));

namespace {

tw_gemm_desc default_desc() {
  tw_gemm_desc desc{};
  desc.a_dtype = TW_DTYPE_BF16;
  desc.accumulator_dtype = TW_DTYPE_F32;
  desc.m = desc.n = desc.k = TW_UNSET;
  desc.batch_count = 1;
  desc.a_batch_stride = desc.b_batch_stride = kGemmPackedBatch;
  desc.c_batch_stride = desc.d_batch_stride = kGemmPackedBatch;
  desc.a_scale_batch_stride = desc.b_scale_batch_stride = kGemmPackedBatch;
  desc.d_block_scale_batch_stride = kGemmPackedBatch;
  return desc;
}

tw_gemm_args default_args() {
  tw_gemm_args args{};
  args.alpha = 1.0f;
  args.m = -1;
  args.d_factor_value = 1.0f;
  return args;
}

GemmScaling scaling(tw_scale_kind kind, tw_order order, int64_t leading, int64_t batch_stride) {
  return {.kind = static_cast<ScaleKind>(kind),
          .order = static_cast<Order>(order),
          .leading = leading,
          .batch_stride = batch_stride};
}

GemmDesc convert(const tw_gemm_desc& from) {
  GemmDesc to;
  to.a_dtype = static_cast<DType>(from.a_dtype);
  to.b_dtype = static_cast<DType>(from.b_dtype);
  to.c_dtype = static_cast<DType>(from.c_dtype);
  const tw_dtype as_a = from.a_dtype == TW_DTYPE_TF32 ? TW_DTYPE_F32 : from.a_dtype;
  to.d_dtype = static_cast<DType>(from.d_dtype == 0 ? as_a : from.d_dtype);
  to.a_order = static_cast<Order>(from.a_order);
  to.b_order = static_cast<Order>(from.b_order);
  to.d_order = static_cast<Order>(from.d_order);
  to.m = from.m;
  to.n = from.n;
  to.k = from.k;
  to.lda = from.lda;
  to.ldb = from.ldb;
  to.ldc = from.ldc;
  to.ldd = from.ldd;
  to.a_alignment = from.a_alignment;
  to.b_alignment = from.b_alignment;
  to.c_alignment = from.c_alignment;
  to.d_alignment = from.d_alignment;
  to.max_sms = from.max_sms;
  to.accumulator = static_cast<DType>(from.accumulator_dtype);
  to.d_padding_writable = (from.flags & TW_GEMM_D_PADDING_WRITABLE) != 0;
  to.min_m = from.min_m;
  to.staging_copy = (from.flags & TW_GEMM_STAGING_COPY) != 0;
  to.batch = from.batch_count;
  to.a_batch_stride = from.a_batch_stride;
  to.b_batch_stride = from.b_batch_stride;
  to.c_batch_stride = from.c_batch_stride;
  to.d_batch_stride = from.d_batch_stride;
  to.flags = from.flags & (kGemmFlagsEnd - 1);
  to.epilogue = {.bias = static_cast<Per>(from.bias),
                 .bias_dtype = static_cast<DType>(from.bias_dtype),
                 .activation = static_cast<Activation>(from.activation),
                 .gate = static_cast<Gate>(from.gate),
                 .d_factor = static_cast<Per>(from.d_factor),
                 .amax = (from.flags & TW_GEMM_AMAX) != 0};
  to.a_scaling =
      scaling(from.a_scale, from.a_scale_order, from.a_scale_ld, from.a_scale_batch_stride);
  to.b_scaling =
      scaling(from.b_scale, from.b_scale_order, from.b_scale_ld, from.b_scale_batch_stride);
  to.d_quantize = scaling(from.d_quantize, from.d_block_scale_order, from.d_block_scale_ld,
                          from.d_block_scale_batch_stride);
  to.fast_accumulate = (from.flags & TW_GEMM_FAST_ACCUMULATE) != 0;
  return to;
}

constexpr uint32_t kAllFlags = kGemmFlagsEnd - 1 + TW_GEMM_STAGING_COPY +
                               TW_GEMM_D_PADDING_WRITABLE + TW_GEMM_AMAX + TW_GEMM_FAST_ACCUMULATE;

// Refuses constant operands without TW_GEMM_PROGRAMMATIC: only a dependent launch can read them
// before the predecessor grid has ended.
Status check_constants(const tw_gemm_desc& desc) {
  const uint32_t constant = desc.flags & (TW_GEMM_A_CONSTANT | TW_GEMM_B_CONSTANT);
  return check_excluded(constant == 0 || (desc.flags & TW_GEMM_PROGRAMMATIC) != 0, "flags",
                        desc.flags,
                        "TW_GEMM_A_CONSTANT and TW_GEMM_B_CONSTANT need TW_GEMM_PROGRAMMATIC");
}

// Refuses batch strides with TW_GEMM_BATCH_POINTERS.
Status check_batch_strides(const tw_gemm_desc& desc) {
  if ((desc.flags & TW_GEMM_BATCH_POINTERS) == 0) return {};
  const struct {
    const char* name;
    int64_t value;
  } strides[] = {{"a_batch_stride", desc.a_batch_stride},
                 {"b_batch_stride", desc.b_batch_stride},
                 {"c_batch_stride", desc.c_batch_stride},
                 {"d_batch_stride", desc.d_batch_stride}};
  for (const auto& [name, value] : strides)
    TW_TRY(check_excluded(value == kGemmPackedBatch, name, value,
                          "with TW_GEMM_BATCH_POINTERS each matrix has an address of its own"));
  return {};
}

}  // namespace

namespace tw::capi {

Status read_gemm_desc(const tw_gemm_desc* desc, GemmDesc* out) {
  tw_gemm_desc ours = default_desc();
  TW_TRY(read_struct(desc, "desc", &ours));
  TW_TRY(check_reserved("desc", "reserved", ours.reserved));
  TW_TRY(check_flags("flags", ours.flags, kAllFlags,
                     "TW_GEMM_BATCH_POINTERS (1) to TW_GEMM_FAST_ACCUMULATE (1024)"));
  TW_TRY(check_set("m", ours.m));
  TW_TRY(check_set("n", ours.n));
  TW_TRY(check_set("k", ours.k));
  TW_TRY(check_constants(ours));
  TW_TRY(check_batch_strides(ours));
  *out = convert(ours);
  return {};
}

Status read_gemm_args(const tw_gemm_args* args, GemmRun* out) {
  tw_gemm_args ours = default_args();
  TW_TRY(read_struct(args, "args", &ours));
  TW_TRY(check_reserved("args", "reserved", ours.reserved));
  *out = {.alpha = ours.alpha,
          .beta = ours.beta,
          .a = ours.a,
          .b = ours.b,
          .c = ours.c,
          .d = ours.d,
          .m = ours.m,
          .workspace = ours.workspace,
          .workspace_bytes = ours.workspace_bytes,
          .device_m = ours.device_m,
          .device_alpha = ours.device_alpha,
          .device_beta = ours.device_beta,
          .invalid_count = ours.invalid_count,
          .bias = ours.bias,
          .d_factor = ours.d_factor,
          .amax = ours.amax,
          .d_factor_value = ours.d_factor_value,
          .a_scale = ours.a_scale,
          .b_scale = ours.b_scale,
          .d_block_scale = ours.d_block_scale};
  return {};
}

tw_gemm_candidate public_candidate(const GemmRange& range) {
  const GemmCandidate& from = range.candidate;
  tw_gemm_candidate to{};
  to.split = from.choice.split;
  to.kernel = from.choice.entry->symbol;
  to.m_first = range.first;
  to.m_last = range.last;
  to.microseconds = from.nanoseconds / 1e3;
  to.waves = from.waves;
  std::snprintf(to.text, sizeof to.text, "%s", gemm_choice_text(from.choice).c_str());
  return to;
}

Status check_capacity(const void* candidates, int32_t capacity) {
  if (capacity < 0)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "capacity", .got = capacity},
                "capacity is %d: it counts the elements of candidates", capacity);
  return capacity > 0 ? require(candidates, "candidates") : Status{};
}

Status write_candidates(const std::vector<tw_gemm_candidate>& values, tw_gemm_candidate* out,
                        int32_t capacity) {
  const size_t count = std::min(values.size(), static_cast<size_t>(capacity));
  TW_TRY(check_output_array(out, count, "candidates"));
  const size_t pitch = count > 0 ? out->struct_size : 0;
  auto* at = reinterpret_cast<unsigned char*>(out);
  for (size_t i = 0; i < count; ++i, at += pitch) {
    auto* element = reinterpret_cast<tw_gemm_candidate*>(at);
    TW_TRY(clear_output_struct(element, "candidates"));
    write_struct(element, values[i]);
  }
  return {};
}

}  // namespace tw::capi

namespace {

Status write_ranges(const std::vector<GemmRange>& ranges, tw_gemm_candidate* out,
                    int32_t capacity) {
  std::vector<tw_gemm_candidate> values;  // made before any is written: memory may run out
  values.reserve(ranges.size());
  for (const GemmRange& range : ranges) values.push_back(public_candidate(range));
  return write_candidates(values, out, capacity);
}

}  // namespace

tw_status tw_gemm_desc_init(tw_gemm_desc* desc, size_t size) {
  return guard([&] { return init_struct(desc, size, "desc", default_desc()); });
}

tw_status tw_gemm_args_init(tw_gemm_args* args, size_t size) {
  return guard([&] { return init_struct(args, size, "args", default_args()); });
}

tw_status tw_gemm_plan(tw_device* device, const tw_gemm_desc* desc, tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    GemmDesc ours;
    TW_TRY(read_gemm_desc(desc, &ours));
    return make_plan<GemmPlan>(device, ours, plan);
  });
}

tw_status tw_gemm_supported(tw_device* device, const tw_gemm_desc* desc) {
  return supported<GemmPlan, GemmDesc>(device, Op::gemm, desc, read_gemm_desc);
}

tw_status tw_gemm_candidates(tw_device* device, const tw_gemm_desc* desc,
                             tw_gemm_candidate* candidates, int32_t capacity, int32_t* count) {
  return guard(device, [&]() -> Status {
    if (count) *count = 0;
    TW_TRY(usable(device, "device"));
    GemmDesc ours;
    TW_TRY(read_gemm_desc(desc, &ours));
    TW_TRY(check_capacity(candidates, capacity));
    std::vector<GemmRange> ranges;
    TW_TRY(gemm_candidates(*device->value, ours, &ranges));
    TW_TRY(write_ranges(ranges, candidates, capacity));
    if (count) *count = static_cast<int32_t>(ranges.size());
    return {};
  });
}

tw_status tw_gemm_plan_candidate(tw_device* device, const tw_gemm_desc* desc, const char* candidate,
                                 tw_plan** plan) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(plan, "plan"));
    TW_TRY(usable(device, "device"));
    GemmDesc ours;
    TW_TRY(read_gemm_desc(desc, &ours));
    TW_TRY(require(candidate, "candidate"));
    GemmChoice choice;
    TW_TRY(parse_gemm_choice("candidate", candidate, &choice));
    std::unique_ptr<Plan> made;
    TW_TRY(GemmPlan::create_forced(device->value, ours, choice, &made));
    return give_plan(std::move(made), plan);
  });
}

tw_status tw_gemm_ranges(const tw_plan* plan, tw_gemm_candidate* candidates, int32_t capacity,
                         int32_t* count) {
  return guard(plan, [&]() -> Status {
    if (count) *count = 0;
    TW_TRY(usable(plan, "plan"));
    TW_TRY(check_op(plan, Op::gemm));
    TW_TRY(check_capacity(candidates, capacity));
    const auto& gemm = static_cast<const GemmPlan&>(*plan->value);
    TW_TRY(write_ranges(gemm.ranges(), candidates, capacity));
    if (count) *count = static_cast<int32_t>(gemm.ranges().size());
    return {};
  });
}

tw_status tw_gemm_run(tw_plan* plan, tw_stream* stream, const tw_gemm_args* args) {
  return guard(plan, [&]() -> Status {
    TW_TRY(check_run_handles(plan, stream, Op::gemm));
    GemmRun run;
    TW_TRY(read_gemm_args(args, &run));
    return static_cast<const GemmPlan&>(*plan->value).run(*stream->value, run);
  });
}
