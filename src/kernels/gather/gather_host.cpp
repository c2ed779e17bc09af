// SPDX-License-Identifier: Apache-2.0
// Gather on the CPU: the stages of the bulk kernel through the model of the copy engine, or rows.
#include "kernels/gather/gather_host.hpp"

#include "kernels/gather/gather.h"
#include "kernels/host_engine.hpp"
#include "kernels/parts/rows_host.hpp"

namespace tw {

void gather_bulk_host(HostEngine& engine, const void* arguments) {
  const auto& args = *static_cast<const GatherArgs*>(arguments);
  for_each_stage(args, [&](i64 first, i64 pieces) {
    for (i64 slot = 0; slot < pieces; ++slot) {
      const HostPiece p = host_piece(args, first, slot);
      const i64 row = named_row(args, p.i);
      if (row >= 0)
        engine.load_bulk(table_row_address(args, row) + p.offset, p.shared, p.bytes);
      else
        std::memset(engine.shared() + p.shared, 0, p.bytes);
    }
    if (args.dense) {
      engine.store_bulk(packed_row_address(args, first), 0,
                        static_cast<uint32_t>(pieces) * args.part_bytes);
      return;
    }
    for (i64 slot = 0; slot < pieces; ++slot) {
      const HostPiece p = host_piece(args, first, slot);
      engine.store_bulk(packed_row_address(args, p.i) + p.offset, p.shared, p.bytes);
    }
  });
}

void gather_plain_host(HostEngine&, const void* arguments) {
  const auto& args = *static_cast<const GatherArgs*>(arguments);
  for (i64 i = 0; i < args.count; ++i) {
    auto* to = reinterpret_cast<uint8_t*>(packed_row_address(args, i));
    const i64 row = named_row(args, i);
    if (row >= 0)
      std::memcpy(to, reinterpret_cast<const uint8_t*>(table_row_address(args, row)),
                  args.row_bytes);
    else
      std::memset(to, 0, args.row_bytes);
  }
}

void gather_shift_host(HostEngine& engine, const void* arguments) {
  gather_plain_host(engine, arguments);
}

void gather_narrow_host(HostEngine& engine, const void* arguments) {
  gather_plain_host(engine, arguments);
}

}  // namespace tw
