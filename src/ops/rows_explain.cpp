// SPDX-License-Identifier: Apache-2.0
// What a plan of rows will do, in numbers and in words.
#include <cinttypes>
#include <cstdio>

#include "base/checked.hpp"
#include "ops/rows.hpp"

namespace tw {

PlanInfo RowsPlan::info() const {
  const RowsDesc& d = problem_.desc;
  PlanInfo info;
  info.op = op();
  const uint64_t table = promised_address(d.table_alignment);
  const uint64_t packed = promised_address(d.packed_alignment);
  const PreparedKernel& kernel = choose(table, packed);
  if (kernel) info.kernel = kernel.row->symbol;
  if (empty() || !kernel) return info;
  RowsArgs args = args_;
  args.count = d.count;
  const auto pieces = [&] { return static_cast<uint64_t>(d.count) * args.parts; };
  fill(kernel, table, packed, &args);
  if (&kernel == &bulk_) {
    const auto items = (pieces() + args.stage_pieces - 1) / args.stage_pieces;
    const uint64_t packed_boxes = args.dense ? items : pieces();
    info.boxes_loaded = op() == Op::gather ? pieces() : packed_boxes;
    info.boxes_stored = op() == Op::gather ? packed_boxes : pieces();
    info.tile[0] = args.stage_pieces;
    info.tile[1] = args.part_bytes / static_cast<uint32_t>(problem_.element_bytes);
    info.stages = args.stages;
  } else if (&kernel == &shift_) {
    info.tile[0] = static_cast<uint32_t>(kernel.row->threads);
    info.tile[1] = 16 / static_cast<uint32_t>(problem_.element_bytes);
  } else if (&kernel == &narrow_) {
    info.tile[0] = args.tile_rows;
    info.tile[1] = static_cast<uint32_t>(problem_.row_bytes / problem_.element_bytes);
  } else {
    info.tile[0] = static_cast<uint32_t>(kernel.row->threads) / args.lanes;
    info.tile[1] = args.lanes * args.unit_bytes / static_cast<uint32_t>(problem_.element_bytes);
  }
  const LaunchConfig launch = config(kernel, args);
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  info.dynamic_smem_bytes = launch.dynamic_smem_bytes;
  const auto rows = static_cast<uint64_t>(d.count * problem_.row_bytes);
  info.bytes_read = rows + static_cast<uint64_t>(d.count * problem_.index_bytes);
  info.bytes_written = rows;
  return info;
}

std::string RowsPlan::explain() const {
  const RowsDesc& d = problem_.desc;
  const PlanInfo i = info();
  char text[768];
  std::snprintf(text, sizeof text,
                "%s of %" PRId64 " rows by %s indices, %" PRId64 " bytes each, table of %" PRId64
                " rows %" PRId64 " bytes apart\n",
                family_name(op()), d.count, dtype_name(d.index_dtype), problem_.row_bytes,
                d.table_rows, problem_.table_pitch);
  std::string out = text;
  if (empty()) return out + "empty, nothing runs\n";
  std::snprintf(text, sizeof text,
                "kernel %s: %u blocks of %u threads, %u pieces of %u elements at once, %u stages, "
                "%u bytes of shared memory\n"
                "%" PRIu64 " boxes loaded, %" PRIu64 " stored, where every index names a row\n",
                i.kernel, i.grid[0], i.block[0], i.tile[0], i.tile[1], i.stages,
                i.dynamic_smem_bytes, i.boxes_loaded, i.boxes_stored);
  out += text;
  const PreparedKernel& other = shift_ ? shift_ : plain_;
  if (!bulk_) {
    out +=
        "no bulk copies: they need row bytes, pitches and the first column's offset that are "
        "multiples of 16, and rows that are worth one each\n";
  } else if (other) {
    out += "where an address turns out not to suit, runs take ";
    out += std::string(other.row->symbol) +
           "; promise table_alignment and packed_alignment 16 to leave it out\n";
  }
  return out;
}

}  // namespace tw
