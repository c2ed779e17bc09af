// SPDX-License-Identifier: Apache-2.0
// Batched GEMM by strides and by arrays of addresses, and values that a run reads on the device.
#include "tests/device/common/replay.hpp"
#include "tests/device/gemm/gemm_batch.hpp"

using namespace tw;
using namespace tw::test;

namespace {

std::string describe(const GemmDesc& d) {
  char text[320];
  std::snprintf(
      text, sizeof text,
      "m %d n %d k %d batch %d, %s to %s, orders %d%d%d, ld %d %d %d, strides %d %d %d %d, "
      "flags 0x%x, promises %u %u",
      int(d.m), int(d.n), int(d.k), int(d.batch), dtype_name(d.a_dtype), dtype_name(d.d_dtype),
      int(d.a_order), int(d.b_order), int(d.d_order), int(d.lda), int(d.ldb), int(d.ldd),
      int(d.a_batch_stride), int(d.b_batch_stride), int(d.c_batch_stride), int(d.d_batch_stride),
      d.flags, d.a_alignment, d.b_alignment);
  return text;
}

// Random sizes, types, orders and pitches; some pitches no tensor map can have.
GemmDesc random_desc(std::mt19937_64& random, int64_t most) {
  GemmDesc d;
  const auto& types = kGemmTypes[pick(random, 0, 3)];
  d.a_dtype = types.first;
  d.d_dtype = types.second;
  d.a_order = static_cast<Order>(pick(random, 0, 1));
  d.b_order = static_cast<Order>(pick(random, 0, 1));
  d.d_order = static_cast<Order>(pick(random, 0, 1));
  d.m = pick(random, 1, most);
  d.n = pick(random, 1, most);
  d.k = pick(random, 0, most);
  const int64_t step = pick(random, 0, 2) ? 8 : 1;
  const auto pitch = [&](int64_t least) {
    return (least + pick(random, 0, 9) + step) / step * step;
  };
  d.lda = pitch(d.a_order == Order::row ? d.k : d.m);
  d.ldb = pitch(d.b_order == Order::row ? d.n : d.k);
  d.ldd = pitch(d.d_order == Order::row ? d.n : d.m);
  if (pick(random, 0, 1)) d.a_alignment = d.b_alignment = d.d_alignment = 16;
  return d;
}

std::vector<uint8_t> bytes_of(const void* from, size_t size) {
  const auto* at = static_cast<const uint8_t*>(from);
  return {at, at + size};
}

// A value or an array that a run reads from device memory.
struct Words {
  Guarded memory;
  Words(const std::shared_ptr<Device>& device, Stream& stream, size_t bytes)
      : memory(device, stream, bytes) {}
  template <class T>
  void set(const T* from, size_t count) {
    if (count != 0) std::memcpy(memory.data(), from, count * sizeof(T));
    memory.upload();
  }
  uint64_t address() const { return memory.address(); }
};

const GemmPlan& gemm(const std::unique_ptr<Plan>& plan) {
  return static_cast<const GemmPlan&>(*plan);
}

}  // namespace

TEST_CASE("gemm batch: strides of every kind") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(11);
  for (int i = 0; i < 60; ++i) {
    GemmDesc d = random_desc(random, 150);
    d.batch = pick(random, 0, 5);
    if (i % 4 == 1) d.max_sms = 2;  // several tiles per block
    const auto stride = [&](int64_t packed) {
      const int64_t step = pick(random, 0, 2) ? 8 : 1;
      return pick(random, 0, 2) ? kGemmPackedBatch
                                : (packed + pick(random, 0, 20)) / step * step + step;
    };
    const bool a_row = d.a_order == Order::row, b_row = d.b_order == Order::row;
    d.a_batch_stride = pick(random, 0, 3) ? stride(d.lda * (a_row ? d.m : d.k)) : 0;
    d.b_batch_stride = pick(random, 0, 3) ? stride(d.ldb * (b_row ? d.k : d.n)) : 0;
    d.c_batch_stride = pick(random, 0, 3) ? kGemmPackedBatch : 0;
    const bool d_row = d.d_order == Order::row;
    d.d_batch_stride = stride(d.ldd * (d_row ? d.m : d.n));
    if (i % 5 == 0 && d.batch > 0) {  // heads side by side: the matrices' lines alternate
      d.d_batch_stride = d_row ? d.n : d.m;
      d.ldd = d.batch * d.d_batch_stride;
    }
    const float alpha = pick(random, 0, 4) ? 1.0f : -2.0f;
    const float beta = pick(random, 0, 1) ? 0.0f : 2.0f;
    const uint64_t offset = d.a_alignment ? 0 : static_cast<uint64_t>(pick(random, 0, 1)) * 2;
    INFO(describe(d));
    BatchCase c(device, *stream, d, random, offset);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create(device, d, &plan));
    GemmRun run = c.run();
    run.alpha = alpha;
    run.beta = beta;
    const int64_t m = pick(random, 0, 2) ? d.m : pick(random, 0, d.m);
    run.m = m;
    TW_REQUIRE_OK(gemm(plan).run(*stream, run));
    std::vector<uint8_t> want = c.poisoned();
    for (int64_t one = 0; one < d.batch; ++one) c.expect(&want, m, alpha, beta, one, one, one, one);
    CHECK(c.is(want));
  }
}

TEST_CASE("gemm batch: arrays of addresses, some of them bad, read anew by every replay") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(12);
  for (int i = 0; i < 24; ++i) {
    GemmDesc d = random_desc(random, 140);
    // The PTX machine would take half a minute for 4096 matrices.
    const int64_t most = std::string(test_device()) == "ptx" ? 130 : 4096;
    d.batch = i == 0 ? most : i == 1 ? 0 : pick(random, 1, 7);
    if (i == 0) d.m = d.n = d.k = d.lda = d.ldb = d.ldd = 8;
    // The matrices are in a packed batch, at addresses with the promised alignment.
    GemmDesc packed = d;
    packed.a_batch_stride = (d.a_order == Order::row ? d.m : d.k) * d.lda + 8;
    packed.b_batch_stride = (d.b_order == Order::row ? d.k : d.n) * d.ldb + 8;
    packed.d_batch_stride = (d.d_order == Order::row ? d.m : d.n) * d.ldd + 8;
    for (int64_t* stride : {&packed.a_batch_stride, &packed.b_batch_stride, &packed.d_batch_stride})
      *stride = (*stride + 7) / 8 * 8;
    d.flags = kGemmPointers;
    INFO(describe(d));
    BatchCase c(device, *stream, packed, random);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create(device, d, &plan));
    const auto count = static_cast<size_t>(d.batch);
    Words a(device, *stream, count * 8), b(device, *stream, count * 8);
    Words cc(device, *stream, count * 8), dd(device, *stream, count * 8);
    Words skipped(device, *stream, 8);
    const PlanInfo info = plan->info();
    CHECK(info.workspace_bytes >= count * sizeof(uint64_t) * 4);
    Guarded workspace(device, *stream, info.workspace_bytes);
    GemmRun run{.beta = i % 2 ? 1.0f : 0.0f,
                .a = a.address(),
                .b = b.address(),
                .c = cc.address(),
                .d = dd.address(),
                .workspace = workspace.address(),
                .workspace_bytes = info.workspace_bytes,
                .invalid_count = skipped.address()};
    Replay replay(device, [&](Stream& on) { TW_REQUIRE_OK(gemm(plan).run(on, run)); });
    for (int round = 0; round < 3; ++round) {
      std::vector<int64_t> of_a(count), of_b(count), of_d(count);
      std::vector<uint64_t> pa(count), pb(count), pc(count), pd(count);
      for (size_t j = 0; j < count; ++j) of_d[j] = static_cast<int64_t>(j);
      std::shuffle(of_d.begin(), of_d.end(), random);
      uint64_t bad = 0;
      std::vector<uint8_t> want = c.poisoned();
      for (size_t j = 0; j < count; ++j) {
        of_a[j] = pick(random, 0, d.batch - 1);
        of_b[j] = pick(random, 0, d.batch - 1);
        pa[j] = c.a.address(of_a[j]);
        pb[j] = c.b.address(of_b[j]);
        pc[j] = c.c.address(of_b[j]);
        pd[j] = c.d.address(of_d[j]);
        const int64_t fault = round == 0 ? 9 : pick(random, 0, 9);
        // A bad C counts only if beta is not 0. An odd address is bad without any promise.
        if (fault == 0 && d.k > 0) pa[j] = 0;
        if (fault == 1 && d.k > 0) pb[j] += 1;
        if (fault == 2) pc[j] = 0;
        if (fault == 3) pd[j] = 0;
        if (fault == 4) pd[j] += 1;
        const bool out =
            (fault < 2 && d.k > 0) || (fault == 2 && run.beta != 0.0f) || fault == 3 || fault == 4;
        bad += out;
        if (!out) c.expect(&want, d.m, 1.0f, run.beta, of_a[j], of_b[j], of_b[j], of_d[j]);
      }
      const uint64_t before = 5;
      a.set(pa.data(), count);
      b.set(pb.data(), count);
      cc.set(pc.data(), count);
      dd.set(pd.data(), count);
      skipped.set(&before, 1);
      c.poison();
      replay();
      CHECK(c.is(want));
      skipped.memory.read();
      const uint64_t now = before + bad;
      CHECK(bytes_of(skipped.memory.data(), 8) == bytes_of(&now, 8));
      workspace.read();
      CHECK(workspace.guards_intact());
    }
  }
}

// Creates a plan whose kernel is a stream-K kernel with clusters of this shape, if one can serve
// the description. Otherwise the plan chooses.
static std::unique_ptr<Plan> plan_in_clusters(const std::shared_ptr<Device>& device,
                                              const GemmDesc& d, const uint8_t (&shape)[2]) {
  GemmProblem problem;
  TW_REQUIRE_OK(gemm_problem(d, &problem));
  std::unique_ptr<Plan> plan;
  for (const GemmCandidate& candidate :
       GemmRanking(*device, gemm_with_staging(problem)).candidates(d.m)) {
    const GemmChoice& choice = candidate.choice;
    if (!choice.has(kGemmStreamK) || !std::equal(shape, shape + 2, choice.cluster_shape)) continue;
    TW_REQUIRE_OK(GemmPlan::create_forced(device, d, choice, &plan));
    return plan;
  }
  TW_REQUIRE_OK(GemmPlan::create(device, d, &plan));
  return plan;
}

TEST_CASE("gemm: m and scalars in device memory") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(13);
  Words m_word(device, *stream, 8), alpha_word(device, *stream, 4), beta_word(device, *stream, 4);
  for (int i = 0; i < 30; ++i) {
    GemmDesc d = random_desc(random, i % 3 == 0 ? 300 : 150);
    if (i % 3 == 1) d.m = pick(random, 1, 16);
    d.batch = pick(random, 1, 3);
    if (i % 4 == 3) d.max_sms = 2;
    d.flags = kGemmDeviceM | kGemmDeviceScalars;
    INFO(describe(d));
    BatchCase c(device, *stream, d, random);
    const auto plan =
        plan_in_clusters(device, d, kGemmClusterShapes[i % std::size(kGemmClusterShapes)]);
    GemmRun run = c.run();
    run.device_m = m_word.address();
    run.device_alpha = alpha_word.address();
    run.device_beta = beta_word.address();
    run.alpha = 77.0f;  // ignored
    run.beta = 99.0f;
    Replay replay(device, [&](Stream& on) { TW_REQUIRE_OK(gemm(plan).run(on, run)); });
    for (const int64_t wanted :
         {d.m, int64_t{0}, pick(random, 1, d.m), d.m + 7, int64_t{-3}, INT64_MAX}) {
      const int64_t m = std::clamp<int64_t>(wanted, 0, d.m);
      const float alpha = static_cast<float>(pick(random, -1, 2)),
                  beta = static_cast<float>(pick(random, -1, 1));
      INFO("rows " << wanted << ", alpha " << alpha << ", beta " << beta);
      m_word.set(&wanted, 1);
      alpha_word.set(&alpha, 1);
      beta_word.set(&beta, 1);
      c.poison();
      replay();
      std::vector<uint8_t> want = c.poisoned();
      for (int64_t one = 0; one < d.batch; ++one)
        c.expect(&want, m, alpha, beta, one, one, one, one);
      CHECK(c.is(want));
    }
  }
}

TEST_CASE("gemm batch: equal runs give equal bits") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(14);
  std::normal_distribution<float> normal;
  const bool host = device->info().kind == DeviceKind::host;
  for (const auto& [m, k] : {std::pair{200, 520}, {16, 2048}})  // the second one uses split-K
    for (const uint32_t flags : {0u, kGemmProgrammatic | kGemmConstantB}) {
      GemmDesc d;
      d.m = m;
      d.n = 136;
      d.k = k;
      d.batch = 3;
      d.a_alignment = d.b_alignment = d.d_alignment = 16;
      d.flags = flags;
      BatchCase c(device, *stream, d, random);
      for (BatchOperand* operand : {&c.a, &c.b}) {
        for (uint64_t at = 0; at < operand->memory.bytes(); at += 2)
          encode_element(operand->memory.data() + at, d.a_dtype, normal(random));
        operand->memory.upload();
      }
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(GemmPlan::create(device, d, &plan));
      std::vector<uint8_t> first;
      for (int i = 0; i < (host ? 2 : 500); ++i) {
        TW_REQUIRE_OK(gemm(plan).run(*stream, c.run()));
        c.d.memory.read();
        if (i == 0) first = bytes_of(c.d.memory.data(), c.d.memory.bytes());
        REQUIRE(std::memcmp(first.data(), c.d.memory.data(), first.size()) == 0);
      }
    }
}
