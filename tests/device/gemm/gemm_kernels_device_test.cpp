// SPDX-License-Identifier: Apache-2.0
// Forces GEMM kernels on one small problem each, with partial tiles, for slow devices such as the
// PTX machine. Compares every element with float64.
#include <cmath>

#include "tests/device/common/predecessor.hpp"
#include "tests/device/gemm/gemm_choices.hpp"

using namespace tw;
using namespace tw::test;

namespace {

int64_t up(int64_t value, int64_t to) {
  return (value + to - 1) / to * to;
}

/// What a run is like: alone; or behind another kernel, with several tiles per block if possible,
/// and a k above all stages, so that the block uses each stage twice.
enum class Kind {
  alone,
  lines,    // D does not suit a tensor map
  rest,     // D suits one, except for the last elements of its lines; k is short and B constant
  whole,    // D suits one, and two runs follow each other
  shallow,  // D suits one, and there is a single k block
  single,   // the same with a single tile per block, and B is constant
  added,    // the same as whole, and the product is added to D
  empty,    // the same as lines, with a k of 0: nothing is multiplied between two tiles
  divided,  // the CTAs of a stream-K kernel divide k
  ahead,    // so many CTAs that those of a small tile do not fill all stages at once
  options,  // a bias, relu and C
  gated,
  arrays  // of addresses of the operands, from which another kernel makes tensor maps
};
constexpr Kind kBehind[] = {Kind::lines,  Kind::rest,    Kind::whole, Kind::shallow,
                            Kind::single, Kind::added,   Kind::empty, Kind::divided,
                            Kind::ahead,  Kind::options, Kind::gated, Kind::arrays};

/// Whether all of D suits a tensor map.
bool suits_map(Kind kind) {
  return kind != Kind::alone && kind != Kind::lines && kind != Kind::rest && kind != Kind::empty;
}

/// Whether the choice's kernel itself runs such a product.
bool does_kind(const GemmChoice& choice, Kind kind) {
  const KernelEntry& entry = *choice.entry;
  const bool small = entry.tile[choice.has(kGemmSwapAB) ? 0 : 1] <= 64 && choice.uses_maps();
  if (kind == Kind::divided) return choice.has(kGemmStreamK) && choice.split == 2;
  if (does_product_alone(choice)) return kind == Kind::whole;
  if (kind == Kind::ahead) return small && choice.cluster() == choice.split;
  if (kind == Kind::shallow || kind == Kind::single || kind == Kind::empty)
    return !choice.divides_k_among_ctas();
  if (kind == Kind::options || kind == Kind::gated || kind == Kind::arrays)
    return choice.has(kGemmEpilogue);
  return kind != Kind::added || entry.dtypes[1] == DType::F32;
}

/// Extents a few elements below a tile, and k above a stage.
GemmDesc beside_tile(const GemmChoice& choice, int number, Kind kind) {
  constexpr int64_t kManyCtas = 80;
  const KernelEntry& entry = *choice.entry;
  GemmDesc desc = desc_for(choice, Order::row);
  const bool turned = choice.has(kGemmSwapAB);
  const bool one_tile = kind == Kind::alone || kind == Kind::single || kind == Kind::divided ||
                        kind == Kind::ahead || choice.has(kGemmSplit);
  desc.m = int64_t{entry.tile[turned ? 1 : 0]} * choice.cluster_along(turned ? 1 : 0) - 3;
  desc.n = int64_t{entry.tile[turned ? 0 : 1]} * choice.cluster_along(turned ? 0 : 1) - 5;
  desc.k = 64 + 9 + (choice.divides_k_among_ctas() ? (choice.split - 1) * entry.tile[2] : 0);
  const int64_t shortest = desc.k;
  if (kind != Kind::alone) {
    desc.k += (choice.split * (entry.stages + 1)) * int64_t{64};
    if (choice.has(kGemmNoMaps)) desc.k += choice.split * int64_t{640};  // several panels of B
    desc.flags |= kGemmProgrammatic;
    number = kind == Kind::lines || kind == Kind::empty ? 0 : 1;
  }
  if (!one_tile) {
    // A kernel may write a tile while it multiplies the next, use two slabs in turn, or write every
    // tile by another warpgroup.
    const bool few = kind == Kind::lines || kind == Kind::added || kind == Kind::empty;
    const int more = choice.has(kGemmPingpong) ? 3 : few ? 1 : 2;
    desc.m += more * int64_t{entry.tile[turned ? 1 : 0]} * choice.cluster_along(turned ? 1 : 0);
    desc.max_sms = choice.cluster();
  }
  if (kind == Kind::empty) desc.k = 0;
  if (kind == Kind::rest || kind == Kind::options || kind == Kind::gated) desc.k = shortest;
  if (kind == Kind::shallow || kind == Kind::single) desc.k = 40;
  if (kind == Kind::divided) desc.m = 20;
  if (kind == Kind::arrays) {
    desc.flags |= kGemmPointers;
    desc.a_alignment = desc.b_alignment = desc.c_alignment = desc.d_alignment = 16;
  }
  if (kind == Kind::rest || kind == Kind::single) desc.flags |= kGemmConstantB;
  if (kind == Kind::ahead) desc.n = entry.tile[turned ? 0 : 1] * kManyCtas / choice.split;
  if (kind == Kind::options) {
    desc.epilogue.bias = Per::column;
    desc.epilogue.activation = Activation::relu;
  }
  if (kind == Kind::gated) {
    desc.epilogue.gate = Gate::halves;
    desc.epilogue.activation = Activation::silu;
  }
  if (suits_map(kind)) desc.n = up(desc.n, 16);
  set_pitches(choice, number, &desc);
  if (kind == Kind::gated) desc.ldd = desc.n / 2;
  if (kind == Kind::added || kind == Kind::options) desc.ldc = desc.ldd;
  if (!does_product_alone(choice)) return desc;
  // These kernels need lines of D of multiples of 16 bytes.
  desc.n = up(desc.n, 8);
  for (int64_t* pitch : {&desc.lda, &desc.ldb, &desc.ldc, &desc.ldd})
    *pitch = std::max(up(*pitch, 8), desc.n);
  return desc;
}

std::vector<double> values(Matrix& matrix) {
  std::vector<double> out;
  for (int64_t r = 0; r < matrix.rows; ++r)
    for (int64_t c = 0; c < matrix.columns; ++c) out.push_back(matrix.value(r, c));
  return out;
}

/// Number of elements of D that differ from A B + beta C + bias, or with relu from the positive
/// ones of these. Small integers make it exact.
int64_t wrong_elements(const GemmDesc& d, float beta, Matrix& a, Matrix& b, Matrix& c, Matrix& bias,
                       Matrix& out) {
  const bool biased = d.epilogue.bias != Per::none;
  const bool relu = d.epilogue.activation == Activation::relu;
  const std::vector<double> x = values(a), y = values(b);
  int64_t wrong = 0;
  for (int64_t i = 0; i < d.m; ++i) {
    std::vector<double> sums(static_cast<size_t>(d.n), 0.0);
    for (int64_t k = 0; k < d.k; ++k)
      for (int64_t j = 0; j < d.n; ++j)
        sums[static_cast<size_t>(j)] +=
            x[static_cast<size_t>(i * d.k + k)] * y[static_cast<size_t>(k * d.n + j)];
    for (int64_t j = 0; j < d.n; ++j) {
      double wanted = sums[static_cast<size_t>(j)] + double(beta) * c.value(i, j);
      if (biased) wanted += bias.value(0, j);
      if (relu) wanted = std::max(wanted, 0.0);
      wrong +=
          std::fabs(out.value(i, j) - wanted) > std::fabs(wanted) * half_unit(d.d_dtype) * 1.001;
    }
  }
  return wrong;
}

void check_choice(const std::shared_ptr<Device>& device, Stream& stream, const GemmChoice& choice,
                  int number, Kind kind) {
  const GemmDesc d = beside_tile(choice, number, kind);
  const bool gated = kind == Kind::gated;
  const bool adds_c = kind == Kind::alone
                          ? number % 2 == 0
                          : kind == Kind::lines || kind == Kind::rest || kind == Kind::added ||
                                kind == Kind::empty || kind == Kind::options;
  const float beta = adds_c && !does_product_alone(choice) ? 1.0f : 0.0f;
  std::mt19937_64 random(static_cast<uint64_t>(number) + 1);
  Matrix a(device, stream, d.m, d.k, d.a_order, d.a_dtype, d.lda, 0);
  Matrix b(device, stream, d.k, d.n, d.b_order, d.a_dtype, d.ldb, 0);
  Matrix c(device, stream, d.m, d.n, d.d_order, d.d_dtype, d.ldc, 0);
  Matrix bias(device, stream, 1, d.n, Order::row, d.d_dtype, 0, 0);
  Matrix out(device, stream, d.m, gated ? d.n / 2 : d.n, d.d_order, d.d_dtype, d.ldd, 0);
  for (Matrix* each : {&a, &b, &c, &bias}) each->fill_integers(random);
  if (kind == Kind::added) {
    std::copy_n(c.memory.data(), c.memory.bytes(), out.memory.data());
    out.memory.upload();
  }
  std::unique_ptr<Plan> plan;
  const Status made = GemmPlan::create_forced(device, d, choice, &plan);
  if (gated && made.code() == Code::ERROR_UNSUPPORTED) return;
  TW_REQUIRE_OK(made);
  CHECK(std::string(plan->info().kernel) == choice.entry->symbol);
  const uint64_t bytes = plan->info().workspace_bytes;
  Guarded workspace(device, stream, std::max<uint64_t>(bytes, 16), 0);
  Guarded between(device, stream, out.memory.bytes());
  Guarded arrays(device, stream, 4 * 8);
  GemmRun run{.beta = beta,
              .a = a.memory.address(),
              .b = b.memory.address(),
              .c = kind == Kind::added ? out.memory.address() : c.memory.address(),
              .d = out.memory.address(),
              .workspace = workspace.address(),
              .workspace_bytes = bytes,
              .bias = kind == Kind::options ? bias.memory.address() : 0};
  if (kind == Kind::arrays) {
    int place = 0;
    for (uint64_t* address : {&run.a, &run.b, &run.c, &run.d}) {
      std::memcpy(arrays.data() + place * 8, address, 8);
      *address = arrays.address() + static_cast<uint64_t>(place++) * 8;
    }
    arrays.upload();
  }
  Predecessor before(device, stream);
  if (kind != Kind::alone) {
    for (const Guarded* memory : {&a.memory, &b.memory, &c.memory, &bias.memory, &out.memory,
                                  &workspace, &between, &arrays})
      if (memory != &b.memory || (!d.has(kGemmConstantB) && kind != Kind::ahead))
        before.add(memory->address(), memory->bytes());
    before.launch();
  }
  if (kind == Kind::whole) {
    GemmRun first = run;
    first.d = between.address();
    TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(stream, first));
  }
  TW_REQUIRE_OK(static_cast<GemmPlan&>(*plan).run(stream, run));
  TW_REQUIRE_OK(stream.synchronize());
  workspace.read();
  CHECK(workspace.guards_intact());
  out.memory.read();
  CHECK(out.memory.guards_intact());
  CHECK(out.padding_intact());
  // The values of gated products are compared by gemm_epilogue_device_test.
  if (!gated) CHECK(wrong_elements(d, beta, a, b, c, bias, out) == 0);
}

void check_choices(const std::vector<GemmChoice>& choices, const std::shared_ptr<Device>& device,
                   bool behind = false) {
  const auto stream = new_stream(device);
  int number = 0;
  for (const GemmChoice& choice : choices) {
    INFO(gemm_choice_text(choice));
    if (!behind) check_choice(device, *stream, choice, number, Kind::alone);
    for (const Kind kind : kBehind) {
      CAPTURE(static_cast<int>(kind));
      if (behind && does_kind(choice, kind)) check_choice(device, *stream, choice, number, kind);
    }
    ++number;
  }
  MESSAGE(number << " choices");
}

/// Whether a choice has a small split factor, or is one of a few stream-K choices in a cluster.
/// Others take minutes on the PTX machine.
bool is_small(const GemmChoice& choice) {
  const auto [m, n] = choice.cluster_shape;
  if (m * n == 1) return choice.split <= 2;
  return choice.entry->dtypes[1] != DType::F32 &&
         ((m == 2 && n == 1 && choice.split == 8) || (m == 1 && n == 2 && choice.split == 1) ||
          (m == 2 && n == 4 && choice.split == 1));
}

/// One small choice for each kind of kernel.
std::vector<GemmChoice> small_kinds(const Device& device) {
  std::vector<GemmChoice> kinds;
  for (const GemmChoice& choice : one_of_each_kind(device))
    if (is_small(choice)) kinds.push_back(choice);
  return kinds;
}

/// Returns nullptr, and skips the test case, on the host device, where no kernel can be forced.
std::shared_ptr<Device> open_gpu() {
  std::shared_ptr<Device> device = open_test_device();
  if (device && device->info().kind == DeviceKind::host) {
    skip("needs the GPU kernels");
    return nullptr;
  }
  return device;
}

/// One choice per kernel, with its smallest split factor; for stream-K with a factor of 2.
std::vector<GemmChoice> each_kernel(const Device& device) {
  std::vector<GemmChoice> out;
  for (const GemmChoice& choice : all_choices(device)) {
    const bool same = !out.empty() && out.back().entry == choice.entry;
    if (!same)
      out.push_back(choice);
    else if (choice.has(kGemmStreamK) && choice.split == 2)
      out.back() = choice;
  }
  return share_of(out);
}

}  // namespace

TEST_CASE("gemm kernels: one of each kind beside its tile") {
  const auto device = open_gpu();
  if (device) check_choices(small_kinds(*device), device);
}

TEST_CASE("gemm kernels: stages that are taken again, tile behind tile, behind another kernel") {
  const auto device = open_gpu();
  if (device) check_choices(small_kinds(*device), device, true);
}

TEST_CASE("gemm kernels: every one beside its tile") {
  const auto device = open_gpu();
  if (!device) return;
  check_choices(each_kernel(*device), device);
}
