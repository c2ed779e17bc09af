// SPDX-License-Identifier: Apache-2.0
// Maps made from tensors and tiles: the boxes must load every element of the tile exactly once, and
// nothing from other rows.
#include "tensor_map/tile/tile_map.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "doctest_main.hpp"
#include "layout/coordinate.hpp"
#include "layout/text.hpp"
#include "tensor_map/geometry.hpp"
#include "tensor_map/model/tma_model.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw {
namespace {

TileRequest matrix(int64_t rows, int64_t columns, int64_t tile_rows, int64_t tile_columns,
                   Swizzle swizzle) {
  TileRequest request;
  request.rank = 2;
  request.shape[0] = rows;
  request.shape[1] = columns;
  request.stride[0] = columns;
  request.stride[1] = 1;
  request.tile[0] = tile_rows;
  request.tile[1] = tile_columns;
  request.swizzle = swizzle;
  request.address = 0x1000;
  return request;
}

std::string text_of(const Layout& layout) {
  Text text;
  format(layout, &text);
  return std::string(text.view());
}

TileMap made(const TileRequest& request) {
  TileMap map;
  const Status status = make_tile_map(request, &map);
  const std::string message = status.ok() ? "" : last_failure().message;
  CAPTURE(message);
  REQUIRE(status.ok());
  return map;
}

// A tensor of 16-bit elements numbered from 1. Memory between its elements holds 0xffff.
struct Tensor {
  std::vector<uint16_t> memory;
  TileRequest request;
  uint16_t* base;

  explicit Tensor(const TileRequest& r) : request(r) {
    size_t length = 1;
    for (int k = 0; k < r.rank; ++k) length += static_cast<size_t>((r.shape[k] - 1) * r.stride[k]);
    memory.assign(length + 64, 0xffff);
    base = memory.data();
    while (reinterpret_cast<uintptr_t>(base) % 32 != 0) ++base;
    request.dtype = DType::U16;
    request.address = reinterpret_cast<uint64_t>(base);
    uint16_t number = 0;
    std::vector<int64_t> at(static_cast<size_t>(r.rank), 0);
    do base[offset(at)] = ++number;
    while (next(&at, r.shape));
  }
  int64_t offset(const std::vector<int64_t>& at) const {
    int64_t sum = 0;
    for (size_t k = 0; k < at.size(); ++k) sum += at[k] * request.stride[k];
    return sum;
  }
  static bool next(std::vector<int64_t>* at, const int64_t* extents) {
    for (size_t k = at->size(); k-- > 0;) {
      if (++(*at)[k] < extents[k]) return true;
      (*at)[k] = 0;
    }
    return false;
  }
  // The element at in_tile of the tile that begins at start; 0 outside the tensor.
  uint16_t element(const int64_t* start, const std::vector<int64_t>& in_tile) const {
    std::vector<int64_t> at = in_tile;
    for (size_t k = 0; k < at.size(); ++k) {
      at[k] += start[k];
      if (at[k] < 0 || at[k] >= request.shape[k]) return 0;
    }
    return base[offset(at)];
  }
};

struct alignas(1024) Shared {
  uint8_t bytes[228 * 1024];
};

// Loads the tile's boxes and returns the bytes of shared memory that they span.
uint32_t load(const TileMap& map, const int64_t* start, Shared* shared) {
  uint32_t end = 0;
  for (int32_t i = 0; i < map.boxes; ++i) {
    int32_t coord[5];
    uint32_t offset = 0;
    const Status status = tile_box(map, start, i, coord, &offset);
    const std::string message = status.ok() ? "" : last_failure().message;
    CAPTURE(message);
    REQUIRE(status.ok());
    REQUIRE(offset == end);
    // The model, like the hardware, requires boxes aligned to 128 bytes. The small boxes of a test
    // are not, so that each is loaded into a buffer of its own first.
    static Shared box;
    std::memset(box.bytes, 0xff, 1024);
    const uint64_t span = box_span_bytes(map.desc);
    std::memset(box.bytes, 0xff, span);
    const model::Outcome outcome = model::load_tile(map.desc, coord, box.bytes, 0);
    CAPTURE(outcome.reason);
    REQUIRE(!outcome.fault);
    std::memcpy(shared->bytes + offset, box.bytes, span);
    end = offset + static_cast<uint32_t>(span);
  }
  return end;
}

// Compares the loaded elements with the tile's own, both sorted. 0xffff is padding in shared
// memory; no element has this value.
void check_tile(const Tensor& tensor, const TileMap& map, const int64_t* start) {
  static Shared shared;
  const uint32_t end = load(map, start, &shared);
  std::vector<uint16_t> got;
  for (uint32_t i = 0; i < end; i += 2) {
    uint16_t element;
    std::memcpy(&element, shared.bytes + i, 2);
    if (element != 0xffff) got.push_back(element);
  }
  std::vector<uint16_t> want;
  std::vector<int64_t> at(static_cast<size_t>(tensor.request.rank), 0);
  do want.push_back(tensor.element(start, at));
  while (Tensor::next(&at, tensor.request.tile));
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  REQUIRE(got == want);
}

// The coordinate tensor and the first box agree inside the tensor.
void check_coordinates(const TileMap& map, const TileRequest& request, const int64_t* start) {
  for (int32_t k = 0; k < request.rank; ++k)
    if (start[k] < 0 || start[k] >= request.shape[k]) return;
  int64_t crd[kMaxLeaves];
  int written = 0;
  REQUIRE(crd2crd(map.coordinates, start, request.rank, crd, &written).ok());
  REQUIRE(written == map.desc.rank);
  int32_t coord[5];
  uint32_t offset;
  REQUIRE(tile_box(map, start, 0, coord, &offset).ok());
  for (int32_t d = 0; d < map.desc.rank; ++d) REQUIRE(crd[d] == coord[d]);
}

TEST_CASE("a row wider than the swizzle becomes a dimension of its own") {
  const TileMap map = made(matrix(1024, 512, 128, 128, Swizzle::b128));
  CHECK(map.boxes == 1);
  CHECK(map.desc.rank == 3);
  CHECK(map.desc.global_dim[0] == 64);
  CHECK(map.desc.global_dim[1] == 1024);
  CHECK(map.desc.global_dim[2] == 8);
  CHECK(map.desc.global_stride_bytes[0] == 1024);
  CHECK(map.desc.global_stride_bytes[1] == 128);
  CHECK(map.desc.box_dim[0] == 64);
  CHECK(map.desc.box_dim[1] == 128);
  CHECK(map.desc.box_dim[2] == 2);
  CHECK(text_of(map.coordinates) == "(0,0,0) o (1024,(64,8)):(1@1,(1@0,1@2))");
  const int64_t start[] = {256, 128};
  int32_t coord[5];
  uint32_t offset = 1;
  REQUIRE(tile_box(map, start, 0, coord, &offset).ok());
  CHECK(coord[0] == 0);
  CHECK(coord[1] == 256);
  CHECK(coord[2] == 2);
  CHECK(offset == 0);
}

TEST_CASE("a mode is not split if that would change which elements are outside the tensor") {
  for (const int64_t columns : {504, 520, 64, 96}) {
    TileRequest request = matrix(300, columns, 128, 128, Swizzle::b128);
    const TileMap map = made(request);
    const bool splits = columns % 64 == 0;
    CHECK(map.boxes == (splits ? 1 : 2));
    CHECK(map.desc.rank == (splits ? 3 : 2));
  }
  // A free start along a mode forbids a split of the mode.
  TileRequest request = matrix(1024, 512, 128, 128, Swizzle::b128);
  request.free_start = 2;
  CHECK(made(request).boxes == 2);
  request.free_start = 1;  // rows may begin anywhere: packed sequences need no new map
  const TileMap map = made(request);
  CHECK(map.boxes == 1);
  const int64_t start[] = {77, 128};
  int32_t coord[5];
  uint32_t offset;
  CHECK(tile_box(map, start, 0, coord, &offset).ok());
  CHECK(coord[1] == 77);
  const int64_t inside_piece[] = {0, 8};
  CHECK(tile_box(map, inside_piece, 0, coord, &offset).code() == Code::ERROR_MISALIGNED);
  CHECK(last_failure().fault.limit == 64);
}

TEST_CASE("tiles beside a mode that is split into a single piece are outside the tensor") {
  const Tensor tensor(matrix(128, 64, 64, 128, Swizzle::b128));
  const TileMap map = made(tensor.request);
  REQUIRE(map.boxes == 1);
  REQUIRE(map.desc.rank == 3);
  CHECK(!is_whole_mode(map, 0));
  CHECK(!is_whole_mode(map, 2));
  for (const int64_t column : {-128, -64, 0, 64, 128}) {
    const int64_t start[] = {64, column};
    int32_t coord[5];
    uint32_t offset;
    REQUIRE(tile_box(map, start, 0, coord, &offset).ok());
    CHECK(coord[0] == 0);
    CHECK(coord[2] == column / 64);
    check_tile(tensor, map, start);
  }
}

TEST_CASE("coordinate 0 is a multiple of 16 bytes, or the start is refused") {
  TileRequest request = matrix(256, 256, 8, 32, Swizzle::none);
  request.dtype = DType::F32;
  for (const uint32_t free_start : {0u, 3u}) {
    request.free_start = free_start;
    const TileMap map = made(request);
    int32_t coord[5];
    uint32_t offset;
    for (const int64_t column : {-3, 1, 2, 33}) {
      const int64_t start[] = {5, column};
      CHECK(tile_box(map, start, 0, coord, &offset).code() == Code::ERROR_MISALIGNED);
      CHECK(last_failure().fault.got == column);
      CHECK(last_failure().fault.limit == 4);
      CHECK(plain_map_box(map.desc, start, 0, coord).code() == Code::ERROR_MISALIGNED);
    }
    for (const int64_t column : {-4, 0, 36}) {
      const int64_t start[] = {5, column};
      CHECK(tile_box(map, start, 0, coord, &offset).ok());
      CHECK(coord[0] == column);
      CHECK(plain_map_box(map.desc, start, 0, coord).ok());
    }
  }
}

TEST_CASE("boxes of split rows lie as wgmma reads them: column blocks of 64, each swizzled") {
  const Tensor tensor(matrix(64, 256, 32, 128, Swizzle::b128));
  const TileMap map = made(tensor.request);
  REQUIRE(map.boxes == 1);
  static Shared shared;
  const int64_t start[] = {32, 128};
  load(map, start, &shared);
  for (int64_t row = 0; row < 32; ++row)
    for (int64_t col = 0; col < 128; ++col) {
      const int64_t block = col / 64, c = col % 64;
      const int64_t place = block * 32 * 64 + row * 64 + ((c / 8) ^ (row % 8)) * 8 + c % 8;
      uint16_t element;
      std::memcpy(&element, shared.bytes + place * 2, 2);
      REQUIRE(element == tensor.element(start, {row, col}));
    }
}

TEST_CASE("tensors of more than five dimensions that merge into five") {
  TileRequest request;
  request.rank = 8;
  const int64_t shape[] = {2, 3, 4, 1, 2, 3, 4, 16};
  const int64_t tile[] = {1, 1, 4, 1, 2, 3, 4, 16};
  int64_t stride = 1;
  for (int k = 7; k >= 0; --k) {
    request.shape[k] = shape[k];
    request.tile[k] = tile[k];
    request.stride[k] = stride;
    stride *= shape[k];
  }
  const Tensor tensor(request);
  const TileMap map = made(tensor.request);
  CHECK(map.desc.rank <= 5);
  for (int64_t a = 0; a < 2; ++a)
    for (int64_t b = 0; b < 3; ++b) {
      const int64_t start[] = {a, b, 0, 0, 0, 0, 0, 0};
      check_tile(tensor, map, start);
    }
  // If all modes have gaps between them, none can merge.
  for (int k = 6; k >= 0; --k) request.stride[k] = request.stride[k + 1] * shape[k + 1] + 16;
  TileMap none;
  CHECK(make_tile_map(request, &none).code() == Code::ERROR_RULE);
}

TEST_CASE("a column-major matrix") {
  TileRequest request = matrix(256, 64, 64, 32, Swizzle::b128);
  request.stride[0] = 1;
  request.stride[1] = 256;
  const Tensor tensor(request);
  const TileMap map = made(tensor.request);
  CHECK(map.boxes == 1);
  CHECK(text_of(map.coordinates) == "(0,0) o (256,64):(1@0,1@1)");
  const int64_t start[] = {64, 32};
  check_tile(tensor, map, start);
}

// Both strides are 1. The mode of extent 256 counts as the contiguous one.
TEST_CASE("a matrix with rows of one element") {
  const Tensor tensor(matrix(256, 1, 64, 1, Swizzle::none));
  const TileMap map = made(tensor.request);
  CHECK(map.boxes == 1);
  CHECK(map.desc.rank == 1);
  CHECK(map.desc.global_dim[0] == 256);
  CHECK(map.desc.box_dim[0] == 64);
  for (const int64_t row : {0, 64, 224, 256}) {
    const int64_t start[] = {row, 0};
    check_tile(tensor, map, start);
  }
  // No coordinate of the map stands for the columns, so a tile cannot begin beside them.
  const int64_t beside[] = {0, 1};
  int32_t coord[5];
  uint32_t offset;
  CHECK(tile_box(map, beside, 0, coord, &offset).code() == Code::ERROR_INVALID_ARGUMENT);
}

TEST_CASE("a multicast cuts the tile into equal runs of boxes") {
  TileRequest request = matrix(1024, 512, 128, 128, Swizzle::b128);
  request.multicast = 2;
  const TileMap two = made(request);
  CHECK(two.boxes == 2);
  CHECK(two.desc.rank == 2);  // two boxes need no split
  request.multicast = 4;
  const TileMap four = made(request);
  CHECK(four.boxes == 4);
  request.multicast = 3;
  TileMap none;
  CHECK(make_tile_map(request, &none).code() == Code::ERROR_RULE);
  Tensor tensor(matrix(64, 256, 32, 128, Swizzle::b128));
  tensor.request.multicast = 4;
  const int64_t start[] = {32, 128};
  check_tile(tensor, made(tensor.request), start);
}

TEST_CASE("a layout of shared memory says in which order the tile lies") {
  struct Case {
    const char* shared;
    Swizzle swizzle;
    int boxes;
  };
  for (const Case& c :
       {Case{"(32,64):(64,1)", Swizzle::none, 1}, Case{"(32,64):(1,32)", Swizzle::none, 0},
        Case{"Sw<3,3,3> o (32,(64,1)):(64,(1,0))", Swizzle::b128, 1},
        Case{"(32,(32,2)):(32,(1,1024))", Swizzle::b64, 1},
        Case{"((8,4),64):((64,512),1)", Swizzle::b128, 1},
        Case{"((8,4),(32,2)):((32,512),(1,256))", Swizzle::b64, 1}}) {
    const std::string text = c.shared;
    CAPTURE(text);
    Layout layout;
    REQUIRE(parse(c.shared, &layout).ok());
    Tensor tensor(matrix(96, 128, 32, 64, c.swizzle));
    tensor.request.shared = &layout;
    TileMap map;
    const Status status = make_tile_map(tensor.request, &map);
    if (c.boxes == 0) {
      CHECK(!status.ok());  // the contiguous mode must be contiguous in shared memory, too
      continue;
    }
    REQUIRE(status.ok());
    CHECK(map.boxes == c.boxes);
    static Shared shared;
    const int64_t start[] = {32, 64};
    load(map, start, &shared);
    for (int64_t row = 0; row < 32; ++row)
      for (int64_t col = 0; col < 64; ++col) {
        const auto leaf_sum = [&](int mode, int64_t c0) {
          const Node node = layout.mode(mode);
          int64_t sum = 0;
          for (int leaf = node.begin; leaf < node.end; ++leaf) {
            sum += c0 % layout.shape.value[leaf] * layout.stride[leaf];
            c0 /= layout.shape.value[leaf];
          }
          return sum;
        };
        uint32_t place = static_cast<uint32_t>(leaf_sum(0, row) + leaf_sum(1, col)) * 2;
        const uint32_t span = swizzle_span(c.swizzle);
        if (span != 0) place ^= place >> 3 & (span - 16);
        uint16_t element;
        std::memcpy(&element, shared.bytes + place, 2);
        REQUIRE(element == tensor.element(start, {row, col}));
      }
  }
}

TEST_CASE("requests that cannot be are refused by name") {
  const TileRequest right = matrix(1024, 512, 128, 64, Swizzle::b128);
  TileMap map;
  REQUIRE(make_tile_map(right, &map).ok());
  const auto refused = [&](auto change, const char* argument) {
    TileRequest request = right;
    change(request);
    CHECK(!make_tile_map(request, &map).ok());
    CHECK(std::string(last_failure().fault.argument) == argument);
  };
  refused([](TileRequest& r) { r.rank = 0; }, "rank");
  refused([](TileRequest& r) { r.rank = 9; }, "rank");
  refused([](TileRequest& r) { r.shape[1] = 0; }, "shape");
  refused([](TileRequest& r) { r.tile[0] = 0; }, "tile");
  refused([](TileRequest& r) { r.stride[0] = -1; }, "stride");
  refused([](TileRequest& r) { r.stride[0] = INT64_MAX / 2; }, "stride");
  refused([](TileRequest& r) { r.dtype = DType::B128; }, "dtype");
  CHECK(last_failure().code == Code::ERROR_UNSUPPORTED);
  refused([](TileRequest& r) { r.dtype = DType{0}; }, "dtype");
  CHECK(last_failure().code == Code::ERROR_INVALID_ARGUMENT);
  refused([](TileRequest& r) { r.swizzle = static_cast<Swizzle>(7); }, "swizzle");
  refused([](TileRequest& r) { r.multicast = 17; }, "multicast");
  refused([](TileRequest& r) { r.tile[1] = 100; }, "tile");
  // Larger than shared memory: by a little, and by more than 64 bits can count.
  refused([](TileRequest& r) { r.tile[0] = 1817; }, "tile");
  refused([](TileRequest& r) { r.tile[1] = INT64_MAX / 2 + 2; }, "tile");
  refused([](TileRequest& r) { r.tile[0] = r.tile[1] = int64_t{1} << 40; }, "tile");
  refused(
      [](TileRequest& r) {
        r.shape[0] = r.shape[1] = int64_t{1} << 32;
        r.stride[0] = 0;
      },
      "shape");
  refused([](TileRequest& r) { r.free_start = 4; }, "free_start");
  refused([](TileRequest& r) { r.free_start = 1u << 31; }, "free_start");
  refused([](TileRequest& r) { r.shape[1] = INT64_MAX; }, "shape");
  CHECK(std::string(last_failure().message) ==
        "shape[1] of 9223372036854775807 and stride[1] of 1 elements of 2 bytes span more than the "
        "2^63 - 1 bytes that can be counted");
  CHECK(last_failure().fault.got == INT64_MAX);
  CHECK(last_failure().fault.limit == INT64_MAX / 2);
  refused([](TileRequest& r) { r.stride[1] = 2; }, "stride");
  refused([](TileRequest& r) { r.stride[0] = 500; }, "global_stride_bytes");
  refused([](TileRequest& r) { r.address = 8; }, "global_address");
}

TEST_CASE("random tensors and tiles: each element once, fill outside, no other row's bytes") {
  std::mt19937 random(4);
  const auto pick = [&](std::initializer_list<int64_t> values) {
    return values.begin()[random() % values.size()];
  };
  int served = 0, split = 0, merged = 0, several = 0;
  for (int round = 0; round < 4000; ++round) {
    TileRequest request;
    request.rank = static_cast<int32_t>(1 + random() % 7);
    int64_t stride = 1, size = 1, tile_size = 1;
    for (int k = request.rank - 1; k >= 0; --k) {
      const bool inner = k == request.rank - 1;
      request.shape[k] = inner ? pick({8, 16, 32, 40, 64, 72, 96, 120, 128, 136, 256})
                               : pick({1, 1, 2, 3, 4, 5, 8, 9, 17});
      request.tile[k] = inner ? pick({8, 16, 32, 64, 128})
                              : std::min(request.shape[k] == 1 ? 1 : int64_t{64},
                                         pick({1, 1, 2, 3, 4, 8, request.shape[k]}));
      request.stride[k] = stride;
      stride *= request.shape[k];
      if (random() % 4 == 0) stride += 16 + 8 * (random() % 3);
      stride = (stride + 7) / 8 * 8;
      size *= request.shape[k];
      tile_size *= request.tile[k];
    }
    if (size > 60000 || stride > 200000 || tile_size > 20000) continue;
    request.swizzle = static_cast<Swizzle>(random() % 4);
    request.multicast = static_cast<int32_t>(pick({1, 1, 1, 2, 4}));
    request.free_start = random() % 3 == 0 ? static_cast<uint32_t>(random()) & 255u : 0;
    const Tensor tensor(request);
    TileMap map;
    if (!make_tile_map(tensor.request, &map).ok()) continue;
    ++served;
    split += map.desc.rank > 1 && map.terms > map.coordinates.rank();
    several += map.boxes > 1;
    REQUIRE(map.boxes % request.multicast == 0);
    REQUIRE(map.coordinates.rank() == request.rank);
    Violations violations;
    check_all(map.desc, 90, &violations);
    REQUIRE(violations.count == 0);
    for (int t = 0; t < 3; ++t) {
      int64_t start[8] = {};
      for (int k = 0; k < request.rank; ++k) {
        // From the tile in front of the tensor to the one behind it.
        const int64_t tiles = request.shape[k] / request.tile[k];
        start[k] = (static_cast<int64_t>(random() % static_cast<uint32_t>(tiles + 3)) - 1) *
                   request.tile[k];
        if ((request.free_start >> k & 1) != 0) {
          CHECK(map.aligned[k] == 1);
          start[k] += (static_cast<int64_t>(random() % 3) - 1) * (request.stride[k] == 1 ? 8 : 1);
        }
        if (map.start_limit[k] != 0) {
          ++merged;
          start[k] = std::clamp(start[k], int64_t{0}, map.start_limit[k] - request.tile[k]);
        }
      }
      check_tile(tensor, map, start);
      check_coordinates(map, request, start);
    }
  }
  MESSAGE("served ", served, ", split ", split, ", merged ", merged, ", several ", several);
  CHECK(served > 500);
  CHECK(split > 20);
  CHECK(merged > 20);
  CHECK(several > 50);
}

}  // namespace
}  // namespace tw
