// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch arguments of the grouped family, shared by the device, the host bodies and the tests.
//
// A grouped product multiplies groups of neighboring rows of A (m x k) by a weight matrix each:
// group g's rows by matrix map[g] of B (weights x k x n). If rows are gathered, row r of A is row
// a_rows[r] / a_divisor of the caller's A. Row r of the result is
//
//   D[r] = act(alpha * A[r] B + bias) * row_weight        or, gated, act(gate) * (linear + offset)
//
// and is stored at row r, stored at row d_rows[r] / d_divisor, or added to that row.
//
// Kernels read the groups' rows on the device when they execute. Every kernel derives them with
// grouped_rows(), so that all of them treat invalid numbers alike.
//
// A run launches those of these kernels that it needs, in this order: kGroupedClear for D,
// kGroupedFind, kGroupedCheck, kGroupedPack, the product, kGroupedClear for the list heads,
// kGroupedLink, kGroupedCombine. Each gives the same results with a grid of any size.
//
// Rows that are added in a fixed order are first stored in the workspace: the product's `d` is the
// workspace and its `out` is kRowsInPlace. kGroupedCombine then reads them as its A.

#include "kernels/arguments.h"
#include "kernels/common/activation.h"

namespace tw {

/// Bits of KernelEntry::variant in this family.
enum : u32 {
  kGroupedColumnB = 1,  // the kernel requires weights that are contiguous along k
  kGroupedMma = 2,      // any pitches and addresses, by mma.sync
  // Not a product. Converts the group of each row, at `groups`, into the begin and end of each
  // group, at `found`. A group whose rows are not contiguous gets begin 1 and end 0, which
  // grouped_rows() treats as a fault. A group without rows gets 0 and 0. Rows whose number is
  // neither -1 nor a group are added to `faults`. The grid is one block or one cluster.
  kGroupedFind = 4,
  // Not a product. Adds to `faults` each group with invalid rows, each invalid map entry and, for
  // the rows of groups that are multiplied, each entry of a_rows and d_rows that is neither -1 nor
  // leads to a row of the operand. `out` is kRowsByIndex if there are d_rows.
  kGroupedCheck = 8,
  // Not a product. Lists the rows that are added to each row of D. For each row r that is in a
  // multiplied group (grouped_has_row()) and has a row of D, links[r] receives heads[row] and
  // heads[row] becomes r. A row is linked once, even if it is in several groups. The links of all
  // other rows become kGroupedUnlinked. `out` is kRowsByIndex.
  kGroupedLink = 16,
  // Not a product. Overwrites each of the d_count rows of D (n columns) by the sum of its stored
  // rows, which are `a` (m x n, of D's type, a_pitch apart), in f32. Without `inverse` these are
  // the rows that kGroupedLink listed, in ascending order. With `inverse` they are the rows that
  // its d_divisor entries for the row of D give, in the order of the entries. An entry that is -1,
  // no row, or a row for which grouped_has_row() is false adds nothing. A sum of no rows is 0.
  kGroupedCombine = 32,
  kGroupedRanges = 64,  // groups are ranges of k; by mma.sync unless kGroupedWgmma is set too
  // Not a product. Sets the d_count heads to -1 if `heads` is not 0. Otherwise zeroes m lines of
  // d_stride bytes at d, d_pitch bytes apart; d and both sizes are multiples of 2 bytes.
  kGroupedClear = 128,
  kGroupedWgmma = 256,  // products on Hopper, of operands that tensor maps can address
  // Not a product. Copies the m rows of A that a_rows names to `d`, packed. A row whose index leads
  // to no row of A becomes zero. Rows and addresses are multiples of 16 bytes.
  kGroupedPack = 512,
  kGroupedScaled = 1024  // products of 8-bit types, launched with GroupedScaledArgs
};

/// How rows belong to groups: the values of tw_grouping.
enum : u32 {
  kGroupsAll = 0,      // one group of all rows
  kGroupsEnds = 1,     // [groups]: a group's end; it begins where the previous group ends
  kGroupsOffsets = 2,  // [groups + 1]: a group's begin and the next one's
  kGroupsPsum = 3,     // [groups]: a group's end; it begins at the end before, rounded up to a
                       // multiple of row_alignment
  kGroupsByRow = 4,    // [m]: each row's group, or -1
  kGroupsMasked = 5,   // [groups]: number of a group's rows; group g begins at g * group_rows
  kGroupsRanges = 6    // [groups]: ends, of ranges of k
};

/// Where rows of D go.
enum : unsigned char {
  kRowsInPlace = 0,  // row r to row r
  kRowsByIndex = 1,  // row r to row d_rows[r] / d_divisor
  kRowsAdded = 2     // to the same row, added by atomics
};

/// Bits of GroupedArgs::flags.
enum : u32 {
  kGroupedWeightByIndex = 1,  // row r's weight is row_weights[d_rows[r]], else row_weights[r]
  kGroupedInvariant = 2,      // no stream-K: a row's bits do not depend on other rows
  kGroupedFound = 4           // `groups` has a begin and an end (i32) for each group
};

inline constexpr u32 kGroupedMaxGroups = 1024;

/// The tile of the wgmma kernels: most rows of a group, columns of B, and k of a k block.
inline constexpr i32 kGroupedTileRows = 256;
inline constexpr i32 kGroupedTileColumns = 128;
inline constexpr i32 kGroupedTileK = 64;
/// Likewise of 8-bit types, whose sums of a k block need registers of their own.
inline constexpr i32 kGroupedScaledTileRows = 160;
inline constexpr i32 kGroupedScaledTileK = 128;

/// Threads of a block of a step. kGroupedFind may be launched with one cluster of up to 8 blocks,
/// which share the rows, instead of one block.
TW_KERNEL_HD constexpr u32 grouped_step_threads(u32 variant) {
  return variant == kGroupedFind ? 1024 : 256;
}
/// Blocks of kGroupedCombine for each row of D. A thread has eight columns.
TW_KERNEL_HD constexpr i32 grouped_combine_parts(i32 columns) {
  constexpr i32 kEach = static_cast<i32>(grouped_step_threads(kGroupedCombine)) * 8;
  return columns / kEach + (columns % kEach != 0 ? 1 : 0);
}
inline constexpr i32 kGroupedUnlinked = -2;  // in `links`: the row is in no list

/// Rows of the boxes of the maps in GroupedArgs::map_a: 128 down to 8. A tile's rows, rounded up to
/// a multiple of 8, are loaded in boxes of decreasing size.
inline constexpr int kGroupedBoxCount = 5;
TW_KERNEL_HD constexpr i32 grouped_box(int map) {
  return 128 >> map;
}

struct GroupedArgs {
  KernelMap map_b;                    // of the weights: {k, n, weights}, or {n, k, weights}
  KernelMap map_a[kGroupedBoxCount];  // {k, rows of A}
  u64 a;
  u64 b;
  u64 d;
  u64 bias;         // an element for each column of B and weight matrix; 0: none
  u64 groups;       // see kGroups... above
  u64 map;          // i32 [groups]: a group's weight matrix, or -1 to skip it; 0: matrix g
  u64 group_alpha;  // f32 [weights]; 0: none
  u64 a_rows;       // index of each row; 0: rows are not gathered
  u64 d_rows;       // index of each row; 0: rows stay in place
  u64 row_weights;  // f32; 0: none
  u64 faults;       // 64-bit counter of invalid numbers; 0: none
  u64 workspace;    // for stream-K; 0: no tile is divided along k
  u64 heads;        // i32 for each row of D: head of the list of rows that are added to it, or -1
  u64 links;        // i32 for each row: the next row of its list
  u64 counter_tag;  // as in GemmStreamArgs
  i64 a_pitch;      // elements from one row of A to the next
  i64 b_stride_k;
  i64 b_stride_n;
  i64 b_stride;  // from one weight matrix to the next
  i64 d_pitch;
  i64 d_stride;     // of kGroupsRanges: from one group's D to the next
  i64 bias_stride;  // from one weight matrix's bias to the next
  i32 m;            // rows of this run; of kGroupsRanges: rows of each D
  i32 n;            // columns of B; with a gate D has n / 2
  i32 k;            // of kGroupsRanges: the bound of all ranges
  i32 group_count;
  i32 weights;  // weight matrices
  i32 a_count;  // rows of the caller's A, if rows are gathered
  i32 d_count;  // rows of the caller's D, if rows are scattered
  i32 a_divisor;
  i32 d_divisor;
  i32 group_rows;     // of kGroupsMasked
  i32 row_alignment;  // of kGroupsPsum
  i32 band;           // as in GemmArgs
  i32 chain_blocks;   // as in GemmStreamArgs
  i32 memory_rate;    // memory bandwidth of the device, bytes per clock
  u32 partials;       // offset of the partial accumulators in the workspace
  float alpha;
  float beta;         // of kGroupsRanges: 0, or 1 to add to D
  float gate_limit;   // bounds the gate from above and the linear part on both sides; or infinity
  float gate_offset;  // added to the linear part
  float gate_slope;   // of kActSilu with a gate: g * sigmoid(slope * g)
  u32 flags;
  unsigned char kind;       // kGroups
  unsigned char wide;       // 1: `groups` has 8-byte numbers
  unsigned char wide_rows;  // 1: a_rows and d_rows have 8-byte numbers
  unsigned char out;        // kRows
  unsigned char bias_f32;   // as in GemmFullArgs
  unsigned char activation;
  unsigned char gate;      // kGate, as in GemmEpilogueArgs
  unsigned char host_in;   // DType
  unsigned char host_out;  // DType
  unsigned char reserved[3];
  u64 inverse;  // of kGroupedCombine: i32 [d_count, d_divisor], the row of each pair or -1; 0: none
  u64 found;    // of kGroupedFind: i32 [group_count, 2], the `groups` of later kernels
};
static_assert(__builtin_offsetof(GroupedArgs, a) == 768,
              "host and device must agree on the layout");
static_assert(__builtin_offsetof(GroupedArgs, inverse) == 1040, "as above");

TW_KERNEL_HD inline i64 grouped_number(u64 address, bool wide, i64 at) {
  return wide ? reinterpret_cast<const i64*>(address)[at]
              : static_cast<i64>(reinterpret_cast<const i32*>(address)[at]);
}

/// Rows `begin` to `end` - 1. `fault` says that the caller's numbers are invalid; the group is then
/// empty.
struct GroupRows {
  i32 begin, end;
  bool fault;
};

/// The rows of group `g`, or its range of k. `most` is the number of all rows, or of all k.
TW_KERNEL_HD inline GroupRows grouped_rows(const GroupedArgs& args, i32 g, i64 most) {
  i64 begin = 0, end = most;
  if (args.flags & kGroupedFound) {
    begin = reinterpret_cast<const i32*>(args.groups)[2 * g];
    end = reinterpret_cast<const i32*>(args.groups)[2 * g + 1];
  } else if (args.kind == kGroupsMasked) {
    const i64 rows = grouped_number(args.groups, args.wide, g);
    if (rows < 0 || rows > args.group_rows) return {0, 0, true};  // first, or the sum may overflow
    begin = static_cast<i64>(g) * args.group_rows;
    end = begin + rows;
  } else if (args.kind == kGroupsOffsets) {
    begin = grouped_number(args.groups, args.wide, g);
    end = grouped_number(args.groups, args.wide, g + 1);
  } else if (args.kind != kGroupsAll) {
    begin = g == 0 ? 0 : grouped_number(args.groups, args.wide, g - 1);
    end = grouped_number(args.groups, args.wide, g);
    if (args.kind == kGroupsPsum && begin >= 0 && begin <= most) {
      const i64 aligned =
          (begin + args.row_alignment - 1) / args.row_alignment * args.row_alignment;
      // An empty group may end where the one before does, without alignment.
      begin = end == begin ? begin : aligned;
    }
  }
  if (begin < 0 || begin > end || end > most) return {0, 0, true};
  return {static_cast<i32>(begin), static_cast<i32>(end), false};
}

/// A group's weight matrix, or a negative number if the group is skipped: -1 by the caller's wish,
/// -2 because its map entry is invalid.
TW_KERNEL_HD inline i32 grouped_weight(const GroupedArgs& args, i32 g) {
  if (args.map == 0) return g;
  const i32 weight = reinterpret_cast<const i32*>(args.map)[g];
  return weight >= -1 && weight < args.weights ? weight : -2;
}

/// The row of the caller's operand that an index leads to, or -1.
TW_KERNEL_HD inline i32 grouped_row(i64 index, i32 divisor, i32 count) {
  if (index < 0) return -1;
  const i64 row = divisor == 1 ? index : index / divisor;
  return row < count ? static_cast<i32>(row) : -1;
}
TW_KERNEL_HD inline i32 grouped_a_row(const GroupedArgs& args, i32 r) {
  if (args.a_rows == 0) return r;
  return grouped_row(grouped_number(args.a_rows, args.wide_rows, r), args.a_divisor, args.a_count);
}
TW_KERNEL_HD inline i32 grouped_d_row(const GroupedArgs& args, i32 r) {
  if (args.out == kRowsInPlace) return r;
  return grouped_row(grouped_number(args.d_rows, args.wide_rows, r), args.d_divisor, args.d_count);
}

/// Whether row r is in a group that is multiplied.
TW_KERNEL_HD inline bool grouped_has_row(const GroupedArgs& args, i32 r) {
  for (i32 g = 0; g < args.group_count; ++g) {
    const GroupRows rows = grouped_rows(args, g, args.m);
    if (r >= rows.begin && r < rows.end && grouped_weight(args, g) >= 0) return true;
  }
  return false;
}

/// Row r's weight. `inside` says that the row is written. With kGroupedWeightByIndex, d_rows[r] may
/// be invalid even then, because rows of an ordered addition stay in place; the weight is then 1.
TW_KERNEL_HD inline float grouped_row_weight(const GroupedArgs& args, i32 r, bool inside) {
  if (args.row_weights == 0 || !inside) return 1.0f;
  i64 at = r;
  if (args.flags & kGroupedWeightByIndex) {
    at = grouped_number(args.d_rows, args.wide_rows, r);
    if (grouped_row(at, args.d_divisor, args.d_count) < 0) return 1.0f;
  }
  return reinterpret_cast<const float*>(args.row_weights)[at];
}

/// A gated element: activation(gate) * (linear + gate_offset). The activation is a parameter, so
/// that a kernel can fix it for several elements.
TW_KERNEL_HD inline float grouped_gate(const GroupedArgs& args, u32 activation, float gate,
                                       float linear) {
  const float limit = args.gate_limit, slope = args.gate_slope;
  // All comparisons with NaN are false, so that NaN stays NaN.
  if (gate > limit) gate = limit;
  if (linear > limit) linear = limit;
  if (linear < -limit) linear = -limit;
  float activated = activate(activation, gate);
  if (activation == kActSilu && slope != 1.0f)
    activated = slope == 0.0f ? gate * 0.5f : activate(kActSilu, gate * slope) / slope;
  return activated * (linear + args.gate_offset);
}
TW_KERNEL_HD inline float grouped_gate(const GroupedArgs& args, float gate, float linear) {
  return grouped_gate(args, args.activation, gate, linear);
}

}  // namespace tw
