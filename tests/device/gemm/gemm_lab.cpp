// SPDX-License-Identifier: Apache-2.0
#include "tests/device/gemm/gemm_lab.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace tw::test {
namespace {

constexpr uint64_t kGuard = 4096;

// Number of elements from the first one to the last one.
int64_t span_elements(int64_t rows, int64_t columns, Order order, int64_t leading) {
  const int64_t lines = order == Order::row ? rows : columns;
  const int64_t along = order == Order::row ? columns : rows;
  return lines > 0 && along > 0 ? (lines - 1) * leading + along : 0;
}

int64_t packed(int64_t given, int64_t rows, int64_t columns, Order order) {
  return given ? given : std::max<int64_t>(1, order == Order::row ? columns : rows);
}

// Strides of the first and the second index.
std::pair<int64_t, int64_t> strides(Order order, int64_t leading) {
  return order == Order::row ? std::pair{leading, int64_t{1}} : std::pair{int64_t{1}, leading};
}

// Error bound relative to sum |a||b|. f32 accumulators: 2^-20; small integers are exact. f16
// accumulators round to 11 bits after every 8 products.
double slack_of(const GemmCase& c) {
  if (c.desc.accumulator == DType::F16) return 0x1p-11 * (double(c.desc.k) / 8 + 2);
  return c.magnitude ? 0.0 : 0x1p-20;
}

}  // namespace

double distance_limit(const GemmDesc& desc) {
  if (desc.accumulator == DType::F16) return 2e-5;
  return desc.d_dtype == DType::BF16 ? 2e-6 : desc.d_dtype == DType::F16 ? 4e-8 : 1e-9;
}

std::string describe(const GemmCase& c) {
  const GemmDesc& d = c.desc;
  char text[320];
  std::snprintf(text, sizeof text,
                "m %lld n %lld k %lld, %s to %s, orders %d%d%d, ld %lld %lld %lld %lld, offsets "
                "%llu %llu, alpha %g beta %g%s, run m %lld, max_sms %u, %s, seed %llu",
                static_cast<long long>(d.m), static_cast<long long>(d.n),
                static_cast<long long>(d.k), dtype_name(d.a_dtype), dtype_name(d.d_dtype),
                int(d.a_order), int(d.b_order), int(d.d_order), static_cast<long long>(d.lda),
                static_cast<long long>(d.ldb), static_cast<long long>(d.ldc),
                static_cast<long long>(d.ldd), static_cast<unsigned long long>(c.ab_offset),
                static_cast<unsigned long long>(c.d_offset), double(c.alpha), double(c.beta),
                c.in_place ? " in place" : "", static_cast<long long>(c.run_m), d.max_sms,
                c.magnitude ? "integers" : "normal", static_cast<unsigned long long>(c.seed));
  return text;
}

GemmRun GemmOperands::run(const GemmCase& of) const {
  // Operands that must not be read have address 0, so that a read faults.
  const bool reads_c = of.beta != 0.0f;
  const bool reads_ab = of.alpha != 0.0f && of.desc.k > 0;
  return {.alpha = of.alpha,
          .beta = of.beta,
          .a = reads_ab ? a : 0,
          .b = reads_ab ? b : 0,
          .c = reads_c ? c : 0,
          .d = d,
          .m = of.run_m,
          .workspace = workspace,
          .workspace_bytes = GemmLab::kWorkspaceBytes};
}

std::unique_ptr<GemmLab> GemmLab::open() {
  if (std::string(test_device()) != "cuda") {
    skip("needs a GPU, which compares the results");
    return nullptr;
  }
  std::unique_ptr<GemmLab> lab(new GemmLab);
  lab->device_ = open_test_device();
  if (!lab->device_) return nullptr;
  TW_REQUIRE_OK(lab->device_->create_stream(&lab->stream_));
  TW_REQUIRE_OK(lab->check_.open(lab->device_, *lab->stream_));
  TW_REQUIRE_OK(lab->device_->allocate(8 * kRegionBytes + kWorkspaceBytes, &lab->arena_));
  // Random bytes in the workspace: kernels must not rely on zeroed counters.
  TW_REQUIRE_OK(lab->check_.fill(lab->region(8), 1, kWorkspaceBytes / 2, 0, DType::BF16, 1, 0));
  return lab;
}

GemmLab::~GemmLab() {
  if (arena_) (void)device_->release(arena_);
}

// Fills the region with NaNs (in every type), then writes the elements.
void GemmLab::fill_matrix(uint64_t region, uint64_t at, int64_t rows, int64_t columns, Order order,
                          int64_t leading, DType type, uint64_t seed, int magnitude) {
  const int64_t elements = span_elements(rows, columns, order, leading);
  const uint64_t bytes = at - region + static_cast<uint64_t>(elements * dtype_bytes(type)) + kGuard;
  REQUIRE(bytes <= kRegionBytes);
  TW_REQUIRE_OK(stream_->fill(region, 0xff, bytes));
  const bool row = order == Order::row;
  TW_REQUIRE_OK(
      check_.fill(at, row ? rows : columns, row ? columns : rows, leading, type, seed, magnitude));
}

GemmOperands GemmLab::prepare(const GemmCase& c) {
  GemmOperands at;
  at.desc = c.desc;
  GemmDesc& d = at.desc;
  d.lda = packed(d.lda, d.m, d.k, d.a_order);
  d.ldb = packed(d.ldb, d.k, d.n, d.b_order);
  d.ldc = packed(d.ldc, d.m, d.n, d.d_order);
  d.ldd = packed(d.ldd, d.m, d.n, d.d_order);
  at.a = region(0) + kGuard + c.ab_offset;
  at.b = region(1) + kGuard + c.ab_offset;
  at.d = region(3) + kGuard + c.d_offset;
  at.c = c.in_place ? at.d : region(2) + kGuard + c.d_offset;
  at.workspace = region(8);
  at.d_bytes =
      static_cast<uint64_t>(span_elements(d.m, d.n, d.d_order, d.ldd) * dtype_bytes(d.d_dtype));
  REQUIRE(c.d_offset + at.d_bytes + 2 * kGuard <= kRegionBytes);

  fill_matrix(region(0), at.a, d.m, d.k, d.a_order, d.lda, d.a_dtype, 3 * c.seed, c.magnitude);
  fill_matrix(region(1), at.b, d.k, d.n, d.b_order, d.ldb, d.a_dtype, 3 * c.seed + 1, c.magnitude);
  if (c.plant_specials && d.m > 0 && d.k > 0) {
    // Plants NaN, infinity and -infinity at different rows and k.
    const uint16_t infinity = d.a_dtype == DType::BF16 ? 0x7f80 : 0x7c00;
    const uint16_t specials[] = {0x7fff, infinity, static_cast<uint16_t>(infinity | 0x8000)};
    const auto [by_m, by_k] = strides(d.a_order, d.lda);
    for (int64_t i = 0; i < 3; ++i) {
      const int64_t element = (i * 5 % d.m) * by_m + ((i * c.special_step + 3) % d.k) * by_k;
      TW_REQUIRE_OK(
          stream_->copy_to_device(at.a + static_cast<uint64_t>(2 * element), &specials[i], 2));
      TW_REQUIRE_OK(stream_->synchronize());
    }
  }
  TW_REQUIRE_OK(stream_->fill(region(3), kPoison, c.d_offset + at.d_bytes + 2 * kGuard));
  if (c.in_place) {
    const bool row = d.d_order == Order::row;
    TW_REQUIRE_OK(check_.fill(at.d, row ? d.m : d.n, row ? d.n : d.m, d.ldd, d.d_dtype,
                              3 * c.seed + 2, c.magnitude));
  } else if (c.beta != 0.0f) {
    fill_matrix(region(2), at.c, d.m, d.n, d.d_order, d.ldc, d.d_dtype, 3 * c.seed + 2,
                c.magnitude);
  }

  // The reference must precede the run, because in place D holds C until then.
  ReferenceProblem p;
  p.m = c.run_m < 0 ? d.m : c.run_m;
  p.n = d.n;
  p.k = c.alpha == 0.0f ? 0 : d.k;
  p.in = d.a_dtype;
  p.out = d.d_dtype;
  p.alpha = double(c.alpha);
  p.beta = double(c.beta);
  p.a = at.a;
  p.b = at.b;
  p.c = at.c;
  std::tie(p.a_stride_m, p.a_stride_k) = strides(d.a_order, d.lda);
  std::tie(p.b_stride_k, p.b_stride_n) = strides(d.b_order, d.ldb);
  std::tie(p.c_stride_m, p.c_stride_n) = strides(d.d_order, c.in_place ? d.ldd : d.ldc);
  REQUIRE(static_cast<uint64_t>(p.m * p.n * 8) <= kRegionBytes);
  TW_REQUIRE_OK(check_.reference(p, region(4), region(5)));
  return at;
}

GemmOutcome GemmLab::run(const GemmPlan& plan, const GemmCase& c, const GemmOperands& at) {
  const Status status = plan.run(*stream_, at.run(c));
  if (!status.ok()) return {std::string("run: ") + last_failure().message, {}};
  return look(c, at);
}

GemmOutcome GemmLab::look(const GemmCase& c, const GemmOperands& at) {
  const GemmDesc& d = at.desc;
  ReferenceProblem p;
  p.m = c.run_m < 0 ? d.m : c.run_m;
  p.n = d.n;
  p.out = d.d_dtype;
  const auto [by_m, by_n] = strides(d.d_order, d.ldd);
  const bool row = d.d_order == Order::row;
  const int32_t size = dtype_bytes(d.d_dtype);
  GemmOutcome outcome;
  // The lines of D and the elements of a line that this run may write.
  const int64_t lines = row ? p.m : p.n;
  const int64_t along = row ? p.n : p.m;
  const int64_t writable = d.d_padding_writable ? d.ldd : along;
  TW_REQUIRE_OK(
      check_.against(p, region(4), region(5), at.d, by_m, by_n, slack_of(c), &outcome.verdict));
  uint64_t touched = 0;
  if (!c.in_place || c.run_m < 0)
    TW_REQUIRE_OK(check_.compare_poison(region(3), c.d_offset + at.d_bytes + 2 * kGuard,
                                        at.d - region(3), along > 0 ? lines : 0, writable * size,
                                        d.ldd * size, kPoison));
  TW_REQUIRE_OK(check_.different(&touched));
  char text[160];
  const Verdict& v = outcome.verdict;
  if (v.wrong) {
    const auto first = static_cast<int64_t>(v.first) - 1;
    std::snprintf(text, sizeof text,
                  "%llu wrong elements, one at %lld, %lld; worst %g of allowed; ",
                  static_cast<unsigned long long>(v.wrong), static_cast<long long>(first / d.n),
                  static_cast<long long>(first % d.n), v.worst);
    outcome.text += text;
  }
  if (touched) {
    std::snprintf(text, sizeof text, "%llu bytes outside D were written; ",
                  static_cast<unsigned long long>(touched));
    outcome.text += text;
  }
  return outcome;
}

}  // namespace tw::test
