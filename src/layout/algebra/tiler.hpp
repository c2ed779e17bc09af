// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiler: CuTe's description of how to tile a layout. It is either one layout, which tiles the whole
// layout as a function of one number, or a tuple `<a,b,...>` of tilers, one per mode. An integer n
// means n:1, and `_` keeps a mode whole.
//
// `body` holds the leaves of all entries. It is not a valid layout if there is a `_`, which is an
// extent of kFree. bracket_depth[i] is the number of `<...>` tuples around leaf i, which are always
// the outermost of its tuples.

#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "layout/layout.hpp"
#include "layout/text.hpp"

namespace tw {

struct Tiler {
  Layout body;
  uint8_t bracket_depth[kMaxLeaves] = {};

  Node root() const { return body.root(); }
  /// Whether this subtree is a `<...>`.
  bool is_tuple(Node node) const { return bracket_depth[node.begin] > node.level; }
  bool is_free(Node node) const {
    return body.shape.is_leaf(node) && body.shape.value[node.begin] == kFree;
  }
  /// Number of entries of a `<...>`; 1 for a layout.
  int rank() const { return is_tuple(root()) ? body.shape.rank(root()) : 1; }
};

/// Makes a tiler of one layout, which must be plain (is_plain()).
Status make_tiler(const Layout& layout, Tiler* out);
/// Makes `<e0,e1,...>` of integers; kFree keeps a mode.
Status make_tiler(int rank, const int64_t* extents, Tiler* out);
/// Makes `<a,b,...>` of tilers.
Status make_tiler(int rank, const Tiler* const* entries, Tiler* out);

Status parse(std::string_view text, Tiler* out);
void format(const Tiler& tiler, Text* out);

}  // namespace tw
