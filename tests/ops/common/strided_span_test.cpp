// SPDX-License-Identifier: Apache-2.0
// Descriptions with unusable numbers. The error must name the field, its index in an array, the
// value passed and the nearest usable value, in its fields as well as in its message.
#include "ops/common/strided_span.hpp"

#include <string>

#include "ops/copy/copy_window.hpp"
#include "ops/elementwise/elementwise_shape.hpp"
#include "ops/prefetch/prefetch.hpp"
#include "ops/ragged/ragged.hpp"
#include "ops/rows/rows.hpp"
#include "tests/ops/common/paper_device.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kSpan = int64_t{1} << 60;
constexpr int64_t kAnyLimit = INT64_MIN;

// Checks that the last error blames argument[index], whose value is `got`; index -1: not an array.
void blames(Code code, const char* argument, int32_t index, int64_t got, int64_t limit) {
  const ErrorInfo error = last_failure();
  const std::string message = error.message;
  CAPTURE(message);
  CHECK(error.code == code);
  REQUIRE(error.fault.argument);
  CHECK(std::string(error.fault.argument) == argument);
  CHECK(error.fault.index == index);
  CHECK(error.fault.got == got);
  if (limit != kAnyLimit) CHECK(error.fault.limit == limit);
  std::string name = argument;
  if (index >= 0) name += "[" + std::to_string(index) + "]";
  CHECK(message.find(name + " ") == 0);
  CHECK(message.find(std::to_string(got)) != std::string::npos);
}

// A packed f32 matrix.
CopyDesc matrix(int64_t rows, int64_t columns) {
  CopyDesc desc;
  desc.dtype = DType::F32;
  desc.rank = 2;
  desc.shape[0] = rows;
  desc.shape[1] = columns;
  desc.src_stride[0] = desc.dst_stride[0] = columns;
  desc.src_stride[1] = desc.dst_stride[1] = 1;
  return desc;
}

void refuse(const CopyDesc& desc) {
  CopyShape shape;
  clear_failure();
  CHECK(!copy_shape(desc, &shape).ok());
}

ElementwiseDesc elementwise(int64_t rows, int64_t columns) {
  ElementwiseDesc desc;
  desc.dtype[kOperandA] = desc.dtype[kOperandDst] = DType::F32;
  desc.rank = 2;
  desc.shape[0] = rows;
  desc.shape[1] = columns;
  for (auto& stride : desc.stride) stride[0] = columns, stride[1] = 1;
  return desc;
}

void refuse(const ElementwiseDesc& desc) {
  ElementwiseShape shape;
  clear_failure();
  CHECK(!elementwise_shape(desc, &shape).ok());
}

void refuse(const PrefetchDesc& desc) {
  std::unique_ptr<Plan> plan;
  clear_failure();
  CHECK(!PrefetchPlan::create(hopper(), desc, &plan).ok());
}

void refuse(const RaggedDesc& desc) {
  RaggedProblem problem;
  clear_failure();
  CHECK(!ragged_problem(desc, &problem).ok());
}

void refuse(Op op, const RowsDesc& desc) {
  RowsProblem problem;
  clear_failure();
  CHECK(!rows_problem(op, desc, &problem).ok());
}

}  // namespace

TEST_CASE("strided_span: a copy that spans too much is told which number does") {
  CopyDesc desc = matrix(4, 8);
  desc.shape[0] = INT64_MAX / 8;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "shape", 0, INT64_MAX / 8, (kSpan - 4) / 32 + 1);
  desc = matrix(4, 8);
  desc.src_stride[0] = INT64_MAX;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "src_stride", 0, INT64_MAX, kSpan / 4);
  desc.src_stride[0] = INT64_MIN;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "src_stride", 0, INT64_MIN, -kSpan / 4);
  desc = matrix(4, 8);
  desc.dst_stride[0] = kSpan / 8;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "dst_stride", 0, kSpan / 8, (kSpan - 4) / 3 / 4);
  // The limit that the error reports is accepted.
  CopyShape shape;
  desc.dst_stride[0] = last_failure().fault.limit;
  desc.shape[1] = 1;
  CHECK(copy_shape(desc, &shape).ok());
  desc = matrix(4, 8);
  desc.src_stride[1] = -kSpan / 8;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "src_stride", 1, -kSpan / 8, -((kSpan - 100) / 7 / 4));
}

TEST_CASE("strided_span: a span is from the lowest byte to the highest, whatever the signs") {
  constexpr int64_t kHalf = kSpan / 2;
  for (const int64_t sign : {1, -1}) {
    CopyDesc copy = matrix(2, 2);
    copy.dtype = DType::U8;
    copy.src_stride[0] = sign * kHalf, copy.src_stride[1] = -sign * kHalf;
    refuse(copy);
    blames(Code::ERROR_OVERFLOW, "src_stride", 1, -sign * kHalf, -sign * (kHalf - 1));
    CopyShape shape;
    copy.src_stride[1] = last_failure().fault.limit;
    CHECK(copy_shape(copy, &shape).ok());
    CHECK(shape.src_range.high - shape.src_range.low == kSpan);
    copy = matrix(2, 2);
    copy.dst_stride[0] = sign * kHalf / 4, copy.dst_stride[1] = -sign * kHalf / 4;
    refuse(copy);
    blames(Code::ERROR_OVERFLOW, "dst_stride", 1, -sign * kHalf / 4, -sign * (kHalf / 4 - 1));

    for (const uint32_t operand : {kOperandA, kOperandDst}) {
      ElementwiseDesc desc = elementwise(2, 2);
      desc.stride[operand][0] = sign * kHalf / 4, desc.stride[operand][1] = -sign * kHalf / 4;
      refuse(desc);
      blames(Code::ERROR_OVERFLOW, operand == kOperandA ? "a_stride" : "dst_stride", 1,
             -sign * kHalf / 4, -sign * (kHalf / 4 - 1));
      ElementwiseShape whole;
      desc.stride[operand][1] = last_failure().fault.limit;
      CHECK(elementwise_shape(desc, &whole).ok());
      CHECK(whole.range[operand].high - whole.range[operand].low == kSpan);
    }
  }
}

TEST_CASE("strided_span: more elements than 63 bits count, or fewer than none") {
  CopyDesc desc = matrix(INT64_MAX, 2);
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "shape", 0, INT64_MAX, INT64_MAX / 2);
  desc.shape[0] = 3, desc.shape[1] = INT64_MAX / 2;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "shape", 1, INT64_MAX / 2, INT64_MAX / 3);
  desc.shape[1] = -7;
  refuse(desc);
  blames(Code::ERROR_INVALID_ARGUMENT, "shape", 1, -7, 0);
  refuse(elementwise(INT64_MAX, 2));
  blames(Code::ERROR_OVERFLOW, "shape", 0, INT64_MAX, INT64_MAX / 2);
  // With one extent of 0 the others may have any value.
  int64_t elements = 1;
  const int64_t shape[] = {INT64_MAX, 0, INT64_MAX};
  CHECK(count_elements(shape, 3, "a", "b", &elements).ok());
  CHECK(elements == 0);
}

TEST_CASE("strided_span: elements written twice are told by their dimension and its stride") {
  CopyDesc desc = matrix(4, 8);
  desc.dst_stride[1] = 0;
  refuse(desc);
  blames(Code::ERROR_OVERLAP, "dst_stride", 1, 0, 1);
  desc.dst_stride[1] = 1, desc.dst_stride[0] = 7;
  refuse(desc);
  blames(Code::ERROR_OVERLAP, "dst_stride", 0, 7, 8);
  desc.dst_stride[0] = -7;
  refuse(desc);
  blames(Code::ERROR_OVERLAP, "dst_stride", 0, -7, 8);
  // The stride at fault is found by sorting, not by position.
  desc.dst_stride[0] = 1, desc.dst_stride[1] = 3;
  refuse(desc);
  blames(Code::ERROR_OVERLAP, "dst_stride", 1, 3, 4);
  desc.dst_stride[1] = last_failure().fault.limit;
  CopyShape shape;
  CHECK(copy_shape(desc, &shape).ok());
  ElementwiseDesc other = elementwise(4, 8);
  other.stride[kOperandDst][0] = 5;
  refuse(other);
  blames(Code::ERROR_OVERLAP, "dst_stride", 0, 5, 8);
  other.stride[kOperandDst][0] = 0;
  refuse(other);
  blames(Code::ERROR_OVERLAP, "dst_stride", 0, 0, 1);
}

TEST_CASE("strided_span: an elementwise operand that spans too much") {
  ElementwiseDesc desc = elementwise(4, 8);
  desc.stride[kOperandA][0] = INT64_MAX;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "a_stride", 0, INT64_MAX, kSpan / 4);
  desc = elementwise(INT64_MAX / 8, 8);
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "shape", 0, INT64_MAX / 8, (kSpan - 4) / 32 + 1);
}

TEST_CASE("strided_span: prefetches blame the caller's own numbers") {
  PrefetchDesc desc;
  desc.dtype = DType::U8;
  desc.rows = 2;
  desc.columns = INT64_MAX;
  refuse(desc);  // without a pitch, the columns are the pitch
  blames(Code::ERROR_OVERFLOW, "columns", -1, INT64_MAX, kSpan);
  desc.columns = 16, desc.pitch = INT64_MAX;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "pitch", -1, INT64_MAX, kSpan);
  desc.pitch = 0, desc.rows = INT64_MAX;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "rows", -1, INT64_MAX, (kSpan - 1) / 16 + 1);
  desc.rows = 1, desc.columns = INT64_MAX;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "columns", -1, INT64_MAX, kSpan);
  desc.columns = -3;
  refuse(desc);
  blames(Code::ERROR_INVALID_ARGUMENT, "columns", -1, -3, 0);

  desc = {};
  desc.dtype = DType::U8;
  desc.rank = 3;
  for (int32_t d = 0; d < 3; ++d) desc.shape[d] = 4, desc.stride[d] = 1;
  desc.shape[1] = -7;
  refuse(desc);
  blames(Code::ERROR_INVALID_ARGUMENT, "shape", 1, -7, 0);
  desc.shape[1] = 4, desc.stride[2] = INT64_MIN;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "stride", 2, INT64_MIN, -kSpan);
  // Three dimensions of equal stride overlap: they have more bytes than they span.
  desc.stride[2] = 1;
  for (int32_t d = 0; d < 3; ++d) desc.shape[d] = int64_t{1} << 30;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "shape", 2, int64_t{1} << 30, (int64_t{1} << 3) - 1);
}

TEST_CASE("strided_span: rows blame what the caller has set") {
  RowsDesc desc;
  desc.table_rows = 10;
  desc.columns = 8;
  desc.count = 4;
  desc.table_columns = INT64_MAX;
  refuse(Op::gather, desc);
  blames(Code::ERROR_OVERFLOW, "table_columns", -1, INT64_MAX, kSpan / 2);
  desc.table_columns = 0, desc.table_pitch = INT64_MAX;
  refuse(Op::gather, desc);
  blames(Code::ERROR_OVERFLOW, "table_pitch", -1, INT64_MAX, kSpan / 2);
  desc.table_pitch = 0, desc.packed_pitch = INT64_MAX;
  refuse(Op::scatter, desc);
  blames(Code::ERROR_OVERFLOW, "packed_pitch", -1, INT64_MAX, kSpan / 2);
  desc.packed_pitch = 0, desc.column = INT64_MAX;
  refuse(Op::scatter, desc);
  blames(Code::ERROR_OVERFLOW, "column", -1, INT64_MAX, INT64_MAX - 8);
  desc.column = 0, desc.table_rows = INT64_MAX;
  refuse(Op::scatter, desc);
  blames(Code::ERROR_OVERFLOW, "table_rows", -1, INT64_MAX, (kSpan - 16) / 16 + 1);
  desc.table_rows = 10;
  for (const int64_t group : {int64_t{0}, int64_t{-1}, int64_t{1} << 21}) {
    desc.group = group;
    refuse(Op::gather, desc);
    blames(group < 1 ? Code::ERROR_INVALID_ARGUMENT : Code::ERROR_UNSUPPORTED, "group", -1, group,
           group < 1 ? 1 : 1 << 20);
  }
  desc.group = 2;
  refuse(Op::scatter, desc);
  blames(Code::ERROR_INVALID_ARGUMENT, "group", -1, 2, 1);
}

TEST_CASE("strided_span: ragged copies") {
  RaggedDesc desc;
  desc.batch = -1, desc.rows = desc.columns = desc.tokens = 8;
  refuse(desc);
  blames(Code::ERROR_INVALID_ARGUMENT, "batch", -1, -1, 0);
  CHECK(std::string(last_failure().message) == "batch is -1: it must be 0 or more");
  desc.batch = 4, desc.rows = INT64_MAX / 64;
  refuse(desc);
  CHECK(last_failure().fault.limit > 0);
  desc.rows = 8, desc.columns = INT64_MAX;
  refuse(desc);
  blames(Code::ERROR_OVERFLOW, "columns", -1, INT64_MAX, kSpan / 2);
  desc.columns = 8, desc.dtype = DType::U8, desc.fill = OobFill::nan;
  refuse(desc);
  blames(Code::ERROR_UNSUPPORTED, "fill", -1, 1, 0);
}

TEST_CASE("strided_span: a window too far from its tensor") {
  CopyDesc desc = matrix(4, 8);
  desc.dtype = DType::F64;
  const auto split = [&] {
    CopyShape inside;
    std::vector<CopyShape> outside;
    REQUIRE(check_window(desc).ok());
    clear_failure();
    CHECK(!split_window(desc, &inside, &outside).ok());
  };
  desc.src_shape[0] = kSpan, desc.src_start[0] = kSpan / 4;  // strides of 8
  split();
  blames(Code::ERROR_OVERFLOW, "src_start", 0, kSpan / 4, kSpan / 8);
  desc.src_start[0] = 3, desc.src_shape[1] = kSpan, desc.src_start[1] = kSpan - 64;
  split();
  blames(Code::ERROR_OVERFLOW, "src_start", 1, kSpan - 64, kSpan / 2);
  // A single row may have any stride.
  desc.shape[0] = 1, desc.src_start[1] = 0, desc.src_stride[0] = INT64_MIN;
  split();
  blames(Code::ERROR_OVERFLOW, "src_start", 0, 3, 0);
}

TEST_CASE("strided_span: words that name nothing are told the last that does") {
  for (const int32_t number : {-1, 3, 100}) {
    clear_failure();
    CHECK(!check_cache("dst_cache", CachePriority{number}).ok());
    blames(Code::ERROR_INVALID_ARGUMENT, "dst_cache", -1, number, 2);
    PrefetchDesc prefetch;
    prefetch.rows = prefetch.columns = 8;
    prefetch.cache = CachePriority{number};
    refuse(prefetch);
    blames(Code::ERROR_INVALID_ARGUMENT, "cache", -1, number, 2);
  }
  CopyDesc desc = matrix(4, 8);
  desc.src_shape[0] = 2;
  desc.fill = OobFill{7};
  clear_failure();
  CHECK(!check_window(desc).ok());
  blames(Code::ERROR_INVALID_ARGUMENT, "fill", -1, 7, 1);
}
