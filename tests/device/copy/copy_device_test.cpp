// SPDX-License-Identifier: Apache-2.0
// Compares copies with a reference loop: random shapes, strides, offsets and types.
#include <numeric>

#include "tests/device/copy/copy_cases.hpp"

using namespace tw;
using namespace tw::test;

namespace {

// Strides of nested dimensions with random gaps. `order` lists the dimensions, innermost first.
void nest(std::mt19937_64& random, const CopyDesc& desc, const std::vector<int>& order,
          int64_t multiple, int64_t* stride) {
  int64_t next = 1;
  bool first = true;
  for (int d : order) {
    if (!first && pick(random, 0, 2) == 0) next += pick(random, 1, 9);
    if (!first) next = (next + multiple - 1) / multiple * multiple;
    stride[d] = next;
    next *= std::max<int64_t>(1, desc.shape[d]);
    first = false;
  }
}

// Bytes that a tensor extends below and above the address of its element 0.
std::pair<int64_t, int64_t> reach(const CopyDesc& desc, const int64_t* stride) {
  int64_t low = 0, high = dtype_bytes(desc.dtype);
  for (int d = 0; d < desc.rank; ++d) {
    const int64_t far = (desc.shape[d] - 1) * stride[d] * dtype_bytes(desc.dtype);
    (far < 0 ? low : high) += far;
  }
  return {low, high};
}

// A random offset with an alignment, at which the tensor is inside the arena.
int64_t place(std::mt19937_64& random, const std::pair<int64_t, int64_t>& range, int64_t align) {
  const int64_t low = (-range.first + 63 + 15) / 16;
  const int64_t high = (static_cast<int64_t>(kArena) - range.second - 64 - 16) / 16;
  return pick(random, low, std::min(low + 40, high)) * 16 + pick(random, 0, 15) / align * align;
}

bool random_case(std::mt19937_64& random, CopyCase* c) {
  CopyDesc& desc = c->desc;
  desc = CopyDesc{};
  desc.dtype = kTypes[pick(random, 0, 4)];
  const int64_t bytes = dtype_bytes(desc.dtype);
  desc.rank = static_cast<int32_t>(pick(random, 1, pick(random, 0, 3) == 0 ? 8 : 4));
  int64_t elements = 1;
  for (int d = 0; d < desc.rank; ++d) {
    const int64_t most[] = {1, 3, 5, 9, 40, 130, 700};
    desc.shape[d] = pick(random, 1, most[pick(random, 0, desc.rank > 4 ? 3 : 6)]);
    elements *= desc.shape[d];
  }
  if (elements > 30000) return false;
  std::vector<int> rows(static_cast<size_t>(desc.rank));
  std::iota(rows.rbegin(), rows.rend(), 0);
  const bool aligned = pick(random, 0, 1) == 0;
  const int64_t multiple = aligned ? std::max<int64_t>(1, 16 / bytes) : 1;
  auto shuffled = rows;
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  nest(random, desc, pick(random, 0, 2) ? rows : shuffled, multiple, desc.dst_stride);
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  nest(random, desc, pick(random, 0, 2) ? rows : shuffled, multiple, desc.src_stride);
  for (int d = 0; d < desc.rank; ++d) {
    if (pick(random, 0, 19) == 0) desc.src_stride[d] = 0;
    if (pick(random, 0, 19) == 0) desc.src_stride[d] = -desc.src_stride[d];
    if (pick(random, 0, 19) == 0) desc.dst_stride[d] = -desc.dst_stride[d];
  }
  const auto src = reach(desc, desc.src_stride);
  const auto dst = reach(desc, desc.dst_stride);
  if (src.second - src.first > static_cast<int64_t>(kArena) - 1024) return false;
  if (dst.second - dst.first > static_cast<int64_t>(kArena) - 1024) return false;
  const bool even = pick(random, 0, 3) != 0;
  c->src_offset = place(random, src, even ? 16 : bytes);
  c->dst_offset = place(random, dst, even ? 16 : bytes);
  // Sometimes equal modulo 16, but not multiples of 16.
  if (!even && pick(random, 0, 1) == 0)
    c->dst_offset = c->dst_offset / 16 * 16 + c->src_offset % 16;
  // All methods, all but some, or one with kCopyStrided as the fallback.
  const uint32_t strided = 1u << kCopyStrided;
  const uint32_t one = 1u << pick(random, 1, kCopyMethods - 1);
  const uint32_t methods[] = {~0u,           ~0u,           ~one,
                              one | strided, one | strided, ~(1u << kCopyBoxes | 1u << kCopyRows)};
  desc.methods = methods[pick(random, 0, 5)];
  return true;
}

CopyDesc matrix(DType type, int64_t rows, int64_t columns, int64_t src_pitch, int64_t dst_pitch) {
  CopyDesc desc;
  desc.dtype = type;
  desc.rank = 2;
  desc.shape[0] = rows;
  desc.shape[1] = columns;
  desc.src_stride[0] = src_pitch;
  desc.dst_stride[0] = dst_pitch;
  desc.src_stride[1] = desc.dst_stride[1] = 1;
  return desc;
}

}  // namespace

TEST_CASE("copy: random shapes, strides, offsets and types") {
  CopyBench bench(1);
  if (!bench.device) return;
  for (int done = 0; done < 1500;) {
    CopyCase c;
    if (!random_case(bench.random, &c)) continue;
    check_case(bench, c);
    ++done;
  }
}

TEST_CASE("copy: pitched matrices at widths around the boxes' edges") {
  CopyBench bench(2);
  if (!bench.device) return;
  const int64_t widths[] = {1,  2,  7,   8,   15,  16,  17,   31,   32,   33,  47,
                            48, 63, 100, 255, 256, 257, 2047, 2048, 2049, 4097};
  for (const DType type : kTypes)
    for (const int64_t width : widths) {
      const int64_t bytes = dtype_bytes(type);
      if (width * bytes > 20000) continue;
      const int64_t multiple = std::max<int64_t>(1, 16 / bytes);
      const int64_t pitch = (width + multiple - 1) / multiple * multiple;
      const int64_t rows = std::min<int64_t>(37, 200000 / ((pitch + multiple) * bytes));
      CopyCase c;
      c.desc = matrix(type, rows, width, pitch + multiple, pitch);
      c.src_offset = 16 * pick(bench.random, 0, 8);
      c.dst_offset = 16 * pick(bench.random, 4, 8);
      check_case(bench, c);
    }
}

TEST_CASE("copy: boxes of tensor maps of every rank, cut on every side") {
  CopyBench bench(8);
  if (!bench.device) return;
  for (int rank = 2; rank <= 5; ++rank)
    for (const int64_t width : {37, 272, 1021}) {
      CopyCase c;
      c.desc.dtype = DType::U8;
      c.desc.rank = rank;
      c.desc.methods = 1u << kCopyBoxes;
      int64_t src = (width + 15) / 16 * 16, dst = src + 16;
      for (int d = rank - 1; d >= 0; --d) {
        const bool row = d == rank - 1;
        c.desc.shape[d] = row ? width : rank == 2 ? 67 : pick(bench.random, 2, 5);
        c.desc.src_stride[d] = row ? 1 : src;
        c.desc.dst_stride[d] = row ? 1 : dst;
        // The gap keeps dimensions from being merged.
        if (!row) src *= c.desc.shape[d] + 1, dst *= c.desc.shape[d] + 1;
      }
      if (std::max(src, dst) > static_cast<int64_t>(kArena) - 4096) continue;
      c.src_offset = 16 * pick(bench.random, 0, 8);
      c.dst_offset = 16 * pick(bench.random, 4, 8);
      check_case(bench, c);
      std::unique_ptr<Plan> plan;
      TW_REQUIRE_OK(CopyPlan::create(bench.device, c.desc, &plan));
      if (bench.device->info().kind != DeviceKind::host)
        CHECK(plan->info().kernel == "copy_boxes_" + std::to_string(rank) + "d_tma");
    }
}

// Copies from kSmallCopy (1 MiB) on have kernels of their own, which gather the ends of a warp's
// rows and prefetch the sectors that those ends share.
TEST_CASE("copy: many rows whose ends lie anywhere") {
  CopyBench bench(8, 5 << 20);
  if (!bench.device) return;
  const int64_t widths[] = {33, 37, 48, 64, 100, 101, 112, 131, 300, 1001, 4097};
  int kernels[2] = {};
  for (const int64_t width : widths)
    for (const int64_t pitch : {(width + 15) / 16 * 16 + 16, (width + 31) / 32 * 32, width + 3})
      for (int i = 0; i < 4; ++i) {
        const int64_t rows = kSmallCopy / width + pick(bench.random, 1, 70);
        CopyCase c;
        c.desc =
            matrix(DType::U8, rows, width, (width + 15) / 16 * 16 + 16 * pick(bench.random, 0, 1),
                   std::max(pitch, width));
        if (i == 3) {  // rank 3
          c.desc = CopyDesc{};
          c.desc.rank = 3;
          const int64_t shape[] = {rows / 4, 4, width};
          const int64_t src[] = {5 * pitch + 16, pitch + 16, 1};
          const int64_t dst[] = {5 * pitch, pitch, 1};
          for (int d = 0; d < 3; ++d) {
            c.desc.shape[d] = shape[d];
            c.desc.src_stride[d] = src[d];
            c.desc.dst_stride[d] = dst[d];
          }
        }
        c.desc.methods = 1u << kCopyPieces | 1u << kCopyShift | 1u << kCopyStrided;
        c.src_offset = 64 + pick(bench.random, 0, 31);
        c.dst_offset = i % 2 == 0 ? c.src_offset : 64 + pick(bench.random, 0, 31);
        check_case(bench, c);
        std::unique_ptr<Plan> plan;
        TW_REQUIRE_OK(CopyPlan::create(bench.device, c.desc, &plan));
        const uint32_t method = static_cast<CopyPlan&>(*plan).method_for_test(
            static_cast<uint64_t>(c.src_offset), static_cast<uint64_t>(c.dst_offset));
        kernels[0] += method == kCopyPieces;
        kernels[1] += method == kCopyShift;
      }
  CHECK(kernels[0] > 20);
  CHECK(kernels[1] > 40);
}

TEST_CASE("copy: one contiguous row of every length and misalignment") {
  CopyBench bench(3);
  if (!bench.device) return;
  for (int64_t bytes = 1; bytes < 3000; bytes += bytes < 100 ? 1 : 131)
    for (int64_t misalignment = 0; misalignment < 16; misalignment += bytes < 40 ? 1 : 5) {
      CopyCase c;
      c.desc = matrix(DType::U8, 1, bytes, 0, 0);
      c.desc.dst_stride[0] = 1;
      c.src_offset = 1024 + misalignment;
      c.dst_offset = 2048 + (bytes % 3 ? misalignment : 3);
      check_case(bench, c);
    }
}

TEST_CASE("copy: more tiles than warps, so that rings go round") {
  const auto device = open_test_device();
  if (!device) return;
  std::unique_ptr<Stream> stream;
  TW_REQUIRE_OK(device->create_stream(&stream));
  std::mt19937_64 random(4);
  // 24 MB on a GPU: about 22 tiles per warp with max_sms 8. The host device gets less.
  const bool host = device->info().kind == DeviceKind::host;
  const int64_t rows = host ? 500 : 6000;
  Arena src(device, *stream, static_cast<uint64_t>(rows * 4112 + 64));
  Arena dst(device, *stream, static_cast<uint64_t>(rows * 4128 + 64));
  src.fill_random(random);
  for (const uint32_t methods : {~0u, 1u << kCopyBoxes, 1u << kCopyRows, 1u << kCopyPieces,
                                 1u << kCopyShift, 1u << kCopyStrided}) {
    dst.fill(0x5c);
    CopyCase c;
    c.desc = matrix(DType::U8, rows, 4097, 4112, 4128);
    c.desc.max_sms = 8;
    c.desc.methods = methods;
    c.src_offset = c.dst_offset = 16;
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(CopyPlan::create(device, c.desc, &plan));
    INFO(plan->explain());
    TW_REQUIRE_OK(
        static_cast<CopyPlan&>(*plan).run(*stream, src.address() + 16, dst.address() + 16));
    CHECK(first_difference(dst.read(), expected(c, src.image(), dst.image())) == -1);
  }
}

TEST_CASE("copy: permutations of packed tensors, odd extents and every element size") {
  CopyBench bench(7);
  if (!bench.device) return;
  struct Shape {
    std::vector<int64_t> extents;
    std::vector<int> order;
  };
  const Shape shapes[] = {{{64, 64}, {1, 0}},
                          {{128, 130}, {1, 0}},
                          {{131, 97}, {1, 0}},
                          {{257, 96}, {1, 0}},
                          {{1000, 3}, {1, 0}},
                          {{3, 1000}, {1, 0}},
                          {{2, 3, 700}, {0, 2, 1}},
                          {{2, 700, 3}, {0, 2, 1}},
                          {{5, 40, 33}, {2, 1, 0}},
                          {{8, 24, 40}, {1, 2, 0}},
                          {{24, 8, 40}, {2, 0, 1}},
                          {{6, 48, 32}, {0, 2, 1}},
                          {{4, 6, 4, 5, 3, 16}, {5, 4, 3, 2, 1, 0}},
                          {{3, 3, 3, 3, 3, 3, 3, 3}, {7, 6, 5, 4, 3, 2, 1, 0}},
                          {{2, 4, 2, 4, 2, 4, 2, 8}, {1, 3, 5, 7, 0, 2, 4, 6}}};
  int permuted = 0;
  for (const Shape& shape : shapes)
    for (const DType type : kTypes)
      for (const int64_t misalignment : {0, 1}) {
        CopyCase c;
        CopyDesc& desc = c.desc;
        desc.dtype = type;
        desc.rank = static_cast<int32_t>(shape.extents.size());
        int64_t src_stride[kMaxCopyRank], next = 1;
        for (size_t d = shape.extents.size(); d-- > 0; next *= shape.extents[d])
          src_stride[d] = next;
        if (next * dtype_bytes(type) > static_cast<int64_t>(kArena) - 4096) continue;
        next = 1;
        for (size_t k = shape.extents.size(); k-- > 0;) {
          const auto d = static_cast<size_t>(shape.order[k]);
          desc.shape[k] = shape.extents[d];
          desc.src_stride[k] = src_stride[d];
          desc.dst_stride[k] = next;
          next *= shape.extents[d];
        }
        c.src_offset = 128 + misalignment * dtype_bytes(type);
        c.dst_offset = 256 + misalignment * dtype_bytes(type);
        check_case(bench, c);
        std::unique_ptr<Plan> plan;
        TW_REQUIRE_OK(CopyPlan::create(bench.device, desc, &plan));
        permuted += std::string(plan->info().kernel).find("permute") != std::string::npos;
      }
  CHECK(permuted > 40);
}

TEST_CASE("copy: a swizzle error planted in a plan's map changes the result") {
  CopyBench bench(5);
  if (!bench.device) return;
  CopyCase c;
  c.desc = matrix(DType::BF16, 64, 64, 72, 80);  // rows of 128 bytes, the span of the swizzle
  c.desc.methods = 1u << kCopyBoxes;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(CopyPlan::create(bench.device, c.desc, &plan));
  auto& copy = static_cast<CopyPlan&>(*plan);
  TensorMapDesc desc, store;
  describe_boxes(
      [&] {
        CopyShape shape;
        TW_REQUIRE_OK(copy_shape(c.desc, &shape));
        return shape;
      }(),
      copy.boxes_for_test(), &desc, &store);
  desc.swizzle = Swizzle::b128;
  TensorMapBytes bytes;
  TW_REQUIRE_OK(bench.device->encode(desc, &bytes));
  std::memcpy(copy.boxes_for_test().src_map.words, bytes.words, sizeof bytes.words);
  bench.dst->fill(0xa7);
  TW_REQUIRE_OK(copy.run(*bench.stream, bench.src->address(), bench.dst->address()));
  CHECK(first_difference(bench.dst->read(), expected(c, bench.src->image(), bench.dst->image())) !=
        -1);
}

TEST_CASE("copy: nothing to do, and refusals") {
  CopyBench bench(6);
  if (!bench.device) return;
  std::unique_ptr<Plan> plan;
  CopyDesc desc = matrix(DType::F32, 0, 5, 5, 5);
  TW_REQUIRE_OK(CopyPlan::create(bench.device, desc, &plan));
  TW_REQUIRE_OK(static_cast<CopyPlan&>(*plan).run(*bench.stream, 0, 0));
  CHECK(plan->info().boxes_loaded == 0);

  desc = matrix(DType::F32, 4, 8, 8, 0);
  CHECK(CopyPlan::create(bench.device, desc, &plan).code() == Code::ERROR_OVERLAP);
  desc = matrix(DType::F32, 4, 8, 8, 7);
  CHECK(CopyPlan::create(bench.device, desc, &plan).code() == Code::ERROR_OVERLAP);
  desc = matrix(DType::F32, 4, 8, 8, 8);
  desc.src_alignment = 16;
  TW_REQUIRE_OK(CopyPlan::create(bench.device, desc, &plan));
  auto& copy = static_cast<CopyPlan&>(*plan);
  const uint64_t at = bench.dst->address();
  CHECK(copy.run(*bench.stream, at + 4, at + 4096).code() == Code::ERROR_MISALIGNED);
  CHECK(copy.run(*bench.stream, at, at + 4098).code() == Code::ERROR_MISALIGNED);
  CHECK(copy.run(*bench.stream, 0, at).code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(copy.run(*bench.stream, at, at + 124).code() == Code::ERROR_OVERLAP);
  CHECK(copy.run(*bench.stream, at, at + 128).ok());

  // Copies odd columns to even ones: the address ranges overlap, but no element does.
  desc = matrix(DType::F32, 16, 32, 64, 64);
  desc.src_stride[1] = desc.dst_stride[1] = 2;
  TW_REQUIRE_OK(CopyPlan::create(bench.device, desc, &plan));
  auto& columns = static_cast<CopyPlan&>(*plan);
  CHECK(columns.run(*bench.stream, at + 4, at).ok());
  CHECK(columns.run(*bench.stream, at + 8, at).code() == Code::ERROR_OVERLAP);
  TW_REQUIRE_OK(bench.stream->synchronize());
}
