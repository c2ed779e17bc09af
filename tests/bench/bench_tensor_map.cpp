// SPDX-License-Identifier: Apache-2.0
// Host time of tensor map operations: check and encode (the driver's own call takes about 170 ns),
// rebind (limit 200 ns) and decode. Needs no GPU. Prints medians.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tensor_map/descriptor.hpp"
#include "tensor_map/rebind.hpp"
#include "tensor_map/rules/check.hpp"

namespace {

constexpr int kRounds = 15;
constexpr int kCalls = 100000;

uint64_t sink = 0;

template <class Call>
void measure(const char* what, Call call) {
  std::vector<double> rounds;
  for (int r = 0; r < kRounds; ++r) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kCalls; ++i) call(static_cast<uint64_t>(i));
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    rounds.push_back(time.count() / kCalls);
  }
  std::sort(rounds.begin(), rounds.end());
  std::printf("%-18s %7.1f ns\n", what, rounds[kRounds / 2]);
}

}  // namespace

int main() {
  tw::TensorMapDesc desc;
  desc.rank = 3;
  desc.swizzle = tw::Swizzle::b128;
  const uint64_t dims[3] = {64, 1024, 8};
  const uint32_t box[3] = {64, 128, 2};
  std::copy_n(dims, 3, desc.global_dim);
  std::copy_n(box, 3, desc.box_dim);
  desc.global_stride_bytes[0] = 1024;
  desc.global_stride_bytes[1] = 128;
  tw::TensorMapBytes bytes;
  measure("check and encode", [&](uint64_t i) {
    desc.global_address = 0x100000 + i * 16;
    sink += static_cast<uint64_t>(tw::encode(desc, 90, &bytes).ok()) + bytes.words[0];
  });
  measure("rebind", [&](uint64_t i) {
    tw::rebind_address(&bytes, 0x100000 + i * 16);
    tw::rebind_dim(&bytes, 1, 1 + i);
    sink += bytes.words[4];
  });
  measure("decode", [&](uint64_t i) {
    tw::rebind_dim(&bytes, 1, 1 + i);
    sink += static_cast<uint64_t>(tw::decode(bytes, &desc).ok()) + desc.global_dim[1];
  });
  return sink == 0;
}
