// SPDX-License-Identifier: Apache-2.0
// Where the boxes of a tile begin if its start is far outside the tensor.
#include <algorithm>
#include <cstdint>
#include <string>

#include "doctest_main.hpp"
#include "tensor_map/tile/tile_map.hpp"

namespace tw {
namespace {

TileMap made(TileRequest request) {
  request.address = 4096;
  TileMap map;
  const Status status = make_tile_map(request, &map);
  INFO(last_failure().message);
  REQUIRE(status.ok());
  return map;
}

TEST_CASE("a start whose coordinates leave 32 bits is refused, however far it is") {
  // The six modes exceed a map's five dimensions, so that contiguous ones are merged: a step along
  // mode 4 is 64 elements of dimension 0.
  TileRequest request;
  request.rank = 6;
  const int64_t shape[] = {8, 4, 2, 2, 2, 64}, tile[] = {2, 4, 2, 2, 2, 64};
  int64_t step = 1;
  for (int k = 5; k >= 0; step *= shape[k--]) {
    request.shape[k] = shape[k];
    request.stride[k] = step;
    request.tile[k] = tile[k];
  }
  const TileMap map = made(request);
  const auto merged =
      std::find_if(map.term, map.term + map.terms, [](const auto& term) { return term.scale > 1; });
  REQUIRE(merged != map.term + map.terms);
  int32_t coord[5];
  uint32_t offset;
  const int64_t aligned = map.aligned[merged->mode], far = int64_t{1} << 62;
  for (const int64_t wanted :
       {far, far - aligned, -far, INT64_MIN, INT64_MAX, far / merged->scale * 4, far / 2,
        (int64_t{1} << 31) / merged->scale, int64_t{-1} << 31}) {
    int64_t start[8] = {};
    start[merged->mode] = wanted / aligned * aligned;
    CAPTURE(wanted);
    CHECK(tile_box(map, start, 0, coord, &offset).code() == Code::ERROR_OVERFLOW);
    CHECK(std::string(last_failure().fault.argument) == "start");
    CHECK(std::string(last_failure().message).find("move the base address") != std::string::npos);
  }
  int64_t last[8] = {};
  last[merged->mode] = (int64_t{1} << 30) / merged->scale / aligned * aligned;
  REQUIRE(tile_box(map, last, 0, coord, &offset).ok());
  CHECK(coord[merged->dim] == last[merged->mode] * merged->scale);
  // The boxes of one tile overflow 64 bits one after the other.
  const TileMap several = made({.rank = 2,
                                .shape = {300, 504},
                                .stride = {504, 1},
                                .tile = {128, 128},
                                .swizzle = Swizzle::b128});
  REQUIRE(several.boxes > 1);
  for (int32_t index = 0; index < several.boxes; ++index) {
    const int64_t start[] = {0, INT64_MAX - 127};
    CHECK(tile_box(several, start, index, coord, &offset).code() == Code::ERROR_OVERFLOW);
  }
}

}  // namespace
}  // namespace tw
