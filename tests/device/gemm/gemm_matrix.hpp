// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the device tests of GEMM: types, element conversion, and matrices in guarded memory.

#include <algorithm>
#include <utility>

#include "kernels/gemm/host/gemm_host_tile.hpp"
#include "ops/gemm/gemm.hpp"
#include "tests/device/common/fixture.hpp"

namespace tw::test {

/// Types of A and B, and of D.
inline constexpr std::pair<DType, DType> kGemmTypes[] = {{DType::BF16, DType::BF16},
                                                         {DType::BF16, DType::F32},
                                                         {DType::F16, DType::F16},
                                                         {DType::F16, DType::F32}};

inline float decode_element(const uint8_t* at, DType type) {
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, at, 4);
    return value;
  }
  if (type != DType::BF16 && type != DType::F16) return gemm_host::read_narrow(at, type);
  uint16_t bits;
  std::memcpy(&bits, at, 2);
  return type == DType::BF16 ? bf16_to_float(bits) : f16_to_float(bits);
}

inline void encode_element(uint8_t* at, DType type, float value) {
  if (dtype_bytes(type) == 1) return gemm_host::write_element(at, type, value);
  if (type == DType::F32 || type == DType::TF32) {
    std::memcpy(at, &value, 4);
    return;
  }
  const uint16_t bits = type == DType::BF16 ? float_to_bf16(value) : float_to_f16(value);
  std::memcpy(at, &bits, 2);
}

/// Largest rounding error of a type: relative to the number, and (least_half_unit) absolute near 0.
inline double half_unit(DType type) {
  if (type == DType::F8E4M3) return 0x1p-4;
  if (type == DType::F8E5M2) return 0x1p-3;
  if (type == DType::I8 || type == DType::I32) return 0.0;
  return type == DType::BF16 ? 0x1p-8 : type == DType::F16 ? 0x1p-11 : 0x1p-24;
}
inline double least_half_unit(DType type) {
  if (type == DType::F8E4M3) return 0x1p-10;
  if (type == DType::F8E5M2) return 0x1p-17;
  if (type == DType::I8) return 0.5;
  return type == DType::F16 ? 0x1p-25 : 0.0;
}

/// A matrix in guarded device memory; a vector is a matrix of one row. `ld` = 0 means packed.
struct Matrix {
  int64_t rows, columns, leading;
  Order order;
  DType type;
  Guarded memory;

  Matrix(const std::shared_ptr<Device>& device, Stream& stream, int64_t r, int64_t c, Order o,
         DType t, int64_t ld, uint64_t offset)
      : rows(r),
        columns(c),
        leading(std::max<int64_t>(ld, o == Order::row ? c : r)),
        order(o),
        type(t),
        memory(device, stream, bytes(), offset) {}

  int64_t lines() const { return order == Order::row ? rows : columns; }
  int64_t along() const { return order == Order::row ? columns : rows; }
  uint64_t bytes() const {
    return lines() && along()
               ? static_cast<uint64_t>(((lines() - 1) * leading + along()) * dtype_bytes(type))
               : 0;
  }
  uint8_t* at(int64_t r, int64_t c) {
    return memory.data() +
           (order == Order::row ? r * leading + c : c * leading + r) * dtype_bytes(type);
  }
  double value(int64_t r, int64_t c) {
    if (type != DType::I32) return decode_element(at(r, c), type);
    int32_t integer;
    std::memcpy(&integer, at(r, c), 4);
    return integer;
  }

  template <class Draw>
  void fill_with(Draw draw) {
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) encode_element(at(r, c), type, draw());
    memory.upload();
  }
  void fill_normal(std::mt19937_64& random, float spread = 1.0f) {
    std::normal_distribution<float> normal(0.0f, spread);
    fill_with([&] { return normal(random); });
  }
  /// Integers whose products and sums are exact in f32.
  void fill_integers(std::mt19937_64& random) {
    fill_with([&] { return static_cast<float>(pick(random, -3, 3)); });
  }

  /// Whether the bytes between the lines are unchanged.
  bool padding_intact() {
    const int32_t size = dtype_bytes(type);
    for (int64_t line = 0; line + 1 < lines(); ++line)
      for (int64_t byte = (line * leading + along()) * size; byte < (line + 1) * leading * size;
           ++byte)
        if (memory.data()[byte] != Guarded::kPoison) return false;
    return true;
  }
  /// Number of bytes from row `first` on that are not poison.
  int64_t changed_from(int64_t first) {
    int64_t changed = 0;
    for (int64_t r = first; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        for (int32_t byte = 0; byte < dtype_bytes(type); ++byte)
          changed += at(r, c)[byte] != Guarded::kPoison;
    return changed;
  }
};

}  // namespace tw::test
