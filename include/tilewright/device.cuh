// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_CUH
#define TILEWRIGHT_DEVICE_CUH
/// @file device.cuh
/// For authors of kernels: the functions with which a kernel uses the library's tensor maps. The
/// header needs only nvcc or NVRTC, in C++17 or later, and no library. Other C++ compilers see only
/// tensor_map.cuh and the constants of cache.cuh.

/// @defgroup kernel_header Kernels of your own
/// Each function that runs only on a GPU executes one PTX instruction; mbarrier_wait() and
/// mbarrier_wait_cluster() repeat theirs until the phase is over. The function's comment names the
/// instruction, the PTX ISA version and the architecture that it needs, the threads that call it,
/// and its memory ordering. NVIDIA's PTX ISA manual describes the instructions in full.
///
/// A program makes a tensor map with tw_tensor_map_create() or tw_tensor_map_create_tile(), gets
/// its 128 bytes from tw_tensor_map_bytes() and passes them to its kernel as a TensorMapParam. This
/// kernel loads one box and writes its rows out in order, which undoes the swizzle:
/// @code{.cpp}
/// #include <tilewright/device.cuh>
/// namespace tw = tilewright;
///
/// extern "C" __global__ void copy_box(const __grid_constant__ tw::TensorMapParam map, char* out,
///                                     unsigned rows, int x, int y) {
///   constexpr auto kMode = tw::SwizzleMode::bytes_128;
///   constexpr unsigned kRowBytes = 128;
///   extern __shared__ __align__(1024) char box[];
///   __shared__ unsigned long long barrier;
///   const unsigned arrived = tw::shared_address(&barrier);
///   if (threadIdx.x == 0) {
///     tw::mbarrier_init(arrived, 1);
///     tw::fence_mbarrier_init();
///     tw::mbarrier_arrive_expect(arrived, rows * kRowBytes);
///     tw::load_tile(tw::shared_address(box), &map, arrived, x, y);
///   }
///   __syncthreads();
///   tw::mbarrier_wait(arrived, 0);
///   for (unsigned i = threadIdx.x; i < rows * kRowBytes; i += blockDim.x)
///     out[i] = box[tw::swizzled_offset(kMode, kRowBytes, i / kRowBytes, i % kRowBytes)];
/// }
/// @endcode
/// Addresses of shared memory are 32-bit numbers, which shared_address() makes from a pointer;
/// addresses of global memory are pointers. Coordinates are in elements, dimension 0 first. A
/// `block` is what PTX calls a CTA.
///
/// The library's promise of stability covers this header: a function keeps its name, its parameters
/// and its instruction.

#include <tilewright/device/cache.cuh>
#include <tilewright/device/tensor_map.cuh>
#ifdef __CUDACC__
#include <tilewright/device/barrier.cuh>
#include <tilewright/device/bulk.cuh>
#include <tilewright/device/cluster.cuh>
#include <tilewright/device/fence.cuh>
#include <tilewright/device/im2col.cuh>
#include <tilewright/device/load.cuh>
#include <tilewright/device/prefetch.cuh>
#include <tilewright/device/reduce.cuh>
#include <tilewright/device/store.cuh>
#endif

#endif  // TILEWRIGHT_DEVICE_CUH
