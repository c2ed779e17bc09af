// SPDX-License-Identifier: Apache-2.0
// Compares copies of windows that extend beyond the source tensor with a reference loop: random
// shapes, strides, positions and types.
#include "tests/device/copy/copy_cases.hpp"

using namespace tw;
using namespace tw::test;

namespace {

bool outside(const CopyDesc& desc, const int64_t* at) {
  for (int d = 0; d < desc.rank; ++d) {
    const int64_t coordinate = desc.src_start[d] + at[d];
    if (desc.src_shape[d] != 0 && (coordinate < 0 || coordinate >= desc.src_shape[d])) return true;
  }
  return false;
}

std::vector<uint8_t> expected_window(const CopyCase& c, const std::vector<uint8_t>& src,
                                     std::vector<uint8_t> dst) {
  const CopyDesc& desc = c.desc;
  const int64_t bytes = dtype_bytes(desc.dtype);
  int64_t at[kMaxCopyRank] = {};
  for (;;) {
    int64_t from = c.src_offset, to = c.dst_offset;
    for (int d = 0; d < desc.rank; ++d) {
      from += (desc.src_start[d] + at[d]) * desc.src_stride[d] * bytes;
      to += at[d] * desc.dst_stride[d] * bytes;
    }
    for (int64_t byte = 0; byte < bytes; ++byte) {
      const uint8_t fill = desc.fill == OobFill::zero ? 0 : byte % 2 == 0 ? 0xf7 : 0x7f;
      dst[static_cast<size_t>(to + byte)] =
          outside(desc, at) ? fill : src[static_cast<size_t>(from + byte)];
    }
    int d = desc.rank - 1;
    while (d >= 0 && ++at[d] == desc.shape[d]) at[d--] = 0;
    if (d < 0) return dst;
  }
}

void check_window_case(CopyBench& bench, const CopyCase& c) {
  INFO(describe(c));
  std::string window = "window";
  for (int d = 0; d < c.desc.rank; ++d)
    window +=
        " " + std::to_string(c.desc.src_start[d]) + " of " + std::to_string(c.desc.src_shape[d]);
  INFO(window);
  bench.dst->fill(0xa7);
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(CopyPlan::create(bench.device, c.desc, &plan));
  INFO(plan->explain());
  TW_REQUIRE_OK(static_cast<CopyPlan&>(*plan).run(
      *bench.stream, bench.src->address() + static_cast<uint64_t>(c.src_offset),
      bench.dst->address() + static_cast<uint64_t>(c.dst_offset)));
  const auto got = bench.dst->read();
  CHECK(first_difference(got, expected_window(c, bench.src->image(), bench.dst->image())) == -1);
}

// A random tensor of up to four dimensions near the begin of the source's arena, and a window that
// overlaps it or is beside it. Returns false if the arena is too small.
bool random_window(std::mt19937_64& random, CopyCase* c) {
  CopyDesc& desc = c->desc;
  desc = CopyDesc{};
  desc.dtype = kTypes[pick(random, 0, 4)];
  const int64_t bytes = dtype_bytes(desc.dtype);
  if ((desc.dtype == DType::BF16 || desc.dtype == DType::F32) && pick(random, 0, 1))
    desc.fill = OobFill::nan;
  desc.rank = static_cast<int32_t>(pick(random, 1, 4));
  int64_t src = 1;
  int64_t dst = 1;
  const bool turned = pick(random, 0, 3) == 0;  // the destination has another order of dimensions
  for (int d = desc.rank - 1; d >= 0; --d) {
    const int64_t most[] = {5, 17, 64, 300};
    const int64_t extent = pick(random, 1, most[pick(random, 0, desc.rank > 2 ? 1 : 3)]);
    desc.shape[d] = pick(random, 1, most[pick(random, 0, desc.rank > 2 ? 1 : 3)]);
    const bool bounded = pick(random, 0, 4) != 0;
    desc.src_shape[d] = bounded ? extent : 0;
    if (bounded) desc.src_start[d] = pick(random, -desc.shape[d] - 2, extent + 2);
    desc.src_stride[d] = src;
    src *= bounded ? extent : desc.shape[d];
    src += pick(random, 0, 2) * (pick(random, 0, 1) ? 16 / std::min<int64_t>(bytes, 16) : 1);
    if (pick(random, 0, 2) == 0) src = (src + 15) / 16 * 16;
  }
  for (int i = 0; i < desc.rank; ++i) {
    const int d = turned ? i : desc.rank - 1 - i;
    desc.dst_stride[d] = dst;
    dst *= desc.shape[d];
    dst += pick(random, 0, 2) == 0 ? pick(random, 0, 9) : 0;
    if (pick(random, 0, 2) == 0) dst = (dst + 15) / 16 * 16;
  }
  desc.padding_writable = false;
  if ((src + 64) * bytes > static_cast<int64_t>(kArena) - 1024) return false;
  if ((dst + 64) * bytes > static_cast<int64_t>(kArena) - 1024) return false;
  const int64_t align = pick(random, 0, 2) ? 16 : bytes;
  c->src_offset = 256 + pick(random, 0, 15) / align * align;
  c->dst_offset = 256 + pick(random, 0, 15) / align * align;
  return true;
}

}  // namespace

TEST_CASE("copy window: random tensors, windows and types") {
  CopyBench bench(21);
  if (!bench.device) return;
  for (int done = 0; done < 1200;) {
    CopyCase c;
    if (!random_window(bench.random, &c)) continue;
    check_window_case(bench, c);
    ++done;
  }
}

TEST_CASE("copy window: padding_writable does not spoil filled elements") {
  CopyBench bench(22);
  if (!bench.device) return;
  // 37 elements inside, then five filled ones in 16 bytes that padding_writable could spoil.
  CopyCase c;
  c.desc.dtype = DType::BF16;
  c.desc.rank = 2;
  c.desc.shape[0] = 50;
  c.desc.shape[1] = 42;
  c.desc.src_shape[0] = 60;
  c.desc.src_shape[1] = 40;
  c.desc.src_start[0] = 4;
  c.desc.src_start[1] = 3;
  c.desc.src_stride[0] = c.desc.dst_stride[0] = 64;
  c.desc.src_stride[1] = c.desc.dst_stride[1] = 1;
  c.desc.padding_writable = true;
  c.src_offset = 256 + 16 - 6;
  c.dst_offset = 256;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(CopyPlan::create(bench.device, c.desc, &plan));
  check_window_case(bench, c);
}

TEST_CASE("copy window: refusals name the argument, and filled elements are not read") {
  CopyBench bench(23);
  if (!bench.device) return;
  std::unique_ptr<Plan> plan;
  CopyDesc desc;
  desc.dtype = DType::BF16;
  desc.shape[0] = 100;
  desc.src_stride[0] = desc.dst_stride[0] = 1;
  desc.src_shape[0] = 90;
  desc.src_start[0] = -5;
  const auto refused = [&](const CopyDesc& d, Code code, const char* argument) {
    CHECK(CopyPlan::create(bench.device, d, &plan).code() == code);
    CHECK(std::string(last_failure().message).find(argument) == 0);
  };
  CopyDesc bad = desc;
  bad.src_shape[0] = -1;
  refused(bad, Code::ERROR_INVALID_ARGUMENT, "src_shape");
  bad = desc;
  bad.src_shape[0] = 0;
  refused(bad, Code::ERROR_INVALID_ARGUMENT, "src_start");
  bad = desc;
  bad.src_start[0] = INT64_MIN;
  refused(bad, Code::ERROR_INVALID_ARGUMENT, "src_start");
  bad = desc;
  bad.fill = OobFill{2};
  refused(bad, Code::ERROR_INVALID_ARGUMENT, "fill");
  bad = desc;
  bad.fill = OobFill::nan;
  bad.dtype = DType::F8E4M3;
  refused(bad, Code::ERROR_UNSUPPORTED, "fill");
  bad = desc;
  bad.src_start[0] = int64_t{1} << 59;
  bad.src_shape[0] = int64_t{1} << 60;
  bad.src_stride[0] = 8;
  refused(bad, Code::ERROR_OVERFLOW, "src_start");

  // The first and the last five elements are filled; elements 5 to 94 come from the tensor.
  TW_REQUIRE_OK(CopyPlan::create(bench.device, desc, &plan));
  const auto& copy = static_cast<const CopyPlan&>(*plan);
  const uint64_t src = bench.src->address() + 1024;
  CHECK(copy.run(*bench.stream, src, src - 2 * 98).code() == Code::ERROR_OVERLAP);
  CHECK(copy.run(*bench.stream, src, src + 2 * 88).code() == Code::ERROR_OVERLAP);
  CHECK(copy.run(*bench.stream, 0, src).code() == Code::ERROR_INVALID_ARGUMENT);
  TW_REQUIRE_OK(copy.run(*bench.stream, src, src - 2 * 100));
  TW_REQUIRE_OK(copy.run(*bench.stream, src, src + 2 * 90));
  // A window beside the tensor reads nothing, so the source may be 0.
  desc.src_start[0] = 90;
  TW_REQUIRE_OK(CopyPlan::create(bench.device, desc, &plan));
  TW_REQUIRE_OK(static_cast<const CopyPlan&>(*plan).run(*bench.stream, 0, src));
  TW_REQUIRE_OK(bench.stream->synchronize());
}
