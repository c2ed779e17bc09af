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

Status read(const tw_tensor* in, const char* name, int32_t least, int32_t most, tw_tensor* out) {
  TW_TRY(read_tensor(in, name, out));
  if (out->rank >= least && out->rank <= most) return {};
  const std::string wanted =
      least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
  return wrong(name, "tensor_rank", out->rank, most,
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
  int64_t rows = 0, columns = 0, batch = 1, leading = 0, apart = 0;
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

Status matrix(const tw_tensor& tensor, const char* name, tw_order preferred, Matrix* out) {
  const int32_t last = tensor.rank - 1, first = last - 1;
  out->rows = tensor.shape[first];
  out->columns = tensor.shape[last];
  if (tensor.rank == 3) {
    out->batch = tensor.shape[0];
    out->apart = tensor.stride[0];
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
int64_t batch_stride(const Matrix& of, int64_t products) {
  return products > 1 ? of.batch == 1 ? 0 : of.apart : -1;
}

Status check_batch(const char* name, const Matrix& of, int64_t products) {
  if (of.batch == products || of.batch == 1) return {};
  return wrong(name, "tensor_batch", of.batch, products,
               "has " + std::to_string(of.batch) + " matrices and d " + std::to_string(products) +
                   ": they must agree, or be 1 to be shared");
}

Status fill_gemm(const tw_tensor& a, const tw_tensor& b, const tw_tensor* c, const tw_tensor& d,
                 tw_gemm_desc* desc) {
  Matrix of_a, of_b, of_c, of_d;
  TW_TRY(matrix(a, "a", TW_ROW_MAJOR, &of_a));
  TW_TRY(matrix(b, "b", TW_ROW_MAJOR, &of_b));
  TW_TRY(matrix(d, "d", TW_ROW_MAJOR, &of_d));
  TW_TRY(check_extent("b", "rows", of_b.rows, "a's columns are", of_a.columns));
  TW_TRY(check_extent("d", "rows", of_d.rows, "a's are", of_a.rows));
  const int64_t d_columns = desc->gate == TW_GATE_NONE ? of_b.columns : of_b.columns / 2;
  TW_TRY(check_extent("d", "columns", of_d.columns,
                      desc->gate == TW_GATE_NONE ? "b's are" : "half of b's are", d_columns));
  TW_TRY(check_batch("a", of_a, of_d.batch));
  TW_TRY(check_batch("b", of_b, of_d.batch));
  // If the description asks for tf32, f32 tensors are multiplied as tf32.
  const bool tf32 = desc->a_dtype == TW_DTYPE_TF32;
  const auto type = [&](tw_dtype of) { return tf32 && of == TW_DTYPE_F32 ? TW_DTYPE_TF32 : of; };
  desc->a_dtype = type(a.dtype), desc->b_dtype = type(b.dtype), desc->d_dtype = d.dtype;
  desc->a_order = of_a.order, desc->b_order = of_b.order, desc->d_order = of_d.order;
  desc->m = of_a.rows, desc->n = of_b.columns, desc->k = of_a.columns;
  desc->lda = of_a.leading, desc->ldb = of_b.leading, desc->ldd = of_d.leading;
  desc->batch_count = of_d.batch;
  desc->a_batch_stride = batch_stride(of_a, of_d.batch);
  desc->b_batch_stride = batch_stride(of_b, of_d.batch);
  desc->d_batch_stride = of_d.batch > 1 ? of_d.apart : -1;
  if (!c) return {};
  TW_TRY(matrix(*c, "c", of_d.order, &of_c));
  TW_TRY(check_extent("c", "rows", of_c.rows, "a's are", of_a.rows));
  TW_TRY(check_extent("c", "columns", of_c.columns, "b's are", of_b.columns));
  TW_TRY(check_batch("c", of_c, of_d.batch));
  if (of_c.order != of_d.order)
    return wrong("c", "tensor_order", of_c.order, of_d.order,
                 "has another order than d: both must be row-major or both column-major");
  desc->c_dtype = c->dtype;
  desc->ldc = of_c.leading;
  desc->c_batch_stride = batch_stride(of_c, of_d.batch);
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
Status check_stride(const char* name, const Matrix& of) {
  if (of.batch <= 1 || of.apart > 0) return {};
  return wrong(name, "tensor_strides", of.apart, 1,
               "has stride " + std::to_string(of.apart) +
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
  desc->weights = b.batch;
  desc->b_stride = b.batch > 1 ? b.apart : 0;
  if (desc->groups == TW_UNSET && desc->grouping != TW_GROUPING_ALL) desc->groups = b.batch;
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
  desc->weights = desc->b_stride = 0;
  desc->groups = d.batch;
  desc->d_stride = d.batch > 1 ? d.apart : 0;
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
  TW_TRY(matrix(whole, "scale", TW_ROW_MAJOR, out));
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
    Matrix of_table, of_packed;
    TW_TRY(read_row_matrix(from, "table", &of_table));
    TW_TRY(read_row_matrix(to, "packed", &of_packed));
    TW_TRY(check_vector(by, "index"));
    TW_TRY(check_extent("packed", "columns", of_packed.columns, "table has", of_table.columns));
    if (ours.group < 1 || of_packed.rows > INT64_MAX / ours.group ||
        by.shape[0] != of_packed.rows * ours.group)
      return wrong("index", "tensor_extent", by.shape[0], of_packed.rows,
                   "has " + std::to_string(by.shape[0]) + " elements, and packed has " +
                       std::to_string(of_packed.rows) + " rows of groups of " +
                       std::to_string(ours.group) +
                       ": each row needs one index per member of its group");
    ours.dtype = from.dtype;
    ours.index_dtype = by.dtype;
    ours.packed_dtype = to.dtype == from.dtype ? 0 : to.dtype;
    ours.table_rows = of_table.rows;
    ours.table_pitch = of_table.leading;
    ours.column = 0;
    ours.columns = of_table.columns;
    ours.count = of_packed.rows;
    ours.packed_pitch = of_packed.leading;
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
    Matrix of_packed, of_padded;
    TW_TRY(read_row_matrix(from, "packed", &of_packed));
    TW_TRY(matrix(to, "padded", TW_ROW_MAJOR, &of_padded));
    TW_TRY(check_vector(by, "offsets"));
    if (of_padded.order != TW_ROW_MAJOR)
      return wrong("padded", "tensor_strides", to.stride[2], 1,
                   "has stride " + std::to_string(to.stride[2]) +
                       " along its rows: they must be contiguous");
    TW_TRY(check_extent("padded", "columns", of_padded.columns, "packed has", of_packed.columns));
    TW_TRY(
        check_extent("offsets", "elements", by.shape[0], "sequences plus 1 are", to.shape[0] + 1));
    if (from.dtype != to.dtype)
      return wrong("padded", "tensor_dtype", to.dtype, from.dtype, "and packed differ in type");
    ours.dtype = from.dtype;
    ours.offset_dtype = by.dtype;
    ours.batch = to.shape[0];
    ours.tokens = of_packed.rows;
    ours.rows = of_padded.rows;
    ours.columns = ours.packed_columns = of_packed.columns;
    ours.packed_pitch = of_packed.leading;
    ours.padded_pitch = of_padded.leading;
    ours.padded_batch_pitch = to.shape[0] > 1 ? of_padded.apart : 0;
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
    TW_TRY(check_unset(!given || !logits, "logits", 1, "flags have TW_ROUTE_GIVEN_IDS"));
    tw_tensor from{}, to{};
    Matrix of_logits, of_ids;
    TW_TRY(read(ids, "ids", 2, 2, &to));
    TW_TRY(read_row_matrix(to, "ids", &of_ids));
    TW_TRY(check_extent("ids", "elements between rows", of_ids.leading, "rows of them have",
                        std::max<int64_t>(of_ids.columns, 1)));
    if (given) {
      ours.id_dtype = to.dtype;
    } else {
      TW_TRY(check_written(to, "ids"));
      TW_TRY(read(logits, "logits", 2, 2, &from));
      TW_TRY(read_row_matrix(from, "logits", &of_logits));
      TW_TRY(check_extent("ids", "rows", of_ids.rows, "logits have", of_logits.rows));
      if (to.dtype != TW_DTYPE_I32)
        return wrong("ids", "tensor_dtype", to.dtype, TW_DTYPE_I32, "are not of the type i32");
      ours.dtype = from.dtype;
      ours.experts = of_logits.columns;
      ours.logits_pitch = of_logits.leading;
    }
    ours.tokens = of_ids.rows;
    ours.top_k = of_ids.columns;
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
    tw_tensor of_a{}, of_b{}, to{};
    TW_TRY(read(a, "a", 0, 8, &of_a));
    if (b) TW_TRY(read(b, "b", 0, 8, &of_b));
    TW_TRY(read(dst, "dst", 1, 8, &to));
    TW_TRY(check_written(to, "dst"));
    TW_TRY(broadcast(of_a, "a", to, ours.a_stride));
    unset(ours.b_stride);
    if (b) TW_TRY(broadcast(of_b, "b", to, ours.b_stride));
    ours.a_dtype = of_a.dtype;
    ours.b_dtype = b ? of_b.dtype : 0;
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
    tw_tensor of_a{}, of_b{}, of_c{}, of_d{};
    TW_TRY(read(a, "a", 2, 3, &of_a));
    TW_TRY(read(b, "b", 2, 3, &of_b));
    if (c) TW_TRY(read(c, "c", 2, 3, &of_c));
    TW_TRY(read(d, "d", 2, 3, &of_d));
    TW_TRY(check_written(of_d, "d"));
    TW_TRY(fill_gemm(of_a, of_b, c ? &of_c : nullptr, of_d, &ours));
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
    Matrix of_a, of_b, of_d;
    TW_TRY(read_row_matrix(from, "a", &of_a));
    TW_TRY(matrix(by, "b", TW_ROW_MAJOR, &of_b));
    TW_TRY(matrix(to, "d", TW_ROW_MAJOR, &of_d));
    if (of_d.order != TW_ROW_MAJOR)
      return wrong("d", "tensor_strides", to.stride[to.rank - 1], 1,
                   "is column-major: its rows must be contiguous");
    TW_TRY(ranges ? fill_ranges(of_a, of_b, of_d, &ours) : fill_grouped(of_a, of_b, of_d, &ours));
    TW_TRY(check_stride("b", of_b));
    TW_TRY(check_stride("d", of_d));
    const auto is_f8 = [](tw_dtype type) {
      return type == TW_DTYPE_F8E4M3 || type == TW_DTYPE_F8E5M2;
    };
    if (from.dtype != by.dtype && !(is_f8(from.dtype) && is_f8(by.dtype)))
      return wrong("b", "tensor_dtype", by.dtype, from.dtype, "and a differ in type");
    ours.a_dtype = from.dtype, ours.b_dtype = by.dtype, ours.d_dtype = to.dtype;
    ours.b_order = of_b.order;
    ours.n = of_b.columns;
    ours.lda = of_a.leading, ours.ldb = of_b.leading, ours.ldd = of_d.leading;
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
    Matrix of_src, of_dst, of_scale;
    TW_TRY(read_row_matrix(from, "src", &of_src));
    TW_TRY(read_row_matrix(to, "dst", &of_dst));
    TW_TRY(same_shape(to, "dst", from, "src"));
    if (by.dtype != TW_DTYPE_F32)
      return wrong("scale", "tensor_dtype", by.dtype, TW_DTYPE_F32, "is not of the type f32");
    ours.src_dtype = from.dtype, ours.dst_dtype = to.dtype;
    ours.rows = of_src.rows, ours.columns = of_src.columns;
    ours.src_pitch = of_src.leading, ours.dst_pitch = of_dst.leading;
    TW_TRY(read_scale_matrix(by, ours, &of_scale));
    const bool one = ours.scale == TW_SCALE_TENSOR;
    ours.scale_order = one ? TW_ROW_MAJOR : of_scale.order;
    ours.scale_ld = one ? 0 : of_scale.leading;
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
