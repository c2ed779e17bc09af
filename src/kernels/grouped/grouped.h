// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch arguments of the grouped family, shared by the device, the host bodies and the tests.
//
// A grouped product multiplies each group of neighboring rows of A (m x k) by a weight matrix: the
// rows of group g by matrix group_map[g] of B (weight_count x k x n). If rows are gathered, row r
// of A is row a_rows[r] / a_divisor of the caller's A. Row r of the result is
//
//   D[r] = act(alpha * A[r] B + bias) * row_weight        or, gated, act(gate) * (linear + offset)
//
// and is stored at row r, stored at row d_rows[r] / d_divisor, or added to that row. With a gate,
// each element of D comes from two columns of B: from one it has `gate`, an element of alpha * A[r]
// B + bias, from the other `linear`. The columns are called gate columns and linear columns.
//
// Kernels read from device memory which rows each group has. Every kernel derives them with
// grouped_rows(), so that all of them treat invalid numbers alike.
//
// A step is a kernel that prepares the product or completes it. A run launches the kernels that it
// needs in this order: kGroupedClear for D, kGroupedFind, kGroupedCheck, kGroupedPack, the product,
// kGroupedClear for the list heads, kGroupedLink, kGroupedCombine. Each gives the same results with
// a grid of any size.
//
// If rows of D are sums in a fixed order, the product first stores its rows in the workspace: its
// `d` is the workspace and its `row_output` is kRowsInPlace. kGroupedCombine then reads the stored
// rows as its A.

#include "kernels/arguments.h"
#include "kernels/common/activation.h"

namespace tw {

/// Bits of KernelEntry::variant in this family.
enum : u32 {
  kGroupedColumnB = 1,  // the kernel requires weights that are contiguous along k
  kGroupedMma = 2,      // a product of operands with any pitches and addresses, by mma.sync
  // A step that converts the group number of each row, at `groups`, into the begin and end of each
  // group, at `found_groups`. A group whose rows are not contiguous gets begin 1 and end 0, which
  // grouped_rows() treats as invalid. A group without rows gets 0 and 0. invalid_count increases by
  // the number of rows whose group number is neither -1 nor a group's. The grid is one cluster,
  // which may be a single block.
  kGroupedFind = 4,
  // A step that adds to invalid_count the number of groups with invalid rows, of invalid map
  // entries and, in groups that are multiplied, of invalid entries of a_rows and d_rows. An entry
  // is valid if it is -1 or leads to a row of the operand. row_output is kRowsByIndex if there are
  // d_rows.
  kGroupedCheck = 8,
  // A step that lists the rows that are added to each row of D. For each row r that is in a
  // multiplied group (grouped_has_row()) and has a row of D, links[r] receives heads[row] and
  // heads[row] becomes r. A row is linked once, even if it is in several groups. The links of all
  // other rows become kGroupedUnlinked. row_output is kRowsByIndex.
  kGroupedLink = 16,
  // A step that overwrites each of the d_count rows of D (n columns) by a sum, in f32, of rows of
  // the product. The product has stored them at `a` (m x n, of D's type, a_pitch apart). Without
  // `inverse` the sum has the rows that kGroupedLink listed, in ascending order. With `inverse` it
  // has the rows that the d_divisor entries for the row of D name, in the order of the entries. An
  // entry adds nothing if it is -1 or no row, or if grouped_has_row() is false for its row. A sum
  // of no rows is 0. With kGroupedAddsToD each sum begins with the old contents of the row of D,
  // and a row of D to which no row is added is not written.
  kGroupedCombine = 32,
  kGroupedRanges = 64,  // groups are ranges of k; by mma.sync unless kGroupedWgmma is set too
  // A step that sets the d_count heads to -1 if `heads` is not 0. Otherwise it zeroes m rows at
  // `d`. In this step d_stride is the size of a row and d_pitch the distance between rows, both in
  // bytes; d, d_stride and d_pitch are multiples of 2.
  kGroupedClear = 128,
  kGroupedWgmma = 256,  // a product, on Hopper, of operands that tensor maps can address
  // A step that copies the m rows of A that a_rows names to `d`, without gaps between them. A row
  // whose index leads to no row of A becomes zero. Rows and addresses are multiples of 16 bytes.
  kGroupedPack = 512,
  kGroupedNarrow = 1024  // a product of 8-bit types, launched with GroupedScaledArgs
};

/// How GroupedArgs::groups tells which rows each group has: the values of tw_grouping. Brackets
/// give the elements of the array.
enum : u32 {
  kGroupsOne = 0,      // one group of all rows
  kGroupsEnds = 1,     // [group_count]: each group's end; it begins where the previous one ends
  kGroupsOffsets = 2,  // [group_count + 1]: each group's begin, and the end of the last one
  kGroupsPsum = 3,     // [group_count]: each group's end; it begins where the previous one ends,
                       // rounded up to a multiple of row_alignment
  kGroupsByRow = 4,    // [m]: each row's group, or -1
  kGroupsMasked = 5,   // [group_count]: each group's number of rows; it begins at g * group_rows
  kGroupsRanges = 6    // [group_count]: as kGroupsEnds, but groups are ranges of k, not of rows
};

/// Where a product writes its rows.
enum : unsigned char {
  kRowsInPlace = 0,         // row r to row r of D
  kRowsByIndex = 1,         // row r to row d_rows[r] / d_divisor of D
  kRowsAddedAtomically = 2  // row r is added, by atomics, to row d_rows[r] / d_divisor of D
};

/// Bits of GroupedArgs::flags.
enum : u32 {
  kGroupedRowWeightByIndex = 1,  // row r's weight is row_weights[d_rows[r]], else row_weights[r]
  kGroupedInvariant = 2,         // no stream-K: a row's bits do not depend on other rows
  kGroupedFound = 4,             // `groups` has the begins and ends (i32) that kGroupedFind wrote
  kGroupedFast = 8,              // 8-bit floats: the tensor cores may accumulate over all of k
  kGroupedAddsToD = 16           // for kGroupedCombine
};

inline constexpr u32 kGroupedMaxGroups = 1024;

/// The tile of the wgmma kernels.
inline constexpr i32 kGroupedTileRows = 256;     // rows of a group, at most
inline constexpr i32 kGroupedTileColumns = 128;  // columns of B
inline constexpr i32 kGroupedTileK = 64;         // elements of k in a k block
/// The tile for 8-bit types. It has fewer rows, because the accumulators of the current k block
/// need registers besides those of the whole tile.
inline constexpr i32 kGroupedScaledTileRows = 160;
inline constexpr i32 kGroupedScaledTileK = 128;

/// Threads of a block of a step. The cluster of kGroupedFind has up to 8 blocks, which divide the
/// rows among them.
TW_KERNEL_HD constexpr u32 grouped_step_threads(u32 variant) {
  return variant == kGroupedFind ? 1024 : 256;
}
/// Blocks of kGroupedCombine for each row of D. A thread has eight columns.
TW_KERNEL_HD constexpr i32 grouped_combine_blocks(i32 columns) {
  constexpr i32 kBlockColumns = static_cast<i32>(grouped_step_threads(kGroupedCombine)) * 8;
  return columns / kBlockColumns + (columns % kBlockColumns != 0 ? 1 : 0);
}
inline constexpr i32 kGroupedUnlinked = -2;  // in `links`: the row is in no list

/// Each tensor map in GroupedArgs::map_a has boxes of grouped_box_rows(map) rows: 128 down to 8. A
/// tile's rows, rounded up to a multiple of 8, are loaded in boxes of decreasing size.
inline constexpr int kGroupedBoxCount = 5;
TW_KERNEL_HD constexpr i32 grouped_box_rows(int map) {
  return 128 >> map;
}

struct GroupedArgs {
  KernelMap map_b;                    // of the weights: {k, n, weights}, or {n, k, weights}
  KernelMap map_a[kGroupedBoxCount];  // {k, rows of A}
  u64 a;
  u64 b;
  u64 d;
  u64 bias;           // an element for each column of B and weight matrix; 0: none
  u64 groups;         // the array that kGroups... above describes
  u64 group_map;      // i32 [group_count]: a group's weight matrix, -1 skips it; 0: group g has g
  u64 group_alpha;    // f32 [weight_count]: a factor besides alpha; 0: none
  u64 a_rows;         // for each row, an index into A (see a_divisor); 0: rows are not gathered
  u64 d_rows;         // for each row, an index into D (see d_divisor); 0: rows stay in place
  u64 row_weights;    // f32; 0: none
  u64 invalid_count;  // 64-bit counter of invalid numbers; 0: none
  u64 workspace;      // for stream-K; 0: no tile is divided along k
  u64 heads;          // i32 for each row of D: head of the list of rows that are added to it, or -1
  u64 links;          // i32 for each row: the next row of its list
  u64 counter_tag;    // as in GemmStreamArgs
  i64 a_pitch;        // elements from one row of A to the next
  i64 b_stride_k;
  i64 b_stride_n;
  i64 b_stride;  // from one weight matrix to the next
  i64 d_pitch;
  i64 d_stride;     // with kGroupsRanges: from one group's D to the next
  i64 bias_stride;  // from one weight matrix's bias to the next
  i32 m;            // rows of this run; with kGroupsRanges: rows of each D
  i32 n;            // columns of B; with a gate D has n / 2
  i32 k;            // with kGroupsRanges: all ranges end at or below it
  i32 group_count;
  i32 weight_count;  // weight matrices
  i32 a_count;       // rows of the caller's A, if rows are gathered
  i32 d_count;       // rows of the caller's D, if rows are scattered
  i32 a_divisor;
  i32 d_divisor;
  i32 group_rows;       // with kGroupsMasked: rows from one group's begin to the next one's
  i32 row_alignment;    // with kGroupsPsum: groups begin at multiples of it
  i32 band;             // as in GemmArgs
  i32 chain_blocks;     // as in GemmStreamArgs
  i32 memory_rate;      // memory bandwidth of the device, bytes per clock
  u32 partials_offset;  // of the partial accumulators in the workspace
  float alpha;
  float beta;         // with kGroupsRanges: 0, or 1 to add to D
  float gate_limit;   // bounds the gate from above and the linear part on both sides; or infinity
  float gate_offset;  // added to the linear part
  float gate_slope;   // a gate g with kActSilu is activated as g * sigmoid(gate_slope * g)
  u32 flags;
  unsigned char grouping;    // a kGroups... value
  unsigned char groups_i64;  // 1: `groups` has 8-byte numbers
  unsigned char rows_i64;    // 1: a_rows and d_rows have 8-byte numbers
  unsigned char row_output;  // a kRows... value
  unsigned char bias_type;   // as in GemmEpilogueArgs
  unsigned char activation;
  unsigned char gate;      // a kGate... value, as in GemmEpilogueArgs
  unsigned char host_in;   // DType
  unsigned char host_out;  // DType
  unsigned char reserved[3];
  u64 inverse;       // for kGroupedCombine: i32 [d_count, d_divisor], rows to add or -1; 0: none
  u64 found_groups;  // for kGroupedFind: i32 [group_count, 2], the `groups` of later kernels
};
static_assert(__builtin_offsetof(GroupedArgs, a) == 768,
              "host and device must agree on the layout");
static_assert(__builtin_offsetof(GroupedArgs, inverse) == 1040, "as above");

/// Element i of an array of the caller's, which has numbers of type i64 or i32.
TW_KERNEL_HD inline i64 grouped_index(u64 address, bool is_i64, i64 i) {
  return is_i64 ? reinterpret_cast<const i64*>(address)[i]
                : static_cast<i64>(reinterpret_cast<const i32*>(address)[i]);
}

/// Rows `begin` to `end` - 1. If the caller's numbers are invalid, the group is empty.
struct GroupRows {
  i32 begin, end;
  bool invalid;
};

/// The rows of group `g`, or its range of k. `extent` is the number of all rows, or k.
TW_KERNEL_HD inline GroupRows grouped_rows(const GroupedArgs& args, i32 g, i64 extent) {
  i64 begin = 0, end = extent;
  if (args.flags & kGroupedFound) {
    begin = reinterpret_cast<const i32*>(args.groups)[2 * g];
    end = reinterpret_cast<const i32*>(args.groups)[2 * g + 1];
  } else if (args.grouping == kGroupsMasked) {
    const i64 rows = grouped_index(args.groups, args.groups_i64, g);
    if (rows < 0 || rows > args.group_rows) return {0, 0, true};  // else begin + rows may overflow
    begin = static_cast<i64>(g) * args.group_rows;
    end = begin + rows;
  } else if (args.grouping == kGroupsOffsets) {
    begin = grouped_index(args.groups, args.groups_i64, g);
    end = grouped_index(args.groups, args.groups_i64, g + 1);
  } else if (args.grouping != kGroupsOne) {
    begin = g == 0 ? 0 : grouped_index(args.groups, args.groups_i64, g - 1);
    end = grouped_index(args.groups, args.groups_i64, g);
    if (args.grouping == kGroupsPsum && begin >= 0 && begin <= extent) {
      const i64 aligned =
          (begin + args.row_alignment - 1) / args.row_alignment * args.row_alignment;
      // An empty group may end where the previous group ends, even if that is not aligned.
      begin = end == begin ? begin : aligned;
    }
  }
  if (begin < 0 || begin > end || end > extent) return {0, 0, true};
  return {static_cast<i32>(begin), static_cast<i32>(end), false};
}

/// The index of a group's weight matrix, or a negative number if the group is skipped: -1 if its
/// map entry is -1, or -2 if its map entry is invalid.
TW_KERNEL_HD inline i32 grouped_weight_index(const GroupedArgs& args, i32 g) {
  if (args.group_map == 0) return g;
  const i32 weight = reinterpret_cast<const i32*>(args.group_map)[g];
  return weight >= -1 && weight < args.weight_count ? weight : -2;
}

/// The row of the caller's operand that an index leads to, or -1.
TW_KERNEL_HD inline i32 grouped_row(i64 index, i32 divisor, i32 count) {
  if (index < 0) return -1;
  const i64 row = divisor == 1 ? index : index / divisor;
  return row < count ? static_cast<i32>(row) : -1;
}
TW_KERNEL_HD inline i32 grouped_a_row(const GroupedArgs& args, i32 r) {
  if (args.a_rows == 0) return r;
  return grouped_row(grouped_index(args.a_rows, args.rows_i64, r), args.a_divisor, args.a_count);
}
TW_KERNEL_HD inline i32 grouped_d_row(const GroupedArgs& args, i32 r) {
  if (args.row_output == kRowsInPlace) return r;
  return grouped_row(grouped_index(args.d_rows, args.rows_i64, r), args.d_divisor, args.d_count);
}

/// Whether row r is in a group that is multiplied.
TW_KERNEL_HD inline bool grouped_has_row(const GroupedArgs& args, i32 r) {
  for (i32 g = 0; g < args.group_count; ++g) {
    const GroupRows rows = grouped_rows(args, g, args.m);
    if (r >= rows.begin && r < rows.end && grouped_weight_index(args, g) >= 0) return true;
  }
  return false;
}

/// Row r's weight; 1 for a row that is not written. A row that is stored in place for
/// kGroupedCombine is written even if d_rows[r] is invalid; its weight is then 1, too.
TW_KERNEL_HD inline float grouped_row_weight(const GroupedArgs& args, i32 r, bool is_written) {
  if (args.row_weights == 0 || !is_written) return 1.0f;
  i64 index = r;
  if (args.flags & kGroupedRowWeightByIndex) {
    index = grouped_index(args.d_rows, args.rows_i64, r);
    if (grouped_row(index, args.d_divisor, args.d_count) < 0) return 1.0f;
  }
  return reinterpret_cast<const float*>(args.row_weights)[index];
}

/// A gated element: activation(gate) * (linear + gate_offset). The activation is a parameter, so
/// that a kernel can make it a constant.
TW_KERNEL_HD inline float grouped_gate(const GroupedArgs& args, u32 activation, float gate,
                                       float linear) {
  const float limit = args.gate_limit, slope = args.gate_slope;
  // Comparisons with NaN are false, so that NaN stays NaN.
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
