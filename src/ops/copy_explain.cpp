// SPDX-License-Identifier: Apache-2.0
// What a copy's plan will do, in numbers and in words.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "ops/copy.hpp"

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
  const PreparedKernel& kernel = choose(src, dst);
  if (kernel) info.kernel = kernel.row->symbol;
  if (shape_.empty || !kernel) return info;
  info.bytes_read = distinct_sources(shape_);
  info.bytes_written = static_cast<uint64_t>(shape_.elements * shape_.element_bytes);
  if (&kernel == &boxes_) {
    take_config(box_config(), &info);
    info.tile[1] =
        box_args_.box[0] * box_args_.element_bytes / static_cast<uint32_t>(shape_.element_bytes);
    info.tile[0] = box_args_.box_bytes / (box_args_.box[0] * box_args_.element_bytes);
    info.stages = box_args_.stages;
    info.boxes_loaded = info.boxes_stored = box_args_.tiles;
  } else if (&kernel == &rows_) {
    const CopyRowArgs args = row_args(src);
    take_config(row_config(args), &info);
    info.tile[0] = args.stage_chunks;
    info.tile[1] = args.chunk_bytes / static_cast<uint32_t>(shape_.element_bytes);
    info.stages = args.stages;
    info.boxes_loaded = info.boxes_stored = args.rows * args.chunks;
  } else if (&kernel == &permute_) {
    take_config(permute_config(), &info);
    info.tile[0] = permute_args_.src_lines.full;
    info.tile[1] = permute_args_.src_run.full / static_cast<uint32_t>(shape_.element_bytes);
    info.stages = kPermuteStages;
  } else if (&kernel == &shift_) {
    take_config(shift_config(), &info);
    info.tile[0] = 1;
    info.tile[1] = 16 / static_cast<uint32_t>(shape_.element_bytes);
  } else {
    const CopyStridedArgs args = strided_args(src, dst);
    take_config(strided_config(args), &info);
    info.tile[0] = 1;
    info.tile[1] = args.unit_bytes / static_cast<uint32_t>(shape_.element_bytes);
  }
  return info;
}

std::string CopyPlan::explain() const {
  const PlanInfo i = info();
  char text[512];
  std::string out = "copy of " + std::string(dtype_name(desc_.dtype)) + " [";
  for (int32_t d = 0; d < desc_.rank; ++d) {
    if (d != 0) out += ", ";
    out += std::to_string(desc_.shape[d]);
  }
  if (shape_.empty) return out + "]: empty, nothing runs\n";
  std::snprintf(text, sizeof text,
                "], %" PRIu64 " bytes: after merging, %" PRId64 " rows of %" PRId64
                " contiguous bytes in %d dimensions\n"
                "kernel %s: %u blocks of %u threads, tile %ux%u elements, %u stages, %u bytes of "
                "shared memory\n%" PRIu64 " boxes loaded, %" PRIu64 " stored\n",
                i.bytes_written, shape_.rows, shape_.row_bytes, shape_.rank, i.kernel, i.grid[0],
                i.block[0], i.tile[0], i.tile[1], i.stages, i.dynamic_smem_bytes, i.boxes_loaded,
                i.boxes_stored);
  out += text;
  if (permute_) {
    std::snprintf(
        text, sizeof text,
        "dimensions change their order: tiles of %u runs of %u bytes of the source and %u "
        "runs of %u bytes of the destination, loaded %u and stored %u bytes at once\n",
        permute_args_.src_lines.full, permute_args_.src_run.full, permute_args_.dst_lines.full,
        permute_args_.dst_run.full, permute_args_.load_bytes, permute_args_.store_bytes);
    return out + text;
  }
  if (!boxes_) {
    if (shape_.rank == 0)
      out += "one contiguous row needs no tensor map\n";
    else if (shape_.row_bytes < kCopyAlignment)
      out += "no tensor map: fewer than 16 bytes are contiguous on both sides\n";
    else
      out +=
          "no tensor map: a stride is negative or no multiple of 16 bytes, or there are more than "
          "five dimensions\n";
  } else if (box_args_.tail_bytes != 0) {
    std::snprintf(text, sizeof text,
                  "the last %u bytes of each row are stored by plain stores: the copy engine clips "
                  "stores at 16 bytes\n",
                  box_args_.tail_bytes);
    out += text;
  }
  if (rows_ && boxes_) {
    out += "where addresses are no multiples of 16 but alike modulo 16, runs take ";
    out += std::string(rows_.row->symbol) + "\n";
  }
  const PreparedKernel& other = shift_ ? shift_ : strided_;
  if (other && (boxes_ || rows_)) {
    out += "for addresses that are otherwise misaligned, runs take ";
    out += std::string(other.row->symbol) +
           "; promise src_alignment and dst_alignment 16 to leave it out\n";
  }
  return out;
}

}  // namespace tw
