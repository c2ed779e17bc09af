// SPDX-License-Identifier: Apache-2.0
// A permutation kernel must load exactly the bytes of each line's run: after the last line of a
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
u32 reach_of(const CopyPermuteArgs& args, u32 run) {
  const u32 loads = (run + args.load_bytes - 1) / args.load_bytes;
  return args.load_bytes >= 4 ? run : loads * args.load_bytes;
}

// Checks loads of full runs and of runs at the tensor's edge, at every alignment of the address.
// Returns false if the shape is not a permutation.
bool check_loads(const CopyShape& shape) {
  CopyPermuteArgs args;
  if (!fill_permute(shape, &args)) return false;
  for (uint64_t src = 0; src < 16; src += args.element_bytes) {
    fit_permute(src, 0, &args);
    CAPTURE(src);
    CAPTURE(args.element_bytes);
    CAPTURE(args.load_bytes);
    CHECK(src % args.load_bytes == 0);
    CHECK(args.load_bytes >= args.element_bytes);
    u32 runs[2] = {args.src_run.full, args.src_run.full};
    if (args.src_run.grid_dim >= 0) {
      const PermuteGridDim& dim = args.grid[args.src_run.grid_dim];
      runs[1] = permute_extent(args, args.src_run, dim.tiles.divisor - 1);
    }
    for (const u32 run : runs) {
      CAPTURE(run);
      CHECK(reach_of(args, run) == run);
    }
    CHECK(args.load_lanes * args.load_bytes < 2 * args.src_run.full + args.load_bytes);
  }
  return true;
}

}  // namespace

TEST_CASE("copy_permute: loads end with the runs that they are of") {
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
