// SPDX-License-Identifier: Apache-2.0
// What a plan of a ragged copy will do, in numbers and in words.
#include <algorithm>
#include <cinttypes>

#include "ops/common/explain_line.hpp"
#include "ops/ragged/ragged.hpp"

namespace tw {

PlanInfo RaggedPlan::info() const {
  const RaggedProblem& p = problem_;
  const RaggedDesc& d = p.desc;
  PlanInfo info;
  info.op = Op::ragged;
  if (p.empty()) return info;
  const uint64_t packed = promised_address(d.packed_alignment);
  const uint64_t padded = promised_address(d.padded_alignment);
  const uint32_t method = choose(packed, padded);
  if (method == 0) return info;
  RaggedArgs args;
  if (!fill(method, {.packed = packed, .padded = padded}, d.batch, d.tokens, &args).ok())
    return info;
  const LaunchConfig launch = config(method, &args);
  info.kernel = kernels_[method].row->symbol;
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  info.tile[0] = args.cut.tile_rows;
  info.tile[1] = args.cut.part_bytes / static_cast<u32>(p.element_bytes);
  info.stages = method == kRaggedBulk ? ring_.stages : 0;
  info.dynamic_smem_bytes = launch.dynamic_smem_bytes;
  // Where the sequences have all the tokens and the padded operand has room for each of them.
  const auto row = static_cast<uint64_t>(p.row_bytes);
  const auto offsets = static_cast<uint64_t>((d.batch + 1) * p.offset_bytes);
  const uint64_t all = static_cast<uint64_t>(d.batch) * static_cast<uint64_t>(d.rows);
  const uint64_t moved = std::min(static_cast<uint64_t>(d.tokens), all) * row;
  info.bytes_read = moved + offsets;
  info.bytes_written = p.pads() ? all * row : moved;
  return info;
}

std::string RaggedPlan::explain() const {
  const RaggedProblem& p = problem_;
  const RaggedDesc& d = p.desc;
  std::string out = line("%s of %" PRId64 " sequences by %s offsets: %s [%" PRId64 ", %" PRId64
                         "] %s, %" PRId64 " bytes of a row, padded to %" PRId64 " rows",
                         p.pads() ? "padding" : "unpadding", d.batch, dtype_name(d.offset_dtype),
                         dtype_name(d.dtype), d.tokens, d.packed_columns,
                         p.pads() ? "from packed rows" : "to packed rows", p.row_bytes, d.rows);
  if (p.empty()) return out + "empty, nothing runs\n";
  const PlanInfo i = info();
  out += line(
      "kernel %s: %u blocks of %u threads, tiles of %ux%u elements, %u stages, %u bytes of "
      "shared memory",
      i.kernel, i.grid[0], i.block[0], i.tile[0], i.tile[1], i.stages, i.dynamic_smem_bytes);
  const char* const reason =
      bulk_refusal(promised_address(d.packed_alignment), promised_address(d.padded_alignment));
  if (reason)
    out += line("not bulk copies: %s", reason);
  else if (kernels_[kRaggedPlain])
    out += line(
        "takes bulk copies; runs whose addresses or columns do not suit take %s: promise "
        "packed_alignment and padded_alignment 16 to leave it out",
        kernels_[kRaggedPlain].row->symbol);
  if (p.pads())
    out += line("rows that a sequence does not have become %s",
                d.fill == OobFill::nan ? "NaN (0x7ff7 in each 16 bits)" : "zeros");
  else
    out += "rows that a sequence does not have are neither read nor written\n";
  return out +
         "a sequence whose offsets decrease, are negative or run past the tokens has no rows\n";
}

}  // namespace tw
