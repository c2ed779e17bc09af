// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_realign.hpp"

#include <algorithm>
#include <cinttypes>

#include "base/checked.hpp"
#include "kernels/gemm/arguments/gemm.h"
#include "ops/common/strided_span.hpp"
#include "ops/copy/copy.hpp"

namespace tw {
namespace {

// Lines of copies begin at multiples of an L2 line, in bytes.
constexpr int64_t kLineAlignment = 128;

// One of the caller's two operands, with the names of its fields for messages.
struct Operand {
  const char* leading_name;
  const char* stride_name;
  const char* alignment_name;
  int64_t contiguous, lines, leading;
  uint32_t alignment;
  bool by_rows;              // its extent depends on the run's m
  int64_t matrices, stride;  // matrices is 1 if all products share one
  bool turns;                // the copy is transposed: TMA kernels for narrow types need K-major

  bool pitch_suits(int32_t bytes) const {
    return !turns && pitch_suits_maps(leading * bytes) &&
           (matrices <= 1 || pitch_suits_maps(stride * bytes));
  }
  bool certain(int32_t bytes) const { return pitch_suits(bytes) && alignment >= kMapAlignment; }
  // The copy's pitch; the operand's own if a map can have it.
  int64_t pitch(int32_t bytes) const {
    if (pitch_suits(bytes)) return leading;
    return round_up(std::max<int64_t>(copy_contiguous(), 1) * bytes, kLineAlignment) / bytes;
  }
  int64_t copied(int32_t bytes) const {  // elements of a matrix's copy
    return pitch(bytes) * std::max<int64_t>(copy_lines(), 1);
  }
  int64_t copy_contiguous() const { return turns ? lines : contiguous; }
  int64_t copy_lines() const { return turns ? contiguous : lines; }
  int64_t batch_stride(int32_t bytes) const { return pitch_suits(bytes) ? stride : copied(bytes); }
};

int64_t matrices_of(const GemmDesc& own, int64_t stride) {
  return stride == 0 ? 1 : own.batch;
}

// `own` is the caller's description, with D in the caller's order.
Operand operand_a(const GemmDesc& own) {
  const bool row = own.a_order == Order::row;
  return {"lda",
          "a_batch_stride",
          "a_alignment",
          row ? own.k : own.m,
          row ? own.m : own.k,
          own.lda,
          own.a_alignment,
          true,
          matrices_of(own, own.a_batch),
          own.a_batch,
          own.is_narrow() && !row};
}

Operand operand_b(const GemmDesc& own) {
  const bool row = own.b_order == Order::row;
  return {"ldb",
          "b_batch_stride",
          "b_alignment",
          row ? own.n : own.k,
          row ? own.k : own.n,
          own.ldb,
          own.b_alignment,
          false,
          matrices_of(own, own.b_batch),
          own.b_batch,
          own.is_narrow() && row};
}

GemmDesc own_desc(const GemmProblem& problem) {
  return problem.swapped ? turned(problem).desc : problem.desc;
}

// If maps can have the operand's strides, the copy has the same ones. Then matrices of a batch must
// not share elements, because each is copied.
Status check_copied(const Operand& from, int32_t bytes) {
  if (!from.pitch_suits(bytes)) return {};
  const int64_t other =
      gemm_first_overlap(from.lines, from.contiguous, from.leading, from.matrices, from.stride);
  if (other == 0) return {};
  const int64_t apart = (from.lines - 1) * from.leading + from.contiguous;
  return fail(Code::ERROR_OVERLAP,
              {.argument = from.stride_name,
               .index = static_cast<int32_t>(other),
               .rule = "gemm_realign_batch",
               .got = from.stride,
               .limit = apart},
              "%s is %" PRId64 ", so that matrices 0 and %" PRId64
              " share elements, and TW_GEMM_STAGING_COPY copies each where the run's address is no "
              "multiple of "
              "16: promise %s 16, give a stride of %" PRId64
              " or more, or leave TW_GEMM_STAGING_COPY out",
              from.stride_name, from.stride, other, from.alignment_name, apart);
}

// Checks that the operand and its copy span at most kMaxSpan bytes, the limit of copies. That the
// operand's bytes fit 63 bits has been checked.
Status check_span(const Operand& from, int32_t bytes) {
  if (from.lines == 0 || from.contiguous == 0 || from.matrices == 0) return {};
  const int64_t most = kMaxSpan / bytes;
  const auto refuse = [&](const char* argument, int64_t got, int64_t limit, const char* what) {
    return fail(Code::ERROR_OVERFLOW,
                {.argument = argument, .rule = "gemm_realign_span", .got = got, .limit = limit},
                "%s is %" PRId64
                ": %s would exceed the 2^60 bytes that a staging copy can have: %" PRId64
                " at most, or leave TW_GEMM_STAGING_COPY out",
                argument, got, what, limit);
  };
  const int64_t one = (from.lines - 1) * from.leading + from.contiguous;
  if (one > most)
    return refuse(from.leading_name, from.leading, (most - from.contiguous) / (from.lines - 1),
                  "a matrix");
  if (from.matrices > 1 && from.stride > (most - one) / (from.matrices - 1))
    return refuse(from.stride_name, from.stride, (most - one) / (from.matrices - 1),
                  "a batch from its first element to its last");
  const int64_t fits = most / from.copied(bytes);
  if (from.pitch_suits(bytes) || from.matrices <= fits) return {};
  if (fits == 0) return refuse("flags", 1, 0, "a matrix in lines of whole 128 bytes");
  return refuse("batch_count", from.matrices, fits, "copies of all matrices");
}

// Copies have fixed extents, so A can only be copied if every run has the plan's m.
Status check_operand(const GemmDesc& own, const Operand& from, int32_t bytes) {
  if (from.by_rows && own.min_m != own.m)
    return fail(
        Code::ERROR_UNSUPPORTED,
        {.argument = "flags", .rule = "gemm_realign_rows", .got = own.min_m, .limit = own.m},
        "flags has TW_GEMM_STAGING_COPY, and A may need a copy, which always has m %" PRId64
        " rows: set min_m (now %" PRId64
        ") to m, or give A a pitch and a promised alignment that are multiples of 16 bytes",
        own.m, own.min_m);
  TW_TRY(check_span(from, bytes));
  return check_copied(from, bytes);
}

CopyDesc copy_desc(const GemmDesc& own, const Operand& from) {
  const int32_t bytes = dtype_bytes(own.a_dtype);
  CopyDesc copy;
  copy.dtype = bytes == 1 ? DType::U8 : bytes == 4 ? DType::F32 : own.a_dtype;
  copy.src_alignment = from.alignment;
  copy.dst_alignment = kGemmWorkspaceAlignment;
  copy.max_sms = own.max_sms;
  copy.rank = 0;
  const auto dimension = [&](int64_t extent, int64_t src_stride, int64_t dst_stride) {
    copy.shape[copy.rank] = extent;
    copy.src_stride[copy.rank] = src_stride;
    copy.dst_stride[copy.rank++] = dst_stride;
  };
  if (from.matrices != 1) dimension(from.matrices, from.stride, from.batch_stride(bytes));
  dimension(from.copy_lines(), from.turns ? 1 : from.leading, from.pitch(bytes));
  dimension(from.copy_contiguous(), from.turns ? from.leading : 1, 1);
  // If matrices of a batch interleave, the copy's padding holds other matrices.
  copy.padding_free = from.matrices <= 1 || from.batch_stride(bytes) >= from.copied(bytes);
  return copy;
}

const KernelEntry* row_for(const Device& device) {
  return find_entry(device, Family::gemm, [](const KernelEntry& entry) {
    return (entry.variant & kGemmStagingCopy) != 0;
  });
}

// Fills in the copy kernel's arguments without addresses; false if a copy plan must do the copy.
bool fill_lines(const Operand& from, int32_t bytes, GemmRealignOperand* out) {
  constexpr int64_t kPiece = 16, kMostPieces = (int64_t{1} << 31) - (int64_t{1} << 24);
  const int64_t pieces = ceil_div(from.contiguous * bytes, kPiece);
  const bool few = pieces > 0 && from.lines > 0 && pieces <= kMostPieces / from.lines;
  if (from.matrices > 1 || from.turns || !few) return false;
  out->src_pitch = from.leading * bytes;
  out->dst_pitch = from.pitch(bytes) * bytes;
  out->end = static_cast<uint64_t>((from.lines - 1) * from.leading + from.contiguous) *
             static_cast<uint64_t>(bytes);
  out->pieces = static_cast<u32>(pieces * from.lines);
  out->of_line = make_divider(static_cast<u32>(pieces));
  return true;
}

// Counts an operand's copy for the cost model, if its pitch requires one.
void count_copy(const Operand& from, GemmProblem* problem) {
  if (from.pitch_suits(problem->in_bytes)) return;
  ++problem->copies;
  problem->copied_bytes += 2.0 * problem->in_bytes * static_cast<double>(from.contiguous) *
                           static_cast<double>(from.lines) * static_cast<double>(from.matrices);
}

}  // namespace

GemmProblem gemm_with_staging(const GemmProblem& problem) {
  if (!problem.desc.realign) return problem;
  GemmProblem own = problem.swapped ? turned(problem) : problem;
  const Operand a = operand_a(own.desc), b = operand_b(own.desc);
  own.desc.lda = a.pitch(own.in_bytes);
  own.desc.ldb = b.pitch(own.in_bytes);
  if (a.turns) own.desc.a_order = Order::row;
  if (b.turns) own.desc.b_order = Order::column;
  if (a.matrices > 1) own.desc.a_batch = a.batch_stride(own.in_bytes);
  if (b.matrices > 1) own.desc.b_batch = b.batch_stride(own.in_bytes);
  count_copy(a, &own);
  count_copy(b, &own);
  return problem.swapped ? turned(own) : own;
}

// Decides which operands are copied and how. Needs no kernels.
Status GemmStagingCopies::arrange(const Device& device, const GemmProblem& problem) {
  const GemmDesc own = own_desc(problem);
  const std::pair<Operand, Copy*> operands[] = {{operand_a(own), &a_}, {operand_b(own), &b_}};
  most_blocks_ = static_cast<uint32_t>(max_blocks(device, own.max_sms, kStagingCtasPerSm));
  // One launch copies both operands if each thread has at most kStagingMaxPieces pieces: such
  // copies are bound by launch latency. After larger ones, products without clusters run up to 15 %
  // slower.
  int64_t pieces = 0;
  alone_ = row_for(device) != nullptr;
  for (const auto& [from, copy] : operands) {
    if (from.certain(problem.in_bytes)) continue;
    alone_ = alone_ && fill_lines(from, problem.in_bytes, &copy->lines);
    pieces += copy->lines.pieces;
  }
  alone_ = alone_ && pieces <= int64_t{most_blocks_} * kRealignThreads * kStagingMaxPieces;
  for (const auto& [from, copy] : operands) {
    if (from.certain(problem.in_bytes)) continue;
    TW_TRY(check_operand(own, from, problem.in_bytes));
    if (!alone_) TW_TRY(CopyPlan::check(device, copy_desc(own, from)));
    copy->wanted = true;
    copy->always = !from.pitch_suits(problem.in_bytes);
    copy->offset = bytes_;
    const int64_t elements =
        from.copied(problem.in_bytes) +
        std::max<int64_t>(from.matrices - 1, 0) * from.batch_stride(problem.in_bytes);
    bytes_ += static_cast<uint64_t>(
        round_up(elements * problem.in_bytes, int64_t{kGemmWorkspaceAlignment}));
  }
  return {};
}

Status GemmStagingCopies::check(const Device& device, const GemmProblem& problem) {
  return GemmStagingCopies().arrange(device, problem);
}

Status GemmStagingCopies::create(const std::shared_ptr<Device>& device, const GemmProblem& problem,
                                 std::unique_ptr<GemmStagingCopies>* out) {
  if (!problem.desc.realign) return {};
  std::unique_ptr<GemmStagingCopies> made(new GemmStagingCopies);
  TW_TRY(made->arrange(*device, problem));
  if (made->bytes_ == 0) return {};
  const GemmDesc own = own_desc(problem);
  if (made->alone_)
    TW_TRY(prepare_entry(*device, Family::gemm, row_for(*device), 0, &made->kernel_));
  else if (made->a_.wanted)
    TW_TRY(CopyPlan::create(device, copy_desc(own, operand_a(own)), &made->a_.plan));
  if (!made->alone_ && made->b_.wanted)
    TW_TRY(CopyPlan::create(device, copy_desc(own, operand_b(own)), &made->b_.plan));
  *out = std::move(made);
  return {};
}

// Divides the blocks between the operands in proportion to their pieces, with at least one each;
// one piece per thread if the chip has room.
Status GemmStagingCopies::launch(Stream& stream, GemmRealignArgs args) const {
  const uint64_t first = args.operands[0].pieces, second = args.operands[1].pieces;
  if (first == 0 && second == 0) return {};
  if (first != 0 && second != 0 && most_blocks_ == 1) {  // a single block: two launches
    GemmRealignArgs one = args;
    one.operands[1] = {};
    TW_TRY(launch(stream, one));
    args.operands[0] = {};
    return launch(stream, args);
  }
  const auto needed = [](uint64_t pieces) {
    return (pieces + kRealignThreads - 1) / kRealignThreads;
  };
  uint64_t blocks = needed(first), others = needed(second);
  if (blocks + others > most_blocks_) {
    const uint64_t least = first != 0 ? 1 : 0, most = most_blocks_ - (second != 0 ? 1 : 0);
    blocks = std::clamp(most_blocks_ * first / (first + second), least, most);
    others = most_blocks_ - blocks;
  }
  args.blocks = static_cast<u32>(blocks);
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>(blocks + others);
  config.block[0] = kRealignThreads;
  return stream.launch(*kernel_.kernel, config, &args, sizeof args);
}

Status GemmStagingCopies::apply(Stream& stream, GemmRun* run, u32* copied) const {
  const std::pair<const Copy*, uint64_t*> operands[] = {{&a_, &run->a}, {&b_, &run->b}};
  GemmRealignArgs args{};
  for (int i = 0; i < 2; ++i) {
    const auto& [copy, address] = operands[i];
    if (!copy->wanted || (!copy->always && *address % kMapAlignment == 0)) continue;
    const uint64_t to = run->workspace + copy->offset;
    if (copy->plan) {
      TW_TRY(static_cast<const CopyPlan&>(*copy->plan).run(stream, *address, to));
    } else {
      args.operands[i] = copy->lines;
      args.operands[i].src = *address;
      args.operands[i].end += *address;
      args.operands[i].dst = to;
    }
    *address = to;
    // After a copy plan the product loads nothing early; measurements were made this way.
    *copied |= copy->plan ? u32{kGemmEarlyBoth} : i == 0 ? u32{kGemmEarlyA} : u32{kGemmEarlyB};
  }
  return launch(stream, args);
}

}  // namespace tw
