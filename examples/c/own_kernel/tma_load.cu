// SPDX-License-Identifier: Apache-2.0
// The program's own kernel: loads a box by TMA, then writes shared memory byte for byte, and the
// box's rows, located with swizzled_offset().
#include <tilewright/device.cuh>

namespace tw = tilewright;

/// Loads the box at column `x`, row `y`. With bytes = rows * row_bytes it writes the box as it lies
/// in shared memory to out[0 : bytes], and its rows in order to out[bytes : 2 * bytes]. `swizzle`
/// must be the map's, and row_bytes at least its span. Needs bytes + 1024 of dynamic shared memory:
/// swizzled_offset() holds for a box at a multiple of swizzle_period(), which is at most 1024.
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
