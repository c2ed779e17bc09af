// SPDX-License-Identifier: Apache-2.0
// Repeats batches of copies, ragged copies, quantizations, routings, elementwise operations and
// prefetches a thousand times each, with every method and kernel of their families.
#include <algorithm>

#include "ops/copies/copies.hpp"
#include "ops/copy/copy.hpp"
#include "ops/elementwise/elementwise.hpp"
#include "ops/prefetch/prefetch.hpp"
#include "ops/quantize/quantize.hpp"
#include "ops/ragged/ragged.hpp"
#include "ops/route/route.hpp"
#include "tests/device/common/live_driver.hpp"
#include "tests/device/repeat/repeat_lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr uint64_t kSecondList = 1 << 16;  // offset of the second list from the first

bool moves(const KernelEntry& entry) {
  return entry.variant != kCopiesSkipped && entry.variant != kRaggedCountInvalid;
}

// Addresses most of which suit bulk copies; some are odd and some 0, which skips the pair.
std::vector<uint64_t> list(uint64_t base, int64_t count, uint64_t step, uint64_t odd) {
  std::vector<uint64_t> addresses;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<uint64_t>(i) * step;
    addresses.push_back(i % 31 == 30 ? 0 : base + at + (i % 5 == 4 ? odd : 0));
  }
  return addresses;
}

void repeat_copies(RepeatLab& lab, TakenRows* taken, CopiesDesc desc, uint32_t method,
                   uint64_t step) {
  lab.put(lab.index(), list(lab.source(), desc.count, step, 3));
  const auto planned = [&](uint32_t only) {
    desc.methods = 1u << only;
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(CopiesPlan::create(lab.device, desc, &plan));
    return plan;
  };
  const auto plan = planned(method);
  const auto plain = planned(method == kCopiesPlain ? kCopiesBulk : kCopiesPlain);
  INFO(plan->explain());
  taken->take(*plan);
  const uint64_t counted = lab.index() + 4 * kSecondList;
  const auto run = [&](const Plan& which, uint64_t to) {
    // Each region has its own list of destinations.
    const uint64_t to_list = lab.index() + (to == lab.truth() ? 1 : 2) * kSecondList;
    return static_cast<const CopiesPlan&>(which).run(
        *lab.stream, {.src_list = lab.index(), .dst_list = to_list, .invalid_count = counted});
  };
  lab.put(lab.index() + kSecondList, list(lab.truth(), desc.count, step, 7));
  lab.put(lab.index() + 2 * kSecondList, list(lab.result(), desc.count, step, 7));
  lab.repeat([&](uint64_t to) { return run(*plain, to); },
             [&](uint64_t to) { return run(*plan, to); });
}

void repeat_ragged(RepeatLab& lab, TakenRows* taken, RaggedDesc desc, uint32_t method,
                   int64_t longest) {
  std::vector<int32_t> offsets{0};
  std::mt19937_64 random(4);
  for (int64_t i = 0; i < desc.batch; ++i)
    offsets.push_back(std::min(static_cast<int32_t>(desc.tokens),
                               offsets.back() + static_cast<int32_t>(pick(random, 0, longest))));
  lab.put(lab.index(), offsets);
  const auto planned = [&](uint32_t only) {
    desc.methods = 1u << only;
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(RaggedPlan::create(lab.device, desc, &plan));
    return plan;
  };
  const auto plan = planned(method);
  const auto plain = planned(method == kRaggedPlain ? kRaggedBulk : kRaggedPlain);
  INFO(plan->explain());
  taken->take(*plan);
  const bool pads = desc.direction == RaggedDirection::pad;
  const auto run = [&](const Plan& which, uint64_t to) {
    return static_cast<const RaggedPlan&>(which).run(*lab.stream,
                                                     {.packed = pads ? lab.source() : to,
                                                      .offsets = lab.index(),
                                                      .padded = pads ? to : lab.source(),
                                                      .row = 1,
                                                      .invalid_count = lab.index() + kSecondList});
  };
  lab.repeat([&](uint64_t to) { return run(*plain, to); },
             [&](uint64_t to) { return run(*plan, to); });
}

RouteRun route_run(const RepeatLab& lab, uint64_t logits, uint64_t to) {
  constexpr uint64_t kPart = 1 << 20;
  return {.logits = logits,
          .ids = to,
          .weights = to + kPart,
          .counts = to + 2 * kPart,
          .offsets = to + 3 * kPart,
          .order = to + 4 * kPart,
          .order_tokens = to + 5 * kPart,
          .inverse = to + 6 * kPart,
          .workspace = lab.workspace(),
          .workspace_bytes = RepeatLab::kBytes};
}

// One block of each kernel gives the truth for many. Other logits are routed before each run, so
// that no right data is left in shared memory or the workspace.
void repeat_route(RepeatLab& lab, TakenRows* taken, RouteDesc desc) {
  const auto planned = [&](uint32_t max_sms) {
    desc.max_sms = max_sms;
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(RoutePlan::create(lab.device, desc, &plan));
    return plan;
  };
  const auto plan = planned(0), alone = planned(1);
  INFO(plan->explain());
  taken->take(*plan);
  const auto run = [&](const Plan& which, uint64_t to) -> Status {
    const auto& route = static_cast<const RoutePlan&>(which);
    TW_TRY(route.run(*lab.stream, route_run(lab, lab.other(), lab.index())));
    return route.run(*lab.stream, route_run(lab, lab.source(), to));
  };
  lab.repeat([&](uint64_t to) { return run(*alone, to); },
             [&](uint64_t to) { return run(*plan, to); });
}

// One block with the other method gives the truth for many. Another matrix is quantized before each
// run, so that no right data is left in shared memory or the workspace.
void repeat_quantize(RepeatLab& lab, TakenRows* taken, QuantizeDesc desc, uint32_t method) {
  const auto planned = [&](uint32_t by, uint32_t max_sms) {
    desc.methods = by;
    desc.max_sms = max_sms;
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(QuantizePlan::create(lab.device, desc, &plan));
    return plan;
  };
  const auto plan = planned(method, 0);
  const auto alone = planned(method ^ (kQuantizeByVectors | kQuantizeByElements), 1);
  INFO(plan->explain());
  taken->take(*plan);
  const bool back = dtype_bytes(desc.src_dtype) == 1;
  const auto run = [&](const Plan& which, uint64_t to) -> Status {
    const auto& quantize = static_cast<const QuantizePlan&>(which);
    const auto at = [&](uint64_t from, uint64_t into) {
      return QuantizeRun{.src = from,
                         .dst = into,
                         .scale = back ? lab.other() : into + (6 << 20),
                         .workspace = lab.workspace(),
                         .workspace_bytes = RepeatLab::kBytes};
    };
    if (!back) TW_TRY(quantize.run(*lab.stream, at(lab.other(), lab.index())));
    return quantize.run(*lab.stream, at(lab.source(), to));
  };
  lab.repeat([&](uint64_t to) { return run(*alone, to); },
             [&](uint64_t to) { return run(*plan, to); });
}

void repeat_elementwise(RepeatLab& lab, TakenRows* taken, DType a, DType b, DType dst,
                        uint32_t reduction, uint32_t method,
                        Activation activation = Activation::identity) {
  ElementwiseDesc desc;
  desc.dtype[kOperandA] = a;
  desc.dtype[kOperandB] = b;
  desc.dtype[kOperandDst] = dst;
  desc.reduction = static_cast<int32_t>(reduction);
  desc.activation = activation;
  if (activation != Activation::identity) desc.combine = kCombineMultiply;
  desc.rank = 2;
  desc.shape[0] = 300;
  desc.shape[1] = 1600;
  for (auto& stride : desc.stride) stride[0] = 1616, stride[1] = 1;
  desc.max_sms = 20;
  const auto planned = [&](uint32_t only) {
    desc.methods = 1u << only;
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(ElementwisePlan::create(lab.device, desc, &plan));
    const ElementwiseRun at{.address = {lab.source(), lab.other(), lab.result()}};
    CHECK(static_cast<ElementwisePlan&>(*plan).method_for_test(at) == only);
    return plan;
  };
  const auto plan = planned(method);
  const auto plain =
      planned(method == kElementwiseStrided ? kElementwiseVectors : kElementwiseStrided);
  INFO(plan->explain());
  taken->take(*plan);
  const bool words = a == DType::I64 || a == DType::I32 || a == DType::I16 || a == DType::U8;
  const bool adds = b != DType{} && desc.combine == kCombineAdd;
  const auto run = [&](const Plan& which, uint64_t to) {
    return static_cast<const ElementwisePlan&>(which).run(
        *lab.stream, {.address = {lab.source(), b == DType{} ? 0 : lab.other(), to},
                      .alpha = words ? 3.0f : 0.75f,
                      .beta = adds ? words ? -2.0f : 1.5f : 1.0f});
  };
  lab.repeat([&](uint64_t to) { return run(*plain, to); },
             [&](uint64_t to) { return run(*plan, to); }, 0x3c);
}

}  // namespace

TEST_CASE("copies: a thousand runs by each method") {
  RepeatLab lab;
  if (!lab.open()) return;
  TakenRows taken;
  CopiesDesc whole;  // long rows, split into parts
  whole.shape[0] = 65536;
  whole.src_stride[0] = whole.dst_stride[0] = 1;
  whole.count = 120;
  whole.max_sms = 5;
  CopiesDesc rows;  // short ones, pitched
  rows.rank = 2;
  rows.shape[0] = 100;
  rows.shape[1] = 272;
  rows.src_stride[0] = 288, rows.dst_stride[0] = 304;
  rows.src_stride[1] = rows.dst_stride[1] = 1;
  rows.count = 200;
  rows.max_sms = 5;
  for (const uint32_t method : {kCopiesBulk, kCopiesPlain}) {
    repeat_copies(lab, &taken, whole, method, 65536 + 64);
    repeat_copies(lab, &taken, rows, method, 32768);
  }
  taken.check_all(*lab.device, Family::copies, moves);
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each");
}

TEST_CASE("ragged: a thousand runs by each method") {
  RepeatLab lab;
  if (!lab.open()) return;
  TakenRows taken;
  for (const RaggedDirection direction : {RaggedDirection::pad, RaggedDirection::unpad})
    for (const int64_t columns : {64, 1024, 8192})
      for (const int64_t gap : {0, 8})
        for (const uint32_t method : {kRaggedBulk, kRaggedPlain}) {
          RaggedDesc desc;
          desc.direction = direction;
          desc.columns = columns;
          desc.padded_pitch = columns + gap;
          desc.packed_pitch = columns + 2 * gap;
          desc.rows = 20;
          desc.batch = 3000000 / (20 * (columns + gap)) + 1;
          desc.tokens = 3000000 / (columns + 2 * gap);
          desc.max_sms = 5;
          repeat_ragged(lab, &taken, desc, method, desc.rows + 3);
        }
  // Mostly padding: a warp with a single tile sends a filled stage off at once.
  for (const int64_t columns : {64, 1024})
    for (const int64_t batch : {60, 300}) {
      RaggedDesc desc;
      desc.columns = columns;
      desc.rows = 12;
      desc.batch = batch;
      desc.tokens = 2 * batch;
      repeat_ragged(lab, &taken, desc, kRaggedBulk, 2);
    }
  taken.check_all(*lab.device, Family::ragged, moves);
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each");
}

// The same while other blocks' accesses to shared memory delay the kernel's.
TEST_CASE("ragged: a thousand runs beside blocks that keep shared memory busy") {
  RepeatLab lab;
  if (!lab.open()) return;
  lab.crowd = 384;
  TakenRows taken;
  for (const uint32_t warps : {1u, 4u, 8u})
    for (const int64_t columns : {64, 512}) {
      RaggedDesc desc;
      desc.columns = columns;
      desc.rows = 12;
      desc.batch = 300;
      desc.tokens = 2 * desc.batch;
      desc.warps = warps;
      desc.stages = 4;
      desc.stage_bytes = 2048;
      repeat_ragged(lab, &taken, desc, kRaggedBulk, 2);
    }
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each, " << lab.alone()
                    << " of which had no room beside others");
}

TEST_CASE("quantize: a thousand runs with every kernel") {
  RepeatLab lab;
  if (!lab.open()) return;
  TakenRows taken;
  for (const DType wide : {DType::BF16, DType::F32})
    for (const bool back : {false, true})
      for (const ScaleKind kind :
           {ScaleKind::tensor, ScaleKind::row, ScaleKind::row128, ScaleKind::block128})
        for (const uint32_t method : {kQuantizeByVectors, kQuantizeByElements}) {
          QuantizeDesc desc;
          desc.src_dtype = back ? DType::F8E4M3 : wide;
          desc.dst_dtype = back ? wide : DType::F8E4M3;
          desc.scale = kind;
          if (kind == ScaleKind::row128) desc.scale_order = ScaleOrder::column;
          desc.rows = 300;
          desc.columns = 3000;
          desc.src_pitch = 3008, desc.dst_pitch = 3016;
          repeat_quantize(lab, &taken, desc, method);
        }
  // A plan reports one kernel, but its runs include the preceding kQuantizeAmax kernel.
  taken.check_all(*lab.device, Family::quantize,
                  [](const KernelEntry& entry) { return (entry.variant & 0xff) != kQuantizeAmax; });
  MESSAGE(lab.cases << " cases");
}

TEST_CASE("route: a thousand runs with every kernel") {
  RepeatLab lab;
  if (!lab.open()) return;
  TakenRows taken;
  for (const int64_t experts : {60, 256, 1024})
    for (const int64_t tokens : {5, 256, 1500}) {
      RouteDesc desc;
      desc.experts = experts;
      desc.tokens = tokens;
      desc.top_k = 8;
      desc.flags = kRouteDescRenormalize;
      repeat_route(lab, &taken, desc);
    }
  taken.check_all(*lab.device, Family::route, [](const KernelEntry& entry) {
    return entry.variant != kRouteScan && entry.variant != kRoutePlace;
  });
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each");
}

TEST_CASE("elementwise: a thousand runs with every kernel") {
  RepeatLab lab;
  if (!lab.open()) return;
  TakenRows taken;
  const auto repeat = [&](DType a, DType b, DType dst, uint32_t reduction) {
    repeat_elementwise(lab, &taken, a, b, dst, reduction, kElementwiseVectors);
  };
  const DType none{};
  repeat(DType::F32, none, DType::BF16, kReduceNone);
  repeat(DType::BF16, none, DType::F8E4M3, kReduceNone);
  repeat(DType::F8E4M3, none, DType::F8E5M2, kReduceNone);
  repeat(DType::F32, DType::F32, DType::F32, kReduceNone);
  repeat(DType::BF16, DType::BF16, DType::BF16, kReduceNone);
  repeat(DType::F8E5M2, DType::F8E4M3, DType::F8E4M3, kReduceNone);
  repeat(DType::BF16, none, DType::F32, kReduceAdd);
  for (const DType type : {DType::I64, DType::I32, DType::I16, DType::U8}) {
    repeat(type, type, type, kReduceNone);
    repeat(type, none, type, kReduceAdd);
  }
  repeat_elementwise(lab, &taken, DType::BF16, DType::BF16, DType::BF16, kReduceNone,
                     kElementwiseVectors, Activation::silu);
  repeat_elementwise(lab, &taken, DType::F32, DType::F32, DType::F32, kReduceNone,
                     kElementwiseStrided);
  taken.check_all(*lab.device, Family::elementwise, [](const KernelEntry&) { return true; });
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each");
}

// The next kernel reuses the blocks' shared memory. Prefetched bytes must not arrive there late.
TEST_CASE("prefetch: a thousand runs by each method, each with a copy right behind it") {
  RepeatLab lab;
  if (!lab.open()) return;
  TakenRows taken;
  CopyDesc turned;
  turned.dtype = DType::U8;
  turned.rank = 2;
  turned.shape[0] = turned.src_stride[1] = 1040;
  turned.shape[1] = turned.dst_stride[0] = 4096;
  turned.src_stride[0] = turned.dst_stride[1] = 1;
  turned.methods = 1u << kCopyTranspose;
  std::unique_ptr<Plan> behind;
  TW_REQUIRE_OK(CopyPlan::create(lab.device, turned, &behind));
  for (const PrefetchBy by : {PrefetchBy::loads, PrefetchBy::requests})
    for (const int64_t gap : {16, 1})  // boxes, rows
      for (const uint32_t max_sms : {0u, 1u}) {
        PrefetchDesc desc;
        desc.dtype = DType::U8;
        desc.rows = 3000;
        desc.columns = 992;
        desc.pitch = 992 + gap;
        desc.by = by;
        desc.alignment = 16;
        desc.max_sms = max_sms;  // 1: more loads per thread than can be in flight
        std::unique_ptr<Plan> plan;
        TW_REQUIRE_OK(PrefetchPlan::create(lab.device, desc, &plan));
        INFO(plan->explain());
        taken.take(*plan);
        const auto copy = [&](uint64_t to) {
          return static_cast<const CopyPlan&>(*behind).run(*lab.stream, lab.source(), to);
        };
        lab.repeat(copy, [&](uint64_t to) {
          TW_TRY(static_cast<const PrefetchPlan&>(*plan).run(*lab.stream, lab.source()));
          return copy(to);
        });
      }
  taken.check_all(*lab.device, Family::prefetch, [](const KernelEntry&) { return true; });
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each");
}

// Blocks of another kernel come and go on the same SMs. A load that its block has not waited for
// would overwrite their shared memory. The source is host memory, so that loads are slow.
TEST_CASE("prefetch: loads land before another block gets the shared memory") {
  RepeatLab lab;
  if (!lab.open()) return;
  LiveDriver driver;
  if (!driver.open()) return;
  constexpr int64_t kPitch = 1024, kRows = 3000;
  void* far = nullptr;
  REQUIRE(driver.allocate_host(&far, kPitch * kRows, 0) == 0);
  std::unique_ptr<Stream> beside;
  TW_REQUIRE_OK(lab.device->create_stream(&beside));
  const uint32_t blocks = lab.sm_count() * 24;
  uint32_t seed = 0;
  for (const int64_t gap : {16, 1})  // boxes, rows
    for (const int64_t rows : {kRows, kRows / 10}) {
      PrefetchDesc desc;
      desc.dtype = DType::U8;
      desc.rows = rows;
      desc.columns = kPitch - 16;
      desc.pitch = desc.columns + gap;
      desc.by = PrefetchBy::loads;
      desc.alignment = 16;
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(PrefetchPlan::create(lab.device, desc, &plan));
      INFO(plan->explain());
      for (int i = 0; i < std::min(repeat_runs(), 200); ++i) {
        TW_REQUIRE_OK(static_cast<const PrefetchPlan&>(*plan).run(*lab.stream,
                                                                  reinterpret_cast<uint64_t>(far)));
        for (int k = 0; k < 3; ++k) {
          TW_REQUIRE_OK(lab.check.tenants(*lab.stream, blocks, ++seed));
          TW_REQUIRE_OK(lab.check.tenants(*beside, blocks, ++seed));
        }
      }
      TW_REQUIRE_OK(beside->synchronize());
      uint64_t different = 0;
      TW_REQUIRE_OK(lab.check.different(&different));
      CHECK(different == 0);
    }
  CHECK(driver.release_host(far) == 0);
}
