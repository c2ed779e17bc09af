// SPDX-License-Identifier: Apache-2.0
// The batched kernels of the gemm family, which compute only alpha * A * B: when a plan chooses
// them, and which kernel runs if a run asks for more.
#include <string>

#include "kernels/gemm/arguments/gemm_full.h"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

GemmDesc batch_of(int64_t count, int64_t m, int64_t n, int64_t k) {
  GemmDesc desc = gemm_desc(m, n, k);
  desc.b_order = Order::row;
  desc.batch = count;
  desc.a_alignment = desc.b_alignment = desc.d_alignment = 16;
  return desc;
}

GemmChoice chosen(const std::shared_ptr<PaperDevice>& device, const GemmDesc& desc) {
  return GemmRanking(*device, gemm_problem_of(desc)).best(desc.m).choice;
}

}  // namespace

TEST_CASE("batches of alpha * A B have kernels of their own") {
  const auto device = hopper(132, "NVIDIA H200");
  for (const Order order : {Order::row, Order::column}) {
    GemmDesc desc = batch_of(16, 1024, 1024, 1024);
    for (const int64_t extent : {1024, 512}) {
      desc.m = desc.n = desc.k = extent;
      desc.b_order = order;
      INFO(extent);
      CHECK(chosen(device, desc).has(kGemmBatched));
    }
  }
}

TEST_CASE("a batch row is no candidate where no run could take it") {
  const auto device = hopper();
  const GemmDesc desc = batch_of(64, 512, 512, 512);
  REQUIRE(chosen(device, desc).has(kGemmBatched));
  const auto none = [&](const char* what, auto change) {
    INFO(what);
    GemmDesc other = desc;
    change(other);
    for (const GemmCandidate& c : GemmRanking(*device, gemm_problem_of(other)).candidates(other.m))
      CHECK_FALSE(c.choice.has(kGemmBatched));
  };
  none("one product", [](GemmDesc& d) { d.batch = 1; });
  none("an epilogue", [](GemmDesc& d) { d.epilogue.activation = Activation::relu; });
  none("m of the device", [](GemmDesc& d) { d.flags = kGemmDeviceM; });
  none("scalars of the device", [](GemmDesc& d) { d.flags = kGemmDeviceScalars; });
  none("an odd pitch of D", [](GemmDesc& d) { d.ldd = 513; });
  none("an odd distance of D", [](GemmDesc& d) { d.d_batch_stride = 512 * 512 + 1; });
  none("lines that end within 16 bytes", [](GemmDesc& d) {
    d.b_order = Order::column;
    d.n = 508;
    d.ldd = 512;
  });
  none("addresses", [](GemmDesc& d) { d.flags = kGemmPointers; });
  none("what is loaded early", [](GemmDesc& d) { d.flags = kGemmProgrammatic; });
  GemmDesc padded = desc;
  padded.b_order = Order::column;
  padded.n = 508;
  padded.ldd = 512;
  padded.d_padding_writable = true;
  CHECK(chosen(device, padded).has(kGemmBatched));
}

TEST_CASE("a batch row that is forced on what it cannot do is refused, with the way out") {
  const auto device = hopper();
  GemmChoice choice;
  REQUIRE(parse_gemm_choice("candidate", "gemm_bf16_bf16_rr_128x128_1x1_batch", &choice).ok());
  GemmDesc desc = batch_of(64, 512, 512, 512);
  std::unique_ptr<Plan> plan;
  CHECK(GemmPlan::create_forced(device, desc, choice, &plan).ok());
  for (const bool pointers : {true, false}) {
    GemmDesc other = desc;
    if (pointers)
      other.flags = kGemmPointers;
    else
      other.epilogue.amax = true;
    CHECK(GemmPlan::create_forced(device, other, choice, &plan).code() == Code::ERROR_UNSUPPORTED);
    CHECK(std::string(last_failure().fault.rule) == "candidate_epilogue");
    CHECK(std::string(last_failure().message).find("need an epilogue kernel") != std::string::npos);
  }
}

TEST_CASE("what a batch row does not do goes to a full row, run by run") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const GemmRun plain{.a = 1 << 20, .b = 1 << 26, .c = 1 << 30, .d = 1 << 28};
  const auto alone = [&](const GemmDesc& desc, const GemmRun& run) {
    std::unique_ptr<Plan> plan;
    REQUIRE(GemmPlan::create(device, desc, &plan).ok());
    REQUIRE(static_cast<GemmPlan&>(*plan).kernel_for(desc.m).choice().has(kGemmBatched));
    REQUIRE(static_cast<GemmPlan&>(*plan).run(*stream, run).ok());
    const PaperLaunch& last = device->launches.back();
    const bool is = std::string(last.kernel).find("batch") != std::string::npos;
    if (is) {
      CHECK((last.full.flags & ~u32{kFullSwapped}) == (kFullTmaStores | kFullNoEpilogue));
      CHECK(last.full.batch == 64);
    } else {
      CHECK(std::string(last.kernel).find("full") != std::string::npos);
      CHECK(plan->explain().find(last.kernel) != std::string::npos);
    }
    return is;
  };
  GemmDesc desc = batch_of(64, 512, 512, 512);
  CHECK(alone(desc, plain));
  GemmRun run = plain;
  run.alpha = 0;
  CHECK(alone(desc, run));
  run = plain;
  run.beta = 1;
  CHECK_FALSE(alone(desc, run));
  desc.d_alignment = 2;
  CHECK(alone(desc, plain));
  run = plain;
  run.d += 2;
  CHECK_FALSE(alone(desc, run));
  // Column-major: the lines of D have the run's m elements.
  desc = batch_of(64, 512, 512, 512);
  desc.d_order = Order::column;
  desc.b_order = Order::column;
  desc.min_m = 1;
  run = plain;
  run.m = 504;
  CHECK(alone(desc, run));
  run.m = 503;
  CHECK_FALSE(alone(desc, run));
}

TEST_CASE("what a forced batch row does not do is refused, and by name") {
  const auto device = hopper();
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  const std::string row = "gemm_bf16_bf16_rc_128x128_1x1_batch";
  const GemmRun plain{.a = kA, .b = kB, .c = kC, .d = kD};
  GemmDesc desc = batch_of(4, 256, 256, 256);
  desc.b_order = Order::column;
  desc.d_alignment = 0;
  const auto refused = [&](const GemmDesc& of, const GemmRun& run, const char* argument,
                           Code code = Code::ERROR_UNSUPPORTED) {
    const auto plan = forced(device, of, row);
    REQUIRE(plan);
    const size_t before = device->launches.size();
    INFO(std::string(argument));
    CHECK(plan->run(*stream, run).code() == code);
    CHECK(std::string(last_failure().fault.argument) == argument);
    const std::string message = last_failure().message;
    CHECK(message.find(argument) == 0);
    CHECK(message.find(row) != message.npos);
    CHECK(device->launches.size() == before);
  };
  CHECK(launched(device, *forced(device, desc, row), 256, plain).kernel == row);
  CHECK(device->prepared == 1);  // and no second kernel is prepared
  CHECK(forced(device, desc, row)->explain().find("are refused") != std::string::npos);
  GemmRun run = plain;
  run.beta = 1;
  refused(desc, run, "beta");
  run = plain;
  run.d += 2;
  refused(desc, run, "d", Code::ERROR_MISALIGNED);
  GemmDesc devices = desc;
  devices.flags = kGemmDeviceM | kGemmDeviceScalars;
  CHECK(launched(device, *forced(device, devices, row), 256, plain).kernel == row);
  for (const auto& [name, word] : {std::pair{"device_m", &GemmRun::device_m},
                                   {"device_alpha", &GemmRun::device_alpha},
                                   {"device_beta", &GemmRun::device_beta}}) {
    run = plain;
    run.*word = 1ull << 51;
    refused(devices, run, name);
  }
  GemmDesc column = batch_of(4, 256, 256, 256);
  column.d_order = column.b_order = Order::column;  // lines of D have the run's m elements
  const auto turned_round = forced(device, column, row);
  REQUIRE(turned_round);
  CHECK(launched(device, *turned_round, 248, plain).kernel == row);
  run = plain;
  run.m = 255;
  refused(column, run, "m");
  // If no run could use the kernel, planning refuses it.
  const auto never = [&](auto change) {
    GemmDesc other = desc;
    change(other);
    CHECK_FALSE(forced(device, other, row));
    CHECK(last_failure().code == Code::ERROR_UNSUPPORTED);
    CHECK(std::string(last_failure().fault.rule) == "candidate_stores");
  };
  never([](GemmDesc& d) { d.ldd = 257; });
  never([](GemmDesc& d) { d.d_batch_stride = 256 * 256 + 4; });
  never([](GemmDesc& d) { d.n = 252, d.ldd = 256; });
  desc.n = 252;
  desc.ldd = 256;
  desc.d_padding_writable = true;
  CHECK(launched(device, *forced(device, desc, row), 256, plain).kernel == row);
}
