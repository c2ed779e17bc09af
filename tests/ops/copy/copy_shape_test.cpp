// SPDX-License-Identifier: Apache-2.0
// How a copy's dimensions are merged, and how each method divides the result.
#include "ops/copy/copy_shape.hpp"

#include <initializer_list>

#include "doctest_main.hpp"
#include "ops/copy/copy_methods.hpp"
#include "tensor_map/rules/check.hpp"
#include "tests/ops/copy/copy_desc.hpp"

using namespace tw;
using namespace tw::test;

namespace {

CopyShape shape_of(const CopyDesc& desc) {
  CopyShape shape;
  const Status status = copy_shape(desc, &shape);
  INFO(last_failure().message);
  REQUIRE(status.ok());
  return shape;
}

constexpr PipelineSize kPipeline{6, 8192, 0, 4};

}  // namespace

TEST_CASE("copy_shape: neighbours that continue each other are one dimension") {
  const CopyShape packed = shape_of(copy_desc(DType::F32, {{4, 30, 30}, {5, 6, 6}, {6, 1, 1}}));
  CHECK(packed.rank == 0);
  CHECK(packed.row_bytes == 4 * 120);
  CHECK(packed.rows == 1);

  // The source has a pitch, so that its rows stay separate.
  const CopyShape pitched = shape_of(copy_desc(DType::F32, {{4, 40, 30}, {5, 8, 6}, {6, 1, 1}}));
  CHECK(pitched.rank == 1);
  CHECK(pitched.row_bytes == 24);
  CHECK(pitched.extent[0] == 20);
  CHECK(pitched.src_stride[0] == 32);
  CHECK(pitched.dst_stride[0] == 24);

  // A transpose has no common row. Its dimensions are sorted by the destination's strides.
  const CopyShape transposed = shape_of(copy_desc(DType::BF16, {{7, 1, 9}, {9, 7, 1}}));
  CHECK(transposed.rank == 2);
  CHECK(transposed.row_bytes == 2);
  CHECK(transposed.dst_stride[0] == 2);
  CHECK(transposed.src_stride[0] == 14);
  CHECK(transposed.extent[0] == 9);

  // Dimensions of extent 1 are dropped, whatever their strides.
  const CopyShape ones = shape_of(copy_desc(DType::U8, {{1, -5, 0}, {3, 1, 1}, {1, 77, 77}}));
  CHECK(ones.rank == 0);
  CHECK(ones.row_bytes == 3);
}

TEST_CASE("copy_shape: backwards on both sides is forwards from the other end") {
  const CopyShape both = shape_of(copy_desc(DType::U16, {{10, -1, -1}}));
  CHECK(both.rank == 0);
  CHECK(both.row_bytes == 20);
  CHECK(both.src_offset == -18);
  CHECK(both.dst_offset == -18);
  CHECK(both.dst_range.low == -18);
  CHECK(both.dst_range.high == 2);
  const CopyShape one = shape_of(copy_desc(DType::U16, {{10, -1, 1}}));
  CHECK(one.rank == 1);
  CHECK(one.row_bytes == 2);
  CHECK(one.src_stride[0] == -2);
}

TEST_CASE("copy_shape: what cannot work is refused by name") {
  CopyShape shape;
  const auto code = [&](const CopyDesc& desc) { return copy_shape(desc, &shape).code(); };
  const int64_t big = int64_t{1} << 40;
  CHECK(code(copy_desc(DType::U8, {{big, 0, 1}, {big, 0, 1}})) == Code::ERROR_OVERFLOW);
  CHECK(code(copy_desc(DType::U8, {{2, INT64_MAX, 1}})) == Code::ERROR_OVERFLOW);
  CHECK(code(copy_desc(DType::F32, {{2, INT64_MIN, 1}})) == Code::ERROR_OVERFLOW);
  CHECK(code(copy_desc(DType::F32, {{2, 1, INT64_MIN}})) == Code::ERROR_OVERFLOW);
  CHECK(code(copy_desc(DType::U8, {{-1, 1, 1}})) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code(copy_desc(DType{1000}, {{1, 1, 1}})) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code(copy_desc(DType::U8, {})) == Code::ERROR_INVALID_ARGUMENT);
  CHECK(code(copy_desc(DType::U8, {{2, 1, 0}})) == Code::ERROR_OVERLAP);
  // An empty copy has no element that could overflow or be written twice.
  CHECK(code(copy_desc(DType::U8, {{big, 0, 0}, {0, 0, 0}, {big, 0, 0}})) == Code::OK);
  CHECK(shape.empty);
}

TEST_CASE("copy_methods: boxes cover rows, fit the stage and end stores at 16 bytes") {
  CopyBoxArgs args;
  const CopyShape odd = shape_of(copy_desc(DType::U8, {{100, 4112, 4128}, {4097, 1, 1}}));
  REQUIRE(fill_boxes(odd, kPipeline, &args));
  CHECK(args.element_bytes == 1);
  CHECK(args.box[0] == 256);
  CHECK(args.box[1] == 32);
  CHECK(args.tile_count[0] == 17);
  CHECK(args.tile_count[1] == 4);
  CHECK(args.tiles == 68);
  CHECK(args.tail_from == 4096);
  CHECK(args.tail_bytes == 1);
  TensorMapDesc src, dst;
  describe_boxes(odd, args, &src, &dst);
  CHECK(src.global_dim[0] == 4097);
  CHECK(dst.global_dim[0] == 4096);
  CHECK(check(src, 90).ok());
  CHECK(check(dst, 90).ok());

  const CopyShape wide = shape_of(copy_desc(DType::F32, {{64, 10000, 9000}, {8192, 1, 1}}));
  REQUIRE(fill_boxes(wide, kPipeline, &args));
  CHECK(args.element_bytes == 8);
  CHECK(args.box[0] == 256);
  CHECK(args.box[1] == 4);
  CHECK(args.box_bytes == 8192);
  CHECK(args.tail_bytes == 0);

  // Refused: rows of no multiple of 16 bytes, unaligned pitches, negative strides, six dimensions.
  CHECK(!fill_boxes(shape_of(copy_desc(DType::U8, {{9, 16, 32}, {15, 1, 1}})), kPipeline, &args));
  CHECK(!fill_boxes(shape_of(copy_desc(DType::U8, {{9, 40, 32}, {32, 1, 1}})), kPipeline, &args));
  CHECK(!fill_boxes(shape_of(copy_desc(DType::U8, {{9, -64, 32}, {32, 1, 1}})), kPipeline, &args));
  CHECK(!fill_boxes(shape_of(copy_desc(DType::U8, {{2, 1 << 16, 1 << 15},
                                                   {2, 1 << 14, 1 << 13},
                                                   {2, 1 << 12, 1 << 11},
                                                   {2, 1 << 10, 1 << 9},
                                                   {2, 1 << 8, 1 << 7},
                                                   {16, 1, 1}})),
                    kPipeline, &args));
  // Refused: a box coordinate outside 32 bits.
  CHECK(!fill_boxes(shape_of(copy_desc(DType::U8, {{int64_t{1} << 31, 32, 48}, {16, 1, 1}})),
                    kPipeline, &args));
}

TEST_CASE("copy_methods: a box is no larger than the stage that holds it") {
  CopyBoxArgs args;
  // 256 elements of 8 bytes: a single row of a box is 2 KB.
  const CopyShape wide = shape_of(copy_desc(DType::F32, {{64, 10000, 9000}, {8192, 1, 1}}));
  CHECK(!fill_boxes(wide, PipelineSize{4, 1024, 0, 4}, &args));
  CHECK(!fill_boxes(wide, PipelineSize{4, 1920, 0, 4}, &args));
  REQUIRE(fill_boxes(wide, PipelineSize{4, 2048, 0, 4}, &args));
  CHECK(args.box_bytes == 2048);
  const CopyShape narrow = shape_of(copy_desc(DType::F32, {{64, 10000, 9000}, {256, 1, 1}}));
  REQUIRE(fill_boxes(narrow, PipelineSize{4, 1024, 0, 4}, &args));
  CHECK(args.box_bytes == 1024);
}

TEST_CASE("copy_methods: rows are cut evenly, and heads and tails are what is left") {
  CopyRowArgs args;
  const CopyShape row = shape_of(copy_desc(DType::U8, {{20001, 1, 1}}));
  REQUIRE(fill_rows(row, kPipeline, 5, 1, &args));
  CHECK(args.head_bytes == 11);
  CHECK(args.body_bytes == 19984);
  CHECK(args.tail_bytes == 6);
  CHECK(args.chunks == 3);
  CHECK(args.chunk_bytes == 6672);
  CHECK(args.last_bytes == 19984 - 2 * 6672);
  // With many warps the chunks are smaller.
  REQUIRE(fill_rows(row, kPipeline, 0, 528, &args));
  CHECK(args.chunk_bytes < 1024);
  for (int64_t bytes = 32; bytes < 40000; bytes += 37)
    for (uint32_t misalignment : {0u, 1u, 15u})
      for (uint32_t warps : {1u, 32u, 528u}) {
        const CopyShape any = shape_of(copy_desc(DType::U8, {{3, 65536, 65536}, {bytes, 1, 1}}));
        REQUIRE(fill_rows(any, kPipeline, misalignment, warps, &args));
        const bool whole =
            args.head_bytes + args.body_bytes + args.tail_bytes == static_cast<uint64_t>(bytes) &&
            uint64_t{args.chunks - 1} * args.chunk_bytes + args.last_bytes == args.body_bytes &&
            args.last_bytes > 0 && args.last_bytes <= args.chunk_bytes &&
            args.chunk_bytes % 16 == 0 && args.last_bytes % 16 == 0 &&
            args.stage_chunks * args.chunk_bytes <= args.stage_bytes;
        if (!whole) CHECK(whole);
      }
}

TEST_CASE("copy_methods: plain units are as wide as everything is aligned") {
  const CopyShape shape = shape_of(copy_desc(DType::U8, {{10, 48, 96}, {24, 1, 1}}));
  CHECK(strided_unit(shape, 16) == 8);
  CHECK(strided_unit(shape, 4) == 4);
  CopyStridedArgs args;
  fill_strided(shape, 16, &args);
  CHECK(args.units == 30);
  CHECK(args.rank == 2);
  CHECK(args.extent[0] == 3);
  const CopyShape transposed = shape_of(copy_desc(DType::BF16, {{64, 1, 32}, {32, 64, 1}}));
  CHECK(strided_unit(transposed, 16) == 2);
}
