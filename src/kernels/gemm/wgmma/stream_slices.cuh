// SPDX-License-Identifier: Apache-2.0
#pragma once
// Divides the columns of a tile among CTAs that have multiplied parts of its k. Each of these CTAs
// adds up all parts of its slice of the columns, and writes the slice (stream_meet.cuh).
//
// A CTA that has stored its part adds 1 to the tile's counter. If the CTA has no more work, it then
// waits until all parts are stored, and the CTAs that wait share the tile's columns. A CTA that has
// more work does not wait. A CTA also stops waiting after a while, because the others might not be
// resident. If no CTA waits when the last part is stored, the CTA that stored it gets all columns.
//
// Nobody clears a workspace, so the memory of a counter may hold any bytes before a run. A counter
// is valid only if its upper 44 bits are the tag, and if it does not yet count all parts as stored:
// the part of a CTA that is about to count its own is still missing. A CTA that arrives at a
// counter that is not valid starts it anew, with the tag and no parts. The lower bits of a counter
// are:
//   bits 0-3    number of CTAs that have stored their part; a tile has at most nine parts
//   bits 4-7    number of CTAs that no longer use the counter; the last one resets it to the tag
//   bits 8-19   one bit for each CTA, which is set while the CTA waits; they do not change any more
//               when all parts are stored

#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/gemm/wgmma/gemm_config.cuh"
#include "kernels/gemm/wgmma/stream_cluster.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/ptx/reduce.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

// The consumer threads of a CTA.
template <class Config>
struct StreamConsumers {
  static constexpr u32 kThreads = 128 * Config::kConsumers;
  static __device__ __forceinline__ u32 thread() { return threadIdx.x - 128; }
  static __device__ __forceinline__ void sync() { ptx::named_barrier(1, kThreads); }
};

// Columns of a tile that one CTA adds up and writes.
struct StreamSlice {
  i32 first, columns;  // `first` counts from the tile's first column; columns <= 0: no columns

  // Slice number `index` of `count` slices. Its width is a multiple of `step`, except at the end of
  // the tile (gemm_slice_columns()).
  static __device__ __forceinline__ StreamSlice of(i32 width, i32 index, i32 count, i32 step = 16) {
    const i32 columns = gemm_slice_columns(width, count, step);
    return {index * columns, min(columns, width - index * columns)};
  }
};

// A tile's counter. One thread of each CTA uses it.
struct StreamCounter {
  static constexpr u64 kArrived = 1, kLeft = 16, kWaits = 256;
  // How often a waiting CTA reads the counter before it stops. A read is a round trip to the L2.
  static constexpr i32 kMaxPolls = 24;
  u64 address, tag;
  i32 parts;

  __device__ __forceinline__ bool all_arrived(u64 value) const {
    return static_cast<i32>(value & 15) == parts;
  }
  // Adds an arriving CTA's value to the counter, and returns the new value. If the counter was
  // valid, one atomic addition is enough, which takes one round trip to the L2 however many CTAs
  // arrive. If not, the CTA replaces the counter by one with the tag, and repeats this
  // compare-and-swap until no other CTA changes the counter in between.
  __device__ __forceinline__ u64 add(u64 value) const {
    const auto is_valid = [&](u64 seen) {
      return (seen & ~kGemmStreamCounterFields) == tag && static_cast<i32>(seen & 15) < parts;
    };
    u64 seen = ptx::add_acq_rel(address, value);
    if (is_valid(seen)) return seen + value;
    seen += value;
    for (;;) {
      const u64 next = (is_valid(seen) ? seen : tag) + value;
      const u64 found = ptx::compare_swap_acq_rel(address, seen, next);
      if (found == seen) return next;
      seen = found;
    }
  }
  // Counts the CTA that stored part number `own` of the tile. If `waits`, it then waits for the
  // other parts, but for no more than kMaxPolls reads. Returns the value of the counter, which
  // tells who gets slices: nobody if parts are missing, else the CTAs that wait, or this CTA if
  // none waits.
  __device__ __forceinline__ u64 arrive(i32 own, bool waits) const {
    const u64 bit = waits ? kWaits << own : 0;
    u64 seen = add(kArrived + bit);
    for (i32 poll = 0; waits && !all_arrived(seen) && poll < kMaxPolls; ++poll)
      seen = ptx::load_acquire(address);
    while (waits && !all_arrived(seen)) {
      const u64 found = ptx::compare_swap_acq_rel(address, seen, seen - bit);
      if (found == seen) return seen - bit;
      seen = found;
    }
    return seen;
  }
  // Counts that this CTA no longer uses the counter. The last CTA of the tile resets it to the tag.
  __device__ __forceinline__ void leave() const {
    const u64 now = ptx::add_acq_rel(address, kLeft) + kLeft;
    if (static_cast<i32>(now / kLeft & 15) == parts) ptx::store_relaxed(address, tag);
  }
};

// Whether the CTAs of a tile can share its columns. Kernels for integers lack the registers, so the
// last CTA to arrive gets all columns.
template <class Config>
inline constexpr bool kStreamHasSlices = !Config::kIntegerSums;

// The slice that stream_take_slice() has stored at `slice_word`. The word has the index of the
// slice in its lower half and the number of slices in its upper half, or is 0 if the CTA has no
// slice.
template <class Config, class Args>
__device__ __forceinline__ StreamSlice stream_taken_slice(const Args& args, u32 slice_word) {
  const u32 word = ptx::shared_load<4>(slice_word);
  if (word == 0) return {0, 0};
  if constexpr (!kStreamHasSlices<Config>) return {0, args.width};
  return StreamSlice::of(args.width, static_cast<i32>(word & 0xffff), static_cast<i32>(word >> 16),
                         Config::kSliceStep);
}

// Counts this CTA, which has stored its part of a tile, and returns the CTA's slice of the tile. If
// `waits`, the CTA first waits for the other parts. The tile belongs to CTA `rank` of each worker
// that multiplies the unit; `worker` is this CTA's worker (gemm_stream.h). `divided_unit` is the
// unit's index among the divided units. `slice_word` is the shared address of a word that holds the
// slice until the next call. All consumer threads must call it.
template <class Config, class Args>
__device__ __forceinline__ StreamSlice stream_take_slice(const Args& args, i32 divided_unit,
                                                         i32 worker, u32 rank, bool waits,
                                                         u32 slice_word) {
  StreamConsumers<Config>::sync();  // all threads have stored their accumulators
  if (StreamConsumers<Config>::thread() == 0) {
    const GemmParts workers = gemm_stream_parts(divided_unit, args.padded_k_blocks, args.share);
    const i32 own = worker - workers.first;
    const StreamCounter counter{
        args.workspace +
            ((static_cast<u64>(divided_unit) << stream_cluster_log<Config>(args)) + rank) * 8,
        args.counter_tag, workers.last - workers.first + 1};
    const u64 seen = counter.arrive(own, waits && kStreamHasSlices<Config>);
    const u32 waiting = static_cast<u32>(seen / StreamCounter::kWaits) & 0xfff;
    const bool has_slice = counter.all_arrived(seen) && (waiting == 0 || (waiting >> own & 1) != 0);
    const u32 index = __popc(waiting & ((1u << own) - 1)), count = max(__popc(waiting), 1);
    ptx::shared_store<4>(slice_word, has_slice ? index | count << 16 : 0u);
    counter.leave();
  }
  StreamConsumers<Config>::sync();
  return stream_taken_slice<Config>(args, slice_word);
}

}  // namespace tw
