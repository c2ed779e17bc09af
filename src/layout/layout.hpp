// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layout: CuTe's shape:stride function from coordinates to indices, as one run-time type.
//
// A layout is c -> swizzle(offset + sum over leaves of c_i * stride_i). Most have neither swizzle
// nor offset. Where strides are scaled basis elements (`2@1`) it gives tuples of coordinates, as
// the coordinate tensor of a tensor map does; then it has an origin in place of the offset.
//
// What always holds of a layout that a function here returned: extents are at least 1; its size
// and all its indices fit 64 bits; strides are all integers or all basis elements (a 0 is both);
// a swizzle stands on integers alone.
//
// A plain value of about 1.5 KB without heap; a copy moves the part in use. The verbs of the
// algebra (algebra.hpp) take operands by const reference and write into an `out` that must not be
// one of them. Any number of threads may read one layout.

#include <cstdint>

#include "base/status.hpp"
#include "layout/basis.hpp"
#include "layout/int_tuple.hpp"
#include "layout/swizzle.hpp"

namespace tw {

/// One summand of a stride.
struct Term {
  int64_t value = 0;
  Basis basis = 0;  ///< 0: a plain integer
};

/// A stride: an integer, a scaled basis element, or a sum of these. No term is 0; zero has none.
struct Stride {
  static constexpr int kMaxTerms = 8;
  int count = 0;
  Term term[kMaxTerms];

  Stride() = default;
  Stride(int64_t value, Basis basis = 0) {
    if (value != 0) term[count++] = {value, basis};
  }
};

struct Layout {
  static constexpr int kMaxExtra = kMaxLeaves;
  static constexpr uint8_t kOrigin = 0xff;  ///< owner of the origin's terms

  IntTuple shape;
  BitSwizzle swizzle;
  bool coordinates = false;  ///< gives tuples: basis[] is in use
  int64_t offset = 0;        ///< of a layout that gives integers
  int64_t stride[kMaxLeaves];
  Basis basis[kMaxLeaves];

  /// The second and later terms of strides that are sums, and the origin (one term for each of its
  /// elements, zeros too).
  uint8_t extra_count = 0;
  uint8_t owner[kMaxExtra];  ///< a leaf, or kOrigin
  Term extra[kMaxExtra];

  Layout() {}  // arrays are left as they are: only leaves in use are ever read
  Layout(const Layout& other) { *this = other; }
  Layout& operator=(const Layout& other);

  int leaves() const { return shape.leaves; }
  int rank() const { return shape.rank(shape.root()); }
  int depth() const { return shape.nesting(shape.root()); }
  Node root() const { return shape.root(); }
  Node mode(int index) const { return shape.child(shape.root(), index); }
  bool has_origin() const;
  /// Integer strides and neither swizzle nor offset: what most of the algebra asks for.
  bool is_plain() const { return !coordinates && swizzle.is_identity() && offset == 0; }
  Stride stride_of(int leaf) const;
};

/// Puts a layout together leaf by leaf, then checks what must hold of it.
class LayoutBuilder {
 public:
  /// `out` becomes empty and must outlive the builder.
  explicit LayoutBuilder(Layout* out);

  /// A leaf with `level` tuples around it, `join` of them shared with the leaf before.
  void leaf(int64_t extent, int64_t stride, int level, int join);
  void leaf(int64_t extent, const Stride& stride, int level, int join);
  /// A subtree of another layout, strides included.
  void subtree(const Layout& src, Node node, int level, int join);
  /// The swizzle and the offset or origin of another layout.
  void frame(const Layout& src);
  /// The same moved by a value of `src`, for parts of it that begin elsewhere. A layout that gives
  /// coordinates has an origin afterwards, even if it had none before.
  Status frame_at(const Layout& src, const Stride& by);
  /// One element of the origin.
  void origin(int64_t value, Basis basis);

  /// Checks the whole; the layout may be used after OK alone.
  Status finish();

  /// A state to come back to, which drops the leaves since.
  struct Mark {
    int leaves;
    uint8_t extra_count;
    bool coordinates;
  };
  Mark mark() const { return {out_->leaves(), out_->extra_count, out_->coordinates}; }
  void back_to(const Mark& mark);

 private:
  void extra(uint8_t owner, const Term& term);
  Layout* out_;
  bool full_ = false;
};

inline void LayoutBuilder::leaf(int64_t extent, int64_t stride, int level, int join) {
  const int at = out_->leaves();
  if (!out_->shape.push(extent, level, join)) {
    full_ = true;
    return;
  }
  out_->stride[at] = stride;
  if (out_->coordinates) out_->basis[at] = 0;
}

/// Checks everything that must hold of a layout.
Status validate(const Layout& layout);

/// shape:stride from arrays; `stride` may be NULL for the compact column-major ones.
Status make_flat(int rank, const int64_t* shape, const int64_t* stride, Layout* out);
/// A layout from a shape and congruent integer strides.
Status make_layout(const IntTuple& shape, const IntTuple& stride, Layout* out);
/// The coordinate tensor of a tensor map, `(0,0) o (1024,512):(1@1,1@0)`. @param extents outermost
/// first; the innermost has stride 1@0.
Status make_coordinate_tensor(int rank, const int64_t* extents, Layout* out);

/// Is there such a mode at the top?
Status check_mode(const Layout& layout, int mode);
/// ERROR_UNSUPPORTED unless the strides are integers and there is no swizzle or offset.
Status check_plain(const Layout& layout, const char* verb);
/// A mode, or any subtree, as a layout of its own; swizzle and offset stay behind.
Status extract(const Layout& layout, Node node, Layout* out);

/// The strides as a tuple. ERROR_UNSUPPORTED where they are basis elements.
Status strides(const Layout& layout, IntTuple* out);

/// Product of the shape. Cannot overflow for a valid layout.
int64_t size(const Layout& layout);
int64_t size(const Layout& layout, Node node);
/// CuTe's cosize: sum of (extent - 1) * |stride|, plus 1; of what stands inside a swizzle.
Status cosize(const Layout& layout, int64_t* out);

bool equal(const Stride& a, const Stride& b);
/// Equal as texts: same shape, strides, swizzle, offset.
bool equal(const Layout& a, const Layout& b);
/// a += scale * b, terms sorted by basis. False where a capacity or 64 bits are exceeded.
[[nodiscard]] bool add_scaled(Stride* a, const Stride& b, int64_t scale);

}  // namespace tw
