// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy_choose.hpp"

#include <algorithm>

#include "ops/plan/plan.hpp"

namespace tw {
namespace {

constexpr uint32_t kAligned = static_cast<uint32_t>(kCopyAlignment);
// Permuting kernels are fast only for shorter rows than this. Longer rows are copied as pieces of
// 16 bytes, even if dimensions change their order.
constexpr int64_t kMaxPermuteRow = 64;
// Rows shorter than this consist mostly of partial pieces, so that copying pieces is slow.
constexpr int64_t kMinPieceRow = 32;
// Shorter rows are too small for TMA boxes or bulk copies.
constexpr int64_t kMinTmaRow = 512;

// In order of preference, among the fast methods first and then among all possible ones. TMA (boxes
// and rows) is a last resort although it comes before pieces: find_row_methods() marks it as fast
// only if pieces cannot serve the copy.
constexpr uint32_t kOrder[] = {kCopyDriver,  kCopyInterleave, kCopyTranspose, kCopyTransposePlain,
                               kCopyPermute, kCopyBoxes,      kCopyRows,      kCopyPieces,
                               kCopyShift,   kCopyStrided};

uint32_t bit(uint32_t method) {
  return 1u << method;
}

}  // namespace

void CopyMethods::add_method(const CopyDesc& desc, uint32_t method, bool can, bool fast) {
  if (!(desc.methods & bit(method)) || !can) return;
  possible |= bit(method);
  if (fast) fast_methods |= bit(method);
}

void CopyMethods::find_row_methods(const Device& device, const CopyDesc& desc,
                                   const CopyShape& shape, const PipelineSize& pipeline) {
  const bool worth_pieces = shape.row_bytes >= kMinPieceRow;
  const uint32_t worst_misalignment = kAligned - 1;  // gives the most pieces
  const bool has_pieces = fill_pieces(shape, false, worst_misalignment, &pieces);
  const bool has_shift = fill_pieces(shape, true, worst_misalignment, &shift);
  add_method(desc, kCopyPieces, has_pieces, worth_pieces);
  add_method(desc, kCopyShift, has_shift, worth_pieces);
  piece_misalignment = static_cast<uint32_t>(
      (promised_address(desc.dst_alignment) + static_cast<uint64_t>(shape.dst_offset)) %
      kPieceSector);
  if (has_pieces) fill_pieces(shape, false, piece_misalignment, &pieces);
  if (has_shift) fill_pieces(shape, true, piece_misalignment, &shift);
  // TMA reaches 0.92 to 0.94 of the bandwidth of a contiguous copy, pieces reach 0.95 to 0.97. On a
  // few SMs TMA is half as fast as pieces, because shared memory limits its bytes in flight. So TMA
  // is marked as fast only for long rows that the piece methods cannot copy: those with almost 2^31
  // pieces or more (kPieceLimit). Testing kCopyShift suffices, because below that limit it can copy
  // whatever kCopyPieces can.
  const bool tma_is_fast = (fast_methods & bit(kCopyShift)) == 0 && shape.row_bytes >= kMinTmaRow;
  const uint32_t warps = usable_sms(device, desc.max_sms) * kCopyPipelineWarps;
  CopyRowArgs rows;
  add_method(desc, kCopyBoxes, fill_boxes(shape, pipeline, &boxes), tma_is_fast);
  add_method(desc, kCopyRows, fill_rows(shape, pipeline, 0, warps, &rows), tma_is_fast);
}

void CopyMethods::find_methods(const Device& device, const CopyDesc& desc, const CopyShape& shape,
                               const PipelineSize& pipeline) {
  const bool plain = desc.src_cache == CachePriority::normal &&
                     desc.dst_cache == CachePriority::normal && desc.max_sms == 0;
  add_method(desc, kCopyDriver, shape.rank == 0 && plain, true);
  add_method(desc, kCopyInterleave, fill_interleave(shape, &interleave, &to_planes), true);
  add_method(desc, kCopyTranspose, fill_transpose(shape, false, &transpose), true);
  add_method(desc, kCopyTransposePlain, fill_transpose(shape, true, &plain_transpose), true);
  if (fill_permute(shape, &permute)) {
    const uint64_t src = promised_address(desc.src_alignment);
    const uint64_t dst = promised_address(desc.dst_alignment);
    fit_permute(src + static_cast<uint64_t>(shape.src_offset),
                dst + static_cast<uint64_t>(shape.dst_offset), &permute);
    const auto available = static_cast<uint32_t>(device.info().max_dynamic_smem_bytes);
    add_method(desc, kCopyPermute, permute_tables(permute).total <= available,
               shape.row_bytes < kMaxPermuteRow);
  }
  find_row_methods(device, desc, shape, pipeline);
  add_method(desc, kCopyStrided, true, true);
  fill_strided(shape,
               std::min(alignment_of(promised_address(desc.src_alignment) +
                                     static_cast<uint64_t>(shape.src_offset)),
                        alignment_of(promised_address(desc.dst_alignment) +
                                     static_cast<uint64_t>(shape.dst_offset))),
               &strided);
}

// `src` and `dst` are addresses modulo 16.
bool CopyMethods::suits(const CopyShape& shape, uint32_t method, uint32_t src, uint32_t dst) const {
  switch (method) {
    // The driver is fast for small copies, and if both addresses have the same offset in a 4-byte
    // word and the size is a multiple of 16.
    case kCopyDriver:
      return is_small(shape) || ((src - dst) % 4 == 0 && shape.row_bytes % kCopyAlignment == 0);
    case kCopyBoxes:
    case kCopyTranspose:
    case kCopyInterleave:
      return (src | dst) == 0;
    case kCopyRows:
    case kCopyPieces:
      return src == dst;
    case kCopyPermute:
      return (src | dst) % permute.unit_bytes == 0;
    case kCopyTransposePlain:
      return (src | dst) % plain_transpose.element_bytes == 0;
    default:
      return true;
  }
}

uint32_t CopyMethods::choose(const CopyShape& shape, uint64_t src, uint64_t dst) const {
  const auto from = static_cast<uint32_t>(src % kAligned);
  const auto to = static_cast<uint32_t>(dst % kAligned);
  for (const uint32_t methods : {fast_methods, possible})
    for (const uint32_t method : kOrder)
      if ((methods & bit(method)) && suits(shape, method, from, to)) return method;
  return 0;
}

uint32_t CopyMethods::reachable_methods(const CopyDesc& desc, const CopyShape& shape) const {
  const auto step = [&](uint32_t promised) {
    return std::clamp<uint32_t>(promised, static_cast<uint32_t>(shape.element_bytes), kAligned);
  };
  uint32_t reachable = 0;
  if (shape.empty) return reachable;
  for (uint64_t src = 0; src < kAligned; src += step(desc.src_alignment))
    for (uint64_t dst = 0; dst < kAligned; dst += step(desc.dst_alignment))
      reachable |= bit(choose(shape, src + static_cast<uint64_t>(shape.src_offset),
                              dst + static_cast<uint64_t>(shape.dst_offset)));
  return reachable & ~bit(0);  // without 0, which means that no method suits
}

}  // namespace tw
