// SPDX-License-Identifier: Apache-2.0
#pragma once
// Routing of tokens to experts: kernel arguments, shared by the kernels, the host bodies and the
// tests.
//
// From a token's logits, routing chooses its top_k experts and their weights. The chosen experts
// fill the token's top_k slots, and a pair is a token with one of its slots. The bin of a pair is
// the local number of its expert, or `local_experts` if the expert is on another rank; such pairs
// are dropped. Pairs are ordered stably by bin. That order is unique, so it does not depend on how
// the work is divided.

#include "kernels/arguments.h"

namespace tw {

/// Values of KernelEntry::variant in this family. A run consists of one or three of these steps.
enum : u32 {
  kRouteSmall = 1,  // all steps in one cluster
  kRouteScore = 2,  // chooses experts, and counts the pairs of each bin in each chunk of tokens
  kRouteScan = 3,   // turns each count into the number of pairs of that bin in earlier chunks
  kRoutePlace = 4,  // writes each pair to its place in the order
  kRouteMany = 5,   // kRouteScore for more than kRouteFewExperts experts
  kRouteVariants = 6
};

/// Values of tw_route_score.
enum : u32 { kRouteSoftmax = 0, kRouteSigmoid = 1, kRouteSoftmaxChosen = 2 };

/// Types of logits.
enum : u32 { kRouteF32 = 0, kRouteBf16 = 1, kRouteF16 = 2 };

/// Bits of RouteArgs::flags.
enum : u32 {
  kRouteRenormalize = 1,  // the weights of a token sum to 1 before `scale` is applied
  kRouteGroupTop2 = 2,  // a group's key is the sum of its two best experts' keys, else the best key
  kRouteByScore = 4,    // an expert's key is score + bias (see tw_route_desc), else its logit
  kRouteGiven = 8,      // the caller gives the experts
  kRouteOrders = 16,    // the caller wants results that depend on the bins of pairs
};

inline constexpr u32 kRouteMaxExperts = 1024;
// With more experts than this, kRouteMany runs. kRouteScore keeps fewer experts in registers, so
// that an SM has twice as many of its warps.
inline constexpr u32 kRouteFewExperts = 512;
inline constexpr u32 kRouteMaxTopK = 32;    // one lane per slot
inline constexpr u32 kRouteMaxGroups = 32;  // one lane per group
inline constexpr u32 kRouteMaxBins = kRouteMaxExperts + 1;
inline constexpr u32 kRouteScoreThreads = 512;  // per block of a scoring kernel; a warp has a token
inline constexpr u32 kRouteScoreWarps = kRouteScoreThreads / 32;
inline constexpr u32 kRouteThreads = 256;  // per block of a scanning or placing kernel
inline constexpr u32 kRouteWarps = kRouteThreads / 32;
inline constexpr u32 kRouteCluster = 8;        // maximal number of blocks of kRouteSmall
inline constexpr u32 kRouteSmallTokens = 128;  // one for each warp of kRouteSmall

struct RouteArgs {
  u64 logits;
  u64 bias;           // f32 per expert; 0: none
  u64 given_ids;      // with kRouteGiven: the caller's experts
  u64 given_weights;  // f32 per pair: with kRouteGiven, the scores of the caller's experts
  u64 expert_map;     // i32 per expert: its local number; 0: the expert's own number
  u64 ids;           // i32 per pair: its expert. For this and the next results, 0 means not wanted.
  u64 weights;       // f32 per pair
  u64 counts;        // i32 per local expert: the number of its pairs
  u64 offsets;       // per local expert, and one more: the place of its first pair
  u64 order;         // i32 per place: the pair at that place
  u64 order_tokens;  // i32 per place: the token of that pair
  u64 inverse;       // i32 per pair: its place
  u64 invalid_count;  // 64-bit counter of invalid ids and local numbers
  u64 pair_bins;      // workspace: u16 per pair, its bin
  u64 chunk_counts;   // workspace: u32 [bin][chunk], the number of pairs
  u64 bin_totals;     // workspace: u32 [bin], the number of pairs
  i64 pitch;          // bytes from the logits of one token to those of the next
  u32 tokens;
  u32 experts;
  u32 local_experts;  // number of local experts, and the bin of all other pairs
  u32 top_k;
  u32 groups;  // 1: no groups
  u32 group_size;
  u32 top_groups;
  u32 score;
  u32 logit_type;
  u32 flags;
  u32 id_bytes;      // of given_ids: 4 or 8
  u32 offset_bytes;  // 4 or 8
  u32 chunk_tokens;  // in all chunks but the last
  u32 chunks;
  float scale;  // of weights
  u32 reserved;
};
static_assert(sizeof(RouteArgs) == 200, "host and device must agree on the layout");
static_assert(__builtin_offsetof(RouteArgs, pitch) == 128, "as above");
static_assert(__builtin_offsetof(RouteArgs, scale) == 192, "as above");

TW_KERNEL_HD inline bool route_has(const RouteArgs& args, u32 flag) {
  return (args.flags & flag) != 0;
}

TW_KERNEL_HD inline u32 route_bin_count(const RouteArgs& args) {
  return args.local_experts + 1;
}

/// Tokens per chunk: a multiple of the warps of a block, large enough that there are at most
/// kRouteMaxChunks chunks, about as many blocks as an H200 runs at once.
inline constexpr u32 kRouteMaxChunks = 256;
TW_KERNEL_HD inline u32 route_chunk_tokens(u32 tokens) {
  const u32 per_warp =
      (tokens + kRouteMaxChunks * kRouteScoreWarps - 1) / (kRouteMaxChunks * kRouteScoreWarps);
  return (per_warp == 0 ? 1 : per_warp) * kRouteScoreWarps;
}

struct RouteBin {
  u32 bin;
  bool invalid;
};
/// The bin of an expert. `mapped` is its map entry, or the expert itself without a map. A number
/// outside [0, local_experts) leads to the bin of dropped pairs, and is invalid unless it is -1.
TW_KERNEL_HD inline RouteBin route_bin(const RouteArgs& args, i32 mapped) {
  if (mapped >= 0 && static_cast<u32>(mapped) < args.local_experts)
    return {static_cast<u32>(mapped), false};
  return {args.local_experts, mapped != -1};
}

/// Dynamic shared memory of kRouteSmall: the bin of each pair (u16), then a count for each warp and
/// bin. route_small_bin_words() is the size of the pairs' bins in 32-bit words.
TW_KERNEL_HD inline u32 route_small_bin_words(u32 pairs) {
  return (pairs + 1) / 2;
}
TW_KERNEL_HD inline u32 route_small_bytes(u32 pairs, u32 bin_count) {
  const u32 steps = (pairs + 31) / 32;
  const u32 warps = steps < kRouteScoreWarps ? steps : kRouteScoreWarps;
  return (route_small_bin_words(pairs) + warps * bin_count) * 4;
}

}  // namespace tw
