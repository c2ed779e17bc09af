// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inside of composition, for the verbs that are made of it (divide, product, tiles).

#include "layout/layout.hpp"
#include "layout/radix.hpp"

namespace tw {

/// What B's numbers are looked up in: all of A where B gives integers; where B gives coordinates,
/// for each number of B's codomain the mode of A that it indexes.
struct Channel {
  Channel() {}  // the first `count` of Channels are set, the others never touched
  Radix radix;
  Basis path;
  int64_t start;  ///< B's offset, or its origin's number
};

struct Channels {
  static constexpr int kMost = 16;
  int count = 0;
  Channel channel[kMost];
};

/// The channel's part of B's stride at a leaf.
int64_t step_of(const Layout& b, int leaf, const Channel& channel);

/// Are all of B's numbers coordinates of A?
bool stays_inside(const Channels& channels, const Layout& b, Node in_b);

/// Appends A o B to the builder, with B's profile refined where one mode of B takes several of A.
/// A and B are subtrees, their frames are not looked at; B gives integers.
/// ERROR_NOT_A_LAYOUT where the composed function is none.
Status compose(const Layout& a, Node in_a, const Layout& b, Node in_b, int level, int join,
               LayoutBuilder* builder);

/// The same through channels that the caller filled.
Status compose(const Channels& channels, const Layout& b, Node in_b, int level, int join,
               LayoutBuilder* builder);

/// One factor after the other of one mode of B, merged where they continue each other.
template <class Value>
struct Factors {
  int count = 0;
  int64_t extent[kMaxLeaves];
  Value stride[kMaxLeaves];

  /// False where there are more than a layout can hold.
  bool push(int64_t e, const Value& d);
  void put(int level, int join, LayoutBuilder* builder) const {
    if (count == 1) return builder->leaf(extent[0], stride[0], level, join);
    for (int i = 0; i < count; ++i)
      builder->leaf(extent[i], stride[i], level + 1, i == 0 ? join : level + 1);
  }
};

}  // namespace tw
