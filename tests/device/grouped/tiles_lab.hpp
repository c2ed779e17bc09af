// SPDX-License-Identifier: Apache-2.0
#pragma once
// Draws random cases of grouped GEMM and runs them on the device under test. Bytes that a run must
// not read are NaN; bytes that it must not write are compared.

#include "kernels/common/convert.h"
#include "tests/device/common/counts.hpp"
#include "tests/device/common/predecessor.hpp"
#include "tests/device/grouped/tiles_case.hpp"

namespace tw::test {

/// Memory filled with 0xff, which is NaN in every float type and -1 as an integer, with guards.
struct GroupedOperand {
  static constexpr uint64_t kGuard = 256;
  std::unique_ptr<Arena> arena;
  uint64_t before = kGuard;
  GroupedOperand(const std::shared_ptr<Device>& device, Stream& stream, int64_t bytes,
                 uint64_t shift = 0)
      : arena(new Arena(device, stream, static_cast<uint64_t>(bytes) + shift + 2 * kGuard)),
        before(kGuard + shift) {
    std::memset(arena->image().data(), 0xff, arena->image().size());
  }
  uint64_t address() const { return arena->address() + before; }
  uint64_t bytes() const { return arena->bytes() - before - kGuard; }
  uint8_t* data() { return arena->image().data() + before; }
};

inline void put_number(uint8_t* to, DType type, float value) {
  if (type == DType::F32) {
    std::memcpy(to, &value, 4);
    return;
  }
  if (dtype_bytes(type) == 1) {
    // i8 has no NaN, so bytes that are not read stay as they are.
    if (type != DType::I8)
      *to = static_cast<uint8_t>(encode(type == DType::F8E4M3 ? kFormatE4M3 : kFormatE5M2, value));
    else if (!std::isnan(value))
      *to = static_cast<uint8_t>(static_cast<int>(value));
    return;
  }
  const uint16_t bits = type == DType::BF16 ? float_to_bf16(value) : float_to_f16(value);
  std::memcpy(to, &bits, 2);
}

inline double take_number(const uint8_t* from, DType type) {
  float value = 0;
  if (type == DType::F32) {
    std::memcpy(&value, from, 4);
    return double{value};
  }
  uint16_t bits = 0;
  std::memcpy(&bits, from, 2);
  return double{type == DType::BF16 ? bf16_to_float(bits) : f16_to_float(bits)};
}

/// Layout of matrices in memory; strides are in elements.
struct GroupedLayout {
  DType type;
  int64_t matrices, lines, columns, matrix_stride, line_stride, column_stride;
  int64_t at(int64_t z, int64_t i, int64_t j) const {
    return (z * matrix_stride + i * line_stride + j * column_stride) * dtype_bytes(type);
  }
  int64_t bytes() const {
    if (matrices == 0 || lines == 0 || columns == 0) return 0;
    return at(matrices - 1, lines - 1, columns - 1) + dtype_bytes(type);
  }
  /// Calls visit(index of the element, its offset in bytes).
  template <class Visit>
  void each(Visit visit) const {
    size_t i = 0;
    for (int64_t z = 0; z < matrices; ++z)
      for (int64_t line = 0; line < lines; ++line)
        for (int64_t column = 0; column < columns; ++column) visit(i++, at(z, line, column));
  }
};

inline GroupedLayout layout_of_a(const GroupedCase& c) {
  const int64_t pitch = c.desc.lda ? c.desc.lda : c.a_columns();
  return {c.desc.a_dtype, 1, c.a_lines(), c.a_columns(), 0, pitch, 1};
}
inline GroupedLayout layout_of_b(const GroupedCase& c) {
  const GroupedDesc& d = c.desc;
  const bool row = d.b_order == Order::row;
  const int64_t pitch = d.ldb ? d.ldb : row ? d.n : d.k;
  const int64_t stride = d.b_stride ? d.b_stride : pitch * (row ? d.k : d.n);
  return {d.b_type(), c.b_matrices(), d.k, d.n, stride, row ? pitch : 1, row ? 1 : pitch};
}
inline GroupedLayout layout_of_d(const GroupedCase& c) {
  const int64_t pitch = c.desc.ldd ? c.desc.ldd : c.columns();
  const int64_t stride = c.desc.d_stride ? c.desc.d_stride : pitch * c.d_lines();
  return {c.d_type(), c.d_matrices(), c.d_lines(), c.columns(), stride, pitch, 1};
}
inline GroupedLayout layout_of_bias(const GroupedCase& c) {
  const int64_t stride = c.desc.bias_stride ? c.desc.bias_stride : c.desc.n;
  return {c.desc.bias_dtype, c.weights(), 1, c.desc.n, stride, 0, 1};
}

/// Layout of an operand's scales: lines x blocks of k in either order.
inline GroupedLayout layout_of_scales(const GemmScaling& scaling, bool lines_are_rows,
                                      int64_t matrices, int64_t lines, int64_t blocks,
                                      int64_t stride) {
  const bool apart = (scaling.order == Order::row) == lines_are_rows;  // a line is contiguous
  const int64_t pitch = scaling.leading ? scaling.leading : apart ? blocks : lines;
  if (stride == 0) stride = pitch * (apart ? lines : blocks);
  return {DType::F32, matrices, lines, blocks, stride, apart ? pitch : 1, apart ? 1 : pitch};
}
inline GroupedLayout layout_of_a_scales(const GroupedCase& c) {
  const GroupedDesc& d = c.desc;
  const bool splits = d.a_scale_stride != 0;
  const int64_t room = d.group_rows ? d.group_rows : d.m / std::max<int64_t>(d.groups, 1);
  return layout_of_scales(d.a_scaling, true, splits ? d.groups : 1,
                          splits ? room : c.a_scale_lines(), c.blocks(), d.a_scale_stride);
}
inline GroupedLayout layout_of_b_scales(const GroupedCase& c) {
  return layout_of_scales(c.desc.b_scaling, false, c.b_matrices(), c.b_scale_lines(), c.blocks(),
                          c.desc.b_scale_stride);
}

/// A case on a device: its plan, its memory and the arguments of a run.
struct GroupedJob {
  std::unique_ptr<Plan> plan;
  std::vector<std::unique_ptr<GroupedOperand>> inputs;
  std::unique_ptr<GroupedOperand> d, faults, workspace;
  GroupedRun run;
};

class GroupedLab {
 public:
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::mt19937_64 random;
  uint32_t methods = ~0u;  // methods of drawn descriptions

  explicit GroupedLab(uint64_t seed) : random(seed) {
    device = open_test_device();
    if (device) stream = new_stream(device);
  }

  /// A plan of a case with its memory on the device.
  GroupedJob job(const GroupedCase& c) {
    GroupedJob made = planned(c);
    put(c, &made);
    return made;
  }
  void start(const GroupedJob& of) {
    TW_REQUIRE_OK(static_cast<GroupedPlan&>(*of.plan).run(*stream, of.run));
  }
  /// Runs a case and compares it with the reference. Returns the first element of D.
  double check(const GroupedCase& c) {
    INFO(describe(c));
    GroupedJob made = planned(c);
    INFO(made.plan->explain());
    if (!is_chosen_kernel(made.plan->info().kernel)) return 0;
    put(c, &made);
    Predecessor before(device, *stream);
    if (c.behind) {
      for (const auto& operand : made.inputs) before.add(operand->address(), operand->bytes());
      for (const auto* operand : {&made.d, &made.faults, &made.workspace})
        before.add((*operand)->address(), (*operand)->bytes());
      before.launch();
    }
    start(made);
    const GroupedResult wanted = c.ranges() ? ranges_reference(c) : grouped_reference(c);
    compare(c, wanted, *made.d);
    if (c.counts) CHECK(word(*made.faults) == kFaultsBefore + wanted.faults);
    for (auto& operand : made.inputs)
      CHECK(first_difference(operand->arena->read(), operand->arena->image()) == -1);
    check_guards(*made.workspace);
    return take_number(made.d->arena->read().data() + made.d->before, c.d_type());
  }

 private:
  static constexpr uint64_t kFaultsBefore = 5;

  GroupedJob planned(const GroupedCase& c) {
    GroupedJob made;
    TW_REQUIRE_OK(GroupedPlan::create(device, c.desc, &made.plan));
    return made;
  }
  void put(const GroupedCase& c, GroupedJob* to) {
    const auto operand = [&](int64_t bytes, uint64_t shift = 0) {
      return std::make_unique<GroupedOperand>(device, *stream, bytes, shift);
    };
    to->run = inputs(c, &to->inputs);
    const GroupedLayout layout = layout_of_d(c);
    to->d = operand(layout.bytes(), c.d_shift * static_cast<uint64_t>(dtype_bytes(c.d_type())));
    layout.each([&](size_t i, int64_t at) { put_number(to->d->data() + at, c.d_type(), c.d[i]); });
    to->faults = operand(8);
    std::memcpy(to->faults->data(), &kFaultsBefore, 8);
    const auto bytes = static_cast<int64_t>(to->plan->info().workspace_bytes);
    to->workspace = operand(bytes);
    for (const auto* memory : {&to->d, &to->faults, &to->workspace}) (*memory)->arena->upload();
    to->run.d = to->d->address();
    to->run.invalid_count = c.counts ? to->faults->address() : 0;
    to->run.workspace = to->workspace->address();
    to->run.workspace_bytes = static_cast<uint64_t>(bytes);
  }
  static uint64_t word(const GroupedOperand& operand) {
    const auto image = operand.arena->read();
    uint64_t value = 0;
    std::memcpy(&value, image.data() + operand.before, 8);
    return value;
  }
  static void check_guards(const GroupedOperand& operand) {
    const auto image = operand.arena->read();
    for (uint64_t i = 0; i < GroupedOperand::kGuard; ++i)
      REQUIRE((image[i] == 0xff && image[image.size() - 1 - i] == 0xff));
  }

  void compare(const GroupedCase& c, const GroupedResult& wanted, GroupedOperand& d) {
    const auto image = d.arena->read();
    std::vector<uint8_t>& expected = d.arena->image();
    const auto size = static_cast<size_t>(dtype_bytes(c.d_type()));
    layout_of_d(c).each([&](size_t i, int64_t at) {
      const auto place = static_cast<size_t>(at) + d.before;
      if (!wanted.written[i]) return;
      const double got = take_number(image.data() + place, c.d_type());
      const double want = wanted.d[i].value;
      std::memcpy(expected.data() + place, image.data() + place, size);
      // The last term is for subnormal numbers.
      const double most =
          wanted.d[i].error + 2 * rounding_of(c.d_type()) * std::abs(want) + 0x1p-126;
      const bool near = std::isnan(want)   ? std::isnan(got)
                        : std::isinf(want) ? got == want
                                           : std::abs(got - want) <= most;
      if (!near) {
        CAPTURE(i);
        CAPTURE(got);
        CAPTURE(want);
        CAPTURE(most);
        REQUIRE(near);
      }
    });
    REQUIRE(first_difference(image, expected) == -1);
  }

  uint64_t numbers(const std::vector<int64_t>& values, DType type,
                   std::vector<std::unique_ptr<GroupedOperand>>* kept) {
    const auto size = static_cast<size_t>(dtype_bytes(type));
    auto& operand = *kept->emplace_back(std::make_unique<GroupedOperand>(
        device, *stream, static_cast<int64_t>(values.size() * size)));
    for (size_t i = 0; i < values.size(); ++i)
      std::memcpy(operand.data() + i * size, &values[i], size);
    operand.arena->upload();
    return operand.address();
  }
  template <class T>
  uint64_t words(const std::vector<T>& values, std::vector<std::unique_ptr<GroupedOperand>>* kept) {
    auto& operand = *kept->emplace_back(
        std::make_unique<GroupedOperand>(device, *stream, static_cast<int64_t>(values.size() * 4)));
    if (!values.empty()) std::memcpy(operand.data(), values.data(), values.size() * 4);
    operand.arena->upload();
    return operand.address();
  }
  uint64_t matrices(const std::vector<float>& values, const GroupedLayout& layout, uint64_t shift,
                    std::vector<std::unique_ptr<GroupedOperand>>* kept) {
    const auto size = static_cast<uint64_t>(dtype_bytes(layout.type));
    auto& operand = *kept->emplace_back(
        std::make_unique<GroupedOperand>(device, *stream, layout.bytes(), shift * size));
    layout.each(
        [&](size_t i, int64_t at) { put_number(operand.data() + at, layout.type, values[i]); });
    operand.arena->upload();
    return operand.address();
  }

  GroupedRun inputs(const GroupedCase& c, std::vector<std::unique_ptr<GroupedOperand>>* kept) {
    GroupedRun run;
    run.alpha = c.alpha, run.beta = c.beta, run.m = c.m;
    run.a = matrices(c.a, layout_of_a(c), c.a_shift, kept);
    run.b = matrices(c.b, layout_of_b(c), c.b_shift, kept);
    if (c.desc.a_scaling.any()) {
      run.a_scale = matrices(c.a_scale, layout_of_a_scales(c), 0, kept);
      run.b_scale = matrices(c.b_scale, layout_of_b_scales(c), 0, kept);
    }
    if (c.desc.bias_dtype != DType{}) run.bias = matrices(c.bias, layout_of_bias(c), 0, kept);
    if (c.desc.grouping != Grouping::one) run.groups = numbers(c.groups, c.desc.index_dtype, kept);
    if (c.gathers()) run.a_rows = numbers(c.a_rows, c.desc.row_index_dtype, kept);
    if (c.scatters()) run.d_rows = numbers(c.d_rows, c.desc.row_index_dtype, kept);
    if (c.mapped) run.group_map = words(c.map, kept);
    if (c.group_scaled) run.group_alpha = words(c.group_alpha, kept);
    if (c.weighted) run.row_weights = words(c.row_weights, kept);
    if (c.desc.has(kGroupedDescInverse)) run.inverse = words(c.inverse, kept);
    return run;
  }
};

// ---- Drawing ----

constexpr float kUnread = std::numeric_limits<float>::quiet_NaN();

/// Multiples of 1/8 up to 1, whose sums of products are exact.
inline std::vector<float> draw_values(std::mt19937_64& random, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(pick(random, -8, 8)) / 8;
  return values;
}

/// The same for a type; i8 gets integers up to 8.
inline std::vector<float> draw_values(std::mt19937_64& random, int64_t count, DType type) {
  std::vector<float> values = draw_values(random, count);
  if (type == DType::I8)
    for (float& value : values) value *= 8;
  return values;
}

/// Scales that use all bits of f32; for i8 an eighth of the size. A tenth are 0 or subnormal.
inline std::vector<float> draw_scales(std::mt19937_64& random, int64_t count, DType type) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    value = static_cast<float>(pick(random, 1 << 20, 1 << 24)) * 0x1p-23f;
    if (type == DType::I8) value /= 8;
    if (pick(random, 0, 9) == 0) value = pick(random, 0, 1) ? 0.0f : 0x1.8p-130f;
  }
  return values;
}

/// An invalid number of a row or a group, of which there are `count`.
inline int64_t draw_wrong(std::mt19937_64& random, int64_t count, DType type) {
  const int64_t narrow[] = {count + 1, INT32_MAX, INT32_MIN, -2};
  const int64_t wide[] = {count + 1, INT64_MAX, INT64_MIN, int64_t{1} << 32};
  return (type == DType::I64 ? wide : narrow)[pick(random, 0, 3)];
}

inline void draw_by_row(std::mt19937_64& random, GroupedCase* c, bool wrong) {
  const int64_t rows = c->rows(), groups = c->desc.groups;
  std::vector<int64_t> order(static_cast<size_t>(groups));
  for (size_t g = 0; g < order.size(); ++g) order[g] = static_cast<int64_t>(g);
  std::shuffle(order.begin(), order.end(), random);
  c->groups.assign(static_cast<size_t>(rows), -1);
  int64_t r = 0;
  for (const int64_t g : order) {
    r += pick(random, 0, 2);
    const int64_t end = r + pick(random, 0, 2 * rows / groups + 1);
    for (; r < std::min(end, rows); ++r) c->groups[size_t(r)] = g;
  }
  if (!wrong || rows == 0) return;
  for (int i = 0; i < 3; ++i) {
    int64_t& number = c->groups[size_t(pick(random, 0, rows - 1))];
    number = pick(random, 0, 1) ? draw_wrong(random, groups, c->desc.index_dtype)
                                : pick(random, -1, groups - 1);
  }
}

/// Draws ascending ends of groups; rows after the last end have no group.
inline void draw_ends(std::mt19937_64& random, GroupedCase* c, int64_t count, int64_t most) {
  for (int64_t i = 0; i < count; ++i)
    c->groups.push_back(pick(random, 0, 4) ? pick(random, 0, most) : 0);
  std::sort(c->groups.begin(), c->groups.end());
}

inline void draw_psum(std::mt19937_64& random, GroupedCase* c) {
  const int64_t by = std::max<int64_t>(c->desc.row_alignment, 1);
  int64_t end = 0;
  for (int64_t g = 0; g < c->desc.groups; ++g) {
    const int64_t begin = (end + by - 1) / by * by;
    const int64_t rows = pick(random, 0, 2 * c->rows() / c->desc.groups + 1);
    if (rows != 0 && begin + rows <= c->rows()) end = begin + rows;
    c->groups.push_back(end);
  }
}

inline void draw_groups(std::mt19937_64& random, GroupedCase* c, bool wrong) {
  const GroupedDesc& d = c->desc;
  c->groups.clear();
  if (d.grouping == Grouping::one) return;
  if (d.grouping == Grouping::by_row) return draw_by_row(random, c, wrong);
  if (d.grouping == Grouping::psum) {
    draw_psum(random, c);
  } else if (d.grouping == Grouping::masked) {
    const int64_t room = d.group_rows ? d.group_rows : d.m / d.groups;
    for (int64_t g = 0; g < d.groups; ++g) c->groups.push_back(pick(random, 0, room));
  } else {
    draw_ends(random, c, d.groups + (d.grouping == Grouping::offsets ? 1 : 0),
              c->ranges() ? d.k : c->rows());
  }
  // Smaller numbers could make groups overlap, whose result is undefined.
  if (wrong)
    c->groups[size_t(pick(random, 0, int64_t(c->groups.size()) - 1))] =
        draw_wrong(random, c->ranges() ? d.k : d.m, d.index_dtype);
}

inline void draw_map(std::mt19937_64& random, GroupedCase* c, bool wrong) {
  c->map.clear();
  for (int64_t g = 0; g < c->desc.groups; ++g)
    c->map.push_back(static_cast<int32_t>(pick(random, -1, c->weights() - 1)));
  if (wrong)
    c->map[size_t(pick(random, 0, c->desc.groups - 1))] =
        static_cast<int32_t>(pick(random, 0, 1) ? c->weights() : pick(random, -9, -2));
}

inline void draw_gather(std::mt19937_64& random, GroupedCase* c, bool wrong) {
  const int64_t most = c->desc.a_count * c->a_divisor();
  for (int64_t r = 0; r < c->rows(); ++r) {
    const int64_t kind = pick(random, 0, 9);
    c->a_rows.push_back(kind == 0            ? -1
                        : kind == 1 && wrong ? draw_wrong(random, most, c->desc.row_index_dtype)
                                             : pick(random, 0, most - 1));
  }
}

/// Gives each row its own pair. Rows that are stored get distinct rows of D.
inline void draw_scatter(std::mt19937_64& random, GroupedCase* c, bool wrong) {
  const int64_t stride = c->desc.combine == Combine::store ? c->d_divisor() : 1;
  std::vector<int64_t> pairs;
  for (int64_t p = 0; p < c->pairs(); p += stride) pairs.push_back(p + pick(random, 0, stride - 1));
  std::shuffle(pairs.begin(), pairs.end(), random);
  if (c->desc.has(kGroupedDescInverse)) c->inverse.assign(static_cast<size_t>(c->pairs()), -1);
  for (int64_t r = 0; r < c->rows(); ++r) {
    const int64_t kind = pick(random, 0, 9);
    int64_t index = -1;
    if (kind == 1 && wrong) index = draw_wrong(random, c->pairs(), c->desc.row_index_dtype);
    if (kind > 1 && !pairs.empty()) index = pairs.back(), pairs.pop_back();
    c->d_rows.push_back(index);
    if (c->desc.has(kGroupedDescInverse) && index >= 0 && index < c->pairs())
      c->inverse[size_t(index)] = static_cast<int32_t>(r);
  }
  for (int32_t& r : c->inverse)
    if (wrong && r == -1 && pick(random, 0, 3) == 0)
      r = static_cast<int32_t>(draw_wrong(random, c->desc.m, DType::I32));
}

/// Replaces everything that no row of a group needs by NaN.
inline void poison(GroupedCase* c) {
  std::vector<char> lines(static_cast<size_t>(c->a_lines()));
  std::vector<char> weights(static_cast<size_t>(c->weights()));
  std::vector<char> live(static_cast<size_t>(c->rows()));
  for (int64_t g = 0; g < c->desc.groups; ++g) {
    const GroupedSpan span = span_of(*c, g);
    const int64_t weight = weight_of(*c, g);
    if (weight < 0 || span.begin == span.end) continue;
    weights[size_t(weight)] = 1;
    for (int64_t r = span.begin; r < span.end; ++r) {
      live[size_t(r)] = 1;
      int64_t line = r;
      if (c->gathers()) line = named_row(c->a_rows[size_t(r)], c->a_divisor(), c->desc.a_count);
      if (line >= 0) lines[size_t(line)] = 1;
    }
  }
  for (size_t i = 0; i < c->a.size(); ++i)
    if (!lines[i / static_cast<size_t>(c->desc.k)]) c->a[i] = kUnread;
  for (size_t i = 0; i < c->b.size(); ++i)
    if (!weights[i / static_cast<size_t>(c->desc.k * c->desc.n)]) c->b[i] = kUnread;
  for (size_t i = 0; i < c->bias.size(); ++i)
    if (!weights[i / static_cast<size_t>(c->desc.n)]) c->bias[i] = kUnread;
  for (size_t i = 0; i < c->group_alpha.size(); ++i)
    if (!weights[i]) c->group_alpha[i] = kUnread;
  if (c->desc.a_scaling.kind >= ScaleKind::row)
    for (size_t i = 0; i < c->a_scale.size(); ++i)
      if (!lines[i / static_cast<size_t>(c->blocks())]) c->a_scale[i] = kUnread;
  if (c->desc.b_scaling.any())
    for (size_t i = 0; i < c->b_scale.size(); ++i)
      if (!weights[i / static_cast<size_t>(c->b_scale_lines() * c->blocks())])
        c->b_scale[i] = kUnread;
  if (c->desc.has(kGroupedDescRowWeightByIndex)) return;
  for (size_t i = 0; i < c->row_weights.size(); ++i)
    if (i >= live.size() || !live[i]) c->row_weights[i] = kUnread;
}

/// Draws all operands of a description but the numbers of its groups.
inline void draw_other_operands(std::mt19937_64& random, GroupedCase* c, bool wrong) {
  const GroupedDesc& d = c->desc;
  if (c->mapped) draw_map(random, c, wrong && pick(random, 0, 1) != 0);
  if (c->gathers()) draw_gather(random, c, wrong);
  if (c->scatters()) draw_scatter(random, c, wrong);
  c->a = draw_values(random, c->a_lines() * c->a_columns(), d.a_dtype);
  c->b = draw_values(random, c->b_matrices() * d.k * d.n, d.a_dtype);
  c->a_scale = draw_scales(random, c->a_scale_lines() * c->blocks(), d.a_dtype);
  c->b_scale = draw_scales(random, c->b_matrices() * c->b_scale_lines() * c->blocks(), d.a_dtype);
  c->d = draw_values(random, c->d_matrices() * c->d_lines() * c->columns());
  if (d.bias_dtype != DType{}) c->bias = draw_values(random, c->weights() * d.n);
  if (c->group_scaled) c->group_alpha = draw_values(random, c->weights());
  if (c->weighted)
    c->row_weights = draw_values(random, d.has(kGroupedDescRowWeightByIndex) ? c->pairs() : d.m);
  if (!c->ranges()) poison(c);
}

/// Draws the numbers and the operands of a description.
inline void draw_operands(std::mt19937_64& random, GroupedCase* c, bool wrong) {
  draw_groups(random, c, wrong && pick(random, 0, 1) != 0);
  draw_other_operands(random, c, wrong);
}

/// Limits of drawn extents.
struct GroupedMost {
  int64_t m = 200, n = 150, k = 100, groups = 12;
};

inline void draw_pitches(std::mt19937_64& random, GroupedCase* c) {
  GroupedDesc& d = c->desc;
  const auto more = [&] { return pick(random, 0, 1) ? pick(random, 0, 9) : 8; };
  d.lda = c->a_columns() + more();
  d.ldb = (d.b_order == Order::row ? d.n : d.k) + more();
  d.ldd = c->columns() + more();
  if (!c->ranges()) d.b_stride = d.ldb * (d.b_order == Order::row ? d.k : d.n) + more();
  if (c->ranges()) d.d_stride = d.ldd * d.m + more();
  if (d.bias_dtype != DType{}) d.bias_stride = d.n + more();
  if (pick(random, 0, 1)) return;
  c->a_shift = static_cast<uint64_t>(pick(random, 0, 8));
  c->b_shift = static_cast<uint64_t>(pick(random, 0, 8));
  c->d_shift = static_cast<uint64_t>(pick(random, 0, 8));
}

inline void draw_epilogue(std::mt19937_64& random, GroupedCase* c) {
  GroupedDesc& d = c->desc;
  d.activation = static_cast<Activation>(pick(random, 0, 4));
  if (pick(random, 0, 1)) d.bias_dtype = pick(random, 0, 1) ? d.a_dtype : DType::F32;
  d.gate = static_cast<Gate>(pick(random, 0, 2));
  if (d.gate == Gate::none) return;
  d.n += d.n % 2;
  if (pick(random, 0, 1)) d.gate_limit = 2.5f;
  if (pick(random, 0, 1)) d.gate_offset = 1;
  constexpr float kSlopes[] = {1, 1.702f, 0, -0.5f};
  if (d.activation == Activation::silu) d.gate_slope = kSlopes[pick(random, 0, 3)];
}

inline void draw_rows(std::mt19937_64& random, GroupedCase* c) {
  GroupedDesc& d = c->desc;
  if (pick(random, 0, 1)) {
    d.flags |= kGroupedDescGather;
    d.a_count = pick(random, 1, d.m + 5), d.a_divisor = pick(random, 0, 3);
  }
  if (pick(random, 0, 2) == 0) return;
  d.flags |= kGroupedDescScatter;
  d.d_divisor = pick(random, 0, 4);
  d.combine = static_cast<Combine>(pick(random, 0, 2));
  const int64_t most = pick(random, 0, 1) ? d.m + 5 : 4;
  d.d_count = pick(random, 1, most);
  if (d.combine != Combine::store) d.d_divisor = std::max<int64_t>(d.d_divisor, d.m / d.d_count);
  if (d.combine == Combine::sum && pick(random, 0, 1)) d.flags |= kGroupedDescInverse;
  if (pick(random, 0, 1)) d.flags |= kGroupedDescRowWeightByIndex;
}

/// Draws a pair of 8-bit types, the type of D, and scales of any kind and order.
inline void draw_narrow(std::mt19937_64& random, GroupedCase* c) {
  GroupedDesc& d = c->desc;
  constexpr std::pair<DType, DType> kPairs[] = {{DType::F8E4M3, DType{}},
                                                {DType::F8E4M3, DType::F8E5M2},
                                                {DType::F8E5M2, DType::F8E4M3},
                                                {DType::I8, DType{}}};
  constexpr DType kResults[] = {DType::BF16, DType::F16, DType::F32};
  constexpr std::pair<ScaleKind, ScaleKind> kScales[] = {{ScaleKind::none, ScaleKind::none},
                                                         {ScaleKind::tensor, ScaleKind::tensor},
                                                         {ScaleKind::row, ScaleKind::row},
                                                         {ScaleKind::row128, ScaleKind::block128},
                                                         {ScaleKind::row128, ScaleKind::row128}};
  const bool ranges = d.grouping == Grouping::k_ranges;
  std::tie(d.a_dtype, d.b_dtype) = kPairs[pick(random, 0, 3)];
  d.d_dtype = ranges ? DType::F32 : kResults[pick(random, 0, 2)];
  const auto& [of_a, of_b] = kScales[pick(random, 0, ranges ? 2 : 4)];
  d.a_scaling.kind = of_a, d.b_scaling.kind = of_b;
  if (of_a < ScaleKind::row128 && is_f8(d.a_dtype) && pick(random, 0, 3) == 0)
    d.flags |= kGroupedDescFast;
  if (of_a == ScaleKind::none && d.a_dtype == DType::I8) c->alpha /= 64;
  if (of_a < ScaleKind::row128) return;
  d.a_scaling.order = static_cast<Order>(pick(random, 0, 1));
  d.b_scaling.order = static_cast<Order>(pick(random, 0, 1));
}

/// Draws leading dimensions and strides of scales, with unused scales between.
inline void draw_scale_pitches(std::mt19937_64& random, GroupedCase* c) {
  GroupedDesc& d = c->desc;
  const bool masked = d.grouping == Grouping::masked && !c->gathers();
  const bool deep = d.a_scaling.kind == ScaleKind::row128;
  const int64_t room = d.group_rows ? d.group_rows : d.m / std::max<int64_t>(d.groups, 1);
  if (masked && d.a_scaling.kind >= ScaleKind::row && pick(random, 0, 1))
    d.a_scale_stride = room * c->blocks() + (deep ? 4 * (room + c->blocks()) : 3);
  if (deep && pick(random, 0, 1)) {
    const bool row = d.a_scaling.order == Order::row;
    d.a_scaling.leading = (row                ? c->blocks()
                           : d.a_scale_stride ? room
                                              : c->a_scale_lines()) +
                          pick(random, 0, 4);
    d.b_scaling.leading =
        (d.b_scaling.order == Order::row ? c->b_scale_lines() : c->blocks()) + pick(random, 0, 4);
  }
  if (d.b_scaling.any() && !c->ranges() && pick(random, 0, 1))
    d.b_scale_stride = layout_of_b_scales(*c).matrix_stride + pick(random, 1, 5);
}

/// Draws a case of any grouping except ranges of k.
inline GroupedCase draw_case(std::mt19937_64& random, const GroupedMost& most,
                             bool narrow = false) {
  GroupedCase c;
  GroupedDesc& d = c.desc;
  d.m = pick(random, 1, most.m), d.n = pick(random, 1, most.n), d.k = pick(random, 0, most.k);
  d.a_dtype = pick(random, 0, 1) ? DType::BF16 : DType::F16;
  d.d_dtype = pick(random, 0, 1) ? DType::F32 : d.a_dtype;
  d.index_dtype = pick(random, 0, 1) ? DType::I32 : DType::I64;
  d.row_index_dtype = pick(random, 0, 1) ? DType::I32 : DType::I64;
  d.b_order = pick(random, 0, 1) ? Order::row : Order::column;
  d.grouping = static_cast<Grouping>(pick(random, 0, 5));
  d.groups = d.grouping == Grouping::one ? 1 : pick(random, 1, std::min(most.groups, d.m));
  d.weight_count = d.groups + pick(random, 0, 2);
  c.mapped = pick(random, 0, 1) != 0;
  if (c.mapped) d.weight_count = pick(random, 1, d.weight_count);
  if (d.grouping == Grouping::psum) d.row_alignment = pick(random, 0, 1) ? 8 : pick(random, 0, 5);
  if (pick(random, 0, 3) == 0) c.m = pick(random, 0, d.m);
  if (pick(random, 0, 2) == 0) d.flags |= kGroupedDescZeroOthers;
  if (pick(random, 0, 2) == 0) d.max_sms = 1;  // several tiles per block
  if (pick(random, 0, 2) == 0) d.flags |= kGroupedDescProgrammatic;
  draw_rows(random, &c);
  draw_epilogue(random, &c);
  constexpr float kAlphas[] = {1, 0.5f, -2};
  c.alpha = kAlphas[pick(random, 0, 2)];
  if (narrow) {
    draw_narrow(random, &c);
    if (d.bias_dtype != DType{}) d.bias_dtype = pick(random, 0, 1) ? DType::F32 : DType::F16;
    if (d.bias_dtype == DType::F16 && pick(random, 0, 1)) d.bias_dtype = DType::BF16;
    draw_scale_pitches(random, &c);
  }
  c.group_scaled = pick(random, 0, 2) == 0;
  c.weighted = d.has(kGroupedDescRowWeightByIndex) || pick(random, 0, 2) == 0;
  c.counts = pick(random, 0, 3) != 0;
  if (pick(random, 0, 1)) draw_pitches(random, &c);
  draw_operands(random, &c, pick(random, 0, 2) == 0);
  return c;
}

/// Makes A infinite and B 0 outside of all ranges of k.
inline void spoil_unused_k(GroupedCase* c) {
  const GroupedDesc& d = c->desc;
  if (d.a_dtype == DType::I8) return;  // i8 has no infinity
  std::vector<char> used(static_cast<size_t>(d.k));
  for (int64_t g = 0; g < d.groups; ++g)
    for (int64_t k = span_of(*c, g).begin; k < span_of(*c, g).end; ++k) used[size_t(k)] = 1;
  for (int64_t k = 0; k < d.k; ++k) {
    if (used[size_t(k)]) continue;
    std::fill_n(c->a.begin() + k * d.m, d.m, std::numeric_limits<float>::infinity());
    std::fill_n(c->b.begin() + k * d.n, d.n, 0.0f);
  }
}

/// Draws a case of ranges of k.
inline GroupedCase draw_ranges(std::mt19937_64& random, const GroupedMost& most,
                               bool narrow = false) {
  GroupedCase c;
  GroupedDesc& d = c.desc;
  d.grouping = Grouping::k_ranges;
  d.m = pick(random, 1, most.m), d.n = pick(random, 1, most.n), d.k = pick(random, 1, most.k);
  d.a_dtype = pick(random, 0, 1) ? DType::BF16 : DType::F16;
  d.d_dtype = DType::F32;
  d.index_dtype = pick(random, 0, 1) ? DType::I32 : DType::I64;
  d.groups = pick(random, 1, most.groups);
  c.alpha = pick(random, 0, 2) ? 1.0f : -0.5f;
  c.beta = pick(random, 0, 1) ? 1.0f : 0.0f;
  c.counts = pick(random, 0, 3) != 0;
  if (pick(random, 0, 2) == 0) d.max_sms = 1;
  if (narrow) draw_narrow(random, &c);
  if (pick(random, 0, 1)) draw_pitches(random, &c);
  draw_operands(random, &c, pick(random, 0, 2) == 0);
  spoil_unused_k(&c);
  return c;
}

}  // namespace tw::test
