// SPDX-License-Identifier: Apache-2.0
// Staging copies: which operands a plan copies, and which it refuses to copy.
#include <algorithm>
#include <array>
#include <string>

#include "kernels/gemm/gemm_entry.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Four products of 64 x 64 by 64 x 128 without promised alignments.
GemmDesc batch_of(Order d_order) {
  GemmDesc desc = gemm_desc(64, 128, 64);
  desc.d_order = d_order;
  desc.staging_copy = true;
  desc.min_m = 64;
  desc.batch = 4;
  return desc;
}

}  // namespace

TEST_CASE("an A that is copied is copied whole: runs of fewer rows are not supported") {
  const auto device = std::make_shared<PaperDevice>(kHopper, 132);
  GemmDesc desc;
  desc.m = desc.n = desc.k = 333;
  desc.staging_copy = true;
  std::unique_ptr<Plan> plan;
  CHECK(GemmPlan::create(device, desc, &plan).code() == Code::ERROR_UNSUPPORTED);
  CHECK(std::string(last_failure().fault.rule) == "gemm_realign_rows");
  CHECK(GemmPlan::check(*device, desc).code() == Code::ERROR_UNSUPPORTED);
  desc.min_m = 333;
  CHECK(GemmPlan::create(device, desc, &plan).ok());
  CHECK(GemmPlan::check(*device, desc).ok());
}

TEST_CASE("operands whose matrices share elements are not copied, and whoever must promises") {
  const auto device = hopper();
  struct Side {
    const char* argument;
    int64_t GemmDesc::*stride;
    int64_t GemmDesc::*leading;
    uint32_t GemmDesc::*alignment;
  };
  for (const Order d_order : {Order::row, Order::column})
    for (const Side& side :
         {Side{"a_batch_stride", &GemmDesc::a_batch_stride, &GemmDesc::lda, &GemmDesc::a_alignment},
          Side{"b_batch_stride", &GemmDesc::b_batch_stride, &GemmDesc::ldb,
               &GemmDesc::b_alignment}}) {
      INFO(side.argument);
      GemmDesc desc = batch_of(d_order);
      std::unique_ptr<Plan> plan;
      CHECK(GemmPlan::create(device, desc, &plan).ok());
      desc.*side.stride = 512;  // windows that advance by eight rows or columns
      CHECK(GemmPlan::create(device, desc, &plan).code() == Code::ERROR_OVERLAP);
      CHECK(std::string(last_failure().fault.argument) == side.argument);
      CHECK(last_failure().fault.got == 512);
      const std::string message = last_failure().message;
      CHECK(message.find("STAGING_COPY") != std::string::npos);
      CHECK(message.find("dst_") == std::string::npos);
      CHECK(last_failure().fault.limit == (side.stride == &GemmDesc::a_batch_stride ? 4096 : 8192));
      // Each remedy that the message names.
      GemmDesc other = desc;
      other.*side.alignment = 16;
      CHECK(GemmPlan::create(device, other, &plan).ok());
      other = desc;
      other.staging_copy = false;
      CHECK(GemmPlan::create(device, other, &plan).ok());
      other = desc;
      other.*side.stride = last_failure().fault.limit;
      CHECK(GemmPlan::create(device, other, &plan).ok());
      // Matrices whose lines interleave share no elements. If no map can have the pitch, the copy
      // is packed, and shared elements do not matter.
      other = desc;
      other.*side.leading = 256;
      other.*side.stride = 64;
      CHECK(GemmPlan::create(device, other, &plan).ok());
      other.*side.leading = 65;
      CHECK(GemmPlan::create(device, other, &plan).ok());
    }
}

TEST_CASE("what spans more than 2^60 bytes is not copied, and the caller's own number is named") {
  const auto device = hopper();
  constexpr int64_t kMost = int64_t{1} << 60;
  struct Side {
    const char *leading, *stride;
    int64_t GemmDesc::*lines;
    int64_t GemmDesc::*pitch;
    int64_t GemmDesc::*apart;
  };
  const Side sides[] = {
      {"lda", "a_batch_stride", &GemmDesc::m, &GemmDesc::lda, &GemmDesc::a_batch_stride},
      {"ldb", "b_batch_stride", &GemmDesc::n, &GemmDesc::ldb, &GemmDesc::b_batch_stride}};
  std::unique_ptr<Plan> plan;
  const auto planned = [&](GemmDesc desc) {
    desc.min_m = desc.m;
    return GemmPlan::create(device, desc, &plan).ok();
  };
  const auto refused = [&](const GemmDesc& desc, const char* argument, int64_t got, int64_t limit) {
    INFO(std::string(argument) << " " << got);
    CHECK_FALSE(planned(desc));
    CHECK(std::string(last_failure().fault.argument) == argument);
    CHECK(std::string(last_failure().fault.rule) == "gemm_realign_span");
    CHECK(last_failure().fault.got == got);
    CHECK(last_failure().fault.limit == limit);
    const std::string message = last_failure().message;
    CHECK(message.find(argument) == 0);
    CHECK(message.find("STAGING_COPY") != message.npos);
    CHECK(message.find("src_") == message.npos);
  };
  for (const Order d_order : {Order::row, Order::column})
    for (const Side& side : sides)
      // copied by the staging kernel, and by copy plans
      for (const int64_t lines : {42918, 1 << 24}) {
        GemmDesc desc = gemm_desc(4, 4, 5);
        desc.d_order = d_order;
        desc.staging_copy = true;
        desc.*side.lines = lines;
        const int64_t most = (kMost / 2 - 5) / (lines - 1);
        desc.*side.pitch = most + 1;
        refused(desc, side.leading, most + 1, most);
        desc.*side.pitch = most;
        CHECK(planned(desc));
        desc.*side.pitch = most + 1;
        desc.staging_copy = false;
        CHECK(planned(desc));
        // A batch of matrices, where the batch stride is at fault.
        desc = gemm_desc(4, 4, 5);
        desc.d_order = d_order;
        desc.staging_copy = true;
        desc.batch = 1025;
        desc.*side.pitch = 1 << 30;
        const int64_t apart = (kMost / 2 - 3 * (int64_t{1} << 30) - 5) / 1024;
        desc.*side.apart = apart + 1;
        refused(desc, side.stride, apart + 1, apart);
        desc.*side.apart = apart;
        CHECK(planned(desc));
      }
  // If matrices share most of their elements, the copies are larger than the operand.
  GemmDesc desc = gemm_desc(512, 4, kGemmMaxExtent - 1);
  desc.staging_copy = true;
  desc.batch = 1 << 20;
  desc.a_batch_stride = 1;
  const int64_t one = 512 * kGemmMaxExtent * 2;
  refused(desc, "batch_count", 1 << 20, kMost / one);
  desc.batch = kMost / one;
  CHECK(planned(desc));
  // The lines of a copy are padded to 128 bytes.
  desc = gemm_desc((1 << 30) + 2, 4, (1 << 29) - 1);
  desc.staging_copy = true;
  refused(desc, "flags", 1, 0);
}

TEST_CASE("both operands are copied in one launch, in whole pieces, by blocks in proportion") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  for (const Order d_order : {Order::row, Order::column})
    for (const auto& size : {std::array<int64_t, 3>{300, 700, 1001}, {800, 1600, 1001}}) {
      const int64_t m = size[0], n = size[1], k = size[2];
      INFO("m " << m << ", n " << n << ", k " << k);
      GemmDesc desc = gemm_desc(m, n, k);
      desc.d_order = d_order;
      desc.ldb = k + 2;
      desc.staging_copy = true;
      desc.min_m = m;
      const auto plan = forced(device, desc, gemm_symbol(128, 128, 1, 0));
      REQUIRE(plan);
      GemmRun run{.a = kA + 2, .b = kB, .c = kC, .d = kD, .workspace = 1ull << 52};
      run.workspace_bytes = plan->info().workspace_bytes;
      device->launches.clear();
      REQUIRE(plan->run(*stream, run).ok());
      REQUIRE(device->launches.size() == 2);
      const PaperLaunch& copy = device->launches[0];
      const GemmStagingOperand &a = copy.realign.operands[0], &b = copy.realign.operands[1];
      CHECK(copy.kernel == "gemm_realign");
      CHECK(a.src == run.a);
      CHECK(b.src == run.b);
      CHECK(a.end == run.a + static_cast<uint64_t>(m * k * 2));
      CHECK(b.end == run.b + static_cast<uint64_t>(((n - 1) * (k + 2) + k) * 2));
      CHECK(a.dst == run.workspace);
      CHECK(b.dst == a.dst + static_cast<uint64_t>(m * a.dst_pitch));
      CHECK(run.workspace_bytes == static_cast<uint64_t>((m + n) * a.dst_pitch));
      CHECK(a.src_pitch == 2 * k);
      CHECK(b.src_pitch == 2 * (k + 2));
      for (const GemmStagingOperand& one : {a, b}) {
        CHECK(one.dst_pitch == (2 * k + 127) / 128 * 128);
        CHECK(one.line_pieces.divisor == (2 * k + 15) / 16);
      }
      CHECK(a.pieces == a.line_pieces.divisor * m);
      CHECK(b.pieces == b.line_pieces.divisor * n);
      const auto blocks = [](uint32_t pieces) { return (pieces + 255) / 256; };
      const uint32_t most = 132 * kStagingCtasPerSm, grid = copy.config.grid[0];
      CHECK(copy.config.block[0] == kStagingThreads);
      CHECK(grid == std::min(most, blocks(a.pieces) + blocks(b.pieces)));
      if (grid < most)
        CHECK(copy.realign.blocks == blocks(a.pieces));
      else
        CHECK(copy.realign.blocks == most * m / (m + n));
      // The product launches with PDL and waits for the copy itself.
      CHECK_FALSE(copy.config.programmatic);
      CHECK(device->launches[1].config.programmatic);
    }
}

// The kernel loads the ends of operands in units of 2 bytes.
TEST_CASE("8-bit operands that may begin or end between these units are copied by copy plans") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  struct Form {
    int64_t k, pitch;
    uint32_t alignment;
    bool by_kernel;
  };
  for (const Form& form :
       {Form{600, 602, 2, true}, Form{600, 602, 0, false}, Form{600, 602, 1, false},
        Form{600, 601, 2, false}, Form{599, 602, 2, false}}) {
    INFO("k " << form.k << ", pitch " << form.pitch << ", alignment " << form.alignment);
    GemmDesc desc = gemm_desc(500, 1000, form.k);
    desc.a_dtype = DType::F8E4M3;
    desc.a_order = Order::row, desc.b_order = Order::column;
    desc.lda = desc.ldb = form.pitch;
    desc.a_alignment = desc.b_alignment = form.alignment;
    desc.staging_copy = true;
    desc.min_m = desc.m;
    std::unique_ptr<Plan> plan;
    REQUIRE(GemmPlan::create(device, desc, &plan).ok());
    GemmRun run{.a = kA + 2, .b = kB + 2, .c = kC, .d = kD, .workspace = 1ull << 52};
    run.workspace_bytes = plan->info().workspace_bytes;
    device->launches.clear();
    REQUIRE(static_cast<GemmPlan&>(*plan).run(*stream, run).ok());
    CHECK(device->launches.size() == (form.by_kernel ? 2 : 3));
    CHECK((device->launches[0].kernel == "gemm_realign") == form.by_kernel);
  }
}

TEST_CASE("beside the copy's blocks of an SM there is room for one of the product") {
  const KernelEntry* copy = nullptr;
  for (const KernelEntry& entry : kernel_entries(Family::gemm)) {
    if ((entry.variant & kGemmStagingCopy) != 0) copy = &entry;
    CHECK(entry.prefers_shared_carveout == ((entry.variant & kGemmStagingCopy) != 0));
  }
  REQUIRE(copy);
  // A product kernel with one consumer warpgroup that follows staging copies. Each block reserves 1
  // KB of an SM's shared memory.
  constexpr uint32_t kSmThreads = 2048, kSmShared = 233472, kSystem = 1024;
  const KernelEntry* product = nullptr;
  for (const KernelEntry& entry : kernel_entries(Family::gemm))
    if (std::string_view(entry.symbol) == "gemm_bf16_bf16_rr_64x128_1x1_coop") product = &entry;
  REQUIRE(product);
  CHECK(kStagingCtasPerSm * kStagingThreads + static_cast<uint32_t>(product->threads) <=
        kSmThreads);
  CHECK(kStagingCtasPerSm * kSystem + gemm_shared(gemm_tile(*product, 2, 2)).total + kSystem <=
        kSmShared);
}

TEST_CASE(
    "what is more than a few rounds of pieces is copied by plans, and nothing is loaded early") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  constexpr int64_t kMost = 132 * kStagingCtasPerSm * kStagingThreads * kStagingMaxPieces;
  // B has 128 pieces per line.
  for (const int64_t n : {kMost / 128, kMost / 128 + 1}) {
    GemmDesc desc = gemm_desc(64, n, 1023);
    desc.lda = 1024;
    desc.a_alignment = 16;
    desc.staging_copy = true;
    desc.min_m = desc.m;
    const auto plan = forced(device, desc, gemm_symbol(128, 128, 1, 0));
    REQUIRE(plan);
    GemmRun run{.a = kA, .b = kB, .c = kC, .d = kD, .workspace = 1ull << 52};
    run.workspace_bytes = plan->info().workspace_bytes;
    device->launches.clear();
    REQUIRE(plan->run(*stream, run).ok());
    REQUIRE(device->launches.size() == 2);
    const bool alone = n * 128 <= kMost;
    CHECK((device->launches[0].kernel == "gemm_realign") == alone);
    CHECK((device->launches[0].kernel.find("copy") == 0) == !alone);
    CHECK(device->launches[1].args.early == (alone ? u32{kGemmOperandA} : 0u));
    CHECK(device->launches[1].config.programmatic);
  }
}

TEST_CASE("of two operands only that is copied which no map reads, and what is aligned in no run") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  GemmDesc desc = gemm_desc(256, 512, 1024);  // promises no alignment
  desc.staging_copy = true;
  desc.min_m = 256;
  const auto plan = plan_of(device, desc);
  for (int odd = 0; odd < 4; ++odd) {
    GemmRun run{.a = kA + (odd & 1 ? 6 : 0), .b = kB + (odd & 2 ? 14 : 0), .c = kC, .d = kD};
    run.workspace = 1ull << 52;
    run.workspace_bytes = plan->info().workspace_bytes;
    device->launches.clear();
    REQUIRE(plan->run(*stream, run).ok());
    REQUIRE(device->launches.size() == (odd == 0 ? 1 : 2));
    if (odd == 0) continue;
    const GemmStagingArgs& copy = device->launches[0].realign;
    CHECK((copy.operands[0].pieces != 0) == ((odd & 1) != 0));
    CHECK((copy.operands[1].pieces != 0) == ((odd & 2) != 0));
    if (!(odd & 1)) CHECK(copy.blocks == 0);
    if (!(odd & 2)) CHECK(copy.blocks == device->launches[0].config.grid[0]);
  }
}
