// SPDX-License-Identifier: Apache-2.0
// Which method a copy takes: from its shape, and from what its addresses are modulo 16.
#include <algorithm>

#include "ops/copy/copy.hpp"

namespace tw {
namespace {

constexpr uint32_t kAligned = static_cast<uint32_t>(kCopyAlignment);
// From here on a row is worth pieces of its own, whatever the order of the dimensions around.
constexpr int64_t kMaxPermuteRow = 64;
// Pieces of rows shorter than this are mostly ends.
constexpr int64_t kMinPieceRow = 32;
// Shorter rows are too little for boxes or bulk copies of their own.
constexpr int64_t kMinEngineRow = 512;

// Best first, for a copy that several serve.
constexpr uint32_t kOrder[] = {kCopyDriver,  kCopyInterleave, kCopyTranspose, kCopyTransposePlain,
                               kCopyPermute, kCopyBoxes,      kCopyRows,      kCopyPieces,
                               kCopyShift,   kCopyStrided};

uint32_t bit(uint32_t method) {
  return 1u << method;
}

}  // namespace

void CopyPlan::found(uint32_t method, bool can, bool fast) {
  if (!(desc_.methods & bit(method)) || !can) return;
  possible_ |= bit(method);
  if (fast) favoured_ |= bit(method);
}

void CopyPlan::find_row_methods() {
  const bool worth_pieces = shape_.row_bytes >= kMinPieceRow;
  const uint32_t most = kAligned - 1;  // the misalignment that makes the most of them
  const bool pieces = fill_pieces(shape_, false, most, &piece_args_);
  const bool shift = fill_pieces(shape_, true, most, &shift_args_);
  found(kCopyPieces, pieces, worth_pieces);
  found(kCopyShift, shift, worth_pieces);
  piece_misalignment_ = static_cast<uint32_t>(
      (promised_address(desc_.dst_alignment) + static_cast<uint64_t>(shape_.dst_offset)) %
      kPieceSector);
  if (pieces) fill_pieces(shape_, false, piece_misalignment_, &piece_args_);
  if (shift) fill_pieces(shape_, true, piece_misalignment_, &shift_args_);
  // The copy engine reaches 0.92 to 0.94 of a contiguous copy where pieces reach 0.95 to 0.97, and
  // half their speed on a few SMs: shared memory bounds its bytes in flight. It is for copies of so
  // many pieces that 31 bits do not count them.
  const bool engine = (favoured_ & bit(kCopyShift)) == 0 && shape_.row_bytes >= kMinEngineRow;
  const uint32_t warps = usable_sms(*device(), desc_.max_sms) * kCopyRingWarps;
  CopyRowArgs rows;
  found(kCopyBoxes, fill_boxes(shape_, ring_, &box_args_), engine);
  found(kCopyRows, fill_rows(shape_, ring_, 0, warps, &rows), engine);
}

void CopyPlan::find_methods() {
  const bool plain = desc_.src_cache == CachePriority::normal &&
                     desc_.dst_cache == CachePriority::normal && desc_.max_sms == 0;
  found(kCopyDriver, shape_.rank == 0 && plain, true);
  found(kCopyInterleave, fill_interleave(shape_, &interleave_args_, &to_planes_), true);
  found(kCopyTranspose, fill_transpose(shape_, false, &transpose_args_), true);
  found(kCopyTransposePlain, fill_transpose(shape_, true, &plain_transpose_args_), true);
  if (fill_permute(shape_, &permute_args_)) {
    const uint64_t src = promised_address(desc_.src_alignment);
    const uint64_t dst = promised_address(desc_.dst_alignment);
    fit_permute(src + static_cast<uint64_t>(shape_.src_offset),
                dst + static_cast<uint64_t>(shape_.dst_offset), &permute_args_);
    const auto room = static_cast<uint32_t>(device()->info().max_dynamic_smem_bytes);
    found(kCopyPermute, permute_tables(permute_args_).total <= room,
          shape_.row_bytes < kMaxPermuteRow);
  }
  find_row_methods();
  found(kCopyStrided, true, true);
  fill_strided(shape_,
               std::min(alignment_of(promised_address(desc_.src_alignment) +
                                     static_cast<uint64_t>(shape_.src_offset)),
                        alignment_of(promised_address(desc_.dst_alignment) +
                                     static_cast<uint64_t>(shape_.dst_offset))),
               &strided_args_);
}

// `src` and `dst` are addresses modulo 16.
bool CopyPlan::suits(uint32_t method, uint32_t src, uint32_t dst) const {
  switch (method) {
    case kCopyDriver:  // which is slow where words are cut, and at odd numbers of bytes
      return small() || ((src - dst) % 4 == 0 && shape_.row_bytes % kCopyAlignment == 0);
    case kCopyBoxes:
    case kCopyTranspose:
    case kCopyInterleave:
      return (src | dst) == 0;
    case kCopyRows:
    case kCopyPieces:
      return src == dst;
    case kCopyPermute:
      return (src | dst) % permute_args_.element_bytes == 0;
    case kCopyTransposePlain:
      return (src | dst) % plain_transpose_args_.element_bytes == 0;
    default:
      return true;
  }
}

uint32_t CopyPlan::choose(uint64_t src, uint64_t dst) const {
  const auto from = static_cast<uint32_t>(src % kAligned);
  const auto to = static_cast<uint32_t>(dst % kAligned);
  for (const uint32_t methods : {favoured_, possible_})
    for (const uint32_t method : kOrder)
      if ((methods & bit(method)) && suits(method, from, to)) return method;
  return 0;
}

uint32_t CopyPlan::method_for_test(uint64_t src, uint64_t dst) const {
  return choose(src + static_cast<uint64_t>(shape_.src_offset),
                dst + static_cast<uint64_t>(shape_.dst_offset));
}

}  // namespace tw
