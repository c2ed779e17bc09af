// SPDX-License-Identifier: Apache-2.0
#include "base/checked.hpp"
#include "layout/algebra.hpp"
#include "layout/composition.hpp"

namespace tw {
namespace {

Status check_tile(const Layout& layout, int rank) {
  if (rank < 1 || rank > layout.rank())
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "rank", .got = rank, .limit = layout.rank()},
                "%d modes cannot be tiled: the layout has rank %d", rank, layout.rank());
  return Code::OK;
}

// The index in its mode at which a tile begins.
Status tile_start(int64_t extent, int64_t tile, int64_t coord, int mode, int64_t* start) {
  if (tile < 1)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "tile", .index = mode, .got = tile, .limit = 1},
                "tile[%d] is %lld: extents are at least 1", mode, static_cast<long long>(tile));
  const int64_t tiles = extent / tile + (extent % tile != 0);
  if (coord < 0 || coord >= tiles)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "coord", .index = mode, .got = coord, .limit = tiles - 1},
                "coord[%d] is %lld: there are tiles 0 to %lld", mode, static_cast<long long>(coord),
                static_cast<long long>(tiles - 1));
  *start = coord * tile;
  return Code::OK;
}

}  // namespace

Status local_tile(const Layout& layout, int rank, const int64_t* tile, const int64_t* coord,
                  Layout* out, int64_t* offset) {
  *offset = 0;
  TW_TRY(check_tile(layout, rank));
  LayoutBuilder builder(out);
  Stride start;
  Channels channels;
  channels.count = 1;
  int mode = 0;
  for (Children c(layout.shape, layout.root()); c; c.next(), ++mode) {
    if (mode >= rank) {
      builder.subtree(layout, *c, 1, 1);
      continue;
    }
    Channel& channel = channels.channel[0];
    TW_TRY(tile_start(size(layout, *c), tile[mode], coord[mode], mode, &channel.start));
    channel.radix.read(layout, *c);
    Stride value;
    if (!channel.radix.value(channel.start, &value) || !add_scaled(&start, value, 1))
      return fail(Code::ERROR_OVERFLOW, {.argument = "coord"}, "the offset exceeds 64 bits");
    Layout part;
    const int64_t extent = tile[mode];
    TW_TRY(make_flat(1, &extent, nullptr, &part));
    TW_TRY(compose(channels, part, part.mode(0), 1, 1, &builder));
  }
  if (!layout.is_plain()) {
    TW_TRY(builder.frame_at(layout, start));
    return builder.finish();
  }
  TW_TRY(builder.finish());
  *offset = start.count > 0 ? start.term[0].value : 0;
  return Code::OK;
}

}  // namespace tw
