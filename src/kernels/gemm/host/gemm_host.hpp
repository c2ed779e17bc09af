// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gemm family's host bodies.

#include <cstdint>

namespace tw {

class HostEngine;

inline constexpr int32_t kHostTile = 128;  // rows and columns of a tile
inline constexpr int32_t kHostTileK = 64;  // one swizzle span of 16-bit elements

/// Tiles through the same maps as a wgmma row, 128 x 128 x 64.
void gemm_host_boxes(HostEngine& engine, const void* arguments);
/// Elements one by one, for what has no maps.
void gemm_host_plain(HostEngine& engine, const void* arguments);
/// The same for full rows, with every epilogue.
void gemm_host_full_boxes(HostEngine& engine, const void* arguments);
void gemm_host_full_plain(HostEngine& engine, const void* arguments);
/// Narrow types with scales, of any order and pitch.
void gemm_host_scaled(HostEngine& engine, const void* arguments);
/// Addresses of a batch, and its maps.
void gemm_host_pointers(HostEngine& engine, const void* arguments);

}  // namespace tw
