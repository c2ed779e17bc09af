// SPDX-License-Identifier: Apache-2.0
// Which kernel a rows plan chooses on each device, and why it rejects the others.
#include "ops/rows/rows.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::shared_ptr<PaperDevice> gpu(FeatureMask features) {
  auto device = std::make_shared<PaperDevice>(features, 132);
  device->set_shared_memory(232448);
  return device;
}

constexpr FeatureMask kSm90 = feature::tma | feature::mma | feature::wgmma;
constexpr FeatureMask kSm100 =
    feature::tma | feature::mma | feature::gather4 | feature::scatter4 | feature::tcgen05;
constexpr FeatureMask kSm120 = feature::tma | feature::mma | feature::gather4;

RowsDesc rows_of(int64_t columns) {
  RowsDesc desc;
  desc.dtype = DType::BF16;
  desc.table_rows = 100000;
  desc.columns = columns;
  desc.count = 4096;
  desc.table_alignment = 16;
  desc.packed_alignment = 16;
  return desc;
}

std::unique_ptr<Plan> plan_on(FeatureMask features, Op op, const RowsDesc& desc) {
  std::unique_ptr<Plan> plan;
  INFO(last_failure().message);
  REQUIRE(RowsPlan::create(gpu(features), op, desc, &plan).ok());
  return plan;
}

bool says(const Plan& plan, const std::string& text) {
  INFO(plan.explain());
  const bool found = plan.explain().find(text) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("rows: four rows an instruction where the device has it") {
  const RowsDesc desc = rows_of(128);
  CHECK(plan_on(kSm100, Op::gather, desc)->info().kernel == std::string("gather_four_gather4"));
  CHECK(plan_on(kSm100, Op::scatter, desc)->info().kernel == std::string("scatter_four_scatter4"));
  CHECK(plan_on(kSm120, Op::gather, desc)->info().kernel == std::string("gather_four_gather4"));
  // 12.x has gather4 but no scatter4.
  const auto scatter = plan_on(kSm120, Op::scatter, desc);
  CHECK(scatter->info().kernel != std::string("scatter_four_scatter4"));
  says(*scatter, "the device has no scatter4");
  const auto hopper = plan_on(kSm90, Op::gather, desc);
  CHECK(hopper->info().kernel != std::string("gather_four_gather4"));
  says(*hopper, "the device has no gather4");
}

TEST_CASE("rows: what gather4 and scatter4 cannot do, and the plan says so") {
  const auto refused = [](Op op, const RowsDesc& desc, const char* reason) {
    const auto plan = plan_on(kSm100, op, desc);
    CHECK(std::string(plan->info().kernel).find("four") == std::string::npos);
    says(*plan, reason);
  };
  for (const Op op : {Op::gather, Op::scatter}) {
    RowsDesc desc = rows_of(128);
    desc.count = 7;
    refused(op, desc, "fewer than 8 rows");
    desc = rows_of(8);
    refused(op, desc, "shorter than 32 bytes");
    desc = rows_of(128);
    desc.column = 4;
    refused(op, desc, "first column does not lie at a multiple of 16 bytes");
    desc = rows_of(132);
    desc.table_pitch = desc.packed_pitch = 136;
    refused(op, desc, "row size is not a multiple of 16 bytes");
    desc = rows_of(128);
    desc.table_pitch = 132;
    refused(op, desc, "table's pitch is not a multiple of 16 bytes");
    desc = rows_of(128);
    desc.packed_pitch = 132;
    refused(op, desc, "packed operand's pitch is not a multiple of 16 bytes");
    desc = rows_of(128);
    desc.table_alignment = 8;
    refused(op, desc, "table's address is not a multiple of 16");
    desc = rows_of(128);
    desc.packed_alignment = 4;
    refused(op, desc, "packed operand's address is not a multiple of 16");
    desc = rows_of(128);
    desc.table_rows = int64_t{1} << 31;
    refused(op, desc, "do not fit 31 bits");
  }
  // TMA clips stores at 16 bytes: a window that reaches past the table must end at such a boundary.
  RowsDesc hanging = rows_of(128);
  hanging.table_columns = 100;
  hanging.table_pitch = 104;
  refused(Op::scatter, hanging, "row size is not a multiple of 16 bytes");
  CHECK(plan_on(kSm100, Op::gather, hanging)->info().kernel == std::string("gather_four_gather4"));
  hanging.table_columns = 104;
  CHECK(plan_on(kSm100, Op::scatter, hanging)->info().kernel ==
        std::string("scatter_four_scatter4"));
  // Only a gather may begin at a negative column; gather4 fills it with zeros.
  hanging.column = -16;
  CHECK(plan_on(kSm100, Op::gather, hanging)->info().kernel == std::string("gather_four_gather4"));
}

TEST_CASE("rows: sums and reductions have methods of their own") {
  RowsDesc desc = rows_of(512);
  desc.reduction = kReduceAdd;
  CHECK(plan_on(kSm100, Op::scatter, desc)->info().kernel == std::string("scatter_sorted_tma"));
  desc.reduction = kReduceMax;
  CHECK(plan_on(kSm90, Op::scatter, desc)->info().kernel == std::string("scatter_bulk_reduce_tma"));
  desc.dtype = DType::F32;
  const auto plan = plan_on(kSm90, Op::scatter, desc);
  CHECK(plan->info().kernel == std::string("scatter_reduce_tma"));
  says(*plan, "bulk reductions have no minimum and maximum of f32");
  desc = rows_of(512);
  desc.flags = kRowsWeighted;
  CHECK(plan_on(kSm90, Op::gather, desc)->info().kernel == std::string("gather_sum_tma"));
  desc.group = 4;
  says(*plan_on(kSm90, Op::gather, desc), "each row is the sum of 4");
  desc.group = 100000;
  says(*plan_on(kSm90, Op::gather, desc), "a stage of the pipeline does not hold a group");
}

TEST_CASE("rows: the steps that an option costs, and its workspace") {
  RowsDesc desc = rows_of(512);
  CHECK(plan_on(kSm90, Op::scatter, desc)->info().workspace_bytes == 0);
  desc.flags = kRowsLastWins;
  const auto last = plan_on(kSm90, Op::scatter, desc);
  CHECK(last->info().workspace_bytes >= 400000);
  says(*last, "two passes over the indices");
  desc.flags = kRowsDeterministic;
  desc.reduction = kReduceAdd;
  const auto ordered = plan_on(kSm90, Op::scatter, desc);
  CHECK(ordered->info().workspace_bytes > 0);
  says(*ordered, "in 3 passes of 3 kernels");  // 100,000 rows: 17 bits
  desc.reduction = kReduceMin;
  const auto least = plan_on(kSm90, Op::scatter, desc);
  CHECK(least->info().workspace_bytes == 0);
  says(*least, "costs nothing");
}

TEST_CASE("rows: a window beside the table needs no workspace, however many rows there are") {
  for (const int64_t table_rows : {int64_t{100}, int64_t{1} << 60, INT64_MAX})
    for (const uint32_t flag : {kRowsLastWins, kRowsDeterministic}) {
      RowsDesc desc = rows_of(4);
      desc.dtype = flag == kRowsLastWins ? DType::U8 : DType::F32;
      desc.table_rows = table_rows;
      desc.table_columns = 1;
      desc.column = 5;
      desc.flags = flag;
      desc.reduction = flag == kRowsLastWins ? kReduceNone : kReduceAdd;
      desc.table_pitch = 1;
      desc.count = 3;
      const auto device = gpu(kSm90);
      std::unique_ptr<Plan> plan;
      REQUIRE(RowsPlan::create(device, Op::scatter, desc, &plan).ok());
      INFO(plan->explain());
      CHECK(plan->info().workspace_bytes == 0);
      CHECK(plan->explain().find("workspace") == std::string::npos);
      says(*plan, "no column of the window is the table's");
      std::unique_ptr<Stream> stream;
      REQUIRE(device->create_stream(&stream).ok());
      const RowsRun run{.table = 1ull << 62, .index = 1ull << 52, .packed = 1ull << 53};
      CHECK(static_cast<RowsPlan&>(*plan).run(*stream, run).ok());
      CHECK(device->launches.empty());
    }
}

TEST_CASE("rows: the longest row, and one that is longer") {
  // Alignment 0 promises single bytes: the longest row has one unit per byte.
  for (const DType dtype : {DType::U8, DType::BF16, DType::F32, DType::F64})
    for (const Op op : {Op::gather, Op::scatter})
      for (const uint32_t reduction : {kReduceNone, kReduceAdd, kReduceMax}) {
        if (op == Op::gather && reduction != kReduceNone) continue;
        if (dtype == DType::U8 && reduction != kReduceNone) continue;
        RowsDesc desc = rows_of((1 << 30) / dtype_bytes(dtype));
        desc.dtype = dtype;
        desc.reduction = reduction;
        desc.table_alignment = desc.packed_alignment = 0;
        desc.table_rows = 2;
        CAPTURE(dtype_name(dtype));
        CAPTURE(reduction);
        CHECK(plan_on(kSm90, op, desc)->info().grid[0] > 0);
        ++desc.columns;
        std::unique_ptr<Plan> plan;
        CHECK(!RowsPlan::create(gpu(kSm90), op, desc, &plan).ok());
        CHECK(std::string(last_failure().fault.rule) == "rows_row_limit");
      }
}

// A large group may leave less than 512 bytes of a stage for each part.
TEST_CASE("rows: sums whose pieces 31 bits do not count are not bulk copies'") {
  RowsDesc desc = rows_of(256);
  desc.group = 128;
  const auto kernel = [&](int64_t count, uint32_t stage_bytes) {
    desc.count = count;
    desc.stage_bytes = stage_bytes;
    return std::string(plan_on(kSm90, Op::gather, desc)->info().kernel);
  };
  // A stage of 8192 bytes has 64 bytes for each of 128 rows: eight parts a row.
  constexpr int64_t kMost = (int64_t{1} << 31) / 8 / 128;
  CHECK(kernel(kMost - 1, 0) == "gather_sum_tma");
  CHECK(kernel(kMost, 0) == "gather_sum_plain_tma");
  CHECK(kernel(4300000, 0) == "gather_sum_plain_tma");
  CHECK(kernel(4300000, 65536) == "gather_sum_plain_tma");
  // A stage smaller than the group has no parts.
  CHECK(kernel(4300000, 1024) == "gather_sum_plain_tma");
}

// With several pieces per row, kernels count them in 31 bits: there must not be more.
TEST_CASE("rows: the pieces of bulk rows are fewer than 2^31") {
  for (const int64_t group : {1, 2, 3, 16, 17, 100, 128})
    for (const int64_t columns : {8, 256, 264, 4096, 7168})
      for (const uint32_t max_sms : {0u, 2u})
        for (int64_t count = int64_t{1} << 14; count < int64_t{1} << 34; count = count * 5 / 3) {
          RowsDesc desc = rows_of(columns);
          desc.group = group;
          desc.count = count;
          desc.max_sms = max_sms;
          auto device = gpu(kSm90);
          std::unique_ptr<Plan> plan;
          REQUIRE(RowsPlan::create(device, Op::gather, desc, &plan).ok());
          std::unique_ptr<Stream> stream;
          REQUIRE(device->create_stream(&stream).ok());
          const RowsRun run{.table = 1ull << 32, .index = 1ull << 52, .packed = 1ull << 53};
          REQUIRE(static_cast<RowsPlan&>(*plan).run(*stream, run).ok());
          const PaperLaunch& launch = device->launches.back();
          if (launch.kernel != "gather_sum_tma" && launch.kernel != "gather_bulk_tma") continue;
          const RowsArgs& args = launch.rows;
          const uint64_t of_row = uint64_t{args.parts} * args.group;
          const bool few =
              of_row == 1 || static_cast<uint64_t>(count) <= (kDividerLimit - 1) / of_row;
          CAPTURE(group);
          CAPTURE(columns);
          CAPTURE(count);
          CHECK(few);
        }
}

// Decode shapes. Long rows take one block each, few rows are divided so that all SMs work. Each
// thread has a unit of the row, except for less than a warp per block.
TEST_CASE("rows: a few long rows are launched ahead, in even pieces") {
  struct Shape {
    int64_t columns, count;
    uint32_t pieces, threads;
  };
  for (const Shape& s :
       {Shape{7168, 256, 1, 448}, Shape{7168, 16, 4, 128}, Shape{7168, 100, 2, 224},
        Shape{1024, 1024, 1, 64}, Shape{1032, 500, 1, 96}, Shape{4096, 256, 1, 256},
        Shape{32768, 64, 4, 512}, Shape{1 << 20, 1, 256, 256}})
    for (const Op op : {Op::gather, Op::scatter}) {
      INFO(s.columns, " columns, ", s.count, " rows");
      RowsDesc desc = rows_of(s.columns);
      desc.count = s.count;
      auto device = gpu(kSm90);
      std::unique_ptr<Plan> plan;
      REQUIRE(RowsPlan::create(device, op, desc, &plan).ok());
      says(*plan, "two units of 16 bytes per thread");
      std::unique_ptr<Stream> stream;
      REQUIRE(device->create_stream(&stream).ok());
      RowsRun run{.table = 1ull << 32, .index = 1ull << 52, .packed = 1ull << 53};
      REQUIRE(static_cast<RowsPlan&>(*plan).run(*stream, run).ok());
      const PaperLaunch few = device->launches.back();
      CHECK(few.kernel == std::string(op == Op::gather ? "gather_few_tma" : "scatter_few_tma"));
      CHECK(few.config.programmatic);
      CHECK(few.config.grid[0] == s.count);
      CHECK(few.config.grid[1] == s.pieces);
      CHECK(few.config.block[0] == s.threads);
      const int64_t units = int64_t{s.pieces} * s.threads * kRowsFewFlight;
      CHECK(units >= s.columns / 8);
      CHECK(units - s.columns / 8 < int64_t{s.pieces} * 32 * kRowsFewFlight);
      // With device_count the kernel launches without PDL.
      run.device_count = 1ull << 51;
      REQUIRE(static_cast<RowsPlan&>(*plan).run(*stream, run).ok());
      CHECK(!device->launches.back().config.programmatic);
    }
}

namespace {

struct Window {
  DType dtype;
  int64_t column, columns, table_columns, count;
  uint32_t promise;
};

RowsDesc desc_of(const Window& w) {
  RowsDesc desc = rows_of(w.columns);
  desc.dtype = w.dtype;
  desc.column = w.column;
  desc.table_columns = w.table_columns;
  desc.count = w.count;
  desc.packed_pitch = (w.columns + 15) / 16 * 16;
  desc.table_alignment = desc.packed_alignment = w.promise;
  return desc;
}

// Whether a gather realigns rows whose addresses, pitches and bytes have these low bits set.
// Otherwise it uses plain loads.
bool gather_realigns(uint64_t bits, int64_t row_bytes) {
  if (row_bytes < 32) return false;
  return bits % 4 != 0 || (bits % 8 != 0 && row_bytes >= 192);
}

// Aligned rows move in units of 16 bytes; others are realigned where that is faster.
void check_every_address(FeatureMask features, const Window& w) {
  const RowsDesc desc = desc_of(w);
  RowsProblem problem;
  REQUIRE(rows_problem(Op::gather, desc, &problem).ok());
  const auto device = gpu(features);
  std::unique_ptr<Plan> plan;
  REQUIRE(RowsPlan::create(device, Op::gather, desc, &plan).ok());
  INFO(plan->explain());
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const auto step = std::max<uint64_t>(w.promise, static_cast<uint64_t>(dtype_bytes(w.dtype)));
  for (uint64_t table = 0; table < 16; table += step)
    for (uint64_t packed = 0; packed < 16; packed += step) {
      INFO("table ", table, ", packed ", packed);
      const RowsRun run{
          .table = (1ull << 60) + table, .index = 1ull << 52, .packed = (1ull << 53) + packed};
      REQUIRE(static_cast<RowsPlan&>(*plan).run(*stream, run).ok());
      const uint64_t bits = (table + static_cast<uint64_t>(problem.column_bytes)) |
                            (packed + static_cast<uint64_t>(problem.lead_bytes));
      const std::string& kernel = device->launches.back().kernel;
      if (bits % 16 == 0)
        CHECK(kernel != "gather_shift_tma");
      else
        CHECK(kernel == (gather_realigns(bits, problem.moved_bytes) ? "gather_shift_tma"
                                                                    : "gather_plain_tma"));
    }
}

}  // namespace

// If a window begins before the table, methods judge the address of the packed row after the zeros,
// which is unaligned even if the packed operand is aligned to 16 bytes.
TEST_CASE("rows: every address that keeps the promise has a method, and the best that there is") {
  for (const uint32_t promise : {0u, 8u, 16u})
    for (Window w :
         {Window{DType::F32, -1, 9, 8, 1, 0}, Window{DType::F32, -3, 67, 64, 9, 0},
          Window{DType::F32, -3, 67, 64, 1 << 20, 0}, Window{DType::BF16, -5, 133, 128, 9, 0},
          Window{DType::BF16, -1, 4097, 4096, 4, 0}, Window{DType::U8, -13, 45, 32, 1 << 20, 0},
          Window{DType::F64, -1, 33, 32, 1 << 20, 0}, Window{DType::F32, 1, 64, 80, 1 << 20, 0},
          Window{DType::BF16, 0, 512, 0, 64, 0}, Window{DType::BF16, 0, 512, 0, 1 << 20, 0}}) {
      w.promise = promise;
      CAPTURE(dtype_name(w.dtype));
      CAPTURE(w.column);
      check_every_address(kSm90, w);
      check_every_address(kSm100, w);
    }
}

TEST_CASE("rows: misaligned ones are realigned where that is faster than plain loads and stores") {
  const struct {
    Op op;
    int64_t past, row_bytes;
    bool realigned;
  } cases[] = {
      {Op::gather, 1, 16, false},    {Op::gather, 1, 32, true},    {Op::gather, 2, 32, true},
      {Op::gather, 4, 176, false},   {Op::gather, 4, 192, true},   {Op::gather, 12, 8192, true},
      {Op::gather, 8, 8192, false},  {Op::scatter, 1, 32, false},  {Op::scatter, 1, 48, true},
      {Op::scatter, 2, 112, false},  {Op::scatter, 2, 128, true},  {Op::scatter, 6, 64, false},
      {Op::scatter, 4, 496, false},  {Op::scatter, 4, 512, true},  {Op::scatter, 8, 8192, false},
      {Op::gather, 16, 8192, false}, {Op::scatter, 16, 64, false},
  };
  for (const auto& c : cases)
    for (const bool by_pitch : {false, true}) {
      CAPTURE(c.past);
      CAPTURE(c.row_bytes);
      CAPTURE(by_pitch);
      RowsDesc desc = rows_of(c.row_bytes);
      desc.dtype = DType::U8;
      desc.count = 1 << 16;
      desc.table_alignment = 0;
      desc.table_pitch = c.row_bytes + (by_pitch ? c.past : 0);
      desc.packed_pitch = c.row_bytes;
      const auto device = gpu(kSm90);
      std::unique_ptr<Plan> plan;
      REQUIRE(RowsPlan::create(device, c.op, desc, &plan).ok());
      std::unique_ptr<Stream> stream;
      REQUIRE(device->create_stream(&stream).ok());
      const RowsRun run{.table = (1ull << 60) + static_cast<uint64_t>(by_pitch ? 0 : c.past),
                        .index = 1ull << 52,
                        .packed = 1ull << 53};
      REQUIRE(static_cast<RowsPlan&>(*plan).run(*stream, run).ok());
      const std::string family = c.op == Op::gather ? "gather" : "scatter";
      const std::string& kernel = device->launches.back().kernel;
      CHECK((kernel == family + "_shift_tma") == c.realigned);
      if (c.past % 16 != 0 && !c.realigned) CHECK(kernel == family + "_plain_tma");
      // With plain loads and stores ruled out, rows of any alignment are realigned.
      desc.methods = 1u << kRowsShift;
      CHECK(RowsPlan::create(device, c.op, desc, &plan).ok() == (c.row_bytes >= 32));
    }
}

TEST_CASE("rows: a promise is advised where it leaves the other methods out") {
  const auto advised = [](const RowsDesc& desc, const std::string& others) {
    const std::string text = plan_on(kSm90, Op::gather, desc)->explain();
    INFO(text);
    CHECK(text.find("runs with unsuitable addresses use " + others) != text.npos);
    return text.find("promise table_alignment and packed_alignment 16") != text.npos;
  };
  CHECK(advised(desc_of({DType::F64, 0, 64, 64, 1 << 20, 0}), "gather_plain_tma"));
  CHECK(advised(desc_of({DType::BF16, 0, 256, 256, 1 << 20, 0}),
                "gather_shift_tma or gather_plain_tma"));
  // The window begins 8 bytes before the table, so that an aligned packed operand is the wrong one.
  RowsDesc before = desc_of({DType::F64, -1, 65, 64, 1 << 20, 8});
  before.table_alignment = 16;
  CHECK(!advised(before, "gather_plain_tma"));
}
