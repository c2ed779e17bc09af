// SPDX-License-Identifier: Apache-2.0
// Host-side checks of a launch: its limits and its parameter layout.
#include "runtime/cuda/launch_check.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "host_fixture.hpp"
#include "runtime/parameters.hpp"

namespace tw::test {
namespace {

constexpr LaunchLimits kLimits{
    .max_threads = 512, .max_dynamic_smem = 232000, .static_smem = 448, .max_cluster_blocks = 16};

void check_names(const LaunchConfig& config, const char* argument, int64_t got, int64_t limit) {
  CHECK(check_launch(config, kLimits).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(std::string(last_failure().fault.argument) == argument);
  CHECK(last_failure().fault.got == got);
  CHECK(last_failure().fault.limit == limit);
}

TEST_CASE("launches within the limits pass") {
  CHECK(check_launch({}, kLimits).ok());
  CHECK(check_launch({.grid = {0x7fffffff, 65535, 65535}, .block = {8, 1, 64}}, kLimits).ok());
  CHECK(check_launch({.grid = {32, 4, 1}, .cluster = {8, 2, 1}}, kLimits).ok());
  CHECK(check_launch({.dynamic_smem_bytes = 232000}, kLimits).ok());
}

TEST_CASE("each limit is named with its numbers") {
  check_names({.grid = {0, 1, 1}}, "grid", 0, 0x7fffffff);
  check_names({.grid = {0x80000000u, 1, 1}}, "grid", 0x80000000u, 0x7fffffff);
  check_names({.grid = {1, 65536, 1}}, "grid", 65536, 65535);
  check_names({.grid = {1, 1, 65536}}, "grid", 65536, 65535);
  check_names({.block = {0, 1, 1}}, "block", 0, 1024);
  check_names({.block = {1025, 1, 1}}, "block", 1025, 1024);
  check_names({.block = {1, 1, 65}}, "block", 65, 64);
  check_names({.block = {32, 32, 1}}, "block", 1024, 512);
  check_names({.cluster = {0, 1, 1}}, "cluster", 0, 16);
  check_names({.grid = {32, 32, 1}, .cluster = {16, 2, 1}}, "cluster", 32, 16);
  // The product would wrap to a small number in 32 bits.
  check_names({.cluster = {65536, 65536, 1}}, "cluster", 65536, 16);
  check_names({.grid = {9, 1, 1}, .cluster = {2, 1, 1}}, "cluster", 9, 2);
  check_names({.dynamic_smem_bytes = 232001}, "dynamic_smem_bytes", 232001, 232000);
}

/// A kernel with the parameters (u8, 128-byte map, i64), as nvcc lays them out.
class ThreeParameters final : public Kernel {
 public:
  using Kernel::Kernel;
  Status info(KernelInfo* out) override {
    out->param_count = 3;
    out->param_bytes = 264;
    return Code::OK;
  }
  Status param(int32_t index, size_t* offset, size_t* size) override {
    constexpr size_t offsets[] = {0, 128, 256};
    constexpr size_t sizes[] = {1, 128, 8};
    *offset = offsets[index];
    *size = sizes[index];
    return Code::OK;
  }
  Status occupancy(const LaunchConfig&, int32_t*, int32_t*) override { return Code::OK; }
};

TEST_CASE("packed parameters land at the kernel's offsets, maps aligned") {
  ThreeParameters kernel(open_host());
  std::vector<unsigned char> packed(1 + 128 + 8);
  for (size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<unsigned char>(i + 1);
  const uint32_t sizes[] = {1, 128, 8};
  LaunchParameters values;
  REQUIRE(values.unpack(kernel, 3, sizes, packed.data()).ok());
  void** p = values.pointers();
  CHECK(*static_cast<unsigned char*>(p[0]) == 1);
  CHECK(std::memcmp(p[1], packed.data() + 1, 128) == 0);
  CHECK(std::memcmp(p[2], packed.data() + 129, 8) == 0);
  CHECK(address_of(p[1]) % 64 == 0);
  CHECK(p[3] == nullptr);
}

TEST_CASE("wrong counts and sizes of parameters are named") {
  ThreeParameters kernel(open_host());
  const unsigned char packed[137] = {};
  LaunchParameters values;
  const uint32_t sizes[] = {1, 64, 8};
  CHECK(values.unpack(kernel, 2, sizes, packed).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(message_has("param_count is 2 and the kernel has 3"));
  CHECK(values.unpack(kernel, 3, sizes, packed).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(last_failure().fault.index == 1);
  CHECK(message_has("param_sizes[1] is 64 and parameter 1 of the kernel has 128 bytes"));
}

}  // namespace
}  // namespace tw::test
