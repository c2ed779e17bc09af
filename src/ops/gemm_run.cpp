// SPDX-License-Identifier: Apache-2.0
// What a run's addresses must be, a line a rule.
#include <algorithm>
#include <cinttypes>

#include "ops/gemm.hpp"
#include "ops/gemm_epilogue.hpp"

namespace tw {
namespace {

// Bytes from the first to one past the last element of `batch` matrices, `stride` elements apart.
uint64_t operand_bytes(int64_t lines, int64_t contiguous, int64_t leading, int64_t batch,
                       int64_t stride, int32_t bytes) {
  if (lines == 0 || contiguous == 0) return 0;
  return static_cast<uint64_t>(((batch - 1) * stride + (lines - 1) * leading + contiguous) * bytes);
}

// An address that a run gives for an option of the description.
Status check_option(const GemmDesc& desc, uint32_t flag, const char* flag_name,
                    const char* argument, uint64_t address, uint32_t alignment) {
  if (address == 0) return {};
  if (!desc.has(flag))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = argument, .rule = "gemm_option"},
                "%s is 0x%" PRIx64 ", and the description's gemm_flags lack %s", argument, address,
                flag_name);
  return check_address(argument, address, alignment);
}

Status check_options(const GemmDesc& d, const GemmRun& run) {
  TW_TRY(check_option(d, kGemmDeviceM, "TW_GEMM_DEVICE_M", "device_m", run.device_m, 8));
  TW_TRY(check_option(d, kGemmDeviceScalars, "TW_GEMM_DEVICE_SCALARS", "device_alpha",
                      run.device_alpha, 4));
  TW_TRY(check_option(d, kGemmDeviceScalars, "TW_GEMM_DEVICE_SCALARS", "device_beta",
                      run.device_beta, 4));
  return check_option(d, kGemmPointers, "TW_GEMM_BATCH_POINTERS", "skipped", run.skipped, 8);
}

// What the device reads or adds to while it runs must not be what a run writes.
Status check_words(const GemmRun& run, const char* name, uint64_t written, uint64_t bytes) {
  const struct {
    const char* name;
    uint64_t address, bytes;
  } words[] = {{"device_m", run.device_m, 8},
               {"device_alpha", run.device_alpha, 4},
               {"device_beta", run.device_beta, 4},
               {"skipped", run.skipped, 8}};
  for (const auto& word : words)
    if (word.address != 0)
      TW_TRY(check_disjoint(name, written, bytes, word.name, word.address, word.bytes));
  return {};
}

}  // namespace

// The arrays of addresses, and nothing of what is in them.
Status GemmPlan::check_arrays(const GemmRun& run) const {
  const struct {
    const char* name;
    uint64_t address;
    bool read;
  } arrays[] = {{"a", run.a, run.reads_ab() && problem_.desc.k > 0},
                {"b", run.b, run.reads_ab() && problem_.desc.k > 0},
                {"c", run.c, run.reads_c()},
                {"d", run.d, true}};
  const auto bytes = static_cast<uint64_t>(problem_.desc.batch) * 8;
  for (const auto& array : arrays) {
    if (!array.read) continue;
    TW_TRY(check_address(array.name, array.address, 8));
    TW_TRY(check_disjoint("workspace", run.workspace, workspace_bytes(), array.name, array.address,
                          bytes));
  }
  // One array for both: the matrices are the same, which is all that can be known of them here.
  const GemmDesc& d = problem_.desc;
  if (run.reads_c() && run.c == run.d && (d.ldc != d.ldd || problem_.gated()))
    return fail(Code::ERROR_OVERLAP, {.argument = "c", .rule = "gemm_in_place"},
                "c and d are one array of addresses, and elements of C lie elsewhere than those of "
                "D: %s",
                problem_.gated() ? "a gate halves D" : "ldc and ldd differ");
  return {};
}

Status GemmPlan::check_run(const GemmRun& run, int64_t m) const {
  const GemmDesc& d = problem_.desc;
  const GemmDesc own = problem_.swapped ? turned(problem_).desc : d;
  TW_TRY(check_options(d, run));
  TW_TRY(check_workspace(run));
  if (d.has(kGemmPointers)) {
    const uint64_t bytes = workspace_bytes();
    TW_TRY(check_epilogue(own, run, m, "workspace", run.workspace, bytes));
    TW_TRY(check_words(run, "workspace", run.workspace, bytes));
    return check_arrays(run);
  }
  const int64_t rows = problem_.swapped ? d.m : m;
  const int64_t columns = problem_.swapped ? m : d.n;
  // The caller's names: a swapped problem's A is the caller's B.
  const uint64_t own_a = problem_.swapped ? run.b : run.a;
  const uint64_t own_b = problem_.swapped ? run.a : run.b;
  const char* a_name = problem_.swapped ? "b" : "a";
  const char* b_name = problem_.swapped ? "a" : "b";
  const auto in = static_cast<uint32_t>(problem_.in_bytes);
  const auto out = static_cast<uint32_t>(problem_.out_bytes);
  TW_TRY(check_address("d", run.d, std::max(d.d_alignment, out)));
  // Where the padding may be written, it is D's.
  const bool rows_gated = problem_.gated() && problem_.swapped;
  const int64_t d_rows = rows_gated ? rows / 2 : rows;
  const int64_t d_columns = problem_.gated() && !rows_gated ? columns / 2 : columns;
  const uint64_t d_bytes = operand_bytes(d_rows, d.d_padding_free ? d.ldd : d_columns, d.ldd,
                                         d.batch, d.d_batch, problem_.out_bytes);
  TW_TRY(check_epilogue(own, run, m, "d", run.d, d_bytes));
  TW_TRY(check_words(run, "d", run.d, d_bytes));
  if (run.reads_ab() && d.k > 0) {
    TW_TRY(check_address(a_name, own_a, std::max(d.a_alignment, in)));
    TW_TRY(check_address(b_name, own_b, std::max(d.b_alignment, in)));
    const bool a_rows = d.a_order == Order::row;
    const bool b_rows = d.b_order == Order::row;
    const uint64_t a_bytes = operand_bytes(a_rows ? rows : d.k, a_rows ? d.k : rows, d.lda, d.batch,
                                           d.a_batch, problem_.in_bytes);
    const uint64_t b_bytes = operand_bytes(b_rows ? d.k : columns, b_rows ? columns : d.k, d.ldb,
                                           d.batch, d.b_batch, problem_.in_bytes);
    TW_TRY(check_disjoint("d", run.d, d_bytes, a_name, own_a, a_bytes));
    TW_TRY(check_disjoint("d", run.d, d_bytes, b_name, own_b, b_bytes));
    if (realign_) {
      const uint64_t bytes = realign_->workspace_bytes();
      TW_TRY(check_disjoint("workspace", run.workspace, bytes, "d", run.d, d_bytes));
      TW_TRY(check_disjoint("workspace", run.workspace, bytes, a_name, own_a, a_bytes));
      TW_TRY(check_disjoint("workspace", run.workspace, bytes, b_name, own_b, b_bytes));
      TW_TRY(check_epilogue(own, run, m, "workspace", run.workspace, bytes));
      TW_TRY(check_words(run, "workspace", run.workspace, bytes));
    }
  }
  if (!run.reads_c()) return {};
  TW_TRY(check_address("c", run.c, std::max(d.c_alignment, out)));
  const uint64_t c_bytes =
      operand_bytes(rows, columns, d.ldc, d.batch, d.c_batch, problem_.out_bytes);
  if (realign_)
    TW_TRY(check_disjoint("workspace", run.workspace, workspace_bytes(), "c", run.c, c_bytes));
  if (run.c == run.d && d.ldc == d.ldd && d.c_batch == d.d_batch && !problem_.gated()) return {};
  return check_disjoint("d", run.d, d_bytes, "c", run.c, c_bytes);
}

uint64_t GemmPlan::workspace_bytes() const {
  return realign_ ? realign_->workspace_bytes() : gemm_pointers_bytes(problem_.desc);
}

// Only a run that reads A and B copies them.
Status GemmPlan::check_workspace(const GemmRun& run) const {
  if (realign_ && !(run.reads_ab() && problem_.desc.k > 0)) return {};
  const uint64_t bytes = workspace_bytes();
  if (bytes == 0) return {};
  TW_TRY(check_address("workspace", run.workspace, kGemmWorkspaceAlignment));
  if (run.workspace_bytes >= bytes) return {};
  return fail(Code::ERROR_BUFFER_TOO_SMALL,
              {.argument = "workspace_bytes",
               .rule = "workspace_size",
               .got = static_cast<int64_t>(run.workspace_bytes),
               .limit = static_cast<int64_t>(bytes)},
              "workspace_bytes is %" PRIu64 ": the plan needs %" PRIu64
              " (workspace_bytes of tw_plan_get_info)",
              run.workspace_bytes, bytes);
}

}  // namespace tw
