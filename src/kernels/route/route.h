// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the kernels of the route family are launched with, for the device, the host bodies and the
// tests alike.
//
// A token's logits become its top_k experts and their weights. Each pair of a token and a slot then
// has a bin, which is the expert's local number, or local_experts where the expert is not here. The
// stable order of all pairs by bin is unique, so that it does not depend on how the work is cut.

#include "kernels/arguments.h"

namespace tw {

/// KernelRow::variant of this family: a step of a run.
enum : u32 {
  kRouteSmall = 1,  // all steps in one cluster
  kRouteScore = 2,  // chooses experts, and counts the bins of each chunk of tokens
  kRouteScan = 3,   // turns the counts of a bin into the number of pairs in earlier chunks
  kRoutePlace = 4,  // puts each pair in its place
  kRouteMany = 5,   // kRouteScore of more experts than kRouteFewExperts
  kRouteVariants = 6
};

/// The values of tw_route_score.
enum : u32 { kRouteSoftmax = 0, kRouteSigmoid = 1, kRouteSoftmaxChosen = 2 };

/// Types of logits.
enum : u32 { kRouteF32 = 0, kRouteBf16 = 1, kRouteF16 = 2 };

/// Bits of RouteArgs::flags.
enum : u32 {
  kRouteRenormalize = 1,  // weights of a token add up to 1 before they are scaled
  kRouteGroupTop2 = 2,    // a group's score is the sum of its two best; else its best
  kRouteByScore = 4,      // experts are chosen by score, not by logit
  kRouteGiven = 8,        // experts are given, not chosen
  kRouteOrders = 16,      // bins are wanted
};

inline constexpr u32 kRouteMaxExperts = 1024;
inline constexpr u32 kRouteFewExperts = 512;  // whose keys leave room for twice as many warps
inline constexpr u32 kRouteMaxTopK = 32;      // a lane each
inline constexpr u32 kRouteMaxGroups = 32;    // likewise
inline constexpr u32 kRouteMaxBins = kRouteMaxExperts + 1;
inline constexpr u32 kRouteScoreThreads = 512;  // of a block that scores, a warp for each token
inline constexpr u32 kRouteScoreWarps = kRouteScoreThreads / 32;
inline constexpr u32 kRouteThreads = 256;  // of a block that scans or places
inline constexpr u32 kRouteWarps = kRouteThreads / 32;
inline constexpr u32 kRouteCluster = 8;        // blocks that score together at most
inline constexpr u32 kRouteSmallTokens = 128;  // which one cluster takes, one for each warp

struct RouteArgs {
  u64 logits;
  u64 bias;       // f32 for each expert; 0: none
  u64 given_ids;  // with kRouteGiven
  u64 given_weights;
  u64 map;        // i32 for each expert, its local number; 0: the same number
  u64 ids;        // i32 for each pair; 0 here and below: not wanted
  u64 weights;    // f32 for each pair
  u64 counts;     // i32 for each local expert
  u64 offsets;    // one more
  u64 order;      // i32 for each pair: the pair in that place
  u64 tokens_of;  // likewise: its token
  u64 inverse;    // i32 for each pair: its place
  u64 faults;     // a 64-bit word, to which ids and local numbers that cannot be are added
  u64 bins;       // u16 for each pair, of the workspace
  u64 table;      // u32 [bin][chunk], of the workspace: pairs of that bin
  u64 totals;     // u32 [bin], of the workspace
  i64 pitch;      // bytes between the logits of neighbouring tokens
  u32 tokens;
  u32 experts;
  u32 local;  // experts of this rank; the bin of this number has all other pairs
  u32 top_k;
  u32 groups;  // 1: none
  u32 group_size;
  u32 top_groups;
  u32 score;
  u32 type;  // of logits
  u32 flags;
  u32 id_bytes;      // of given_ids: 4 or 8
  u32 offset_bytes;  // 4 or 8
  u32 chunk_tokens;  // of all chunks but the last
  u32 chunks;
  float scale;  // of weights
  u32 reserved;
};
static_assert(sizeof(RouteArgs) == 200, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(RouteArgs, pitch) == 128, "as above");
static_assert(__builtin_offsetof(RouteArgs, scale) == 192, "as above");

TW_KERNEL_HD inline bool route_has(const RouteArgs& args, u32 flag) {
  return (args.flags & flag) != 0;
}

TW_KERNEL_HD inline u32 route_bins(const RouteArgs& args) {
  return args.local + 1;
}

/// Tokens of a chunk: one for each warp of a block, or as many more as leave kRouteMaxChunks, which
/// is what the SMs of an H200 hold at once.
inline constexpr u32 kRouteMaxChunks = 256;
TW_KERNEL_HD inline u32 route_chunk_tokens(u32 tokens) {
  const u32 of_warp =
      (tokens + kRouteMaxChunks * kRouteScoreWarps - 1) / (kRouteMaxChunks * kRouteScoreWarps);
  return (of_warp == 0 ? 1 : of_warp) * kRouteScoreWarps;
}

/// The bin of an expert: `mapped` is its entry of the map, or the expert itself. Numbers that are
/// no expert's are dropped, and so is what the map has -1 for; all others but that are faults.
struct RouteBin {
  u32 bin;
  bool fault;
};
TW_KERNEL_HD inline RouteBin route_bin(const RouteArgs& args, i32 mapped) {
  if (mapped >= 0 && static_cast<u32>(mapped) < args.local)
    return {static_cast<u32>(mapped), false};
  return {args.local, mapped != -1};
}

/// Dynamic shared memory of kRouteSmall: a bin for each pair, and counts of each warp.
TW_KERNEL_HD inline u32 route_small_bin_words(u32 pairs) {
  return (pairs + 1) / 2;
}
TW_KERNEL_HD inline u32 route_small_bytes(u32 pairs, u32 bins) {
  const u32 steps = (pairs + 31) / 32;
  const u32 warps = steps < kRouteScoreWarps ? steps : kRouteScoreWarps;
  return (route_small_bin_words(pairs) + warps * bins) * 4;
}

}  // namespace tw
