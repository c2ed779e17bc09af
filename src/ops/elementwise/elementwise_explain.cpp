// SPDX-License-Identifier: Apache-2.0
// What an elementwise plan will do, in numbers and in words.
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "ops/elementwise/elementwise.hpp"

namespace tw {
namespace {

// Bytes of the elements that an operand has once: a dimension of stride 0 has its elements again.
uint64_t distinct_bytes(const ElementwiseShape& shape, uint32_t operand) {
  int64_t bytes = shape.bytes[operand];
  for (int32_t d = 0; d < shape.rank; ++d)
    if (shape.stride[operand][d] != 0) bytes *= shape.extent[d];
  return static_cast<uint64_t>(bytes);
}

// What the reductions of global memory and of the copy engine take.
bool hardware_reduces(int32_t op, DType type) {
  const bool word = type == DType::U32 || type == DType::I32 || type == DType::U64;
  switch (op) {
    case kCombineAdd:
      return word || type == DType::F16 || type == DType::BF16 || type == DType::F32 ||
             type == DType::F64;
    case kCombineMin:
    case kCombineMax:
      return word || type == DType::I64 || type == DType::F16 || type == DType::BF16;
    case kCombineInc:
    case kCombineDec:
      return type == DType::U32;
    default:
      return word;
  }
}

}  // namespace

PlanInfo ElementwisePlan::info() const {
  PlanInfo info;
  info.op = Op::elementwise;
  if (shape_.empty) return info;
  const Placed at = promised();
  const uint32_t method = choose(at);
  if (method == 0) return info;
  info.kernel = kernels_[method].row->symbol;
  const LaunchConfig launch = config(method, arguments(method, at));
  for (int i = 0; i < 3; ++i) {
    info.grid[i] = launch.grid[i];
    info.block[i] = launch.block[i];
    info.cluster[i] = launch.cluster[i];
  }
  info.tile[0] = 1;
  info.tile[1] = method == kElementwiseVectors ? vector_ : 1;
  for (uint32_t o = 0; o < shape_.sources; ++o) info.bytes_read += distinct_bytes(shape_, o);
  info.bytes_written = distinct_bytes(shape_, kOperandDst);
  if (desc_.reduction != kCombineNone) info.bytes_read += info.bytes_written;
  return info;
}

// "dst f8e4m3 = silu(alpha * a bf16) * b bf16".
std::string ElementwisePlan::formula() const {
  std::string text = "dst " + std::string(dtype_name(desc_.dtype[kOperandDst]));
  text += desc_.reduction == kCombineNone
              ? " = "
              : " = " + std::string(combine_name(desc_.reduction)) + " of itself and ";
  const bool activates = desc_.activation != Activation::identity;
  if (activates) text += std::string(activation_name(desc_.activation)) + "(";
  text += "alpha * a " + std::string(dtype_name(desc_.dtype[kOperandA]));
  if (has_beta()) text += " + beta * b " + std::string(dtype_name(desc_.dtype[kOperandB]));
  if (activates) text += ")";
  if (desc_.combine == kSourcesMultiply)
    text += " * b " + std::string(dtype_name(desc_.dtype[kOperandB]));
  return text;
}

// By what a reduction is done where the hardware has none of the type.
std::string ElementwisePlan::reduction_note() const {
  const DType type = desc_.dtype[kOperandDst];
  const std::string name =
      std::string(combine_name(desc_.reduction)) + " of " + std::string(dtype_name(type));
  std::string text =
      "reduced by the thread that owns the element, which reads and writes it: no atomics, so "
      "nobody else may write the destination meanwhile\n";
  if (hardware_reduces(desc_.reduction, type)) return text + name + " as the hardware's\n";
  if (type == DType::I64 && desc_.reduction == kCombineAdd) return text + name + " as u64's\n";
  if (type == DType::F32 || type == DType::F64)
    return text + name + " by comparing ordered integers, -0 below +0\n";
  return text + name + " in registers: the hardware has none of that type\n";
}

std::string ElementwisePlan::explain() const {
  std::string out = "elementwise " + formula() + ", [";
  for (int32_t d = 0; d < desc_.rank; ++d) {
    if (d != 0) out += ", ";
    out += std::to_string(desc_.shape[d]);
  }
  if (shape_.empty) return out + "]: empty, nothing runs\n";
  const PlanInfo i = info();
  char text[512];
  std::snprintf(text, sizeof text,
                "]: after merging, %" PRId64 " rows of %" PRId64
                " elements that are contiguous in every operand\nkernel %s: %u blocks of %u "
                "threads\n%" PRIu64 " bytes read, %" PRIu64 " written\n",
                shape_.elements / shape_.row_elements, shape_.row_elements, i.kernel, i.grid[0],
                i.block[0], i.bytes_read, i.bytes_written);
  out += text;
  if (choose(promised()) == kElementwiseVectors) {
    std::snprintf(text, sizeof text,
                  "vectors of %u elements, %u bytes of the widest operand; ends of rows element by "
                  "element\n",
                  vector_, vector_ * std::ranges::max(shape_.bytes));
    out += text;
    if (kernels_[kElementwiseStrided])
      out += "addresses that do not lie alike modulo a vector take " +
             std::string(kernels_[kElementwiseStrided].row->symbol) + ": promise alignments\n";
  } else if (vectors_) {
    out += "element by element: the promised addresses do not lie alike modulo a vector\n";
  } else {
    out +=
        "element by element: no dimension of two vectors and more is contiguous in every operand "
        "with rows that lie alike\n";
  }
  if (shape_.kind[kOperandDst] < kWordUnsigned)
    out +=
        desc_.saturates
            ? "computed in f32, rounded to nearest even; beyond the largest finite number: that "
              "number\n"
            : "computed in f32, rounded to nearest even; beyond the range: infinity, or NaN where "
              "the format has none\n";
  if (desc_.device_scalars)
    out += "factors whose addresses a run gives are read from device memory when it executes\n";
  if (desc_.reduction != kCombineNone) out += reduction_note();
  return out;
}

}  // namespace tw
