// SPDX-License-Identifier: Apache-2.0
// Scatter on the CPU: the stages of the bulk kernel through the model of the copy engine, or rows.
#include "kernels/scatter/scatter_host.hpp"

#include "kernels/host_engine.hpp"
#include "kernels/parts/rows_host.hpp"
#include "kernels/scatter/scatter.h"

namespace tw {

void scatter_bulk_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  for_each_stage(args, [&](i64 first, i64 pieces) {
    bool any = false;
    for (i64 slot = 0; slot < pieces; ++slot) {
      const HostPiece p = host_piece(args, first, slot);
      if (named_row(args, p.i) < 0) continue;
      any = true;
      if (!args.dense)
        engine.load_bulk(packed_row_address(args, p.i) + p.offset, p.shared, p.bytes);
    }
    if (args.dense && any)
      engine.load_bulk(packed_row_address(args, first), 0,
                       static_cast<uint32_t>(pieces) * args.part_bytes);
    for (i64 slot = 0; slot < pieces; ++slot) {
      const HostPiece p = host_piece(args, first, slot);
      const i64 row = named_row(args, p.i);
      if (row >= 0) engine.store_bulk(table_row_address(args, row) + p.offset, p.shared, p.bytes);
    }
  });
}

void scatter_plain_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const ScatterArgs*>(arguments);
  for (i64 i = 0; i < args.count; ++i) {
    const i64 row = named_row(args, i);
    if (row >= 0)
      std::memcpy(reinterpret_cast<uint8_t*>(table_row_address(args, row)),
                  reinterpret_cast<const uint8_t*>(packed_row_address(args, i)), args.row_bytes);
  }
}

void scatter_shift_host(HostEngine& engine, const void* arguments) {
  scatter_plain_host(engine, arguments);
}

void scatter_narrow_host(HostEngine& engine, const void* arguments) {
  scatter_plain_host(engine, arguments);
}

}  // namespace tw
