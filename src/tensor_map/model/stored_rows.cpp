// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/model/stored_rows.hpp"

namespace tw::model {

bool may_store(const TensorMapDesc& desc, const int32_t* coord, uint32_t offset, Outcome* outcome) {
  if (!may_run(desc, MapKind::tiled, coord, offset, outcome)) return false;
  for (int32_t i = 0; i < desc.rank; ++i)
    if (coord[i] < 0) {
      set_fault(outcome,
                "illegal instruction: coordinate %d of a store or reduction is %d: it must not be "
                "negative",
                i, coord[i]);
      return false;
    }
  return true;
}

}  // namespace tw::model
