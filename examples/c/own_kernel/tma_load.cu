// SPDX-License-Identifier: Apache-2.0
// A kernel of the program's own: one TMA load through a tensor map. Then it writes shared memory as
// it lies, byte for byte, and after that the box's rows, which it finds by swizzled_offset().
#include <tilewright/device.cuh>

namespace tw = tilewright;

/// With bytes = rows * row_bytes, of the box at column `x`, row `y`: out[0 : bytes] is the box as
/// it lies in shared memory, out[bytes : 2 * bytes] its rows in order. `swizzle` is the map's, and
/// no row is shorter than the swizzle's span. Dynamic shared memory: bytes + 1024, since the
/// 128-byte swizzle counts from a multiple of 1024.
extern "C" __global__ void load_box(const __grid_constant__ tw::TensorMapParam map,
                                    unsigned char* out, unsigned rows, unsigned row_bytes,
                                    int swizzle, int x, int y) {
  extern __shared__ unsigned char dynamic[];
  __shared__ unsigned long long arrived;
  unsigned char* box = dynamic + (1024 - tw::shared_address(dynamic) % 1024) % 1024;
  const unsigned barrier = tw::shared_address(&arrived);
  const unsigned bytes = rows * row_bytes;

  if (threadIdx.x == 0) {
    tw::mbarrier_init(barrier, 1);
    tw::fence_mbarrier_init();
    tw::mbarrier_arrive_expect(barrier, bytes);
    tw::load_tile(tw::shared_address(box), &map, barrier, x, y);
  }
  __syncthreads();
  tw::mbarrier_wait(barrier, 0);

  const auto mode = static_cast<tw::SwizzleMode>(swizzle);
  for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x) {
    out[i] = box[i];
    out[bytes + i] = box[tw::swizzled_offset(mode, row_bytes, i / row_bytes, i % row_bytes)];
  }
}
