// SPDX-License-Identifier: Apache-2.0
#pragma once
// Layout: CuTe's shape:stride function from coordinates to indices, as a run-time type.
//
// A layout is c -> swizzle(offset + sum over leaves of c_i * stride_i). Most have neither swizzle
// nor offset. If its strides are scaled basis elements (`2@1`), a layout returns tuples of
// coordinates, as the coordinate tensor of a tensor map does, and has an origin instead of an
// offset. Swizzle and offset or origin are called its frame.
//
// Invariants of every layout that a function returns: extents are at least 1; the size and all
// indices fit 64 bits; strides are all integers or all basis elements (0 is both); a layout with
// basis strides has no swizzle.
//
// A layout is a plain value of about 1.5 KB without heap memory; copies move only the part in use.
// Algebra functions (algebra.hpp) write to an `out` that must not be one of the operands.

#include <cstdint>

#include "base/status.hpp"
#include "layout/basis.hpp"
#include "layout/int_tuple.hpp"
#include "layout/swizzle.hpp"

namespace tw {

/// A summand of a stride.
struct Term {
  int64_t value = 0;
  Basis basis = 0;  ///< 0: a plain integer
};

/// A stride: an integer, a scaled basis element, or a sum of these. No term is 0, so the stride 0
/// has no terms.
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
  static constexpr uint8_t kOrigin = 0xff;  ///< in extra_leaf: the term belongs to the origin

  IntTuple shape;
  BitSwizzle swizzle;
  bool has_basis_strides = false;  ///< then the layout returns tuples and basis[] is in use
  int64_t offset = 0;              ///< only for integer strides
  int64_t stride[kMaxLeaves];
  Basis basis[kMaxLeaves];

  /// If a stride is a sum, its terms after the first. Also the terms of the origin: one for each of
  /// its elements, even if the element is 0.
  uint8_t extra_count = 0;
  uint8_t extra_leaf[kMaxExtra];  ///< the leaf whose stride has the term, or kOrigin
  Term extra_term[kMaxExtra];

  Layout() {}  // leaves the arrays uninitialized, for speed; only leaves in use are read
  Layout(const Layout& other) { *this = other; }
  Layout& operator=(const Layout& other);

  int leaves() const { return shape.leaves; }
  int rank() const { return shape.rank(shape.root()); }
  int depth() const { return shape.nesting(shape.root()); }
  Node root() const { return shape.root(); }
  Node mode(int index) const { return shape.child(shape.root(), index); }
  bool has_origin() const;
  /// Whether the layout has integer strides and neither swizzle nor offset.
  bool is_plain() const { return !has_basis_strides && swizzle.is_identity() && offset == 0; }
  Stride stride_of(int leaf) const;
};

/// Builds a layout leaf by leaf and checks its invariants at the end.
class LayoutBuilder {
 public:
  /// Clears `out`, which must outlive the builder.
  explicit LayoutBuilder(Layout* out);

  /// Appends a leaf with `level` tuples around it, of which `common_level` also contain the
  /// previous leaf. `common_level` is ignored for the first leaf.
  void leaf(int64_t extent, int64_t stride, int level, int common_level);
  void leaf(int64_t extent, const Stride& stride, int level, int common_level);
  /// Appends a subtree of another layout with its strides.
  void subtree(const Layout& src, Node node, int level, int common_level);
  /// Copies the frame (swizzle and offset or origin) of another layout.
  void copy_frame(const Layout& src);
  /// Copies the frame of `src` with offset or origin moved by `by`, for a part of `src` that begins
  /// elsewhere. A layout with basis strides then always gets an origin.
  Status copy_moved_frame(const Layout& src, const Stride& by);
  /// Adds one element of the origin.
  void origin(int64_t value, Basis basis);

  /// Checks the invariants. The layout may only be used if this returns OK.
  Status finish();

  /// A state of the builder. back_to() drops all leaves added after mark().
  struct Mark {
    int leaves;
    uint8_t extra_count;
    bool has_basis_strides;
  };
  Mark mark() const { return {out_->leaves(), out_->extra_count, out_->has_basis_strides}; }
  void back_to(const Mark& mark);

 private:
  void add_extra(uint8_t leaf, const Term& term);
  Layout* out_;
  bool full_ = false;
};

inline void LayoutBuilder::leaf(int64_t extent, int64_t stride, int level, int common_level) {
  const int at = out_->leaves();
  if (!out_->shape.push(extent, level, common_level)) {
    full_ = true;
    return;
  }
  out_->stride[at] = stride;
  if (out_->has_basis_strides) out_->basis[at] = 0;
}

/// Checks all invariants of a layout.
Status validate(const Layout& layout);

/// Makes a layout from arrays. If `stride` is nullptr the layout is compact and column-major.
Status make_flat(int rank, const int64_t* shape, const int64_t* stride, Layout* out);
/// Makes a layout from a shape and congruent integer strides.
Status make_layout(const IntTuple& shape, const IntTuple& stride, Layout* out);
/// Makes the coordinate tensor of a tensor map, such as `(0,0) o (1024,512):(1@1,1@0)`. `extents`
/// are outermost first; the innermost gets the stride 1@0.
Status make_coordinate_tensor(int rank, const int64_t* extents, Layout* out);

/// Fails unless the layout has the mode.
Status check_mode(const Layout& layout, int mode);
/// Fails with ERROR_UNSUPPORTED unless is_plain(). `verb` names the operation in the message.
Status check_plain(const Layout& layout, const char* verb);
/// Makes a layout of a subtree, without the frame.
Status extract(const Layout& layout, Node node, Layout* out);

/// The strides as a tuple. Fails with ERROR_UNSUPPORTED if they are basis elements.
Status strides(const Layout& layout, IntTuple* out);

/// Product of the shape. Cannot overflow for a valid layout.
int64_t size(const Layout& layout);
int64_t size(const Layout& layout, Node node);
/// CuTe's cosize: sum of (extent - 1) * |stride|, plus 1. Ignores the swizzle and the offset.
Status cosize(const Layout& layout, int64_t* out);

bool equal(const Stride& a, const Stride& b);
/// Same shape, strides and frame. Layouts that are equal only as functions are not equal.
bool equal(const Layout& a, const Layout& b);
/// a += scale * b, with terms sorted by basis. False if there are too many terms or one exceeds 64
/// bits.
[[nodiscard]] bool add_scaled(Stride* a, const Stride& b, int64_t scale);

}  // namespace tw
