// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_REDUCE_CUH
#define TILEWRIGHT_DEVICE_REDUCE_CUH
/// @file reduce.cuh
/// Reductions from shared to global memory: each element of global memory is combined atomically
/// with an element of shared memory. The hardware chooses the order of these operations.

#include <tilewright/device/tensor_map.cuh>

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// How a reduction combines an element `x` of global memory with an element `y` of shared memory.
enum class ReduceOp {
  add,      ///< x + y
  min,      ///< the smaller one
  max,      ///< the larger one
  inc,      ///< 0 if x >= y, otherwise x + 1
  dec,      ///< y if x is 0 or x > y, otherwise x - 1
  bit_and,  ///< x & y
  bit_or,   ///< x | y
  bit_xor   ///< x ^ y
};

/// The element types of reduce_bulk(). reduce_tile() uses the element type of the map.
enum class ReduceType { u32, s32, u64, s64, f16, bf16, f32, f64 };

/// Whether reduce_bulk() supports the operation on the type. There is no addition of s64: addition
/// of u64 gives the same bits. The bitwise operations support u32 and u64.
__host__ __device__ constexpr bool reduce_bulk_has(ReduceOp op, ReduceType type) {
  const bool floating = type == ReduceType::f16 || type == ReduceType::bf16 ||
                        type == ReduceType::f32 || type == ReduceType::f64;
  const bool wide = type == ReduceType::f32 || type == ReduceType::f64;
  switch (op) {
    case ReduceOp::add:
      return type != ReduceType::s64;
    case ReduceOp::min:
    case ReduceOp::max:
      return !wide;
    case ReduceOp::inc:
    case ReduceOp::dec:
      return type == ReduceType::u32;
    default:
      return !floating && (type == ReduceType::u32 || type == ReduceType::u64);
  }
}

// One branch for each operation. `instruction` makes one asm statement of the operation's PTX name.
#define TILEWRIGHT_EACH_OP(instruction)                       \
  if constexpr (kOp == ReduceOp::add) instruction("add");     \
  if constexpr (kOp == ReduceOp::min) instruction("min");     \
  if constexpr (kOp == ReduceOp::max) instruction("max");     \
  if constexpr (kOp == ReduceOp::inc) instruction("inc");     \
  if constexpr (kOp == ReduceOp::dec) instruction("dec");     \
  if constexpr (kOp == ReduceOp::bit_and) instruction("and"); \
  if constexpr (kOp == ReduceOp::bit_or) instruction("or");   \
  if constexpr (kOp == ReduceOp::bit_xor) instruction("xor")

/// Combines a box with the tensor, in the map's element type: `reduce_tile<ReduceOp::add>(...)`.
/// add supports u32, s32, u64, f16, bf16, f32, tf32 and f64; min and max support u32, s32, u64,
/// s64, f16 and bf16; inc and dec support u32; the bitwise operations support u32, s32 and u64.
/// With another type the hardware aborts the kernel. f32 keeps subnormal numbers. Elements outside
/// the tensor are not written.
/// @param map the tensor map, see store.cuh
/// @param shared source of the box
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @ptx `cp.reduce.async.bulk.tensor` with `.global.shared::cta` and `.tile.bulk_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box, which also commits and waits.
/// @ordering As store_tile().
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile(const TensorMapParam* map, unsigned shared, int x) {
#define TILEWRIGHT_INSTRUCTION(op)                                     \
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta." op \
               ".tile.bulk_group"                                      \
               " [%0, {%2}], [%1];" ::"l"(map),                        \
               "r"(shared), "r"(x)                                     \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

/// @overload
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile(const TensorMapParam* map, unsigned shared, int x,
                                            int y) {
#define TILEWRIGHT_INSTRUCTION(op)                                     \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op \
               ".tile.bulk_group"                                      \
               " [%0, {%2, %3}], [%1];" ::"l"(map),                    \
               "r"(shared), "r"(x), "r"(y)                             \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

/// @overload
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile(const TensorMapParam* map, unsigned shared, int x,
                                            int y, int z) {
#define TILEWRIGHT_INSTRUCTION(op)                                     \
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta." op \
               ".tile.bulk_group"                                      \
               " [%0, {%2, %3, %4}], [%1];" ::"l"(map),                \
               "r"(shared), "r"(x), "r"(y), "r"(z)                     \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

/// @overload
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile(const TensorMapParam* map, unsigned shared, int x,
                                            int y, int z, int u) {
#define TILEWRIGHT_INSTRUCTION(op)                                     \
  asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta." op \
               ".tile.bulk_group"                                      \
               " [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),            \
               "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u)             \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

/// @overload
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile(const TensorMapParam* map, unsigned shared, int x,
                                            int y, int z, int u, int v) {
#define TILEWRIGHT_INSTRUCTION(op)                                     \
  asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta." op \
               ".tile.bulk_group"                                      \
               " [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),        \
               "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)     \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

/// As reduce_tile(), with a cache policy.
/// @param map the tensor map, see store.cuh
/// @param shared source of the box
/// @param x coordinate of the box in dimension 0; `y` to `v` are those in the next dimensions, as
/// many as the map has
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.reduce.async.bulk.tensor` with `.global.shared::cta` and
/// `.tile.bulk_group.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each box, which also commits and waits.
/// @ordering As store_tile().
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                 unsigned long long policy) {
#define TILEWRIGHT_INSTRUCTION(op)                                     \
  asm volatile("cp.reduce.async.bulk.tensor.1d.global.shared::cta." op \
               ".tile.bulk_group.L2::cache_hint"                       \
               " [%0, {%2}], [%1], %3;" ::"l"(map),                    \
               "r"(shared), "r"(x), "l"(policy)                        \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

/// @overload
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                 int y, unsigned long long policy) {
#define TILEWRIGHT_INSTRUCTION(op)                                     \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." op \
               ".tile.bulk_group.L2::cache_hint"                       \
               " [%0, {%2, %3}], [%1], %4;" ::"l"(map),                \
               "r"(shared), "r"(x), "r"(y), "l"(policy)                \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

/// @overload
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                 int y, int z, unsigned long long policy) {
#define TILEWRIGHT_INSTRUCTION(op)                                     \
  asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta." op \
               ".tile.bulk_group.L2::cache_hint"                       \
               " [%0, {%2, %3, %4}], [%1], %5;" ::"l"(map),            \
               "r"(shared), "r"(x), "r"(y), "r"(z), "l"(policy)        \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

/// @overload
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                 int y, int z, int u, unsigned long long policy) {
#define TILEWRIGHT_INSTRUCTION(op)                                      \
  asm volatile("cp.reduce.async.bulk.tensor.4d.global.shared::cta." op  \
               ".tile.bulk_group.L2::cache_hint"                        \
               " [%0, {%2, %3, %4, %5}], [%1], %6;" ::"l"(map),         \
               "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u), "l"(policy) \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

/// @overload
template <ReduceOp kOp>
__device__ __forceinline__ void reduce_tile_hint(const TensorMapParam* map, unsigned shared, int x,
                                                 int y, int z, int u, int v,
                                                 unsigned long long policy) {
#define TILEWRIGHT_INSTRUCTION(op)                                              \
  asm volatile("cp.reduce.async.bulk.tensor.5d.global.shared::cta." op          \
               ".tile.bulk_group.L2::cache_hint"                                \
               " [%0, {%2, %3, %4, %5, %6}], [%1], %7;" ::"l"(map),             \
               "r"(shared), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v), "l"(policy) \
               : "memory")
  TILEWRIGHT_EACH_OP(TILEWRIGHT_INSTRUCTION);
#undef TILEWRIGHT_INSTRUCTION
}

#undef TILEWRIGHT_EACH_OP

#define TILEWRIGHT_REDUCE(op, type, suffix)                                 \
  if constexpr (kOp == ReduceOp::op && kType == ReduceType::type)           \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." suffix \
               " [%0], [%1], %2;" ::"l"(global),                            \
               "r"(shared), "r"(bytes)                                      \
               : "memory")
#define TILEWRIGHT_REDUCE_HINT(op, type, suffix)                                           \
  if constexpr (kOp == ReduceOp::op && kType == ReduceType::type)                          \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint." suffix \
               " [%0], [%1], %2, %3;" ::"l"(global),                                       \
               "r"(shared), "r"(bytes), "l"(policy)                                        \
               : "memory")
#define TILEWRIGHT_ALL_REDUCTIONS(reduce) \
  reduce(add, u32, "add.u32");            \
  reduce(add, s32, "add.s32");            \
  reduce(add, u64, "add.u64");            \
  reduce(add, f16, "add.noftz.f16");      \
  reduce(add, bf16, "add.noftz.bf16");    \
  reduce(add, f32, "add.f32");            \
  reduce(add, f64, "add.f64");            \
  reduce(min, u32, "min.u32");            \
  reduce(min, s32, "min.s32");            \
  reduce(min, u64, "min.u64");            \
  reduce(min, s64, "min.s64");            \
  reduce(min, f16, "min.f16");            \
  reduce(min, bf16, "min.bf16");          \
  reduce(max, u32, "max.u32");            \
  reduce(max, s32, "max.s32");            \
  reduce(max, u64, "max.u64");            \
  reduce(max, s64, "max.s64");            \
  reduce(max, f16, "max.f16");            \
  reduce(max, bf16, "max.bf16");          \
  reduce(inc, u32, "inc.u32");            \
  reduce(dec, u32, "dec.u32");            \
  reduce(bit_and, u32, "and.b32");        \
  reduce(bit_and, u64, "and.b64");        \
  reduce(bit_or, u32, "or.b32");          \
  reduce(bit_or, u64, "or.b64");          \
  reduce(bit_xor, u32, "xor.b32");        \
  reduce(bit_xor, u64, "xor.b64")

/// Combines consecutive elements with those in global memory, without a tensor map:
/// `reduce_bulk<ReduceOp::max, ReduceType::s32>(...)`. reduce_bulk_has() tells which operations a
/// type supports.
/// @param global destination, a multiple of 16
/// @param shared source, a shared-memory address and a multiple of 16
/// @param bytes number of bytes, a multiple of 16
/// @ptx `cp.reduce.async.bulk.global.shared::cta.bulk_group`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each range of bytes, which also commits and waits.
/// @ordering As store_tile().
template <ReduceOp kOp, ReduceType kType>
__device__ __forceinline__ void reduce_bulk(void* global, unsigned shared, unsigned bytes) {
  static_assert(reduce_bulk_has(kOp, kType), "the operation takes other types");
  TILEWRIGHT_ALL_REDUCTIONS(TILEWRIGHT_REDUCE);
}

/// As reduce_bulk(), with a cache policy.
/// @param global destination, a multiple of 16
/// @param shared source, a shared-memory address and a multiple of 16
/// @param bytes number of bytes, a multiple of 16
/// @param policy cache policy: kEvictFirst, evict_last_policy(0.5f) and so on
/// @ptx `cp.reduce.async.bulk.global.shared::cta.bulk_group.L2::cache_hint`
/// @needs PTX ISA 8.0, sm_90
/// @calledby One thread for each range of bytes, which also commits and waits.
/// @ordering As store_tile().
template <ReduceOp kOp, ReduceType kType>
__device__ __forceinline__ void reduce_bulk_hint(void* global, unsigned shared, unsigned bytes,
                                                 unsigned long long policy) {
  static_assert(reduce_bulk_has(kOp, kType), "the operation takes other types");
  TILEWRIGHT_ALL_REDUCTIONS(TILEWRIGHT_REDUCE_HINT);
}

#undef TILEWRIGHT_ALL_REDUCTIONS
#undef TILEWRIGHT_REDUCE_HINT
#undef TILEWRIGHT_REDUCE

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_REDUCE_CUH
