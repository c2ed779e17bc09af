// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by all operations of the TMA model: faults, iteration over the rows of a box, and the
// position of a row's 16-byte chunks in shared memory.

#include <cstdint>

#include "tensor_map/geometry.hpp"
#include "tensor_map/model/tma_model.hpp"

namespace tw::model {

inline constexpr uint32_t kChunk = 16;

[[gnu::format(printf, 2, 3)]] void set_fault(Outcome* outcome, const char* format, ...);

/// In the TMA model a global address is a host pointer.
inline uint8_t* pointer(uint64_t address) {
  return reinterpret_cast<uint8_t*>(address);
}

/// What all rows of a box have in common. All sizes are in bytes along dimension 0.
struct RowShape {
  int64_t first;   ///< the box's start in the tensor; may be negative or past the end
  int64_t extent;  ///< the tensor's extent
  uint32_t bytes;  ///< the box's extent
  uint32_t pitch;  ///< distance of rows in shared memory
  uint32_t mask;   ///< for swizzled()

  RowShape(const TensorMapDesc& desc, int32_t coord0)
      : first(int64_t{coord0} * dtype_bytes(desc.dtype)),
        extent(static_cast<int64_t>(desc.global_dim[0]) * dtype_bytes(desc.dtype)),
        bytes(static_cast<uint32_t>(row_bytes(desc))),
        pitch(static_cast<uint32_t>(row_pitch(desc))),
        mask(swizzle_mask(desc.swizzle)) {}
};

/// Calls visit(address, inside) for each row of the box, in the order of shared memory. `address`
/// is that of coordinate 0 along dimension 0. `inside`: the outer coordinates are inside the
/// tensor.
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

/// Checks the rules that all operations share. Returns false after a fault.
bool may_run(const TensorMapDesc& desc, MapKind kind, const int32_t* coord, uint32_t offset,
             Outcome* outcome);

/// Loads rows of a box, with out-of-bounds fill and rounding to tf32. `at` is the row's unswizzled
/// address in shared memory.
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
  uint32_t fill_;  // four bytes of the fill pattern
};

/// Sets transaction_bytes and shared_end as a whole box has them.
void set_box_outcome(const TensorMapDesc& desc, uint32_t offset, Outcome* outcome);

/// Checks may_run() and that no coordinate is negative. Returns false after a fault.
bool may_store(const TensorMapDesc& desc, const int32_t* coord, uint32_t offset, Outcome* outcome);

/// Calls visit(global address, offset in shared memory) for each 16-byte chunk that a store writes.
/// Rows are written up to the next multiple of 16 bytes past the tensor's last element.
template <class Visit>
void for_each_stored_chunk(const TensorMapDesc& desc, const int32_t* coord, uint32_t offset,
                           Visit visit) {
  const RowShape shape(desc, coord[0]);
  const int64_t to_end = shape.extent - shape.first;
  const uint32_t bytes =
      to_end <= 0 ? 0 : (to_end < shape.bytes ? static_cast<uint32_t>(to_end) : shape.bytes);
  uint32_t row = offset;
  for_each_row(desc, coord, [&](uint64_t address, bool inside) {
    if (inside)
      for (uint32_t i = 0; i < bytes; i += kChunk)
        visit(address + static_cast<uint64_t>(shape.first) + i, swizzled(row + i, shape.mask));
    row += shape.pitch;
  });
}

}  // namespace tw::model
