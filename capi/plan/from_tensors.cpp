// SPDX-License-Identifier: Apache-2.0
// C API: the tw_x_desc_from_tensors functions. They derive types, extents, orders, leading
// dimensions and strides from tensors, so that no binding has to.
#include <algorithm>
#include <string>

#include "capi/common/boundary.hpp"
#include "capi/tensor_map/tensor.hpp"

using namespace tw;
using namespace tw::capi;

namespace {

Status wrong(const char* name, const char* rule, int64_t got, int64_t limit,
             const std::string& text) {
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = name, .rule = rule, .got = got, .limit = limit}, "%s %s", name,
              text.c_str());
}

Status check_written(const tw_tensor& tensor, const char* name) {
  if ((tensor.flags & TW_TENSOR_READ_ONLY) == 0) return {};
  return wrong(name, "tensor_read_only", tensor.flags, 0,
               "is TW_TENSOR_READ_ONLY, and the operation writes to it: copy it first");
}

// "4 x 16", for messages.
std::string extents(const tw_tensor& tensor) {
  std::string out = tensor.rank == 0 ? "no dimension" : "";
  for (int32_t i = 0; i < tensor.rank; ++i)
    out += (i == 0 ? "" : " x ") + std::to_string(tensor.shape[i]);
  return out;
}

// Reads a tensor that must have `least` to `maximum` dimensions.
Status read(const tw_tensor* in, const char* name, int32_t least, int32_t maximum, tw_tensor* out) {
  TW_TRY(read_tensor(in, name, out));
  if (out->rank >= least && out->rank <= maximum) return {};
  const std::string wanted = least == maximum
                                 ? std::to_string(least)
                                 : std::to_string(least) + " to " + std::to_string(maximum);
  return wrong(name, "tensor_rank", out->rank, maximum,
               "has " + std::to_string(out->rank) + " dimensions: it takes " + wanted);
}

Status check_extent(const char* name, const char* what, int64_t got, const char* other,
                    int64_t wanted) {
  if (got == wanted) return {};
  return wrong(name, "tensor_extent", got, wanted,
               std::string("has ") + std::to_string(got) + " " + what + " and " + other + " " +
                   std::to_string(wanted) + ": they must agree");
}

// A matrix as an order and a leading dimension. One of its two strides must be 1, unless the extent
// is 1. If both orders describe the matrix, `preferred` is used.
struct Matrix {
  int64_t rows = 0, columns = 0, batch = 1, leading = 0, matrix_stride = 0;
  tw_order order = TW_ROW_MAJOR;
};

bool as_order(const tw_tensor& tensor, tw_order order, Matrix* out) {
  const int32_t last = tensor.rank - 1, first = last - 1;
  const int32_t inner = order == TW_ROW_MAJOR ? last : first;
  const int32_t outer = order == TW_ROW_MAJOR ? first : last;
  const int64_t contiguous = tensor.shape[inner], lines = tensor.shape[outer];
  if (contiguous > 1 && tensor.stride[inner] != 1) return false;
  if (lines > 1 && tensor.stride[outer] < contiguous) return false;
  out->order = order;
  out->leading = lines > 1 ? tensor.stride[outer] : std::max<int64_t>(contiguous, 1);
  return true;
}

Status read_matrix(const tw_tensor& tensor, const char* name, tw_order preferred, Matrix* out) {
  const int32_t last = tensor.rank - 1, first = last - 1;
  out->rows = tensor.shape[first];
  out->columns = tensor.shape[last];
  if (tensor.rank == 3) {
    out->batch = tensor.shape[0];
    out->matrix_stride = tensor.stride[0];
  }
  const tw_order other = preferred == TW_ROW_MAJOR ? TW_COLUMN_MAJOR : TW_ROW_MAJOR;
  if (as_order(tensor, preferred, out) || as_order(tensor, other, out)) return {};
  return wrong(name, "tensor_strides", tensor.stride[last], 1,
               "of " + extents(tensor) + " elements has strides " +
                   std::to_string(tensor.stride[first]) + " and " +
                   std::to_string(tensor.stride[last]) +
                   ": a matrix must have stride 1 along its rows or its columns, and its rows or "
                   "columns must not overlap; copy it first");
}

Status same_shape(const tw_tensor& a, const char* a_name, const tw_tensor& b, const char* b_name) {
  if (a.rank == b.rank && std::equal(a.shape, a.shape + a.rank, b.shape)) return {};
  return wrong(a_name, "tensor_shape", a.rank, b.rank,
               "is " + extents(a) + " and " + b_name + " " + extents(b) + ": they must agree");
}

// The strides of a source for the destination's shape. Dimensions are matched from the last one on;
// missing dimensions and extents of 1 are broadcast.
Status broadcast(const tw_tensor& source, const char* name, const tw_tensor& dst,
                 int64_t (&stride)[8]) {
  unset(stride);
  for (int32_t i = 0; i < dst.rank; ++i) {
    const int32_t at = i - (dst.rank - source.rank);
    const bool repeats = at < 0 || (source.shape[at] == 1 && dst.shape[i] != 1);
    if (!repeats && source.shape[at] != dst.shape[i])
      return wrong(name, "tensor_shape", source.shape[at], dst.shape[i],
                   "is " + extents(source) + " and dst " + extents(dst) +
                       ": an extent must equal dst's, or be 1 to be broadcast");
    stride[i] = repeats ? 0 : source.stride[at];
  }
  if (source.rank <= dst.rank) return {};
  return wrong(name, "tensor_rank", source.rank, dst.rank,
               "has more dimensions than dst: " + extents(source) + " and " + extents(dst));
}

void set_dims(const tw_tensor& tensor, int64_t (&stride)[8]) {
  unset(stride);
  std::copy_n(tensor.stride, tensor.rank, stride);
}

// Fills the fields that tw_copy_desc and tw_copies_desc have in common.
template <class Desc>
Status fill_copy(const tw_tensor* src, const tw_tensor* dst, Desc* desc) {
  TW_TRY(require(src, "src"));
  TW_TRY(require(dst, "dst"));
  tw_tensor from{}, to{};
  TW_TRY(read(src, "src", 1, 8, &from));
  TW_TRY(read(dst, "dst", 1, 8, &to));
  TW_TRY(check_written(to, "dst"));
  TW_TRY(same_shape(from, "src", to, "dst"));
  if (from.dtype != to.dtype)
    return wrong("src", "tensor_dtype", from.dtype, to.dtype,
                 std::string("is ") + tw_dtype_name(from.dtype) + " and dst " +
                     tw_dtype_name(to.dtype) +
                     ": a copy cannot convert types; use an elementwise plan");
  desc->dtype = to.dtype;
  desc->rank = to.rank;
  unset(desc->shape);
  std::copy_n(to.shape, to.rank, desc->shape);
  set_dims(from, desc->src_stride);
  set_dims(to, desc->dst_stride);
  return {};
}

// The batch stride for a description; the default, -1, if there is one product.
int64_t batch_stride(const Matrix& operand, int64_t products) {
  return products > 1 ? operand.batch == 1 ? 0 : operand.matrix_stride : -1;
}

Status check_batch(const char* name, const Matrix& operand, int64_t products) {
  if (operand.batch == products || operand.batch == 1) return {};
  return wrong(name, "tensor_batch", operand.batch, products,
               "has " + std::to_string(operand.batch) + " matrices and d " +
                   std::to_string(products) + ": they must agree, or be 1 to be shared");
}

Status fill_gemm(const tw_tensor& a, const tw_tensor& b, const tw_tensor* c, const tw_tensor& d,
                 tw_gemm_desc* desc) {
  Matrix a_matrix, b_matrix, c_matrix, d_matrix;
  TW_TRY(read_matrix(a, "a", TW_ROW_MAJOR, &a_matrix));
  TW_TRY(read_matrix(b, "b", TW_ROW_MAJOR, &b_matrix));
  TW_TRY(read_matrix(d, "d", TW_ROW_MAJOR, &d_matrix));
  TW_TRY(check_extent("b", "rows", b_matrix.rows, "a's columns are", a_matrix.columns));
  TW_TRY(check_extent("d", "rows", d_matrix.rows, "a's are", a_matrix.rows));
  const int64_t d_columns = desc->gate == TW_GATE_NONE ? b_matrix.columns : b_matrix.columns / 2;
  TW_TRY(check_extent("d", "columns", d_matrix.columns,
                      desc->gate == TW_GATE_NONE ? "b's are" : "half of b's are", d_columns));
  TW_TRY(check_batch("a", a_matrix, d_matrix.batch));
  TW_TRY(check_batch("b", b_matrix, d_matrix.batch));
  // If the description asks for tf32, f32 tensors are multiplied as tf32.
  const bool tf32 = desc->a_dtype == TW_DTYPE_TF32;
  const auto type = [&](tw_dtype given) {
    return tf32 && given == TW_DTYPE_F32 ? TW_DTYPE_TF32 : given;
  };
  desc->a_dtype = type(a.dtype), desc->b_dtype = type(b.dtype), desc->d_dtype = d.dtype;
  desc->a_order = a_matrix.order, desc->b_order = b_matrix.order, desc->d_order = d_matrix.order;
  desc->m = a_matrix.rows, desc->n = b_matrix.columns, desc->k = a_matrix.columns;
  desc->lda = a_matrix.leading, desc->ldb = b_matrix.leading, desc->ldd = d_matrix.leading;
  desc->batch_count = d_matrix.batch;
  desc->a_batch_stride = batch_stride(a_matrix, d_matrix.batch);
  desc->b_batch_stride = batch_stride(b_matrix, d_matrix.batch);
  desc->d_batch_stride = d_matrix.batch > 1 ? d_matrix.matrix_stride : -1;
  if (!c) return {};
  TW_TRY(read_matrix(*c, "c", d_matrix.order, &c_matrix));
  TW_TRY(check_extent("c", "rows", c_matrix.rows, "a's are", a_matrix.rows));
  TW_TRY(check_extent("c", "columns", c_matrix.columns, "b's are", b_matrix.columns));
  TW_TRY(check_batch("c", c_matrix, d_matrix.batch));
  if (c_matrix.order != d_matrix.order)
    return wrong("c", "tensor_order", c_matrix.order, d_matrix.order,
                 "has another order than d: both must be row-major or both column-major");
  desc->c_dtype = c->dtype;
  desc->ldc = c_matrix.leading;
  desc->c_batch_stride = batch_stride(c_matrix, d_matrix.batch);
  return {};
}

// Reads a matrix whose rows must be contiguous.
Status read_row_matrix(const tw_tensor& tensor, const char* name, Matrix* out) {
  out->rows = tensor.shape[0];
  out->columns = tensor.shape[1];
  if (as_order(tensor, TW_ROW_MAJOR, out)) return {};
  return wrong(name, "tensor_strides", tensor.stride[1], 1,
               "has stride " + std::to_string(tensor.stride[1]) +
                   " along its rows: they must be contiguous and must not overlap");
}

Status check_vector(const tw_tensor& tensor, const char* name) {
  if (tensor.shape[0] <= 1 || tensor.stride[0] == 1) return {};
  return wrong(name, "tensor_strides", tensor.stride[0], 1,
               "has stride " + std::to_string(tensor.stride[0]) + ": it must be contiguous");
}

// Refuses a stride of 0 between matrices, because 0 means packed in a description.
Status check_stride(const char* name, const Matrix& operand) {
  if (operand.batch <= 1 || operand.matrix_stride > 0) return {};
  return wrong(name, "tensor_strides", operand.matrix_stride, 1,
               "has stride " + std::to_string(operand.matrix_stride) +
                   " between its matrices: pass a single matrix if all are the same");
}

// Fills the description of a grouped product of rows. With gather or scatter, the rows of a or d
// are not those of the product.
Status fill_grouped(const Matrix& a, const Matrix& b, const Matrix& d, tw_grouped_desc* desc) {
  const bool gathers = (desc->flags & TW_GROUPED_GATHER) != 0;
  const bool scatters = (desc->flags & TW_GROUPED_SCATTER) != 0;
  TW_TRY(check_extent("b", "rows", b.rows, "a's columns are", a.columns));
  const bool gated = desc->gate != TW_GATE_NONE;
  TW_TRY(check_extent("d", "columns", d.columns, gated ? "half of b's are" : "b's are",
                      gated ? b.columns / 2 : b.columns));
  if (!gathers && !scatters) TW_TRY(check_extent("d", "rows", d.rows, "a's are", a.rows));
  if (gathers) desc->a_count = a.rows;
  if (scatters) desc->d_count = d.rows;
  if (!gathers || !scatters) desc->m = gathers ? d.rows : a.rows;
  desc->k = a.columns;
  desc->weight_count = b.batch;
  desc->b_stride = b.batch > 1 ? b.matrix_stride : 0;
  if (desc->group_count == TW_UNSET && desc->grouping != TW_GROUPING_ONE)
    desc->group_count = b.batch;
  return {};
}

// Fills the description of a grouped product over ranges of k, which are rows of a and b.
Status fill_ranges(const Matrix& a, const Matrix& b, const Matrix& d, tw_grouped_desc* desc) {
  TW_TRY(check_extent("b", "matrices", b.batch, "ranges of k take", 1));
  TW_TRY(check_extent("b", "rows", b.rows, "a's are", a.rows));
  TW_TRY(check_extent("d", "rows", d.rows, "a's columns are", a.columns));
  TW_TRY(check_extent("d", "columns", d.columns, "b's are", b.columns));
  desc->m = a.columns;
  desc->k = a.rows;
  desc->weight_count = desc->b_stride = 0;
  desc->group_count = d.batch;
  desc->d_stride = d.batch > 1 ? d.matrix_stride : 0;
  return {};
}

// Reads the matrix of scales of a quantization; a vector is a matrix of one column.
Status read_scale_matrix(const tw_tensor& tensor, const tw_quantize_desc& desc, Matrix* out) {
  tw_tensor whole = tensor;
  if (tensor.rank < 2) {
    whole.rank = 2;
    whole.shape[0] = tensor.rank == 0 ? 1 : tensor.shape[0];
    whole.stride[0] = tensor.rank == 0 ? 1 : tensor.stride[0];
    whole.shape[1] = whole.stride[1] = 1;
  }
  TW_TRY(read_matrix(whole, "scale", TW_ROW_MAJOR, out));
  const bool block = desc.scale == TW_SCALE_128X128;
  const bool groups = block || desc.scale == TW_SCALE_1X128;
  const int64_t rows = desc.scale == TW_SCALE_TENSOR ? 1
                       : block                       ? (desc.rows + 127) / 128
                                                     : desc.rows;
  const int64_t columns = groups ? (desc.columns + 127) / 128 : 1;
  TW_TRY(check_extent("scale", "rows", out->rows, "src needs", rows));
  return check_extent("scale", "columns", out->columns, "src needs", columns);
}

}  // namespace

tw_status tw_copy_desc_from_tensors(const tw_tensor* src, const tw_tensor* dst,
                                    tw_copy_desc* desc) {
  return guard([&]() -> Status {
    tw_copy_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(fill_copy(src, dst, &ours));
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_copies_desc_from_tensors(const tw_tensor* src, const tw_tensor* dst,
                                      tw_copies_desc* desc) {
  return guard([&]() -> Status {
    tw_copies_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(fill_copy(src, dst, &ours));
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_prefetch_desc_from_tensors(const tw_tensor* src, tw_prefetch_desc* desc) {
  return guard([&]() -> Status {
    tw_prefetch_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    tw_tensor from{};
    TW_TRY(read(src, "src", 1, 8, &from));
    ours.dtype = from.dtype;
    ours.rank = from.rank;
    ours.rows = ours.columns = TW_UNSET;
    ours.pitch = 0;
    unset(ours.shape);
    std::copy_n(from.shape, from.rank, ours.shape);
    set_dims(from, ours.stride);
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_rows_desc_from_tensors(const tw_tensor* table, const tw_tensor* index,
                                    const tw_tensor* packed, tw_rows_desc* desc) {
  return guard([&]() -> Status {
    tw_rows_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(require(table, "table"));
    TW_TRY(require(index, "index"));
    TW_TRY(require(packed, "packed"));
    tw_tensor from{}, by{}, to{};
    TW_TRY(read(table, "table", 2, 2, &from));
    TW_TRY(read(index, "index", 1, 1, &by));
    TW_TRY(read(packed, "packed", 2, 2, &to));
    Matrix table_matrix, packed_matrix;
    TW_TRY(read_row_matrix(from, "table", &table_matrix));
    TW_TRY(read_row_matrix(to, "packed", &packed_matrix));
    TW_TRY(check_vector(by, "index"));
    TW_TRY(check_extent("packed", "columns", packed_matrix.columns, "table has",
                        table_matrix.columns));
    if (ours.group < 1 || packed_matrix.rows > INT64_MAX / ours.group ||
        by.shape[0] != packed_matrix.rows * ours.group)
      return wrong("index", "tensor_extent", by.shape[0], packed_matrix.rows,
                   "has " + std::to_string(by.shape[0]) + " elements, and packed has " +
                       std::to_string(packed_matrix.rows) + " rows of groups of " +
                       std::to_string(ours.group) +
                       ": each row needs one index per member of its group");
    ours.dtype = from.dtype;
    ours.index_dtype = by.dtype;
    ours.packed_dtype = to.dtype == from.dtype ? 0 : to.dtype;
    ours.table_rows = table_matrix.rows;
    ours.table_pitch = table_matrix.leading;
    ours.column = 0;
    ours.columns = table_matrix.columns;
    ours.count = packed_matrix.rows;
    ours.packed_pitch = packed_matrix.leading;
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_ragged_desc_from_tensors(const tw_tensor* packed, const tw_tensor* offsets,
                                      const tw_tensor* padded, tw_ragged_desc* desc) {
  return guard([&]() -> Status {
    tw_ragged_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(require(packed, "packed"));
    TW_TRY(require(offsets, "offsets"));
    TW_TRY(require(padded, "padded"));
    tw_tensor from{}, by{}, to{};
    TW_TRY(read(packed, "packed", 2, 2, &from));
    TW_TRY(read(offsets, "offsets", 1, 1, &by));
    TW_TRY(read(padded, "padded", 3, 3, &to));
    Matrix packed_matrix, padded_matrix;
    TW_TRY(read_row_matrix(from, "packed", &packed_matrix));
    TW_TRY(read_matrix(to, "padded", TW_ROW_MAJOR, &padded_matrix));
    TW_TRY(check_vector(by, "offsets"));
    if (padded_matrix.order != TW_ROW_MAJOR)
      return wrong("padded", "tensor_strides", to.stride[2], 1,
                   "has stride " + std::to_string(to.stride[2]) +
                       " along its rows: they must be contiguous");
    TW_TRY(check_extent("padded", "columns", padded_matrix.columns, "packed has",
                        packed_matrix.columns));
    TW_TRY(
        check_extent("offsets", "elements", by.shape[0], "sequences plus 1 are", to.shape[0] + 1));
    if (from.dtype != to.dtype)
      return wrong("padded", "tensor_dtype", to.dtype, from.dtype, "and packed differ in type");
    ours.dtype = from.dtype;
    ours.offset_dtype = by.dtype;
    ours.batch = to.shape[0];
    ours.tokens = packed_matrix.rows;
    ours.rows = padded_matrix.rows;
    ours.columns = ours.packed_columns = packed_matrix.columns;
    ours.packed_pitch = packed_matrix.leading;
    ours.padded_pitch = padded_matrix.leading;
    ours.padded_batch_pitch = to.shape[0] > 1 ? padded_matrix.matrix_stride : 0;
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_route_desc_from_tensors(const tw_tensor* logits, const tw_tensor* ids,
                                     tw_route_desc* desc) {
  return guard([&]() -> Status {
    tw_route_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(require(ids, "ids"));
    const bool given = (ours.flags & TW_ROUTE_GIVEN_IDS) != 0;
    if (!given) TW_TRY(require(logits, "logits"));
    TW_TRY(check_excluded(!given || !logits, "logits", 1, "flags have TW_ROUTE_GIVEN_IDS"));
    tw_tensor from{}, to{};
    Matrix logits_matrix, ids_matrix;
    TW_TRY(read(ids, "ids", 2, 2, &to));
    TW_TRY(read_row_matrix(to, "ids", &ids_matrix));
    TW_TRY(check_extent("ids", "elements between rows", ids_matrix.leading, "rows of them have",
                        std::max<int64_t>(ids_matrix.columns, 1)));
    if (given) {
      ours.id_dtype = to.dtype;
    } else {
      TW_TRY(check_written(to, "ids"));
      TW_TRY(read(logits, "logits", 2, 2, &from));
      TW_TRY(read_row_matrix(from, "logits", &logits_matrix));
      TW_TRY(check_extent("ids", "rows", ids_matrix.rows, "logits have", logits_matrix.rows));
      if (to.dtype != TW_DTYPE_I32)
        return wrong("ids", "tensor_dtype", to.dtype, TW_DTYPE_I32, "are not of the type i32");
      ours.dtype = from.dtype;
      ours.experts = logits_matrix.columns;
      ours.logits_pitch = logits_matrix.leading;
    }
    ours.tokens = ids_matrix.rows;
    ours.top_k = ids_matrix.columns;
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_elementwise_desc_from_tensors(const tw_tensor* a, const tw_tensor* b,
                                           const tw_tensor* dst, tw_elementwise_desc* desc) {
  return guard([&]() -> Status {
    tw_elementwise_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(require(a, "a"));
    TW_TRY(require(dst, "dst"));
    tw_tensor a_tensor{}, b_tensor{}, to{};
    TW_TRY(read(a, "a", 0, 8, &a_tensor));
    if (b) TW_TRY(read(b, "b", 0, 8, &b_tensor));
    TW_TRY(read(dst, "dst", 1, 8, &to));
    TW_TRY(check_written(to, "dst"));
    TW_TRY(broadcast(a_tensor, "a", to, ours.a_stride));
    unset(ours.b_stride);
    if (b) TW_TRY(broadcast(b_tensor, "b", to, ours.b_stride));
    ours.a_dtype = a_tensor.dtype;
    ours.b_dtype = b ? b_tensor.dtype : 0;
    ours.dst_dtype = to.dtype;
    ours.rank = to.rank;
    unset(ours.shape);
    std::copy_n(to.shape, to.rank, ours.shape);
    set_dims(to, ours.dst_stride);
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_gemm_desc_from_tensors(const tw_tensor* a, const tw_tensor* b, const tw_tensor* c,
                                    const tw_tensor* d, tw_gemm_desc* desc) {
  return guard([&]() -> Status {
    tw_gemm_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(require(a, "a"));
    TW_TRY(require(b, "b"));
    TW_TRY(require(d, "d"));
    tw_tensor a_tensor{}, b_tensor{}, c_tensor{}, d_tensor{};
    TW_TRY(read(a, "a", 2, 3, &a_tensor));
    TW_TRY(read(b, "b", 2, 3, &b_tensor));
    if (c) TW_TRY(read(c, "c", 2, 3, &c_tensor));
    TW_TRY(read(d, "d", 2, 3, &d_tensor));
    TW_TRY(check_written(d_tensor, "d"));
    TW_TRY(fill_gemm(a_tensor, b_tensor, c ? &c_tensor : nullptr, d_tensor, &ours));
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_grouped_desc_from_tensors(const tw_tensor* a, const tw_tensor* b, const tw_tensor* d,
                                       tw_grouped_desc* desc) {
  return guard([&]() -> Status {
    tw_grouped_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(require(a, "a"));
    TW_TRY(require(b, "b"));
    TW_TRY(require(d, "d"));
    const bool ranges = ours.grouping == TW_GROUPING_K_RANGES;
    tw_tensor from{}, by{}, to{};
    TW_TRY(read(a, "a", 2, 2, &from));
    TW_TRY(read(b, "b", 2, 3, &by));
    TW_TRY(read(d, "d", 2, ranges ? 3 : 2, &to));
    TW_TRY(check_written(to, "d"));
    Matrix a_matrix, b_matrix, d_matrix;
    TW_TRY(read_row_matrix(from, "a", &a_matrix));
    TW_TRY(read_matrix(by, "b", TW_ROW_MAJOR, &b_matrix));
    TW_TRY(read_matrix(to, "d", TW_ROW_MAJOR, &d_matrix));
    if (d_matrix.order != TW_ROW_MAJOR)
      return wrong("d", "tensor_strides", to.stride[to.rank - 1], 1,
                   "is column-major: its rows must be contiguous");
    TW_TRY(ranges ? fill_ranges(a_matrix, b_matrix, d_matrix, &ours)
                  : fill_grouped(a_matrix, b_matrix, d_matrix, &ours));
    TW_TRY(check_stride("b", b_matrix));
    TW_TRY(check_stride("d", d_matrix));
    const auto is_f8 = [](tw_dtype type) {
      return type == TW_DTYPE_F8E4M3 || type == TW_DTYPE_F8E5M2;
    };
    if (from.dtype != by.dtype && !(is_f8(from.dtype) && is_f8(by.dtype)))
      return wrong("b", "tensor_dtype", by.dtype, from.dtype, "and a differ in type");
    ours.a_dtype = from.dtype, ours.b_dtype = by.dtype, ours.d_dtype = to.dtype;
    ours.b_order = b_matrix.order;
    ours.n = b_matrix.columns;
    ours.lda = a_matrix.leading, ours.ldb = b_matrix.leading, ours.ldd = d_matrix.leading;
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_quantize_desc_from_tensors(const tw_tensor* src, const tw_tensor* dst,
                                        const tw_tensor* scale, tw_quantize_desc* desc) {
  return guard([&]() -> Status {
    tw_quantize_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    TW_TRY(require(src, "src"));
    TW_TRY(require(dst, "dst"));
    TW_TRY(require(scale, "scale"));
    tw_tensor from{}, to{}, by{};
    TW_TRY(read(src, "src", 2, 2, &from));
    TW_TRY(read(dst, "dst", 2, 2, &to));
    TW_TRY(read(scale, "scale", 0, 2, &by));
    TW_TRY(check_written(to, "dst"));
    Matrix src_matrix, dst_matrix, scale_matrix;
    TW_TRY(read_row_matrix(from, "src", &src_matrix));
    TW_TRY(read_row_matrix(to, "dst", &dst_matrix));
    TW_TRY(same_shape(to, "dst", from, "src"));
    if (by.dtype != TW_DTYPE_F32)
      return wrong("scale", "tensor_dtype", by.dtype, TW_DTYPE_F32, "is not of the type f32");
    ours.src_dtype = from.dtype, ours.dst_dtype = to.dtype;
    ours.rows = src_matrix.rows, ours.columns = src_matrix.columns;
    ours.src_pitch = src_matrix.leading, ours.dst_pitch = dst_matrix.leading;
    TW_TRY(read_scale_matrix(by, ours, &scale_matrix));
    const bool one = ours.scale == TW_SCALE_TENSOR;
    ours.scale_order = one ? TW_ROW_MAJOR : scale_matrix.order;
    ours.scale_ld = one ? 0 : scale_matrix.leading;
    const bool reads =
        tw_dtype_size(from.dtype) == 1 || (ours.flags & TW_QUANTIZE_GIVEN_SCALE) != 0;
    if (!reads) TW_TRY(check_written(by, "scale"));
    write_struct(desc, ours);
    return {};
  });
}

tw_status tw_tile_desc_from_tensor(const tw_tensor* tensor, tw_tile_desc* desc) {
  return guard([&]() -> Status {
    tw_tile_desc ours{};
    TW_TRY(read_struct(desc, "desc", &ours));
    tw_tensor from{};
    TW_TRY(read(tensor, "tensor", 1, 8, &from));
    ours.dtype = from.dtype;
    ours.rank = from.rank;
    ours.global_address = from.address;
    unset(ours.shape);
    std::copy_n(from.shape, from.rank, ours.shape);
    set_dims(from, ours.stride);
    write_struct(desc, ours);
    return {};
  });
}
