// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/gemm_spans.hpp"

#include <cinttypes>

#include "ops/common/copy_overlap.hpp"
#include "ops/common/strided_span.hpp"

namespace tw {
namespace {

// The search for a common byte gives up after this many steps, which take a few microseconds. Only
// runs whose operands' spans overlap need it. If pitches are equal or multiples of one another, a
// few steps suffice.
constexpr int64_t kMaxSteps = 300;

void add_term(int64_t step, int64_t count, StridedTerm* terms, int32_t* size) {
  if (step == 0 || count <= 1) return;
  for (int32_t i = 0; i < *size; ++i)
    if (terms[i].step == step) {
      terms[i].count += count - 1;
      return;
    }
  terms[(*size)++] = {step, count};
}

// Whether two operands at addresses `a` and `b` share a byte, given that their spans overlap.
Intersection bytes_intersect(uint64_t a, const GemmBytes& a_bytes, uint64_t b,
                             const GemmBytes& b_bytes) {
  if (a_bytes.span() > kMaxSpan || b_bytes.span() > kMaxSpan) return Intersection::undecided;
  // A line of the first operand begins at a + x, and a line of the second at b + reach - y. Here x
  // and y are sums of multiples of the operands' steps, and reach is the largest y. The two lines
  // overlap if x + y differs from b + reach - a by less than a line's length.
  StridedTerm terms[kMaxTerms];
  int32_t count = 0;
  for (const GemmBytes* bytes : {&a_bytes, &b_bytes}) {
    add_term(bytes->pitch, bytes->lines, terms, &count);
    add_term(bytes->matrix_stride, bytes->matrices, terms, &count);
  }
  const int64_t reach = b_bytes.span() - b_bytes.contiguous;
  const int64_t between = static_cast<int64_t>(b - a) + reach;
  int64_t steps = kMaxSteps;
  return sums_intersect(terms, count, between - (a_bytes.contiguous - 1),
                        between + (b_bytes.contiguous - 1), &steps);
}

}  // namespace

Status GemmSpans::check_memory(const Device& device, const Span& span) {
  return device.check_memory(span.name, span.address, static_cast<uint64_t>(span.bytes.span()));
}

Status GemmSpans::check(const Device& device) const {
  for (int i = 0; i < writes_; ++i) {
    for (int j = i + 1; j < writes_; ++j) TW_TRY(check_disjoint(written_[i], written_[j]));
    for (int j = 0; j < reads_; ++j) TW_TRY(check_disjoint(written_[i], read_[j]));
  }
  if (!device.checks_memory()) return {};
  for (int i = 0; i < writes_; ++i) TW_TRY(check_memory(device, written_[i]));
  for (int i = 0; i < reads_; ++i) TW_TRY(check_memory(device, read_[i]));
  return {};
}

Status GemmSpans::check_disjoint(const Span& a, const Span& b) {
  const auto a_span = static_cast<uint64_t>(a.bytes.span());
  const auto b_span = static_cast<uint64_t>(b.bytes.span());
  if (a_span == 0 || b_span == 0) return {};
  if (a.address - b.address >= b_span && b.address - a.address >= a_span) return {};
  const Intersection meets = bytes_intersect(a.address, a.bytes, b.address, b.bytes);
  if (meets == Intersection::no) return {};
  const bool yes = meets == Intersection::yes;
  return fail(Code::ERROR_OVERLAP,
              {.argument = a.name, .rule = yes ? "operands_disjoint" : "gemm_overlap_undecided"},
              "%s [0x%" PRIx64 ", +%" PRIu64 ") and %s [0x%" PRIx64 ", +%" PRIu64 ") %s", a.name,
              a.address, a_span, b.name, b.address, b_span,
              yes ? "overlap: what a run writes shares no byte with anything else that it is given"
                  : "interleave, and a short search could not prove that they share no byte: give "
                    "both the same pitches and strides, or separate memory");
}

}  // namespace tw
