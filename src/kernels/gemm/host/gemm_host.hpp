// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gemm family's host bodies: each runs a whole launch of its kernels on the CPU.

#include <cstdint>

namespace tw {

class HostEngine;

inline constexpr int32_t kHostTile = 128;  // rows and columns of a tile
inline constexpr int32_t kHostTileK = 64;  // one swizzle span of 16-bit elements

/// Basic wgmma kernels: 128 x 128 x 64 tiles through the TMA model. Takes GemmArgs.
void gemm_host_boxes(HostEngine& engine, const void* arguments);
/// Basic mma.sync kernels: single elements, no maps. Takes GemmArgs.
void gemm_host_plain(HostEngine& engine, const void* arguments);
/// The same for epilogue kernels. Take GemmEpilogueArgs.
void gemm_host_full_boxes(HostEngine& engine, const void* arguments);
void gemm_host_full_plain(HostEngine& engine, const void* arguments);
/// Narrow types with scales, any order and pitch. Takes GemmScaledArgs.
void gemm_host_scaled(HostEngine& engine, const void* arguments);
/// Prepares a batch given by addresses. Takes GemmPointersArgs.
void gemm_host_pointers(HostEngine& engine, const void* arguments);

}  // namespace tw
