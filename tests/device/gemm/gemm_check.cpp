// SPDX-License-Identifier: Apache-2.0
#include "tests/device/gemm/gemm_check.hpp"

#include <algorithm>

#include "gemm_check_image.hpp"

namespace tw::test {
namespace {

// Offsets in the scratch memory.
constexpr uint64_t kCount = 128;
constexpr uint64_t kFlag = 256;
constexpr uint64_t kHolding = 320;
constexpr uint64_t kCrowdFlag = 384;
constexpr uint64_t kArrived = 448;
constexpr uint64_t kStayed = 512;
constexpr uint64_t kScratchBytes = 576;

constexpr uint32_t kThreads = 256;
constexpr int64_t kMostBlocks = 132 * 16;
// Shared memory of a block that holds an SM: no kernel with a pipeline fits beside it.
constexpr uint32_t kHeldBytes = 200 * 1024;
constexpr int64_t kHeldCycles = 20'000'000'000;  // 10 s, so that a hanging test ends

// Shared memory of a crowd's block. An SM has room for two, which makes it configure all its memory
// as shared memory. With a smaller configuration, larger blocks would wait for the crowd's end.
constexpr uint32_t kCrowdBytes = 106 * 1024;
constexpr int64_t kCrowdCycles = 400'000;  // far longer than the run beside the crowd
constexpr uint32_t kTenantThreads = 64;
constexpr int64_t kTenantCycles = 2000;  // about the latency of a load from memory

int type_number(DType type) {
  return type == DType::BF16 ? 0 : type == DType::F16 ? 1 : 2;
}

// The same layouts as in gemm_check.cu.
struct ReferenceArgs {
  uint64_t a, b, c, value, magnitude;
  int64_t a_stride_m, a_stride_k, b_stride_k, b_stride_n, c_stride_m, c_stride_n;
  int64_t m, n, k;
  double alpha, beta;
  int in_type, out_type;
};
struct AgainstArgs {
  uint64_t d, value, magnitude;
  int64_t m, n, stride_m, stride_n;
  int type;
  double slack;
  uint64_t verdict;
};

}  // namespace

Status GemmCheck::open(const std::shared_ptr<Device>& device, Stream& stream) {
  device_ = device;
  stream_ = &stream;
  TW_TRY(device->load_module(kGemmCheckImage, sizeof kGemmCheckImage, &module_));
  for (const char* name : {"check_fill", "check_reference", "check_against_reference",
                           "check_difference", "check_same_bits", "check_poison", "check_hold",
                           "check_tenant", "check_crowd", "check_meet"})
    TW_TRY(module_->kernel(name, &kernels_[name]));
  TW_TRY(device->allocate(kScratchBytes, &scratch_));
  return stream.fill(scratch_, 0, kScratchBytes);
}

GemmCheck::~GemmCheck() {
  if (scratch_) (void)device_->release(scratch_);
}

Status GemmCheck::launch(const char* name, int64_t items, void** params) {
  return launch_on(*stream_, name, items, params);
}

Status GemmCheck::launch_on(Stream& stream, const char* name, int64_t items, void** params) {
  LaunchConfig config;
  config.grid[0] =
      static_cast<uint32_t>(std::clamp<int64_t>((items + kThreads - 1) / kThreads, 1, kMostBlocks));
  config.block[0] = kThreads;
  return stream.launch_params(*kernels_.at(name), config, params);
}

Status GemmCheck::fill(uint64_t address, int64_t lines, int64_t along, int64_t leading, DType type,
                       uint64_t seed, int magnitude) {
  int number = type_number(type);
  void* params[] = {&address, &lines, &along, &leading, &number, &seed, &magnitude};
  return launch("check_fill", lines * along, params);
}

Status GemmCheck::reference(const ReferenceProblem& p, uint64_t value, uint64_t magnitude) {
  if (p.m == 0 || p.n == 0) return {};
  ReferenceArgs args = {p.a,
                        p.b,
                        p.c,
                        value,
                        magnitude,
                        p.a_stride_m,
                        p.a_stride_k,
                        p.b_stride_k,
                        p.b_stride_n,
                        p.c_stride_m,
                        p.c_stride_n,
                        p.m,
                        p.n,
                        p.k,
                        p.alpha,
                        p.beta,
                        type_number(p.in),
                        type_number(p.out)};
  LaunchConfig config;
  config.grid[0] = static_cast<uint32_t>((p.n + 31) / 32);
  config.grid[1] = static_cast<uint32_t>((p.m + 31) / 32);
  config.block[0] = 32;
  config.block[1] = 8;
  void* params[] = {&args};
  return stream_->launch_params(*kernels_.at("check_reference"), config, params);
}

Status GemmCheck::verdict(Verdict* out) {
  TW_TRY(stream_->copy_to_host(out, scratch_, sizeof *out));
  TW_TRY(stream_->fill(scratch_, 0, sizeof *out));
  return stream_->synchronize();
}

Status GemmCheck::against(const ReferenceProblem& p, uint64_t value, uint64_t magnitude, uint64_t d,
                          int64_t stride_m, int64_t stride_n, double slack, Verdict* out) {
  AgainstArgs args = {d,        value,    magnitude,          p.m,   p.n,
                      stride_m, stride_n, type_number(p.out), slack, scratch_};
  void* params[] = {&args};
  TW_TRY(launch("check_against_reference", p.m * p.n, params));
  return verdict(out);
}

Status GemmCheck::difference(uint64_t x, uint64_t y, int64_t count, DType type, Verdict* out) {
  int number = type_number(type);
  void* params[] = {&x, &y, &count, &number, &scratch_};
  TW_TRY(launch("check_difference", count, params));
  return verdict(out);
}

Status GemmCheck::compare_bits(Stream& stream, uint64_t x, uint64_t y, uint64_t bytes) {
  auto words = static_cast<int64_t>(bytes / 4);
  uint64_t count = scratch_ + kCount;
  void* params[] = {&x, &y, &words, &count};
  return launch_on(stream, "check_same_bits", words, params);
}

Status GemmCheck::compare_poison(uint64_t base, uint64_t bytes, uint64_t offset, int64_t lines,
                                 int64_t along, int64_t pitch, uint8_t poison) {
  auto size = static_cast<int64_t>(bytes);
  auto first = static_cast<int64_t>(offset);
  int byte = poison;
  uint64_t count = scratch_ + kCount;
  pitch = std::max<int64_t>(pitch, 1);
  void* params[] = {&base, &size, &first, &lines, &along, &pitch, &byte, &count};
  return launch("check_poison", size, params);
}

Status GemmCheck::different(uint64_t* count) {
  TW_TRY(stream_->copy_to_host(count, scratch_ + kCount, sizeof *count));
  TW_TRY(stream_->fill(scratch_ + kCount, 0, sizeof *count));
  return stream_->synchronize();
}

Status GemmCheck::hold(Stream& stream, uint32_t blocks) {
  TW_TRY(stream.fill(scratch_ + kFlag, 0, 4));
  TW_TRY(stream.fill(scratch_ + kHolding, 0, 4));
  uint64_t flag = scratch_ + kFlag;
  uint64_t counter = scratch_ + kHolding;
  int64_t cycles = kHeldCycles;
  LaunchConfig config;
  config.grid[0] = blocks;
  config.block[0] = 32;
  config.dynamic_smem_bytes = kHeldBytes;
  void* params[] = {&flag, &counter, &cycles};
  return stream.launch_params(*kernels_.at("check_hold"), config, params);
}

Status GemmCheck::crowd(Stream& stream, uint32_t blocks, uint32_t threads) {
  if (!beside_) {
    TW_TRY(device_->create_stream(&beside_));
    TW_TRY(device_->create_event(&begin_));
    TW_TRY(device_->create_event(&end_));
    TW_TRY(beside_->record(*end_));
  }
  TW_TRY(stream.wait(*end_));
  TW_TRY(stream.fill(scratch_ + kCrowdFlag, 0, 4));
  TW_TRY(stream.record(*begin_));
  TW_TRY(beside_->wait(*begin_));
  uint64_t flag = scratch_ + kCrowdFlag, arrived = scratch_ + kArrived, stayed = scratch_ + kStayed;
  int64_t cycles = kCrowdCycles;
  LaunchConfig config;
  config.grid[0] = blocks;
  config.block[0] = threads;
  config.dynamic_smem_bytes = kCrowdBytes;
  void* crowd[] = {&flag, &arrived, &stayed, &cycles};
  TW_TRY(beside_->launch_params(*kernels_.at("check_crowd"), config, crowd));
  TW_TRY(beside_->record(*end_));
  arrived_ += blocks;
  config = {};
  config.block[0] = 1;
  void* meet[] = {&arrived, &arrived_, &cycles};
  return stream.launch_params(*kernels_.at("check_meet"), config, meet);
}

Status GemmCheck::disperse(Stream& stream) {
  return stream.fill(scratch_ + kCrowdFlag, 1, 4);
}

Status GemmCheck::alone(Stream& stream, uint32_t* blocks) {
  TW_TRY(stream.copy_to_host(blocks, scratch_ + kStayed, 4));
  TW_TRY(stream.fill(scratch_ + kStayed, 0, 4));
  return stream.synchronize();
}

Status GemmCheck::tenants(Stream& stream, uint32_t blocks, uint32_t seed) {
  uint64_t count = scratch_ + kCount;
  int64_t cycles = kTenantCycles;
  LaunchConfig config;
  config.grid[0] = blocks;
  config.block[0] = kTenantThreads;
  void* params[] = {&count, &seed, &cycles};
  return stream.launch_params(*kernels_.at("check_tenant"), config, params);
}

Status GemmCheck::holding(Stream& stream, uint32_t* blocks) {
  TW_TRY(stream.copy_to_host(blocks, scratch_ + kHolding, 4));
  return stream.synchronize();
}

Status GemmCheck::let_go(Stream& stream) {
  TW_TRY(stream.fill(scratch_ + kFlag, 1, 4));
  return stream.synchronize();
}

}  // namespace tw::test
