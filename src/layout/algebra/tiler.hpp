// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiler: how a layout is cut, as CuTe has it. Either one layout, which cuts the whole as a function
// of one number, or a tuple `<a,b,...>` that cuts mode by mode, each entry again a tiler; an
// integer n is n:1, and `_` keeps its mode.
//
// The entries' leaves stand one behind the other in `body`, which is no valid layout where there is
// a `_` (an extent of kFree). by_mode[i] is how many of the tuples around leaf i are by-mode ones;
// these are always the outer ones.

#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "layout/layout.hpp"
#include "layout/text.hpp"

namespace tw {

struct Tiler {
  Layout body;
  uint8_t by_mode[kMaxLeaves] = {};

  Node root() const { return body.root(); }
  /// Is this subtree a `<...>`?
  bool is_tuple(Node node) const { return by_mode[node.begin] > node.level; }
  bool is_free(Node node) const {
    return body.shape.is_leaf(node) && body.shape.value[node.begin] == kFree;
  }
  /// Entries of a `<...>`; 1 for a layout.
  int rank() const { return is_tuple(root()) ? body.shape.rank(root()) : 1; }
};

/// One layout, of integer strides and without swizzle or offset.
Status make_tiler(const Layout& layout, Tiler* out);
/// `<e0,e1,...>` of integers; kFree keeps a mode.
Status make_tiler(int rank, const int64_t* extents, Tiler* out);
/// `<a,b,...>` of tilers.
Status make_tiler(int rank, const Tiler* const* entries, Tiler* out);

Status parse(std::string_view text, Tiler* out);
void format(const Tiler& tiler, Text* out);

}  // namespace tw
