// SPDX-License-Identifier: Apache-2.0
#include "layout/algebra/common.hpp"

#include <numeric>

#include "base/checked.hpp"
#include "layout/algebra/compose.hpp"
#include "layout/algebra/composition.hpp"
#include "layout/algebra/inverse.hpp"
#include "layout/algebra/modes.hpp"

namespace tw {
namespace {

// The length of the longest vector that is contiguous in both a and b, in the same order: the first
// mode of a o right_inverse(b), if its stride is 1.
Status common_prefix(const Layout& a, const Layout& inverse, int64_t* length) {
  *length = 1;
  // If the whole composition is no layout, try fewer modes: the first mode stays the same.
  for (int modes = inverse.rank(); modes > 0; --modes) {
    Layout prefix, common, flat;
    TW_TRY(take(inverse, 0, modes, &prefix));
    const Status status = composition(a, prefix, &common);
    if (status.code() == Code::ERROR_NOT_A_LAYOUT) continue;
    TW_TRY(status);
    TW_TRY(coalesce(common, &flat));
    if (flat.stride[0] == 1) *length = flat.shape.value[0];
    return Code::OK;
  }
  return Code::OK;
}

}  // namespace

Status max_common_vector(const Layout& a, const Layout& b, int64_t* length) {
  *length = 0;
  TW_TRY(check_plain(a, "max_common_vector"));
  Layout inverse;
  TW_TRY(right_inverse(b, &inverse));
  return common_prefix(a, inverse, length);
}

Status max_common_layout(const Layout& a, const Layout& b, Layout* out) {
  TW_TRY(check_plain(a, "max_common_layout"));
  Layout inverse, vector;
  TW_TRY(right_inverse(b, &inverse));
  int64_t length = 0;
  TW_TRY(common_prefix(a, inverse, &length));
  TW_TRY(make_flat(1, &length, nullptr, &vector));
  Layout part;
  TW_TRY(extract(vector, vector.mode(0), &part));
  return composition(inverse, part, out);
}

// `vector` counts the contiguous elements from index 0 on. `steps` is the greatest common divisor
// of all other strides.
Status max_alignment(const Layout& layout, int64_t* alignment) {
  *alignment = 0;
  TW_TRY(check_plain(layout, "max_alignment"));
  SortedModes sorted;
  TW_TRY(sort_modes(layout, layout.root(), &sorted));
  int64_t vector = 1, steps = 0;
  for (int i = 0; i < sorted.count; ++i) {
    if (sorted.mode[i].stride == vector && steps == 0)
      vector *= sorted.mode[i].extent;
    else
      steps = std::gcd(steps, sorted.mode[i].stride);
  }
  *alignment = std::gcd(vector, steps);
  return Code::OK;
}

Status nullspace(const Layout& layout, Layout* out) {
  LayoutBuilder builder(out);
  int64_t weight = 1;
  int zeros = 0;
  for (int i = 0; i < layout.leaves(); ++i) zeros += layout.stride[i] == 0;
  for (int i = 0; i < layout.leaves(); ++i) {
    if (layout.stride[i] == 0)
      builder.leaf(layout.shape.value[i], weight, zeros > 1 ? 1 : 0, zeros > 1 ? 1 : 0);
    weight *= layout.shape.value[i];
  }
  if (zeros == 0) builder.leaf(1, int64_t{0}, 0, 0);
  return builder.finish();
}

Status domain_distribute(const IntTuple& shape, int64_t size, Layout* out) {
  if (size < 1)
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "size", .got = size, .limit = 1},
                "size is %lld: it is at least 1", static_cast<long long>(size));
  Factors<int64_t> modes;
  int64_t weight = 1;
  for (int i = 0; i < shape.leaves; ++i) {
    if (shape.value[i] < 1)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "shape", .index = i, .got = shape.value[i], .limit = 1},
                  "extent %d of the shape is %lld: extents are at least 1", i,
                  static_cast<long long>(shape.value[i]));
    const int64_t part = std::gcd(shape.value[i], size);
    size /= part;
    if (part > 1) modes.push(part, weight);
    if (i + 1 < shape.leaves && !checked_mul(weight, shape.value[i], &weight))
      return fail(Code::ERROR_OVERFLOW, {.argument = "shape"}, "the size exceeds 64 bits");
  }
  if (modes.count == 0) modes.push(1, 0);
  LayoutBuilder builder(out);
  modes.put(0, 0, &builder);
  return builder.finish();
}

}  // namespace tw
