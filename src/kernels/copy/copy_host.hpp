// SPDX-License-Identifier: Apache-2.0
#pragma once
// The copy family's host bodies, named as their rows.

namespace tw {

class HostEngine;

/// CopyBoxArgs: each box through shared memory by the model of the copy engine.
void copy_boxes_host(HostEngine& engine, const void* arguments);
/// CopyRowArgs: each chunk through shared memory by counted bulk copies.
void copy_rows_host(HostEngine& engine, const void* arguments);
/// CopyPermuteArgs: each tile through shared memory, element by element.
void copy_permute_host(HostEngine& engine, const void* arguments);
/// CopyPieceArgs: piece by piece; shifted ones put together from aligned vectors, as the kernels
/// do.
void copy_pieces_host(HostEngine& engine, const void* arguments);
void copy_shift_host(HostEngine& engine, const void* arguments);
/// CopyTransposeArgs: tile by tile, in units of vectors (two of them) or of elements.
void copy_transpose_host(HostEngine& engine, const void* arguments);
void copy_transpose_small_host(HostEngine& engine, const void* arguments);
void copy_transpose_plain_host(HostEngine& engine, const void* arguments);
/// CopyInterleaveArgs: a warp's groups after the other's; from planes, and to planes.
void copy_interleave_host(HostEngine& engine, const void* arguments);
void copy_deinterleave_host(HostEngine& engine, const void* arguments);
/// CopyStridedArgs: unit by unit.
void copy_strided_host(HostEngine& engine, const void* arguments);
/// CopyFillArgs: likewise.
void copy_fill_host(HostEngine& engine, const void* arguments);

}  // namespace tw
