// SPDX-License-Identifier: Apache-2.0
// The support queries through the C++ functions, one per operation, on the host device.
#include <string>
#include <tilewright/supported.hpp>

#include "doctest_main.hpp"

namespace {

using namespace tilewright;

/// 1 or 0 for the answer, or the status that is thrown.
template <class Query, class Desc>
int answer(Query query, const Device& device, const Desc& desc) {
  try {
    return query(device, desc) ? 1 : 0;
  } catch (const Error& error) {
    return error.status();
  }
}

TEST_CASE("a description is served, not served, or wrong") {
  const Device device = Device::host();
  tw_gemm_desc gemm = gemm_desc();
  // the sizes are not set
  CHECK(answer(gemm_supported, device, gemm) == TW_ERROR_INVALID_ARGUMENT);
  gemm.m = gemm.n = gemm.k = 64;
  CHECK(answer(gemm_supported, device, gemm) == 1);
  gemm.a_dtype = TW_DTYPE_U8;
  CHECK(answer(gemm_supported, device, gemm) == 0);
  CHECK(std::string(tw_last_error()).find("a_dtype is u8") == 0);

  tw_rows_desc rows = rows_desc();
  rows.dtype = TW_DTYPE_F32;
  rows.table_rows = rows.columns = rows.count = 16;
  CHECK(answer(gather_supported, device, rows) == 1);
  CHECK(answer(scatter_supported, device, rows) == 1);
  rows.group = 4;  // only a gather has groups
  CHECK(answer(gather_supported, device, rows) == 1);
  CHECK(answer(scatter_supported, device, rows) == TW_ERROR_INVALID_ARGUMENT);
  rows.dtype = TW_DTYPE_I32;
  CHECK(answer(gather_supported, device, rows) == 0);
}

TEST_CASE("operations of one range of elements") {
  const Device device = Device::host();
  tw_copy_desc copy = copy_desc();
  tw_copies_desc copies = copies_desc();
  tw_elementwise_desc elementwise = elementwise_desc();
  tw_prefetch_desc prefetch = prefetch_desc();
  tw_ragged_desc ragged = ragged_desc();
  copy.dtype = copies.dtype = prefetch.dtype = ragged.dtype = TW_DTYPE_U8;
  copy.rank = copies.rank = elementwise.rank = prefetch.rank = 1;
  copy.shape[0] = copies.shape[0] = elementwise.shape[0] = prefetch.shape[0] = 9;
  copy.src_stride[0] = copies.src_stride[0] = elementwise.a_stride[0] = prefetch.stride[0] = 1;
  copy.dst_stride[0] = copies.dst_stride[0] = elementwise.dst_stride[0] = 1;
  copies.count = ragged.batch = ragged.tokens = ragged.rows = ragged.columns = 3;
  CHECK(answer(copy_supported, device, copy) == 1);
  CHECK(answer(copies_supported, device, copies) == 1);
  CHECK(answer(elementwise_supported, device, elementwise) == 1);
  CHECK(answer(prefetch_supported, device, prefetch) == 1);
  CHECK(answer(ragged_supported, device, ragged) == 1);
  tw_route_desc route = route_desc();
  route.dtype = TW_DTYPE_BF16;
  route.tokens = route.experts = 8, route.top_k = 2;
  CHECK(answer(route_supported, device, route) == 1);
  route.dtype = TW_DTYPE_U8;
  CHECK(answer(route_supported, device, route) == 0);
  tw_grouped_desc grouped = grouped_desc();
  grouped.m = grouped.n = grouped.k = 8, grouped.group_count = 2;
  CHECK(answer(grouped_supported, device, grouped) == 1);
  grouped.grouping = TW_GROUPING_BLOCKS;
  CHECK(answer(grouped_supported, device, grouped) == 0);
  tw_quantize_desc quantize = quantize_desc();
  quantize.src_dtype = TW_DTYPE_BF16, quantize.dst_dtype = TW_DTYPE_F8E4M3;
  quantize.scale = TW_SCALE_1X128;
  quantize.rows = quantize.columns = 8;
  CHECK(answer(quantize_supported, device, quantize) == 1);
  quantize.scale = TW_SCALE_K32_UE8M0;
  CHECK(answer(quantize_supported, device, quantize) == 0);
  copy.src_shape[0] = 4;
  copy.fill = TW_OOB_FILL_NAN;
  ragged.fill = TW_OOB_FILL_NAN;  // bytes have no NaN
  elementwise.dst_dtype = TW_DTYPE_I32;
  copies.count = prefetch.shape[0] = -1;
  CHECK(answer(copy_supported, device, copy) == 0);
  CHECK(answer(ragged_supported, device, ragged) == 0);
  CHECK(answer(elementwise_supported, device, elementwise) == 0);
  CHECK(answer(copies_supported, device, copies) == TW_ERROR_INVALID_ARGUMENT);
  CHECK(answer(prefetch_supported, device, prefetch) == TW_ERROR_INVALID_ARGUMENT);
}

}  // namespace
