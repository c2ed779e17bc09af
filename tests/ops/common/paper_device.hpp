// SPDX-License-Identifier: Apache-2.0
#pragma once
// A simulated GPU for tests of plans. It reports a chip's properties, accepts every kernel entry,
// encodes maps as the library does and records launches. Its clock advances by what a test sets per
// launch.

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "doctest_main.hpp"
#include "kernels/gemm/arguments/gemm_narrow.h"
#include "kernels/gemm/arguments/gemm_realign.h"
#include "kernels/rows/rows.h"
#include "ops/gemm/gemm.hpp"
#include "runtime/device.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw::test {

struct PaperLaunch {
  std::string kernel;
  LaunchConfig config;
  GemmArgs args;            // of a matrix product
  GemmEpilogueArgs full;    // of an epilogue or stream-K kernel; args has its base
  RowsArgs rows;            // of a row kernel
  GemmStagingArgs realign;  // of the staging copy in front of a matrix product
};

class PaperDevice final : public Device {
 public:
  PaperDevice(FeatureMask features, int32_t sms, const char* name = "paper") {
    info_.kind = DeviceKind::cuda;
    info_.compute_major = 9;
    info_.features = info_.kernel_features = features;
    info_.sm_count = sms;
    info_.name = name;
  }

  /// Sets the shared memory per block in bytes; the default is none.
  void set_shared_memory(int32_t bytes) { info_.max_dynamic_smem_bytes = bytes; }

  std::vector<PaperLaunch> launches;
  double now = 0;  // milliseconds
  // The milliseconds that a launch takes.
  std::function<double(const PaperLaunch&)> time_of = [](const PaperLaunch&) { return 0.0; };
  int prepared = 0;
  std::string last_prepared;
  bool capturing = false;
  uint32_t largest_cluster = kMaxCluster;  // in blocks; a larger cluster never fits
  std::string left_out;                    // name of a kernel that the build lacks

  void close() override {}
  Status allocate(uint64_t, uint64_t*) override { return Code::ERROR_INTERNAL; }
  Status release(uint64_t) override { return Code::ERROR_INTERNAL; }
  Status allocate_host(uint64_t, void**) override { return Code::ERROR_INTERNAL; }
  Status release_host(void*) override { return Code::ERROR_INTERNAL; }
  Status wrap_stream(CUstream_st*, std::unique_ptr<Stream>*) override {
    return Code::ERROR_INTERNAL;
  }
  Status load_module(const void*, size_t, std::unique_ptr<Module>*) override {
    return Code::ERROR_INTERNAL;
  }
  Status create_stream(std::unique_ptr<Stream>* out) override;
  Status create_event(std::unique_ptr<Event>* out) override;
  Status find_kernel(const KernelEntry& entry) override {
    return entry.symbol == left_out ? Status(Code::ERROR_NO_KERNEL_IMAGE) : Status();
  }
  Status prepare(const KernelEntry& entry, uint32_t, std::unique_ptr<Kernel>* out) override;
  Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) override {
    return tw::encode(desc, 90, bytes);
  }
};

inline PaperDevice& paper(const DeviceObject& object) {
  return static_cast<PaperDevice&>(*object.device());
}

class PaperKernel final : public Kernel {
 public:
  PaperKernel(std::shared_ptr<Device> device, const KernelEntry& entry)
      : Kernel(std::move(device)), entry_(entry) {}
  const KernelEntry& entry() const { return entry_; }
  Status info(KernelInfo*) override { return {}; }
  Status param(int32_t, size_t*, size_t*) override { return {}; }
  Status occupancy(const LaunchConfig& config, int32_t* blocks, int32_t* clusters) override {
    *blocks = 1;
    // Clusters of n blocks that fit the 132 SMs of an H200, measured: its SMs come in groups.
    constexpr int32_t kOf132[] = {132, 132, 66, 39, 30, 22, 17, 15, 15};
    const uint32_t size = config.cluster[0];
    const bool fits = size <= paper(*this).largest_cluster;
    *clusters = fits ? device()->info().sm_count * kOf132[size] / 132 : 0;
    return {};
  }

 private:
  const KernelEntry& entry_;
};

class PaperEvent final : public Event {
 public:
  using Event::Event;
  double at = -1;
  Status synchronize() override { return {}; }
  Status query() override { return {}; }
  Status elapsed_since(Event& start, float* milliseconds) override {
    *milliseconds = static_cast<float>(at - static_cast<PaperEvent&>(start).at);
    return {};
  }
};

class PaperStream final : public Stream {
 public:
  using Stream::Stream;
  Status synchronize() override {
    return paper(*this).capturing ? fail(Code::ERROR_CAPTURE, {}, "captured") : Status{};
  }
  Status query() override { return {}; }
  Status wait(Event&) override { return {}; }
  Status record(Event& event) override {
    static_cast<PaperEvent&>(event).at = paper(*this).now;
    return {};
  }
  Status copy_to_device(uint64_t, const void*, uint64_t) override { return {}; }
  Status copy_to_host(void*, uint64_t, uint64_t) override { return Code::ERROR_INTERNAL; }
  Status copy_on_device(uint64_t, uint64_t, uint64_t) override { return Code::ERROR_INTERNAL; }
  Status fill(uint64_t, uint8_t, uint64_t) override { return Code::ERROR_INTERNAL; }
  Status launch(Kernel& kernel, const LaunchConfig& config, const void* arguments,
                size_t bytes) override {
    PaperLaunch launch{.kernel = static_cast<PaperKernel&>(kernel).entry().symbol,
                       .config = config};
    if (bytes == sizeof launch.rows) std::memcpy(&launch.rows, arguments, bytes);
    if (bytes == sizeof launch.realign) std::memcpy(&launch.realign, arguments, bytes);
    if (bytes == sizeof launch.args) std::memcpy(&launch.args, arguments, bytes);
    // The arguments of a stream-K kernel begin with those of an epilogue kernel.
    if (bytes == sizeof launch.full || bytes == sizeof(GemmStreamArgs) ||
        bytes == sizeof(GemmNarrowArgs)) {
      std::memcpy(&launch.full, arguments, sizeof launch.full);
      launch.args = launch.full.base;
    }
    paper(*this).now += paper(*this).time_of(launch);
    paper(*this).launches.push_back(launch);
    return {};
  }
  Status launch_params(Kernel&, const LaunchConfig&, void**) override {
    return Code::ERROR_INTERNAL;
  }
  Status copy_between(Device&, uint64_t, Device&, uint64_t, uint64_t) override {
    return Code::ERROR_INTERNAL;
  }
  Status begin_capture() override { return Code::ERROR_INTERNAL; }
  Status end_capture(std::unique_ptr<Graph>*) override { return Code::ERROR_INTERNAL; }
  Status is_captured(bool* yes) override {
    *yes = paper(*this).capturing;
    return {};
  }
};

inline Status PaperDevice::create_stream(std::unique_ptr<Stream>* out) {
  *out = std::make_unique<PaperStream>(shared_from_this());
  return {};
}
inline Status PaperDevice::create_event(std::unique_ptr<Event>* out) {
  *out = std::make_unique<PaperEvent>(shared_from_this());
  return {};
}
inline Status PaperDevice::prepare(const KernelEntry& entry, uint32_t,
                                   std::unique_ptr<Kernel>* out) {
  ++prepared;
  last_prepared = entry.symbol;
  *out = std::make_unique<PaperKernel>(shared_from_this(), entry);
  return {};
}

inline constexpr FeatureMask kHopper = feature::tma | feature::mma | feature::wgmma;

inline std::shared_ptr<PaperDevice> hopper(int32_t sms = 132, const char* name = "paper") {
  const auto device = std::make_shared<PaperDevice>(kHopper, sms, name);
  REQUIRE(query_cluster_occupancy(*device).ok());  // as creating a plan does
  device->prepared = 0;
  return device;
}

/// A bf16 product with A row-major and B column-major.
inline GemmDesc gemm_desc(int64_t m, int64_t n, int64_t k, uint32_t max_sms = 0) {
  GemmDesc desc;
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.b_order = Order::column;
  desc.max_sms = max_sms;
  return desc;
}

/// The symbol of the bf16 kernel of this tile, cluster and schedule for gemm_desc()'s orders.
inline std::string gemm_symbol(int tile_m, int tile_n, int cluster_m, uint32_t schedule) {
  for (const KernelEntry& entry : kernel_entries(Family::gemm))
    if (entry.feature == feature::wgmma && entry.dtypes[0] == DType::BF16 &&
        entry.dtypes[1] == DType::BF16 && entry.tile[0] == tile_m && entry.tile[1] == tile_n &&
        entry.cluster[0] == cluster_m && entry.cluster[1] == 1 &&
        entry.variant == (schedule | kGemmColumnB))
      return entry.symbol;
  FAIL("no such kernel entry");
  return "";
}

inline GemmProblem gemm_problem_of(const GemmDesc& desc) {
  GemmProblem out;
  REQUIRE(gemm_problem(desc, &out).ok());
  return out;
}

inline std::unique_ptr<GemmPlan> plan_of(const std::shared_ptr<PaperDevice>& device,
                                         const GemmDesc& desc) {
  std::unique_ptr<Plan> plan;
  REQUIRE(GemmPlan::create(device, desc, &plan).ok());
  return std::unique_ptr<GemmPlan>(static_cast<GemmPlan*>(plan.release()));
}

/// A plan with this candidate forced; nullptr if it is refused.
inline std::unique_ptr<GemmPlan> forced(const std::shared_ptr<PaperDevice>& device,
                                        const GemmDesc& desc, const std::string& text) {
  GemmChoice choice;
  REQUIRE(parse_gemm_choice("candidate", text.c_str(), &choice).ok());
  std::unique_ptr<Plan> plan;
  if (!GemmPlan::create_forced(device, desc, choice, &plan).ok()) return nullptr;
  return std::unique_ptr<GemmPlan>(static_cast<GemmPlan*>(plan.release()));
}

inline constexpr uint64_t kA = 1 << 20, kB = 1ull << 40, kC = 1ull << 45, kD = 1ull << 50;
inline constexpr GemmRun kRun{
    .a = kA, .b = kB, .c = kC, .d = kD, .workspace = 1ull << 55, .workspace_bytes = 1ull << 32};

/// The launch of a run with m rows.
inline PaperLaunch launched(const std::shared_ptr<PaperDevice>& device, const GemmPlan& plan,
                            int64_t m, GemmRun run = kRun) {
  std::unique_ptr<Stream> stream;
  REQUIRE(device->create_stream(&stream).ok());
  run.m = m;
  const size_t before = device->launches.size();
  const Status status = plan.run(*stream, run);
  INFO(last_failure().message);
  REQUIRE(status.ok());
  REQUIRE(device->launches.size() == before + 1);
  return device->launches.back();
}

}  // namespace tw::test
