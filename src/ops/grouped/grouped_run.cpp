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
constexpr int64_t kRowAlignment = 16;  // bytes, of rows in the workspace
constexpr i32 kBand = 8;               // tiles in a band of the mma.sync kernels' tile order

uint64_t aligned(uint64_t bytes) {
  return (bytes + kGroupedWorkspaceAlignment - 1) / kGroupedWorkspaceAlignment *
         kGroupedWorkspaceAlignment;
}

// Appends `bytes` bytes to a workspace and returns their offset.
uint64_t take(GroupedParts* parts, int64_t bytes) {
  const uint64_t at = parts->bytes;
  parts->bytes += aligned(static_cast<uint64_t>(bytes));
  return at;
}

Status run_number(const char* argument, int64_t given, int64_t planned, int64_t* out) {
  *out = given == -1 ? planned : given;
  if (*out >= 0 && *out <= planned) return {};
  return fail(kInvalid,
              {.argument = argument, .rule = "grouped_run_size", .got = given, .limit = planned},
              "%s is %" PRId64 ": the plan was made for 0 to %" PRId64 " (-1 means all)", argument,
              given, planned);
}

Status check_sizes(const GroupedProblem& p, const GroupedRun& run, GroupedSizes* sizes) {
  const GroupedDesc& d = p.desc;
  TW_TRY(run_number("m", run.m, d.m, &sizes->m));
  TW_TRY(check_unset(p.ranges() || run.k == -1, "k", run.k,
                     "the plan's grouping is not TW_GROUPING_K_RANGES"));
  TW_TRY(check_unset(p.gathers() || run.a_count == -1, "a_count", run.a_count,
                     "the plan was made without TW_GROUPED_GATHER"));
  TW_TRY(check_unset(p.scatters() || run.d_count == -1, "d_count", run.d_count,
                     "the plan was made without TW_GROUPED_SCATTER"));
  TW_TRY(run_number("k", run.k, d.k, &sizes->k));
  TW_TRY(run_number("a_count", run.a_count, d.a_count, &sizes->a_count));
  TW_TRY(run_number("d_count", run.d_count, d.d_count, &sizes->d_count));
  sizes->a_rows = p.ranges() ? sizes->k : p.gathers() ? sizes->a_count : sizes->m;
  sizes->d_rows = p.scatters() ? sizes->d_count : sizes->m;
  const bool any_d = sizes->d_rows > 0 && p.d_columns > 0;
  sizes->multiplies = sizes->m > 0 && any_d && d.groups > 0;
  sizes->checks = run.faults != 0 && d.groups > 0;
  sizes->finds = d.grouping == Grouping::by_row && (sizes->multiplies || sizes->checks);
  // The combine kernel of an ordered addition writes all of D itself.
  sizes->clears = any_d && (p.ordered() ? !sizes->multiplies : p.zeroes());
  return {};
}

Status check_beta(const GroupedProblem& p, float beta) {
  const bool zero = !(beta < 0.0f || beta > 0.0f) && beta == beta;
  if (zero || (p.ranges() && beta >= 1.0f && beta <= 1.0f)) return {};
  return fail(kInvalid, {.argument = "beta", .rule = p.ranges() ? "grouped_beta" : "excluded"},
              p.ranges() ? "beta is %s: with TW_GROUPING_K_RANGES it is 0, or 1 to add to D"
                         : "beta is %s, but the plan's grouping is not TW_GROUPING_K_RANGES: leave "
                           "it 0",
              Decimal::shortest(static_cast<double>(beta), 6).text());
}

// Checks an address that must be given if `wanted`, and must be 0 otherwise. No address is needed
// for an array that is empty.
Status check_wanted(bool wanted, const char* name, uint64_t address, uint32_t alignment, bool empty,
                    const char* because) {
  if (!wanted) return check_null_address(name, address, because);
  return empty ? Status() : check_address(name, address, alignment);
}

// Checks an address that may be 0.
Status check_optional(const char* name, uint64_t address, uint32_t alignment) {
  return address == 0 ? Status() : check_address(name, address, alignment);
}

Status check_ranges_lack(const GroupedRun& run) {
  const struct {
    const char* name;
    uint64_t address;
  } without[] = {{"group_map", run.group_map},
                 {"group_alpha", run.group_alpha},
                 {"row_weights", run.row_weights}};
  for (const auto& [name, address] : without)
    TW_TRY(check_null_address(name, address, "grouping is TW_GROUPING_K_RANGES"));
  return {};
}

Status check_map(const GroupedProblem& p, const GroupedRun& run) {
  const GroupedDesc& d = p.desc;
  TW_TRY(check_optional("group_map", run.group_map, 4));
  if (run.group_map != 0 || d.weights >= d.groups) return {};
  return fail(kInvalid,
              {.argument = "group_map", .rule = "grouped_map", .got = d.weights, .limit = d.groups},
              "group_map is 0: it says which of %" PRId64 " weight matrices each of %" PRId64
              " groups has, and without it there is one for each group",
              d.weights, d.groups);
}

Status check_vectors(const GroupedProblem& p, const GroupedRun& run, const GroupedSizes& sizes) {
  const GroupedDesc& d = p.desc;
  const bool idle = !sizes.multiplies && !sizes.checks;
  const auto index = static_cast<uint32_t>(p.index_bytes);
  TW_TRY(check_beta(p, run.beta));
  if (p.ranges()) TW_TRY(check_ranges_lack(run));
  TW_TRY(check_wanted(d.grouping != Grouping::all, "groups", run.groups,
                      static_cast<uint32_t>(p.number_bytes), idle || p.numbers(sizes.m) == 0,
                      "grouping is TW_GROUPING_ALL"));
  TW_TRY(check_map(p, run));
  TW_TRY(check_optional("group_alpha", run.group_alpha, 4));
  TW_TRY(check_wanted(p.biased(), "bias", run.bias,
                      p.biased() ? static_cast<uint32_t>(dtype_bytes(d.bias_dtype)) : 1,
                      !sizes.multiplies, "the description has no bias (bias_dtype is 0)"));
  TW_TRY(check_wanted(p.gathers(), "a_rows", run.a_rows, index, idle || sizes.m == 0,
                      "flags lack TW_GROUPED_GATHER"));
  TW_TRY(check_wanted(p.scatters(), "d_rows", run.d_rows, index, idle || sizes.m == 0,
                      "flags lack TW_GROUPED_SCATTER"));
  TW_TRY(check_wanted(p.inverse(), "inverse", run.inverse, 4, !sizes.multiplies,
                      "flags lack TW_GROUPED_INVERSE"));
  TW_TRY(check_optional("row_weights", run.row_weights, 4));
  TW_TRY(check_optional("invalid_count", run.faults, 8));
  return {};
}

Status add_scales(const GroupedProblem& p, const GroupedRun& run, const GroupedSizes& sizes,
                  GemmSpans* spans) {
  const GroupedDesc& d = p.desc;
  const bool reads = sizes.multiplies && sizes.k > 0;
  const int64_t rows = p.splits_a_scales ? d.group_rows : p.ranges() ? sizes.m : sizes.a_rows;
  const struct {
    const char* name;
    const GemmScaling& scaling;
    uint64_t address;
    GemmBytes bytes;
    const char* missing;
  } operands[] = {{"a_scale", d.a_scaling, run.a_scale,
                   scale_bytes(d.a_scaling, p.a_scales(rows), p.a_scale_matrices()),
                   "the description has no scales of A"},
                  {"b_scale", d.b_scaling, run.b_scale,
                   scale_bytes(d.b_scaling, p.b_scales(), p.b_scale_matrices()),
                   "the description has no scales of B"}};
  for (const auto& [name, scaling, address, bytes, missing] : operands) {
    TW_TRY(check_wanted(scaling.any(), name, address, 4, !reads || bytes.none(), missing));
    if (scaling.any() && reads) spans->reads(name, address, bytes);
  }
  return {};
}

GemmBytes rows_of(int64_t rows, int64_t columns, int64_t pitch, int64_t element) {
  return {.contiguous = columns * element,
          .lines = rows,
          .pitch = pitch * element,
          .matrices = 1,
          .apart = 0};
}

Status add_matrices(const GroupedProblem& p, const GroupedRun& run, const GroupedSizes& sizes,
                    GemmSpans* spans) {
  const GroupedDesc& d = p.desc;
  const auto in = static_cast<uint32_t>(p.in_bytes), out = static_cast<uint32_t>(p.out_bytes);
  GemmBytes of_d = rows_of(sizes.d_rows, p.d_columns, d.ldd, out);
  if (p.ranges()) of_d.matrices = d.groups, of_d.apart = d.d_stride * out;
  if (sizes.multiplies || sizes.clears) {
    TW_TRY(check_address("d", run.d, out, d.d_alignment));
    spans->writes("d", run.d, of_d);
  }
  if (!sizes.multiplies || sizes.k == 0) return {};
  GemmBytes of_a = rows_of(sizes.a_rows, p.ranges() ? sizes.m : d.k, d.lda, in);
  GemmBytes of_b = rows_of(p.ranges() ? sizes.k : p.b_lines(), p.b_contiguous(), d.ldb, in);
  if (!p.ranges()) of_b.matrices = d.weights, of_b.apart = d.b_stride * in;
  if (!of_a.none()) TW_TRY(check_address("a", run.a, in, d.a_alignment));
  if (!of_b.none()) TW_TRY(check_address("b", run.b, in, d.b_alignment));
  spans->reads("a", run.a, of_a);
  spans->reads("b", run.b, of_b);
  return {};
}

void add_vectors(const GroupedProblem& p, const GroupedRun& run, const GroupedSizes& sizes,
                 GemmSpans* spans) {
  const GroupedDesc& d = p.desc;
  const auto add = [&](const char* name, uint64_t address, int64_t elements, int64_t bytes) {
    if (address != 0 && elements > 0)
      spans->reads(name, address, static_cast<uint64_t>(elements * bytes));
  };
  const int64_t pairs = sizes.d_count * d.d_divisor;
  add("groups", run.groups, p.numbers(sizes.m), p.number_bytes);
  add("group_map", run.group_map, d.groups, 4);
  add("group_alpha", run.group_alpha, d.weights, 4);
  add("a_rows", run.a_rows, sizes.m, p.index_bytes);
  add("d_rows", run.d_rows, sizes.m, p.index_bytes);
  add("row_weights", run.row_weights, d.has(kGroupedDescWeightByIndex) ? pairs : sizes.m, 4);
  add("inverse", run.inverse, pairs, 4);
  if (p.biased() && run.bias != 0) {
    GemmBytes bias = rows_of(1, d.n, d.n, dtype_bytes(d.bias_dtype));
    bias.matrices = d.weights, bias.apart = d.bias_stride * dtype_bytes(d.bias_dtype);
    spans->reads("bias", run.bias, bias);
  }
  if (run.faults != 0) spans->writes("invalid_count", run.faults, 8);
}

}  // namespace

namespace {

void take_ordered(const GroupedProblem& problem, GroupedParts* parts) {
  const GroupedDesc& d = problem.desc;
  const int64_t row_bytes =
      (problem.d_columns * problem.out_bytes + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  parts->row_pitch = row_bytes / problem.out_bytes;
  parts->rows = take(parts, d.m * row_bytes);
  if (problem.inverse()) return;
  parts->heads = take(parts, d.d_count * 4);
  parts->links = take(parts, d.m * 4);
}

}  // namespace

GroupedParts grouped_parts(const GroupedProblem& problem, const GroupedRoom& room) {
  const GroupedDesc& d = problem.desc;
  GroupedParts parts;
  if (d.grouping == Grouping::by_row) parts.found = take(&parts, d.groups * 8);
  if (problem.ordered()) take_ordered(problem, &parts);
  parts.required = parts.bytes;
  parts.shared = take(&parts, static_cast<int64_t>(room.shared));
  if (room.required) parts.required = parts.bytes;
  parts.packs = room.packed != 0;
  parts.packed = take(&parts, static_cast<int64_t>(room.packed));
  return parts;
}

Status check_grouped_run(const Device& device, const GroupedProblem& problem,
                         const GroupedParts& parts, const GroupedRun& run, GroupedSizes* sizes) {
  TW_TRY(check_sizes(problem, run, sizes));
  TW_TRY(check_vectors(problem, run, *sizes));
  GemmSpans spans;
  const bool works = sizes->multiplies || sizes->finds;
  if (works && (parts.required != 0 || (parts.bytes != 0 && run.workspace != 0))) {
    TW_TRY(check_workspace(run.workspace, run.workspace_bytes, parts.bytes,
                           kGroupedWorkspaceAlignment));
    spans.writes("workspace", run.workspace, parts.bytes);
  }
  TW_TRY(add_matrices(problem, run, *sizes, &spans));
  TW_TRY(add_scales(problem, run, *sizes, &spans));
  add_vectors(problem, run, *sizes, &spans);
  return spans.check(device);
}

namespace {

void fill_addresses(const GroupedProblem& p, const GroupedParts& parts, const GroupedRun& run,
                    GroupedArgs* args) {
  args->a = run.a, args->b = run.b, args->d = run.d;
  args->bias = run.bias;
  args->groups = run.groups, args->map = run.group_map;
  args->group_alpha = run.group_alpha;
  args->a_rows = run.a_rows, args->d_rows = run.d_rows;
  args->row_weights = run.row_weights;
  args->faults = run.faults;
  args->inverse = run.inverse;
  if (p.desc.grouping == Grouping::by_row) args->found = run.workspace + parts.found;
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
  args->weights = static_cast<i32>(d.weights);
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
  scales.a = scale_places(d.a_scaling, true, run.a_scale);
  scales.b = scale_places(d.b_scaling, false, run.b_scale);
  if (!problem.splits_a_scales) scales.a.batch_step = 0;
  scales.a_by = kernel_scale(d.a_scaling.kind);
  scales.b_by = kernel_scale(d.b_scaling.kind);
  scales.a_type = kernel_type(d.a_dtype);
  scales.b_type = kernel_type(d.b_type());
  scales.d_type = kernel_type(d.d_dtype);
  return scales;
}

GroupedArgs grouped_args(const GroupedProblem& problem, const GroupedParts& parts,
                         const GroupedRun& run, const GroupedSizes& sizes) {
  const GroupedDesc& d = problem.desc;
  GroupedArgs args{};
  fill_addresses(problem, parts, run, &args);
  fill_sizes(problem, sizes, &args);
  args.alpha = run.alpha, args.beta = run.beta;
  args.gate_limit = d.gate_limit > 0.0f ? d.gate_limit : std::numeric_limits<float>::infinity();
  args.gate_offset = d.gate_offset, args.gate_slope = d.gate_slope;
  args.flags = (d.has(kGroupedDescWeightByIndex) ? kGroupedWeightByIndex : 0u) |
               (d.has(kGroupedDescInvariant) ? kGroupedInvariant : 0u);
  args.kind = static_cast<unsigned char>(d.grouping);
  args.wide = d.index_dtype == DType::I64;
  args.wide_rows = d.row_index_dtype == DType::I64;
  args.out = !problem.scatters()                ? kRowsInPlace
             : d.combine == Combine::add_atomic ? kRowsAdded
                                                : kRowsByIndex;
  args.bias_f32 = d.bias_dtype == DType::F32                    ? 1
                  : d.is_narrow() && d.bias_dtype == DType::F16 ? kBiasF16
                                                                : 0;
  args.activation = static_cast<unsigned char>(d.activation);
  args.gate = static_cast<unsigned char>(d.gate);
  args.host_in = static_cast<unsigned char>(d.a_dtype);
  args.host_out = static_cast<unsigned char>(d.d_dtype);
  return args;
}

}  // namespace tw
