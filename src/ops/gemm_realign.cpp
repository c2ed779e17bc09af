// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm_realign.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"
#include "ops/copy.hpp"

namespace tw {
namespace {

// A workspace's address and the copies in it; lines of copies begin at multiples of what the L2
// moves at once.
constexpr uint32_t kWorkspaceAlignment = 256;
constexpr int64_t kLineAlignment = 128;

// One of the two operands, by the caller's names.
struct Operand {
  const char* name;
  int64_t contiguous, lines, leading;
  uint32_t alignment;
  bool by_rows;  // has as many rows as the run

  bool pitch_suits(int32_t bytes) const { return leading * bytes % kMapAlignment == 0; }
  bool certain(int32_t bytes) const { return pitch_suits(bytes) && alignment >= kMapAlignment; }
  // Of the copy: as it is where a map can have it.
  int64_t pitch(int32_t bytes) const {
    if (pitch_suits(bytes)) return leading;
    return round_up(std::max<int64_t>(contiguous, 1) * bytes, kLineAlignment) / bytes;
  }
};

// `own` has D in the caller's order.
Operand operand_a(const GemmDesc& own) {
  const bool row = own.a_order == Order::row;
  return {"a", row ? own.k : own.m, row ? own.m : own.k, own.lda, own.a_alignment, true};
}

Operand operand_b(const GemmDesc& own) {
  const bool row = own.b_order == Order::row;
  return {"b", row ? own.n : own.k, row ? own.k : own.n, own.ldb, own.b_alignment, false};
}

GemmDesc own_desc(const GemmProblem& problem) {
  return problem.swapped ? turned(problem).desc : problem.desc;
}

Status plan_copy(const std::shared_ptr<Device>& device, const GemmDesc& own, const Operand& from,
                 std::unique_ptr<Plan>* out) {
  CopyDesc copy;
  copy.dtype = own.ab_dtype;
  copy.rank = 2;
  copy.src_alignment = from.alignment;
  copy.dst_alignment = kWorkspaceAlignment;
  copy.max_sms = own.max_sms;
  copy.shape[0] = from.lines;
  copy.shape[1] = from.contiguous;
  copy.src_stride[0] = from.leading;
  copy.dst_stride[0] = from.pitch(dtype_bytes(own.ab_dtype));
  copy.src_stride[1] = copy.dst_stride[1] = 1;
  copy.padding_free = true;
  return CopyPlan::create(device, copy, out);
}

}  // namespace

GemmProblem gemm_served(const GemmProblem& problem) {
  if (!problem.desc.realign) return problem;
  GemmProblem own = problem.swapped ? turned(problem) : problem;
  own.desc.lda = operand_a(own.desc).pitch(own.in_bytes);
  own.desc.ldb = operand_b(own.desc).pitch(own.in_bytes);
  return problem.swapped ? turned(own) : own;
}

Status GemmRealign::create(const std::shared_ptr<Device>& device, const GemmProblem& problem,
                           std::unique_ptr<GemmRealign>* out) {
  if (!problem.desc.realign) return {};
  const GemmDesc own = own_desc(problem);
  std::unique_ptr<GemmRealign> made(new GemmRealign);
  const std::pair<Operand, Copy*> operands[] = {{operand_a(own), &made->a_},
                                                {operand_b(own), &made->b_}};
  for (const auto& [from, copy] : operands) {
    if (from.certain(problem.in_bytes)) continue;
    // A copy's extents are the plan's.
    if (from.by_rows && own.min_m != own.m)
      return fail(
          Code::ERROR_INVALID_ARGUMENT,
          {.argument = "realign", .rule = "gemm_realign_rows", .got = own.min_m, .limit = own.m},
          "realign copies A whole, for m %" PRId64 " alone, and min_m is %" PRId64
          ": give m as min_m too, or A with a pitch and a promised alignment that are "
          "multiples of 16 bytes",
          own.m, own.min_m);
    TW_TRY(plan_copy(device, own, from, &copy->plan));
    copy->always = !from.pitch_suits(problem.in_bytes);
    copy->offset = made->bytes_;
    const int64_t elements = from.pitch(problem.in_bytes) * std::max<int64_t>(from.lines, 1);
    made->bytes_ +=
        static_cast<uint64_t>(round_up(elements * problem.in_bytes, int64_t{kWorkspaceAlignment}));
  }
  if (made->bytes_ > 0) *out = std::move(made);
  return {};
}

Status GemmRealign::check(const GemmRun& run) const {
  TW_TRY(check_address("workspace", run.workspace, kWorkspaceAlignment));
  if (run.workspace_bytes >= bytes_) return {};
  return fail(Code::ERROR_BUFFER_TOO_SMALL,
              {.argument = "workspace_bytes",
               .rule = "workspace_size",
               .got = static_cast<int64_t>(run.workspace_bytes),
               .limit = static_cast<int64_t>(bytes_)},
              "workspace_bytes is %" PRIu64 ": the plan needs %" PRIu64
              " (workspace_bytes of tw_plan_get_info)",
              run.workspace_bytes, bytes_);
}

Status GemmRealign::apply(Stream& stream, GemmRun* run) const {
  const std::pair<const Copy*, uint64_t*> operands[] = {{&a_, &run->a}, {&b_, &run->b}};
  for (const auto& [copy, address] : operands) {
    if (!copy->plan || (!copy->always && *address % kMapAlignment == 0)) continue;
    const uint64_t to = run->workspace + copy->offset;
    TW_TRY(static_cast<const CopyPlan&>(*copy->plan).run(stream, *address, to));
    *address = to;
  }
  return {};
}

}  // namespace tw
