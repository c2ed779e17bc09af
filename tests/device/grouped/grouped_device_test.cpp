// SPDX-License-Identifier: Apache-2.0
// Compares grouped GEMMs with float64 loops: each form of grouping with random routings. Bytes that
// must not be read are NaN; bytes that must not be written are compared.
#include <cstdlib>
#include <functional>

#include "tests/device/grouped/grouped_draw.hpp"

using namespace tw;
using namespace tw::test;

namespace {

struct Lab {
  std::shared_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  Random random;

  explicit Lab(uint64_t seed) : random(seed) {
    device = open_test_device();
    if (device) stream = new_stream(device);
  }
};

void put_value(uint8_t* to, DType type, float value) {
  if (type == DType::F32) {
    std::memcpy(to, &value, 4);
    return;
  }
  const uint16_t bits = type == DType::BF16 ? float_to_bf16(value) : float_to_f16(value);
  std::memcpy(to, &bits, 2);
}

float get_value(const uint8_t* from, DType type) {
  if (type == DType::F32) {
    float value;
    std::memcpy(&value, from, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, from, 2);
  return type == DType::BF16 ? bf16_to_float(bits) : f16_to_float(bits);
}

// The operands of a case on a device. Bytes that no run reads are NaN.
struct Operands {
  Lab& lab;
  std::vector<std::unique_ptr<Guarded>> inputs;
  std::unique_ptr<Guarded> d, faults, workspace;
  GroupedRun run;

  Guarded& input(int64_t bytes, uint64_t offset = 0) {
    inputs.push_back(
        std::make_unique<Guarded>(lab.device, *lab.stream, static_cast<uint64_t>(bytes), offset));
    std::memset(inputs.back()->data(), 0xff, static_cast<size_t>(bytes));
    return *inputs.back();
  }
  uint64_t put_numbers(const std::vector<int64_t>& numbers, DType type) {
    Guarded& to = input(int64_t(numbers.size()) * dtype_bytes(type));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto narrow = static_cast<int32_t>(numbers[i]);
      if (type == DType::I64)
        std::memcpy(to.data() + i * 8, &numbers[i], 8);
      else
        std::memcpy(to.data() + i * 4, &narrow, 4);
    }
    to.upload();
    return to.address();
  }
  uint64_t put_words(const std::vector<int32_t>& words) {
    return put_numbers({words.begin(), words.end()}, DType::I32);
  }
  // Writes those values for which read(index) holds; the others stay NaN.
  uint64_t put_some(const std::vector<float>& values, DType type,
                    const std::function<bool(int64_t)>& read) {
    const int32_t bytes = dtype_bytes(type);
    Guarded& to = input(int64_t(values.size()) * bytes);
    for (size_t i = 0; i < values.size(); ++i)
      if (read(int64_t(i))) put_value(to.data() + i * size_t(bytes), type, values[i]);
    to.upload();
    return to.address();
  }
  uint64_t offset(int64_t element) {
    return chance(lab.random, 50) ? 0 : uint64_t(pick(lab.random, 0, 9) * element);
  }

  Operands(Lab& l, const GroupedCase& c) : lab(l), run(c.run) {
    const GroupedProblem p = c.problem();
    uint64_t unused = 0;
    const std::vector<ResultRow> rows =
        p.has_k_ranges() ? std::vector<ResultRow>() : rows_of(c, &unused);
    put_a(c, p, rows);
    put_b(c, p, rows);
    put_arrays(c, p, rows);
    put_d(c, p);
    const uint64_t zero = 5;
    faults = std::make_unique<Guarded>(lab.device, *lab.stream, 8);
    std::memcpy(faults->data(), &zero, 8);
    faults->upload();
    if (c.counts_faults) run.invalid_count = faults->address();
  }
  void put_a(const GroupedCase& c, const GroupedProblem& p, const std::vector<ResultRow>& rows) {
    std::vector<bool> read(size_t(p.rows_of_a()), false);
    for (const ResultRow& row : rows)
      if (row.from >= 0) read[size_t(row.from)] = true;
    if (p.has_k_ranges())
      for (const GroupSpan& s : spans_of(c, c.k()))
        for (int64_t k = s.begin; k < s.end; ++k) read[size_t(k)] = true;
    const int64_t columns = p.has_k_ranges() ? c.desc.m : c.desc.k;
    Guarded& to = input(p.rows_of_a() * p.desc.lda * 2, offset(2));
    for (int64_t r = 0; r < p.rows_of_a(); ++r)
      for (int64_t i = 0; read[size_t(r)] && i < columns; ++i)
        put_value(to.data() + (r * p.desc.lda + i) * 2, c.desc.a_dtype,
                  c.a[size_t(r * columns + i)]);
    to.upload();
    run.a = to.address();
  }
  void put_b(const GroupedCase& c, const GroupedProblem& p, const std::vector<ResultRow>& rows) {
    const int64_t matrices = p.has_k_ranges() ? 1 : c.weights(), k = c.desc.k, n = c.desc.n;
    Guarded& to = input(matrices * p.b_lines() * p.desc.ldb * 2, offset(2));
    for (int64_t w = 0; w < matrices; ++w) {
      const bool read =
          p.has_k_ranges() ||
          std::any_of(rows.begin(), rows.end(), [&](const ResultRow& r) { return r.weight == w; });
      for (int64_t i = 0; read && i < k * n; ++i) {
        const int64_t at = w * p.desc.b_stride + i / n * p.b_stride_k() + i % n * p.b_stride_n();
        put_value(to.data() + at * 2, c.desc.a_dtype, c.b[size_t(w * k * n + i)]);
      }
    }
    to.upload();
    run.b = to.address();
  }
  void put_arrays(const GroupedCase& c, const GroupedProblem& p,
                  const std::vector<ResultRow>& rows) {
    const auto used = [&](int64_t w) {
      return std::any_of(rows.begin(), rows.end(),
                         [&](const ResultRow& r) { return r.weight == w; });
    };
    const auto weighs = [&](int64_t at) {
      return std::any_of(rows.begin(), rows.end(), [&](const ResultRow& r) {
        return at == (c.has(kGroupedDescRowWeightByIndex) ? c.d_rows[size_t(r.row)] : r.row);
      });
    };
    if (c.desc.grouping != Grouping::one) run.groups = put_numbers(c.numbers, c.desc.index_dtype);
    if (c.mapped) run.group_map = put_words(c.map);
    if (p.gathers()) run.a_rows = put_numbers(c.a_rows, c.desc.row_index_dtype);
    if (p.scatters()) run.d_rows = put_numbers(c.d_rows, c.desc.row_index_dtype);
    if (p.has_inverse()) run.inverse = put_words(c.inverse);
    if (p.has_bias())
      run.bias = put_some(c.bias, c.desc.bias_dtype, [&](int64_t i) { return used(i / c.desc.n); });
    if (c.scaled) run.group_alpha = put_some(c.group_alpha, DType::F32, used);
    if (c.weighted) run.row_weights = put_some(c.row_weights, DType::F32, weighs);
  }
  int64_t d_lines(const GroupedProblem& p) const {
    return p.has_k_ranges() ? p.desc.groups * p.desc.m : p.rows_of_d();
  }
  // An element of D; `row` counts over all matrices.
  uint8_t* d_at(const GroupedProblem& p, int64_t row, int64_t column) {
    const int64_t matrix = p.has_k_ranges() ? row / p.desc.m : 0;
    const int64_t line = p.has_k_ranges() ? row % p.desc.m : row;
    return d->data() + (matrix * p.desc.d_stride + line * p.desc.ldd + column) * p.out_bytes;
  }
  void put_d(const GroupedCase& c, const GroupedProblem& p) {
    const int64_t lines = d_lines(p);
    d = std::make_unique<Guarded>(lab.device, *lab.stream,
                                  uint64_t(lines * p.desc.ldd * p.out_bytes), offset(p.out_bytes));
    for (int64_t i = 0; i < lines * p.d_columns; ++i)
      put_value(d_at(p, i / p.d_columns, i % p.d_columns), c.out(), c.d[size_t(i)]);
    d->upload();
    run.d = d->address();
  }
  void give_workspace(const Plan& plan) {
    const uint64_t bytes = plan.info().workspace_bytes;
    workspace = std::make_unique<Guarded>(lab.device, *lab.stream, bytes);
    run.workspace = workspace->address();
    run.workspace_bytes = bytes;
  }
  uint64_t counted() {
    uint64_t count = 0;
    faults->read();
    std::memcpy(&count, faults->data(), 8);
    return count;
  }
  void check_guards() {
    for (const auto& operand : inputs) {
      operand->read();
      REQUIRE(operand->guards_intact());
    }
    workspace->read();
    REQUIRE(workspace->guards_intact());
    REQUIRE(faults->guards_intact());
  }
};

// Checks that D is within its bounds and that all other bytes are unchanged.
void check_d(const GroupedCase& c, Operands* operands, const std::vector<Cell>& cells) {
  const GroupedProblem p = c.problem();
  std::vector<uint8_t> wanted(operands->d->data(), operands->d->data() + operands->d->bytes());
  operands->d->read();
  const auto bytes = static_cast<size_t>(p.out_bytes);
  const int64_t rows =
      p.has_k_ranges() ? c.m() : int64_t(cells.size()) / std::max<int64_t>(p.d_columns, 1);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].written) continue;
    int64_t row = int64_t(i) / p.d_columns;
    if (p.has_k_ranges()) row = row / rows * c.desc.m + row % rows;
    const uint8_t* const at = operands->d_at(p, row, int64_t(i) % p.d_columns);
    const auto got = double(get_value(at, c.out()));
    const Bounded want = p.has_k_ranges() ? stored(c.out(), cells[i].wanted) : cells[i].wanted;
    CAPTURE(i);
    CAPTURE(got);
    CAPTURE(want.value);
    CAPTURE(want.slack);
    REQUIRE(std::abs(got - want.value) <= want.slack);
    std::memcpy(wanted.data() + (at - operands->d->data()), at, bytes);
  }
  REQUIRE(std::equal(wanted.begin(), wanted.end(), operands->d->data()));
  REQUIRE(operands->d->guards_intact());
}

void check_case(Lab& lab, const GroupedCase& c) {
  INFO(describe(c));
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GroupedPlan::create(lab.device, c.desc, &plan));
  Operands operands(lab, c);
  operands.give_workspace(*plan);
  TW_REQUIRE_OK(static_cast<GroupedPlan&>(*plan).run(*lab.stream, operands.run));
  uint64_t faults = 5;
  const bool ranges = c.desc.grouping == Grouping::k_ranges;
  const std::vector<Cell> cells = ranges ? wanted_of_ranges(c, &faults) : wanted_of(c, &faults);
  check_d(c, &operands, cells);
  if (c.counts_faults) CHECK(operands.counted() == faults);
  operands.check_guards();
}

// TW_EVERY=n runs every n-th case, for tools that slow kernels down.
int step() {
  const char* every = std::getenv("TW_EVERY");
  return every ? std::max(1, std::atoi(every)) : 1;
}

void check_form(Grouping grouping, uint64_t seed, int count) {
  Lab lab(seed);
  if (!lab.device) return;
  for (int i = 0; i < count; i += step()) {
    CAPTURE(i);
    GroupedCase c = draw_case(lab.random, grouping);
    c.counts_faults = chance(lab.random, 80);
    check_case(lab, c);
  }
}

// A simple case with groups of these sizes, given by their ends.
GroupedCase ends_of(Lab& lab, const std::vector<int64_t>& sizes) {
  GroupedCase c;
  c.desc.groups = int64_t(sizes.size());
  c.desc.n = 9, c.desc.k = 12;
  int64_t end = 0;
  for (const int64_t size : sizes) c.numbers.push_back(end += size);
  c.desc.m = end + 3;
  draw_operands(lab.random, &c);
  return c;
}

// Rows of one element, each the value of a row of A, which are added to eight rows of D.
GroupedCase order_case(Lab& lab, Combine combine, bool inverse) {
  GroupedCase c = ends_of(lab, {20, 0, 30, 7});
  c.desc.d_dtype = DType::F32;
  c.desc.k = 1;
  c.desc.flags = kGroupedDescScatter;
  c.desc.d_count = 8, c.desc.d_divisor = 8;
  std::vector<int64_t> pairs(64);
  std::iota(pairs.begin(), pairs.end(), int64_t{0});
  std::shuffle(pairs.begin(), pairs.end(), lab.random);
  c.d_rows.assign(pairs.begin(), pairs.begin() + c.m());
  c.desc.combine = combine;
  if (inverse) c.desc.flags |= kGroupedDescInverse, draw_inverse(lab.random, &c);
  draw_operands(lab.random, &c);
  for (float& value : c.b) value = 1;
  return c;
}

// Large and small numbers, whose f32 sums depend on the order.
void check_order(Combine combine, uint64_t seed) {
  Lab lab(seed);
  if (!lab.device) return;
  for (int i = 0; i < 40; i += step()) {
    const bool inverse = i % 2 == 0;
    GroupedCase c = order_case(lab, combine, inverse);
    for (float& value : c.a)
      value = std::ldexp(value > 0 ? 1.0f : -1.0f, int(pick(lab.random, 0, 40)));
    if (combine == Combine::add)
      for (float& value : c.d)
        value = std::ldexp(value > 0 ? 1.0f : -1.0f, int(pick(lab.random, 0, 40)));
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GroupedPlan::create(lab.device, c.desc, &plan));
    Operands operands(lab, c);
    operands.give_workspace(*plan);
    TW_REQUIRE_OK(static_cast<GroupedPlan&>(*plan).run(*lab.stream, operands.run));
    operands.d->read();
    uint64_t faults = 0;
    std::vector<ResultRow> rows = rows_of(c, &faults);
    if (inverse) rows = by_inverse(c, rows);
    for (int64_t t = 0; t < 8; ++t) {
      // Rounded after each addition.
      volatile float sum = combine == Combine::add ? c.d[size_t(t * c.columns() + 3)] : 0;
      for (const ResultRow& row : rows)
        if (row.to == t) sum = sum + c.a[size_t(row.from)];
      CAPTURE(t);
      REQUIRE(get_value(operands.d_at(c.problem(), t, 3), DType::F32) == sum);
    }
  }
}

}  // namespace

TEST_CASE("grouped: all rows in one group") {
  check_form(Grouping::one, 1, 200);
}
TEST_CASE("grouped: random ends") {
  check_form(Grouping::ends, 2, 1000);
}
TEST_CASE("grouped: random offsets") {
  check_form(Grouping::offsets, 3, 1000);
}
TEST_CASE("grouped: random ends of groups that begin at multiples") {
  check_form(Grouping::psum, 4, 1000);
}
TEST_CASE("grouped: random groups of rows") {
  check_form(Grouping::by_row, 5, 1000);
}
TEST_CASE("grouped: random numbers of rows") {
  check_form(Grouping::masked, 6, 1000);
}

TEST_CASE("grouped: random ranges of k") {
  Lab lab(7);
  if (!lab.device) return;
  for (int i = 0; i < 1000; i += step()) {
    CAPTURE(i);
    check_case(lab, draw_ranges(lab.random));
  }
}

TEST_CASE("grouped: chosen sizes") {
  Lab lab(8);
  if (!lab.device) return;
  check_case(lab, ends_of(lab, {0, 0, 0, 0}));
  check_case(lab, ends_of(lab, {0, 1, 7, 129}));
  check_case(lab, ends_of(lab, {0, 400, 0}));
  std::vector<int64_t> many(512);
  for (int64_t& size : many) size = chance(lab.random, 70) ? 0 : pick(lab.random, 1, 5);
  check_case(lab, ends_of(lab, many));
  check_case(lab, ends_of(lab, std::vector<int64_t>(1024, 1)));
}

TEST_CASE("grouped: rows that are added to D in a fixed order") {
  Lab lab(14);
  if (!lab.device) return;
  for (const Grouping grouping : {Grouping::one, Grouping::ends, Grouping::offsets, Grouping::psum,
                                  Grouping::by_row, Grouping::masked})
    for (int i = 0; i < 50; i += step()) {
      CAPTURE(i);
      check_case(lab, draw_addition(lab.random, grouping));
    }
}

TEST_CASE("grouped: sums are those in ascending order, and of an inverse in the order of pairs") {
  check_order(Combine::sum, 13);
}

TEST_CASE("grouped: what D holds comes first in sums that are added to it") {
  check_order(Combine::add, 15);
}

// Reading and writing a signaling NaN would change it.
TEST_CASE("grouped: rows of D to which nothing is added in a fixed order keep their bits") {
  constexpr uint16_t kSignalingNan = 0xff81;
  Lab lab(17);
  if (!lab.device) return;
  for (const bool inverse : {false, true}) {
    GroupedCase c = order_case(lab, Combine::add, false);
    c.desc.d_dtype = DType::BF16;
    for (int64_t& pair : c.d_rows) pair %= 4 * c.desc.d_divisor;  // rows 0 to 3 of D
    if (inverse) c.desc.flags |= kGroupedDescInverse, draw_inverse(lab.random, &c);
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GroupedPlan::create(lab.device, c.desc, &plan));
    Operands operands(lab, c);
    operands.give_workspace(*plan);
    const GroupedProblem p = c.problem();
    for (int64_t i = 4 * p.d_columns; i < 8 * p.d_columns; ++i)
      std::memcpy(operands.d_at(p, i / p.d_columns, i % p.d_columns), &kSignalingNan, 2);
    operands.d->upload();
    TW_REQUIRE_OK(static_cast<GroupedPlan&>(*plan).run(*lab.stream, operands.run));
    operands.d->read();
    for (int64_t i = 4 * p.d_columns; i < 8 * p.d_columns; ++i)
      REQUIRE(std::memcmp(operands.d_at(p, i / p.d_columns, i % p.d_columns), &kSignalingNan, 2) ==
              0);
  }
}

// Small integers, so that every sum is exact.
TEST_CASE("grouped: each replay of a captured run adds to D once more") {
  constexpr int kReplays = 3;
  Lab lab(16);
  if (!lab.device) return;
  GroupedCase c = order_case(lab, Combine::add, false);
  for (std::vector<float>* values : {&c.a, &c.d})
    for (float& value : *values) value = float(pick(lab.random, -9, 9));
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GroupedPlan::create(lab.device, c.desc, &plan));
  Operands operands(lab, c);
  operands.give_workspace(*plan);
  std::unique_ptr<Graph> graph;
  TW_REQUIRE_OK(lab.stream->begin_capture());
  TW_REQUIRE_OK(static_cast<GroupedPlan&>(*plan).run(*lab.stream, operands.run));
  TW_REQUIRE_OK(lab.stream->end_capture(&graph));
  TW_REQUIRE_OK(graph->instantiate());
  for (int replay = 1; replay <= kReplays; ++replay) {
    TW_REQUIRE_OK(graph->launch(*lab.stream));
    operands.d->read();
    uint64_t faults = 0;
    std::vector<float> wanted = c.d;
    for (const ResultRow& row : rows_of(c, &faults))
      for (int64_t column = 0; row.to >= 0 && column < c.desc.n; ++column)
        wanted[size_t(row.to * c.desc.n + column)] += float(replay) * c.a[size_t(row.from)];
    for (size_t i = 0; i < wanted.size(); ++i)
      REQUIRE(get_value(operands.d_at(c.problem(), int64_t(i) / c.desc.n, int64_t(i) % c.desc.n),
                        DType::F32) == wanted[i]);
  }
}

TEST_CASE("grouped: groups that share rows do not hang") {
  Lab lab(9);
  if (!lab.device) return;
  GroupedCase c = ends_of(lab, {10, 10, 10});
  c.desc.flags = kGroupedDescScatter;
  c.desc.combine = Combine::sum;
  c.desc.d_count = 4;
  for (int64_t r = 0; r < c.m(); ++r) c.d_rows.push_back(r % 4);
  c.numbers = {10, 3, 30};  // the second group ends before it begins, the third overlaps the first
  draw_operands(lab.random, &c);
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(GroupedPlan::create(lab.device, c.desc, &plan));
  Operands operands(lab, c);
  operands.give_workspace(*plan);
  TW_REQUIRE_OK(static_cast<GroupedPlan&>(*plan).run(*lab.stream, operands.run));
  operands.check_guards();
  CHECK(operands.counted() == 6);
}

TEST_CASE("grouped: runs of no rows, columns or groups") {
  Lab lab(10);
  if (!lab.device) return;
  for (const uint32_t flags : {0u, kGroupedDescZeroOthers}) {
    GroupedCase c = ends_of(lab, {2, 3});
    c.desc.flags = flags;
    c.run.m = 0;
    c.numbers = {0, 0};
    check_case(lab, c);
    c.numbers = {0, 3};
    check_case(lab, c);
    c.run.m = -1;
    c.desc.n = 0;
    c.counts_faults = false;
    draw_operands(lab.random, &c);
    check_case(lab, c);
    c = ends_of(lab, {});
    c.desc.flags = flags;
    check_case(lab, c);
  }
  for (const Combine combine : {Combine::store, Combine::sum, Combine::add_atomic, Combine::add}) {
    GroupedCase c = ends_of(lab, {2, 3});
    c.desc.flags = kGroupedDescScatter | kGroupedDescZeroOthers;
    c.desc.combine = combine;
    c.desc.d_count = 7;
    c.run.m = 0;
    c.numbers = {0, 0};
    draw_operands(lab.random, &c);
    check_case(lab, c);
  }
}

TEST_CASE("grouped: a captured run serves other routings") {
  Lab lab(11);
  if (!lab.device) return;
  for (const Grouping grouping : {Grouping::ends, Grouping::by_row}) {
    GroupedDesc desc;
    desc.grouping = grouping;
    desc.groups = 8, desc.m = 96, desc.n = 16, desc.k = 24;
    desc.flags = kGroupedDescGather | kGroupedDescScatter;
    desc.combine = Combine::sum;
    desc.a_count = desc.d_count = 48, desc.a_divisor = desc.d_divisor = 2;
    const auto draw = [&] {
      GroupedCase c;
      c.desc = desc;
      std::vector<int64_t> sizes(8, 0);
      for (int i = 0; i < 90; ++i) ++sizes[size_t(pick(lab.random, 0, 7))];
      const auto fill = [&](std::vector<int64_t>* to) {
        for (int64_t r = 0; r < 96; ++r) to->push_back(pick(lab.random, -1, 95));
      };
      fill(&c.a_rows), fill(&c.d_rows);
      if (grouping == Grouping::ends)
        for (int64_t g = 0, end = 0; g < 8; ++g) c.numbers.push_back(end += sizes[size_t(g)]);
      else
        for (int64_t g = 0; g < 8; ++g)
          c.numbers.insert(c.numbers.end(), size_t(sizes[size_t(g)]), g);
      c.numbers.resize(grouping == Grouping::ends ? 8 : 96, -1);
      draw_operands(lab.random, &c);
      return c;
    };
    const GroupedCase first = draw();
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(GroupedPlan::create(lab.device, desc, &plan));
    Operands fixed(lab, first);
    fixed.give_workspace(*plan);
    std::unique_ptr<Graph> graph;
    TW_REQUIRE_OK(lab.stream->begin_capture());
    TW_REQUIRE_OK(static_cast<GroupedPlan&>(*plan).run(*lab.stream, fixed.run));
    TW_REQUIRE_OK(lab.stream->end_capture(&graph));
    TW_REQUIRE_OK(graph->instantiate());
    for (int i = 0; i < 500; i += step()) {
      CAPTURE(i);
      const GroupedCase c = draw();
      Operands fresh(lab, c);
      for (size_t o = 0; o < fixed.inputs.size(); ++o) {
        REQUIRE(fixed.inputs[o]->bytes() == fresh.inputs[o]->bytes());
        std::memcpy(fixed.inputs[o]->data(), fresh.inputs[o]->data(), fresh.inputs[o]->bytes());
        fixed.inputs[o]->upload();
      }
      TW_REQUIRE_OK(graph->launch(*lab.stream));
      std::unique_ptr<Plan> other;
      TW_REQUIRE_OK(GroupedPlan::create(lab.device, desc, &other));
      fresh.give_workspace(*other);
      TW_REQUIRE_OK(static_cast<GroupedPlan&>(*other).run(*lab.stream, fresh.run));
      fixed.d->read();
      fresh.d->read();
      REQUIRE(std::memcmp(fixed.d->data(), fresh.d->data(), fresh.d->bytes()) == 0);
      uint64_t faults = 0;
      const std::vector<Cell> cells = wanted_of(c, &faults);
      check_d(c, &fresh, cells);
    }
  }
}

TEST_CASE("grouped: rows do not depend on one another") {
  Lab lab(12);
  if (!lab.device) return;
  for (int i = 0; i < 20; i += step()) {
    GroupedCase c = ends_of(lab, {5, 0, 17, 9});
    c.desc.flags = kGroupedDescInvariant;
    std::vector<std::vector<uint8_t>> rows[2];
    for (int run = 0; run < 2; ++run) {
      // The second run has only the rows of the third group, as its first rows.
      if (run == 1) {
        c.numbers = {0, 0, 17, 17};
        std::vector<float> moved(c.a.begin() + 5 * c.desc.k, c.a.begin() + 22 * c.desc.k);
        std::copy(moved.begin(), moved.end(), c.a.begin());
      }
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(GroupedPlan::create(lab.device, c.desc, &plan));
      Operands operands(lab, c);
      operands.give_workspace(*plan);
      TW_REQUIRE_OK(static_cast<GroupedPlan&>(*plan).run(*lab.stream, operands.run));
      operands.d->read();
      const GroupedProblem p = c.problem();
      for (int64_t r = run == 0 ? 5 : 0, end = r + 17; r < end; ++r) {
        const uint8_t* const from = operands.d_at(p, r, 0);
        rows[run].emplace_back(from, from + p.d_columns * p.out_bytes);
      }
    }
    CHECK(rows[0] == rows[1]);
  }
}
