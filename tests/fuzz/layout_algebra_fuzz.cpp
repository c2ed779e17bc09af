// SPDX-License-Identifier: Apache-2.0
// Applies every operation to two arbitrary layouts: no fault, and right answers for small ones.
#include <cstdint>
#include <cstdlib>

#include "layout/algebra/algebra.hpp"
#include "layout/coordinate.hpp"
#include "layout/draw/draw.hpp"
#include "layout/linear/linear_algebra.hpp"
#include "layout/partition/partition.hpp"
#include "layout/partition/partition_tma.hpp"

using namespace tw;

namespace {

/// Reads numbers from the input; zeros after its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  int64_t number() {
    const uint8_t kind = byte();
    int64_t value = static_cast<int8_t>(byte());
    if (kind % 8 == 7)  // sometimes a large one
      for (int i = 0; i < 6; ++i)
        value = static_cast<int64_t>(static_cast<uint64_t>(value) << 8 | byte());
    return value;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

bool read_layout(Bytes* in, Layout* out) {
  LayoutBuilder builder(out);
  const int leaves = in->byte() % 6;
  int depth = 0;
  for (int i = 0; i < leaves; ++i) {
    const uint8_t shape = in->byte();
    const int level = 1 + shape % 3;
    const int join =
        i == 0 ? 0 : 1 + (shape / 3 % (level < depth ? level : (depth > 0 ? depth : 1)));
    const int64_t extent = shape & 128 ? in->number() : 1 + shape / 9 % 8;
    Stride stride(in->number());
    if (shape & 64) stride = Stride(in->number(), basis_inner(0, 0, in->byte() % 4));
    builder.leaf(extent, stride, level, join > level ? level : join);
    depth = level;
  }
  if (in->byte() % 4 == 0) out->swizzle = {in->byte() % 4, in->byte() % 5, 3};
  if (in->byte() % 4 == 0) out->offset = out->has_basis_strides ? 0 : in->number();
  return builder.finish().ok();
}

// Compares R with A(B(c)) at each coordinate, if there are few and all lie inside A.
void check_composition(const Layout& a, const Layout& b, const Layout& r) {
  if (!b.is_plain() || a.has_basis_strides || size(b) > 4096) return;
  for (int64_t i = 0; i < size(b); ++i) {
    int64_t x = 0, wanted = 0, got = 0;
    if (!crd2idx(b, &i, 1, &x).ok()) std::abort();
    if (x < 0 || x >= size(a)) continue;
    if (!crd2idx(a, &x, 1, &wanted).ok() || !crd2idx(r, &i, 1, &got).ok()) std::abort();
    if (wanted != got) std::abort();
  }
}

void check_inverse(const Layout& a, const Layout& r) {
  if (!a.is_plain() || size(r) > 4096) return;
  for (int64_t i = 0; i < size(r); ++i) {
    int64_t x = 0, back = 0;
    if (!crd2idx(r, &i, 1, &x).ok() || !crd2idx(a, &x, 1, &back).ok() || back != i) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  Bytes in(data, bytes);
  Layout a, b, r;
  if (!read_layout(&in, &a) || !read_layout(&in, &b)) return 0;
  const int64_t n = in.number();
  if (composition(a, b, &r).ok()) check_composition(a, b, r);
  if (right_inverse(a, &r).ok()) check_inverse(a, r);
  (void)left_inverse(a, &r);
  (void)complement(a, n, &r);
  (void)coalesce(a, &r);
  (void)filter(a, &r);
  (void)upcast(a, n, &r);
  (void)downcast(a, n, &r);
  (void)recast(a, n, 16, &r);
  (void)blocked_product(a, b, &r);
  (void)raked_product(a, b, &r);
  (void)max_common_layout(a, b, &r);
  (void)nullspace(a, &r);
  (void)tile_to_shape(a, b.shape, nullptr, &r);
  Tiler tiler;
  if (make_tiler(b, &tiler).ok()) {
    (void)logical_divide(a, tiler, &r);
    (void)zipped_divide(a, tiler, &r);
    (void)logical_product(a, tiler, &r);
  }
  if (make_tiler(b.leaves(), b.shape.value, &tiler).ok()) {
    (void)flat_divide(a, tiler, &r);
    (void)composition(a, tiler, &r);
    (void)tiled_product(a, tiler, &r);
  }
  int64_t number = 0;
  (void)local_partition(a, b, n, &r, &number);
  (void)slice(a, b.shape, &r, &number);
  (void)partition_tv(a, b.shape, b, n, &r, &number);
  bool yes = false;
  (void)is_injective(a, &yes);
  (void)is_surjective(a, &yes);
  LinearLayout linear, inverse;
  if (linear_from_layout(a, 0, nullptr, &linear).ok()) {
    if (!linear_to_layout(linear, &r).ok() && linear.total_in() <= 20) std::abort();
    (void)linear_inverse(linear, &inverse);
  }
  BoxPlan plan;
  (void)partition_tma(a, b, b.shape, b.shape, 1, 0, &plan);
  if (size(a) <= 1024) {
    std::string svg;
    if (!draw(a, Paint::index, 8, &svg).ok()) std::abort();
  }
  return 0;
}
