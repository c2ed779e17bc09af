// SPDX-License-Identifier: Apache-2.0
// Permutations on the CPU: the kernel's tiles and places, one after the other.
#include <cstdint>
#include <cstring>

#include "kernels/common/host_engine.hpp"
#include "kernels/copy/copy_host.hpp"
#include "kernels/copy/permute.h"

namespace tw {
namespace {

struct Tile {
  u64 src;
  u64 dst;
  u32 src_run, src_lines, dst_run, dst_lines;
};

Tile tile_of(const CopyPermuteArgs& args, u64 number) {
  u32 at[kPermuteRank] = {};
  Tile tile{args.src, args.dst, 0, 0, 0, 0};
  for (u32 d = 0; d < args.grid_rank; ++d) {
    at[d] = static_cast<u32>(number % args.grid[d].tiles.divisor);
    number /= args.grid[d].tiles.divisor;
    tile.src += static_cast<u64>(at[d] * args.grid[d].src_step);
    tile.dst += static_cast<u64>(at[d] * args.grid[d].dst_step);
  }
  const auto extent = [&](const PermuteEdge& edge) {
    return permute_extent(args, edge, edge.grid_dim < 0 ? 0 : at[edge.grid_dim]);
  };
  tile.src_run = extent(args.src_run);
  tile.src_lines = extent(args.src_lines);
  tile.dst_run = extent(args.dst_run);
  tile.dst_lines = extent(args.dst_lines);
  return tile;
}

}  // namespace

void copy_permute_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const CopyPermuteArgs*>(arguments);
  uint8_t* shared = engine.shared();
  const u32 element = args.element_bytes;
  for (u64 number = 0; number < args.tiles; ++number) {
    const Tile tile = tile_of(args, number);
    for (u32 line = 0; line < tile.src_lines; ++line) {
      const u64 from = tile.src + static_cast<u64>(permute_place(args.src_line_dims, line).offset);
      const u32 place = (line << 16) + line * args.pitch;
      for (u32 byte = 0; byte < tile.src_run; byte += element)
        std::memcpy(shared + permute_byte(place + byte, args.shift),
                    reinterpret_cast<const void*>(from + byte), element);
    }
    for (u32 line = 0; line < tile.dst_lines; ++line) {
      const PermutePlace at = permute_place(args.dst_line_dims, line);
      const u64 to = tile.dst + static_cast<u64>(at.offset);
      for (u32 byte = 0; byte < tile.dst_run; byte += element) {
        const u32 place = at.place + permute_place(args.dst_run_dims, byte / element).place;
        std::memcpy(reinterpret_cast<void*>(to + byte), shared + permute_byte(place, args.shift),
                    element);
      }
    }
  }
}

}  // namespace tw
