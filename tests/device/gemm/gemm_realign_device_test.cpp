// SPDX-License-Identifier: Apache-2.0
// GEMM with a staging copy of one operand, while the kernel loads the other one already.
#include <set>

#include "ops/gemm/select/gemm_select.hpp"
#include "tests/device/common/far_memory.hpp"
#include "tests/device/gemm/gemm_matrix.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr size_t kKinds = 2;  // variants of the operand that is not copied

// A GEMM of integers, one of whose operands has a pitch that no tensor map can have.
struct Beside {
  GemmDesc desc;
  bool copies_a;
  Matrix a, b, d;
  std::vector<std::unique_ptr<Guarded>> kinds;
  std::vector<std::vector<uint8_t>> wanted;
  std::unique_ptr<FarMemory> far;  // source of the staging copy on a GPU

  Beside(const std::shared_ptr<Device>& device, Stream& stream, std::mt19937_64& random,
         const GemmDesc& of, bool copied_is_a)
      : desc(of),
        copies_a(copied_is_a),
        a(device, stream, desc.m, desc.k, desc.a_order, desc.a_dtype, desc.lda, 0),
        b(device, stream, desc.k, desc.n, desc.b_order, desc.a_dtype, desc.ldb, 0),
        d(device, stream, desc.m, desc.n, desc.d_order, desc.d_dtype, desc.ldd, 0) {
    copied().fill_integers(random);
    if (device->info().kind == DeviceKind::cuda && device->info().compute_major == 9) {
      far = std::make_unique<FarMemory>(copied().memory.bytes());
      std::memcpy(far->data(), copied().memory.data(), copied().memory.bytes());
    }
    for (size_t kind = 0; kind < kKinds; ++kind) {
      Guarded& memory = loaded().memory;
      loaded().fill_integers(random);
      kinds.push_back(std::make_unique<Guarded>(device, stream, memory.bytes()));
      std::memcpy(kinds.back()->data(), memory.data(), memory.bytes());
      kinds.back()->upload();
      for (int64_t i = 0; i < desc.m; ++i)
        for (int64_t j = 0; j < desc.n; ++j) encode_element(d.at(i, j), desc.d_dtype, sum(i, j));
      wanted.emplace_back(d.memory.data(), d.memory.data() + d.memory.bytes());
    }
    REQUIRE(wanted[0] != wanted[1]);
  }
  Matrix& copied() { return copies_a ? a : b; }
  Matrix& loaded() { return copies_a ? b : a; }
  float sum(int64_t i, int64_t j) {
    double out = 0;
    for (int64_t k = 0; k < desc.k; ++k) out += a.value(i, k) * b.value(k, j);
    return static_cast<float>(out);
  }
};

// Captures the staging copy and the GEMM as graph nodes. The GEMM begins while the copy runs and
// must wait for the copy of its own launch.
void check_replayed(Stream& stream, Beside& of, const GemmPlan& plan, const GemmRun& run,
                    Guarded& workspace) {
  std::unique_ptr<Graph> graph;
  TW_REQUIRE_OK(stream.begin_capture());
  TW_REQUIRE_OK(stream.fill(workspace.address(), 0xff, workspace.bytes()));
  TW_REQUIRE_OK(plan.run(stream, run));
  TW_REQUIRE_OK(stream.end_capture(&graph));
  TW_REQUIRE_OK(graph->instantiate());
  for (size_t i = 0; i < 20; ++i) {
    const size_t kind = i % kKinds;
    TW_REQUIRE_OK(stream.copy_on_device(of.loaded().memory.address(), of.kinds[kind]->address(),
                                        of.loaded().memory.bytes()));
    TW_REQUIRE_OK(graph->launch(stream));
    of.d.memory.read();
    REQUIRE(std::memcmp(of.wanted[kind].data(), of.d.memory.data(), of.wanted[kind].size()) == 0);
  }
}

// The kernel may load one operand while the other is being copied. It must not load it before the
// preceding copy_on_device() has written it, nor read the workspace, which is NaN, before the
// staging copy has.
void check_beside(const std::shared_ptr<Device>& device, Stream& stream, Beside& of,
                  const GemmChoice& choice) {
  INFO(gemm_choice_text(choice) << " copies " << (of.copies_a ? "a" : "b"));
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GemmPlan::create_forced(device, of.desc, choice, &plan));
  REQUIRE(plan->info().workspace_bytes > 0);
  Guarded workspace(device, stream, plan->info().workspace_bytes, 0);
  GemmRun run{.a = of.a.memory.address(),
              .b = of.b.memory.address(),
              .d = of.d.memory.address(),
              .workspace = workspace.address(),
              .workspace_bytes = workspace.bytes()};
  if (of.far) (of.copies_a ? run.a : run.b) = reinterpret_cast<uint64_t>(of.far->data());
  const bool host = device->info().kind == DeviceKind::host;
  for (int i = 0; i < (host ? 2 : 20); ++i) {
    const auto kind = static_cast<size_t>(i) % kKinds;
    // The fills take long enough for the copy and the GEMM to be queued, so that they may overlap.
    for (int fill = 0; fill < (host ? 1 : 20); ++fill)
      TW_REQUIRE_OK(stream.fill(workspace.address(), 0xff, workspace.bytes()));
    TW_REQUIRE_OK(stream.copy_on_device(of.loaded().memory.address(), of.kinds[kind]->address(),
                                        of.loaded().memory.bytes()));
    TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(stream, run));
    of.d.memory.read();
    const std::vector<uint8_t>& wanted = of.wanted[kind];
    REQUIRE(std::memcmp(wanted.data(), of.d.memory.data(), wanted.size()) == 0);
  }
  if (!host) check_replayed(stream, of, static_cast<GemmPlan&>(*plan), run, workspace);
  CHECK(of.d.memory.guards_intact());
  workspace.read();
  CHECK(workspace.guards_intact());
}

}  // namespace

TEST_CASE("gemm: a staging copy of one operand while the other is loaded") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(9);
  int tried = 0;
  for (const bool copies_a : {true, false})
    for (const Order b_order : {Order::row, Order::column}) {
      // The staging copy uses a third of the SMs, so that the GEMM finds room on the others.
      const int64_t large = 264, small = 40;
      GemmDesc desc;
      desc.d_dtype = DType::F32;
      desc.b_order = b_order;
      desc.m = desc.min_m = copies_a ? large : small;
      desc.n = copies_a ? small : large;
      desc.k = 328;
      desc.ldd = desc.n;
      desc.lda = desc.k + (copies_a ? 1 : 0);
      desc.ldb = (b_order == Order::row ? desc.n : desc.k) + (copies_a ? 0 : 1);
      desc.a_alignment = desc.b_alignment = 16;
      desc.staging_copy = true;
      GemmProblem problem;
      TW_REQUIRE_OK(gemm_problem(desc, &problem));
      Beside beside(device, *stream, random, desc, copies_a);
      // The best kernel of each schedule.
      std::set<uint32_t> schedules;
      for (const GemmCandidate& one :
           GemmRanking(*device, gemm_with_staging(problem)).candidates(desc.m)) {
        if (!one.choice.uses_maps() || !schedules.insert(one.choice.entry->variant).second)
          continue;
        check_beside(device, *stream, beside, one.choice);
        ++tried;
      }
    }
  const FeatureMask maps = feature::wgmma | feature::host;
  CHECK((tried >= 4 || !(device->info().kernel_features & maps)));
}
