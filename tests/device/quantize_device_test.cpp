// SPDX-License-Identifier: Apache-2.0
// Compares quantization and dequantization, to the bit, with float64 formulas and tables of all
// 8-bit numbers: random types, sizes, pitches, alignments, scales and values.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/float_formats.hpp"
#include "ops/quantize/quantize.hpp"
#include "tests/device/common/arena.hpp"
#include "tests/device/common/replay.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kGroup = 128;

// Distributions of elements.
enum class Values { normal, rows_apart, zeros, tiny, huge, wild, ties, last_kind = ties };

struct Case {
  QuantizeDesc desc;
  int64_t rows = -1;
  int64_t src_shift = 0, dst_shift = 0, scale_shift = 0;  // in elements, past 256-byte alignment
  bool amax = false;
  float amax_before = 0;
  Values values = Values::normal;

  bool back() const { return dtype_bytes(desc.src_dtype) == 1; }
  bool given() const { return (desc.flags & kQuantizeDescGivenScale) != 0; }
  bool powers() const { return (desc.flags & kQuantizeDescPowersOfTwo) != 0; }
  bool tensor() const { return desc.scale == ScaleKind::tensor; }
  int64_t run_rows() const { return rows < 0 ? desc.rows : rows; }
  int64_t src_pitch() const { return desc.src_pitch ? desc.src_pitch : desc.columns; }
  int64_t dst_pitch() const { return desc.dst_pitch ? desc.dst_pitch : desc.columns; }
  // Number of rows (high) and columns (wide) that share a scale.
  int64_t high() const {
    return tensor()                            ? std::max<int64_t>(1, desc.rows)
           : desc.scale == ScaleKind::block128 ? kGroup
                                               : 1;
  }
  int64_t wide() const {
    const bool groups = desc.scale == ScaleKind::row128 || desc.scale == ScaleKind::block128;
    return groups ? kGroup : std::max<int64_t>(1, desc.columns);
  }
  int64_t scale_rows(int64_t of) const { return (of + high() - 1) / high(); }
  int64_t scale_columns() const { return (desc.columns + wide() - 1) / wide(); }
  int64_t scale_ld() const {
    if (desc.scale_ld != 0) return desc.scale_ld;
    return desc.scale_order == ScaleOrder::row ? scale_columns() : scale_rows(desc.rows);
  }
  int64_t scale_place(int64_t i, int64_t j) const {
    return desc.scale_order == ScaleOrder::row ? i * scale_ld() + j : j * scale_ld() + i;
  }
  int64_t scale_elements() const {
    return std::max<int64_t>(
        1, scale_ld() *
               (desc.scale_order == ScaleOrder::row ? scale_rows(desc.rows) : scale_columns()));
  }
};

std::string describe(const Case& c) {
  const QuantizeDesc& d = c.desc;
  char text[400];
  std::snprintf(text, sizeof text,
                "%s to %s: %d (%d) by %d, pitches %d and %d, shifts %d, %d and %d, scale %d order "
                "%d ld %d, flags %u, amax %d, values %d, methods %u, max_sms %u",
                dtype_name(d.src_dtype), dtype_name(d.dst_dtype), int(d.rows), int(c.rows),
                int(d.columns), int(d.src_pitch), int(d.dst_pitch), int(c.src_shift),
                int(c.dst_shift), int(c.scale_shift), int(d.scale), int(d.scale_order),
                int(d.scale_ld), d.flags, int(c.amax), int(c.values), d.methods & 3, d.max_sms);
  return text;
}

// The value of an 8-bit number, by the format's definition.
double narrow_value(DType dtype, uint8_t bits) {
  if (dtype == DType::I8) return static_cast<int8_t>(bits);
  const int mantissa_bits = dtype == DType::F8E4M3 ? 3 : 2;
  const int bias = dtype == DType::F8E4M3 ? 7 : 15;
  const int exponent = (bits & 0x7f) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const double sign = bits & 0x80 ? -1 : 1;
  if (dtype == DType::F8E4M3 && (bits & 0x7f) == 0x7f) return double{kNan};
  if (dtype == DType::F8E5M2 && exponent == 31)
    return mantissa != 0 ? double{kNan} : sign * double{kInfinity};
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

int last_code(DType dtype) {
  return dtype == DType::F8E4M3 ? 0x7e : 0x7b;
}
double largest(DType dtype) {
  return dtype == DType::I8 ? 127 : narrow_value(dtype, static_cast<uint8_t>(last_code(dtype)));
}

// Rounds to the nearest 8-bit number, ties to even.
uint8_t narrow_bits(DType dtype, float value) {
  if (std::isnan(value)) return dtype == DType::I8 ? 0 : 0x7f;
  if (dtype == DType::I8) {
    const double held = std::clamp(double{value}, -128.0, 127.0);
    return static_cast<uint8_t>(static_cast<int8_t>(std::nearbyint(held)));
  }
  const double magnitude = std::fabs(double{value});
  static const auto tables = [] {
    std::array<std::vector<double>, 2> all;
    for (const DType type : {DType::F8E4M3, DType::F8E5M2})
      for (int code = 0; code <= last_code(type); ++code)
        all[type == DType::F8E5M2].push_back(narrow_value(type, static_cast<uint8_t>(code)));
    return all;
  }();
  const std::vector<double>& table = tables[dtype == DType::F8E5M2];
  const auto above = std::lower_bound(table.begin(), table.end(), magnitude);
  auto code = static_cast<int>(above - table.begin());
  if (above == table.end()) {
    code = last_code(dtype);
  } else if (code > 0) {
    const double up = *above - magnitude, down = magnitude - table[size_t(code - 1)];
    if (down < up || (down == up && code % 2 != 0)) --code;
  }
  return static_cast<uint8_t>(code | (std::signbit(value) ? 0x80 : 0));
}

uint32_t wide_bits(DType dtype, float value) {
  if (dtype == DType::BF16) return float_to_bf16(value);
  if (dtype == DType::F16) return float_to_f16(value);
  return std::isnan(value) ? 0x7fffffffu : std::bit_cast<uint32_t>(value);
}
float wide_value(DType dtype, uint32_t bits) {
  if (dtype == DType::BF16) return bf16_to_float(static_cast<uint16_t>(bits));
  if (dtype == DType::F16) return f16_to_float(static_cast<uint16_t>(bits));
  return std::bit_cast<float>(bits);
}

// Computed in float64 and rounded once: it has more than twice the bits of f32.
float scale_of(const Case& c, double amax) {
  if (amax == 0) return 1;
  auto scale = static_cast<float>(amax / largest(c.desc.dst_dtype));
  scale = std::max(scale, 0x1p-126f);
  if (!c.powers()) return scale;
  int exponent = 0;
  const float mantissa = std::frexp(scale, &exponent);  // in [0.5, 1)
  return std::ldexp(1.0f, mantissa == 0.5f ? exponent - 1 : exponent);
}
float inverse_of(float scale) {
  return static_cast<float>(1.0 / double{scale});
}

// An operand between guards of 256 bytes. The guards are 0x7b, a large finite number in each type,
// which changes a scale if a kernel reads it.
struct Operand {
  static constexpr uint64_t kGuard = 256;
  std::unique_ptr<Arena> arena;
  int64_t shift;
  Operand(const std::shared_ptr<Device>& device, Stream& stream, int64_t bytes, int64_t shift_bytes)
      : arena(new Arena(device, stream, static_cast<uint64_t>(bytes + shift_bytes) + 2 * kGuard)),
        shift(shift_bytes) {
    std::memset(arena->image().data(), 0x7b, arena->image().size());
  }
  uint64_t address() const { return arena->address() + kGuard + static_cast<uint64_t>(shift); }
  uint8_t* data() { return data_of(arena->image()); }
  uint8_t* data_of(std::vector<uint8_t>& image) const {
    return image.data() + kGuard + static_cast<size_t>(shift);
  }
};

void put(uint8_t* to, int64_t element, int64_t bytes, uint32_t bits) {
  std::memcpy(to + element * bytes, &bits, static_cast<size_t>(bytes));
}
uint32_t get(const uint8_t* from, int64_t element, int64_t bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, from + element * bytes, static_cast<size_t>(bytes));
  return bits;
}

float special(std::mt19937_64& random) {
  const float numbers[] = {kNan,   -kNan,  kInfinity, -kInfinity, 0.0f,
                           -0.0f,  1e-40f, -1e-44f,   0x1p-126f,  3e38f,
                           -3e38f, 448.0f, -127.5f,   0x1p-14f,   1e-9f};
  return numbers[pick(random, 0, 14)];
}

float draw_value(std::mt19937_64& random, const Case& c, int64_t row, int64_t column) {
  const float normal = std::normal_distribution<float>(0, 1)(random);
  switch (c.values) {
    case Values::rows_apart:
      return normal * std::ldexp(1.0f, static_cast<int>((row * 7 + column / kGroup * 3) % 20) - 10);
    case Values::zeros:
      return pick(random, 0, 400) == 0 && row % 3 != 0 ? normal : pick(random, 0, 1) ? 0.0f : -0.0f;
    case Values::tiny:
      return normal * 1e-38f * static_cast<float>(pick(random, 0, 3));
    case Values::huge:
      return normal * 1e38f;
    case Values::wild:
      return pick(random, 0, 9) == 0 ? special(random) : normal;
    case Values::ties:  // halves of small integers: many quotients are between two numbers
      return static_cast<float>(pick(random, -256, 256)) / 2;
    default:
      return normal;
  }
}

float draw_scale(std::mt19937_64& random, const Case& c) {
  if (c.values == Values::wild && pick(random, 0, 3) == 0) return special(random);
  const float scale = std::ldexp(1.0f + static_cast<float>(pick(random, 0, 1 << 20)) / (1 << 20),
                                 static_cast<int>(pick(random, -12, 3)));
  return c.powers() ? 1.0f : scale;
}

struct Operands {
  Operand src, dst, scale, amax, workspace;
  int64_t src_bytes, dst_bytes;

  Operands(const Case& c, const std::shared_ptr<Device>& device, Stream& stream)
      : src(device, stream, c.desc.rows * c.src_pitch() * dtype_bytes(c.desc.src_dtype),
            c.src_shift * dtype_bytes(c.desc.src_dtype)),
        dst(device, stream, c.desc.rows * c.dst_pitch() * dtype_bytes(c.desc.dst_dtype),
            c.dst_shift * dtype_bytes(c.desc.dst_dtype)),
        scale(device, stream, c.scale_elements() * 4, c.scale_shift * 4),
        amax(device, stream, 4, 0),
        workspace(device, stream, 4096, 0),
        src_bytes(dtype_bytes(c.desc.src_dtype)),
        dst_bytes(dtype_bytes(c.desc.dst_dtype)) {}

  void draw(std::mt19937_64& random, const Case& c) {
    for (int64_t i = 0; i < c.desc.rows; ++i)
      for (int64_t j = 0; j < c.desc.columns; ++j) {
        uint32_t bits = static_cast<uint32_t>(pick(random, 0, 255));
        if (!c.back()) {
          const float value = draw_value(random, c, i, j);
          bits = wide_bits(c.desc.src_dtype, value);
          if (std::isnan(value) && std::signbit(value)) bits |= 1u << (8 * src_bytes - 1);
        }
        put(src.data(), i * c.src_pitch() + j, src_bytes, bits);
      }
    if (c.back() || c.given())
      for (int64_t i = 0; i < c.scale_rows(c.desc.rows); ++i)
        for (int64_t j = 0; j < c.scale_columns(); ++j)
          put(scale.data(), c.scale_place(i, j), 4, std::bit_cast<uint32_t>(draw_scale(random, c)));
    put(amax.data(), 0, 4, std::bit_cast<uint32_t>(c.amax_before));
  }
  void upload() {
    for (Operand* operand : {&src, &dst, &scale, &amax, &workspace}) operand->arena->upload();
  }
  QuantizeRun run(const Case& c, const Plan& plan) const {
    QuantizeRun run;
    run.rows = c.rows;
    run.src = src.address(), run.dst = dst.address(), run.scale = scale.address();
    if (c.amax) run.amax = amax.address();
    run.workspace = workspace.address();
    run.workspace_bytes = plan.info().workspace_bytes;
    return run;
  }
};

struct Images {
  std::vector<uint8_t> dst, scale, amax;
};

double amax_of(const Case& c, Operands& o, int64_t row, int64_t end_row, int64_t column,
               int64_t end_column) {
  double amax = 0;
  for (int64_t i = row; i < end_row; ++i)
    for (int64_t j = column; j < end_column; ++j) {
      const double x = double{
          wide_value(c.desc.src_dtype, get(o.src.data(), i * c.src_pitch() + j, o.src_bytes))};
      if (std::isfinite(x)) amax = std::max(amax, std::fabs(x));
    }
  return amax;
}

// The expected images after a run, computed scale by scale.
Images wanted_of(const Case& c, Operands& o) {
  Images wanted{o.dst.arena->image(), o.scale.arena->image(), o.amax.arena->image()};
  const int64_t rows = c.run_rows(), columns = c.desc.columns;
  if (rows == 0 || columns == 0) return wanted;
  for (int64_t i = 0; i < c.scale_rows(rows); ++i)
    for (int64_t j = 0; j < c.scale_columns(); ++j) {
      const int64_t row = i * c.high(), end_row = std::min(rows, row + c.high());
      const int64_t column = j * c.wide(), end_column = std::min(columns, column + c.wide());
      const int64_t place = c.scale_place(i, j);
      auto scale = std::bit_cast<float>(get(o.scale.data(), place, 4));
      if (!c.back()) {
        const double amax = amax_of(c, o, row, end_row, column, end_column);
        if (!c.given()) scale = scale_of(c, amax);
        if (c.amax)
          put(o.amax.data_of(wanted.amax), 0, 4,
              std::bit_cast<uint32_t>(std::max(c.amax_before, static_cast<float>(amax))));
        put(o.scale.data_of(wanted.scale), place, 4, std::bit_cast<uint32_t>(scale));
      }
      const float inverse = inverse_of(scale);
      for (int64_t y = row; y < end_row; ++y)
        for (int64_t x = column; x < end_column; ++x) {
          const uint32_t bits = get(o.src.data(), y * c.src_pitch() + x, o.src_bytes);
          uint32_t result = 0;
          if (c.back()) {
            const double value = narrow_value(c.desc.src_dtype, static_cast<uint8_t>(bits));
            result = wide_bits(c.desc.dst_dtype, static_cast<float>(value * double{scale}));
          } else {
            const double value = double{wide_value(c.desc.src_dtype, bits)};
            result = narrow_bits(c.desc.dst_dtype, static_cast<float>(value * double{inverse}));
          }
          put(o.dst.data_of(wanted.dst), y * c.dst_pitch() + x, o.dst_bytes, result);
        }
    }
  return wanted;
}

struct Lab {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::mt19937_64 random;

  explicit Lab(uint64_t seed) : random(seed) {
    device = open_test_device();
    if (device) stream = new_stream(device);
  }
};

void compare(Operands& o, const Images& wanted) {
  CHECK(first_difference(o.scale.arena->read(), wanted.scale) == -1);
  REQUIRE(first_difference(o.dst.arena->read(), wanted.dst) == -1);
  CHECK(first_difference(o.amax.arena->read(), wanted.amax) == -1);
  CHECK(first_difference(o.src.arena->read(), o.src.arena->image()) == -1);
  const auto after = o.workspace.arena->read();
  for (size_t i = 0; i < Operand::kGuard; ++i)
    REQUIRE((after[i] == 0x7b && after[after.size() - 1 - i] == 0x7b));
}

// Runs and checks a case. Returns the plan's kernel.
std::string check_case(Lab& lab, const Case& c) {
  INFO(describe(c));
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(QuantizePlan::create(lab.device, c.desc, &plan));
  INFO(plan->explain());
  Operands operands(c, lab.device, *lab.stream);
  operands.draw(lab.random, c);
  operands.upload();
  const Images wanted = wanted_of(c, operands);
  TW_REQUIRE_OK(static_cast<QuantizePlan&>(*plan).run(*lab.stream, operands.run(c, *plan)));
  compare(operands, wanted);
  return plan->info().kernel;
}

constexpr DType kWide[] = {DType::BF16, DType::F16, DType::F32};
constexpr DType kNarrow[] = {DType::F8E4M3, DType::F8E5M2, DType::I8};
constexpr ScaleKind kKinds[] = {ScaleKind::tensor, ScaleKind::row, ScaleKind::row128,
                                ScaleKind::block128};

int64_t vector_of(const Case& c) {
  return 16 / std::max(dtype_bytes(c.desc.src_dtype), dtype_bytes(c.desc.dst_dtype));
}

void draw_types(std::mt19937_64& random, Case* c) {
  c->desc.src_dtype = kWide[pick(random, 0, 2)];
  c->desc.dst_dtype = kNarrow[pick(random, 0, 2)];
  c->desc.scale = kKinds[pick(random, 0, 3)];
  if (pick(random, 0, 2) == 0) {
    std::swap(c->desc.src_dtype, c->desc.dst_dtype);
  } else {
    if (pick(random, 0, 3) == 0) c->desc.flags |= kQuantizeDescPowersOfTwo;
    if (c->tensor() && pick(random, 0, 1)) c->desc.flags = kQuantizeDescGivenScale;
    c->amax = c->tensor() && pick(random, 0, 1);
    if (c->amax) c->amax_before = std::array{0.0f, 1.0f, 1e30f}[size_t(pick(random, 0, 2))];
  }
}

void draw_scales(std::mt19937_64& random, Case* c) {
  if (c->tensor()) return;
  if (pick(random, 0, 1)) c->desc.scale_order = ScaleOrder::column;
  if (pick(random, 0, 2) == 0) c->desc.scale_ld = c->scale_ld() + pick(random, 0, 9);
  if (pick(random, 0, 2) == 0) c->scale_shift = pick(random, 0, 9);
}

// Draws pitches and shifts, multiples of a vector if `vectors`.
void draw_place(std::mt19937_64& random, bool vectors, Case* c) {
  QuantizeDesc& d = c->desc;
  const int64_t unit = vectors ? vector_of(*c) : 1;
  if (pick(random, 0, 1)) d.src_pitch = d.columns + unit * pick(random, 0, 9);
  if (pick(random, 0, 1)) d.dst_pitch = d.columns + unit * pick(random, 0, 9);
  if (pick(random, 0, 1)) c->src_shift = unit * pick(random, 0, 9);
  if (pick(random, 0, 1)) c->dst_shift = unit * pick(random, 0, 9);
}

Case random_case(std::mt19937_64& random, int64_t most_columns) {
  Case c;
  QuantizeDesc& d = c.desc;
  draw_types(random, &c);
  const bool vectors = pick(random, 0, 2) != 0;
  d.columns = pick(random, 0, pick(random, 0, 1) ? most_columns : 300);
  if (vectors) d.columns = d.columns / vector_of(c) * vector_of(c);
  if (pick(random, 0, 3) == 0) d.columns = (d.columns + 127) / 128 * 128;
  const int64_t most = d.scale == ScaleKind::block128 ? 300 : 40;
  d.rows = pick(random, 0, std::min<int64_t>(most, 200000 / std::max<int64_t>(1, d.columns)));
  if (pick(random, 0, 4) == 0) d.rows = 1;
  draw_place(random, vectors, &c);
  draw_scales(random, &c);
  c.values = static_cast<Values>(pick(random, 0, int(Values::last_kind)));
  if (pick(random, 0, 4) == 0) c.rows = pick(random, 0, d.rows);
  if (pick(random, 0, 5) == 0) d.max_sms = static_cast<uint32_t>(pick(random, 1, 9));
  if (pick(random, 0, 4) == 0) d.methods = kQuantizeByElements;
  return c;
}

}  // namespace

TEST_CASE("quantize: a thousand random matrices") {
  Lab lab(1);
  if (!lab.device) return;
  // TW_EVERY=n runs every n-th case, for tools that slow kernels down.
  const char* every = std::getenv("TW_EVERY");
  const int step = every ? std::max(1, std::atoi(every)) : 1;
  for (int i = 0; i < 1000; i += step) {
    CAPTURE(i);
    check_case(lab, random_case(lab.random, 3000));
  }
}

TEST_CASE("quantize: each pair of types, kind and order of scales by every method") {
  Lab lab(2);
  if (!lab.device) return;
  for (const DType wide : kWide)
    for (const DType narrow : kNarrow)
      for (const bool back : {false, true})
        for (const ScaleKind kind : kKinds)
          for (const ScaleOrder order : {ScaleOrder::row, ScaleOrder::column})
            for (const uint32_t methods : {kQuantizeByVectors, kQuantizeByElements}) {
              Case c;
              c.desc.src_dtype = back ? narrow : wide;
              c.desc.dst_dtype = back ? wide : narrow;
              c.desc.scale = kind;
              if (kind == ScaleKind::tensor && order == ScaleOrder::column) {
                if (back) continue;
                c.desc.flags = kQuantizeDescGivenScale;
              } else {
                c.desc.scale_order = order;
              }
              c.amax = kind == ScaleKind::tensor && !back;
              c.desc.methods = methods;
              c.desc.rows = kind == ScaleKind::block128 ? 130 : 9;
              c.desc.columns = 328;
              c.desc.src_pitch = 336, c.desc.dst_pitch = 344;
              c.values = Values::wild;
              const std::string kernel = check_case(lab, c);
              if (lab.device->info().kind == DeviceKind::host) continue;
              const bool by_elements = kernel.find("_any_") != std::string::npos;
              CHECK(by_elements == (methods == kQuantizeByElements));
            }
}

TEST_CASE("quantize: rows of every length that warps share, and longer ones") {
  Lab lab(3);
  if (!lab.device) return;
  for (const DType wide : {DType::BF16, DType::F32})
    for (const int64_t columns :
         {8, 2048, 2056, 4096, 4104, 7168, 8200, 16384, 16392, 32768, 40000}) {
      Case c;
      c.desc.src_dtype = wide;
      c.desc.scale = ScaleKind::row;
      c.desc.rows = 5;
      c.desc.columns = columns;
      c.values = Values::rows_apart;
      check_case(lab, c);
      c.desc.max_sms = 1;
      c.values = Values::wild;
      check_case(lab, c);
    }
}

TEST_CASE("quantize: many tiles for each block") {
  Lab lab(4);
  if (!lab.device) return;
  for (const ScaleKind kind : kKinds)
    for (const bool back : {false, true}) {
      Case c;
      if (back) std::swap(c.desc.src_dtype, c.desc.dst_dtype);
      c.desc.scale = kind;
      c.desc.max_sms = 2;
      c.desc.rows = 300;
      c.desc.columns = 1160;
      c.desc.src_pitch = 1176;
      c.values = Values::rows_apart;
      check_case(lab, c);
      if (kind == ScaleKind::tensor) continue;
      c.desc.scale_order = ScaleOrder::column;
      c.desc.scale_ld = 304;
      check_case(lab, c);
    }
}

TEST_CASE("quantize: there and back again") {
  Lab lab(5);
  if (!lab.device) return;
  for (const ScaleKind kind : kKinds) {
    QuantizeDesc there;
    there.scale = kind;
    there.rows = 70, there.columns = 700;
    QuantizeDesc back = there;
    std::swap(back.src_dtype, back.dst_dtype);
    std::unique_ptr<Plan> plan, plan_back;
    TW_REQUIRE_OK(QuantizePlan::create(lab.device, there, &plan));
    TW_REQUIRE_OK(QuantizePlan::create(lab.device, back, &plan_back));
    const int64_t elements = there.rows * there.columns;
    Operand src(lab.device, *lab.stream, elements * 2, 0);
    Operand narrow(lab.device, *lab.stream, elements, 0);
    Operand again(lab.device, *lab.stream, elements * 2, 0);
    Operand scale(lab.device, *lab.stream, elements * 4, 0);
    Operand workspace(lab.device, *lab.stream, 4096, 0);
    std::vector<float> values;
    for (int64_t i = 0; i < elements; ++i) {
      values.push_back(
          bf16_to_float(float_to_bf16(std::normal_distribution<float>(0, 3)(lab.random))));
      put(src.data(), i, 2, float_to_bf16(values.back()));
    }
    for (Operand* operand : {&src, &narrow, &again, &scale}) operand->arena->upload();
    TW_REQUIRE_OK(
        static_cast<QuantizePlan&>(*plan).run(*lab.stream, {.src = src.address(),
                                                            .dst = narrow.address(),
                                                            .scale = scale.address(),
                                                            .workspace = workspace.address(),
                                                            .workspace_bytes = 4096}));
    TW_REQUIRE_OK(
        static_cast<QuantizePlan&>(*plan_back)
            .run(*lab.stream,
                 {.src = narrow.address(), .dst = again.address(), .scale = scale.address()}));
    auto image = again.arena->read();
    // Half an ulp of 3 mantissa bits; for subnormal numbers a fraction of the largest number.
    for (int64_t i = 0; i < elements; ++i) {
      const float got = bf16_to_float(static_cast<uint16_t>(get(again.data_of(image), i, 2)));
      const float x = values[size_t(i)];
      REQUIRE(std::fabs(got - x) <= std::max(std::fabs(x) / 15, 15.0f / 448 * 0x1p-9f));
    }
  }
}

// Dependent launches: each reads what its predecessor writes, and writes what an earlier one reads.
TEST_CASE("quantize: kernels behind each other") {
  Lab lab(7);
  if (!lab.device) return;
  for (const DType wide : {DType::BF16, DType::F32})
    for (const ScaleKind kind : kKinds)
      for (const uint32_t methods : {kQuantizeByVectors, kQuantizeByElements}) {
        QuantizeDesc there;
        there.src_dtype = wide;
        there.scale = kind;
        there.methods = methods;
        there.rows = 130, there.columns = 264;
        there.src_pitch = 272, there.dst_pitch = 280;
        QuantizeDesc back = there;
        std::swap(back.src_dtype, back.dst_dtype);
        std::swap(back.src_pitch, back.dst_pitch);
        std::unique_ptr<Plan> plan, plan_back;
        TW_REQUIRE_OK(QuantizePlan::create(lab.device, there, &plan));
        TW_REQUIRE_OK(QuantizePlan::create(lab.device, back, &plan_back));
        INFO(plan->explain());
        std::vector<Operand> one, other;  // wide, narrow, scales, workspace
        for (std::vector<Operand>* operands : {&one, &other})
          for (const int64_t bytes : {130 * 272 * 4, 130 * 280, 130 * 264 * 4, 4096})
            operands->emplace_back(lab.device, *lab.stream, bytes, 0);
        for (int64_t i = 0; i < there.rows * there.src_pitch; ++i) {
          const float value = std::normal_distribution<float>(0, 3)(lab.random);
          put(one[0].data(), i, dtype_bytes(wide), wide_bits(wide, value));
        }
        other[0].arena->image() = one[0].arena->image();
        for (std::vector<Operand>* operands : {&one, &other}) {
          for (Operand& operand : *operands) operand.arena->upload();
          for (int turn = 0; turn < 3; ++turn) {
            const auto& o = *operands;
            TW_REQUIRE_OK(
                static_cast<QuantizePlan&>(*plan).run(*lab.stream, {.src = o[0].address(),
                                                                    .dst = o[1].address(),
                                                                    .scale = o[2].address(),
                                                                    .workspace = o[3].address(),
                                                                    .workspace_bytes = 4096}));
            if (operands == &other) TW_REQUIRE_OK(lab.stream->synchronize());
            TW_REQUIRE_OK(
                static_cast<QuantizePlan&>(*plan_back)
                    .run(*lab.stream,
                         {.src = o[1].address(), .dst = o[0].address(), .scale = o[2].address()}));
            if (operands == &other) TW_REQUIRE_OK(lab.stream->synchronize());
          }
        }
        for (size_t i = 0; i < 3; ++i)
          CHECK(first_difference(one[i].arena->read(), other[i].arena->read()) == -1);
      }
}

TEST_CASE("quantize: one graph serves other matrices") {
  Lab lab(6);
  if (!lab.device) return;
  for (const ScaleKind kind : kKinds) {
    Case c;
    c.desc.scale = kind;
    c.desc.rows = 200, c.desc.columns = 520;
    c.amax = c.tensor();
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(QuantizePlan::create(lab.device, c.desc, &plan));
    Operands operands(c, lab.device, *lab.stream);
    const QuantizeRun run = operands.run(c, *plan);
    operands.upload();
    TW_REQUIRE_OK(lab.stream->synchronize());
    Replay replay(lab.device, [&](Stream& stream) {
      TW_REQUIRE_OK(static_cast<QuantizePlan&>(*plan).run(stream, run));
    });
    for (int again = 0; again < 4; ++again) {
      c.values = static_cast<Values>(again);
      operands.draw(lab.random, c);
      operands.upload();
      TW_REQUIRE_OK(lab.stream->synchronize());
      const Images wanted = wanted_of(c, operands);
      replay();
      compare(operands, wanted);
    }
  }
}
