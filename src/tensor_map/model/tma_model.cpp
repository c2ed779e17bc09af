// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/model/tma_model.hpp"

#include <cstring>

#include "tensor_map/model/reduce_ops.hpp"
#include "tensor_map/model/rows.hpp"

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
  set_box_outcome(desc, offset, &outcome);
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
  set_box_outcome(desc, offset, &outcome);
  return outcome;
}

Outcome reduce_tile(const TensorMapDesc& desc, const int32_t* coord, const uint8_t* shared,
                    uint32_t offset, ReduceOp op) {
  Outcome outcome;
  const ReduceChunk reduce = reduce_chunk(desc.dtype, op);
  if (!reduce) {
    set_fault(&outcome, "illegal instruction: no reduction %d of %s", static_cast<int>(op),
              dtype_name(desc.dtype));
    return outcome;
  }
  if (!may_store(desc, coord, offset, &outcome)) return outcome;
  for_each_stored_chunk(desc, coord, offset, [&](uint64_t address, uint32_t at) {
    reduce(pointer(address), shared + at);
  });
  set_box_outcome(desc, offset, &outcome);
  return outcome;
}

// Moves nothing; only reports the fault that the hardware would raise.
Outcome prefetch_tile(const TensorMapDesc& desc, const int32_t* coord) {
  Outcome outcome;
  (void)may_run(desc, MapKind::tiled, coord, 0, &outcome);
  return outcome;
}

namespace {

// gather4 and scatter4 of compute capability 10.0 follow the PTX ISA and were not measured.

// Makes `row` a copy of the map whose box is a single row.
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

// Sets the sizes for all four rows.
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

namespace {

// The pixels of an im2col column step through the bounding box along W, H, D, then N. Dimensions 1
// to rank - 2 are spatial, rank - 1 is N. A position past the end of the bounding box continues at
// the lower corner and carries into the next dimension. N has no bounding box and does not wrap.
// lower(i) and last(i) are the first and last coordinate of the box; upper_corner is relative to
// the tensor's last element.
struct Walk {
  const TensorMapDesc& desc;
  int64_t position[5];

  int64_t lower(int32_t i) const { return desc.lower_corner[i - 1]; }
  int64_t last(int32_t i) const {
    return static_cast<int64_t>(desc.global_dim[i]) - 1 + desc.upper_corner[i - 1];
  }

  void next() {
    for (int32_t i = 1; i < desc.rank; ++i) {
      position[i] += desc.element_strides[i];
      if (i == desc.rank - 1 || position[i] <= last(i)) return;
      position[i] = lower(i);
    }
  }
};

bool may_start(const Walk& walk, Outcome* outcome) {
  for (int32_t i = 1; i + 1 < walk.desc.rank; ++i)
    if (walk.position[i] < walk.lower(i) || walk.position[i] > walk.last(i)) {
      set_fault(outcome,
                "illegal instruction: coordinate %d is %lld, outside the bounding box of the "
                "im2col map, which is %lld to %lld there",
                i, static_cast<long long>(walk.position[i]), static_cast<long long>(walk.lower(i)),
                static_cast<long long>(walk.last(i)));
      return false;
    }
  return true;
}

}  // namespace

Outcome load_im2col(const TensorMapDesc& desc, const int32_t* coord, const uint16_t* offsets,
                    uint8_t* shared, uint32_t offset) {
  Outcome outcome;
  if (!may_run(desc, MapKind::im2col, coord, offset, &outcome)) return outcome;
  Walk walk{desc, {}};
  for (int32_t i = 1; i < desc.rank; ++i) walk.position[i] = coord[i];
  if (!may_start(walk, &outcome)) return outcome;

  const RowLoader loader(desc, coord[0], shared);
  uint32_t at = offset;
  for (uint32_t pixel = 0; pixel < desc.pixels_per_column; ++pixel, walk.next()) {
    uint64_t address = desc.global_address;
    bool inside = true;
    for (int32_t i = 1; i < desc.rank; ++i) {
      const bool spatial = i + 1 < desc.rank;
      const int64_t position = walk.position[i] + (spatial ? offsets[i - 1] : 0);
      inside &= position >= 0 && position < static_cast<int64_t>(desc.global_dim[i]);
      address += static_cast<uint64_t>(position) * desc.global_stride_bytes[i - 1];
    }
    loader.load(address, inside, at);
    at += loader.pitch();
  }
  set_box_outcome(desc, offset, &outcome);
  return outcome;
}

namespace {

Outcome begin_bulk(uint64_t global, uint32_t offset, uint32_t bytes) {
  Outcome outcome;
  if (global % kChunk != 0 || offset % kChunk != 0 || bytes % kChunk != 0)
    set_fault(
        &outcome,
        "misaligned address: a bulk copy of %u bytes between global address 0x%llx and shared "
        "address %u: all three must be multiples of %u",
        bytes, static_cast<unsigned long long>(global), offset, kChunk);
  outcome.transaction_bytes = outcome.fault ? 0 : bytes;
  outcome.shared_end = outcome.fault ? 0 : offset + bytes;
  return outcome;
}

}  // namespace

Outcome load_bulk(uint64_t global, uint8_t* shared, uint32_t offset, uint32_t bytes) {
  const Outcome outcome = begin_bulk(global, offset, bytes);
  if (!outcome.fault && bytes != 0) std::memcpy(shared + offset, pointer(global), bytes);
  return outcome;
}

Outcome store_bulk(uint64_t global, const uint8_t* shared, uint32_t offset, uint32_t bytes) {
  const Outcome outcome = begin_bulk(global, offset, bytes);
  if (!outcome.fault && bytes != 0) std::memcpy(pointer(global), shared + offset, bytes);
  return outcome;
}

Outcome reduce_bulk(uint64_t global, const uint8_t* shared, uint32_t offset, uint32_t bytes,
                    DType dtype, ReduceOp op) {
  Outcome outcome = begin_bulk(global, offset, bytes);
  const ReduceChunk reduce = reduce_chunk(dtype, op);
  if (!outcome.fault && !reduce)
    set_fault(&outcome, "illegal instruction: no reduction %d of %s", static_cast<int>(op),
              dtype_name(dtype));
  for (uint32_t i = 0; i < bytes && !outcome.fault; i += kChunk)
    reduce(pointer(global + i), shared + offset + i);
  return outcome;
}

Outcome prefetch_bulk(uint64_t global, uint32_t bytes) {
  return begin_bulk(global, 0, bytes);
}

uint64_t shared_span(const TensorMapDesc& desc) {
  return box_span_bytes(desc);
}

}  // namespace tw::model
