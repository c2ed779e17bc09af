// SPDX-License-Identifier: Apache-2.0
// The arithmetic of reductions. Measured on hardware where the PTX ISA leaves it open:
// - additions round to nearest even;
// - a NaN result is 0x7fff or 0x7fffffff;
// - in f64 it is the NaN operand, even a signaling one; of two NaNs the one from shared memory;
// - f32 and tf32 keep subnormals, the _ftz types flush operands and result;
// - tf32 adds like f32, without rounding to tf32;
// - min and max of a NaN and a number give the number.
#include "tensor_map/model/reduce_ops.hpp"

#include <bit>
#include <cstring>

#include "base/float_formats.hpp"

namespace tw::model {
namespace {

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Inc {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a >= b ? 0 : a + 1; }
};
struct Dec {
  uint32_t operator()(uint32_t a, uint32_t b) const { return a == 0 || a > b ? b : a - 1; }
};
struct And {
  template <class T>
  T operator()(T a, T b) const {
    return a & b;
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return a | b;
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return a ^ b;
  }
};

constexpr bool is_nan16(uint16_t bits, uint16_t infinity) {
  return (bits & 0x7fffu) > infinity;
}

// An integer that orders 16-bit floats; -0 is less than +0.
constexpr int32_t order16(uint16_t bits) {
  return (bits & 0x8000u) != 0 ? ~static_cast<int32_t>(bits & 0x7fffu) : static_cast<int32_t>(bits);
}

template <bool kMax, uint16_t kInfinity>
struct Extreme16 {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    const bool nan_a = is_nan16(a, kInfinity);
    const bool nan_b = is_nan16(b, kInfinity);
    if (nan_a && nan_b) return 0x7fff;
    if (nan_a || nan_b) return nan_a ? b : a;
    const bool a_less = order16(a) < order16(b);
    return a_less == kMax ? b : a;
  }
};
struct AddF16 {
  // Rounding a sum of two f16 (or bf16) first to f32 does not change the 16-bit result.
  uint16_t operator()(uint16_t a, uint16_t b) const {
    return float_to_f16(f16_to_float(a) + f16_to_float(b));
  }
};
struct AddBf16 {
  uint16_t operator()(uint16_t a, uint16_t b) const {
    return float_to_bf16(bf16_to_float(a) + bf16_to_float(b));
  }
};

constexpr uint32_t flushed(uint32_t bits) {
  return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}

template <bool kFlush>
struct AddF32 {
  uint32_t operator()(uint32_t a, uint32_t b) const {
    if (kFlush) {
      a = flushed(a);
      b = flushed(b);
    }
    const uint32_t sum = std::bit_cast<uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(b));
    if ((sum & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu;
    return kFlush ? flushed(sum) : sum;
  }
};

struct AddF64 {
  static bool is_nan(uint64_t bits) { return (bits << 1) > uint64_t{0x7ff} << 53; }

  uint64_t operator()(uint64_t a, uint64_t b) const {
    if (is_nan(b)) return b;
    if (is_nan(a)) return a;
    const uint64_t sum =
        std::bit_cast<uint64_t>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
    return is_nan(sum) ? 0xfff8000000000000u : sum;  // NaN: infinities of opposite signs
  }
};

template <class T, class Op>
void on_chunk(uint8_t* global, const uint8_t* operand) {
  T a[16 / sizeof(T)];
  T b[16 / sizeof(T)];
  std::memcpy(a, global, 16);
  std::memcpy(b, operand, 16);
  for (size_t i = 0; i < 16 / sizeof(T); ++i) a[i] = Op{}(a[i], b[i]);
  std::memcpy(global, a, 16);
}

// Signed types add as unsigned ones, so that overflow wraps.
template <class Unsigned, class Compared>
ReduceChunk integer(ReduceOp op) {
  switch (op) {
    case ReduceOp::add:
      return on_chunk<Unsigned, Add>;
    case ReduceOp::min:
      return on_chunk<Compared, Min>;
    case ReduceOp::max:
      return on_chunk<Compared, Max>;
    case ReduceOp::and_:
      return on_chunk<Unsigned, And>;
    case ReduceOp::or_:
      return on_chunk<Unsigned, Or>;
    case ReduceOp::xor_:
      return on_chunk<Unsigned, Xor>;
    default:
      return nullptr;
  }
}

template <class AddOp, uint16_t kInfinity>
ReduceChunk float16(ReduceOp op) {
  switch (op) {
    case ReduceOp::add:
      return on_chunk<uint16_t, AddOp>;
    case ReduceOp::min:
      return on_chunk<uint16_t, Extreme16<false, kInfinity>>;
    case ReduceOp::max:
      return on_chunk<uint16_t, Extreme16<true, kInfinity>>;
    default:
      return nullptr;
  }
}

}  // namespace

ReduceChunk reduce_chunk(DType dtype, ReduceOp op) {
  const bool add = op == ReduceOp::add;
  switch (dtype) {
    case DType::U32:
      if (op == ReduceOp::inc) return on_chunk<uint32_t, Inc>;
      if (op == ReduceOp::dec) return on_chunk<uint32_t, Dec>;
      return integer<uint32_t, uint32_t>(op);
    case DType::I32:
      return integer<uint32_t, int32_t>(op);
    case DType::U64:
      return integer<uint64_t, uint64_t>(op);
    case DType::I64:  // only min and max
      return op == ReduceOp::min || op == ReduceOp::max ? integer<uint64_t, int64_t>(op) : nullptr;
    case DType::F16:
      return float16<AddF16, 0x7c00>(op);
    case DType::BF16:
      return float16<AddBf16, 0x7f80>(op);
    case DType::F32:
    case DType::TF32:
      return add ? on_chunk<uint32_t, AddF32<false>> : nullptr;
    case DType::F32_FTZ:
    case DType::TF32_FTZ:
      return add ? on_chunk<uint32_t, AddF32<true>> : nullptr;
    case DType::F64:
      return add ? on_chunk<uint64_t, AddF64> : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace tw::model
