// SPDX-License-Identifier: Apache-2.0
// Plans over a range of m: which kernel each run uses, and its launch arguments.
#include <cstdio>
#include <cstring>
#include <set>
#include <sstream>
#include <string>

#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Compares all launch arguments that the driver or a kernel reads.
bool same_launch(PaperLaunch a, PaperLaunch b) {
  for (GemmArgs* args : {&a.args, &b.args})
    if (args->plain_from == 0) args->map_d = {};  // no store uses it
  return a.kernel == b.kernel && std::memcmp(&a.args, &b.args, sizeof a.args) == 0 &&
         std::memcmp(a.config.grid, b.config.grid, sizeof a.config.grid) == 0 &&
         std::memcmp(a.config.cluster, b.config.cluster, sizeof a.config.cluster) == 0 &&
         a.config.dynamic_smem_bytes == b.config.dynamic_smem_bytes;
}

// The choice that explain() states for runs of m rows with C: for a range that contains m, else for
// all rows if it lists no ranges, else the choice without C.
std::string told_with_c(const GemmPlan& plan, int64_t m) {
  std::istringstream text(plan.explain());
  std::string line, of_all;
  bool ranges = false;
  while (std::getline(text, line)) {
    long long first = 0, last = 0;
    char choice[128] = "";
    if (std::sscanf(line.c_str(), "with C, m %lld to %lld: %127s", &first, &last, choice) == 3) {
      if (first <= m && m <= last) return choice;
      ranges = true;
    } else if (line.find("with C gemm_") == 0) {
      of_all = line.substr(std::strlen("with C "));
    }
  }
  return of_all.empty() || ranges ? gemm_choice_text(plan.kernel_for(m).choice()) : of_all;
}

}  // namespace

TEST_CASE("a plan for up to m rows runs each number of rows as a plan for exactly those would") {
  const auto device = hopper();
  struct Weights {
    int64_t n, k, most;
    Order a, b, d;
  };
  for (const Weights& w :
       {Weights{576, 7168, 700, Order::row, Order::column, Order::row},
        Weights{7168, 2048, 5000, Order::row, Order::row, Order::row},
        Weights{4096, 4096, 9000, Order::column, Order::column, Order::column}}) {
    GemmDesc desc = gemm_desc(w.most, w.n, w.k);
    desc.a_order = w.a;
    desc.b_order = w.b;
    desc.d_order = w.d;
    desc.lda = desc.a_order == Order::row ? w.k : 9008;
    desc.ldc = desc.ldd = desc.d_order == Order::row ? w.n : 9008;
    const auto whole = plan_of(device, desc);
    std::set<std::string> kernels;
    for (int64_t m = 1; m <= w.most; m += m < 300 ? 1 : 61) {
      INFO("m " << m << " n " << w.n);
      GemmDesc own = desc;
      own.m = m;
      const auto exact = plan_of(device, own);
      const PaperLaunch by_range = launched(device, *whole, m);
      REQUIRE(same_launch(by_range, launched(device, *exact, m)));
      REQUIRE(by_range.kernel ==
              GemmRanking(*device, gemm_problem_of(own)).candidates(m)[0].choice.entry->symbol);
      kernels.insert(by_range.kernel);
    }
    CHECK(kernels.size() > 2);  // otherwise the ranges were not exercised
  }
}

TEST_CASE("plans of nothing can be asked what they will do") {
  const auto device = hopper();
  for (const auto& [m, n] : {std::pair{0, 64}, std::pair{64, 0}, std::pair{0, 0}}) {
    const auto plan = plan_of(device, gemm_desc(m, n, 64));
    CHECK(plan->info().boxes_stored == 0);
    CHECK(plan->explain().find("gemm ") == 0);
  }
}

TEST_CASE("what is empty is planned, however many tiles it would have with one more row") {
  const auto device = hopper();
  const auto planned = [&](GemmDesc desc) {
    for (const Order d_order : {Order::row, Order::column})
      for (const uint32_t flags : {0u, kGemmInvariant}) {
        desc.d_order = d_order;
        desc.flags = flags;
        std::unique_ptr<Plan> plan;
        INFO("m " << desc.m << " n " << desc.n << " batch " << desc.batch << " flags " << flags);
        REQUIRE(GemmPlan::create(device, desc, &plan).ok());
        const PlanInfo info = plan->info();
        CHECK(info.flops == 0);
        CHECK(info.bytes_written == 0);
        CHECK(info.boxes_loaded + info.boxes_stored == 0);
        CHECK(plan->explain().find("gemm ") == 0);
        std::vector<GemmRange> candidates;
        CHECK(gemm_candidates(*device, desc, &candidates).ok());
        CHECK_FALSE(candidates.empty());
      }
  };
  GemmDesc desc = gemm_desc(kGemmMaxExtent, kGemmMaxExtent, 8);
  desc.batch = 0;
  planned(desc);
  desc = gemm_desc(0, kGemmMaxExtent, 8);
  desc.a_batch_stride = desc.b_batch_stride = 0;
  desc.batch = kGemmMaxBatch;
  desc.d_batch_stride = desc.c_batch_stride = kGemmMaxExtent;
  planned(desc);
  std::swap(desc.m, desc.n);
  planned(desc);
}

TEST_CASE("the copy engine adds where D is C, f32 and beta is 1") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(4096, 4096, 4096);
  const GemmRun in_place = {.beta = 1.0f, .a = kA, .b = kB, .c = kD, .d = kD};
  CHECK(launched(device, *plan_of(device, desc), 4096, in_place).args.adds_to_d == 0);
  desc.d_dtype = DType::F32;
  const auto plan = plan_of(device, desc);
  CHECK(launched(device, *plan, 4096, in_place).args.adds_to_d == 1);
  GemmRun run = in_place;
  run.beta = 0.5f;
  CHECK(launched(device, *plan, 4096, run).args.adds_to_d == 0);
  run = in_place;
  run.c = kC;
  CHECK(launched(device, *plan, 4096, run).args.adds_to_d == 0);
  desc.ldc = 4100;
  run = in_place;
  run.c = kC;
  CHECK(launched(device, *plan_of(device, desc), 4096, run).args.adds_to_d == 0);
}

TEST_CASE("ranges follow one another and name the kernels of the runs") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(4096, 2112, 7168);
  desc.min_m = 3;
  const auto plan = plan_of(device, desc);
  const auto& ranges = plan->ranges();
  REQUIRE(ranges.size() > 3);
  CHECK(ranges.front().first == 3);
  CHECK(ranges.back().last == 4096);
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (i > 0) {
      CHECK(ranges[i].first == ranges[i - 1].last + 1);
      CHECK_FALSE(ranges[i].candidate.choice == ranges[i - 1].candidate.choice);
    }
    for (const int64_t m : {ranges[i].first, ranges[i].last})
      CHECK(launched(device, *plan, m).kernel == ranges[i].candidate.choice.entry->symbol);
  }
  const std::string text = plan->explain();
  REQUIRE(ranges.size() <= kMaxRangesShown);
  for (const GemmRange& range : ranges)
    CHECK(text.find("m " + std::to_string(range.first) + " to " + std::to_string(range.last) +
                    ": " + gemm_choice_text(range.candidate.choice)) != text.npos);
  CHECK(text.find("runner-up") != text.npos);
  CHECK(text.find("waves") != text.npos);
  for (const char* term : {"launch", "tensor cores", "memory", "L2", "last epilogue"}) {
    const size_t first = text.find(term);
    CHECK(first != text.npos);
    CHECK(text.find(term, first + 1) != text.npos);  // for the runner-up, too
  }

  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const GemmRun run{.a = kA, .b = kB, .c = kC, .d = kD, .m = 2};
  CHECK(plan->run(*stream, run).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(std::string(last_failure().message).find("3 to 4096") != std::string::npos);
}

TEST_CASE("explain names the kernels of runs that read C, of few rows too") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(512, 2112, 512);
  desc.a_alignment = desc.b_alignment = desc.c_alignment = desc.d_alignment = 16;
  for (const bool activated : {true, false})
    for (const int64_t min_m : {1, 512}) {
      desc.epilogue.activation = activated ? Activation::silu : Activation::identity;
      desc.min_m = min_m;
      const auto plan = plan_of(device, desc);
      INFO(plan->explain());
      int differ = 0;
      for (int64_t m = min_m; m <= 512; ++m) {
        CHECK(told_with_c(*plan, m) == gemm_choice_text(plan->kernel_with_c(m).choice()));
        differ += &plan->kernel_with_c(m) != &plan->kernel_for(m);
      }
      // Without an activation, runs with C use another kernel for every m.
      CHECK((differ > 0) >= !activated);
      CHECK((&plan->kernel_with_c(512) == &plan->kernel_for(512)) == activated);
      const bool said = plan->explain().find("\nwith C gemm_") != std::string::npos;
      CHECK(said != activated);
    }
}

TEST_CASE("a plan for one m prepares one kernel") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(64, 7168, 2048);
  desc.min_m = 64;
  desc.a_alignment = desc.b_alignment = 16;
  const auto plan = plan_of(device, desc);
  CHECK(plan->ranges().size() == 1);
  CHECK(device->prepared == 1);
}

TEST_CASE("every candidate can be forced, and runs for every m") {
  const auto device = hopper();
  const GemmDesc desc = gemm_desc(300, 520, 1024);
  const auto candidates = GemmRanking(*device, gemm_problem_of(desc)).candidates(300);
  for (const GemmCandidate& candidate : candidates) {
    const std::string text = gemm_choice_text(candidate.choice);
    INFO(text);
    const auto plan = forced(device, desc, text.c_str());
    REQUIRE(plan);
    for (const int64_t m : {1, 64, 300}) {
      const PaperLaunch launch = launched(device, *plan, m);
      CHECK(launch.kernel == candidate.choice.entry->symbol);
      // Stream-K blocks that share a tile may form a cluster.
      const bool joins = candidate.choice.has(kGemmStreamK) && candidate.choice.cluster() == 1;
      if (joins)
        CHECK(launch.config.cluster[0] <= candidate.choice.split);
      else
        CHECK(launch.config.cluster[0] == candidate.choice.cluster());
      CHECK(launch.config.grid[0] % launch.config.cluster[0] == 0);
    }
    CHECK(plan->explain().find("forced by the caller") != std::string::npos);
    CHECK(plan->explain().find(text) != std::string::npos);
    CHECK(plan->info().kernel == std::string(candidate.choice.entry->symbol));
  }
}

TEST_CASE("blocks that share a tile as a cluster need no workspace") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(128, 2048, 8192);
  desc.min_m = 128;
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  // 32 tiles, and the device runs 30 clusters of four blocks: /4 makes clusters of three.
  constexpr std::pair<const char*, uint32_t> kClusters[] = {{"/1", 1}, {"/2", 2}, {"/4", 3}};
  for (const auto& [pieces, cluster] : kClusters) {
    const std::string text = std::string("gemm_bf16_bf16_rc_64x256_1x1_stream") + pieces;
    INFO(text);
    const auto plan = forced(device, desc, text.c_str());
    REQUIRE(plan);
    CHECK(plan->info().cluster[0] == cluster);
    CHECK(plan->info().grid[0] == 32 * cluster);
    CHECK(plan->info().workspace_bytes == 0);
  }
}

TEST_CASE("what cannot be forced, and why") {
  const auto device = hopper();
  const std::string split = gemm_symbol(128, 128, 1, kGemmSplit) + "/8";
  const std::string pair = gemm_symbol(128, 256, 2, 0);
  const auto refused = [&](const GemmDesc& desc, const std::string& text, const char* words) {
    INFO(text << ": " << words);
    CHECK_FALSE(forced(device, desc, text));
    CHECK(last_failure().code == Code::ERROR_UNSUPPORTED);
    CHECK(std::string(last_failure().fault.argument) == "candidate");
    INFO(last_failure().message);
    CHECK(std::strstr(last_failure().message, words));
    CHECK(std::strstr(last_failure().message, text.c_str()));
  };
  GemmDesc desc = gemm_desc(256, 256, 1024);
  REQUIRE(forced(device, desc, split));
  REQUIRE(forced(device, desc, pair));
  desc.d_dtype = DType::F32;
  refused(desc, pair, "bf16 to f32");
  desc = gemm_desc(256, 256, 1024);
  desc.b_order = Order::row;
  refused(desc, pair, "orders");
  desc = gemm_desc(256, 256, 1024);
  desc.lda = 1025;
  refused(desc, pair, "lda is 1025");
  desc = gemm_desc(256, 256, 1024);
  desc.max_sms = 1;
  refused(desc, pair, "1 SMs");
  desc = gemm_desc(256, 256, 448);
  refused(desc, split, "7 blocks");
  desc = gemm_desc(256, 256, 1024);
  desc.max_sms = 31;  // four tiles of eight blocks
  refused(desc, split, "32 blocks");
  desc.max_sms = 32;
  CHECK(forced(device, desc, split));
  refused(gemm_desc(64, 64, 64), "gemm_host_128x128x64", "does not run on paper");
}

TEST_CASE("a forced plan lets no other kernel step in") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const GemmDesc desc = gemm_desc(256, 256, 1024);
  const GemmRun odd{.a = kA + 2, .b = kB, .c = kC, .d = kD};
  const auto plan = forced(device, desc, gemm_symbol(128, 256, 2, 0));
  CHECK(plan->run(*stream, odd).code() == Code::ERROR_MISALIGNED);
  CHECK(std::string(last_failure().fault.argument) == "a");
  CHECK(device->launches.empty());
  // Unforced, an mma.sync kernel takes over.
  CHECK(launched(device, *plan_of(device, desc), 256, odd).args.map_a.words[0] == 0);
  CHECK(device->launches.back().kernel ==
        GemmRanking(*device, gemm_problem_of(desc)).best_without_maps(256).choice.entry->symbol);
}

TEST_CASE("max_sms bounds every grid") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  for (const uint32_t sms : {1u, 2u, 16u, 131u})
    for (const int64_t m : {1, 64, 256, 4096}) {
      INFO("max_sms " << sms << ", m " << m);
      const GemmDesc desc = gemm_desc(m, 4096, 7168, sms);
      const auto plan = plan_of(device, desc);
      for (const int64_t rows : {int64_t{1}, m / 2 + 1, m})
        CHECK(launched(device, *plan, rows).config.grid[0] <= sms);
      // mma.sync kernels for a pitch, for an address or forced; epilogue kernels for device_m.
      const auto plain_grid = [&](const GemmDesc& of, GemmRun run) {
        const PaperLaunch launch = launched(device, *plan_of(device, of), m, run);
        CHECK(launch.kernel.find("plain") != std::string::npos);
        return launch.config.grid[0];
      };
      GemmDesc odd = desc;
      odd.lda = 7169;
      const GemmRun run{.a = kA, .b = kB, .c = kC, .d = kD};
      CHECK(plain_grid(odd, run) <= sms);
      odd.flags = kGemmDeviceM;
      CHECK(plain_grid(odd, run) <= sms);
      GemmRun off = run;
      off.a += 2;
      CHECK(plain_grid(desc, off) <= sms);
      const auto by_force = forced(device, desc, "gemm_bf16_bf16_plain_64x64x32");
      CHECK(launched(device, *by_force, m).config.grid[0] <= sms);
      // The candidates' waves assume the same bound.
      const auto all = GemmRanking(*device, gemm_problem_of(desc)).candidates(m);
      for (const GemmCandidate& one : all)
        if (!one.choice.uses_maps())
          CHECK(one.waves == doctest::Approx(static_cast<double>(gemm_count_units(
                                                 one.choice, gemm_problem_of(desc))) /
                                             by_force->kernel_for(m).resident_clusters()));
      // Staging copies of operands that no map can read, and the product after them.
      GemmDesc moved = desc;
      moved.lda = 7169;
      moved.ldb = 7170;
      moved.staging_copy = true;
      moved.min_m = m;
      GemmRun with_room = run;
      with_room.workspace = 1ull << 52;
      with_room.workspace_bytes = 1ull << 40;
      device->launches.clear();
      const auto realigned = plan_of(device, moved);
      REQUIRE(realigned->run(*stream, with_room).ok());
      // B's 58 MB need a copy launch of their own. A small m may need no staging copy.
      const bool copied = realigned->kernel_for(m).choice().uses_maps();
      CHECK(device->launches.size() == (copied ? 3 : 1));
      CHECK((realigned->info().workspace_bytes != 0) == copied);
      for (const PaperLaunch& launch : device->launches) {
        INFO(launch.kernel);
        const uint32_t* grid = launch.config.grid;
        CHECK(uint64_t{grid[0]} * grid[1] * grid[2] <= sms);
      }
      // A batch by pointers. The preceding kernel handles four of its matrices per block.
      GemmDesc batch = desc;
      batch.batch = 9;
      batch.flags = kGemmPointers;
      for (const uint32_t alignment : {0u, 16u}) {
        batch.a_alignment = batch.b_alignment = alignment;
        GemmRun by_addresses = run;
        by_addresses.workspace = 1ull << 52;
        by_addresses.workspace_bytes = 1 << 30;
        device->launches.clear();
        REQUIRE(plan_of(device, batch)->run(*stream, by_addresses).ok());
        REQUIRE(device->launches.size() == 2);
        CHECK(device->launches[0].config.grid[0] == 3);
        CHECK(device->launches[1].config.grid[0] <= sms);
      }
    }
  // Without a bound, several blocks of an mma.sync kernel share an SM.
  GemmDesc odd = gemm_desc(4096, 4096, 7168);
  odd.lda = 7169;
  const auto grid = [&] {
    const auto plan = forced(device, odd, "gemm_bf16_bf16_plain_64x64x32");
    return launched(device, *plan, 4096).config.grid[0];
  };
  CHECK(grid() == 132 * kGemmNoMapsBlocksPerSm);
  odd.max_sms = 1000;
  CHECK(grid() == 132 * kGemmNoMapsBlocksPerSm);
}

TEST_CASE("free padding leaves nothing to plain stores") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(100, 1003, 512);
  desc.ldd = 1008;
  CHECK(launched(device, *plan_of(device, desc), 100).args.plain_from == 1000);
  desc.d_padding_writable = true;
  CHECK(launched(device, *plan_of(device, desc), 100).args.plain_from == 1003);
  // A pitch that no map can have: plain stores write all of D.
  desc.ldd = 1009;
  CHECK(launched(device, *plan_of(device, desc), 100).args.plain_from == 0);
}

TEST_CASE("sums in f16 are had by asking") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(4096, 4096, 4096);
  desc.a_dtype = desc.d_dtype = DType::F16;
  const auto halves = [&] {
    int count = 0;
    for (const GemmCandidate& c : GemmRanking(*device, gemm_problem_of(desc)).candidates(4096))
      count += c.choice.has(kGemmF16Accumulators);
    return count;
  };
  CHECK(halves() == 0);
  int rows = 0;
  for (const KernelEntry& entry : kernel_entries(Family::gemm))
    rows += (entry.variant & kGemmF16Accumulators) != 0;
  desc.accumulator = DType::F16;
  CHECK((halves() > 0) == (rows > 0));
}

TEST_CASE("transposed rows see the product turned round") {
  const auto device = hopper();
  const auto contiguous = [](const KernelMap& map) {  // extents from word 4
    return std::pair(static_cast<int64_t>(map.words[4] & 0xffffffff) + 1,
                     static_cast<int64_t>(map.words[4] >> 32) + 1);
  };
  int seen = 0;
  for (int orders = 0; orders < 8; ++orders) {
    GemmDesc desc = gemm_desc(200, 1003, 512);
    desc.a_order = static_cast<Order>(orders & 1);
    desc.b_order = static_cast<Order>(orders >> 1 & 1);
    desc.d_order = static_cast<Order>(orders >> 2);
    desc.lda = desc.a_order == Order::row ? 520 : 208;
    desc.ldb = desc.b_order == Order::row ? 1008 : 528;
    desc.ldc = desc.ldd = desc.d_order == Order::row ? 1008 : 216;
    for (const GemmCandidate& c : GemmRanking(*device, gemm_problem_of(desc)).candidates(200)) {
      if (!c.choice.has(kGemmSwapAB) || c.choice.has(kGemmStreamK)) continue;
      ++seen;
      const std::string text = gemm_choice_text(c.choice);
      INFO(text << ", orders " << orders);
      const auto plan = forced(device, desc, text);
      REQUIRE(plan);
      const int64_t m = 60;
      const PaperLaunch launch = launched(device, *plan, m);
      const GemmArgs& args = launch.args;
      // For a row-major D a swap-AB kernel multiplies B^T by A^T and writes D^T column-major. For a
      // column-major D it multiplies A by B.
      const bool turned_round = desc.d_order == Order::row;
      CHECK(args.m == (turned_round ? 1003 : m));
      CHECK(args.n == (turned_round ? m : 1003));
      CHECK(args.a == (turned_round ? kB : kA));
      CHECK(args.b == (turned_round ? kA : kB));
      CHECK(args.map_a.words[0] == args.a);
      CHECK(args.map_b.words[0] == args.b);
      CHECK(args.map_d.words[0] == kD);
      CHECK(args.d_stride_m == desc.ldd);
      CHECK(args.c_stride_m == desc.ldc);
      // D's map and the plain stores follow D's contiguous dimension.
      const int64_t along = turned_round ? 1003 : m;
      CHECK(args.plain_from == along / 8 * 8);
      CHECK(contiguous(args.map_d) == std::pair(along / 8 * 8, turned_round ? m : int64_t{1003}));
      // The caller's A has m rows of 512, whichever operand of the kernel it is.
      const auto extents = contiguous(turned_round ? args.map_b : args.map_a);
      CHECK(extents ==
            (desc.a_order == Order::row ? std::pair(int64_t{512}, m) : std::pair(m, int64_t{512})));
      // The kernel's orders are those of its own operands.
      const bool a_column =
          turned_round ? desc.b_order == Order::row : desc.a_order == Order::column;
      const bool b_column =
          turned_round ? desc.a_order == Order::row : desc.b_order == Order::column;
      CHECK(c.choice.has(kGemmColumnA) == a_column);
      CHECK(c.choice.has(kGemmColumnB) == b_column);
      CHECK(args.units_m == (args.m + c.choice.entry->tile[0] * c.choice.entry->cluster[0] - 1) /
                                (c.choice.entry->tile[0] * c.choice.entry->cluster[0]));
    }
  }
  CHECK(seen > 8);
}

TEST_CASE("realigned operands are read from the workspace, others from where they are") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  for (const Order d_order : {Order::row, Order::column}) {
    GemmDesc desc = gemm_desc(256, 512, 1024);
    desc.d_order = d_order;
    desc.lda = 1025;
    desc.b_alignment = 16;
    desc.staging_copy = true;
    desc.min_m = 256;
    const auto plan = plan_of(device, desc);
    const uint64_t bytes = plan->info().workspace_bytes;
    CHECK(bytes == 256 * 1024 * 2);
    constexpr uint64_t kWorkspace = 1ull << 52;
    GemmRun run{.a = kA + 2, .b = kB, .c = kC, .d = kD};
    run.workspace = kWorkspace;
    run.workspace_bytes = bytes;
    device->launches.clear();
    REQUIRE(plan->run(*stream, run).ok());
    REQUIRE(device->launches.size() == 2);
    CHECK(device->launches[0].kernel == "gemm_realign");
    const GemmArgs& args = device->launches[1].args;
    CHECK(device->launches[1].kernel == std::string(plan->info().kernel));
    // The same kernel as in a plan whose A has that pitch.
    GemmDesc own = desc;
    own.staging_copy = false;
    own.lda = 1024;
    own.a_alignment = 16;
    CHECK(plan->info().kernel == std::string(plan_of(device, own)->info().kernel));
    const bool turned_round = args.a == kB;
    CHECK((turned_round ? args.b : args.a) == kWorkspace);
    CHECK((turned_round ? args.a : args.b) == kB);
    // Nothing is copied if nothing is read.
    device->launches.clear();
    run.alpha = 0;
    run.beta = 1;
    run.workspace = run.workspace_bytes = 0;
    REQUIRE(plan->run(*stream, run).ok());
    CHECK(device->launches.size() == 1);
  }
}
