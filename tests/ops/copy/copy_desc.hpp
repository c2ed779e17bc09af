// SPDX-License-Identifier: Apache-2.0
#pragma once
// Concise copy descriptions for tests: one brace per dimension.

#include <initializer_list>

#include "ops/copy/copy.hpp"

namespace tw::test {

struct CopyDim {
  int64_t extent, src, dst;  // strides in elements
};

inline CopyDesc copy_desc(DType type, std::initializer_list<CopyDim> dims) {
  CopyDesc desc;
  desc.dtype = type;
  desc.rank = 0;
  for (const CopyDim& dim : dims) {
    desc.shape[desc.rank] = dim.extent;
    desc.src_stride[desc.rank] = dim.src;
    desc.dst_stride[desc.rank++] = dim.dst;
  }
  return desc;
}

}  // namespace tw::test
