// SPDX-License-Identifier: Apache-2.0
// Repeats copies a thousand times each, with every method and kernel of the family. Each run must
// give the same bytes as plain loads and stores.
#include "ops/copy/copy.hpp"
#include "tests/device/repeat/repeat_lab.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kRows = 1500;

DType bits_of(int64_t bytes) {
  return bytes == 1   ? DType::U8
         : bytes == 2 ? DType::BF16
         : bytes == 4 ? DType::F32
         : bytes == 8 ? DType::I64
                      : DType::B128;
}

// One case: a plan with only this method, and the truth by another one.
void repeat_copy(RepeatLab& lab, TakenRows* taken, uint32_t method, CopyDesc desc,
                 uint32_t truth = kCopyStrided) {
  const auto planned = [&](uint32_t only) {
    desc.methods = 1u << only;
    std::unique_ptr<Plan> plan;
    TW_REQUIRE_OK(CopyPlan::create(lab.device, desc, &plan));
    CHECK(static_cast<CopyPlan&>(*plan).method_for_test(lab.source(), lab.result()) == only);
    return plan;
  };
  const auto plan = planned(method);
  const auto plain = planned(truth);
  INFO(plan->explain());
  taken->take(*plan);
  const auto run = [&lab](const Plan& which, uint64_t to) {
    return static_cast<const CopyPlan&>(which).run(*lab.stream, lab.source(), to);
  };
  lab.repeat([&](uint64_t to) { return run(*plain, to); },
             [&](uint64_t to) { return run(*plan, to); });
}

CopyDesc matrix(int64_t bytes, int64_t src_pitch, int64_t dst_pitch, int64_t rows = kRows) {
  CopyDesc desc;
  desc.rank = 2;
  desc.shape[0] = rows;
  desc.shape[1] = bytes;
  desc.src_stride[0] = src_pitch;
  desc.dst_stride[0] = dst_pitch;
  desc.src_stride[1] = desc.dst_stride[1] = 1;
  desc.max_sms = 20;  // stages are used many times
  return desc;
}

// A copy with this shape, outermost dimension first. Gaps, which differ between source and
// destination, keep the dimensions from being merged.
CopyDesc nested(const std::vector<int64_t>& shape) {
  CopyDesc desc;
  desc.rank = static_cast<int32_t>(shape.size());
  int64_t src = 1, dst = 1;
  for (int32_t d = desc.rank - 1; d >= 0; --d) {
    desc.shape[d] = shape[static_cast<size_t>(d)];
    desc.src_stride[d] = src;
    desc.dst_stride[d] = dst;
    src = (src * desc.shape[d] + 15) / 16 * 16 + 16;
    dst = (dst * desc.shape[d] + 15) / 16 * 16 + 32;
  }
  desc.max_sms = 20;
  return desc;
}

// A transpose: dst[a][b] = src[b][a], both packed.
CopyDesc turned(int64_t a, int64_t b, int64_t element_bytes, uint32_t max_sms = 0) {
  CopyDesc desc;
  desc.dtype = bits_of(element_bytes);
  desc.rank = 2;
  desc.shape[0] = a;
  desc.shape[1] = desc.dst_stride[0] = b;
  desc.src_stride[0] = desc.dst_stride[1] = 1;
  desc.src_stride[1] = a;
  desc.max_sms = max_sms;
  return desc;
}

// A window that extends beyond its tensor on all four sides.
CopyDesc window() {
  CopyDesc desc = matrix(2100, 2048, 2112);
  desc.src_shape[0] = kRows - 60;
  desc.src_start[0] = -30;
  desc.src_shape[1] = 2000;
  desc.src_start[1] = -48;
  return desc;
}

}  // namespace

TEST_CASE("copy: a thousand runs by each method, with every kernel") {
  RepeatLab lab;
  if (!lab.open()) return;
  TakenRows taken;
  const auto repeat = [&](uint32_t method, const CopyDesc& desc) {
    repeat_copy(lab, &taken, method, desc);
  };
  for (const auto& shape : std::vector<std::vector<int64_t>>{
           {kRows, 4097}, {kRows, 272}, {30, 50, 4097}, {6, 5, 50, 4097}, {3, 4, 5, 25, 4097}}) {
    repeat(kCopyBoxes, nested(shape));
    repeat(kCopyRows, nested(shape));
    repeat(kCopyPieces, nested(shape));
  }
  repeat(kCopyPieces, matrix(1003, 1008, 1024));
  repeat(kCopyPieces, matrix(1003, 1008, 1024, 150));
  repeat(kCopyShift, matrix(4097, 4101, 4115));
  repeat(kCopyShift, matrix(4097, 4101, 4115, 150));
  for (const int64_t bytes : {1, 2, 4, 8}) {
    const int64_t b = bytes == 8 ? 752 : 1504;
    const int64_t a = bytes == 4 || bytes == 8 ? 528 : 1040;
    repeat(kCopyTranspose, turned(a, b, bytes));
    repeat(kCopyTranspose, turned(a, b, bytes, 3));  // many tiles per block
    repeat(kCopyTranspose, turned(128, 240, bytes));
    repeat(kCopyTransposePlain, turned(a - 9, b - 3, bytes));
    repeat(kCopyTransposePlain, turned(a - 9, b - 3, bytes, 3));
  }
  for (const int64_t bytes : {1, 2, 4, 8, 16}) {
    const int64_t b = bytes >= 8 ? 304 : 1504;
    repeat(kCopyPermute, turned(331, b, bytes));
    repeat(kCopyPermute, turned(331, b, bytes, 3));
  }
  for (const KernelEntry& entry : kernel_entries(Family::copy)) {
    if ((entry.variant & 0xff) != kCopyInterleave ||
        !(entry.feature & lab.device->info().kernel_features))
      continue;
    const auto bytes = static_cast<int64_t>(entry.variant >> 8 & 0xff);
    const auto planes = static_cast<int64_t>(entry.variant >> 16 & (kToPlanes - 1));
    const bool to_planes = (entry.variant >> 16 & kToPlanes) != 0;
    constexpr int64_t kCount = 24000;
    repeat(kCopyInterleave,
           turned(to_planes ? planes : kCount, to_planes ? kCount : planes, bytes, 2));
  }
  for (const uint32_t method : {kCopyBoxes, kCopyRows, kCopyPieces, kCopyShift})
    repeat(method, window());
  // kCopyStrided gave the truth so far. Check it against other methods.
  repeat_copy(lab, &taken, kCopyStrided, turned(1031, 1504, 2), kCopyPermute);
  repeat_copy(lab, &taken, kCopyStrided, matrix(4097, 4101, 4115), kCopyShift);
  taken.check_all(*lab.device, Family::copy,
                  [](const KernelEntry& entry) { return (entry.variant & 0xff) != kCopyFill; });
  MESSAGE(lab.cases << " cases, " << repeat_runs() << " runs each");
}
