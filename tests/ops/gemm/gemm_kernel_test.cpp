// SPDX-License-Identifier: Apache-2.0
// Launch arguments and refusals where sizes, pitches and bounds are at their limits.
#include <string>

#include "base/checked.hpp"
#include "kernels/gemm/gemm_entry.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Every choice in the kernel table.
std::vector<GemmChoice> all_choices() {
  std::vector<GemmChoice> out;
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    GemmChoice choice{&entry, 1};
    if (choice.has(kGemmPrologue)) continue;
    const uint32_t most = choice.has(kGemmSplit) ? kMaxCluster : 1;
    for (choice.split = choice.min_split(); choice.split <= most; ++choice.split)
      if (choice.cluster() <= kMaxCluster) out.push_back(choice);
  }
  return out;
}

constexpr int64_t kLongPitch = int64_t{1} << 39;  // of 2-byte elements: 2^40 bytes

}  // namespace

TEST_CASE("units are counted in 31 bits, and so is the one past the last that a block looks for") {
  constexpr int64_t kMostSms = 1024;  // far more than any chip has
  for (const GemmChoice& choice : all_choices()) {
    INFO(gemm_choice_text(choice));
    const int64_t most = gemm_max_units(choice);
    // A cluster advances by the number of clusters, with the ping-pong schedule by twice as many.
    const int64_t clusters = choice.has(kGemmSplit) ? most : kMostSms * kGemmNoMapsBlocksPerSm;
    CHECK(most - 1 + clusters * (choice.has(kGemmPingpong) ? 2 : 1) <= INT32_MAX);
    CHECK(clusters * choice.cluster() <= INT32_MAX);
    CHECK(most >= INT32_MAX / kMaxCluster);
  }
}

TEST_CASE("a split of one part has no more tiles than it can step over") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(kGemmMaxExtent, 1, 1);
  desc.lda = desc.ldb = 8;
  desc.a_batch_stride = desc.b_batch_stride = 0;
  desc.batch = 9;  // 2^27 - 64 tiles each: more than 2^30
  const std::string text = "gemm_bf16_bf16_rc_64x16_1x1_fullswapsplit/1";
  CHECK_FALSE(forced(device, desc, text));
  CHECK(last_failure().code == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().fault.rule) == "candidate_tiles");
  CHECK(last_failure().fault.limit == (int64_t{1} << 30) - 1);
  CHECK(std::string(last_failure().message).find("1073741823") != std::string::npos);
  desc.batch = 8;
  const auto plan = forced(device, desc, text);
  REQUIRE(plan);
  const LaunchConfig config = plan->kernel_for(desc.m).config(desc.m);
  CHECK(2 * int64_t{config.grid[0]} <= INT32_MAX);
}

TEST_CASE("pitches past what a map can have take rows and stores without maps") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(1, 64, 64);
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  const auto uses_maps = [&](const GemmDesc& of) {
    return plan_of(device, of)->kernel_for(1).choice().uses_maps();
  };
  for (int64_t GemmDesc::*leading : {&GemmDesc::lda, &GemmDesc::ldb}) {
    GemmDesc of = desc;
    of.*leading = kLongPitch - 8;  // the longest that a map can have
    CHECK(uses_maps(of));
    of.*leading = kLongPitch;
    CHECK_FALSE(uses_maps(of));
    CHECK(plan_of(device, of)->explain().find("2^40") != std::string::npos);
    CHECK_FALSE(forced(device, of, gemm_symbol(128, 128, 1, 0)));
    CHECK(std::string(last_failure().fault.rule) == "candidate_pitches");
    CHECK(std::string(last_failure().message).find("2^40") != std::string::npos);
    of.staging_copy = true;  // the staging copy has its own pitch
    of.min_m = of.m;
    const auto copied = forced(device, of, gemm_symbol(128, 128, 1, 0));
    REQUIRE(copied);
    CHECK(copied->info().workspace_bytes > 0);
  }
  // D with plain stores, by basic and by epilogue kernels.
  for (const uint32_t flags : {0u, kGemmDeviceM}) {
    GemmDesc of = desc;
    of.flags = flags;
    of.ldd = kLongPitch - 8;
    const PaperLaunch by_map = launched(device, *plan_of(device, of), 1);
    of.ldd = kLongPitch;
    const PaperLaunch by_stores = launched(device, *plan_of(device, of), 1);
    CHECK(by_stores.kernel == by_map.kernel);
    CHECK(by_stores.args.d_stride_m == kLongPitch);
    if (flags == 0) {
      CHECK(by_map.args.plain_from == 64);
      CHECK(by_stores.args.plain_from == 0);
    } else {
      CHECK((by_stores.full.flags & kFullTmaStores) == 0);
    }
  }
}

TEST_CASE(
    "of pitches past what a map can have the ranking has rows without maps, and those of copies") {
  const auto device = hopper();
  for (int64_t GemmDesc::*leading : {&GemmDesc::lda, &GemmDesc::ldb})
    for (const int64_t pitch : {kLongPitch, 4 * kLongPitch, 64 * kLongPitch + 1})
      for (const uint32_t flags : {0u, kGemmInvariant}) {
        GemmDesc desc = gemm_desc(3, 4096, 4097);
        desc.lda = desc.ldb = 4104;
        desc.*leading = pitch;
        desc.min_m = desc.m;
        desc.flags = flags;
        desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
        INFO((leading == &GemmDesc::lda ? "lda " : "ldb ") << pitch << ", flags " << flags);
        const GemmRanking where_it_lies(*device, gemm_problem_of(desc));
        const std::vector<GemmCandidate> all = where_it_lies.candidates(3);
        REQUIRE(!all.empty());
        double before = 0;
        for (const GemmCandidate& one : all) {
          INFO(gemm_choice_text(one.choice));
          CHECK_FALSE(one.choice.uses_maps());
          CHECK(one.nanoseconds >= std::max(before, 1.0));
          CHECK(one.nanoseconds < 1e9);
          before = one.nanoseconds;
        }
        CHECK(where_it_lies.best_without_maps(3).choice == all[0].choice);
        CHECK(plan_of(device, desc)->kernel_for(3).choice() == all[0].choice);

        desc.staging_copy = true;
        const GemmProblem served = gemm_with_staging(gemm_problem_of(desc));
        CHECK(served.desc.*leading == 4160);  // the staging copy's: whole lines of 128 bytes
        CHECK(served.staging_copies > 0);
        CHECK(served.staging_copy_bytes > 0);
        int uses_maps = 0, splits = 0;
        for (const GemmCandidate& one : GemmRanking(*device, served).candidates(3)) {
          INFO(gemm_choice_text(one.choice));
          CHECK(one.nanoseconds < 1e9);
          uses_maps += one.choice.uses_maps();
          splits += one.choice.has(kGemmNoMaps) && one.choice.has(kGemmSplit);
          if (one.choice.uses_maps()) {
            CHECK(one.terms.copies > 0);
            CHECK(one.nanoseconds > one.terms.copies);
          }
        }
        CHECK(uses_maps > 0);
        CHECK((splits > 0) == (flags == 0));
      }
}

TEST_CASE("lines that lie 2^40 bytes apart are copied from where they lie to where maps reach") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmDesc desc = gemm_desc(3, 64, 72);
  desc.lda = kLongPitch;
  desc.ldb = 4 * kLongPitch + 3;
  desc.ldc = desc.ldd = 2 * kLongPitch;
  desc.staging_copy = true;
  desc.min_m = desc.m;
  const auto plan = forced(device, desc, gemm_symbol(128, 128, 1, 0));
  REQUIRE(plan);
  GemmRun run{.beta = 0.5f, .a = kA, .b = kA, .c = kA, .d = 1ull << 60, .workspace = 1ull << 59};
  run.workspace_bytes = plan->info().workspace_bytes;
  CHECK(run.workspace_bytes == (3 + 64) * 256);
  REQUIRE(plan->run(*stream, run).ok());
  REQUIRE(device->launches.size() == 2);
  const GemmStagingOperand &a = device->launches[0].realign.operands[0],
                           &b = device->launches[0].realign.operands[1];
  CHECK(a.src_pitch == 2 * desc.lda);
  CHECK(b.src_pitch == 2 * desc.ldb);
  CHECK(a.dst_pitch == 256);
  CHECK(b.dst_pitch == 256);
  CHECK(a.end == kA + static_cast<uint64_t>(2 * (2 * desc.lda + 72)));
  CHECK(b.end == kA + static_cast<uint64_t>(2 * (63 * desc.ldb + 72)));
  const GemmArgs& args = device->launches[1].args;
  CHECK(args.a == run.workspace);
  CHECK(args.b == run.workspace + 3 * 256);
  CHECK(args.plain_from == 0);
  CHECK(args.d_stride_m == desc.ldd);
  CHECK(args.c_stride_m == desc.ldc);
}

TEST_CASE("full rows store by the short way what is short, with C in aligned pairs") {
  const auto device = hopper();
  struct Case {
    DType out;
    uint64_t c;
    int64_t ldc;
    float beta;
    GemmEpilogue epilogue;
    uint32_t way;
  };
  const uint32_t alone = kFullNoEpilogue, is_short = kFullSimpleEpilogue,
                 wide = kFullSimpleEpilogue | kFullAlignedC;
  for (const Case& c :
       {Case{DType::BF16, kC, 512, 0.0f, {}, alone}, Case{DType::BF16, kC, 512, 0.5f, {}, wide},
        Case{DType::BF16, kC + 8, 512, 0.5f, {}, is_short},
        Case{DType::BF16, kC, 516, 0.5f, {}, is_short},
        Case{DType::BF16, kC + 4, 514, 0.5f, {}, is_short},
        Case{DType::BF16, kC + 2, 512, 0.5f, {}, 0},
        Case{DType::BF16, kC + 2, 512, 0.0f, {}, alone}, Case{DType::BF16, kC, 513, 0.5f, {}, 0},
        Case{DType::F32, kC + 8, 514, 0.5f, {}, is_short},
        Case{DType::F32, kC + 4, 514, 0.5f, {}, 0},
        Case{DType::BF16, kC, 512, 0.5f, {.bias = Per::row, .amax = true}, wide},
        Case{DType::BF16, kC, 512, 0.0f, {.activation = Activation::relu}, is_short},
        Case{DType::BF16, kC, 512, 0.0f, {.activation = Activation::gelu}, 0},
        Case{DType::BF16, kC, 512, 0.0f, {.gate = Gate::halves}, 0},
        Case{DType::BF16, kC, 512, 0.0f, {.gate = Gate::interleaved}, 0}}) {
    GemmDesc desc = gemm_desc(512, 512, 512);
    desc.d_dtype = c.out;
    if (c.out == DType::F32) desc.b_order = Order::row;
    desc.ldc = c.ldc;
    desc.batch = 2;
    desc.epilogue = c.epilogue;
    const auto plan = forced(device, desc,
                             c.out == DType::F32 ? "gemm_bf16_f32_rr_128x128_1x1_full"
                                                 : "gemm_bf16_bf16_rc_128x128_1x1_full");
    REQUIRE(plan);
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    const GemmRun run{.beta = c.beta,
                      .a = kA,
                      .b = kB,
                      .c = c.c,
                      .d = kD,
                      .bias = c.epilogue.bias == Per::none ? 0 : 1ull << 52,
                      .amax = c.epilogue.amax ? 1ull << 53 : 0};
    REQUIRE(plan->run(*stream, run).ok());
    const uint32_t flags = device->launches.back().full.flags;
    INFO("c " << c.c % 16 << ", ldc " << c.ldc << ", beta " << c.beta);
    CHECK((flags & kFullTmaStores) != 0);
    CHECK((flags & (kFullNoEpilogue | kFullSimpleEpilogue | kFullAlignedC)) == c.way);
  }
}

TEST_CASE("C is read in pairs where the run's lines have whole ones, not the plan's") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(512, 512, 512);
  desc.d_order = Order::column;  // a run's m is the length of D's lines
  desc.d_padding_writable = true;
  desc.batch = 2;
  const auto plan = forced(device, desc, "gemm_bf16_bf16_rc_128x128_1x1_full");
  REQUIRE(plan);
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  for (const int64_t m : {512, 511, 510, 1}) {
    INFO("m " << m);
    const GemmRun run{.beta = 0.5f, .a = kA, .b = kB, .c = kC, .d = kD, .m = m};
    REQUIRE(plan->run(*stream, run).ok());
    const PaperLaunch& launch = device->launches.back();
    CHECK(launch.args.n == m);
    CHECK((launch.full.flags & kFullTmaStores) != 0);
    CHECK(((launch.full.flags & kFullSimpleEpilogue) != 0) == (m % 2 == 0));
  }
}

TEST_CASE("runs that read C have a full row where C is promised 16 bytes, others what they had") {
  const auto device = hopper();
  GemmDesc desc = gemm_desc(512, 512, 512);
  const auto kernels = [&](const GemmDesc& of) {
    std::unique_ptr<Plan> plan;
    REQUIRE(GemmPlan::create(device, of, &plan).ok());
    const auto& gemm = static_cast<const GemmPlan&>(*plan);
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    GemmRun run{.a = kA, .b = kB, .c = kC, .d = kD};
    REQUIRE(gemm.run(*stream, run).ok());
    const std::string without = device->launches.back().kernel;
    run.beta = 1.0f;
    REQUIRE(gemm.run(*stream, run).ok());
    const bool said = gemm.explain().find("\nwith C gemm_") != std::string::npos;
    CHECK(said == (without != device->launches.back().kernel));
    return std::pair(without, std::string(device->launches.back().kernel));
  };
  const auto before = kernels(desc);
  CHECK(before.first.find("full") == std::string::npos);
  CHECK(before.second == before.first);
  desc.c_alignment = 16;
  const auto promised = kernels(desc);
  CHECK(promised.first == before.first);
  CHECK(promised.second.find("_full") != std::string::npos);
  GemmDesc no = desc;
  no.d_dtype = DType::F32;  // TMA adds
  CHECK(kernels(no).second.find("_full") == std::string::npos);
  no = desc;
  no.flags = kGemmInvariant;  // the bits must not depend on the kernel
  CHECK(kernels(no).second.find("_full") == std::string::npos);
  no = desc;
  no.ldc = 516;
  CHECK(kernels(no).second.find("_full") == std::string::npos);
}

TEST_CASE("whether an invariant plan's gelu_tanh goes through D's map does not follow from m") {
  const auto device = hopper();
  for (const Order order : {Order::row, Order::column}) {
    GemmDesc desc = gemm_desc(64, 512, 512);
    desc.d_order = order;
    desc.flags = kGemmInvariant;
    desc.epilogue = {.activation = Activation::gelu_tanh};
    desc.a_alignment = desc.b_alignment = 16;
    std::unique_ptr<Plan> plan;
    REQUIRE(GemmPlan::create(device, desc, &plan).ok());
    auto& gemm = static_cast<GemmPlan&>(*plan);
    std::unique_ptr<Stream> stream;
    REQUIRE(device->create_stream(&stream).ok());
    for (const int64_t m : {9, 16, 64}) {
      INFO("order " << int(order) << ", m " << m);
      REQUIRE(gemm.run(*stream, {.a = kA, .b = kB, .d = kD, .m = m}).ok());
      const bool stores = (device->launches.back().full.flags & kFullTmaStores) != 0;
      CHECK(stores == (order == Order::row));
    }
  }
}

TEST_CASE("boxes that full rows store D by are counted as the kernel sends them") {
  const auto device = hopper();
  struct Case {
    int64_t m, n;
    DType out;
    uint32_t flags;
    bool padding_free;
    uint32_t d_alignment;
    GemmEpilogue epilogue = {};
  };
  const GemmEpilogue silu{.activation = Activation::silu};
  const GemmEpilogue halves{.activation = Activation::silu, .gate = Gate::halves};
  const GemmEpilogue neighbours{.activation = Activation::silu, .gate = Gate::interleaved};
  int stored = 0;
  for (const Case& c :
       {Case{300, 520, DType::BF16, 0, false, 0},
        Case{17, 136, DType::BF16, kGemmDeviceM, false, 0}, Case{128, 128, DType::F32, 0, false, 0},
        Case{1, 1000, DType::F32, 0, false, 0}, Case{300, 523, DType::BF16, 0, false, 0},
        Case{300, 523, DType::BF16, 0, true, 0},
        Case{300, 520, DType::BF16, kGemmPointers, false, 8},
        Case{300, 520, DType::BF16, kGemmPointers, false, 16},
        Case{300, 520, DType::F32, 0, false, 0, silu},
        Case{300, 528, DType::BF16, 0, false, 0, halves},
        Case{300, 520, DType::BF16, 0, false, 0, halves},
        Case{300, 528, DType::BF16, 0, false, 0, neighbours}}) {
    GemmDesc desc = gemm_desc(c.m, c.n, 512);
    desc.epilogue = c.epilogue;
    const int64_t columns = c.epilogue.gate == Gate::none ? c.n : c.n / 2;
    desc.d_dtype = c.out;
    desc.ldd = 1024;
    desc.batch = 3;
    desc.flags = c.flags;
    desc.d_padding_writable = c.padding_free;
    desc.a_alignment = desc.b_alignment = 16;
    desc.d_alignment = c.d_alignment;
    for (const GemmCandidate& candidate :
         GemmRanking(*device, gemm_problem_of(desc)).candidates(c.m)) {
      const std::string text = gemm_choice_text(candidate.choice);
      INFO(text << ", n " << c.n);
      const auto plan = forced(device, desc, text);
      REQUIRE(plan);
      std::unique_ptr<Stream> stream;
      REQUIRE(device->create_stream(&stream).ok());
      const GemmRun run{
          .a = kA, .b = kB, .d = kD, .workspace = 1ull << 52, .workspace_bytes = 1 << 30};
      REQUIRE(plan->run(*stream, run).ok());
      if (candidate.choice.has(kGemmStreamK)) {
        CHECK(plan->info().boxes_stored == 0);
        continue;
      }
      const bool stores = (device->launches.back().full.flags & kFullTmaStores) != 0;
      uint64_t boxes = 0;  // tile by tile, like the kernel
      const KernelEntry& entry = *candidate.choice.entry;
      const int64_t tm = entry.tile[0];
      const int64_t tn = entry.tile[1] / (c.n / columns);  // columns of D
      const int64_t line = gemm_slab(gemm_tile(entry, 2, dtype_bytes(c.out))).contiguous;
      for (int64_t m0 = 0; stores && m0 < round_up(c.m, tm); m0 += tm)
        for (int64_t n0 = 0; n0 < round_up(columns, tn); n0 += tn)
          for (int64_t at = m0; at < m0 + tm; at += kGemmStoreLines)
            for (int64_t column = n0; column < n0 + tn; column += line)
              boxes += at < c.m && column < columns ? 3 : 0;
      if (columns * dtype_bytes(c.out) % 16 != 0 && !c.padding_free) CHECK(!stores);
      CHECK(plan->info().boxes_stored == boxes);
      stored += stores;
    }
  }
  CHECK(stored > 10);
}

TEST_CASE("where the copy engine cannot write all of D, chains are added up in it") {
  const auto device = hopper();
  const auto plan = [&](int64_t n) {
    GemmDesc desc = gemm_desc(128, n, 16384);
    desc.d_dtype = DType::F32;
    desc.ldc = desc.ldd = 136;
    desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
    return forced(device, desc, "gemm_bf16_f32_rc_128x128_1x2_ping");
  };
  const auto whole = plan(132), ragged = plan(134);  // 134 floats end within 16 bytes
  REQUIRE(whole);
  REQUIRE(ragged);
  CHECK(whole->explain().find("added up in registers") != std::string::npos);
  CHECK(ragged->explain().find("added up in D") != std::string::npos);
  CHECK(ragged->info().boxes_stored == 2 * whole->info().boxes_stored);
}

TEST_CASE("a programmatic plan takes the rows that it would take, and asks for what is constant") {
  const auto device = hopper();
  for (const int64_t m : {1, 16, 200, 4096}) {
    INFO("m " << m);
    GemmDesc desc = gemm_desc(m, 7168, 2048);
    desc.a_alignment = desc.b_alignment = 16;
    const PaperLaunch ordinary = launched(device, *plan_of(device, desc), m);
    CHECK_FALSE(ordinary.config.programmatic);
    CHECK(ordinary.args.early == 0);
    desc.flags = kGemmConstantB;  // no effect without PDL
    CHECK(launched(device, *plan_of(device, desc), m).args.early == 0);
    for (const uint32_t constant :
         {0u, kGemmConstantA, kGemmConstantB, kGemmConstantA | kGemmConstantB}) {
      desc.flags = kGemmProgrammatic | constant;
      const PaperLaunch launch = launched(device, *plan_of(device, desc), m);
      CHECK(launch.config.programmatic);
      CHECK(launch.kernel == ordinary.kernel);
      // With swap-AB the kernel's A is the caller's B.
      const bool swapped = launch.kernel.find("swap") != std::string::npos ||
                           launch.kernel.find("stream") != std::string::npos;
      const u32 a = swapped ? kGemmOperandB : kGemmOperandA,
                b = swapped ? kGemmOperandA : kGemmOperandB;
      CHECK(launch.args.early ==
            (constant & kGemmConstantA ? a : 0) + (constant & kGemmConstantB ? b : 0));
    }
  }
}

TEST_CASE("behind a copy of its own a product loads early what was not copied, and nothing else") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const std::string texts[] = {gemm_symbol(128, 128, 1, 0),
                               "gemm_bf16_bf16_rc_64x64_1x1_swapsplit/2"};
  // A staging copy is never constant, even if its source is.
  for (const uint32_t flags : {0u, kGemmProgrammatic | kGemmConstantA | kGemmConstantB})
    for (const std::string& text : texts)
      for (int odd = 1; odd < 4; ++odd) {
        INFO(text << ", odd " << odd);
        GemmDesc desc = gemm_desc(64, 512, 512);
        if (odd & 1) desc.lda = 513;
        if (odd & 2) desc.ldb = 513;
        desc.a_alignment = desc.b_alignment = 16;
        desc.min_m = desc.m;
        desc.staging_copy = true;
        desc.flags = flags;
        const auto plan = forced(device, desc, text);
        REQUIRE(plan);
        GemmRun run{.a = kA, .b = kB, .c = kC, .d = kD, .workspace = kA << 1};
        run.workspace_bytes = plan->info().workspace_bytes;
        device->launches.clear();
        REQUIRE(plan->run(*stream, run).ok());
        REQUIRE(device->launches.size() == 2);
        CHECK_FALSE(device->launches[0].config.programmatic);
        CHECK(device->launches[1].config.programmatic);
        const bool swapped = text.find("swap") != std::string::npos;
        const u32 a = swapped ? kGemmOperandB : kGemmOperandA,
                  b = swapped ? kGemmOperandA : kGemmOperandB;
        CHECK(device->launches[1].args.early == (odd == 1 ? b : odd == 2 ? a : 0));
      }
}

TEST_CASE("a product by addresses is launched programmatically behind the kernel that reads them") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  for (const uint32_t flags : {0u, kGemmProgrammatic | kGemmConstantB}) {
    GemmDesc desc = gemm_desc(64, 512, 512);
    desc.batch = 5;
    desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
    desc.flags = kGemmPointers | flags;
    const auto plan = plan_of(device, desc);
    GemmRun run{.a = kA, .b = kB, .d = kD, .workspace = kA << 1};
    run.workspace_bytes = plan->info().workspace_bytes;
    const size_t before = device->launches.size();
    REQUIRE(plan->run(*stream, run).ok());
    REQUIRE(device->launches.size() == before + 2);
    // The first kernel waits as the caller asks; the product reads no pointer before it ends.
    CHECK(device->launches[before].config.programmatic == (flags != 0));
    CHECK(device->launches[before + 1].config.programmatic);
    CHECK((device->launches[before + 1].full.flags & kFullEarly) == 0);
  }
}
