// SPDX-License-Identifier: Apache-2.0
// A permutation kernel must load exactly the bytes of each line: after the last line of a
// tensor there may be no memory.
#include "ops/copy/copy_permute.hpp"

#include <initializer_list>

#include "doctest_main.hpp"
#include "ops/copy/copy_methods.hpp"
#include "tests/ops/copy/copy_desc.hpp"

using namespace tw;
using namespace tw::test;

namespace {

CopyShape shape_of(DType type, std::initializer_list<CopyDim> dims) {
  CopyShape shape;
  REQUIRE(copy_shape(copy_desc(type, dims), &shape).ok());
  return shape;
}

// An asynchronous copy (4 bytes or more) is limited to the valid bytes; a plain load is not.
u32 reach_of(const CopyPermuteArgs& args, u32 line) {
  const u32 loads = (line + args.load_bytes - 1) / args.load_bytes;
  return args.load_bytes >= 4 ? line : loads * args.load_bytes;
}

// Checks loads of full lines and of lines at the tensor's edge, at every alignment of the address.
// Returns false if the shape is not a permutation.
bool check_loads(const CopyShape& shape) {
  CopyPermuteArgs args;
  if (!fill_permute(shape, &args)) return false;
  for (uint64_t src = 0; src < 16; src += args.unit_bytes) {
    fit_permute(src, 0, &args);
    CAPTURE(src);
    CAPTURE(args.unit_bytes);
    CAPTURE(args.load_bytes);
    CHECK(src % args.load_bytes == 0);
    CHECK(args.load_bytes >= args.unit_bytes);
    u32 lines[2] = {args.src_line_bytes.full, args.src_line_bytes.full};
    if (args.src_line_bytes.grid_dim >= 0) {
      const PermuteGridDim& dim = args.grid[args.src_line_bytes.grid_dim];
      lines[1] = permute_extent(args, args.src_line_bytes, dim.tiles.divisor - 1);
    }
    for (const u32 line : lines) {
      CAPTURE(line);
      CHECK(reach_of(args, line) == line);
    }
    CHECK(args.load_lanes * args.load_bytes < 2 * args.src_line_bytes.full + args.load_bytes);
  }
  return true;
}

}  // namespace

TEST_CASE("copy_permute: loads end where their lines end") {
  // Rows of odd length in both operands, with even strides.
  CHECK(check_loads(shape_of(DType::U8, {{8, 1058, 16}, {16, 66, 1}, {65, 1, 128}})));
  CHECK(check_loads(shape_of(DType::U8, {{8, 1058, 16}, {16, 66, 1}, {64, 1, 128}})));
  int checked = 0;
  for (int64_t columns = 33; columns < 300; columns += 13)
    for (const int64_t pitch : {columns, (columns + 1) / 2 * 2, (columns + 15) / 16 * 16})
      for (const DType type : {DType::U8, DType::BF16, DType::F32, DType::F64}) {
        CAPTURE(columns);
        CAPTURE(pitch);
        CAPTURE(dtype_name(type));
        checked += check_loads(shape_of(type, {{64, pitch, 1}, {columns, 1, 64}}));
      }
  CHECK(checked > 100);
}
