// SPDX-License-Identifier: Apache-2.0
#pragma once
// IntTuple: a nested tuple of integers, CuTe's shape, coordinate or order, as a plain value.
//
// `(2,(3,4))` has the leaves 2, 3, 4. The nesting (the profile) is kept as two numbers a leaf:
// `depth`, the tuples around it, and `shared`, the tuples around both it and the next leaf. A
// single integer has depth 0, so `4` and `(4)` differ. A Node names a subtree by its range of
// leaves and the number of tuples around it. No heap; copies move the leaves in use alone; not
// thread-safe to write, as any value.

#include <cstdint>

#include "base/status.hpp"

namespace tw {

inline constexpr int kMaxLeaves = 32;
inline constexpr int kMaxDepth = 16;

/// A leaf that is no number: "keep this mode" in coordinates and tilers, written `_`.
inline constexpr int64_t kFree = INT64_MIN;

/// A subtree: leaves [begin, end), with `level` tuples around it.
struct Node {
  int begin = 0;
  int end = 0;
  int level = 0;
  int leaves() const { return end - begin; }
};

struct IntTuple {
  int32_t leaves = 0;  ///< 0 is the empty tuple, which only the top can be
  uint8_t depth[kMaxLeaves];
  uint8_t shared[kMaxLeaves];  ///< the last one in use is 0
  int64_t value[kMaxLeaves];

  IntTuple() {}  // arrays are left as they are: only leaves in use are ever read
  IntTuple(const IntTuple& other) { *this = other; }
  IntTuple& operator=(const IntTuple& other);

  Node root() const { return {0, leaves, 0}; }
  bool is_leaf(Node node) const { return node.leaves() == 1 && depth[node.begin] == node.level; }
  /// End of the child that begins at leaf `begin` of `node`; a leaf is its own only child.
  int child_end(Node node, int begin) const {
    while (begin + 1 < node.end && shared[begin] != node.level + 1) ++begin;
    return begin + 1;
  }
  int rank(Node node) const;
  int nesting(Node node) const;  ///< CuTe's depth: 0 for an integer
  Node child(Node node, int index) const;

  /// Appends a leaf with `level` tuples around it, `join` of them around the leaf before it too.
  /// False where the capacity is exceeded.
  bool push(int64_t leaf_value, int level, int join);
  /// Appends a subtree of another tuple, now with `level` tuples around it.
  bool push(const IntTuple& other, Node node, int level, int join);
};

inline bool IntTuple::push(int64_t leaf_value, int level, int join) {
  if (leaves == kMaxLeaves || level > kMaxDepth) return false;
  if (leaves > 0) shared[leaves - 1] = static_cast<uint8_t>(join);
  depth[leaves] = static_cast<uint8_t>(level);
  shared[leaves] = 0;
  value[leaves] = leaf_value;
  ++leaves;
  return true;
}

/// Walks the children of a node: for (Children c(tuple, node); c; c.next()) use(*c).
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

/// Equal numbers in an equal profile.
bool equal(const IntTuple& a, const IntTuple& b);
/// Equal profiles.
bool congruent(const IntTuple& a, const IntTuple& b);
/// b's profile refines a's: where a has an integer b may have anything.
bool weakly_congruent(const IntTuple& a, const IntTuple& b);
/// Every coordinate of shape a is one of shape b: b refines a with equal sizes.
bool compatible(const IntTuple& a, const IntTuple& b);
/// CuTe's elem_less: every leaf of coordinate a is below that of shape b; profiles must be equal.
Status elem_less(const IntTuple& a, const IntTuple& b, bool* less);

/// Product of the leaves of a node; false where it overflows.
[[nodiscard]] bool product(const IntTuple& tuple, Node node, int64_t* out);
/// The same for the whole, with a Status.
Status product(const IntTuple& tuple, int64_t* out);
/// A flat tuple of `count` numbers.
Status make_tuple(int count, const int64_t* values, IntTuple* out);
/// Is this a number of modes that a layout, tuple or tiler can have?
Status check_rank(int rank);
/// Exclusive prefix products in colexicographic order: the compact column-major strides.
Status prefix_product(const IntTuple& shape, IntTuple* out);
/// Sum of the products of matching leaves of congruent tuples.
Status inner_product(const IntTuple& a, const IntTuple& b, int64_t* out);
/// CuTe's shape_div: divides a by b leaf by leaf, an integer b from a's leftmost leaf on.
Status shape_div(const IntTuple& a, const IntTuple& b, IntTuple* out);
/// a over b, rounded up, by matching modes; a's further modes stay.
Status ceil_div(const IntTuple& a, const IntTuple& b, IntTuple* out);

}  // namespace tw
