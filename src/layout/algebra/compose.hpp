// SPDX-License-Identifier: Apache-2.0
#pragma once
// Composition of subtrees, for the functions that are built on it (composition, divides, products,
// tiles).

#include "layout/layout.hpp"
#include "layout/radix.hpp"

namespace tw {

/// In A o B, a channel is one number of B's result and the mode of A that it indexes. If B returns
/// integers, there is one channel, with all of A.
struct Channel {
  Channel() {}  // uninitialized, because only the first `count` of Channels are used
  Radix radix;
  Basis path;     ///< position of the number in the tuples that B returns
  int64_t start;  ///< B's offset, or the number in its origin
};

struct Channels {
  static constexpr int kMaxChannels = 16;
  int count = 0;
  Channel channel[kMaxChannels];
};

/// The term of B's stride at a leaf that belongs to the channel.
int64_t step_of(const Layout& b, int leaf, const Channel& channel);

/// Whether all of B's results are coordinates inside A.
bool stays_inside(const Channels& channels, const Layout& b, Node in_b);

/// Appends A o B for subtrees A and B to the builder. `level` tuples surround the appended leaves,
/// and `common_level` of them also contain the leaf before them (LayoutBuilder::leaf()). A leaf of
/// B that covers several modes of A becomes a tuple. Frames (swizzle, offset, origin) are ignored,
/// and B must return integers. Fails with ERROR_NOT_A_LAYOUT if the composed function is no layout.
Status compose(const Layout& a, Node in_a, const Layout& b, Node in_b, int level, int common_level,
               LayoutBuilder* builder);

/// The same for channels that the caller has filled.
Status compose(const Channels& channels, const Layout& b, Node in_b, int level, int common_level,
               LayoutBuilder* builder);

/// The factors into which one mode is split. Factors that continue each other are merged.
template <class Value>
struct Factors {
  int count = 0;
  int64_t extent[kMaxLeaves];
  Value stride[kMaxLeaves];

  /// Returns false if there are more than a layout can hold.
  bool push(int64_t e, const Value& d);
  void put(int level, int common_level, LayoutBuilder* builder) const {
    if (count == 1) return builder->leaf(extent[0], stride[0], level, common_level);
    for (int i = 0; i < count; ++i)
      builder->leaf(extent[i], stride[i], level + 1, i == 0 ? common_level : level + 1);
  }
};

}  // namespace tw
