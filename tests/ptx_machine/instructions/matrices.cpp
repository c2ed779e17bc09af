// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/matrices.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/float_formats.hpp"
#include "kernels/common/convert.h"
#include "tests/ptx_machine/instructions/memory.hpp"
#include "tests/ptx_machine/instructions/window.hpp"
#include "tests/ptx_machine/instructions/window_rows.hpp"
#include "tests/ptx_machine/machine/accumulators.hpp"

namespace tw::ptx_machine {
namespace {

const uint32_t* words(const Warp& w, const Operand& list, uint32_t index) {
  return source<uint32_t>(w, item(w, list, index));
}
uint32_t* written_words(Warp& w, const Operand& list, uint32_t index) {
  return target<uint32_t>(w, item(w, list, index));
}

// 8 x 8 matrices of 16-bit elements. Lane l holds the elements (l / 4, 2 * (l % 4)) and the next.

using Eight = std::array<std::array<uint16_t, 8>, 8>;

Eight from_lanes(const uint32_t* lanes) {
  Eight out{};
  for (uint32_t l = 0; l < kLanes; ++l)
    for (uint32_t h = 0; h < 2; ++h)
      out[l / 4][2 * (l % 4) + h] = static_cast<uint16_t>(lanes[l] >> (16 * h));
  return out;
}
void to_lanes(const Eight& matrix, uint32_t* lanes) {
  for (uint32_t l = 0; l < kLanes; ++l)
    lanes[l] = matrix[l / 4][2 * (l % 4)] | static_cast<uint32_t>(matrix[l / 4][2 * (l % 4) + 1])
                                                << 16;
}
Eight turned(const Eight& matrix) {
  Eight out{};
  for (uint32_t i = 0; i < 8; ++i)
    for (uint32_t k = 0; k < 8; ++k) out[k][i] = matrix[i][k];
  return out;
}

/// Row `row` of matrix `number`; lane 8 * number + row has its address.
uint8_t* matrix_row(Warp& w, const Instruction& in, const Operand& address, uint32_t number,
                    uint32_t row, Access access) {
  const uint32_t lane = 8 * number + row;
  return locate_for_each(w, in.word(Class::space), address_of(w, address, lane), 16, access, lane);
}

void ldmatrix(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  const Operand& d = in.operand[0];
  for (uint32_t number = 0; number < d.count; ++number) {
    Eight matrix{};
    for (uint32_t row = 0; row < 8; ++row)
      std::memcpy(matrix[row].data(), matrix_row(w, in, in.operand[1], number, row, Access::read),
                  16);
    to_lanes(in.has(Class::transposed) ? turned(matrix) : matrix, written_words(w, d, number));
  }
}

void stmatrix(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  const Operand& a = in.operand[1];
  for (uint32_t number = 0; number < a.count; ++number) {
    Eight matrix = from_lanes(words(w, a, number));
    if (in.has(Class::transposed)) matrix = turned(matrix);
    for (uint32_t row = 0; row < 8; ++row)
      std::memcpy(matrix_row(w, in, in.operand[0], number, row, Access::write), matrix[row].data(),
                  16);
  }
}

void movmatrix(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  to_lanes(turned(from_lanes(source<uint32_t>(w, in.operand[1]))),
           target<uint32_t>(w, in.operand[0]));
}

/// Whether the list has as many registers as the instruction has matrices.
bool lists_match(const Instruction& in, const Operand& list) {
  const Word word = in.word(Class::matrices);
  return list.count == (word == Word::x1 ? 1 : word == Word::x2 ? 2 : 4);
}

// mma.sync m16n8. A register holds `per` elements with consecutive k of one row of A or column of
// B; the next lane has the next k. Four lanes share a row or column.

uint32_t element(uint32_t word, uint32_t index, uint32_t bytes) {
  return bytes == 4 ? word : word >> (8 * bytes * index) & ((1u << (8 * bytes)) - 1);
}

struct MmaShape {
  uint32_t bytes, per, k;
};
MmaShape mma_shape(const Instruction& in) {
  const uint32_t bytes = static_cast<uint32_t>(type_bytes(in.types[1]));
  const uint32_t k = in.word(Class::shape) == Word::m16n8k8    ? 8
                     : in.word(Class::shape) == Word::m16n8k16 ? 16
                                                               : 32;
  return {bytes, 4 / bytes, k};
}

/// Calls visit(row or column, k, bits) for each element of an operand with 8 * `halves` rows.
template <class Visit>
void each_element(const Warp& w, const Operand& list, const MmaShape& shape, uint32_t halves,
                  Visit visit) {
  for (uint32_t i = 0; i < list.count; ++i) {
    const uint32_t* registers = words(w, list, i);
    for (uint32_t l = 0; l < kLanes; ++l)
      for (uint32_t j = 0; j < shape.per; ++j)
        visit(l / 4 + 8 * (i % halves), shape.per * (l % 4) + 4 * shape.per * (i / halves) + j,
              element(registers[l], j, shape.bytes));
  }
}

/// Columns of an operand, decoded and as bits.
struct Decoded {
  Columns columns;
  uint32_t bits[kMostColumns][kMostFactors];

  void set(uint32_t column, uint32_t k, Type type, uint32_t value) {
    columns.set(column, k, type, value);
    bits[column][k] = value;
  }
  Factors column(uint32_t number, Type type, uint32_t count) const {
    Factors out;
    for (uint32_t k = 0; k < count; ++k) out.set(k, type, bits[number][k]);
    return out;
  }
};

/// Adds to a row of sums, f16 ones as floats. Columns with an infinity or a NaN are computed one by
/// one.
void multiply_row(const Factors& a, const Decoded& b, Type type, uint32_t count,
                  const WindowForm& form, float* sums, bool halves = false) {
  float before[kMostColumns];
  bool special = a.special;
  for (uint32_t j = 0; j < count; ++j) {
    before[j] = sums[j];
    special |= b.columns.special[j] || !std::isfinite(sums[j]);
  }
  (halves ? window_row_f16 : window_row)(a, b.columns, count, form, sums);
  if (!special) return;
  for (uint32_t j = 0; j < count; ++j) {
    if (!a.special && !b.columns.special[j] && std::isfinite(before[j])) continue;
    const Factors column = b.column(j, type, form.factors);
    sums[j] =
        halves
            ? f16_to_float(window_f16(a, column, form.factors, float_to_f16(before[j]), form.bits))
            : window_f32(a, column, form.factors, before[j], form.bits);
  }
}

/// Operands of the transposed product: A's rows become its columns, so that multiply_row() computes
/// 16 sums at once instead of 8.
struct Transposed {
  Decoded a;
  Factors b[8];
  WindowForm form;

  /// Pads `count` factors with zeros to those of `form`.
  void fill(Type type, uint32_t count) {
    for (uint32_t k = count; k < form.factors; ++k) {
      for (uint32_t row = 0; row < 16; ++row) a.set(row, k, type, 0);
      for (Factors& column : b) column.set(k, type, 0);
    }
  }
  void add_column(uint32_t column, Type type, float* sums) const {
    multiply_row(b[column], a, type, 16, form, sums);
  }
};
Transposed& new_transposed(const WindowForm& form) {
  static thread_local Transposed one;
  one.form = form;
  for (Factors& column : one.b) column.special = column.wide = false;
  return one;
}
/// Calls visit(register, lane, row) for the sums of one column in C and D.
template <class Visit>
void each_of_column(uint32_t column, Visit visit) {
  for (uint32_t row = 0; row < 16; ++row)
    visit(2 * (row / 8) + column % 2, row % 8 * 4 + column / 2, row);
}

/// Factors of 16 bits or tf32, f32 sums.
void mma_f32(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  const MmaShape shape = mma_shape(in);
  Transposed& operands = new_transposed(wgmma_form(in.types[1]));
  each_element(w, in.operand[1], shape, 2, [&](uint32_t row, uint32_t k, uint32_t bits) {
    operands.a.set(row, k, in.types[1], bits);
  });
  each_element(w, in.operand[2], shape, 1, [&](uint32_t column, uint32_t k, uint32_t bits) {
    operands.b[column].set(k, in.types[2], bits);
  });
  operands.fill(in.types[1], shape.k);
  for (uint32_t column = 0; column < 8; ++column) {
    float sums[16];
    each_of_column(column, [&](uint32_t i, uint32_t lane, uint32_t row) {
      sums[row] = std::bit_cast<float>(words(w, in.operand[3], i)[lane]);
    });
    operands.add_column(column, in.types[1], sums);
    each_of_column(column, [&](uint32_t i, uint32_t lane, uint32_t row) {
      written_words(w, in.operand[0], i)[lane] = std::bit_cast<uint32_t>(sums[row]);
    });
  }
}

/// f16 factors and sums.
void mma_f16(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  const MmaShape shape = mma_shape(in);
  Factors a[16], b[8];
  each_element(w, in.operand[1], shape, 2,
               [&](uint32_t row, uint32_t k, uint32_t bits) { a[row].set(k, in.types[1], bits); });
  each_element(w, in.operand[2], shape, 1, [&](uint32_t column, uint32_t k, uint32_t bits) {
    b[column].set(k, in.types[2], bits);
  });
  for (uint32_t h = 0; h < 2; ++h)
    for (uint32_t l = 0; l < kLanes; ++l)
      for (uint32_t j = 0; j < 2; ++j) {
        const uint32_t c = words(w, in.operand[3], h)[l];
        const uint32_t sum = window_f16(a[l / 4 + 8 * h], b[2 * (l % 4) + j], shape.k,
                                        static_cast<uint16_t>(c >> (16 * j)), kWindowBits);
        uint32_t& d = written_words(w, in.operand[0], h)[l];
        d = j == 0 ? (d & 0xffff0000u) | sum : (d & 0xffffu) | sum << 16;
      }
}

// Hopper has no mma.sync for 8-bit factors. ptxas converts them to f16, multiplies those whose k
// has bit 1 clear, accumulates the products of the others, and adds C at the end.

uint32_t eight_as_f16(Type type, uint32_t bits) {
  return encode(kFormatF16, decode(type == Type::e4m3 ? kFormatE4M3 : kFormatE5M2, bits));
}

void mma_eights_f16(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  const MmaShape shape = mma_shape(in);
  Factors a[2][16], b[2][8];
  const auto set = [](Factors& factors, uint32_t k, Type type, uint32_t bits) {
    factors.set(k / 4 * 2 + k % 2, Type::f16, eight_as_f16(type, bits));
  };
  each_element(w, in.operand[1], shape, 2, [&](uint32_t row, uint32_t k, uint32_t bits) {
    set(a[k / 2 % 2][row], k, in.types[1], bits);
  });
  each_element(w, in.operand[2], shape, 1, [&](uint32_t column, uint32_t k, uint32_t bits) {
    set(b[k / 2 % 2][column], k, in.types[2], bits);
  });
  const uint32_t count = shape.k / 2;
  for (uint32_t h = 0; h < 2; ++h)
    for (uint32_t l = 0; l < kLanes; ++l)
      for (uint32_t j = 0; j < 2; ++j) {
        const uint32_t row = l / 4 + 8 * h, column = 2 * (l % 4) + j;
        uint16_t sum = window_f16(a[0][row], b[0][column], count, 0, kWindowBits);
        sum = window_f16(a[1][row], b[1][column], count, sum, kWindowBits);
        const auto c = static_cast<uint16_t>(words(w, in.operand[3], h)[l] >> (16 * j));
        const float near = f16_to_float(sum) + f16_to_float(c);
        sum = std::isnan(near) ? uint16_t{0x7fff} : float_to_f16(near);
        uint32_t& d = written_words(w, in.operand[0], h)[l];
        d = j == 0 ? (d & 0xffff0000u) | sum : (d & 0xffffu) | static_cast<uint32_t>(sum) << 16;
      }
}

void mma_eights(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  const MmaShape shape = mma_shape(in);
  // First the k with bit 1 clear, then the others.
  float sums[8][16] = {};
  for (uint32_t half = 0; half < 2; ++half) {
    Transposed& operands = new_transposed({});
    each_element(w, in.operand[1], shape, 2, [&](uint32_t row, uint32_t k, uint32_t bits) {
      if (k / 2 % 2 == half)
        operands.a.set(row, k / 4 * 2 + k % 2, Type::f16, eight_as_f16(in.types[1], bits));
    });
    each_element(w, in.operand[2], shape, 1, [&](uint32_t column, uint32_t k, uint32_t bits) {
      if (k / 2 % 2 == half)
        operands.b[column].set(k / 4 * 2 + k % 2, Type::f16, eight_as_f16(in.types[2], bits));
    });
    operands.fill(Type::f16, shape.k / 2);
    for (uint32_t column = 0; column < 8; ++column)
      operands.add_column(column, Type::f16, sums[column]);
  }
  for (uint32_t column = 0; column < 8; ++column)
    each_of_column(column, [&](uint32_t i, uint32_t lane, uint32_t row) {
      const float sum = sums[column][row] + std::bit_cast<float>(words(w, in.operand[3], i)[lane]);
      written_words(w, in.operand[0], i)[lane] =
          std::isnan(sum) ? 0x7fffffffu : std::bit_cast<uint32_t>(sum);
    });
}

int32_t integer_of(Type type, uint32_t bits) {
  return type == Type::s8 ? int32_t{static_cast<int8_t>(bits)} : static_cast<int32_t>(bits);
}

void mma_integers(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  const MmaShape shape = mma_shape(in);
  int32_t a[16][kMostFactors], b[8][kMostFactors];
  each_element(w, in.operand[1], shape, 2, [&](uint32_t row, uint32_t k, uint32_t bits) {
    a[row][k] = integer_of(in.types[1], bits);
  });
  each_element(w, in.operand[2], shape, 1, [&](uint32_t column, uint32_t k, uint32_t bits) {
    b[column][k] = integer_of(in.types[2], bits);
  });
  for (uint32_t i = 0; i < 4; ++i)
    for (uint32_t l = 0; l < kLanes; ++l) {
      uint32_t sum = words(w, in.operand[3], i)[l];
      for (uint32_t k = 0; k < shape.k; ++k)
        sum += static_cast<uint32_t>(a[l / 4 + 8 * (i / 2)][k] * b[2 * (l % 4) + i % 2][k]);
      written_words(w, in.operand[0], i)[l] = sum;
    }
}

Run mma_handler(const Instruction& in) {
  const MmaShape shape = mma_shape(in);
  // A row's k fill one or two registers in each of its four lanes.
  if (shape.k != 8 * shape.per && shape.k != 4 * shape.per) return nullptr;
  if (in.types[0] != in.types[3] || type_bytes(in.types[1]) != type_bytes(in.types[2]))
    return nullptr;
  const uint32_t sums = in.types[0] == Type::f16 ? 2 : 4, quarters = shape.k / (4 * shape.per);
  if (in.operand[0].count != sums || in.operand[3].count != sums ||
      in.operand[1].count != 2 * quarters || in.operand[2].count != quarters)
    return nullptr;
  if (in.op == Op::mma_integers) return mma_integers;
  const bool f32 = in.types[0] == Type::f32;
  if (type_bytes(in.types[1]) == 1) return f32 ? mma_eights : mma_eights_f16;
  return f32 ? mma_f32 : mma_f16;
}

// wgmma.

constexpr uint32_t kProductBytes = 32;  // per row of A or column of B

/// A wgmma operand in shared memory, decoded from its descriptor.
struct Tile {
  uint32_t start, leading, stride, swizzle_bytes;  // 0: no swizzle
  bool column;                                     // contiguous along m or n
  uint32_t bytes;                                  // per element

  Tile(Warp& w, uint64_t descriptor, bool is_column, Type type)
      : column(is_column), bytes(static_cast<uint32_t>(type_bytes(type))) {
    start = static_cast<uint32_t>(descriptor & 0x3fff) << 4;
    leading = static_cast<uint32_t>(descriptor >> 16 & 0x3fff) << 4;
    stride = static_cast<uint32_t>(descriptor >> 32 & 0x3fff) << 4;
    constexpr uint32_t kSwizzles[4] = {0, 128, 64, 32};
    swizzle_bytes = kSwizzles[descriptor >> 62];
    if ((descriptor >> 49 & 7) != 0)
      w.fail("the machine does not support descriptors with a base offset");
    if (column && swizzle_bytes == 0)
      w.fail(
          "the machine does not support descriptors without a swizzle that are contiguous along m "
          "or n");
  }

  uint32_t depth() const { return kProductBytes / bytes; }
  /// Offset of element k of row (or column) i.
  uint32_t offset(uint32_t i, uint32_t k) const {
    if (swizzle_bytes == 0)
      return start + i / 8 * stride + k * bytes / 16 * leading + i % 8 * 16 + k * bytes % 16;
    uint32_t address = start;
    const uint32_t wide = swizzle_bytes / 2;
    if (column)
      address += i / wide * leading + k / 8 * stride + k % 8 * swizzle_bytes + i % wide * 2;
    else
      address += i / 8 * stride + i % 8 * swizzle_bytes + k * bytes;
    return address ^ (address >> 3 & (swizzle_bytes - 16));
  }
};

/// Calls visit(row or column, k, bits) for each element of an operand: `count` rows from `first`
/// on, in contiguous pieces of 16 bytes.
template <class Visit>
void each_of_tile(Warp& w, const Tile& tile, uint32_t first, uint32_t count, Visit visit) {
  const uint32_t per = 16 / tile.bytes, step_i = tile.column ? per : 1,
                 step_k = tile.column ? 1 : per;
  for (uint32_t i = 0; i < count; i += step_i)
    for (uint32_t k = 0; k < tile.depth(); k += step_k) {
      // Rows outside D need not have been loaded.
      uint8_t piece[16];
      std::memcpy(piece, shared_range(w, *w.cta, tile.offset(first + i, k), 16, Access::any), 16);
      for (uint32_t n = 0; n < per; ++n) {
        uint32_t bits = 0;
        std::memcpy(&bits, piece + n * tile.bytes, tile.bytes);
        if (tile.column)
          visit(i + n, k, bits);
        else
          visit(i, k + n, bits);
      }
    }
}

/// Cache of the last decoded B, which the four warps of a wgmma share.
struct LastOperand {
  Decoded decoded;
  bool valid = false;
  uint64_t descriptor = 0;
  uint32_t number = 0;
};
LastOperand& last_operand() {
  static thread_local LastOperand last;
  return last;
}

/// The lane of an element of D: it has columns 8 j + 2 (l % 4) and the next of rows l / 4 (+ 8).
uint32_t lane_of(uint32_t row, uint32_t column) {
  return row % 8 * 4 + column % 8 / 2;
}

/// Computes a row of f32 sums in D's registers.
void multiply_row_f32(Warp& w, const Instruction& in, const Factors& a, const Decoded& b,
                      uint32_t row, bool accumulate) {
  float sums[kMostColumns];
  float* places[kMostColumns];
  for (uint32_t j = 0; j < in.number; j += 8)
    for (uint32_t half = 0; half < 2; ++half) {
      auto* const lanes = reinterpret_cast<float*>(
          written_words(w, in.operand[0], j / 2 + 2 * (row / 8) + half) + lane_of(row, 0));
      for (uint32_t i = 0; i < 4; ++i) places[j + 2 * i + half] = lanes + i;
    }
  for (uint32_t j = 0; j < in.number; ++j) sums[j] = accumulate ? *places[j] : 0.0f;
  multiply_row(a, b, in.types[2], in.number, wgmma_form(in.types[1]), sums);
  for (uint32_t j = 0; j < in.number; ++j) *places[j] = sums[j];
}

/// Computes a row of f16 sums, two per register.
void multiply_row_f16(Warp& w, const Instruction& in, const Factors& a, const Decoded& b,
                      uint32_t row, bool accumulate) {
  float sums[kMostColumns];
  const auto word = [&](uint32_t j) -> uint32_t& {
    return written_words(w, in.operand[0], 2 * (j / 8) + row / 8)[lane_of(row, j)];
  };
  for (uint32_t j = 0; j < in.number; ++j)
    sums[j] = accumulate ? f16_to_float(static_cast<uint16_t>(word(j) >> (16 * (j % 2)))) : 0.0f;
  multiply_row(a, b, in.types[2], in.number, wgmma_form(in.types[1]), sums, true);
  for (uint32_t j = 0; j < in.number; ++j) {
    const uint32_t shift = 16 * (j % 2);
    word(j) = (word(j) & ~(0xffffu << shift)) | uint32_t{float_to_f16(sums[j])} << shift;
  }
}

/// The register and lane of a 32-bit element of D.
uint32_t& word_of(Warp& w, const Instruction& in, uint32_t row, uint32_t column) {
  const uint32_t index = 4 * (column / 8) + 2 * (row / 8) + column % 2;
  return written_words(w, in.operand[0], index)[lane_of(row, column)];
}

Tile tile_a(Warp& w, const Instruction& in, uint64_t descriptor) {
  return Tile(w, descriptor, in.operand[6].value != 0, in.types[1]);
}
Tile tile_b(Warp& w, const Instruction& in, uint64_t descriptor) {
  return Tile(w, descriptor, in.operand[7].value != 0, in.types[2]);
}

void multiply_integers(Warp& w, const Instruction& in, uint64_t desc_a, uint64_t desc_b,
                       bool accumulate) {
  std::vector<std::array<int32_t, kProductBytes>> rows(16), columns(in.number);
  each_of_tile(
      w, tile_a(w, in, desc_a), w.number % 4 * 16, 16,
      [&](uint32_t i, uint32_t k, uint32_t bits) { rows[i][k] = integer_of(in.types[1], bits); });
  each_of_tile(w, tile_b(w, in, desc_b), 0, in.number, [&](uint32_t i, uint32_t k, uint32_t bits) {
    columns[i][k] = integer_of(in.types[2], bits);
  });
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t column = 0; column < in.number; ++column) {
      uint32_t& d = word_of(w, in, row, column);
      uint32_t sum = accumulate ? d : 0;
      for (uint32_t k = 0; k < kProductBytes; ++k)
        sum += static_cast<uint32_t>(rows[row][k] * columns[column][k]);
      d = sum;
    }
}

void multiply(Warp& w, const Instruction& in, uint64_t desc_a, uint64_t desc_b, bool accumulate) {
  if (in.op == Op::wgmma_integers) return multiply_integers(w, in, desc_a, desc_b, accumulate);
  Factors rows[16];
  each_of_tile(
      w, tile_a(w, in, desc_a), w.number % 4 * 16, 16,
      [&](uint32_t row, uint32_t k, uint32_t bits) { rows[row].set(k, in.types[1], bits); });
  LastOperand& b = last_operand();
  if (!b.valid || b.descriptor != desc_b || b.number != in.number)
    each_of_tile(w, tile_b(w, in, desc_b), 0, in.number,
                 [&](uint32_t column, uint32_t k, uint32_t bits) {
                   b.decoded.set(column, k, in.types[2], bits);
                 });
  b.valid = true;
  b.descriptor = desc_b;
  b.number = in.number;
  for (uint32_t row = 0; row < 16; ++row) {
    if (in.types[0] == Type::f16)
      multiply_row_f16(w, in, rows[row], b.decoded, row, accumulate);
    else
      multiply_row_f32(w, in, rows[row], b.decoded, row, accumulate);
  }
}

/// Tells the judge which 16-byte pieces of an operand a wgmma reads.
void judge_tile(Warp& w, const JudgedWork& work, const Tile& tile, uint32_t first, uint32_t count) {
  const uint32_t step_i = tile.column ? 8 : 1, step_k = tile.column ? 1 : 16 / tile.bytes;
  for (uint32_t i = first; i < first + count; i += step_i)
    for (uint32_t k = 0; k < tile.depth(); k += step_k)
      if (tile.offset(i, k) + 16 <= w.cta->shared_bytes)
        w.judge()->work_access(w, work, *w.cta, tile.offset(i, k), 16, false, Proxy::async);
}

uint32_t judge_product(Warp& w, const Instruction& in, uint64_t desc_a, uint64_t desc_b) {
  if (!w.judge()) return 0;
  const JudgedWork work{w.judge()->agent(w, Kind::product), w.judge()->begin_work()};
  judge_tile(w, work, tile_a(w, in, desc_a), w.number % 4 * 16, 16);
  judge_tile(w, work, tile_b(w, in, desc_b), 0, in.number);
  return work.time;
}

Warpgroup& warpgroup(Warp& w) {
  return w.cta->warpgroups[w.number / 4];
}

/// Begins a wgmma that all four warps have issued. It finishes the warpgroup's previous one first.
void begin_product(Warp& w, Warpgroup& group, Product& product) {
  const uint64_t before = group.last_number;
  product.number = group.last_number = w.launch->begin_work([&w, &product, before] {
    w.launch->finish(before);
    last_operand().valid = false;
    for (const auto& run : product.run) run();
  });
}

void wgmma(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  const uint64_t desc_a = read_lane(w, in.operand[1], 0), desc_b = read_lane(w, in.operand[2], 0);
  const bool accumulate = predicate(w, in.operand[3]) & 1;
  Warpgroup& group = warpgroup(w);
  const uint32_t part = w.number % 4;
  const uint64_t number = ++group.issued[part];
  Product& product = group.products[number];
  product.judged[part] = judge_product(w, in, desc_a, desc_b);
  if (w.judge()) accumulators_begin(w, in, number);
  if (w.judge()) product.times[part] = w.judge()->end_time(w);
  product.run[part] = [&w, &in, desc_a, desc_b, accumulate, pc = w.pc] {
    const uint32_t now = std::exchange(w.pc, pc);
    multiply(w, in, desc_a, desc_b, accumulate);
    w.pc = now;
  };
  w.products.open.push_back({number, 0});
  if (++product.issued == 4) begin_product(w, group, product);
}

void wgmma_commit(Warp& w, const Instruction&) {
  if (!w.converged(kAllLanes)) return;
  w.products.committed.push_back(std::exchange(w.products.open, {}));
}

/// The warp has waited for a wgmma: it learns of the end of all four warps' parts.
void end_product(Warp& w, uint64_t number) {
  Warpgroup& group = warpgroup(w);
  Product& product = group.products[number];
  w.launch->finish(product.number);
  for (uint32_t part = 0; w.judge() && part < 4; ++part) {
    const Warp& other = w.cta->warps[w.number / 4 * 4 + part];
    w.judge()->work_ended(w, {w.judge()->agent(other, Kind::product), product.judged[part]});
    w.judge()->product_ended(w, other, product.times[part]);
  }
  if (++product.waited == 4) group.products.erase(number);
}

void wgmma_wait(Warp& w, const Instruction& in) {
  if (!w.converged(kAllLanes)) return;
  auto& groups = w.products.committed;
  while (groups.size() > static_cast<size_t>(in.operand[0].value)) {
    // A wgmma begins only when all four warps have issued it.
    for (const Work& work : groups.front())
      if (warpgroup(w).products[work.number].issued < 4) return w.block();
    for (const Work& work : groups.front()) {
      end_product(w, work.number);
      accumulators_end(w, work.number);
    }
    groups.erase(groups.begin());
  }
}

void wgmma_fence(Warp& w, const Instruction&) {
  if (w.converged(kAllLanes)) accumulators_fence(w);
}

Run wgmma_handler(const Instruction& in) {
  const uint32_t registers = in.types[0] == Type::f16 ? in.number / 4 : in.number / 2;
  const bool plain =
      in.op == Op::wgmma_integers || (in.operand[4].value == 1 && in.operand[5].value == 1);
  if (in.number % 8 != 0 || in.number == 0 || in.number > 256 || in.operand[0].count != registers)
    return nullptr;
  const bool mixed = in.op == Op::wgmma_eights || in.op == Op::wgmma_integers;
  return plain && (mixed || in.types[1] == in.types[2]) ? wgmma : nullptr;
}

}  // namespace

Run matrix_handler(const Instruction& in) {
  switch (in.op) {
    case Op::ldmatrix:
      return lists_match(in, in.operand[0]) ? ldmatrix : nullptr;
    case Op::stmatrix:
      return lists_match(in, in.operand[1]) ? stmatrix : nullptr;
    case Op::movmatrix:
      return movmatrix;
    case Op::mma:
    case Op::mma_integers:
      return mma_handler(in);
    case Op::wgmma:
    case Op::wgmma_tf32:
    case Op::wgmma_eights:
    case Op::wgmma_integers:
      return wgmma_handler(in);
    case Op::wgmma_fence:
      return wgmma_fence;
    case Op::wgmma_commit:
      return wgmma_commit;
    case Op::wgmma_wait:
      return wgmma_wait;
    default:
      return nullptr;
  }
}

}  // namespace tw::ptx_machine
