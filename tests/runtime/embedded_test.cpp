// SPDX-License-Identifier: Apache-2.0
// Which embedded code each chip uses, in builds with fewer targets or kernels, and which errors
// drivers older than the toolkit give. The embedded images are this build's own, reduced to the
// chosen targets. The fake driver selects code from them as a real one would.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/feature.hpp"
#include "doctest_main.hpp"
#include "fake_driver.hpp"
#include "fake_images.hpp"
#include "kernels/image/driver_choice.hpp"
#include "kernels/image/kernel_images.hpp"
#include "ops/copies/copies.hpp"
#include "ops/copy/copy.hpp"
#include "ops/elementwise/elementwise.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/grouped/grouped.hpp"
#include "ops/prefetch/prefetch.hpp"
#include "ops/ragged/ragged.hpp"
#include "ops/route/route.hpp"
#include "ops/rows/rows.hpp"
#include "runtime/device.hpp"
#include "runtime/open/open_device.hpp"
#include "test_images.hpp"

using namespace tw;
using namespace tw::test;

namespace {

using Targets = std::set<std::string>;

const Targets* g_targets = nullptr;  // nullptr: the build as it is

/// For its scope, the build embeds only these targets.
class Build {
 public:
  explicit Build(Targets targets) : targets_(std::move(targets)) { g_targets = &targets_; }
  ~Build() { g_targets = nullptr; }

 private:
  const Targets targets_;
};

constexpr Family kFamilies[] = {
#define TW_FAMILY(name, value) Family::name,
#include "kernels/families.inc"
#undef TW_FAMILY
};

std::string g_chosen;  // prefix of the kernel names in the build; "": all

/// For its scope, the build is one with -Dkernels=BEGIN*.
class Chosen {
 public:
  explicit Chosen(const char* begin) { g_chosen = begin; }
  ~Chosen() { g_chosen.clear(); }
};

/// Whether the build has any kernel in this image.
bool has_kernel(const char* image) {
  for (const Family family : kFamilies)
    for (const KernelEntry& entry : kernel_entries(family))
      if (entry.image && std::strcmp(entry.image, image) == 0 && !kernel_left_out(entry))
        return true;
  return false;
}

}  // namespace

extern "C" bool __real__ZN2tw15kernel_left_outERKNS_11KernelEntryE(const KernelEntry& entry);
extern "C" bool __wrap__ZN2tw15kernel_left_outERKNS_11KernelEntryE(const KernelEntry& entry) {
  return std::string(entry.symbol).compare(0, g_chosen.size(), g_chosen) != 0 ||
         __real__ZN2tw15kernel_left_outERKNS_11KernelEntryE(entry);
}

extern "C" KernelImage __real__ZN2tw12kernel_imageEPKc(const char* name);
extern "C" KernelImage __wrap__ZN2tw12kernel_imageEPKc(const char* name) {
  const KernelImage whole = __real__ZN2tw12kernel_imageEPKc(name);
  // A part with no selected kernel is not embedded.
  if (!has_kernel(name)) return {nullptr, 0};
  if (!g_targets || whole.size == 0) return whole;
  static std::map<std::pair<const void*, Targets>, std::vector<uint8_t>> cut;
  std::vector<uint8_t>& image = cut[{whole.data, *g_targets}];
  if (image.empty()) image = with_targets(whole.data, whole.size, *g_targets);
  return {image.data(), image.size()};
}

namespace {

constexpr FeatureMask kPtx = feature::tma | feature::mma;
constexpr FeatureMask k90 = kPtx | feature::wgmma;
constexpr FeatureMask k100 = kPtx | feature::gather4 | feature::scatter4 | feature::tcgen05;

const Targets kFull = {"sm_90a", "sm_100f", "compute_90"};
const Targets kWithout100 = {"sm_90a", "compute_90"};
const Targets kWithout90 = {"sm_100f", "compute_90"};
const Targets kPtxAlone = {"compute_90"};

struct Chip {
  int major, minor;
  FeatureMask full, without100, without90;  // what kernels of each build may use
};
constexpr Chip kChips[] = {{9, 0, k90, k90, kPtx},    {10, 0, k100, kPtx, k100},
                           {10, 3, k100, kPtx, k100}, {11, 0, kPtx, kPtx, kPtx},
                           {12, 0, kPtx, kPtx, kPtx}, {12, 1, kPtx, kPtx, kPtx}};

FeatureMask expected(const Chip& chip, const Targets& build) {
  return build == kFull         ? chip.full
         : build == kWithout100 ? chip.without100
         : build == kWithout90  ? chip.without90
                                : kPtx;
}

/// Whether the build has every kernel; with -Dkernels it has only some.
bool every_kernel() {
  for (const Family family : kFamilies)
    for (const KernelEntry& entry : kernel_entries(family))
      if (kernel_left_out(entry)) return false;
  return true;
}

/// Whether the build embeds the default targets; with -Dgpu_archs it may have fewer to reduce.
bool whole_build() {
  const KernelImage image = kernel_image("gather_0");
  for (const Target& target : targets()) {
    FatbinEntry entry;
    if (!find_entry(image.data, image.size, target, &entry)) return false;
  }
  return every_kernel();
}

std::shared_ptr<Device> open_chip(int major, int minor) {
  fake().compute_major = major;
  fake().compute_minor = minor;
  if (major == 12) fake().shared_memory = 101376;
  std::shared_ptr<Device> device;
  REQUIRE(open_device(DeviceKind::cuda, 0, &device).ok());
  return device;
}

/// Calls `visit` with an open device for each chip and build.
template <class Visit>
void on_each(Visit visit) {
  if (!whole_build()) return skip("the build does not embed every target");
  for (const Targets& build : {kFull, kWithout100, kWithout90, kPtxAlone})
    for (const Chip& chip : kChips) {
      const Build scope(build);
      const FakeDriver driver;
      std::string names;
      for (const std::string& name : build) names += " " + name;
      INFO(chip.major, ".", chip.minor, " of a build with", names);
      const auto device = open_chip(chip.major, chip.minor);
      visit(device, chip, build);
      device->close();
      CHECK(fake().clean());
    }
}

RowsDesc some_rows(int64_t columns, int32_t reduction = 0) {
  RowsDesc desc;
  desc.dtype = DType::F32;
  desc.table_rows = 1000;
  desc.columns = columns;
  desc.count = 4096;
  desc.reduction = reduction;
  return desc;
}

bool uses(const Plan& plan, const char* kernel) {
  return plan.info().kernel == std::string(kernel);
}

/// Matrix products that cover every combination of operand types, output types and accumulators,
/// every order, several m, and problems that need an epilogue kernel.
std::vector<GemmDesc> products() {
  std::vector<GemmDesc> out;
  for (const int form : {0, 1, 2, 3, 4})
    for (int orders = 0; orders < 8; ++orders)
      for (const int64_t m : {1, 16, 256, 1000})
        for (const int more : {0, 1, 2}) {
          GemmDesc desc;
          desc.a_dtype = form < 2 ? DType::BF16 : DType::F16;
          desc.d_dtype = form == 0 || form == 2 ? DType::F32 : desc.a_dtype;
          if (form == 4) desc.accumulator = DType::F16;
          desc.a_order = orders & 1 ? Order::column : Order::row;
          desc.b_order = orders & 2 ? Order::column : Order::row;
          desc.d_order = orders & 4 ? Order::column : Order::row;
          desc.m = m;
          desc.n = 512;
          desc.k = 1024;
          if (more == 1) desc.batch = 3;
          if (more == 2) desc.n = desc.k = 333;  // no pitch of it suits a tensor map
          out.push_back(desc);
        }
  return out;
}

/// A query must answer like planning, without a driver call. Returns whether both succeed.
template <class P, class... Arguments>
bool same_answer(const std::shared_ptr<Device>& device, Family family,
                 const Arguments&... arguments) {
  const auto calls = fake().log.size();
  const Status asked = plan_supported<P>(device, family, arguments...);
  const std::string text = last_failure().message;
  CHECK(fake().log.size() == calls);
  std::unique_ptr<Plan> plan;
  const Status planned = P::create(device, arguments..., &plan);
  INFO(family_name(family), ": ", last_failure().message);
  CHECK(asked.code() == planned.code());
  if (!planned.ok()) CHECK(text == last_failure().message);
  return planned.ok();
}

/// same_answer() for valid and invalid descriptions; returns how many can be planned.
int same_answers(const std::shared_ptr<Device>& device) {
  int good = 0;
  for (const int64_t columns : {0, 3, 1024, 1 << 29})
    for (const int32_t reduction : {0, 1}) {
      const RowsDesc rows = some_rows(columns, reduction);
      good += same_answer<RowsPlan>(device, Family::gather, Family::gather, rows);
      good += same_answer<RowsPlan>(device, Family::scatter, Family::scatter, rows);
    }
  for (const int64_t extent : {-1, 0, 1, 4096}) {
    CopyDesc copy;
    CopiesDesc copies;
    ElementwiseDesc elementwise;
    PrefetchDesc prefetch;
    RaggedDesc ragged;
    RouteDesc route;
    GroupedDesc grouped;
    copy.shape[0] = copies.shape[0] = elementwise.shape[0] = extent;
    copy.src_stride[0] = copies.src_stride[0] = elementwise.stride[kOperandA][0] = 1;
    copy.dst_stride[0] = copies.dst_stride[0] = elementwise.stride[kOperandDst][0] = 1;
    copies.count = ragged.batch = ragged.tokens = ragged.rows = 9;
    elementwise.dtype[kOperandA] = elementwise.dtype[kOperandDst] = DType::BF16;
    prefetch.rows = prefetch.columns = ragged.columns = extent;
    good += same_answer<CopyPlan>(device, Family::copy, copy);
    good += same_answer<CopiesPlan>(device, Family::copies, copies);
    good += same_answer<ElementwisePlan>(device, Family::elementwise, elementwise);
    good += same_answer<PrefetchPlan>(device, Family::prefetch, prefetch);
    good += same_answer<RaggedPlan>(device, Family::ragged, ragged);
    route.tokens = extent;
    route.experts = 64, route.top_k = 4;
    good += same_answer<RoutePlan>(device, Family::route, route);
    grouped.m = grouped.n = grouped.k = extent;
    grouped.groups = 8;
    good += same_answer<GroupedPlan>(device, Family::grouped, grouped);
    elementwise.activation = Activation::silu;
    elementwise.dtype[kOperandDst] = DType::I32;
    good += same_answer<ElementwisePlan>(device, Family::elementwise, elementwise);
  }
  const std::vector<GemmDesc> all = products();
  for (size_t i = 0; i < all.size(); i += 7) {
    GemmDesc desc = all[i];
    good += same_answer<GemmPlan>(device, Family::gemm, desc);
    desc.staging_copy = true;
    desc.min_m = i % 2 == 0 ? desc.m : 0;
    good += same_answer<GemmPlan>(device, Family::gemm, desc);
    desc.flags = kGemmInvariant;
    desc.max_sms = 2;
    good += same_answer<GemmPlan>(device, Family::gemm, desc);
    desc.b_dtype = DType::F8E4M3;
    good += same_answer<GemmPlan>(device, Family::gemm, desc);
  }
  return good;
}

}  // namespace

TEST_CASE("a query answers as planning does on every chip, whatever its build leaves out") {
  on_each([](const auto& device, const Chip&, const Targets&) {
    CHECK(has_all_kernels(*device, Family::gemm));
    CHECK(same_answers(device) > 100);
  });
}

TEST_CASE("where nothing runs a query says why, as planning does, and loads nothing") {
  if (!whole_build()) return skip("the build does not embed every target");
  {
    const Build scope({"sm_90a"});
    const FakeDriver driver;
    const auto device = open_chip(12, 0);
    CHECK_FALSE(has_all_kernels(*device, Family::copy));
    CHECK(same_answers(device) > 0);  // plans of empty operands
  }
  const Build scope(kFull);
  const FakeDriver old(12090);
  const auto device = open_chip(9, 0);
  CHECK_FALSE(has_all_kernels(*device, Family::copy));
  CHECK(same_answers(device) > 0);
}

TEST_CASE("kernels may use what is embedded for the chip, and the caller's own what it has") {
  on_each([](const auto& device, const Chip& chip, const Targets& build) {
    CHECK(device->info().kernel_features == expected(chip, build));
    CHECK(device->info().features == features_of(chip.major, chip.minor));
    std::unique_ptr<Module> module;
    const std::string ptx = make_ptx();
    CHECK(device->load_module(ptx.data(), ptx.size(), &module).ok());
  });
}

TEST_CASE("gathers and scatters take the next method where four rows' kernel is not embedded") {
  on_each([](const auto& device, const Chip& chip, const Targets& build) {
    const FeatureMask has = expected(chip, build);
    for (const int64_t columns : {1, 3, 8, 64, 1024, 5000})
      for (const int32_t reduction : {0, 1}) {
        INFO("columns ", columns, ", reduction ", reduction);
        const RowsDesc desc = some_rows(columns, reduction);
        std::unique_ptr<Plan> gather, scatter;
        CHECK((reduction != 0 || RowsPlan::create(device, Op::gather, desc, &gather).ok()));
        REQUIRE(RowsPlan::create(device, Op::scatter, desc, &scatter).ok());
        if (reduction != 0) continue;
        const bool four = columns >= 8;
        CHECK(uses(*gather, "gather_four_gather4") == (four && (has & feature::gather4)));
        CHECK(uses(*scatter, "scatter_four_scatter4") == (four && (has & feature::scatter4)));
      }
    // The text tells what is missing: the chip's feature, or code for it in this build.
    std::unique_ptr<Plan> plan;
    REQUIRE(RowsPlan::create(device, Op::gather, some_rows(1024), &plan).ok());
    const std::string text = plan->explain();
    const bool chip_has = (device->info().features & feature::gather4) != 0;
    const bool not_embedded = text.find("no kernel with gather4 is embedded") != text.npos;
    const bool not_there = text.find("the device has no gather4") != text.npos;
    INFO(text);
    CHECK(not_embedded == (chip_has && (has & feature::gather4) == 0));
    CHECK(not_there == !chip_has);
  });
}

TEST_CASE("every product has a kernel on every chip, whatever its build leaves out") {
  on_each([](const auto& device, const Chip& chip, const Targets& build) {
    int plans = 0, with_maps = 0;
    for (const GemmDesc& desc : products()) {
      std::unique_ptr<Plan> plan;
      const Status status = GemmPlan::create(device, desc, &plan);
      INFO(last_failure().message);
      CHECK(status.ok());
      if (!status.ok()) continue;
      ++plans;
      for (const GemmRange& range : static_cast<GemmPlan&>(*plan).ranges())
        with_maps += range.candidate.choice.uses_maps();
    }
    CHECK(plans == static_cast<int>(products().size()));
    CHECK((with_maps > 0) == ((expected(chip, build) & feature::wgmma) != 0));
  });
}

TEST_CASE("what candidates are listed can be made") {
  on_each([](const auto& device, const Chip&, const Targets&) {
    GemmDesc desc;
    desc.m = desc.n = desc.k = 512;
    desc.b_order = Order::column;
    std::vector<GemmRange> all;
    REQUIRE(gemm_candidates(*device, desc, &all).ok());
    CHECK(!all.empty());
    for (const GemmRange& one : all) {
      std::unique_ptr<Plan> plan;
      CHECK(GemmPlan::create_forced(device, desc, one.candidate.choice, &plan).ok());
    }
  });
}

TEST_CASE("a kernel that the build leaves out says which target would bring it, if one does") {
  if (!whole_build()) return skip("the build does not embed every target");
  const auto refused = [](const Targets& build, int major, int minor, const char* symbol) {
    const Build scope(build);
    const FakeDriver driver;
    const auto device = open_chip(major, minor);
    const Family family = symbol[0] == 'g' && symbol[1] == 'a' ? Family::gather : Family::gemm;
    for (const KernelEntry& entry : kernel_entries(family)) {
      const bool wanted = family == Family::gather ? entry.symbol == std::string(symbol)
                                                   : entry.feature == feature::wgmma;
      if (!wanted) continue;
      std::unique_ptr<Kernel> kernel;
      CHECK(device->prepare(entry, 0, &kernel).code() == Code::ERROR_NO_KERNEL_IMAGE);
      return std::string(last_failure().message);
    }
    return std::string();
  };
  const auto has = [](const std::string& text, const char* part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(refused(kWithout100, 10, 0, "gather_four_gather4"), "add sm_100f to -Dgpu_archs"));
  CHECK(has(refused(kWithout90, 9, 0, "gemm"), "add sm_90a to -Dgpu_archs"));
  for (const char* symbol : {"gather_four_gather4", "gemm"}) {
    const std::string text = refused(kFull, 12, 0, symbol);
    CHECK(has(text, "compute capability 12.0"));
    CHECK_FALSE(has(text, "gpu_archs"));
  }
}

TEST_CASE("a build that has nothing for the chip says so when a plan is made, and opens it") {
  const Build scope({"sm_90a"});
  const FakeDriver driver;
  const auto device = open_chip(12, 0);
  std::unique_ptr<Plan> plan;
  PrefetchDesc desc;
  desc.rows = 1;
  desc.columns = 4096;
  CHECK(PrefetchPlan::create(device, desc, &plan).code() == Code::ERROR_NO_KERNEL_IMAGE);
  CHECK(RowsPlan::create(device, Op::gather, some_rows(1024), &plan).code() ==
        Code::ERROR_NO_KERNEL_IMAGE);
  GemmDesc product;
  product.m = product.n = product.k = 512;
  CHECK(GemmPlan::create(device, product, &plan).code() == Code::ERROR_NO_KERNEL_IMAGE);
}

TEST_CASE("a plan that wants a kernel which -Dkernels left out names the kernel and the option") {
  if (!whole_build()) return skip("the build does not embed every target");
  PrefetchDesc range;
  range.rows = 1;
  range.columns = 4096;
  GemmDesc product;
  product.m = product.n = product.k = 512;
  const int32_t all = precompiled_count();
  // The image of this kernel is embedded without the kernel, or not at all.
  const std::string absent = "gemm_bf16_bf16_rr_128x256_1x1_coop";
  for (const char* chosen : {"gemm_bf16_bf16_rr_64x128_1x1_coop", "prefetch_"}) {
    const Chosen scope(chosen);
    const FakeDriver driver;
    const auto device = open_chip(9, 0);
    std::unique_ptr<Plan> plan;
    const bool prefetches = chosen[0] == 'p';
    INFO(chosen);
    CHECK(precompiled_count() > 0);
    CHECK(precompiled_count() < all);
    Precompiled found;
    CHECK(find_precompiled(absent.c_str(), "sm_90a", &found).code() == Code::ERROR_NOT_FOUND);
    CHECK_FALSE(has_all_kernels(*device, Family::gemm));
    CHECK(has_all_kernels(*device, Family::prefetch) == prefetches);
    CHECK(PrefetchPlan::create(device, range, &plan).ok() == prefetches);
    CHECK(GemmPlan::create(device, product, &plan).code() == Code::ERROR_NO_KERNEL_IMAGE);
    const std::string text = last_failure().message;
    INFO(text);
    // The named kernel is one that this build left out.
    REQUIRE(text.find("kernel gemm_") == 0);
    const std::string name = text.substr(7, text.find(' ', 7) - 7);
    CHECK(text.find(" was left out") == 7 + name.size());
    CHECK(find_precompiled(name.c_str(), "sm_90a", &found).code() == Code::ERROR_NOT_FOUND);
    CHECK(text.find("-Dkernels") != text.npos);
    CHECK_FALSE(same_answer<GemmPlan>(device, Family::gemm, product));
    CHECK(same_answer<PrefetchPlan>(device, Family::prefetch, range) == prefetches);
  }
}

TEST_CASE("a driver older than the toolkit: plans say so with both versions, all else works") {
  const KernelImage image = kernel_image("gather_0");
  if (image.size == 0 || !every_kernel()) return skip("the build does not embed every kernel");
  const int32_t toolkit = driver_choice(image.data, image.size, {9, 0, false}).toolkit;
  REQUIRE(toolkit >= 12040);
  const int32_t major = toolkit / 1000 * 1000;
  struct {
    int32_t driver;
    int compute;
    bool ptx_only;
    int32_t needs;  // driver version that it needs; 0: it runs
  } const cases[] = {{major - 910, 9, false, major},  {major - 910, 12, false, toolkit},
                     {major - 910, 9, true, toolkit}, {toolkit - 10, 12, false, toolkit},
                     {toolkit, 9, false, 0},          {toolkit, 12, false, 0},
                     {toolkit, 9, true, 0},           {major, 9, false, 0},
                     {toolkit + 10, 12, false, 0},    {major + 1000, 9, false, 0},
                     {major + 1000, 12, false, 0}};
  for (const auto& c : cases) {
    const FakeDriver driver(c.driver);
    if (c.ptx_only) setenv("CUDA_FORCE_PTX_JIT", "1", 1);
    INFO("driver ", c.driver, ", compute capability ", c.compute, ", PTX alone ", c.ptx_only);
    const auto device = open_chip(c.compute, 0);
    PrefetchDesc range;
    range.rows = 1;
    range.columns = 4096;
    GemmDesc product;
    product.m = product.n = product.k = 512;
    std::unique_ptr<Plan> plan;
    const auto check = [&](const Status& status) {
      const std::string text = last_failure().message;
      INFO(text);
      CHECK(status.code() == (c.needs ? Code::ERROR_DRIVER_TOO_OLD : Code::OK));
      if (c.needs == 0) return;
      const auto version = [](int32_t number) {
        return "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
      };
      CHECK(text.find("of " + version(toolkit)) != text.npos);
      CHECK(text.find("driver is for " + version(c.driver)) != text.npos);
      CHECK(text.find("update the driver to one of " + version(c.needs)) != text.npos);
      CHECK(last_failure().fault.got == c.driver);
      CHECK(last_failure().fault.limit == c.needs);
    };
    fake().log.clear();
    check(PrefetchPlan::create(device, range, &plan));
    check(RowsPlan::create(device, Op::gather, some_rows(1024), &plan));
    check(GemmPlan::create(device, product, &plan));
    // An early refusal does not load the library into the driver.
    const auto asked = std::count(fake().log.begin(), fake().log.end(), "LibraryLoadData");
    CHECK((asked == 0) == (c.needs != 0));
    std::unique_ptr<Module> module;
    const std::string ptx = make_ptx();
    CHECK(device->load_module(ptx.data(), ptx.size(), &module).ok());
    uint64_t address = 0;
    CHECK(device->allocate(64, &address).ok());
    unsetenv("CUDA_FORCE_PTX_JIT");
  }
}
