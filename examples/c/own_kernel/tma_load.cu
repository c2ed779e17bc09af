// SPDX-License-Identifier: Apache-2.0
// A kernel of the program's own: one TMA load through a tensor map, then shared memory as it lies,
// byte for byte, to global memory. It includes nothing: the map is 128 bytes by value.

struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// out[0 : bytes] = the box at column `x`, row `y`. Dynamic shared memory: bytes + 1024, since
/// the 128-byte swizzle counts from a multiple of 1024.
extern "C" __global__ void load_box(const __grid_constant__ TensorMap map, unsigned char* out,
                                    unsigned bytes, int x, int y) {
  extern __shared__ unsigned char dynamic[];
  __shared__ unsigned long long arrived;
  unsigned char* box = dynamic + (1024 - shared_address(dynamic) % 1024) % 1024;
  const unsigned barrier = shared_address(&arrived);

  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(box)),
        "l"(&map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
  }
  __syncthreads();
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "wait:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@!done bra wait;\n"
      "}" ::"r"(barrier)
      : "memory");
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) out[i] = box[i];
}
