// SPDX-License-Identifier: Apache-2.0
// A decode step of an inference engine, in bf16: out = gelu(x up + bias) down + x, where x are the
// embeddings of some tokens. Finally it stores the rows of out in slots of a cache.
//
//   decode [cuda]
//
// Writes the bytes of the cache and of out to stdout. Without "cuda" it runs on the CPU reference.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tilewright/tilewright.hpp>
#include <vector>

namespace tw = tilewright;

namespace {

constexpr int kWords = 32, kHidden = 16, kInner = 48, kTokens = 4, kSlots = 8;
using Bf16 = uint16_t;  // the upper half of an f32

/// Multiples of 1/8 from -1 to 1, which are exact in bf16.
std::vector<Bf16> numbers(int count, int seed) {
  std::vector<Bf16> out;
  for (int i = 0; i < count; i++) {
    const float value = static_cast<float>((7 * i + seed) % 17 - 8) / 8;
    out.push_back(static_cast<Bf16>(std::bit_cast<uint32_t>(value) >> 16));
  }
  return out;
}

/// Device memory with these elements. The vector must live until the asynchronous copy is done.
template <typename T>
tw::Memory upload(const tw::Device& device, tw::Stream& stream, const std::vector<T>& from) {
  tw::Memory to(device, from.size() * sizeof(T));
  stream.to_device(to, from);
  return to;
}

tw_rows_desc rows_of(int table_rows) {
  tw_rows_desc desc = tw::rows_desc();
  desc.dtype = TW_DTYPE_BF16;
  desc.table_rows = table_rows;
  desc.columns = kHidden;
  desc.count = kTokens;
  return desc;
}

tw_gemm_desc product(int n, int k) {
  tw_gemm_desc desc = tw::gemm_desc();  // bf16 by default
  desc.m = kTokens;
  desc.n = n;
  desc.k = k;
  return desc;
}

// Copies rows from the device and writes them to stdout.
void write(tw::Stream& stream, const tw::Memory& from, int rows) {
  std::vector<Bf16> bytes(static_cast<size_t>(rows * kHidden));
  stream.to_host(bytes, from);
  stream.synchronize();
  std::fwrite(bytes.data(), sizeof(Bf16), bytes.size(), stdout);
}

void decode(const tw::Device& device) {
  tw::Stream stream(device);
  const auto table_numbers = numbers(kWords * kHidden, 0),
             up_numbers = numbers(kHidden * kInner, 3);
  const auto bias_numbers = numbers(kInner, 5), down_numbers = numbers(kInner * kHidden, 11);
  const std::vector<int32_t> token_numbers{7, 18, 29, 7}, slot_numbers{5, 0, 3, 6};
  const tw::Memory table = upload(device, stream, table_numbers);
  const tw::Memory up = upload(device, stream, up_numbers);
  const tw::Memory bias = upload(device, stream, bias_numbers);
  const tw::Memory down = upload(device, stream, down_numbers);
  const tw::Memory tokens = upload(device, stream, token_numbers);
  const tw::Memory slots = upload(device, stream, slot_numbers);
  const tw::Memory x(device, kTokens * kHidden * sizeof(Bf16));
  const tw::Memory inner(device, kTokens * kInner * sizeof(Bf16));
  const tw::Memory out(device, kTokens * kHidden * sizeof(Bf16));
  const tw::Memory cache(device, kSlots * kHidden * sizeof(Bf16));
  stream.fill(cache.address(), 0, cache.bytes());

  // Plans are made once; their runs below only launch kernels.
  const tw::Plan gather = tw::Plan::gather(device, rows_of(kWords));
  const tw::Plan scatter = tw::Plan::scatter(device, rows_of(kSlots));
  tw_gemm_desc wider = product(kInner, kHidden);
  wider.bias = TW_PER_COLUMN;
  wider.activation = TW_ACTIVATION_GELU;
  const tw::Plan widen = tw::Plan::gemm(device, wider);
  const tw::Plan narrow = tw::Plan::gemm(device, product(kHidden, kInner));

  tw_rows_args rows = tw::rows_args();
  // The runs execute in the order of the stream. The second product adds C = x: the residual.
  rows.table = table.address();
  rows.index = tokens.address();
  rows.packed = x.address();
  gather.run(stream, rows);
  tw_gemm_args first = tw::gemm_args();
  first.a = x.address();
  first.b = up.address();
  first.bias = bias.address();
  first.d = inner.address();
  widen.run(stream, first);
  tw_gemm_args second = tw::gemm_args();
  second.a = inner.address();
  second.b = down.address();
  second.c = x.address();
  second.beta = 1;
  second.d = out.address();
  narrow.run(stream, second);
  rows.table = cache.address();
  rows.index = slots.address();
  rows.packed = out.address();
  scatter.run(stream, rows);
  write(stream, cache, kSlots);
  write(stream, out, kTokens);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const bool cuda = argc > 1 && std::string(argv[1]) == "cuda";
    decode(cuda ? tw::Device::cuda() : tw::Device::host());
    return 0;
  } catch (const tw::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
