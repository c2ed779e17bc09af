// SPDX-License-Identifier: Apache-2.0
// Checks a run's addresses: alignment, overlap, memory that the device knows, and the workspace.
#include <algorithm>
#include <cinttypes>

#include "kernels/gemm/arguments/gemm_pointers.h"
#include "ops/gemm/gemm.hpp"
#include "ops/gemm/gemm_epilogue.hpp"
#include "ops/gemm/gemm_scales.hpp"
#include "ops/gemm/gemm_spans.hpp"

namespace tw {
namespace {

GemmBytes matrices(const GemmDesc& caller, int64_t rows, int64_t columns, Order order,
                   int64_t leading, int64_t stride, int64_t element) {
  const bool row = order == Order::row;
  return {.contiguous = (row ? columns : rows) * element,
          .lines = row ? rows : columns,
          .pitch = leading * element,
          .matrices = caller.batch,
          .matrix_stride = caller.batch > 1 ? stride * element
                                            : 0};  // the stride of a single matrix is not checked
}

// For c == d: fails unless each element of C lies where the same element of D does. `lines` is the
// number of D's lines.
Status check_in_place(const GemmDesc& caller, int64_t lines) {
  const bool gated = caller.epilogue.gate != Gate::none;
  const bool pitches = lines <= 1 || caller.ldc == caller.ldd;
  const bool strides = caller.batch <= 1 || caller.has(kGemmPointers) ||
                       caller.c_batch_stride == caller.d_batch_stride;
  if (!gated && pitches && strides) return {};
  const Fault fault{.argument = "c", .rule = "gemm_in_place"};
  const char* const what = caller.has(kGemmPointers) ? "array of addresses" : "address";
  constexpr const char* kRemedy = "give C memory of its own";
  if (gated)
    return fail(Code::ERROR_OVERLAP, fault,
                "c and d are the same %s, but a gate makes D smaller than C, so they cannot share "
                "memory: %s",
                what, kRemedy);
  if (!pitches)
    return fail(Code::ERROR_OVERLAP, fault,
                "c and d are the same %s, but ldc is %" PRId64 " and ldd %" PRId64
                ": make them equal, or %s",
                what, caller.ldc, caller.ldd, kRemedy);
  return fail(Code::ERROR_OVERLAP, fault,
              "c and d are the same %s, but c_batch_stride is %" PRId64
              " and d_batch_stride %" PRId64 ": make them equal, or %s",
              what, caller.c_batch_stride, caller.d_batch_stride, kRemedy);
}

Status check_option(const GemmDesc& desc, uint32_t flag, const char* flag_name,
                    const char* argument, uint64_t address, uint32_t alignment) {
  if (address == 0) return {};
  if (!desc.has(flag))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument, .rule = "gemm_option"},
                "%s is 0x%" PRIx64 ", but the description's flags lack %s", argument, address,
                flag_name);
  return check_address(argument, address, alignment);
}

Status check_options(const GemmDesc& d, const GemmRun& run) {
  TW_TRY(check_option(d, kGemmDeviceM, "TW_GEMM_DEVICE_M", "device_m", run.device_m, 8));
  TW_TRY(check_option(d, kGemmDeviceScalars, "TW_GEMM_DEVICE_SCALARS", "device_alpha",
                      run.device_alpha, 4));
  TW_TRY(check_option(d, kGemmDeviceScalars, "TW_GEMM_DEVICE_SCALARS", "device_beta",
                      run.device_beta, 4));
  return check_option(d, kGemmPointers, "TW_GEMM_BATCH_POINTERS", "invalid_count",
                      run.invalid_count, 8);
}

void add_scalars(const GemmRun& run, GemmSpans* spans) {
  if (run.device_m != 0) spans->reads("device_m", run.device_m, 8);
  if (run.device_alpha != 0) spans->reads("device_alpha", run.device_alpha, 4);
  if (run.device_beta != 0) spans->reads("device_beta", run.device_beta, 4);
  if (run.invalid_count != 0) spans->writes("invalid_count", run.invalid_count, 8);
}

// D's array of addresses must not overlap another operand's array. The host cannot compare the
// addresses in the arrays.
Status check_arrays_apart(const char* name, uint64_t array, uint64_t d, uint64_t bytes) {
  if (array - d >= bytes && d - array >= bytes) return {};
  return fail(Code::ERROR_OVERLAP, {.argument = "d", .rule = "operands_disjoint"},
              "d [0x%" PRIx64 ", +%" PRIu64 ") and %s [0x%" PRIx64 ", +%" PRIu64
              ") are overlapping arrays of addresses: a matrix would be written as D and read as "
              "another operand",
              d, bytes, name, array, bytes);
}

}  // namespace

// Checks the arrays of addresses themselves, not their contents. `caller` is the caller's
// description, also below.
Status GemmPlan::add_arrays(const GemmDesc& caller, const GemmRun& run, int64_t m,
                            GemmSpans* spans) const {
  const bool reads_ab = run.reads_ab() && caller.k > 0;
  const struct {
    const char* name;
    uint64_t address;
    bool read;
  } arrays[] = {{"a", run.a, reads_ab},
                {"b", run.b, reads_ab},
                {"c", run.c, run.reads_c()},
                {"d", run.d, true}};
  const auto bytes = static_cast<uint64_t>(caller.batch) * 8;
  for (const auto& array : arrays) {
    if (!array.read) continue;
    TW_TRY(check_address(array.name, array.address, 8));
    spans->reads(array.name, array.address, bytes);
  }
  if (reads_ab) {
    TW_TRY(check_arrays_apart("a", run.a, run.d, bytes));
    TW_TRY(check_arrays_apart("b", run.b, run.d, bytes));
  }
  if (!run.reads_c()) return {};
  if (run.c != run.d) return check_arrays_apart("c", run.c, run.d, bytes);
  // One array for both means the same matrices, so C is in place.
  return check_in_place(caller, caller.d_order == Order::row ? m : caller.n);
}

Status GemmPlan::add_operands(const GemmDesc& caller, const GemmRun& run, int64_t m,
                              GemmSpans* spans) const {
  const auto in = static_cast<uint32_t>(problem_.in_bytes);
  const auto out = static_cast<uint32_t>(problem_.out_bytes);
  const int64_t d_columns = problem_.gated() ? caller.n / 2 : caller.n;
  TW_TRY(check_address("d", run.d, out, caller.d_alignment));
  GemmBytes d =
      matrices(caller, m, d_columns, caller.d_order, caller.ldd, caller.d_batch_stride, out);
  // If the kernel may write the padding, it belongs to D.
  if (caller.d_padding_writable && !d.empty()) d.contiguous = d.pitch;
  spans->writes("d", run.d, d);
  if (run.reads_ab() && caller.k > 0) {
    TW_TRY(check_address("a", run.a, in, caller.a_alignment));
    TW_TRY(check_address("b", run.b, in, caller.b_alignment));
    spans->reads(
        "a", run.a,
        matrices(caller, m, caller.k, caller.a_order, caller.lda, caller.a_batch_stride, in));
    spans->reads("b", run.b,
                 matrices(caller, caller.k, caller.n, caller.b_order, caller.ldb,
                          caller.b_batch_stride, in));
  }
  if (!run.reads_c()) return {};
  TW_TRY(check_address("c", run.c, out, caller.c_alignment));
  // If C is in place, it has D's span, which is compared with all others.
  if (run.c == run.d) return check_in_place(caller, d.lines);
  spans->reads(
      "c", run.c,
      matrices(caller, m, caller.n, caller.d_order, caller.ldc, caller.c_batch_stride, out));
  return {};
}

// For a device that knows its memory (the host device): waits for the stream, then checks every
// matrix whose address is in the arrays. Products with a null or misaligned address are skipped
// here, because the run leaves them out or is refused later.
Status GemmPlan::check_matrices(Stream& stream, const GemmRun& run, int64_t m) const {
  const GemmDesc caller = problem_.swapped ? swap_ab(problem_).desc : problem_.desc;
  GemmDesc single = caller;
  single.batch = 1;
  const bool reads_ab = run.reads_ab() && caller.k > 0;
  const auto in = static_cast<uint32_t>(problem_.in_bytes);
  const auto out = static_cast<uint32_t>(problem_.out_bytes);
  const int64_t d_columns = problem_.gated() ? caller.n / 2 : caller.n;
  const struct {
    const char* name;
    uint64_t array;  // 0: the operand is not used
    uint32_t alignment;
    int64_t bytes;
  } operands[] = {
      {"a", reads_ab ? run.a : 0, std::max(caller.a_alignment, in),
       matrices(single, m, caller.k, caller.a_order, caller.lda, 0, in).span()},
      {"b", reads_ab ? run.b : 0, std::max(caller.b_alignment, in),
       matrices(single, caller.k, caller.n, caller.b_order, caller.ldb, 0, in).span()},
      {"c", run.reads_c() ? run.c : 0, std::max(caller.c_alignment, out),
       matrices(single, m, caller.n, caller.d_order, caller.ldc, 0, out).span()},
      {"d", run.d, std::max(caller.d_alignment, out),
       matrices(single, m, d_columns, caller.d_order, caller.ldd, 0, out).span()},
  };
  const auto address_of = [](uint64_t array, int64_t index) {
    return reinterpret_cast<const uint64_t*>(array)[index];
  };
  bool captured = false;
  TW_TRY(stream.is_captured(&captured));
  if (captured) return {};  // the arrays' contents may differ at each launch of the graph
  TW_TRY(stream.synchronize());
  for (int64_t i = 0; i < caller.batch; ++i) {
    bool good = true;
    for (const auto& o : operands)
      good = good && (o.array == 0 || !gemm_bad_address(address_of(o.array, i), o.alignment));
    for (const auto& o : operands) {
      if (!good || o.array == 0) continue;
      const Status status =
          device()->check_memory(o.name, address_of(o.array, i), static_cast<uint64_t>(o.bytes));
      if (!status.ok()) return fail_context(status, "matrix %" PRId64 " of the batch", i);
    }
  }
  return {};
}

Status GemmPlan::check_run(const GemmRun& run, int64_t m) const {
  const GemmDesc caller = problem_.swapped ? swap_ab(problem_).desc : problem_.desc;
  TW_TRY(check_options(caller, run));
  TW_TRY(check_epilogue_excluded(caller, run));
  TW_TRY(check_scales_excluded(caller, run));
  TW_TRY(check_workspace(run));
  GemmSpans spans;
  if (uses_workspace(run)) spans.writes("workspace", run.workspace, workspace_bytes());
  TW_TRY(caller.has(kGemmPointers) ? add_arrays(caller, run, m, &spans)
                                   : add_operands(caller, run, m, &spans));
  TW_TRY(add_epilogue(caller, run, m, &spans));
  TW_TRY(add_scales(caller, run, m, &spans));
  add_scalars(run, &spans);
  return spans.check(*device());
}

uint64_t GemmPlan::required_bytes() const {
  return staging_copies_ ? staging_copies_->workspace_bytes() : gemm_pointers_bytes(problem_.desc);
}

// Only runs that read A and B make staging copies. If no workspace is required, a run that has one
// uses it for stream-K, and a run without workspace uses another kernel.
bool GemmPlan::uses_workspace(const GemmRun& run) const {
  if (required_bytes() == 0) return optional_bytes_ > 0 && run.workspace != 0;
  return !staging_copies_ || (run.reads_ab() && problem_.desc.k > 0);
}

Status GemmPlan::check_workspace(const GemmRun& run) const {
  if (!uses_workspace(run)) return {};
  const uint64_t bytes = workspace_bytes();
  return tw::check_workspace(run.workspace, run.workspace_bytes, bytes, kGemmWorkspaceAlignment);
}

}  // namespace tw
