// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_staging.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm.h"
#include "ops/common/strided_span.hpp"
#include "ops/copy/copy.hpp"

namespace tw {
namespace {

// The bytes of an L2 cache line. If copy_pitch() does not keep the operand's pitch, it returns a
// multiple of this.
constexpr int64_t kLineAlignment = 128;

// One of the caller's two operands, with the names of its fields for messages.
struct Operand {
  const char* leading_name;
  const char* stride_name;
  const char* alignment_name;
  int64_t line_elements, lines, leading;
  uint32_t alignment;
  bool depends_on_m;         // whether its extent depends on the run's m
  int64_t matrices, stride;  // matrices is 1 if all products share one
  bool transposes;  // whether the copy is transposed: TMA kernels for narrow types need K-major
                    // operands

  // Whether maps can have the operand's order, pitch and batch stride, so that only its address may
  // require a copy.
  bool strides_suit(int32_t bytes) const {
    return !transposes && pitch_suits_maps(leading * bytes) &&
           (matrices <= 1 || pitch_suits_maps(stride * bytes));
  }
  bool always_suits_maps(int32_t bytes) const {
    return strides_suit(bytes) && alignment >= kMapAlignment;
  }
  // The copy's pitch. It is the operand's pitch if maps can have the operand's strides.
  int64_t copy_pitch(int32_t bytes) const {
    if (strides_suit(bytes)) return leading;
    return round_up(std::max<int64_t>(copy_line_elements(), 1) * bytes, kLineAlignment) / bytes;
  }
  // Elements of one matrix's copy.
  int64_t copy_elements(int32_t bytes) const {
    return copy_pitch(bytes) * std::max<int64_t>(copy_lines(), 1);
  }
  int64_t copy_line_elements() const { return transposes ? lines : line_elements; }
  int64_t copy_lines() const { return transposes ? line_elements : lines; }
  int64_t copy_batch_stride(int32_t bytes) const {
    return strides_suit(bytes) ? stride : copy_elements(bytes);
  }
};

int64_t matrices_of(const GemmDesc& caller, int64_t stride) {
  return stride == 0 ? 1 : caller.batch;
}

// `caller` is the caller's description: A and B are not exchanged (caller_desc_of()).
Operand operand_a(const GemmDesc& caller) {
  const bool row = caller.a_order == Order::row;
  return {"lda",
          "a_batch_stride",
          "a_alignment",
          row ? caller.k : caller.m,
          row ? caller.m : caller.k,
          caller.lda,
          caller.a_alignment,
          true,
          matrices_of(caller, caller.a_batch_stride),
          caller.a_batch_stride,
          caller.is_narrow() && !row};
}

Operand operand_b(const GemmDesc& caller) {
  const bool row = caller.b_order == Order::row;
  return {"ldb",
          "b_batch_stride",
          "b_alignment",
          row ? caller.n : caller.k,
          row ? caller.k : caller.n,
          caller.ldb,
          caller.b_alignment,
          false,
          matrices_of(caller, caller.b_batch_stride),
          caller.b_batch_stride,
          caller.is_narrow() && row};
}

GemmDesc caller_desc_of(const GemmProblem& problem) {
  return problem.swapped ? swap_ab(problem).desc : problem.desc;
}

// If maps can have the operand's strides, the copy has the same strides. Then the matrices of a
// batch must not share elements, because each is copied.
Status check_copies_disjoint(const Operand& from, int32_t bytes) {
  if (!from.strides_suit(bytes)) return {};
  const int64_t overlapping =
      gemm_first_overlap(from.lines, from.line_elements, from.leading, from.matrices, from.stride);
  if (overlapping == 0) return {};
  const int64_t min_stride = (from.lines - 1) * from.leading + from.line_elements;
  return fail(Code::ERROR_OVERLAP,
              {.argument = from.stride_name,
               .index = static_cast<int32_t>(overlapping),
               .rule = "gemm_realign_batch",
               .got = from.stride,
               .limit = min_stride},
              "%s is %" PRId64 ", so that matrices 0 and %" PRId64
              " share elements. TW_GEMM_STAGING_COPY copies every matrix separately if the "
              "address in a run is not a multiple of 16: promise %s 16, give a stride of %" PRId64
              " or more, or leave TW_GEMM_STAGING_COPY out",
              from.stride_name, from.stride, overlapping, from.alignment_name, min_stride);
}

// Checks that the operand and its copy span at most kMaxSpan bytes, the limit of copies. The bytes
// of the operand are already known to fit 63 bits.
Status check_span(const Operand& from, int32_t bytes) {
  if (from.lines == 0 || from.line_elements == 0 || from.matrices == 0) return {};
  const int64_t max_elements = kMaxSpan / bytes;
  const auto refuse = [&](const char* argument, int64_t got, int64_t limit, const char* what) {
    return fail(Code::ERROR_OVERFLOW,
                {.argument = argument, .rule = "gemm_realign_span", .got = got, .limit = limit},
                "%s is %" PRId64
                ": %s would exceed the 2^60 bytes that a staging copy can have: %" PRId64
                " at most, or leave TW_GEMM_STAGING_COPY out",
                argument, got, what, limit);
  };
  const int64_t matrix_span = (from.lines - 1) * from.leading + from.line_elements;
  if (matrix_span > max_elements)
    return refuse(from.leading_name, from.leading,
                  (max_elements - from.line_elements) / (from.lines - 1), "a matrix");
  if (from.matrices > 1 && from.stride > (max_elements - matrix_span) / (from.matrices - 1))
    return refuse(from.stride_name, from.stride, (max_elements - matrix_span) / (from.matrices - 1),
                  "a batch from its first element to its last");
  const int64_t max_matrices = max_elements / from.copy_elements(bytes);
  if (from.strides_suit(bytes) || from.matrices <= max_matrices) return {};
  if (max_matrices == 0)
    return fail(Code::ERROR_OVERFLOW,
                {.argument = "flags", .rule = "gemm_realign_span", .got = 1, .limit = 0},
                "flags has TW_GEMM_STAGING_COPY, but the copy of a matrix, whose pitch is rounded "
                "up to a multiple of 128 bytes, would exceed the 2^60 bytes that a staging copy "
                "can have: leave TW_GEMM_STAGING_COPY out");
  return refuse("batch_count", from.matrices, max_matrices, "copies of all matrices");
}

// Copies have fixed extents, so A can only be copied if every run has the plan's m.
Status check_operand(const GemmDesc& caller, const Operand& from, int32_t bytes) {
  if (from.depends_on_m && caller.min_m != caller.m)
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "flags", .rule = "gemm_realign_rows", .got = caller.min_m, .limit = caller.m},
        "flags has TW_GEMM_STAGING_COPY, and A may need a copy, which always has m %" PRId64
        " rows: set min_m (now %" PRId64
        ") to m, or give A a pitch and a promised alignment that are multiples of 16 bytes",
        caller.m, caller.min_m);
  TW_TRY(check_span(from, bytes));
  return check_copies_disjoint(from, bytes);
}

CopyDesc copy_desc(const GemmDesc& caller, const Operand& from) {
  const int32_t bytes = dtype_bytes(caller.a_dtype);
  CopyDesc copy;
  copy.dtype = bytes == 1 ? DType::U8 : bytes == 4 ? DType::F32 : caller.a_dtype;
  copy.src_alignment = from.alignment;
  copy.dst_alignment = kGemmWorkspaceAlignment;
  copy.max_sms = caller.max_sms;
  copy.rank = 0;
  const auto dimension = [&](int64_t extent, int64_t src_stride, int64_t dst_stride) {
    copy.shape[copy.rank] = extent;
    copy.src_stride[copy.rank] = src_stride;
    copy.dst_stride[copy.rank++] = dst_stride;
  };
  if (from.matrices != 1) dimension(from.matrices, from.stride, from.copy_batch_stride(bytes));
  dimension(from.copy_lines(), from.transposes ? 1 : from.leading, from.copy_pitch(bytes));
  dimension(from.copy_line_elements(), from.transposes ? from.leading : 1, 1);
  // If matrices of a batch interleave, the copy's padding holds other matrices.
  copy.padding_writable =
      from.matrices <= 1 || from.copy_batch_stride(bytes) >= from.copy_elements(bytes);
  return copy;
}

const KernelEntry* staging_copy_entry(const Device& device) {
  return find_entry(device, Family::gemm, [](const KernelEntry& entry) {
    return (entry.variant & kGemmStagingCopy) != 0;
  });
}

// Fills in the copy kernel's arguments without addresses. Returns false if that kernel cannot copy
// the operand, so that a copy plan must.
bool fill_kernel_args(const Operand& from, int32_t bytes, GemmStagingOperand* out) {
  // divide() accepts numbers below 2^31. The kernel's threads step through the pieces by the number
  // of threads of the launch, which is below 2^24. The last step can go past the last piece by that
  // number, so kMaxPieces leaves 2^24 free.
  constexpr int64_t kPiece = 16, kMaxPieces = (int64_t{1} << 31) - (int64_t{1} << 24);
  const int64_t pieces = ceil_div(from.line_elements * bytes, kPiece);
  const bool countable = pieces > 0 && from.lines > 0 && pieces <= kMaxPieces / from.lines;
  if (from.matrices > 1 || from.transposes || !countable) return false;
  // The kernel loads the last piece of an operand in units of 2 bytes.
  const bool is_even = bytes > 1 || (from.alignment != 0 &&
                                     (from.alignment | from.leading | from.line_elements) % 2 == 0);
  if (!is_even) return false;
  out->src_pitch = from.leading * bytes;
  out->dst_pitch = from.copy_pitch(bytes) * bytes;
  out->end = static_cast<uint64_t>((from.lines - 1) * from.leading + from.line_elements) *
             static_cast<uint64_t>(bytes);
  out->pieces = static_cast<u32>(pieces * from.lines);
  out->line_pieces = make_divider(static_cast<u32>(pieces));
  return true;
}

// Counts an operand's copy for the cost model, if every run needs it: no map can have the operand's
// order, pitch and batch stride.
void count_copy(const Operand& from, GemmProblem* problem) {
  if (from.strides_suit(problem->in_bytes)) return;
  ++problem->staging_copies;
  problem->staging_copy_bytes += 2.0 * problem->in_bytes * static_cast<double>(from.line_elements) *
                                 static_cast<double>(from.lines) *
                                 static_cast<double>(from.matrices);
}

}  // namespace

GemmProblem gemm_with_staging(const GemmProblem& problem) {
  if (!problem.desc.staging_copy) return problem;
  GemmProblem caller_problem = problem.swapped ? swap_ab(problem) : problem;
  const Operand a = operand_a(caller_problem.desc), b = operand_b(caller_problem.desc);
  caller_problem.desc.lda = a.copy_pitch(caller_problem.in_bytes);
  caller_problem.desc.ldb = b.copy_pitch(caller_problem.in_bytes);
  if (a.transposes) caller_problem.desc.a_order = Order::row;
  if (b.transposes) caller_problem.desc.b_order = Order::column;
  if (a.matrices > 1)
    caller_problem.desc.a_batch_stride = a.copy_batch_stride(caller_problem.in_bytes);
  if (b.matrices > 1)
    caller_problem.desc.b_batch_stride = b.copy_batch_stride(caller_problem.in_bytes);
  count_copy(a, &caller_problem);
  count_copy(b, &caller_problem);
  return problem.swapped ? swap_ab(caller_problem) : caller_problem;
}

// Decides which operands are copied, and how. Loads no kernels.
Status GemmStagingCopies::decide(const Device& device, const GemmProblem& problem) {
  const GemmDesc caller = caller_desc_of(problem);
  const std::pair<Operand, Copy*> operands[] = {{operand_a(caller), &a_}, {operand_b(caller), &b_}};
  max_blocks_ = static_cast<uint32_t>(max_blocks(device, caller.max_sms, kStagingCtasPerSm));
  // One launch copies both operands if each thread has at most kStagingMaxPieces pieces: launch
  // latency bounds such copies. After a larger copy by this kernel, products without clusters run
  // up to 15 % slower than after copy plans.
  int64_t pieces = 0;
  one_launch_ = staging_copy_entry(device) != nullptr;
  for (const auto& [from, copy] : operands) {
    if (from.always_suits_maps(problem.in_bytes)) continue;
    one_launch_ = one_launch_ && fill_kernel_args(from, problem.in_bytes, &copy->kernel_args);
    pieces += copy->kernel_args.pieces;
  }
  one_launch_ = one_launch_ && pieces <= int64_t{max_blocks_} * kStagingThreads * kStagingMaxPieces;
  for (const auto& [from, copy] : operands) {
    if (from.always_suits_maps(problem.in_bytes)) continue;
    TW_TRY(check_operand(caller, from, problem.in_bytes));
    if (!one_launch_) TW_TRY(CopyPlan::check(device, copy_desc(caller, from)));
    copy->possible = true;
    copy->always_needed = !from.strides_suit(problem.in_bytes);
    copy->offset = bytes_;
    const int64_t elements =
        from.copy_elements(problem.in_bytes) +
        std::max<int64_t>(from.matrices - 1, 0) * from.copy_batch_stride(problem.in_bytes);
    bytes_ += static_cast<uint64_t>(
        round_up(elements * problem.in_bytes, int64_t{kGemmWorkspaceAlignment}));
  }
  return {};
}

Status GemmStagingCopies::check(const Device& device, const GemmProblem& problem) {
  return GemmStagingCopies().decide(device, problem);
}

Status GemmStagingCopies::create(const std::shared_ptr<Device>& device, const GemmProblem& problem,
                                 std::unique_ptr<GemmStagingCopies>* out) {
  if (!problem.desc.staging_copy) return {};
  std::unique_ptr<GemmStagingCopies> made(new GemmStagingCopies);
  TW_TRY(made->decide(*device, problem));
  if (made->bytes_ == 0) return {};
  const GemmDesc caller = caller_desc_of(problem);
  if (made->one_launch_)
    TW_TRY(prepare_entry(*device, Family::gemm, staging_copy_entry(*device), 0, &made->kernel_));
  else if (made->a_.possible)
    TW_TRY(CopyPlan::create(device, copy_desc(caller, operand_a(caller)), &made->a_.plan));
  if (!made->one_launch_ && made->b_.possible)
    TW_TRY(CopyPlan::create(device, copy_desc(caller, operand_b(caller)), &made->b_.plan));
  *out = std::move(made);
  return {};
}

// If enough blocks can run at the same time, each thread copies one piece. Otherwise the blocks are
// divided between the operands in proportion to their pieces, with at least one block for each.
Status GemmStagingCopies::launch(Stream& stream, GemmStagingArgs args) const {
  const uint64_t first = args.operands[0].pieces, second = args.operands[1].pieces;
  if (first == 0 && second == 0) return {};
  if (first != 0 && second != 0 && max_blocks_ == 1) {  // a single block: two launches
    GemmStagingArgs one = args;
    one.operands[1] = {};
    TW_TRY(launch(stream, one));
    args.operands[0] = {};
    return launch(stream, args);
  }
  const auto needed = [](uint64_t pieces) {
    return (pieces + kStagingThreads - 1) / kStagingThreads;
  };
  uint64_t blocks = needed(first), others = needed(second);
  if (blocks + others > max_blocks_) {
    const uint64_t least = first != 0 ? 1 : 0, most = max_blocks_ - (second != 0 ? 1 : 0);
    blocks = std::clamp(max_blocks_ * first / (first + second), least, most);
    others = max_blocks_ - blocks;
  }
  args.blocks = static_cast<u32>(blocks);
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(blocks + others);
  config.block[0] = kStagingThreads;
  return stream.launch(*kernel_.kernel, config, &args, sizeof args);
}

Status GemmStagingCopies::apply(Stream& stream, GemmRun* run, u32* staged_operands) const {
  const std::pair<const Copy*, uint64_t*> operands[] = {{&a_, &run->a}, {&b_, &run->b}};
  GemmStagingArgs args{};
  for (int i = 0; i < 2; ++i) {
    const auto& [copy, address] = operands[i];
    if (!copy->possible || (!copy->always_needed && *address % kMapAlignment == 0)) continue;
    const uint64_t to = run->workspace + copy->offset;
    if (copy->plan) {
      TW_TRY(static_cast<const CopyPlan&>(*copy->plan).run(stream, *address, to));
    } else {
      args.operands[i] = copy->kernel_args;
      args.operands[i].src = *address;
      args.operands[i].end += *address;
      args.operands[i].dst = to;
    }
    *address = to;
    // After a copy plan the product loads neither operand before griddepcontrol.wait. An operand
    // that was not copied could be loaded before it, but the tuning entries and the cost model were
    // measured without such early loads.
    *staged_operands |= copy->plan ? u32{kGemmOperandBoth}
                        : i == 0   ? u32{kGemmOperandA}
                                   : u32{kGemmOperandB};
  }
  return launch(stream, args);
}

}  // namespace tw
