// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every operation of the model shares: faults, the rows of a box, and where a row's 16-byte
// chunks lie in shared memory.

#include <cstdint>

#include "tensor_map/geometry.hpp"
#include "tensor_map/model/copy_engine.hpp"

namespace tw::model {

inline constexpr uint32_t kChunk = 16;

[[gnu::format(printf, 2, 3)]] void set_fault(Outcome* outcome, const char* format, ...);

/// Global memory is the host's.
inline uint8_t* pointer(uint64_t address) {
  return reinterpret_cast<uint8_t*>(address);
}

/// The part of a row that is the same for every row of a box. Positions are bytes along
/// dimension 0 of the tensor.
struct RowShape {
  int64_t first;   ///< of the box; may be negative or past the end
  int64_t extent;  ///< of the tensor
  uint32_t bytes;  ///< of the box
  uint32_t pitch;  ///< in shared memory
  uint32_t mask;   ///< of the swizzle

  RowShape(const TensorMapDesc& desc, int32_t coord0)
      : first(int64_t{coord0} * dtype_bytes(desc.dtype)),
        extent(static_cast<int64_t>(desc.global_dim[0]) * dtype_bytes(desc.dtype)),
        bytes(static_cast<uint32_t>(row_bytes(desc))),
        pitch(static_cast<uint32_t>(row_pitch(desc))),
        mask(swizzle_mask(desc.swizzle)) {}
};

/// Calls visit(address, inside) for each row in the order of shared memory: the address of its
/// element 0 along dimension 0, and whether the outer coordinates are inside the tensor.
template <class Visit>
void for_each_row(const TensorMapDesc& desc, const int32_t* coord, Visit visit) {
  uint32_t count[5] = {1, 1, 1, 1, 1};
  for (int32_t i = 1; i < desc.rank; ++i) count[i] = box_count(desc, i);
  uint32_t at[5] = {};
  const uint64_t rows = box_rows(desc);
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t address = desc.global_address;
    bool inside = true;
    for (int32_t i = 1; i < desc.rank; ++i) {
      const int64_t position = int64_t{coord[i]} + int64_t{at[i]} * desc.element_strides[i];
      inside &= position >= 0 && position < static_cast<int64_t>(desc.global_dim[i]);
      address += static_cast<uint64_t>(position) * desc.global_stride_bytes[i - 1];
    }
    visit(address, inside);
    for (int32_t i = 1; i < desc.rank && ++at[i] == count[i]; ++i) at[i] = 0;
  }
}

/// Rules that all operations of both kinds of maps share. False after a fault.
bool may_run(const TensorMapDesc& desc, MapKind kind, const int32_t* coord, uint32_t offset,
             Outcome* outcome);

/// Moves one row of a load after another, with fill and type conversion. `at` is the row's place in
/// shared memory without the swizzle.
class RowLoader {
 public:
  RowLoader(const TensorMapDesc& desc, int32_t coord0, uint8_t* shared);
  void load(uint64_t address, bool inside, uint32_t at) const;
  uint32_t pitch() const { return shape_.pitch; }

 private:
  void fill(uint32_t at) const;

  RowShape shape_;
  uint8_t* shared_;
  bool round_tf32_;
  uint32_t fill_;  // four bytes of the pattern
};

/// Transaction and span of a whole box.
void count_box(const TensorMapDesc& desc, uint32_t offset, Outcome* outcome);

// Where stores and reductions write: whole 16-byte chunks. A row ends at the first multiple of 16
// bytes past the tensor's last element, whatever lies there.

/// The rules of may_run(), and no coordinate may be negative. False after a fault.
bool may_store(const TensorMapDesc& desc, const int32_t* coord, uint32_t offset, Outcome* outcome);

/// Calls visit(global address, offset in shared memory) for each chunk that is written.
template <class Visit>
void for_each_stored_chunk(const TensorMapDesc& desc, const int32_t* coord, uint32_t offset,
                           Visit visit) {
  const RowShape shape(desc, coord[0]);
  const int64_t left = shape.extent - shape.first;
  const uint32_t bytes =
      left <= 0 ? 0 : (left < shape.bytes ? static_cast<uint32_t>(left) : shape.bytes);
  uint32_t row = offset;
  for_each_row(desc, coord, [&](uint64_t address, bool inside) {
    if (inside)
      for (uint32_t i = 0; i < bytes; i += kChunk)
        visit(address + static_cast<uint64_t>(shape.first) + i, swizzled(row + i, shape.mask));
    row += shape.pitch;
  });
}

}  // namespace tw::model
