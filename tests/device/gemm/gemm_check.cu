// SPDX-License-Identifier: Apache-2.0
// Kernels of the tests and benchmarks of GEMM: data, a float64 reference, comparisons on the
// device. They are simple loops that share nothing with the library. Types: 0 bf16, 1 f16, 2 f32.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

namespace {

__device__ double load(const void* base, i64 at, int type) {
  if (type == 0) return static_cast<double>(static_cast<const __nv_bfloat16*>(base)[at]);
  if (type == 1) return static_cast<double>(static_cast<const __half*>(base)[at]);
  return static_cast<double>(static_cast<const float*>(base)[at]);
}

__device__ void store(void* base, i64 at, int type, float value) {
  if (type == 0) static_cast<__nv_bfloat16*>(base)[at] = __float2bfloat16_rn(value);
  if (type == 1) static_cast<__half*>(base)[at] = __float2half_rn(value);
  if (type == 2) static_cast<float*>(base)[at] = value;
}

__device__ u64 mix(u64 x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

__device__ i64 first_item() {
  return static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ i64 item_step() {
  return static_cast<i64>(gridDim.x) * blockDim.x;
}

}  // namespace

// Fills lines of `along` elements, `leading` apart, with N(0, 1) numbers (Box-Muller), or with
// integers of -magnitude to magnitude if that is not 0.
extern "C" __global__ void check_fill(void* base, i64 lines, i64 along, i64 leading, int type,
                                      u64 seed, int magnitude) {
  for (i64 i = first_item(); i < lines * along; i += item_step()) {
    const u64 bits = mix(seed * 0x10001 + static_cast<u64>(i));
    const float u = (static_cast<float>(static_cast<u32>(bits) >> 8) + 1.0f) * 0x1p-24f;
    const float v = static_cast<float>(static_cast<u32>(bits >> 40)) * 0x1p-24f;
    const int range = 2 * magnitude + 1;
    const float value = magnitude
                            ? static_cast<float>(static_cast<int>(bits >> 33) % range - magnitude)
                            : sqrtf(-2.0f * __logf(u)) * cospif(2.0f * v);
    store(base, i / along * leading + i % along, type, value);
  }
}

struct ReferenceArgs {
  const void* a;
  const void* b;
  const void* c;
  double* value;      // alpha * A B + beta * C, row-major m x n
  double* magnitude;  // |alpha| * sum |a||b| + |beta c|
  i64 a_stride_m, a_stride_k, b_stride_k, b_stride_n, c_stride_m, c_stride_n;
  i64 m, n, k;
  double alpha, beta;
  int in_type, out_type;
};

// A block of 32 x 8 threads computes 32 x 32 elements, in steps of 16 along k.
extern "C" __global__ void check_reference(const __grid_constant__ ReferenceArgs args) {
  __shared__ double a[32][17];
  __shared__ double b[16][33];
  const i64 m0 = static_cast<i64>(blockIdx.y) * 32;
  const i64 n0 = static_cast<i64>(blockIdx.x) * 32;
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  double sum[4] = {};
  double magnitude[4] = {};
  for (i64 k0 = 0; k0 < args.k && args.alpha != 0.0; k0 += 16) {
    for (int i = y * 32 + x; i < 512; i += 256) {
      const i64 m = m0 + i / 16;
      const i64 n = n0 + i % 32;
      const i64 ka = k0 + i % 16;
      const i64 kb = k0 + i / 32;
      const bool a_in = m < args.m && ka < args.k;
      const bool b_in = n < args.n && kb < args.k;
      a[i / 16][i % 16] =
          a_in ? load(args.a, m * args.a_stride_m + ka * args.a_stride_k, args.in_type) : 0.0;
      b[i / 32][i % 32] =
          b_in ? load(args.b, kb * args.b_stride_k + n * args.b_stride_n, args.in_type) : 0.0;
    }
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      for (int i = 0; i < 4; ++i) {
        const double product = a[y + 8 * i][k] * b[k][x];
        sum[i] += product;
        magnitude[i] += fabs(product);
      }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    const i64 m = m0 + y + 8 * i;
    const i64 n = n0 + x;
    if (m >= args.m || n >= args.n) continue;
    const double addend =
        args.beta == 0.0
            ? 0.0
            : args.beta * load(args.c, m * args.c_stride_m + n * args.c_stride_n, args.out_type);
    args.value[m * args.n + n] = args.alpha * sum[i] + addend;
    args.magnitude[m * args.n + n] = fabs(args.alpha) * magnitude[i] + fabs(addend);
  }
}

// Result of check_against_reference and check_difference. The caller zeroes it.
struct Verdict {
  double xy, xx, yy;  // for 1 - 2 <x, y> / (<x, x> + <y, y>)
  u64 wrong;          // elements out of bounds
  u64 not_finite;     // infinities and NaNs that differ
  u64 first;          // one more than the index of a wrong element; 0: none
  double worst;       // largest difference: relative to the bound, or absolute (check_difference)
};

namespace {

__device__ void worst_of(double* worst, double value) {
  // The bits of non-negative doubles have the order of their values.
  atomicMax(reinterpret_cast<u64*>(worst), static_cast<u64>(__double_as_longlong(value)));
}

__device__ double warp_sum(double value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

__device__ void add_sums(Verdict* verdict, double xy, double xx, double yy, double worst) {
  xy = warp_sum(xy);
  xx = warp_sum(xx);
  yy = warp_sum(yy);
  for (int offset = 16; offset > 0; offset /= 2)
    worst = fmax(worst, __shfl_xor_sync(~0u, worst, offset));
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&verdict->xy, xy);
  atomicAdd(&verdict->xx, xx);
  atomicAdd(&verdict->yy, yy);
  worst_of(&verdict->worst, worst);
}

__device__ void wrong_at(Verdict* verdict, i64 index) {
  atomicAdd(&verdict->wrong, 1ull);
  atomicCAS(&verdict->first, 0ull, static_cast<u64>(index) + 1);
}

// Half a unit in the last place of the type at this magnitude.
__device__ double half_ulp(double magnitude, int type) {
  const int digits = type == 0 ? 8 : type == 1 ? 11 : 24;
  const int least = type == 0 ? -126 : type == 1 ? -14 : -126;
  int exponent = least;
  if (magnitude > 0.0) exponent = max(least, ilogb(magnitude));
  return scalbn(1.0, exponent - digits);
}

}  // namespace

struct AgainstArgs {
  const void* d;
  const double* value;
  const double* magnitude;
  i64 m, n, stride_m, stride_n;
  int type;
  double slack;  // factor of sum |a||b|; 0: every element must be the rounded reference
  Verdict* verdict;
};

// Checks |d - ref| <= half an ulp of the output + slack * sum |a||b|. D must be NaN where the
// reference is, and infinite where the reference is or exceeds the type's range.
extern "C" __global__ void check_against_reference(const __grid_constant__ AgainstArgs args) {
  double xy = 0, xx = 0, yy = 0, worst = 0;
  const double largest = args.type == 1 ? 65520.0 : 0x1.ffp127;
  for (i64 i = first_item(); i < args.m * args.n; i += item_step()) {
    const double got =
        load(args.d, i / args.n * args.stride_m + i % args.n * args.stride_n, args.type);
    const double wanted = args.value[i];
    if (isnan(wanted) || isinf(wanted) || fabs(wanted) >= largest) {
      const bool same = isnan(wanted) ? isnan(got) : isinf(got) && (got > 0) == (wanted > 0);
      if (!same) wrong_at(args.verdict, i);
      if (!same) atomicAdd(&args.verdict->not_finite, 1ull);
      continue;
    }
    const double slack = args.magnitude[i] * args.slack;
    const double allowed = half_ulp(fabs(wanted) + slack, args.type) + slack;
    const double difference = fabs(got - wanted);
    if (!(difference <= allowed)) wrong_at(args.verdict, i);
    worst = fmax(worst, difference / allowed);
    xy += got * wanted;
    xx += got * got;
    yy += wanted * wanted;
  }
  add_sums(args.verdict, xy, xx, yy, worst);
}

// Compares two row-major results of one type as numbers.
extern "C" __global__ void check_difference(const void* x, const void* y, i64 count, int type,
                                            Verdict* verdict) {
  double xy = 0, xx = 0, yy = 0, worst = 0;
  for (i64 i = first_item(); i < count; i += item_step()) {
    const double a = load(x, i, type);
    const double b = load(y, i, type);
    if (!isfinite(a) || !isfinite(b)) {
      if (!(a == b || (isnan(a) && isnan(b)))) atomicAdd(&verdict->not_finite, 1ull);
      continue;
    }
    worst = fmax(worst, fabs(a - b));
    xy += a * b;
    xx += a * a;
    yy += b * b;
  }
  add_sums(verdict, xy, xx, yy, worst);
}

// Counts the 4-byte words in which two buffers differ.
extern "C" __global__ void check_same_bits(const u32* x, const u32* y, i64 words, u64* different) {
  u64 count = 0;
  for (i64 i = first_item(); i < words; i += item_step()) count += x[i] != y[i];
  if (count) atomicAdd(different, count);
}

// Counts the bytes of a buffer that are not `poison`, except those in `lines` lines of `along`
// bytes, `pitch` bytes apart, from `offset` on.
extern "C" __global__ void check_poison(const unsigned char* base, i64 bytes, i64 offset, i64 lines,
                                        i64 along, i64 pitch, int poison, u64* touched) {
  u64 count = 0;
  for (i64 i = first_item(); i < bytes; i += item_step()) {
    const i64 at = i - offset;
    const bool inside = at >= 0 && lines > 0 && at / pitch < lines && at % pitch < along;
    count += !inside && base[i] != poison;
  }
  if (count) atomicAdd(touched, count);
}

// Occupies its SMs until *flag is not 0, or for `cycles` at most.
extern "C" __global__ void check_hold(volatile u32* flag, u32* holding, i64 cycles) {
  if (threadIdx.x != 0) return;
  atomicAdd(holding, 1u);
  const i64 begin = clock64();
  while (*flag == 0 && clock64() - begin < cycles) __nanosleep(500);
}

// Writes its shared memory, waits, and counts the words that have changed.
extern "C" __global__ void __launch_bounds__(64)
    check_tenant(u64* different, u32 seed, i64 cycles) {
  __shared__ u32 words[1152];
  const u32 own = seed * 2654435761u + blockIdx.x;
  for (u32 i = threadIdx.x; i < 1152; i += blockDim.x) words[i] = own ^ i;
  const i64 begin = clock64();
  while (clock64() - begin < cycles) __nanosleep(100);
  __syncthreads();
  u64 count = 0;
  for (u32 i = threadIdx.x; i < 1152; i += blockDim.x)
    count += *static_cast<volatile u32*>(words + i) != (own ^ i);
  if (count) atomicAdd(different, count);
}

// Keeps the shared memory of its SMs busy until *flag is not 0, or for `cycles` at most: the lanes
// of a warp write to one bank, which takes a cycle each. Counts the blocks that time out: the work
// that was to run beside them did not fit.
extern "C" __global__ void check_crowd(volatile u32* flag, u32* arrived, u32* stayed, i64 cycles) {
  extern __shared__ u32 crowded[];  // 4 KB a warp
  if (threadIdx.x == 0) atomicAdd(arrived, 1u);
  const i64 begin = clock64();
  auto* const at = static_cast<volatile u32*>(crowded) + threadIdx.x * 32;
  for (u32 i = 0;; ++i) {
#pragma unroll
    for (u32 bank = 0; bank < 16; ++bank) at[bank] = i;
    if (i % 4 == 0 && (*flag != 0 || clock64() - begin >= cycles)) break;
  }
  if (threadIdx.x == 0 && *flag == 0) atomicAdd(stayed, 1u);
}

// Waits until `blocks` blocks of check_crowd have begun in total, or for `cycles` at most.
extern "C" __global__ void check_meet(volatile u32* arrived, u32 blocks, i64 cycles) {
  const i64 begin = clock64();
  while (*arrived < blocks && clock64() - begin < cycles) __nanosleep(100);
}
