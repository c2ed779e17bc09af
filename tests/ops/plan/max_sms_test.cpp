// SPDX-License-Identifier: Apache-2.0
// max_sms must bound the blocks of every launch. The driver spreads blocks over idle SMs first, so
// that a grid of eight blocks per allowed SM would occupy eight times as many SMs. Matrix products
// are in gemm_plan_test.cpp.
#include <functional>

#include "ops/copies/copies.hpp"
#include "ops/copy/copy.hpp"
#include "ops/elementwise/elementwise.hpp"
#include "ops/grouped/grouped.hpp"
#include "ops/prefetch/prefetch.hpp"
#include "ops/ragged/ragged.hpp"
#include "ops/route/route.hpp"
#include "ops/rows/rows.hpp"
#include "tests/ops/common/paper_device.hpp"
#include "tests/ops/copy/copy_desc.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Operand addresses far apart, aligned for every kernel.
constexpr uint64_t at(uint64_t operand) {
  return operand << 42;
}

// Creates and runs a plan with each bound, and without a bound, where it must launch more blocks
// than the bounds allow: otherwise the test would prove nothing.
template <class Desc>
void check_bound(const Desc& base, FeatureMask features,
                 const std::function<Status(const std::shared_ptr<Device>&, const Desc&,
                                            std::unique_ptr<Plan>*)>& create,
                 const std::function<Status(Stream&, const Plan&)>& run) {
  for (const uint32_t max_sms : {0u, 1u, 3u, 100u, 1000u}) {
    Desc desc = base;
    desc.max_sms = max_sms;
    const auto device = std::make_shared<PaperDevice>(features, 132);
    device->set_shared_memory(232448);
    std::unique_ptr<Plan> plan;
    const Status made = create(device, desc, &plan);
    INFO(last_failure().message);
    REQUIRE(made.ok());
    CAPTURE(plan->explain());
    CAPTURE(max_sms);
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    const Status ran = run(*stream, *plan);
    INFO(last_failure().message);
    REQUIRE(ran.ok());
    REQUIRE(!device->launches.empty());
    uint64_t most = 0;
    for (const PaperLaunch& launch : device->launches)
      most = std::max(
          most, uint64_t{launch.config.grid[0]} * launch.config.grid[1] * launch.config.grid[2]);
    if (max_sms == 0)
      CHECK(most > 100);
    else
      CHECK(most <= max_sms);
  }
}

void check_copy(const CopyDesc& desc) {
  check_bound<CopyDesc>(desc, kHopper, CopyPlan::create, [](Stream& stream, const Plan& plan) {
    return static_cast<const CopyPlan&>(plan).run(stream, at(1), at(2));
  });
}

void check_rows(Op op, const RowsDesc& desc, FeatureMask features = kHopper) {
  check_bound<RowsDesc>(
      desc, features,
      [op](const std::shared_ptr<Device>& device, const RowsDesc& d, std::unique_ptr<Plan>* out) {
        return RowsPlan::create(device, op, d, out);
      },
      [](Stream& stream, const Plan& plan) {
        const uint64_t bytes = plan.info().workspace_bytes;
        const RowsRun run{.table = at(1),
                          .index = at(2),
                          .packed = at(3),
                          .invalid_count = at(4),
                          .workspace = bytes == 0 ? 0 : at(5),
                          .workspace_bytes = bytes};
        return static_cast<const RowsPlan&>(plan).run(stream, run);
      });
}

RowsDesc rows_of(int64_t columns) {
  RowsDesc desc;
  desc.table_rows = 100000;
  desc.columns = columns;
  desc.count = 40000;
  return desc;
}

}  // namespace

TEST_CASE("max_sms: copies by every method") {
  const CopyDesc rows = copy_desc(DType::U8, {{10000, 4112, 4128}, {4097, 1, 1}});
  const CopyDesc turned = copy_desc(DType::BF16, {{2560, 1, 5120}, {5120, 2560, 1}});
  const CopyDesc planes = copy_desc(DType::U8, {{1600000, 1, 3}, {3, 1600000, 1}});
  for (const auto& c : {std::pair{kCopyBoxes, rows},
                        {kCopyRows, rows},
                        {kCopyPieces, rows},
                        {kCopyShift, rows},
                        {kCopyStrided, rows},
                        {kCopyPermute, turned},
                        {kCopyTranspose, turned},
                        {kCopyTransposePlain, turned},
                        {kCopyInterleave, planes}}) {
    CopyDesc desc = c.second;
    desc.methods = 1u << c.first;
    CAPTURE(c.first);
    check_copy(desc);
  }
}

TEST_CASE("max_sms: what a copy's window fills beside the source") {
  CopyDesc desc = copy_desc(DType::U8, {{10000, 4112, 4128}, {4097, 1, 1}});
  desc.src_shape[0] = 5000;  // the other half is zeros
  check_copy(desc);
  desc.src_start[0] = 20000;  // all of it is zeros
  check_copy(desc);
}

TEST_CASE("max_sms: elementwise operations of vectors and of elements") {
  for (const uint32_t method : {kElementwiseVectors, kElementwiseStrided})
    for (const bool two : {false, true}) {
      ElementwiseDesc desc;
      desc.dtype[kOperandA] = DType::F32;
      desc.dtype[kOperandB] = two ? DType::F32 : DType{};
      desc.dtype[kOperandDst] = DType::BF16;
      desc.reduction = two ? kReduceAdd : kReduceNone;
      desc.rank = 1;
      desc.shape[0] = 1 << 24;
      for (auto& strides : desc.stride) strides[0] = 1;
      desc.methods = 1u << method;
      check_bound<ElementwiseDesc>(
          desc, kHopper, ElementwisePlan::create, [two](Stream& stream, const Plan& plan) {
            const ElementwiseRun run{.address = {at(1), two ? at(2) : 0, at(3)}};
            return static_cast<const ElementwisePlan&>(plan).run(stream, run);
          });
    }
}

TEST_CASE("max_sms: prefetches of boxes and of rows") {
  for (const uint32_t method : {kPrefetchBoxes, kPrefetchRows}) {
    PrefetchDesc desc;
    desc.rows = 100000;
    desc.columns = 4096;
    desc.pitch = 4104;
    desc.methods = 1u << method;
    check_bound<PrefetchDesc>(desc, kHopper, PrefetchPlan::create,
                              [](Stream& stream, const Plan& plan) {
                                return static_cast<const PrefetchPlan&>(plan).run(stream, at(1));
                              });
  }
}

TEST_CASE("max_sms: lists of copies") {
  for (const int64_t columns : {4096, 100}) {
    CopiesDesc desc;
    desc.dtype = DType::BF16;
    desc.rank = 1;
    desc.shape[0] = columns;
    desc.src_stride[0] = desc.dst_stride[0] = 1;
    desc.count = 100000;
    check_bound<CopiesDesc>(
        desc, kHopper, CopiesPlan::create, [](Stream& stream, const Plan& plan) {
          const CopiesRun run{.src_list = at(1), .dst_list = at(2), .invalid_count = at(3)};
          return static_cast<const CopiesPlan&>(plan).run(stream, run);
        });
  }
}

TEST_CASE("max_sms: ragged copies") {
  for (const int64_t columns : {4096, 100, 3}) {
    RaggedDesc desc;
    desc.batch = 6400;
    desc.rows = 512;
    desc.tokens = 20000;
    desc.columns = columns;
    check_bound<RaggedDesc>(
        desc, kHopper, RaggedPlan::create, [](Stream& stream, const Plan& plan) {
          const RaggedRun run{
              .packed = at(1), .offsets = at(2), .padded = at(3), .invalid_count = at(4)};
          return static_cast<const RaggedPlan&>(plan).run(stream, run);
        });
  }
}

TEST_CASE("max_sms: routings") {
  RouteDesc desc;
  desc.tokens = 8192;
  desc.experts = 1024;
  desc.top_k = 8;
  check_bound<RouteDesc>(desc, kHopper, RoutePlan::create, [](Stream& stream, const Plan& plan) {
    const RouteRun run{.logits = at(1),
                       .offsets = at(2),
                       .order = at(3),
                       .invalid_count = at(4),
                       .workspace = at(5),
                       .workspace_bytes = uint64_t{1} << 40};
    return static_cast<const RoutePlan&>(plan).run(stream, run);
  });
}

TEST_CASE("max_sms: grouped products and their steps") {
  GroupedDesc desc;
  desc.grouping = Grouping::by_row;
  desc.m = 100000, desc.n = desc.k = 512, desc.groups = 64;
  desc.flags = kGroupedDescScatter | kGroupedDescZeroOthers;
  desc.combine = Combine::sum;
  desc.d_count = 50000;
  check_bound<GroupedDesc>(desc, kHopper, GroupedPlan::create,
                           [](Stream& stream, const Plan& plan) {
                             const GroupedRun run{.a = at(1),
                                                  .b = at(2),
                                                  .d = at(3),
                                                  .groups = at(4),
                                                  .d_rows = at(5),
                                                  .invalid_count = at(6),
                                                  .workspace = at(7),
                                                  .workspace_bytes = uint64_t{1} << 40};
                             return static_cast<const GroupedPlan&>(plan).run(stream, run);
                           });
}

TEST_CASE("max_sms: gathers and scatters of rows by every method, and their steps") {
  for (const Op op : {Op::gather, Op::scatter})
    for (const int64_t columns : {20, 128, 7168, 7167}) {
      for (const uint32_t method : {kRowsBulk, kRowsStaged, kRowsShift, kRowsPlain}) {
        RowsDesc desc = rows_of(columns);
        desc.methods = 1u << method | 1u << kRowsPlain;
        check_rows(op, desc);
      }
      check_rows(op, rows_of(columns),
                 feature::tma | feature::mma | feature::gather4 | feature::scatter4);
    }
  for (const uint32_t flags : {uint32_t{kRowsLastWins}, uint32_t{kRowsDeterministic}}) {
    RowsDesc desc = rows_of(512);
    desc.flags = flags;
    if (flags == kRowsDeterministic) desc.reduction = kReduceAdd;
    check_rows(Op::scatter, desc);
  }
  for (const uint32_t reduction : {kReduceAdd, kReduceMax})
    for (const DType dtype : {DType::BF16, DType::F32, DType::F64}) {
      RowsDesc desc = rows_of(512);
      desc.dtype = dtype;
      desc.reduction = static_cast<int32_t>(reduction);
      check_rows(Op::scatter, desc);
    }
  for (const int64_t columns : {512, 511}) {
    RowsDesc desc = rows_of(columns);
    desc.group = 4;
    desc.table_columns = columns - 8;  // a margin that another kernel fills
    check_rows(Op::gather, desc);
  }
}
