// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scatter family's host bodies, named as their rows. They take ScatterArgs unless they say
// otherwise.

namespace tw {

class HostEngine;

/// Rows through shared memory by counted bulk copies.
void scatter_bulk_host(HostEngine& engine, const void* arguments);
/// Four rows at once through the tensor map, by the model of the copy engine; FourArgs.
void scatter_four_host(HostEngine& engine, const void* arguments);
/// Rows of the table by threads, the packed side of a stage by a counted bulk copy.
void scatter_staged_host(HostEngine& engine, const void* arguments);
/// Row by row, these two: what differs on a GPU is how bytes get into registers.
void scatter_shift_host(HostEngine& engine, const void* arguments);
void scatter_plain_host(HostEngine& engine, const void* arguments);
/// Reductions: through shared memory, by the model of the copy engine, and by elements.
void scatter_bulk_reduce_host(HostEngine& engine, const void* arguments);
void scatter_reduce_host(HostEngine& engine, const void* arguments);
/// Sums of equal rows of a tile first; SortedArgs.
void scatter_sorted_host(HostEngine& engine, const void* arguments);
/// The last of equal indices.
void scatter_clear_host(HostEngine& engine, const void* arguments);
void scatter_mark_host(HostEngine& engine, const void* arguments);
/// Deterministic sums; OrderArgs.
void scatter_count_host(HostEngine& engine, const void* arguments);
void scatter_scan_host(HostEngine& engine, const void* arguments);
void scatter_place_host(HostEngine& engine, const void* arguments);
void scatter_segment_host(HostEngine& engine, const void* arguments);
void scatter_join_host(HostEngine& engine, const void* arguments);
/// FewArgs.
void scatter_few_host(HostEngine& engine, const void* arguments);
/// OutsideArgs.
void scatter_outside_host(HostEngine& engine, const void* arguments);

}  // namespace tw
