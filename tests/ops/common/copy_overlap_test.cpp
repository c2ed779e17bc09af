// SPDX-License-Identifier: Apache-2.0
// The two overlap checks of a copy, against brute force on small cases.
#include "ops/common/copy_overlap.hpp"

#include <random>
#include <set>
#include <vector>

#include "doctest_main.hpp"
#include "ops/copy/copy_shape.hpp"

using namespace tw;

namespace {

int64_t pick(std::mt19937_64& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

// Byte offsets of all elements of one operand.
std::vector<int64_t> offsets(const CopyDesc& desc, const int64_t* stride) {
  std::vector<int64_t> out{0};
  for (int d = 0; d < desc.rank; ++d) {
    std::vector<int64_t> next;
    for (int64_t i = 0; i < desc.shape[d]; ++i)
      for (const int64_t at : out) next.push_back(at + i * stride[d] * dtype_bytes(desc.dtype));
    out = next;
  }
  return out;
}

CopyDesc random_desc(std::mt19937_64& random) {
  CopyDesc desc;
  const DType types[] = {DType::U8, DType::U16, DType::F32};
  desc.dtype = types[pick(random, 0, 2)];
  desc.rank = static_cast<int32_t>(pick(random, 1, 4));
  for (int d = 0; d < desc.rank; ++d) {
    desc.shape[d] = pick(random, 1, 4);
    desc.src_stride[d] = pick(random, -9, 9);
    desc.dst_stride[d] = pick(random, -9, 12);
  }
  return desc;
}

}  // namespace

TEST_CASE("copy_overlap: a destination that writes an element twice is found, and no other") {
  std::mt19937_64 random(1);
  int twice = 0;
  for (int i = 0; i < 100000; ++i) {
    const CopyDesc desc = random_desc(random);
    const auto at = offsets(desc, desc.dst_stride);
    const bool shared = std::set<int64_t>(at.begin(), at.end()).size() != at.size();
    twice += shared;
    CopyShape shape;
    const Status status = copy_shape(desc, &shape);
    if (status.ok() == shared) {
      INFO("case " << i);
      CHECK(status.ok() == !shared);
    }
  }
  CHECK(twice > 20000);
  CHECK(twice < 80000);
}

TEST_CASE("copy_overlap: operands that share a byte are found, and no other") {
  std::mt19937_64 random(2);
  int meeting = 0, cases = 0;
  while (cases < 100000) {
    const CopyDesc desc = random_desc(random);
    CopyShape shape;
    if (!copy_shape(desc, &shape).ok()) continue;
    ++cases;
    const int64_t bytes = dtype_bytes(desc.dtype);
    const uint64_t src = 1 << 20;
    const uint64_t dst = src + static_cast<uint64_t>(pick(random, -60, 60));
    std::set<uint64_t> read;
    for (const int64_t at : offsets(desc, desc.src_stride))
      for (int64_t b = 0; b < bytes; ++b) read.insert(src + static_cast<uint64_t>(at + b));
    bool meets = false;
    for (const int64_t at : offsets(desc, desc.dst_stride))
      for (int64_t b = 0; b < bytes; ++b)
        meets = meets || read.count(dst + static_cast<uint64_t>(at + b));
    meeting += meets;
    if (check_copy_disjoint(shape, src, dst).ok() == meets) {
      INFO("case " << cases);
      CHECK(check_copy_disjoint(shape, src, dst).ok() == !meets);
    }
  }
  CHECK(meeting > 20000);
  CHECK(meeting < 90000);
}

TEST_CASE("copy_overlap: the search is bounded, and says so") {
  // Subset sums of large numbers without a common divisor: the search must end, not succeed.
  CopyDesc desc;
  desc.dtype = DType::U8;
  desc.rank = 8;
  std::mt19937_64 random(3);
  for (int d = 0; d < 8; ++d) {
    desc.shape[d] = 100;
    desc.dst_stride[d] = 1000003 + pick(random, 0, 100000);
    desc.src_stride[d] = 0;
  }
  CopyShape shape;
  const Status status = copy_shape(desc, &shape);
  CHECK(status.code() == Code::ERROR_OVERLAP);
  int64_t budget = 3;
  StridedTerm terms[] = {{7, 100}, {11, 100}, {13, 100}};
  CHECK(sums_intersect(terms, 3, 1000, 1000, &budget) != Intersection::no);
}
