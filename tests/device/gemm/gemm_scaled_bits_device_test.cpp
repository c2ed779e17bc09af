// SPDX-License-Identifier: Apache-2.0
// Scaled GEMMs of narrow types: bits that do not depend on the run or, with batch invariance, on
// the number of rows, and operands that are copied first.
#include "tests/device/gemm/gemm_scaled_plans.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Sets leading dimensions: multiples of `step`, with a step of padding.
void set_pitches(int64_t step, GemmDesc* d) {
  const auto pitch = [&](int64_t least) { return (least + step - 1) / step * step + step; };
  const int64_t d_columns = d->epilogue.gate == Gate::none ? d->n : d->n / 2;
  d->lda = pitch(d->a_order == Order::row ? d->k : d->m);
  d->ldb = pitch(d->b_order == Order::row ? d->n : d->k);
  d->ldc = pitch(d->d_order == Order::row ? d->n : d->m);
  d->ldd = pitch(d->d_order == Order::row ? d_columns : d->m);
}

void make_k_major(GemmDesc* d) {
  d->a_order = Order::row;
  d->b_order = Order::column;
  d->a_alignment = d->b_alignment = 16;
}

// What follows the product: nothing, a gate with a bias, D in blocks of 128 with scales of its own,
// the same with a gate, and every other option.
enum After { nothing, gate, blocks, gated_blocks, options, after_count };

DType result_type(DType in, int number) {
  constexpr DType kFloats[] = {DType::BF16, DType::F32, DType::F8E4M3};
  return in == DType::I8 ? kFloats[number % 2] : kFloats[number % 3];
}

ScaledCase case_of(const std::pair<DType, DType>& pair, After after, int number) {
  ScaledCase c;
  GemmDesc& d = c.desc;
  GemmEpilogue& e = d.epilogue;
  d.a_dtype = pair.first, d.b_dtype = pair.second;
  d.d_dtype = result_type(pair.first, number);
  if (after == gate || after == gated_blocks) {
    e.gate = number % 2 ? Gate::halves : Gate::interleaved;
    e.activation = Activation::silu;
    e.bias = Per::column, e.bias_dtype = DType::F32;
  }
  if (after == blocks || after == gated_blocks) {
    d.d_dtype = number % 2 ? DType::F8E4M3 : DType::F8E5M2;
    d.d_quantize.kind = ScaleKind::row128;
  }
  if (after == options) {
    e.activation = Activation::gelu;
    e.bias = Per::row, e.d_factor = Per::column;
    e.amax = true;
    c.beta = 0.5f;
  }
  return c;
}

void run(ScaledPlan& plan, ScaledOperands& operands) {
  operands.clear();
  plan.run(operands.run());
}

// The first rows of D and of its scales.
struct Rows {
  std::vector<uint8_t> d;
  std::vector<double> scales;
};
Rows first_rows(ScaledOperands& operands, int64_t rows) {
  Rows out;
  operands.d.all.memory.read();
  operands.d_scales.all.memory.read();
  const GemmDesc& desc = operands.c.desc;
  const int64_t columns = desc.epilogue.gate == Gate::none ? desc.n : desc.n / 2;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const uint8_t* const at = operands.d.at(0, i, j);
      out.d.insert(out.d.end(), at, at + dtype_bytes(desc.d_dtype));
    }
    for (int64_t j = 0; desc.d_quantize.any() && j < (columns + 127) / 128; ++j)
      out.scales.push_back(operands.d_scales.value(0, i, j));
  }
  return out;
}

}  // namespace

TEST_CASE("gemm scaled bits: a thousand equal runs, with scales of D, gates and epilogues") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(1);
  int number = 0;
  for (const auto& pair : kNarrowPairs)
    for (const After after : {gate, blocks, gated_blocks, options}) {
      if ((after == blocks || after == gated_blocks) && pair.first == DType::I8) continue;
      ScaledCase c = case_of(pair, after, number);
      make_k_major(&c.desc);
      c.desc.m = on_gpu() ? 70 : 20;
      c.desc.n = on_gpu() ? 400 : 144;
      c.desc.k = on_gpu() ? 2500 : 200;
      set_scales(pair.first == DType::TF32 ? 0 : number, &c.desc);
      set_pitches(16, &c.desc);
      INFO(describe(c));
      ScaledOperands operands(device, *stream, c);
      operands.fill(random);
      each_candidate(device, *stream, c.desc, static_cast<size_t>(cases_here(8, 2)),
                     static_cast<size_t>(number), [&](ScaledPlan& plan) {
                       run(plan, operands);
                       operands.check_result();
                       const std::vector<uint8_t> first = operands.result();
                       int different = 0;
                       for (int i = on_gpu() ? repeat_runs() : 2; i > 1; --i) {
                         run(plan, operands);
                         different += operands.result() != first;
                       }
                       CHECK(different == 0);
                     });
      ++number;
    }
}

// Operands of every order, with odd pitches and addresses.
TEST_CASE("gemm scaled bits: operands that are copied first") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(2);
  int number = 0;
  for (const auto& pair : kNarrowPairs)
    for (int order = 0; order < 8; ++order, ++number) {
      ScaledCase c = case_of(pair, static_cast<After>(number % after_count), number);
      GemmDesc& d = c.desc;
      if (d.d_quantize.any() && pair.first == DType::I8) c = case_of(pair, gate, number);
      d.a_order = static_cast<Order>(order & 1);
      d.b_order = static_cast<Order>(order >> 1 & 1);
      d.d_order = d.d_quantize.any() ? Order::row : static_cast<Order>(order >> 2);
      d.m = pick(random, 1, on_gpu() ? 150 : 40);
      d.n = pick(random, 1, 100) * 2;
      d.k = on_gpu() && number % 4 == 0 ? pick(random, 1000, 2000) : pick(random, 1, 300);
      set_scales(number, &d);
      set_pitches(order % 3 == 0 ? 16 : 1, &d);
      c.offset = order % 2 ? 3 : 0;
      d.staging_copy = true;
      d.min_m = d.m;
      INFO(describe(c));
      ScaledOperands operands(device, *stream, c);
      operands.fill(random);
      const auto check = [&](ScaledPlan& plan) {
        INFO(plan.plan().explain());
        run(plan, operands);
        operands.check_result();
        CHECK(plan.guards_intact());
      };
      ScaledPlan own = own_plan(device, *stream, d);
      if (is_chosen_kernel(own.plan().info().kernel)) check(own);
      each_candidate(device, *stream, d, static_cast<size_t>(cases_here(1000, 2)), 0, check);
    }
}

// Both for other numbers of rows of one plan and with a plan for each number. With a copy of A each
// number has a plan.
TEST_CASE("gemm scaled bits: rows of an invariant plan do not depend on the number of rows") {
  const auto device = open_test_device();
  if (!device) return;
  const auto stream = new_stream(device);
  std::mt19937_64 random(3);
  const int64_t most = on_gpu() ? 300 : 40;
  enum Layout { k_major, odd, copied };
  int number = 0;
  for (const auto& pair : kNarrowPairs)
    for (const Layout layout : {k_major, odd, copied})
      for (const After after : {nothing, gate, gated_blocks}) {
        ScaledCase c =
            case_of(pair, after == gated_blocks && pair.first == DType::I8 ? gate : after, number);
        GemmDesc& d = c.desc;
        d.flags |= kGemmInvariant;
        d.m = most;
        d.n = on_gpu() ? 576 : 144;
        d.k = on_gpu() ? 1536 + 512 * (number % 2) : 140;
        set_scales(number++, &d);
        d.staging_copy = layout == copied;
        if (layout == k_major)
          make_k_major(&d);
        else
          d.a_order = Order::column, d.b_order = Order::row;
        set_pitches(layout == k_major ? 16 : 1, &d);
        if (d.a_scaling.kind == ScaleKind::row128) d.a_scaling.leading = (d.k + 127) / 128;
        if (layout == copied) d.min_m = d.m;
        INFO(describe(c));
        ScaledOperands operands(device, *stream, c);
        operands.fill(random);
        ScaledPlan whole = own_plan(device, *stream, d);
        run(whole, operands);
        operands.check_result();
        const Rows wanted = first_rows(operands, most);
        for (const int64_t m : {int64_t{1}, int64_t{17}, most / 4, most - 1, most})
          for (const bool own : {true, false}) {
            if (layout == copied && !own) continue;
            INFO("m " << m << (own ? ", a plan of its own" : ""));
            GemmDesc few = d;
            if (own) few.m = m;
            if (layout == copied) few.min_m = m;
            ScaledPlan plan = own_plan(device, *stream, few);
            GemmRun args = operands.run();
            args.m = m;
            operands.clear();
            plan.run(args);
            const Rows got = first_rows(operands, m);
            CHECK(std::equal(got.d.begin(), got.d.end(), wanted.d.begin()));
            CHECK(std::equal(got.scales.begin(), got.scales.end(), wanted.scales.begin()));
          }
      }
}
