// SPDX-License-Identifier: Apache-2.0
// Tiled maps: load, store, prefetch. A reduction is a store with arithmetic, see reduce.cpp.
#include <cstring>

#include "tensor_map/model/rows.hpp"
#include "tensor_map/model/stored_rows.hpp"

namespace tw::model {

Outcome load_tile(const TensorMapDesc& desc, const int32_t* coord, uint8_t* shared,
                  uint32_t offset) {
  Outcome outcome;
  if (!may_run(desc, MapKind::tiled, coord, offset, &outcome)) return outcome;
  const RowLoader loader(desc, coord[0], shared);
  uint32_t at = offset;
  for_each_row(desc, coord, [&](uint64_t address, bool inside) {
    loader.load(address, inside, at);
    at += loader.pitch();
  });
  count_box(desc, offset, &outcome);
  return outcome;
}

Outcome load_tile_multicast(const TensorMapDesc& desc, const int32_t* coord, uint8_t* const* shared,
                            uint16_t mask, uint32_t offset) {
  Outcome outcome;
  if (mask == 0) set_fault(&outcome, "illegal instruction: a multicast to no block");
  for (uint32_t block = 0; block < 16 && !outcome.fault; ++block)
    if ((mask >> block & 1) != 0) outcome = load_tile(desc, coord, shared[block], offset);
  return outcome;
}

Outcome store_tile(const TensorMapDesc& desc, const int32_t* coord, const uint8_t* shared,
                   uint32_t offset) {
  Outcome outcome;
  if (!may_store(desc, coord, offset, &outcome)) return outcome;
  for_each_stored_chunk(desc, coord, offset, [&](uint64_t address, uint32_t at) {
    std::memcpy(pointer(address), shared + at, kChunk);
  });
  count_box(desc, offset, &outcome);
  return outcome;
}

Outcome prefetch_tile(const TensorMapDesc& desc, const int32_t* coord) {
  Outcome outcome;
  (void)may_run(desc, MapKind::tiled, coord, 0, &outcome);
  return outcome;
}

}  // namespace tw::model
