// SPDX-License-Identifier: Apache-2.0
// Pieces, transposes and interleaving on the CPU: the places that the kernels compute, one after
// the other.
#include <cstdint>
#include <cstring>

#include "kernels/common/realign.h"
#include "kernels/copy/copy_host.hpp"
#include "kernels/copy/interleave.h"
#include "kernels/copy/pieces.h"
#include "kernels/copy/transpose.h"

namespace tw {
namespace {

uint8_t* global(u64 address) {
  return reinterpret_cast<uint8_t*>(address);
}

// The piece's sixteen bytes out of the two aligned vectors that hold them, where both are the
// source's to read.
Words4 realigned(const CopyPieceArgs& args, const CopyPiece& p) {
  const u64 base = p.from & ~15ull;
  Words4 low{}, high{};
  const auto read = [&](u64 at, Words4* to) {
    if (at >= args.src_low && at + 16 <= args.src_high) std::memcpy(to, global(at), 16);
  };
  read(base, &low);
  read(base + 16, &high);
  return shift_bytes(low, high, static_cast<u32>(p.from) & 15);
}

void transpose(const CopyTransposeArgs& args) {
  const u32 element = args.element_bytes;
  const i64 side = args.unit_elements;
  for (u64 tile = 0; tile < args.tiles; ++tile) {
    const TransposePlace at =
        transpose_place(args, static_cast<u32>(tile), args.tile_a, args.tile_b);
    const u32 a_end = at.a + args.tile_a < args.units_a ? at.a + args.tile_a : args.units_a;
    const u32 b_end = at.b + args.tile_b < args.units_b ? at.b + args.tile_b : args.units_b;
    for (i64 a = at.a * side; a < a_end * side; ++a)
      for (i64 b = at.b * side; b < b_end * side; ++b)
        std::memcpy(global(at.dst + static_cast<u64>(a * args.dst_pitch + b * element)),
                    global(at.src + static_cast<u64>(b * args.src_pitch + a * element)), element);
  }
}

void interleave(const CopyInterleaveArgs& args, bool to_planes) {
  const u32 element = args.element_bytes;
  const u32 side = 16 / element;
  for (u64 warp = 0; warp < args.warps; ++warp) {
    const InterleavePlace at = interleave_place(args, static_cast<u32>(warp));
    for (u32 group = at.group; group < at.group + at.groups; ++group)
      for (u32 plane = 0; plane < args.planes; ++plane)
        for (u32 e = 0; e < side; ++e) {
          const u64 number = static_cast<u64>(group) * side + e;
          const u64 planar = static_cast<u64>(plane * args.plane_pitch) + number * element;
          const u64 packed = (number * args.planes + plane) * element;
          std::memcpy(global(at.dst + (to_planes ? planar : packed)),
                      global(at.src + (to_planes ? packed : planar)), element);
        }
  }
}

}  // namespace

void copy_pieces_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopyPieceArgs*>(arguments);
  for (u64 slot = 0; slot < args.items; ++slot) {
    const CopyPiece p = copy_piece<0>(args, static_cast<u32>(slot));
    if (p.end != 0) std::memcpy(global(p.to + p.first), global(p.from + p.first), p.end - p.first);
  }
}

void copy_shift_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const CopyPieceArgs*>(arguments);
  for (u64 slot = 0; slot < args.items; ++slot) {
    const CopyPiece p = copy_piece<0>(args, static_cast<u32>(slot));
    if (p.end == 0) continue;
    Words4 words = realigned(args, p);
    const auto* from = reinterpret_cast<const uint8_t*>(words.w);
    if (!piece_inside(args, p)) from = global(p.from);
    std::memcpy(global(p.to + p.first), from + p.first, p.end - p.first);
  }
}

void copy_transpose_host(HostEngine&, const void* arguments) {
  transpose(*static_cast<const CopyTransposeArgs*>(arguments));
}

void copy_transpose_small_host(HostEngine&, const void* arguments) {
  transpose(*static_cast<const CopyTransposeArgs*>(arguments));
}

void copy_transpose_plain_host(HostEngine&, const void* arguments) {
  transpose(*static_cast<const CopyTransposeArgs*>(arguments));
}

void copy_interleave_host(HostEngine&, const void* arguments) {
  interleave(*static_cast<const CopyInterleaveArgs*>(arguments), false);
}

void copy_deinterleave_host(HostEngine&, const void* arguments) {
  interleave(*static_cast<const CopyInterleaveArgs*>(arguments), true);
}

}  // namespace tw
