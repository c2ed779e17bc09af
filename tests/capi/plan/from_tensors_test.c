/* SPDX-License-Identifier: Apache-2.0 */
/* Filling descriptions from tensors: views, orders, shared matrices, mismatches. */

#include "tests/capi/common/plan_harness.h"

static tw_tensor tensor(tw_dtype dtype, int32_t rank, const int64_t *shape, const int64_t *stride) {
  tw_tensor out;
  OK(tw_tensor_init(&out, sizeof out));
  out.dtype = dtype;
  out.rank = rank;
  out.address = 4096;
  for (int32_t i = 0; i < rank; ++i) out.shape[i] = shape[i], out.stride[i] = stride[i];
  return out;
}

#define TENSOR(dtype, rank, ...) tensor(dtype, rank, __VA_ARGS__)
#define DIMS(...)     \
  (const int64_t[]) { \
    __VA_ARGS__       \
  }

static void products(void) {
  tw_gemm_desc desc, before;
  const tw_tensor a = TENSOR(TW_DTYPE_BF16, 2, DIMS(5, 16), DIMS(24, 1));
  const tw_tensor turned = TENSOR(TW_DTYPE_BF16, 2, DIMS(16, 8), DIMS(1, 32)); /* a view of B^T */
  const tw_tensor d = TENSOR(TW_DTYPE_F32, 2, DIMS(5, 8), DIMS(8, 1));
  const tw_tensor batch = TENSOR(TW_DTYPE_F32, 3, DIMS(3, 5, 8), DIMS(64, 8, 1));
  OK(tw_gemm_desc_init(&desc, sizeof desc));
  desc.max_sms = 7;
  OK(tw_gemm_desc_from_tensors(&a, &turned, &d, &d, &desc));
  EQUAL(desc.m, 5);
  EQUAL(desc.n, 8);
  EQUAL(desc.k, 16);
  EQUAL(desc.lda, 24);
  EQUAL(desc.ldb, 32);
  EQUAL(desc.ldd, 8);
  EQUAL(desc.ldc, 8);
  EQUAL(desc.a_order, TW_ROW_MAJOR);
  EQUAL(desc.b_order, TW_COLUMN_MAJOR);
  EQUAL(desc.d_dtype, TW_DTYPE_F32);
  EQUAL(desc.batch_count, 1);
  EQUAL(desc.max_sms, 7); /* other fields are kept */
  OK(tw_gemm_desc_from_tensors(&a, &turned, NULL, &batch, &desc));
  EQUAL(desc.batch_count, 3);
  EQUAL(desc.a_batch_stride, 0); /* one A for the whole batch */
  EQUAL(desc.d_batch_stride, 64);
  /* f32 tensors give tf32 if the description was set to tf32 before. */
  {
    const tw_tensor a32 = TENSOR(TW_DTYPE_F32, 2, DIMS(5, 16), DIMS(24, 1));
    const tw_tensor b32 = TENSOR(TW_DTYPE_F32, 2, DIMS(16, 8), DIMS(1, 32));
    const tw_tensor a8 = TENSOR(TW_DTYPE_F8E4M3, 2, DIMS(5, 16), DIMS(24, 1));
    const tw_tensor b8 = TENSOR(TW_DTYPE_F8E5M2, 2, DIMS(16, 8), DIMS(1, 32));
    tw_gemm_desc narrow;
    OK(tw_gemm_desc_init(&narrow, sizeof narrow));
    OK(tw_gemm_desc_from_tensors(&a32, &b32, NULL, &d, &narrow));
    EQUAL(narrow.a_dtype, TW_DTYPE_F32);
    narrow.a_dtype = TW_DTYPE_TF32;
    OK(tw_gemm_desc_from_tensors(&a32, &b32, NULL, &d, &narrow));
    EQUAL(narrow.a_dtype, TW_DTYPE_TF32);
    EQUAL(narrow.b_dtype, TW_DTYPE_TF32);
    EQUAL(narrow.d_dtype, TW_DTYPE_F32);
    OK(tw_gemm_desc_from_tensors(&a8, &b8, NULL, &d, &narrow));
    EQUAL(narrow.a_dtype, TW_DTYPE_F8E4M3);
    EQUAL(narrow.b_dtype, TW_DTYPE_F8E5M2);
  }
  /* Tensors that do not match are refused by name, and the description is unchanged. */
  before = desc;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "b", tw_gemm_desc_from_tensors(&a, &a, NULL, &d, &desc));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "d", tw_gemm_desc_from_tensors(&a, &turned, NULL, &a, &desc));
  tw_tensor odd = a;
  odd.stride[1] = 2;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "a", tw_gemm_desc_from_tensors(&odd, &turned, NULL, &d, &desc));
  tw_tensor kept = d;
  kept.flags = TW_TENSOR_READ_ONLY;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "d", tw_gemm_desc_from_tensors(&a, &turned, NULL, &kept, &desc));
  CHECK(memcmp(&before, &desc, sizeof desc) == 0);
}

static void copies_and_sums(void) {
  tw_copy_desc copy;
  tw_elementwise_desc sum;
  const tw_tensor rows = TENSOR(TW_DTYPE_F32, 2, DIMS(4, 6), DIMS(6, 1));
  const tw_tensor turned = TENSOR(TW_DTYPE_F32, 2, DIMS(4, 6), DIMS(1, 4));
  const tw_tensor line = TENSOR(TW_DTYPE_BF16, 1, DIMS(6), DIMS(1));
  OK(tw_copy_desc_init(&copy, sizeof copy));
  OK(tw_copy_desc_from_tensors(&turned, &rows, &copy));
  EQUAL(copy.rank, 2);
  EQUAL(copy.shape[1], 6);
  EQUAL(copy.shape[2], TW_UNSET);
  EQUAL(copy.src_stride[1], 4);
  EQUAL(copy.dst_stride[0], 6);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "src", tw_copy_desc_from_tensors(&line, &rows, &copy));
  OK(tw_elementwise_desc_init(&sum, sizeof sum));
  OK(tw_elementwise_desc_from_tensors(&turned, &line, &rows, &sum));
  EQUAL(sum.b_dtype, TW_DTYPE_BF16);
  EQUAL(sum.b_stride[0], 0); /* broadcast to each row */
  EQUAL(sum.b_stride[1], 1);
  EQUAL(sum.a_stride[1], 4);
  OK(tw_elementwise_desc_from_tensors(&turned, NULL, &rows, &sum));
  EQUAL(sum.b_dtype, 0);
  EQUAL(sum.b_stride[0], TW_UNSET);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "a", tw_elementwise_desc_from_tensors(&rows, NULL, &line, &sum));
}

static void routing(void) {
  tw_route_desc desc;
  const tw_tensor logits = TENSOR(TW_DTYPE_BF16, 2, DIMS(5, 16), DIMS(20, 1));
  const tw_tensor ids = TENSOR(TW_DTYPE_I32, 2, DIMS(5, 4), DIMS(4, 1));
  const tw_tensor wide = TENSOR(TW_DTYPE_I64, 2, DIMS(7, 4), DIMS(4, 1));
  const tw_tensor apart = TENSOR(TW_DTYPE_I32, 2, DIMS(5, 4), DIMS(8, 1));
  OK(tw_route_desc_init(&desc, sizeof desc));
  OK(tw_route_desc_from_tensors(&logits, &ids, &desc));
  EQUAL(desc.dtype, TW_DTYPE_BF16);
  EQUAL(desc.tokens, 5);
  EQUAL(desc.experts, 16);
  EQUAL(desc.top_k, 4);
  EQUAL(desc.logits_pitch, 20);
  NULL_FAILS("logits", tw_route_desc_from_tensors(NULL, &ids, &desc));
  NULL_FAILS("ids", tw_route_desc_from_tensors(&logits, NULL, &desc));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "ids", tw_route_desc_from_tensors(&logits, &wide, &desc));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "ids", tw_route_desc_from_tensors(&logits, &apart, &desc));
  OK(tw_route_desc_init(&desc, sizeof desc));
  desc.flags = TW_ROUTE_GIVEN_IDS;
  OK(tw_route_desc_from_tensors(NULL, &wide, &desc));
  EQUAL(desc.id_dtype, TW_DTYPE_I64);
  EQUAL(desc.dtype, 0);
  EQUAL(desc.tokens, 7);
  EQUAL(desc.top_k, 4);
  EQUAL(desc.experts, TW_UNSET);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "logits", tw_route_desc_from_tensors(&logits, &wide, &desc));
}

static void quantisation(void) {
  tw_quantize_desc desc;
  const tw_tensor src = TENSOR(TW_DTYPE_BF16, 2, DIMS(300, 520), DIMS(600, 1));
  const tw_tensor dst = TENSOR(TW_DTYPE_F8E4M3, 2, DIMS(300, 520), DIMS(528, 1));
  const tw_tensor turned = TENSOR(TW_DTYPE_F8E4M3, 2, DIMS(300, 520), DIMS(1, 300));
  const tw_tensor deep = TENSOR(TW_DTYPE_F32, 2, DIMS(300, 5), DIMS(1, 304));
  const tw_tensor block = TENSOR(TW_DTYPE_F32, 2, DIMS(3, 5), DIMS(8, 1));
  const tw_tensor line = TENSOR(TW_DTYPE_F32, 1, DIMS(300), DIMS(1));
  const tw_tensor one = TENSOR(TW_DTYPE_F32, 0, DIMS(0), DIMS(0));
  const tw_tensor wide = TENSOR(TW_DTYPE_F64, 2, DIMS(3, 5), DIMS(8, 1));
  OK(tw_quantize_desc_init(&desc, sizeof desc));
  desc.scale = TW_SCALE_1X128;
  OK(tw_quantize_desc_from_tensors(&src, &dst, &deep, &desc));
  EQUAL(desc.src_dtype, TW_DTYPE_BF16);
  EQUAL(desc.dst_dtype, TW_DTYPE_F8E4M3);
  EQUAL(desc.rows, 300);
  EQUAL(desc.columns, 520);
  EQUAL(desc.src_pitch, 600);
  EQUAL(desc.dst_pitch, 528);
  EQUAL(desc.scale_order, TW_COLUMN_MAJOR);
  EQUAL(desc.scale_ld, 304);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "scale",
        tw_quantize_desc_from_tensors(&src, &dst, &block, &desc));
  desc.scale = TW_SCALE_128X128;
  OK(tw_quantize_desc_from_tensors(&src, &dst, &block, &desc));
  EQUAL(desc.scale_order, TW_ROW_MAJOR);
  EQUAL(desc.scale_ld, 8);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "scale",
        tw_quantize_desc_from_tensors(&src, &dst, &wide, &desc));
  FAILS(TW_ERROR_INVALID_ARGUMENT, "dst",
        tw_quantize_desc_from_tensors(&src, &turned, &block, &desc));
  NULL_FAILS("src", tw_quantize_desc_from_tensors(NULL, &dst, &block, &desc));
  NULL_FAILS("dst", tw_quantize_desc_from_tensors(&src, NULL, &block, &desc));
  NULL_FAILS("scale", tw_quantize_desc_from_tensors(&src, &dst, NULL, &desc));
  desc.scale = TW_SCALE_ROW;
  OK(tw_quantize_desc_from_tensors(&dst, &src, &line, &desc));
  EQUAL(desc.src_dtype, TW_DTYPE_F8E4M3);
  EQUAL(desc.scale_ld, 1);
  desc.scale = TW_SCALE_TENSOR;
  OK(tw_quantize_desc_from_tensors(&src, &dst, &one, &desc));
  EQUAL(desc.scale_ld, 0);
  EQUAL(desc.scale_order, TW_ROW_MAJOR);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "scale",
        tw_quantize_desc_from_tensors(&src, &dst, &line, &desc));
}

static void rows_and_tiles(void) {
  tw_rows_desc desc;
  tw_ragged_desc ragged;
  tw_tile_desc tile;
  const tw_tensor table = TENSOR(TW_DTYPE_BF16, 2, DIMS(100, 32), DIMS(40, 1));
  const tw_tensor index = TENSOR(TW_DTYPE_I64, 1, DIMS(7), DIMS(1));
  const tw_tensor packed = TENSOR(TW_DTYPE_BF16, 2, DIMS(7, 32), DIMS(32, 1));
  const tw_tensor offsets = TENSOR(TW_DTYPE_I32, 1, DIMS(3), DIMS(1));
  const tw_tensor padded = TENSOR(TW_DTYPE_BF16, 3, DIMS(2, 4, 32), DIMS(128, 32, 1));
  OK(tw_rows_desc_init(&desc, sizeof desc));
  OK(tw_rows_desc_from_tensors(&table, &index, &packed, &desc));
  EQUAL(desc.table_rows, 100);
  EQUAL(desc.table_pitch, 40);
  EQUAL(desc.columns, 32);
  EQUAL(desc.count, 7);
  EQUAL(desc.index_dtype, TW_DTYPE_I64);
  desc.group = 2;
  FAILS(TW_ERROR_INVALID_ARGUMENT, "index",
        tw_rows_desc_from_tensors(&table, &index, &packed, &desc));
  OK(tw_ragged_desc_init(&ragged, sizeof ragged));
  OK(tw_ragged_desc_from_tensors(&packed, &offsets, &padded, &ragged));
  EQUAL(ragged.batch, 2);
  EQUAL(ragged.tokens, 7);
  EQUAL(ragged.rows, 4);
  EQUAL(ragged.padded_batch_pitch, 128);
  FAILS(TW_ERROR_INVALID_ARGUMENT, "offsets",
        tw_ragged_desc_from_tensors(&packed, &index, &padded, &ragged));
  routing();
  quantisation();
  OK(tw_tile_desc_init(&tile, sizeof tile));
  OK(tw_tile_desc_from_tensor(&table, &tile));
  EQUAL(tile.global_address, 4096);
  EQUAL(tile.stride[0], 40);
  EQUAL(tile.tile[0], TW_UNSET);
}

int main(int argc, char **argv) {
  harness_start(argc, argv);
  RUN(products);
  RUN(copies_and_sums);
  RUN(rows_and_tiles);
  return harness_end();
}
