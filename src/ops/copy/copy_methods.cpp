// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy_methods.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw {
namespace {

constexpr int64_t kMaxCoordinate = INT32_MAX;  // in a tensor map, whose extents may be larger
// The fewest bytes of a row for which one bulk prefetch per row, or two per row, are faster than
// prefetches of lines. Shorter rows have too many ends.
constexpr int64_t kMinRowForOnePrefetch = 48;
constexpr int64_t kMinRowForTwoPrefetches = 512;

DType unsigned_type(int64_t bytes) {
  return bytes == 8 ? DType::U64 : bytes == 4 ? DType::U32 : bytes == 2 ? DType::U16 : DType::U8;
}

bool suits_maps(int64_t stride) {
  return stride >= 0 && stride % kCopyAlignment == 0 && stride <= kMaxStride;
}

}  // namespace

bool fill_boxes(const CopyShape& shape, const PipelineSize& pipeline, CopyBoxArgs* args) {
  if (shape.empty || pipeline.stages == 0 || shape.row_bytes < kCopyAlignment) return false;
  if (shape.rank < 1 || shape.rank >= static_cast<int32_t>(kCopyMapRank)) return false;
  for (int32_t d = 0; d < shape.rank; ++d)
    if (!suits_maps(shape.src_stride[d]) || !suits_maps(shape.dst_stride[d]) ||
        shape.extent[d] > kMaxCoordinate)
      return false;
  // Uses the widest possible map elements, because a box dimension is limited to 256 elements.
  const int64_t element =
      std::min<int64_t>(8, alignment_of(static_cast<uint64_t>(shape.row_bytes)));
  const int64_t row = shape.row_bytes / element;
  if (row > kMaxCoordinate) return false;

  *args = CopyBoxArgs{};
  args->rank = static_cast<u32>(shape.rank) + 1;
  args->element_bytes = static_cast<u32>(element);
  args->tail_from = static_cast<u64>(shape.row_bytes / kCopyAlignment * kCopyAlignment);
  args->tail_bytes = static_cast<u32>(shape.row_bytes % kCopyAlignment);
  if (shape.padding_writable) {
    args->tail_from += args->tail_bytes == 0 ? 0 : kCopyAlignment;
    args->tail_bytes = 0;
  }
  // Columns are cut evenly; rows fill the stage.
  const int64_t columns = ceil_div(row, kMaxBoxDim);
  args->extent[0] = static_cast<u32>(row);
  args->box[0] = static_cast<u32>(round_up(ceil_div(row, columns), kCopyAlignment / element));
  int64_t fitting_rows = pipeline.stage_bytes / (args->box[0] * element);
  int64_t bytes = args->box[0] * element;
  for (int32_t d = 0; d < shape.rank; ++d) {
    const int64_t box = std::max<int64_t>(1, std::min({fitting_rows, kMaxBoxDim, shape.extent[d]}));
    args->extent[d + 1] = static_cast<u32>(shape.extent[d]);
    args->box[d + 1] = static_cast<u32>(box);
    args->dst_stride[d + 1] = shape.dst_stride[d];
    fitting_rows /= box;
    bytes *= box;
  }
  if (bytes > pipeline.stage_bytes) return false;  // even a single row exceeds the stage
  int64_t tiles = 1;
  for (u32 d = 0; d < args->rank; ++d) {
    args->tile_count[d] = static_cast<u32>(ceil_div(args->extent[d], args->box[d]));
    if (!checked_mul(tiles, args->tile_count[d], &tiles) || tiles > INT32_MAX) return false;
  }
  args->tiles = static_cast<u64>(tiles);
  args->box_bytes = static_cast<u32>(bytes);
  args->stage_bytes = pipeline.stage_bytes;
  args->stages = pipeline.stages;
  return true;
}

void describe_boxes(const CopyShape& shape, const CopyBoxArgs& args, TensorMapDesc* src,
                    TensorMapDesc* dst) {
  TensorMapDesc desc;
  desc.dtype = unsigned_type(args.element_bytes);
  desc.rank = static_cast<int32_t>(args.rank);
  // A promotion larger than the row would fetch unrelated bytes.
  desc.l2_promotion = shape.row_bytes >= 512   ? L2Promotion::b256
                      : shape.row_bytes >= 256 ? L2Promotion::b128
                                               : L2Promotion::none;
  for (u32 d = 0; d < args.rank; ++d) {
    desc.global_dim[d] = args.extent[d];
    desc.box_dim[d] = args.box[d];
  }
  *src = *dst = desc;
  for (int32_t d = 0; d < shape.rank; ++d) {
    src->global_stride_bytes[d] = static_cast<uint64_t>(shape.src_stride[d]);
    dst->global_stride_bytes[d] = static_cast<uint64_t>(shape.dst_stride[d]);
  }
  // A TMA store can only end at a multiple of 16 bytes, so the map must end before the tail.
  dst->global_dim[0] = args.tail_from / args.element_bytes;
}

bool fill_rows(const CopyShape& shape, const PipelineSize& pipeline, uint32_t misalignment,
               uint32_t warps, CopyRowArgs* args) {
  if (shape.empty || pipeline.stages == 0 || shape.row_bytes < 2 * kCopyAlignment) return false;
  if (shape.rank >= kMaxCopyRank || shape.rows >= static_cast<int64_t>(kDividerLimit)) return false;
  *args = CopyRowArgs{};
  args->rank = static_cast<u32>(shape.rank);
  args->rows = static_cast<u64>(shape.rows);
  for (int32_t d = 0; d < shape.rank; ++d) {
    if (shape.src_stride[d] % kCopyAlignment != 0 || shape.dst_stride[d] % kCopyAlignment != 0)
      return false;
    args->src_stride[d] = shape.src_stride[d];
    args->dst_stride[d] = shape.dst_stride[d];
    args->extent[d] = make_divider(static_cast<u32>(shape.extent[d]));
  }
  args->head_bytes = misalignment == 0 ? 0 : static_cast<u32>(kCopyAlignment) - misalignment;
  const int64_t rest = shape.row_bytes - args->head_bytes;
  const int64_t body = rest / kCopyAlignment * kCopyAlignment;
  args->body_bytes = static_cast<u64>(body);
  args->tail_bytes = static_cast<u32>(rest - body);
  // Equal chunks of at most a stage; smaller ones if there would be fewer chunks than warps.
  int64_t chunk = std::min<int64_t>(body, pipeline.stage_bytes);
  while (chunk >= 1024 && shape.rows * ceil_div(body, chunk) < warps) chunk /= 2;
  const int64_t chunks = ceil_div(body, round_up(chunk, kCopyAlignment));
  if (chunks > INT32_MAX) return false;
  args->chunks = static_cast<u32>(chunks);
  args->chunk_bytes = static_cast<u32>(round_up(ceil_div(body, chunks), kCopyAlignment));
  // Rounding the chunk size up may have reduced the number of chunks.
  args->chunks = static_cast<u32>(ceil_div(body, args->chunk_bytes));
  args->last_bytes = static_cast<u32>(body - int64_t{args->chunks - 1} * args->chunk_bytes);
  const int64_t all = shape.rows * args->chunks;
  const int64_t fit = pipeline.stage_bytes / args->chunk_bytes;
  args->stage_chunks = static_cast<u32>(std::clamp<int64_t>(ceil_div(all, warps), 1, fit));
  args->stage_bytes = pipeline.stage_bytes;
  args->stages = pipeline.stages;
  return true;
}

bool same_offset_modulo_16(const CopyShape& shape) {
  for (int32_t d = 0; d < shape.rank; ++d)
    if ((shape.src_stride[d] - shape.dst_stride[d]) % kCopyAlignment != 0) return false;
  return true;
}

namespace {

bool is_large(const CopyShape& shape) {
  return shape.elements * shape.element_bytes >= kSmallCopy;
}

// Returns whether `value` and all strides of the destination are multiples of the divisor.
bool dst_multiple(const CopyShape& shape, int64_t value, int64_t divisor) {
  for (int32_t d = 0; d < shape.rank; ++d)
    if (shape.dst_stride[d] % divisor != 0) return false;
  return value % divisor == 0;
}

// Returns which partially written sectors the kernel prefetches (CopyPieceArgs::prefetch).
// tests/README.md has the measurements. Contiguous rows need no prefetch, because each completes
// the sectors of its neighbors.
u32 piece_prefetch(const CopyShape& shape, bool realign, int64_t misalignment) {
  if (shape.rank == 0 || shape.dst_stride[0] == shape.row_bytes || !is_large(shape) ||
      dst_multiple(shape, misalignment | shape.row_bytes, kPieceSector))
    return kPrefetchNothing;
  if (realign || shape.rank > 1 || shape.row_bytes < kMinRowForOnePrefetch) return kPrefetchLines;
  const u32 two_per_row =
      shape.row_bytes < kMinRowForTwoPrefetches ? kPrefetchLines : kPrefetchSectors;
  if (!dst_multiple(shape, 0, kCopyAlignment)) return two_per_row;
  const int64_t begin = misalignment % kCopyAlignment;
  const int64_t end = begin + shape.row_bytes;
  if (begin == 0 || end % kCopyAlignment == 0) return kPrefetchSectors;
  // The prefetch must reach from the row's last piece to the end of the next row's first piece.
  // That is two sectors, wherever they begin.
  const int64_t next = (begin + shape.dst_stride[0]) / kCopyAlignment + 1;
  const int64_t span = (next - (end - 1) / kCopyAlignment) * kCopyAlignment;
  if (span < kCopyAlignment || span > 3 * kCopyAlignment) return two_per_row;
  return static_cast<u32>(std::max(span, 2 * kCopyAlignment));
}

// Returns whether single bytes are better for the ends of rows than stores of 1 to 8 bytes.
bool stores_ends_by_bytes(const CopyShape& shape, bool realign, int64_t misalignment) {
  if (!is_large(shape) || (!realign && shape.rank > 1)) return false;
  if (!dst_multiple(shape, 0, kCopyAlignment))
    return !dst_multiple(shape, misalignment | shape.row_bytes, 4);
  const auto begin = static_cast<uint64_t>(-misalignment) % kCopyAlignment;
  const auto end = static_cast<uint64_t>(misalignment + shape.row_bytes) % kCopyAlignment;
  return std::popcount(begin) + std::popcount(end) >= 3;
}

}  // namespace

bool fill_pieces(const CopyShape& shape, bool realign, uint32_t dst_misalignment,
                 CopyPieceArgs* args) {
  if (shape.empty || shape.rank > static_cast<int32_t>(kPieceRank)) return false;
  if (!realign && !same_offset_modulo_16(shape)) return false;
  const bool same = dst_multiple(shape, 0, kCopyAlignment);  // all rows have the same misalignment
  const int64_t ahead = same ? dst_misalignment % kCopyAlignment : kCopyAlignment - 1;
  const int64_t slots = ceil_div(ahead + shape.row_bytes, kCopyAlignment) + (realign ? 1 : 0);
  int64_t items = 0;
  if (!checked_mul(shape.rows, slots, &items) || items >= static_cast<int64_t>(kPieceLimit))
    return false;
  *args = CopyPieceArgs{};
  args->row_bytes = static_cast<u64>(shape.row_bytes);
  args->items = static_cast<u64>(items);
  args->slots = make_divider(static_cast<u32>(slots));
  args->rank = static_cast<u32>(std::max(shape.rank, 1));
  args->ends_padded = same && ahead == 0 && shape.padding_writable ? 1 : 0;
  args->prefetch = piece_prefetch(shape, realign, dst_misalignment);
  args->ends_by_bytes = stores_ends_by_bytes(shape, realign, dst_misalignment) ? 1 : 0;
  args->extent[0] = make_divider(1);
  for (int32_t d = 0; d < shape.rank; ++d) {
    args->src_stride[d] = shape.src_stride[d];
    args->dst_stride[d] = shape.dst_stride[d];
    args->extent[d] = make_divider(static_cast<u32>(shape.extent[d]));
  }
  return true;
}

uint32_t strided_unit(const CopyShape& shape, uint32_t alignment) {
  uint32_t unit = std::min(alignment, alignment_of(static_cast<uint64_t>(shape.row_bytes)));
  for (int32_t d = 0; d < shape.rank; ++d)
    unit = std::min({unit, alignment_of(static_cast<uint64_t>(shape.src_stride[d])),
                     alignment_of(static_cast<uint64_t>(shape.dst_stride[d]))});
  return unit;
}

void fill_strided(const CopyShape& shape, uint32_t alignment, CopyStridedArgs* args) {
  *args = CopyStridedArgs{};
  const int64_t unit = strided_unit(shape, alignment);
  const int64_t row_units = shape.row_bytes / unit;
  args->unit_bytes = static_cast<u32>(unit);
  args->units = static_cast<u64>(shape.rows * row_units);
  u32 rank = 0;
  if (row_units > 1 || shape.rank == 0) {
    args->extent[0] = static_cast<u64>(row_units);
    args->src_stride[0] = args->dst_stride[0] = unit;
    rank = 1;
  }
  for (int32_t d = 0; d < shape.rank; ++d, ++rank) {
    args->extent[rank] = static_cast<u64>(shape.extent[d]);
    args->src_stride[rank] = shape.src_stride[d];
    args->dst_stride[rank] = shape.dst_stride[d];
  }
  args->rank = rank;
  if (args->units < kDividerLimit)
    for (u32 d = 0; d < rank; ++d)
      args->divider[d] = make_divider(static_cast<u32>(args->extent[d]));
}

}  // namespace tw
