// SPDX-License-Identifier: Apache-2.0
#pragma once
// IntTuple: a nested tuple of integers, as CuTe's shapes, coordinates and orders.
//
// The leaves of `(2,(3,4))` are 2, 3, 4. Its nesting, the profile, is stored as two numbers per
// leaf: `depth`, the number of tuples around it, and `common_depth`, the number of tuples around
// both it and the next leaf. A single integer has depth 0, so `4` and `(4)` differ. A Node is a
// subtree: a range of leaves and the number of tuples around it. An IntTuple is a plain value
// without heap memory, and copies move only the leaves in use.

#include <cstdint>

#include "base/status.hpp"

namespace tw {

inline constexpr int kMaxLeaves = 32;
inline constexpr int kMaxDepth = 16;

/// The value of a leaf `_`, which means "keep this mode" in coordinates and tilers.
inline constexpr int64_t kFree = INT64_MIN;

/// A subtree: leaves [begin, end), with `level` tuples around it.
struct Node {
  int begin = 0;
  int end = 0;
  int level = 0;
  int leaves() const { return end - begin; }
};

struct IntTuple {
  int32_t leaves = 0;  ///< 0: the empty tuple, which cannot be nested in another
  uint8_t depth[kMaxLeaves];
  uint8_t common_depth[kMaxLeaves];  ///< 0 for the last leaf
  int64_t value[kMaxLeaves];

  IntTuple() {}  // leaves the arrays uninitialized, for speed; only leaves in use are read
  IntTuple(const IntTuple& other) { *this = other; }
  IntTuple& operator=(const IntTuple& other);

  Node root() const { return {0, leaves, 0}; }
  bool is_leaf(Node node) const { return node.leaves() == 1 && depth[node.begin] == node.level; }
  /// The end of the child of `node` that begins at leaf `begin`. A leaf is its own only child.
  int child_end(Node node, int begin) const {
    while (begin + 1 < node.end && common_depth[begin] != node.level + 1) ++begin;
    return begin + 1;
  }
  int rank(Node node) const;
  int nesting(Node node) const;  ///< CuTe's depth: 0 for an integer
  Node child(Node node, int index) const;

  /// Appends a leaf with `level` tuples around it, of which `common_level` also contain the
  /// previous leaf. Returns false if the capacity is exceeded.
  bool push(int64_t leaf_value, int level, int common_level);
  /// Appends a subtree of another tuple in the same way.
  bool push(const IntTuple& other, Node node, int level, int common_level);
};

inline bool IntTuple::push(int64_t leaf_value, int level, int common_level) {
  if (leaves == kMaxLeaves || level > kMaxDepth) return false;
  if (leaves > 0) common_depth[leaves - 1] = static_cast<uint8_t>(common_level);
  depth[leaves] = static_cast<uint8_t>(level);
  common_depth[leaves] = 0;
  value[leaves] = leaf_value;
  ++leaves;
  return true;
}

/// Iterates over the children of a node: for (Children c(tuple, node); c; c.next()) use(*c).
class Children {
 public:
  Children(const IntTuple& tuple, Node node) : tuple_(tuple), node_(node), begin_(node.begin) {
    end_ = begin_ < node.end ? tuple.child_end(node, begin_) : begin_;
  }
  explicit operator bool() const { return begin_ < node_.end; }
  Node operator*() const {
    return {begin_, end_, tuple_.is_leaf(node_) ? node_.level : node_.level + 1};
  }
  void next() {
    begin_ = end_;
    if (begin_ < node_.end) end_ = tuple_.child_end(node_, begin_);
  }

 private:
  const IntTuple& tuple_;
  Node node_;
  int begin_;
  int end_;
};

/// Equal values and profiles.
bool equal(const IntTuple& a, const IntTuple& b);
/// Equal profiles.
bool congruent(const IntTuple& a, const IntTuple& b);
/// b's profile refines a's: b may have any tuple where a has an integer.
bool weakly_congruent(const IntTuple& a, const IntTuple& b);
/// b refines a with equal sizes, so that every coordinate of shape a is one of shape b.
bool compatible(const IntTuple& a, const IntTuple& b);
/// CuTe's elem_less: whether every leaf of coordinate a is less than that of shape b. Fails unless
/// they are congruent.
Status elem_less(const IntTuple& a, const IntTuple& b, bool* less);

/// Product of a node's leaves. Returns false on overflow.
[[nodiscard]] bool product(const IntTuple& tuple, Node node, int64_t* out);
/// Product of all leaves.
Status product(const IntTuple& tuple, int64_t* out);
/// Makes a flat tuple.
Status make_tuple(int count, const int64_t* values, IntTuple* out);
/// Fails unless a layout, tuple or tiler can have this number of modes.
Status check_rank(int rank);
/// Exclusive prefix products of the leaves: the compact column-major strides of a shape.
Status prefix_product(const IntTuple& shape, IntTuple* out);
/// Sum of the products of matching leaves. The tuples must be congruent.
Status inner_product(const IntTuple& a, const IntTuple& b, int64_t* out);
/// CuTe's shape_div: divides a by b mode by mode. An integer in b divides the leaves of a's mode
/// from left to right.
Status shape_div(const IntTuple& a, const IntTuple& b, IntTuple* out);
/// Divides a by b mode by mode, rounding up. Modes of a beyond b's rank stay.
Status ceil_div(const IntTuple& a, const IntTuple& b, IntTuple* out);

}  // namespace tw
