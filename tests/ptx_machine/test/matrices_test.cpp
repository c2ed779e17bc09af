// SPDX-License-Identifier: Apache-2.0
// Matrix instructions, with products of small integers, which are exact.
#include "tests/ptx_machine/instructions/matrices.hpp"

#include "kernels/common/convert.h"
#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

uint32_t half(float value) {
  return encode(kFormatF16, value);
}

}  // namespace

TEST_CASE("matrices: ldmatrix and stmatrix, also transposed") {
  Lab lab;
  // Element (row, column) is 100 * row + column; a lane's input holds its two elements.
  lab.fill([](size_t l) {
    const uint64_t first = 100 * (l / 4) + 2 * (l % 4);
    return first | (first + 1) << 16;
  });
  const std::string store =
      "mov.u32 %r10, fixed;\nand.b32 %r4, %r0, 7;\nshl.b32 %r4, %r4, 4;\nadd.s32 %r10, %r10, %r4;\n"
      "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r10], {%r1};\n";
  lab.run(store +
          "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r10];\nst.global.u32 [%d2], %r3;");
  CHECK(lab.out == lab.in);
  lab.run(store +
          "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r3}, [%r10];\n"
          "movmatrix.sync.aligned.m8n8.trans.b16 %r4, %r3;\nst.global.v2.u32 [%d2], {%r3, %r4};");
  for (uint64_t l = 0; l < 32; ++l) {
    const uint64_t row = l / 4, column = 2 * (l % 4);
    CHECK(static_cast<uint32_t>(lab.out[l]) ==
          100 * column + row + ((100 * (column + 1) + row) << 16));
    CHECK((lab.out[l] >> 32) == lab.in[l]);
  }
}

TEST_CASE("matrices: mma.sync") {
  Lab lab;
  // A (row, k) = row, B (k, column) = column: D = 16 * row * column + 1.
  lab.fill([](size_t l) {
    return half(static_cast<float>(l / 4)) * 0x10001u |
           uint64_t{half(static_cast<float>(l / 4 + 8)) * 0x10001u} << 32;
  });
  lab.run(
      "mov.f32 %f1, 0f3F800000;\n"
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f3, %f4, %f5, %f6}, {%r1, %r2, %r1, "
      "%r2}, {%r1, %r1}, {%f1, %f1, %f1, %f1};\n"
      "st.global.v2.f32 [%d2], {%f4, %f6};");
  for (uint64_t l = 0; l < 32; ++l) {
    const float row = static_cast<float>(l / 4), column = static_cast<float>(2 * (l % 4) + 1);
    CHECK(std::bit_cast<float>(static_cast<uint32_t>(lab.out[l])) == 16 * row * column + 1);
    CHECK(std::bit_cast<float>(static_cast<uint32_t>(lab.out[l] >> 32)) ==
          16 * (row + 8) * column + 1);
  }
  lab.fill([](size_t l) { return 0x0101010101010101u * (l / 4); });
  lab.run(
      "mov.u32 %r5, 3;\nmma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r6, %r7, %r8, %r9}, "
      "{%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r5, %r5, %r5, %r5};\n"
      "st.global.u32 [%d2], %r7;");
  for (uint64_t l = 0; l < 32; ++l) CHECK(lab.out[l] == 32 * (l / 4) * (2 * (l % 4) + 1) + 3);
}

TEST_CASE("matrices: wgmma of operands without a swizzle, and the order of its products") {
  Lab lab;
  lab.shape.block[0] = 128;
  // 64 x 16 of A and 8 x 16 of B in shared memory: all of A is 1, all of B is 2.
  const std::string body =
      "mov.u32 %r10, fixed;\nshl.b32 %r4, %r0, 4;\nadd.s32 %r4, %r4, %r10;\nmov.u32 %r5, "
      "0x3c003c00;\nmov.u32 %r6, 0x40004000;\n"
      "st.shared.v4.u32 [%r4], {%r5, %r5, %r5, %r5};\nst.shared.v4.u32 [%r4+2048], {%r6, %r6, %r6, "
      "%r6};\n"
      "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
      // LBO 128 and SBO 256 bytes, in units of 16.
      "shr.u32 %r7, %r10, 4;\ncvt.u64.u32 %d5, %r7;\nor.b64 %d5, %d5, 0x0000001000080000;\nadd.s64 "
      "%d6, %d5, 128;\n"
      "wgmma.fence.sync.aligned;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f3, %f4, %f5, %f6}, %d5, %d6, 0, 1, 1, "
      "0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f3, %f4, %f5, %f6}, %d5, %d6, 1, 1, 1, "
      "0, 0;\n"
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\nst.global.v2.f32 [%d2], "
      "{%f3, %f6};";
  for (const bool late : {false, true})
    for (const uint64_t seed : {0, 5}) {
      lab.options.late = late;
      lab.options.seed = seed;
      lab.run(body);
      for (const uint64_t out : lab.out) CHECK(out == 0x4280000042800000u);  // 64
    }
}
