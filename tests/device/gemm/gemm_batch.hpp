// SPDX-License-Identifier: Apache-2.0
#pragma once
// Batched GEMM cases of small integers, whose products have one right bit pattern. Tests compare
// all of D's memory: guards, padding between lines and matrices, and the rows past m.

#include "tests/device/gemm/gemm_matrix.hpp"

namespace tw::test {

/// An operand of a batch in guarded memory.
struct BatchOperand {
  int64_t rows, columns, leading, batch, stride;  // stride 0: one matrix
  Order order;
  DType type;
  Guarded memory;

  BatchOperand(const std::shared_ptr<Device>& device, Stream& stream, int64_t r, int64_t c, Order o,
               DType t, int64_t ld, int64_t count, int64_t apart, uint64_t offset)
      : rows(r),
        columns(c),
        leading(ld),
        batch(count),
        stride(apart),
        order(o),
        type(t),
        memory(device, stream, bytes(r, c, o, t, ld, count, apart), offset) {}

  static uint64_t bytes(int64_t r, int64_t c, Order o, DType t, int64_t ld, int64_t count,
                        int64_t apart) {
    const int64_t lines = o == Order::row ? r : c, along = o == Order::row ? c : r;
    if (lines == 0 || along == 0 || count == 0) return 0;
    return static_cast<uint64_t>(((count - 1) * apart + (lines - 1) * ld + along) * dtype_bytes(t));
  }
  int64_t element(int64_t matrix, int64_t r, int64_t c) const {
    return matrix * stride + (order == Order::row ? r * leading + c : c * leading + r);
  }
  uint8_t* at(int64_t matrix, int64_t r, int64_t c) {
    return memory.data() + element(matrix, r, c) * dtype_bytes(type);
  }
  uint64_t address(int64_t matrix) const {
    return memory.address() + static_cast<uint64_t>(matrix * stride * dtype_bytes(type));
  }
  float value(int64_t matrix, int64_t r, int64_t c) {
    return decode_element(at(matrix, r, c), type);
  }
  void fill(std::mt19937_64& random) {
    for (int64_t i = 0; i < (stride == 0 ? std::min<int64_t>(batch, 1) : batch); ++i)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          encode_element(at(i, r, c), type, static_cast<float>(pick(random, -3, 3)));
    memory.upload();
  }
};

/// A description with its operands.
struct BatchCase {
  GemmDesc desc;  // as gemm_problem() completes it, with the caller's A, B and D
  BatchOperand a, b, c, d;

  static GemmDesc completed(const GemmDesc& desc) {
    GemmProblem problem;
    TW_REQUIRE_OK(gemm_problem(desc, &problem));
    return problem.swapped ? swap_ab(problem).desc : problem.desc;
  }
  BatchCase(const std::shared_ptr<Device>& device, Stream& stream, const GemmDesc& given,
            std::mt19937_64& random, uint64_t offset = 0)
      : desc(completed(given)),
        a(device, stream, desc.m, desc.k, desc.a_order, desc.a_dtype, desc.lda, desc.batch,
          desc.a_batch_stride, offset),
        b(device, stream, desc.k, desc.n, desc.b_order, desc.a_dtype, desc.ldb, desc.batch,
          desc.b_batch_stride, offset),
        c(device, stream, desc.m, desc.n, desc.d_order, desc.d_dtype, desc.ldc, desc.batch,
          desc.c_batch_stride, 0),
        d(device, stream, desc.m, desc.n, desc.d_order, desc.d_dtype, desc.ldd, desc.batch,
          desc.d_batch_stride, offset / 2 * 4) {
    a.fill(random);
    b.fill(random);
    c.fill(random);
  }

  GemmRun run() const {
    return {.a = a.memory.address(),
            .b = b.memory.address(),
            .c = c.memory.address(),
            .d = d.memory.address()};
  }
  /// Writes the expected product of matrices of_a, of_b and of_c to matrix of_d of an image of D.
  void expect(std::vector<uint8_t>* image, int64_t m, float alpha, float beta, int64_t of_a,
              int64_t of_b, int64_t of_c, int64_t of_d) {
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < desc.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < desc.k; ++k)
          sum += double(a.value(of_a, i, k)) * b.value(of_b, k, j);
        sum = alpha == 0.0f ? 0.0 : alpha * sum;
        if (beta != 0.0f) sum += double(beta) * c.value(of_c, i, j);
        encode_element(&(*image)[static_cast<size_t>(d.element(of_d, i, j) * dtype_bytes(d.type))],
                       d.type, static_cast<float>(sum));
      }
  }
  std::vector<uint8_t> poisoned() const {
    return std::vector<uint8_t>(d.memory.bytes(), Guarded::kPoison);
  }
  void poison() {
    std::memset(d.memory.data(), Guarded::kPoison, d.memory.bytes());
    d.memory.upload();
  }
  /// Whether D's memory equals the image and its guards are intact.
  bool is(const std::vector<uint8_t>& image) {
    d.memory.read();
    return d.memory.guards_intact() &&
           (image.empty() || std::memcmp(image.data(), d.memory.data(), image.size()) == 0);
  }
};

}  // namespace tw::test
