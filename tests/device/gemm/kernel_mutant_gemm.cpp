// SPDX-License-Identifier: Apache-2.0
// Runs GEMM with kernels of another image (TW_MUTANT_IMAGE) instead of the library's: those in
// TW_MUTANT_ROWS, separated by commas. Prints the first wrong result and fails. kernel_mutants.py
// makes the images and runs this program.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/device/common/far_memory.hpp"
#include "tests/device/common/kernel_folder.hpp"
#include "tests/device/gemm/gemm_full_cases.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int kRepeats = 1000;

// Replaces the plan's kernel by that of the image.
void replace_kernel(const GemmPlan& plan, Module& module, const char* symbol) {
  auto& prepared = const_cast<PreparedKernel&>(plan.kernel_for(1).prepared());
  TW_REQUIRE_OK(module.kernel(symbol, &prepared.kernel));
}

bool splits_plain(const GemmChoice& choice) {
  return choice.has(kGemmNoMaps) && choice.has(kGemmSplit);
}

using Extents = int64_t[3];  // m, n, k

// Many uses of each stage, many tiles per block, partial tiles, columns that the TMA cannot store.
constexpr Extents kOfTiles[] = {
    {1032, 1544, 3000}, {256, 515, 64}, {4096, 2048, 72}, {128, 128, 65536}};
// For split-K kernels without tensor maps: more clusters than run at once, so that a new one may
// overwrite shared memory that is still read; parts of k of several panels; and a last tile of one
// row, for which seven of eight warps load nothing and finish early.
constexpr Extents kOfPlainSplits[] = {
    {72, 7681, 3001}, {32, 5121, 4801}, {9, 1025, 20011}, {17, 129, 65535}};
// For kernels for a short k: more tiles than blocks, and warps with and without rows.
constexpr Extents kOfPlainShorts[] = {
    {40, 65537, 63}, {17, 65537, 64}, {33, 40001, 9}, {100, 30001, 33}};

GemmCase case_for(const GemmChoice& choice, int which) {
  const bool without_maps = splits_plain(choice) || choice.has(kGemmShort);
  const Extents& extents = (splits_plain(choice)     ? kOfPlainSplits
                            : choice.has(kGemmShort) ? kOfPlainShorts
                                                     : kOfTiles)[which];
  GemmCase c;
  c.desc = desc_for(choice, Order::row);
  c.desc.m = extents[0];
  c.desc.n = extents[1];
  c.desc.k = extents[2];
  if (!without_maps && choice.has(kGemmSplit)) {
    c.desc.m = 264;
    c.desc.n = 200;
    c.desc.k += 512;
  }
  set_pitches(choice, 0, &c.desc);
  if (!without_maps) c.desc.ldd = (c.desc.n + 7) / 8 * 8;
  c.seed = static_cast<uint64_t>(which + 1);
  return c;
}

// Returns a description of the first wrong result, or an empty string.
std::string try_row(GemmLab& lab, Module& module, const GemmChoice& choice) {
  for (int which = 0; which < 4; ++which) {
    if (which == 3 && !choice.has(kGemmNoMaps)) continue;  // long sums only without tensor maps
    const GemmCase c = case_for(choice, which);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create_forced(lab.device(), c.desc, choice, &plan));
    const auto& gemm = static_cast<const GemmPlan&>(*plan);
    replace_kernel(gemm, module, choice.entry->symbol);
    const GemmOperands at = lab.prepare(c);
    // Errors may be rare, so repeat: every run must give the bits of the first, checked one.
    const GemmOutcome first = lab.run(gemm, c, at);
    if (!first.text.empty()) return gemm_choice_text(choice) + ": " + first.text;
    TW_REQUIRE_OK(lab.stream().copy_on_device(lab.spare(), at.d, at.d_bytes));
    const bool once = which == 3 && !splits_plain(choice);
    for (int i = 0; i < (once ? 1 : kRepeats); ++i) {
      TW_REQUIRE_OK(lab.stream().fill(at.d, GemmLab::kPoison, at.d_bytes));
      TW_REQUIRE_OK(gemm.run(lab.stream(), at.run(c)));
      TW_REQUIRE_OK(lab.check().compare_bits(lab.stream(), at.d, lab.spare(), at.d_bytes));
    }
    uint64_t different = 0;
    TW_REQUIRE_OK(lab.check().different(&different));
    if (different)
      return gemm_choice_text(choice) + ": " + std::to_string(different) + " words in " +
             std::to_string(kRepeats) + " runs";
  }
  return "";
}

// The same for an epilogue kernel and each FullWay. The library's kernel writes the truth.
std::string try_full_row(GemmLab& lab, FullLab& full, Module& module, const GemmChoice& choice) {
  const std::vector<FullWay> ways = full_ways();
  for (const FullWay& way : ways) {
    const GemmDesc desc = full_desc(choice, way);
    const std::unique_ptr<Plan> plan = full_plan(lab.device(), choice, desc);
    if (!plan) continue;
    full.begin(desc, way, *plan);
    const auto& gemm = static_cast<const GemmPlan&>(*plan);
    full.make_truth(gemm);
    replace_kernel(gemm, module, choice.entry->symbol);
    for (int i = 0; i < kRepeats; ++i) {
      full.clear(lab.stream(), 1);
      TW_REQUIRE_OK(gemm.run(lab.stream(), full.run(1)));
      full.compare(lab.stream(), 1);
    }
    uint64_t different = 0;
    TW_REQUIRE_OK(lab.check().different(&different));
    if (different)
      return gemm_choice_text(choice) + ", " + way.name + ": " + std::to_string(different) +
             " words in " + std::to_string(kRepeats) + " runs";
  }
  return "";
}

// Operands in memory that the GPU reads slowly.
struct FarOperands {
  FarMemory a, b;
  explicit FarOperands(const GemmDesc& d)
      : a(static_cast<size_t>((d.a_order == Order::row ? d.m : d.k) * d.lda * 2)),
        b(static_cast<size_t>((d.b_order == Order::row ? d.k : d.n) * d.ldb * 2)) {}
  void take(const GemmDesc& d, GemmRun* run, bool takes_a, bool takes_b) {
    const auto bytes = [](int64_t lines, int64_t pitch, int64_t along) {
      return static_cast<size_t>(((lines - 1) * pitch + along) * 2);
    };
    const bool a_row = d.a_order == Order::row, b_row = d.b_order == Order::row;
    a.take(run->a, bytes(a_row ? d.m : d.k, d.lda, a_row ? d.k : d.m));
    b.take(run->b, bytes(b_row ? d.k : d.n, d.ldb, b_row ? d.n : d.k));
    if (takes_a) run->a = a.address();
    if (takes_b) run->b = b.address();
  }
};

// GEMM after a staging copy of one or both operands. The workspace is NaN until the copy has
// written it, and the copy's source is slow to read, so that a missing wait shows.
std::string try_realigned(GemmLab& lab, Module& module, const GemmChoice& choice) {
  uint64_t workspace = 0;
  TW_REQUIRE_OK(lab.device()->allocate(GemmLab::kRegionBytes, &workspace));
  std::string wrong;
  for (int which = 0; which < 12 && wrong.empty(); ++which) {
    GemmCase c;
    c.desc = desc_for(choice, Order::row);
    // With the last size, blocks have more than one tile, whose loads find free stages.
    const int64_t sizes[][3] = {
        {264, 200, 712}, {72, 2056, 1000}, {1000, 136, 2056}, {2056, 1032, 136}};
    c.desc.m = c.desc.min_m = sizes[which / 3][0];
    c.desc.n = sizes[which / 3][1];
    c.desc.k = sizes[which / 3][2];
    if (choice.split > (c.desc.k + 63) / 64) continue;  // fewer k blocks than parts
    set_pitches(choice, 0, &c.desc);
    c.desc.ldd = (c.desc.n + 7) / 8 * 8;
    const bool copies_a = which % 3 != 1, copies_b = which % 3 != 0;
    c.desc.lda += copies_a ? 1 : 0;
    c.desc.ldb += copies_b ? 1 : 0;
    c.desc.a_alignment = c.desc.b_alignment = 16;
    c.desc.staging_copy = true;
    c.seed = static_cast<uint64_t>(which + 1);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GemmPlan::create_forced(lab.device(), c.desc, choice, &plan));
    const auto& gemm = static_cast<const GemmPlan&>(*plan);
    replace_kernel(gemm, module, choice.entry->symbol);
    const GemmOperands at = lab.prepare(c);
    GemmRun run = at.run(c);
    FarOperands far(c.desc);
    TW_REQUIRE_OK(lab.stream().synchronize());
    far.take(c.desc, &run, copies_a, copies_b);
    run.workspace = workspace;
    run.workspace_bytes = plan->info().workspace_bytes;
    REQUIRE(run.workspace_bytes != 0);
    REQUIRE(run.workspace_bytes <= GemmLab::kRegionBytes);
    TW_REQUIRE_OK(gemm.run(lab.stream(), run));
    wrong = lab.look(c, at).text;
    TW_REQUIRE_OK(lab.stream().copy_on_device(lab.spare(), at.d, at.d_bytes));
    for (int i = 0; i < kRepeats; ++i) {
      TW_REQUIRE_OK(lab.stream().fill(at.d, GemmLab::kPoison, at.d_bytes));
      TW_REQUIRE_OK(lab.stream().fill(workspace, 0xff, run.workspace_bytes));
      TW_REQUIRE_OK(gemm.run(lab.stream(), run));
      TW_REQUIRE_OK(lab.check().compare_bits(lab.stream(), at.d, lab.spare(), at.d_bytes));
    }
    uint64_t different = 0;
    TW_REQUIRE_OK(lab.check().different(&different));
    if (different && wrong.empty())
      wrong = std::to_string(different) + " words in " + std::to_string(kRepeats) + " runs";
    if (!wrong.empty()) wrong = gemm_choice_text(choice) + ", " + describe(c) + ": " + wrong;
  }
  TW_REQUIRE_OK(lab.device()->release(workspace));
  return wrong;
}

// Calls attempt(module, choice) for the image's kernels: epilogue kernels (`full`) or others.
template <class Attempt>
void try_image(GemmLab& lab, bool full, Attempt attempt) {
  const char* path = std::getenv("TW_MUTANT_IMAGE");
  const char* rows = std::getenv("TW_MUTANT_ROWS");
  if (!path || !rows) return skip("TW_MUTANT_IMAGE and TW_MUTANT_ROWS are not set");
  std::ifstream file(path, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  const std::string wanted = "," + std::string(rows) + ",";
  std::unique_ptr<Module> module;
  TW_REQUIRE_OK(lab.device()->load_module(image.data(), image.size(), &module));
  int tried = 0;
  for (const GemmChoice& choice : all_choices(*lab.device())) {
    if (choice.has(kGemmEpilogue) != full) continue;
    if (choice.split != 1 && choice.split != 2 && choice.split != 5 && choice.split != 8) continue;
    if (wanted.find("," + std::string(choice.entry->symbol) + ",") == std::string::npos) continue;
    ++tried;
    const std::string wrong = attempt(*module, choice);
    if (!wrong.empty()) std::printf("WRONG: %s\n", wrong.c_str());
    REQUIRE(wrong == "");
  }
  CHECK(tried > 0);
}

}  // namespace

TEST_CASE("gemm: kernels of another image give right results") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  try_image(*lab, false, [&](Module& module, const GemmChoice& choice) {
    return try_row(*lab, module, choice);
  });
}

TEST_CASE("gemm realigned: kernels of another image wait for the staging copy") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  try_image(*lab, false, [&](Module& module, const GemmChoice& choice) {
    return try_realigned(*lab, module, choice);
  });
  if (have_kernel_folder()) CHECK_FALSE(images_of_folder().empty());
}

TEST_CASE("gemm full: kernels of another image give right results") {
  const auto lab = GemmLab::open();
  if (!lab) return;
  FullLab full(*lab);
  try_image(*lab, true, [&](Module& module, const GemmChoice& choice) {
    return try_full_row(*lab, full, module, choice);
  });
}
