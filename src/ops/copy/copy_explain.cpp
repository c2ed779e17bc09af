// SPDX-License-Identifier: Apache-2.0
// What a copy's plan will do, in numbers and in words.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "ops/copy/copy.hpp"

namespace tw {
namespace {

void take_config(const LaunchConfig& config, PlanInfo* info) {
  for (int i = 0; i < 3; ++i) {
    info->grid[i] = config.grid[i];
    info->block[i] = config.block[i];
    info->cluster[i] = config.cluster[i];
  }
  info->dynamic_smem_bytes = config.dynamic_smem_bytes;
}

// Elements that are read at least once: a dimension of stride 0 reads its elements again.
uint64_t distinct_sources(const CopyShape& shape) {
  int64_t bytes = shape.row_bytes;
  for (int32_t d = 0; d < shape.rank; ++d)
    if (shape.src_stride[d] != 0) bytes *= shape.extent[d];
  return static_cast<uint64_t>(bytes);
}

}  // namespace

PlanInfo CopyPlan::info() const {
  PlanInfo info;
  info.op = Op::copy;
  const uint64_t src =
      promised_address(desc_.src_alignment) + static_cast<uint64_t>(shape_.src_offset);
  const uint64_t dst =
      promised_address(desc_.dst_alignment) + static_cast<uint64_t>(shape_.dst_offset);
  for (const CopyShape& box : outside_)
    info.bytes_written += static_cast<uint64_t>(box.elements * box.element_bytes);
  if (shape_.empty) {
    if (fill_) info.kernel = fill_.row->symbol;
    return info;
  }
  const uint32_t method = choose(src, dst);
  const auto elements = [&](uint32_t bytes) {
    return std::max(1u, bytes / static_cast<uint32_t>(shape_.element_bytes));
  };
  info.bytes_read = distinct_sources(shape_);
  info.bytes_written += static_cast<uint64_t>(shape_.elements * shape_.element_bytes);
  if (method == kCopyDriver) {
    const bool cuda = device()->info().kind == DeviceKind::cuda;
    info.kernel = cuda ? "cuMemcpyDtoDAsync" : "memcpy";
    for (int i = 0; i < 3; ++i) info.grid[i] = info.block[i] = info.cluster[i] = 1;
    return info;
  }
  if (!kernels_[method]) return info;
  info.kernel = kernels_[method].row->symbol;
  info.tile[0] = 1;
  switch (method) {
    case kCopyBoxes:
      take_config(box_config(), &info);
      info.tile[1] = elements(box_args_.box[0] * box_args_.element_bytes);
      info.tile[0] = box_args_.box_bytes / (box_args_.box[0] * box_args_.element_bytes);
      info.stages = box_args_.stages;
      info.boxes_loaded = info.boxes_stored = box_args_.tiles;
      break;
    case kCopyRows: {
      const CopyRowArgs args = row_args(src);
      take_config(row_config(args), &info);
      info.tile[0] = args.stage_chunks;
      info.tile[1] = elements(args.chunk_bytes);
      info.stages = args.stages;
      info.boxes_loaded = info.boxes_stored = args.rows * args.chunks;
      break;
    }
    case kCopyPermute:
      take_config(permute_config(), &info);
      info.tile[0] = permute_args_.src_lines.full;
      info.tile[1] = elements(permute_args_.src_run.full);
      info.stages = kPermuteStages;
      break;
    case kCopyTranspose:
    case kCopyTransposePlain: {
      const CopyTransposeArgs& args =
          method == kCopyTranspose ? transpose_args_ : plain_transpose_args_;
      take_config(transpose_config(method), &info);
      info.tile[0] = args.tile_b * args.unit_elements;
      info.tile[1] = args.tile_a * args.unit_elements;
      break;
    }
    case kCopyInterleave:
      take_config(interleave_config(), &info);
      info.tile[0] = interleave_args_.planes;
      info.tile[1] = elements(16);
      break;
    case kCopyPieces:
    case kCopyShift:
      take_config(piece_config(method, piece_args(method, src, dst)), &info);
      info.tile[1] = elements(16);
      break;
    default: {
      const CopyStridedArgs args = strided_args(src, dst);
      take_config(strided_config(args), &info);
      info.tile[1] = elements(args.unit_bytes);
    }
  }
  return info;
}

// Why this method, in a line.
std::string CopyPlan::reason(uint32_t method) const {
  char text[320] = "";
  switch (method) {
    case kCopyDriver:
      return "one contiguous row: the driver's own copy, which a capture takes as a copy node\n";
    case kCopyBoxes:
      if (box_args_.tail_bytes == 0) return "rows move as boxes of tensor maps\n";
      std::snprintf(text, sizeof text,
                    "rows move as boxes of tensor maps; the last %u bytes of each are stored by "
                    "plain stores: the copy engine clips stores at 16 bytes\n",
                    box_args_.tail_bytes);
      return text;
    case kCopyRows:
      return "rows move as bulk copies: no tensor map for a single row, for strides that are "
             "negative, or for more than five dimensions\n";
    case kCopyPermute:
      std::snprintf(
          text, sizeof text,
          "dimensions change their order: tiles of %u runs of %u bytes of the source and %u "
          "runs of %u bytes of the destination, loaded %u and stored %u bytes at once\n",
          permute_args_.src_lines.full, permute_args_.src_run.full, permute_args_.dst_lines.full,
          permute_args_.dst_run.full, permute_args_.load_bytes, permute_args_.store_bytes);
      return text;
    case kCopyTranspose:
      std::snprintf(text, sizeof text,
                    "a transpose: squares of 16 bytes are turned round in registers, tiles of %u "
                    "source by %u destination bytes\n",
                    transpose_args_.tile_a * 16, transpose_args_.tile_b * 16);
      return text;
    case kCopyTransposePlain:
      return "a transpose of which something is no multiple of 16 bytes: element by element "
             "through "
             "shared memory\n";
    case kCopyInterleave:
      std::snprintf(text, sizeof text, "%u planes are %s in registers, 16 bytes of each a thread\n",
                    interleave_args_.planes, to_planes_ ? "taken apart" : "interleaved");
      return text;
    case kCopyPieces:
      return "rows move as 16-byte pieces by plain loads and stores: they are too short or too "
             "oddly placed for the copy engine\n";
    case kCopyShift:
      return "source and destination are misaligned against each other: pieces of 16 bytes are "
             "put together in registers from aligned loads\n";
    default:
      return "no run of 32 bytes that both sides share, and no tile of two orders: element by "
             "element\n";
  }
}

// What the window's overhang gets.
std::string CopyPlan::window_note() const {
  int64_t elements = 0;
  for (const CopyShape& box : outside_) elements += box.elements;
  char text[256];
  std::snprintf(text, sizeof text,
                "%" PRId64
                " elements are outside the source's tensor: filled with %s by %s, a launch for "
                "each of %zu boxes\n",
                elements, desc_.fill == OobFill::nan ? "NaN (0x7ff7 in every 16 bits)" : "zeros",
                fill_.row->symbol, outside_.size());
  return text;
}

std::string CopyPlan::explain() const {
  const PlanInfo i = info();
  char text[512];
  std::string out = "copy of " + std::string(dtype_name(desc_.dtype)) + " [";
  for (int32_t d = 0; d < desc_.rank; ++d) {
    if (d != 0) out += ", ";
    out += std::to_string(desc_.shape[d]);
  }
  if (shape_.empty && outside_.empty()) return out + "]: empty, nothing runs\n";
  if (shape_.empty) return out + "]: all of it outside the source's tensor\n" + window_note();
  std::snprintf(text, sizeof text,
                "], %" PRIu64 " bytes: after merging, %" PRId64 " rows of %" PRId64
                " contiguous bytes in %d dimensions\n"
                "kernel %s: %u blocks of %u threads, tile %ux%u elements, %u stages, %u bytes of "
                "shared memory\n%" PRIu64 " boxes loaded, %" PRIu64 " stored\n",
                i.bytes_written, shape_.rows, shape_.row_bytes, shape_.rank, i.kernel, i.grid[0],
                i.block[0], i.tile[0], i.tile[1], i.stages, i.dynamic_smem_bytes, i.boxes_loaded,
                i.boxes_stored);
  out += text;
  const uint32_t method =
      choose(promised_address(desc_.src_alignment) + static_cast<uint64_t>(shape_.src_offset),
             promised_address(desc_.dst_alignment) + static_cast<uint64_t>(shape_.dst_offset));
  out += reason(method);
  if (!outside_.empty()) out += window_note();
  for (uint32_t other = 1; other < kCopyMethods; ++other)
    if (other != method && kernels_[other])
      out += "other addresses modulo 16 may take " + std::string(kernels_[other].row->symbol) +
             ": promise src_alignment and dst_alignment to leave it out\n";
  return out;
}

}  // namespace tw
