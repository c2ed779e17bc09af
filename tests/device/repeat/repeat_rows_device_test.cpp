// SPDX-License-Identifier: Apache-2.0
// Repeats gathers and scatters a thousand times each, with every method. Each run must give the
// bytes of plain loads and stores or, if no other method adds in the same order, of the first run.
#include <numeric>

#include "ops/rows/rows.hpp"
#include "tests/device/repeat/repeat_lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kRows = 1500;
constexpr uint64_t kWeights = 1 << 20;  // offset of the weights from the indices
constexpr uint32_t kCrowdThreads = 384;

enum class Indices { distinct, some_out, none_in, fours, anyhow };

std::vector<int32_t> draw(Indices kind) {
  std::vector<int32_t> index(static_cast<size_t>(kRows));
  std::iota(index.begin(), index.end(), 0);
  std::mt19937_64 random(3);
  std::shuffle(index.begin(), index.end(), random);
  if (kind == Indices::some_out)
    for (size_t i = 0; i < index.size(); i += 5) index[i] = i % 2 ? -1 : 2000000000;
  if (kind == Indices::none_in) std::fill(index.begin(), index.end(), -1);
  if (kind == Indices::fours)
    for (size_t i = 0; i < index.size(); ++i) index[i] = static_cast<int32_t>(i / 4);
  if (kind == Indices::anyhow)
    for (int32_t& i : index) i = static_cast<int32_t>(pick(random, 0, 99));
  return index;
}

struct RowsCase {
  Op op;
  uint32_t method;
  DType dtype = DType::U8;
  int64_t columns = 0;
  int64_t gap = 0;  // elements between the table's rows
  Indices indices = Indices::some_out;
  uint32_t reduction = kReduceNone;
  uint32_t flags = 0;
  int64_t group = 1;
  uint32_t truth = 0;  // the method that gives the truth; 0: the case's own
  uint32_t warps = 0;  // warps per block, with the fewest stages; 0: the plan's choice
  uint32_t stage_bytes = 0;
};

RowsDesc desc_of(const RowsCase& c) {
  RowsDesc desc;
  desc.dtype = c.dtype;
  desc.columns = c.columns;
  desc.table_rows = kRows;
  desc.table_pitch = c.columns + c.gap;
  desc.count = kRows / c.group;
  desc.group = c.group;
  desc.reduction = static_cast<int32_t>(c.reduction);
  desc.flags = c.flags;
  // 20 SMs use each stage many times. With all SMs a warp has one stage and sends zeros off as soon
  // as it has written them.
  desc.warps = c.warps;
  desc.stages = c.warps == 0 ? 0 : 4;
  desc.stage_bytes = c.stage_bytes;
  desc.max_sms = c.method == kRowsFew || c.indices == Indices::none_in ? 0 : 20;
  return desc;
}

void repeat_rows(RepeatLab& lab, TakenRows* taken, const RowsCase& c) {
  lab.put(lab.index(), draw(c.indices));
  TW_REQUIRE_OK(lab.check.fill(lab.index() + kWeights, 1, kRows, 0, DType::F32, 5, 0));
  const auto planned = [&](uint32_t method) {
    RowsDesc desc = desc_of(c);
    desc.methods = 1u << method;
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(RowsPlan::create(lab.device, c.op, desc, &plan));
    REQUIRE(plan->info().workspace_bytes <= RepeatLab::kBytes);
    return plan;
  };
  const auto plan = planned(c.method);
  const auto plain = planned(c.truth == 0 ? c.method : c.truth);
  INFO(plan->explain());
  taken->take(*plan);
  const bool gather = c.op == Op::gather;
  const auto run = [&](const Plan& which, uint64_t to) {
    RowsRun args{.table = gather ? lab.source() : to,
                 .index = lab.index(),
                 .packed = gather ? to : lab.source()};
    if (c.flags & kRowsWeighted) args.weights = lab.index() + kWeights;
    args.workspace = lab.workspace();
    args.workspace_bytes = RepeatLab::kBytes;
    return static_cast<const RowsPlan&>(which).run(*lab.stream, args);
  };
  // Reductions start from 0, so that the sums keep their last bits.
  lab.repeat([&](uint64_t to) { return run(*plain, to); },
             [&](uint64_t to) { return run(*plan, to); }, c.reduction == kReduceNone ? 0x5c : 0);
}

}  // namespace

TEST_CASE("gather: a thousand runs by each method") {
  RepeatLab lab;
  if (!lab.open()) return;
  TakenRows taken;
  for (const RowsCase& c : {
           RowsCase{Op::gather, kRowsBulk, DType::U8, 4096, 16},
           RowsCase{Op::gather, kRowsBulk, DType::U8, 48, 16},
           RowsCase{Op::gather, kRowsBulk, DType::U8, 4096, 16, Indices::none_in},
           RowsCase{Op::gather, kRowsBulk, DType::U8, 256, 16, Indices::none_in},
           RowsCase{Op::gather, kRowsStaged, DType::U8, 48, 16},
           RowsCase{Op::gather, kRowsStaged, DType::U8, 48, 16, Indices::none_in},
           RowsCase{Op::gather, kRowsStaged, DType::U8, 512, 16},
           RowsCase{Op::gather, kRowsShift, DType::U8, 4099, 3},
           RowsCase{Op::gather, kRowsFew, DType::U8, 4096, 16},
       }) {
    RowsCase with_truth = c;
    with_truth.truth = kRowsPlain;
    repeat_rows(lab, &taken, with_truth);
  }
  RowsCase sum{Op::gather, kRowsSum, DType::F32, 256, 8, Indices::some_out, kReduceNone, 0, 4};
  sum.truth = kRowsSumPlain;
  for (const uint32_t flags : {0u, uint32_t{kRowsWeighted}})
    for (const int64_t group : {1, 4})
      for (const DType dtype : {DType::F32, DType::BF16}) {
        if (flags == 0 && group == 1) continue;
        sum.flags = flags;
        sum.group = group;
        sum.dtype = dtype;
        repeat_rows(lab, &taken, sum);
      }
  RowsCase plain = sum;
  plain.method = kRowsSumPlain;
  plain.truth = kRowsSum;
  repeat_rows(lab, &taken, plain);
  RowsCase own{Op::gather, kRowsPlain, DType::U8, 4096, 16};
  own.truth = kRowsBulk;
  repeat_rows(lab, &taken, own);
  if (lab.device->info().kernel_features & feature::gather4) {
    RowsCase four{Op::gather, kRowsFour, DType::U8, 4096, 16};
    four.truth = kRowsPlain;
    repeat_rows(lab, &taken, four);
  }
  taken.check_all(*lab.device, Family::gather,
                  [](const KernelEntry& entry) { return entry.variant < kRowsOutside; });
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each");
}

// Other blocks' accesses delay the threads' writes to a stage, but not the TMA's reads of it, so
// that a missing fence shows.
TEST_CASE("gather: a thousand runs beside blocks that keep shared memory busy") {
  RepeatLab lab;
  if (!lab.open()) return;
  lab.crowd = kCrowdThreads;
  TakenRows taken;
  for (const uint32_t warps : {1u, 4u, 16u})
    for (const RowsCase& c : {
             RowsCase{Op::gather, kRowsBulk, DType::U8, 4096, 16, Indices::none_in},
             RowsCase{Op::gather, kRowsBulk, DType::U8, 48, 16, Indices::some_out},
             RowsCase{Op::gather, kRowsStaged, DType::U8, 48, 16, Indices::none_in},
             RowsCase{Op::gather, kRowsStaged, DType::U8, 512, 16},
             RowsCase{Op::gather, kRowsSum, DType::F32, 256, 8, Indices::some_out, kReduceNone,
                      kRowsWeighted, 4},
         }) {
      RowsCase crowded = c;
      crowded.truth = c.method == kRowsSum ? kRowsSumPlain : kRowsPlain;
      crowded.warps = warps;
      crowded.stage_bytes = c.method == kRowsSum ? 4096 : 1024;
      repeat_rows(lab, &taken, crowded);
    }
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each, " << lab.alone()
                    << " of which had no room beside others");
}

TEST_CASE("scatter: a thousand runs beside blocks that keep shared memory busy") {
  RepeatLab lab;
  if (!lab.open()) return;
  lab.crowd = kCrowdThreads;
  TakenRows taken;
  for (const uint32_t warps : {1u, 4u, 16u})
    for (const DType dtype : {DType::F32, DType::BF16}) {
      RowsCase c{Op::scatter, kRowsBulkReduce,   dtype,      256,
                 8,           Indices::distinct, kReduceAdd, kRowsWeighted};
      c.warps = warps;
      c.stage_bytes = 1024;
      repeat_rows(lab, &taken, c);
    }
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each, " << lab.alone()
                    << " of which had no room beside others");
}

TEST_CASE("scatter: a thousand runs by each method") {
  RepeatLab lab;
  if (!lab.open()) return;
  TakenRows taken;
  for (const RowsCase& c : {
           RowsCase{Op::scatter, kRowsBulk, DType::U8, 4096, 16},
           RowsCase{Op::scatter, kRowsBulk, DType::U8, 48, 16},
           RowsCase{Op::scatter, kRowsStaged, DType::U8, 48, 16},
           RowsCase{Op::scatter, kRowsStaged, DType::U8, 512, 16},
           RowsCase{Op::scatter, kRowsShift, DType::U8, 4099, 3},
           RowsCase{Op::scatter, kRowsFew, DType::U8, 4096, 16},
           RowsCase{Op::scatter, kRowsBulk, DType::U8, 4096, 16, Indices::anyhow, kReduceNone,
                    kRowsLastWins},
       }) {
    RowsCase with_truth = c;
    with_truth.truth = kRowsPlain;
    repeat_rows(lab, &taken, with_truth);
  }
  RowsCase own{Op::scatter, kRowsPlain, DType::U8, 4096, 16};
  own.truth = kRowsBulk;
  repeat_rows(lab, &taken, own);
  // Integer sums are exact in any order. Floating-point sums only with distinct rows, or with
  // groups of four that one tile sorts.
  RowsCase add{Op::scatter, kRowsBulkReduce, DType::I32, 256, 4, Indices::anyhow, kReduceAdd};
  add.truth = kRowsReduce;
  repeat_rows(lab, &taken, add);
  add.method = kRowsReduce;
  add.truth = kRowsBulkReduce;
  repeat_rows(lab, &taken, add);
  for (const DType dtype : {DType::F32, DType::BF16})
    for (const uint32_t flags : {0u, uint32_t{kRowsWeighted}}) {
      const RowsCase sums[] = {
          {Op::scatter, kRowsBulkReduce, dtype, 256, 8, Indices::distinct, kReduceAdd, flags},
          {Op::scatter, kRowsSorted, dtype, 256, 8, Indices::fours, kReduceAdd, flags},
          {Op::scatter, kRowsSorted, dtype, 256, 8, Indices::anyhow, kReduceAdd,
           flags | kRowsDeterministic}};
      for (const RowsCase& c : sums) repeat_rows(lab, &taken, c);
    }
  if (lab.device->info().kernel_features & feature::scatter4) {
    RowsCase four{Op::scatter, kRowsFour, DType::U8, 4096, 16};
    four.truth = kRowsPlain;
    repeat_rows(lab, &taken, four);
  }
  taken.check_all(*lab.device, Family::scatter,
                  [](const KernelEntry& entry) { return entry.variant < kRowsOutside; });
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each");
}
