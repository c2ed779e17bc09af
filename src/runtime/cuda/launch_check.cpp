// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/launch_check.hpp"

namespace tw {
namespace {

// Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". The same
// for all compute capabilities that the library supports.
constexpr uint32_t kMaxGrid[3] = {0x7fffffff, 65535, 65535};
constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};

Status check_dims(const char* name, const uint32_t (&dims)[3], const uint32_t (&limits)[3]) {
  for (int i = 0; i < 3; ++i) {
    if (dims[i] >= 1 && dims[i] <= limits[i]) continue;
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = name, .index = i, .got = dims[i], .limit = limits[i]},
                "%s[%d] is %u: it must be 1 to %u", name, i, dims[i], limits[i]);
  }
  return Code::OK;
}

uint64_t product(const uint32_t (&dims)[3]) {
  return uint64_t{dims[0]} * dims[1] * dims[2];
}

Status check_cluster(const LaunchConfig& config, const LaunchLimits& limits) {
  const uint32_t maximum = limits.max_cluster_blocks;
  TW_TRY(check_dims("cluster", config.cluster, {maximum, maximum, maximum}));
  const uint64_t blocks = product(config.cluster);
  if (blocks > maximum)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "cluster", .got = static_cast<int64_t>(blocks), .limit = maximum},
                "cluster %u x %u x %u has %llu blocks: %u at most", config.cluster[0],
                config.cluster[1], config.cluster[2], static_cast<unsigned long long>(blocks),
                maximum);
  for (int i = 0; i < 3; ++i)
    if (config.grid[i] % config.cluster[i] != 0)
      return fail(
          Code::ERROR_INVALID_ARGUMENT,
          {.argument = "cluster", .index = i, .got = config.grid[i], .limit = config.cluster[i]},
          "grid[%d] is %u, which is not a multiple of cluster[%d], %u", i, config.grid[i], i,
          config.cluster[i]);
  return Code::OK;
}

}  // namespace

Status check_launch(const LaunchConfig& config, const LaunchLimits& limits) {
  TW_TRY(check_dims("grid", config.grid, kMaxGrid));
  TW_TRY(check_dims("block", config.block, kMaxBlock));
  const uint64_t threads = product(config.block);
  if (threads > limits.max_threads)
    return fail(
        Code::ERROR_INVALID_ARGUMENT,
        {.argument = "block", .got = static_cast<int64_t>(threads), .limit = limits.max_threads},
        "block %u x %u x %u has %llu threads and the kernel takes %u at most (its "
        "registers or its launch bounds)",
        config.block[0], config.block[1], config.block[2], static_cast<unsigned long long>(threads),
        limits.max_threads);
  TW_TRY(check_cluster(config, limits));
  if (config.dynamic_smem_bytes > limits.max_dynamic_smem)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "dynamic_smem_bytes",
                 .got = config.dynamic_smem_bytes,
                 .limit = limits.max_dynamic_smem},
                "dynamic_smem_bytes is %u: the kernel has %u static bytes, which leaves at most %u",
                config.dynamic_smem_bytes, limits.static_smem, limits.max_dynamic_smem);
  return Code::OK;
}

}  // namespace tw
