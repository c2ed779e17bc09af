// SPDX-License-Identifier: Apache-2.0
// Im2col loads: a column of pixels that walks a bounding box along W, then H, then D, then N.
#include "tensor_map/model/rows.hpp"

namespace tw::model {
namespace {

// Dimensions 1 to rank - 2 are spatial, rank - 1 counts images. A spatial position past the
// bounding box's end goes on at its lower corner, and carries into the next dimension.
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
  count_box(desc, offset, &outcome);
  return outcome;
}

}  // namespace tw::model
