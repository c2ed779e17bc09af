// SPDX-License-Identifier: Apache-2.0
// Four rows of a matrix at once, by number: as four boxes of one row, one behind the other in
// shared memory. Compute capability 10.0; the model is PTX's description of it, not measured.
#include <cstring>

#include "tensor_map/model/rows.hpp"
#include "tensor_map/model/stored_rows.hpp"

namespace tw::model {
namespace {

// The map as one that moves a single row.
bool one_row(const TensorMapDesc& desc, TensorMapDesc* row, Outcome* outcome) {
  if (desc.kind != MapKind::tiled || desc.rank != 2) {
    set_fault(outcome, "illegal instruction: gather4 and scatter4 need a tiled map of rank 2");
    return false;
  }
  *row = desc;
  row->box_dim[1] = 1;
  row->element_strides[1] = 1;
  return true;
}

// Rows beyond a swizzle's period are turned as rows of a box are: the box as a whole is aligned.
Outcome finish(const TensorMapDesc& row, uint32_t offset, Outcome outcome) {
  outcome.transaction_bytes = 4 * static_cast<uint32_t>(box_bytes(row));
  outcome.shared_end = offset + 4 * static_cast<uint32_t>(box_span_bytes(row));
  return outcome;
}

}  // namespace

Outcome load_gather4(const TensorMapDesc& desc, int32_t column, const int32_t* rows,
                     uint8_t* shared, uint32_t offset) {
  Outcome outcome;
  TensorMapDesc row;
  const int32_t first[2] = {column, rows[0]};
  if (!one_row(desc, &row, &outcome) || !may_run(row, MapKind::tiled, first, offset, &outcome))
    return outcome;
  const RowLoader loader(row, column, shared);
  for (uint32_t i = 0; i < 4; ++i) {
    const int32_t coord[2] = {column, rows[i]};
    for_each_row(row, coord, [&](uint64_t address, bool inside) {
      loader.load(address, inside, offset + i * loader.pitch());
    });
  }
  return finish(row, offset, outcome);
}

Outcome store_scatter4(const TensorMapDesc& desc, int32_t column, const int32_t* rows,
                       const uint8_t* shared, uint32_t offset) {
  Outcome outcome;
  TensorMapDesc row;
  if (!one_row(desc, &row, &outcome)) return outcome;
  for (int32_t i = 0; i < 4; ++i) {
    const int32_t coord[2] = {column, rows[i]};
    if (!may_store(row, coord, offset, &outcome)) return outcome;
  }
  for (uint32_t i = 0; i < 4; ++i) {
    const int32_t coord[2] = {column, rows[i]};
    const uint32_t at = offset + i * static_cast<uint32_t>(row_pitch(row));
    for_each_stored_chunk(row, coord, at, [&](uint64_t address, uint32_t from) {
      std::memcpy(pointer(address), shared + from, kChunk);
    });
  }
  return finish(row, offset, outcome);
}

}  // namespace tw::model
