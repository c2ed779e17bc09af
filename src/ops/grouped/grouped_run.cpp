// SPDX-License-Identifier: Apache-2.0
// Checks the arguments of a grouped run, lays out the workspace, and fills in kernel arguments.
#include "ops/grouped/grouped_run.hpp"

#include <cinttypes>
#include <limits>

#include "base/decimal.hpp"
#include "base/excluded.hpp"
#include "ops/gemm/gemm_scales.hpp"
#include "ops/gemm/gemm_spans.hpp"
#include "ops/plan/plan.hpp"

namespace tw {
namespace {

constexpr Code kInvalid = Code::ERROR_INVALID_ARGUMENT;
// Alignment, in bytes, of the rows of the product in the workspace.
constexpr int64_t kRowAlignment = 16;
// Rows of tiles in a band. An mma.sync kernel computes the tiles of a band, column by column,
// before those of the next band (gemm_unit()).
constexpr i32 kBand = 8;

uint64_t round_up_to_alignment(uint64_t bytes) {
  return (bytes + kGroupedWorkspaceAlignment - 1) / kGroupedWorkspaceAlignment *
         kGroupedWorkspaceAlignment;
}

// Appends `bytes` bytes to a workspace and returns their offset.
uint64_t append(GroupedWorkspace* workspace, int64_t bytes) {
  const uint64_t offset = workspace->bytes;
  workspace->bytes += round_up_to_alignment(static_cast<uint64_t>(bytes));
  return offset;
}

// Sets *out to the size that a run gives, or to the plan's size if the run gives -1.
Status run_size(const char* argument, int64_t given, int64_t planned, int64_t* out) {
  *out = given == -1 ? planned : given;
  if (*out >= 0 && *out <= planned) return {};
  return fail(kInvalid,
              {.argument = argument, .rule = "grouped_run_size", .got = given, .limit = planned},
              "%s is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)", argument,
              given, planned);
}

Status check_sizes(const GroupedProblem& p, const GroupedRun& run, GroupedSizes* sizes) {
  const GroupedDesc& d = p.desc;
  TW_TRY(run_size("m", run.m, d.m, &sizes->m));
  TW_TRY(check_excluded(p.has_k_ranges() || run.k == -1, "k", run.k,
                        "the plan's grouping is not TW_GROUPING_K_RANGES"));
  TW_TRY(check_excluded(p.gathers() || run.a_count == -1, "a_count", run.a_count,
                        "the plan was made without TW_GROUPED_GATHER"));
  TW_TRY(check_excluded(p.scatters() || run.d_count == -1, "d_count", run.d_count,
                        "the plan was made without TW_GROUPED_SCATTER"));
  TW_TRY(run_size("k", run.k, d.k, &sizes->k));
  TW_TRY(run_size("a_count", run.a_count, d.a_count, &sizes->a_count));
  TW_TRY(run_size("d_count", run.d_count, d.d_count, &sizes->d_count));
  sizes->rows_of_a = p.has_k_ranges() ? sizes->k : p.gathers() ? sizes->a_count : sizes->m;
  sizes->rows_of_d = p.scatters() ? sizes->d_count : sizes->m;
  // The other members say which kernels the run launches.
  const bool any_d = sizes->rows_of_d > 0 && p.d_columns > 0;
  sizes->multiplies = sizes->m > 0 && any_d && d.groups > 0;
  sizes->checks = run.invalid_count != 0 && d.groups > 0;
  sizes->finds = d.grouping == Grouping::by_row && (sizes->multiplies || sizes->checks);
  // If all rows of D become sums, kGroupedCombine follows the product and writes all of D, so that
  // D need only be cleared if there is no product.
  sizes->clears = any_d && (p.sums() ? !sizes->multiplies : p.zeroes_other_rows());
  return {};
}

Status check_beta(const GroupedProblem& p, float beta) {
  // Compilers warn about == between floats.
  const bool is_zero = beta >= 0.0f && beta <= 0.0f, is_one = beta >= 1.0f && beta <= 1.0f;
  if (is_zero || (p.has_k_ranges() && is_one)) return {};
  return fail(
      kInvalid, {.argument = "beta", .rule = p.has_k_ranges() ? "grouped_beta" : "excluded"},
      p.has_k_ranges() ? "beta is %s: with TW_GROUPING_K_RANGES it must be 0, or 1 to add to D"
                       : "beta is %s, but the plan's grouping is not TW_GROUPING_K_RANGES: leave "
                         "it 0",
      Decimal::significant(static_cast<double>(beta), 6).text());
}

// Checks the address of an array. If plans of this description have the array (`in_plan`), the run
// must give its address, unless it reads no element (`unread`). If they do not have it, the address
// must be 0, and the error gives the reason `why_not`.
Status check_array(bool in_plan, const char* name, uint64_t address, uint32_t alignment,
                   bool unread, const char* why_not) {
  if (!in_plan) return check_null_address(name, address, why_not);
  return unread ? Status() : check_address(name, address, alignment);
}

// Checks an address that may be 0.
Status check_optional(const char* name, uint64_t address, uint32_t alignment) {
  return address == 0 ? Status() : check_address(name, address, alignment);
}

// Checks that a run of a plan with TW_GROUPING_K_RANGES gives none of the arrays that only products
// with groups of rows have.
Status check_no_row_arrays(const GroupedRun& run) {
  const struct {
    const char* name;
    uint64_t address;
  } excluded[] = {{"group_map", run.group_map},
                  {"group_alpha", run.group_alpha},
                  {"row_weights", run.row_weights}};
  for (const auto& [name, address] : excluded)
    TW_TRY(check_null_address(name, address, "grouping is TW_GROUPING_K_RANGES"));
  return {};
}

Status check_group_map(const GroupedProblem& p, const GroupedRun& run) {
  const GroupedDesc& d = p.desc;
  TW_TRY(check_optional("group_map", run.group_map, 4));
  if (run.group_map != 0 || d.weight_count >= d.groups) return {};
  return fail(
      kInvalid,
      {.argument = "group_map", .rule = "grouped_map", .got = d.weight_count, .limit = d.groups},
      "group_map is 0, but there are %" PRId64 " weight matrices for %" PRId64
      " groups: give the map, which says which matrix each group uses",
      d.weight_count, d.groups);
}

// Checks beta and the addresses of all arrays except A, B, D and the scales of A and B.
Status check_arrays(const GroupedProblem& p, const GroupedRun& run, const GroupedSizes& sizes) {
  const GroupedDesc& d = p.desc;
  const bool reads_no_indices = !sizes.multiplies && !sizes.checks;
  const auto index_bytes = static_cast<uint32_t>(p.row_index_bytes);
  TW_TRY(check_beta(p, run.beta));
  if (p.has_k_ranges()) TW_TRY(check_no_row_arrays(run));
  TW_TRY(check_array(
      d.grouping != Grouping::one, "groups", run.groups, static_cast<uint32_t>(p.group_index_bytes),
      reads_no_indices || p.groups_length(sizes.m) == 0, "grouping is TW_GROUPING_ONE"));
  TW_TRY(check_group_map(p, run));
  TW_TRY(check_optional("group_alpha", run.group_alpha, 4));
  TW_TRY(check_array(p.has_bias(), "bias", run.bias,
                     p.has_bias() ? static_cast<uint32_t>(dtype_bytes(d.bias_dtype)) : 1,
                     !sizes.multiplies, "the description has no bias (bias_dtype is 0)"));
  TW_TRY(check_array(p.gathers(), "a_rows", run.a_rows, index_bytes,
                     reads_no_indices || sizes.m == 0, "flags lack TW_GROUPED_GATHER"));
  TW_TRY(check_array(p.scatters(), "d_rows", run.d_rows, index_bytes,
                     reads_no_indices || sizes.m == 0, "flags lack TW_GROUPED_SCATTER"));
  TW_TRY(check_array(p.has_inverse(), "inverse", run.inverse, 4, !sizes.multiplies,
                     "flags lack TW_GROUPED_INVERSE"));
  TW_TRY(check_optional("row_weights", run.row_weights, 4));
  TW_TRY(check_optional("invalid_count", run.invalid_count, 8));
  return {};
}

// Checks the addresses of the scales of A and B. Adds the memory of the scales to `spans` if the
// run reads them.
Status add_scales(const GroupedProblem& p, const GroupedRun& run, const GroupedSizes& sizes,
                  GemmSpans* spans) {
  const GroupedDesc& d = p.desc;
  const bool reads_scales = sizes.multiplies && sizes.k > 0;
  const int64_t a_scale_rows = p.a_scales_per_group ? d.group_rows
                               : p.has_k_ranges()   ? sizes.m
                                                    : sizes.rows_of_a;
  const struct {
    const char* name;
    const GemmScaling& scaling;
    uint64_t address;
    GemmBytes bytes;
    const char* why_not;
  } operands[] = {{"a_scale", d.a_scaling, run.a_scale,
                   scale_bytes(d.a_scaling, p.a_scales(a_scale_rows), p.a_scale_matrices()),
                   "the description has no scales of A"},
                  {"b_scale", d.b_scaling, run.b_scale,
                   scale_bytes(d.b_scaling, p.b_scales(), p.b_scale_matrices()),
                   "the description has no scales of B"}};
  for (const auto& [name, scaling, address, bytes, why_not] : operands) {
    TW_TRY(check_array(scaling.any(), name, address, 4, !reads_scales || bytes.empty(), why_not));
    if (scaling.any() && reads_scales) spans->reads(name, address, bytes);
  }
  return {};
}

GemmBytes matrix_bytes(int64_t rows, int64_t columns, int64_t pitch, int64_t element_bytes) {
  return {.contiguous = columns * element_bytes,
          .lines = rows,
          .pitch = pitch * element_bytes,
          .matrices = 1,
          .matrix_stride = 0};
}

// Checks the addresses of A, B and D. Adds the memory of those that the run uses to `spans`.
Status add_matrices(const GroupedProblem& p, const GroupedRun& run, const GroupedSizes& sizes,
                    GemmSpans* spans) {
  const GroupedDesc& d = p.desc;
  const auto in_bytes = static_cast<uint32_t>(p.in_bytes);
  const auto out_bytes = static_cast<uint32_t>(p.out_bytes);
  GemmBytes d_bytes = matrix_bytes(sizes.rows_of_d, p.d_columns, d.ldd, out_bytes);
  if (p.has_k_ranges()) d_bytes.matrices = d.groups, d_bytes.matrix_stride = d.d_stride * out_bytes;
  if (sizes.multiplies || sizes.clears) {
    TW_TRY(check_address("d", run.d, out_bytes, d.d_alignment));
    spans->writes("d", run.d, d_bytes);
  }
  if (!sizes.multiplies || sizes.k == 0) return {};
  GemmBytes a_bytes =
      matrix_bytes(sizes.rows_of_a, p.has_k_ranges() ? sizes.m : d.k, d.lda, in_bytes);
  GemmBytes b_bytes =
      matrix_bytes(p.has_k_ranges() ? sizes.k : p.b_lines(), p.b_contiguous(), d.ldb, in_bytes);
  if (!p.has_k_ranges())
    b_bytes.matrices = d.weight_count, b_bytes.matrix_stride = d.b_stride * in_bytes;
  if (!a_bytes.empty()) TW_TRY(check_address("a", run.a, in_bytes, d.a_alignment));
  if (!b_bytes.empty()) TW_TRY(check_address("b", run.b, in_bytes, d.b_alignment));
  spans->reads("a", run.a, a_bytes);
  spans->reads("b", run.b, b_bytes);
  return {};
}

// Adds all other arrays of the run to `spans`.
void add_arrays(const GroupedProblem& p, const GroupedRun& run, const GroupedSizes& sizes,
                GemmSpans* spans) {
  const GroupedDesc& d = p.desc;
  const auto add = [&](const char* name, uint64_t address, int64_t elements,
                       int64_t element_bytes) {
    if (address != 0 && elements > 0)
      spans->reads(name, address, static_cast<uint64_t>(elements * element_bytes));
  };
  // d_rows[r] is the number of a pair (of a token with one of its experts). Pair p belongs to row
  // p / d_divisor of D, so d_count rows of D have this many pairs.
  const int64_t pairs = sizes.d_count * d.d_divisor;
  add("groups", run.groups, p.groups_length(sizes.m), p.group_index_bytes);
  add("group_map", run.group_map, d.groups, 4);
  add("group_alpha", run.group_alpha, d.weight_count, 4);
  add("a_rows", run.a_rows, sizes.m, p.row_index_bytes);
  add("d_rows", run.d_rows, sizes.m, p.row_index_bytes);
  add("row_weights", run.row_weights, d.has(kGroupedDescRowWeightByIndex) ? pairs : sizes.m, 4);
  add("inverse", run.inverse, pairs, 4);
  if (p.has_bias() && run.bias != 0) {
    GemmBytes bias = matrix_bytes(1, d.n, d.n, dtype_bytes(d.bias_dtype));
    bias.matrices = d.weight_count, bias.matrix_stride = d.bias_stride * dtype_bytes(d.bias_dtype);
    spans->reads("bias", run.bias, bias);
  }
  if (run.invalid_count != 0) spans->writes("invalid_count", run.invalid_count, 8);
}

}  // namespace

namespace {

// Appends the rows of the product, which kGroupedCombine adds up in a fixed order. Also appends the
// lists of the rows that are added to each row of D, unless runs give the array `inverse` instead.
void append_sum_regions(const GroupedProblem& problem, GroupedWorkspace* workspace) {
  const GroupedDesc& d = problem.desc;
  const int64_t row_bytes =
      (problem.d_columns * problem.out_bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  workspace->row_pitch = row_bytes / problem.out_bytes;
  workspace->product_rows = append(workspace, d.m * row_bytes);
  if (problem.has_inverse()) return;
  workspace->heads = append(workspace, d.d_count * 4);
  workspace->links = append(workspace, d.m * 4);
}

}  // namespace

GroupedWorkspace grouped_workspace(const GroupedProblem& problem,
                                   const GroupedWgmmaWorkspace& wgmma) {
  const GroupedDesc& d = problem.desc;
  GroupedWorkspace workspace;
  if (d.grouping == Grouping::by_row) workspace.found_groups = append(&workspace, d.groups * 8);
  if (problem.adds_in_order()) append_sum_regions(problem, &workspace);
  workspace.required = workspace.bytes;
  workspace.stream_k = append(&workspace, static_cast<int64_t>(wgmma.stream_k_bytes));
  if (wgmma.stream_k_required) workspace.required = workspace.bytes;
  workspace.has_packed_a = wgmma.packed_a_bytes != 0;
  workspace.packed_a = append(&workspace, static_cast<int64_t>(wgmma.packed_a_bytes));
  return workspace;
}

Status check_grouped_run(const Device& device, const GroupedProblem& problem,
                         const GroupedWorkspace& workspace, const GroupedRun& run,
                         GroupedSizes* sizes) {
  TW_TRY(check_sizes(problem, run, sizes));
  TW_TRY(check_arrays(problem, run, *sizes));
  GemmSpans spans;
  const bool uses_workspace = sizes->multiplies || sizes->finds;
  // A run may leave out a workspace that only saves time. If it gives one, all bytes must be there.
  if (uses_workspace && (workspace.required != 0 || (workspace.bytes != 0 && run.workspace != 0))) {
    TW_TRY(check_workspace(run.workspace, run.workspace_bytes, workspace.bytes,
                           kGroupedWorkspaceAlignment));
    spans.writes("workspace", run.workspace, workspace.bytes);
  }
  TW_TRY(add_matrices(problem, run, *sizes, &spans));
  TW_TRY(add_scales(problem, run, *sizes, &spans));
  add_arrays(problem, run, *sizes, &spans);
  return spans.check(device);
}

namespace {

void fill_addresses(const GroupedProblem& p, const GroupedWorkspace& workspace,
                    const GroupedRun& run, GroupedArgs* args) {
  args->a = run.a, args->b = run.b, args->d = run.d;
  args->bias = run.bias;
  args->groups = run.groups, args->group_map = run.group_map;
  args->group_alpha = run.group_alpha;
  args->a_rows = run.a_rows, args->d_rows = run.d_rows;
  args->row_weights = run.row_weights;
  args->invalid_count = run.invalid_count;
  args->inverse = run.inverse;
  if (p.desc.grouping == Grouping::by_row)
    args->found_groups = run.workspace + workspace.found_groups;
}

void fill_sizes(const GroupedProblem& p, const GroupedSizes& sizes, GroupedArgs* args) {
  const GroupedDesc& d = p.desc;
  args->a_pitch = d.lda;
  args->b_stride_k = p.b_stride_k(), args->b_stride_n = p.b_stride_n();
  args->b_stride = d.b_stride;
  args->d_pitch = d.ldd, args->d_stride = d.d_stride;
  args->bias_stride = d.bias_stride;
  args->m = static_cast<i32>(sizes.m);
  args->n = static_cast<i32>(d.n);
  args->k = static_cast<i32>(sizes.k);
  args->group_count = static_cast<i32>(d.groups);
  args->weight_count = static_cast<i32>(d.weight_count);
  args->a_count = static_cast<i32>(sizes.a_count), args->d_count = static_cast<i32>(sizes.d_count);
  args->a_divisor = static_cast<i32>(d.a_divisor), args->d_divisor = static_cast<i32>(d.d_divisor);
  args->group_rows = static_cast<i32>(d.group_rows);
  args->row_alignment = static_cast<i32>(d.row_alignment);
  args->band = kBand;
}

}  // namespace

GemmScales grouped_scales(const GroupedProblem& problem, const GroupedRun& run) {
  const GroupedDesc& d = problem.desc;
  GemmScales scales{};
  scales.a = scale_argument(d.a_scaling, true, run.a_scale);
  scales.b = scale_argument(d.b_scaling, false, run.b_scale);
  if (!problem.a_scales_per_group) scales.a.batch_step = 0;  // one matrix of scales for all groups
  scales.a_by = kernel_scale(d.a_scaling.kind);
  scales.b_by = kernel_scale(d.b_scaling.kind);
  scales.a_type = kernel_type(d.a_dtype);
  scales.b_type = kernel_type(d.b_type());
  scales.d_type = kernel_type(d.d_dtype);
  return scales;
}

GroupedArgs grouped_args(const GroupedProblem& problem, const GroupedWorkspace& workspace,
                         const GroupedRun& run, const GroupedSizes& sizes) {
  const GroupedDesc& d = problem.desc;
  GroupedArgs args{};
  fill_addresses(problem, workspace, run, &args);
  fill_sizes(problem, sizes, &args);
  args.alpha = run.alpha, args.beta = run.beta;
  args.gate_limit = d.gate_limit > 0.0f ? d.gate_limit : std::numeric_limits<float>::infinity();
  args.gate_offset = d.gate_offset, args.gate_slope = d.gate_slope;
  args.flags = (d.has(kGroupedDescRowWeightByIndex) ? kGroupedRowWeightByIndex : 0u) |
               (d.has(kGroupedDescInvariant) ? kGroupedInvariant : 0u) |
               (d.has(kGroupedDescFast) ? kGroupedFast : 0u) |
               (d.combine == Combine::add ? kGroupedAddsToD : 0u);
  args.grouping = static_cast<unsigned char>(d.grouping);
  args.groups_i64 = d.index_dtype == DType::I64;
  args.rows_i64 = d.row_index_dtype == DType::I64;
  args.row_output = !problem.scatters()                ? kRowsInPlace
                    : d.combine == Combine::add_atomic ? kRowsAddedAtomically
                                                       : kRowsByIndex;
  args.bias_type = d.bias_dtype == DType::F32                    ? kBiasF32
                   : d.is_narrow() && d.bias_dtype == DType::F16 ? kBiasF16
                                                                 : kBiasAsInput;
  args.activation = static_cast<unsigned char>(d.activation);
  args.gate = static_cast<unsigned char>(d.gate);
  // Only host kernels read the types, because one host kernel serves all of them.
  args.host_in = static_cast<unsigned char>(d.a_dtype);
  args.host_out = static_cast<unsigned char>(d.d_dtype);
  return args;
}

}  // namespace tw
