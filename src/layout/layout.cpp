// SPDX-License-Identifier: Apache-2.0
#include "layout/layout.hpp"

#include <algorithm>
#include <cstring>

#include "base/checked.hpp"
#include "layout/codomain.hpp"

namespace tw {

Layout& Layout::operator=(const Layout& other) {
  const auto count = static_cast<size_t>(other.shape.leaves);
  shape = other.shape;
  swizzle = other.swizzle;
  has_basis_strides = other.has_basis_strides;
  offset = other.offset;
  extra_count = other.extra_count;
  std::memmove(stride, other.stride, count * sizeof stride[0]);
  if (has_basis_strides) {
    std::memmove(basis, other.basis, count * sizeof basis[0]);
    std::memmove(extra_leaf, other.extra_leaf, extra_count);
    std::memmove(extra_term, other.extra_term, extra_count * sizeof extra_term[0]);
  }
  return *this;
}

bool Layout::has_origin() const {
  return std::find(extra_leaf, extra_leaf + extra_count, kOrigin) != extra_leaf + extra_count;
}

Stride Layout::stride_of(int leaf) const {
  if (!has_basis_strides) return Stride(stride[leaf]);
  Stride result(stride[leaf], basis[leaf]);
  for (int i = 0; i < extra_count; ++i)
    if (extra_leaf[i] == leaf) result.term[result.count++] = extra_term[i];
  return result;
}

LayoutBuilder::LayoutBuilder(Layout* out) : out_(out) {
  out->shape.leaves = 0;
  out->swizzle = {};
  out->has_basis_strides = false;
  out->offset = 0;
  out->extra_count = 0;
}

void LayoutBuilder::leaf(int64_t extent, const Stride& stride, int level, int common_level) {
  const int at = out_->leaves();
  leaf(extent, stride.count > 0 ? stride.term[0].value : 0, level, common_level);
  if (full_ || stride.count == 0 || (stride.count == 1 && stride.term[0].basis == 0)) return;
  if (!out_->has_basis_strides) {
    out_->has_basis_strides = true;
    std::fill_n(out_->basis, at, Basis{0});
  }
  out_->basis[at] = stride.term[0].basis;
  for (int i = 1; i < stride.count; ++i) add_extra(static_cast<uint8_t>(at), stride.term[i]);
}

void LayoutBuilder::subtree(const Layout& src, Node node, int level, int common_level) {
  const int at = out_->leaves();
  if (!out_->shape.push(src.shape, node, level, common_level)) {
    full_ = true;
    return;
  }
  const auto count = static_cast<size_t>(node.leaves());
  std::memcpy(out_->stride + at, src.stride + node.begin, count * sizeof src.stride[0]);
  if (!src.has_basis_strides) {
    if (out_->has_basis_strides) std::fill_n(out_->basis + at, count, Basis{0});
    return;
  }
  if (!out_->has_basis_strides) {
    out_->has_basis_strides = true;
    std::fill_n(out_->basis, at, Basis{0});
  }
  std::memcpy(out_->basis + at, src.basis + node.begin, count * sizeof src.basis[0]);
  for (int i = 0; i < src.extra_count; ++i)
    if (src.extra_leaf[i] >= node.begin && src.extra_leaf[i] < node.end)
      add_extra(static_cast<uint8_t>(src.extra_leaf[i] - node.begin + at), src.extra_term[i]);
}

void LayoutBuilder::copy_frame(const Layout& src) {
  out_->swizzle = src.swizzle;
  out_->offset = src.offset;
  for (int i = 0; i < src.extra_count; ++i)
    if (src.extra_leaf[i] == Layout::kOrigin)
      origin(src.extra_term[i].value, src.extra_term[i].basis);
}

Status LayoutBuilder::copy_moved_frame(const Layout& src, const Stride& by) {
  out_->swizzle = src.swizzle;
  out_->offset = src.offset;
  bool fits = true;
  if (!src.has_basis_strides) {
    if (by.count > 0) fits = checked_add(src.offset, by.term[0].value, &out_->offset);
  } else {
    Codomain range;
    TW_TRY(codomain(src, &range));
    for (int i = 0; i < range.tuple.leaves; ++i) {
      int64_t value = range.tuple.value[i];
      for (int t = 0; t < by.count; ++t)
        if (by.term[t].basis == range.path[i])
          fits = fits && checked_add(value, by.term[t].value, &value);
      origin(value, range.path[i]);
    }
  }
  if (fits) return Code::OK;
  return fail(Code::ERROR_OVERFLOW, {.argument = "layout"}, "the offset exceeds 64 bits");
}

void LayoutBuilder::origin(int64_t value, Basis basis) {
  if (!out_->has_basis_strides) {
    out_->has_basis_strides = true;
    std::fill_n(out_->basis, out_->leaves(), Basis{0});
  }
  add_extra(Layout::kOrigin, {value, basis});
}

void LayoutBuilder::add_extra(uint8_t leaf, const Term& term) {
  if (out_->extra_count == Layout::kMaxExtra) {
    full_ = true;
    return;
  }
  out_->extra_leaf[out_->extra_count] = leaf;
  out_->extra_term[out_->extra_count++] = term;
}

void LayoutBuilder::back_to(const Mark& mark) {
  out_->shape.leaves = mark.leaves;
  // The new last leaf has no successor with which it could share tuples.
  if (mark.leaves > 0) out_->shape.common_depth[mark.leaves - 1] = 0;
  out_->extra_count = mark.extra_count;
  out_->has_basis_strides = mark.has_basis_strides;
  full_ = false;
}

Status LayoutBuilder::finish() {
  if (full_)
    return fail(Code::ERROR_CAPACITY, {.argument = "layout", .limit = kMaxLeaves},
                "the layout needs more than %d leaves or more than %d tuples inside one another",
                kMaxLeaves, kMaxDepth);
  return validate(*out_);
}

namespace {

Status too_large(const char* what, int leaf) {
  return fail(Code::ERROR_OVERFLOW, {.argument = "layout", .index = leaf},
              "%s exceeds 64 bits at leaf %d", what, leaf);
}

bool add_reach(int64_t extent, int64_t stride, int64_t* reach) {
  int64_t term = 0;
  return stride != INT64_MIN && checked_mul(extent - 1, stride < 0 ? -stride : stride, &term) &&
         checked_add(*reach, term, reach);
}

// The numbers of the codomain are independent, so each one is checked separately.
Status validate_coordinates(const Layout& layout) {
  Codomain range;
  TW_TRY(codomain(layout, &range));
  for (int k = 0; k < range.tuple.leaves; ++k) {
    const int64_t start = range.tuple.value[k];
    int64_t reach = 1;
    if (start == INT64_MIN || !checked_add(reach, start < 0 ? -start : start, &reach))
      return fail(Code::ERROR_OVERFLOW, {.argument = "layout", .index = k},
                  "number %d of the origin exceeds 64 bits", k);
    for (int i = 0; i < layout.leaves(); ++i) {
      const Stride stride = layout.stride_of(i);
      for (int t = 0; t < stride.count; ++t)
        if (stride.term[t].basis == range.path[k] &&
            !add_reach(layout.shape.value[i], stride.term[t].value, &reach))
          return too_large("a coordinate", i);
    }
  }
  return Code::OK;
}

}  // namespace

Status validate(const Layout& layout) {
  int64_t product = 1;
  int64_t reach = 1;
  const int count = layout.leaves();
  for (int i = 0; i < count; ++i) {
    const int64_t extent = layout.shape.value[i];
    if (extent < 1) [[unlikely]]
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "shape", .index = i, .got = extent, .limit = 1},
                  "extent %d of the shape is %lld: extents are at least 1", i,
                  static_cast<long long>(extent));
    if (!checked_mul(product, extent, &product)) [[unlikely]]
      return too_large("the size", i);
    if (!layout.has_basis_strides && !add_reach(extent, layout.stride[i], &reach)) [[unlikely]]
      return too_large("an index", i);
  }
  if (!layout.has_basis_strides) {
    const int64_t start = layout.offset;
    if (start == INT64_MIN || !checked_add(reach, start < 0 ? -start : start, &reach))
      return too_large("an index with the offset", 0);
    return layout.swizzle.is_identity() ? Status() : check(layout.swizzle);
  }
  if (!layout.swizzle.is_identity())
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "swizzle"},
                "a swizzle works on integers and this layout gives tuples of coordinates");
  return validate_coordinates(layout);
}

Status make_flat(int rank, const int64_t* shape, const int64_t* stride, Layout* out) {
  if (rank < 1 || rank > kMaxLeaves)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "rank", .got = rank, .limit = kMaxLeaves},
                "rank is %d: a layout has 1 to %d modes", rank, kMaxLeaves);
  LayoutBuilder builder(out);
  int64_t running = 1;
  for (int i = 0; i < rank; ++i) {
    builder.leaf(shape[i], stride ? stride[i] : running, /*level=*/1, /*common_level=*/1);
    if (shape[i] < 1) break;  // finish() reports it
    if (!stride && i + 1 < rank && !checked_mul(running, shape[i], &running))
      return too_large("the size", i);
  }
  return builder.finish();
}

Status make_layout(const IntTuple& shape, const IntTuple& stride, Layout* out) {
  if (!congruent(shape, stride))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "stride"},
                "the shape and the stride have different profiles");
  LayoutBuilder builder(out);
  out->shape = shape;
  std::copy_n(stride.value, shape.leaves, out->stride);
  return builder.finish();
}

Status make_coordinate_tensor(int rank, const int64_t* extents, Layout* out) {
  if (rank < 1 || rank > kMaxLeaves)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "rank", .got = rank, .limit = kMaxLeaves},
                "rank is %d: a coordinate tensor has 1 to %d modes", rank, kMaxLeaves);
  LayoutBuilder builder(out);
  for (int i = 0; i < rank; ++i)
    builder.leaf(extents[i], Stride(1, basis_inner(0, 0, rank - 1 - i)), /*level=*/1,
                 /*common_level=*/1);
  for (int i = 0; i < rank; ++i) builder.origin(0, basis_inner(0, 0, i));
  return builder.finish();
}

Status check_mode(const Layout& layout, int mode) {
  if (mode >= 0 && mode < layout.rank()) return Code::OK;
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = "mode", .got = mode, .limit = layout.rank() - 1},
              "there is no mode %d: the layout has %d, counted from 0", mode, layout.rank());
}

Status check_plain(const Layout& layout, const char* verb) {
  if (layout.is_plain()) return Code::OK;
  return fail(
      Code::ERROR_UNSUPPORTED, {.argument = "layout"},
      "%s takes layouts of integer strides without swizzle or offset: pass the inner layout", verb);
}

Status extract(const Layout& layout, Node node, Layout* out) {
  LayoutBuilder builder(out);
  builder.subtree(layout, node, /*level=*/0, /*common_level=*/0);
  return builder.finish();
}

Status strides(const Layout& layout, IntTuple* out) {
  if (layout.has_basis_strides)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                "the layout's strides are basis elements, which are no integers");
  *out = layout.shape;
  std::copy_n(layout.stride, layout.leaves(), out->value);
  return Code::OK;
}

int64_t size(const Layout& layout, Node node) {
  int64_t result = 1;
  for (int i = node.begin; i < node.end; ++i) result *= layout.shape.value[i];
  return result;
}

int64_t size(const Layout& layout) {
  return size(layout, layout.root());
}

Status cosize(const Layout& layout, int64_t* out) {
  *out = 0;
  if (layout.has_basis_strides)
    return fail(Code::ERROR_UNSUPPORTED, {.argument = "layout"},
                "the layout gives coordinates (basis strides), which have no single largest index");
  // validate() has checked that this does not overflow.
  int64_t reach = 1;
  for (int i = 0; i < layout.leaves(); ++i)
    reach +=
        (layout.shape.value[i] - 1) * (layout.stride[i] < 0 ? -layout.stride[i] : layout.stride[i]);
  *out = reach;
  return Code::OK;
}

bool equal(const Stride& a, const Stride& b) {
  return a.count == b.count &&
         std::equal(a.term, a.term + a.count, b.term, [](const Term& x, const Term& y) {
           return x.value == y.value && x.basis == y.basis;
         });
}

bool equal(const Layout& a, const Layout& b) {
  if (!equal(a.shape, b.shape) || !(a.swizzle == b.swizzle) || a.offset != b.offset ||
      a.has_basis_strides != b.has_basis_strides)
    return false;
  if (!a.has_basis_strides) return std::equal(a.stride, a.stride + a.leaves(), b.stride);
  for (int i = 0; i < a.leaves(); ++i)
    if (!equal(a.stride_of(i), b.stride_of(i))) return false;
  Codomain ca, cb;
  return a.has_origin() == b.has_origin() && codomain(a, &ca).ok() && codomain(b, &cb).ok() &&
         equal(ca.tuple, cb.tuple);
}

// Merges the terms of b, multiplied by `scale`, into those of a. Both are sorted by basis. Terms
// that become 0 are removed.
bool add_scaled(Stride* a, const Stride& b, int64_t scale) {
  for (int i = 0; i < b.count; ++i) {
    int64_t value = 0;
    if (!checked_mul(b.term[i].value, scale, &value)) return false;
    int at = 0;
    while (at < a->count && a->term[at].basis < b.term[i].basis) ++at;
    if (at < a->count && a->term[at].basis == b.term[i].basis) {
      if (!checked_add(a->term[at].value, value, &a->term[at].value)) return false;
      if (a->term[at].value == 0) {
        std::copy(a->term + at + 1, a->term + a->count, a->term + at);
        --a->count;
      }
    } else if (value != 0) {
      if (a->count == Stride::kMaxTerms) return false;
      std::copy_backward(a->term + at, a->term + a->count, a->term + a->count + 1);
      a->term[at] = {value, b.term[i].basis};
      ++a->count;
    }
  }
  return true;
}

}  // namespace tw
