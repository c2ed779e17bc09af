// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gather family's host bodies, named as their rows.

namespace tw {

class HostEngine;

/// Rows through shared memory by counted bulk copies. All but the last two take GatherArgs.
void gather_bulk_host(HostEngine& engine, const void* arguments);
/// Four rows at once through the tensor map, by the model of the copy engine; FourArgs.
void gather_four_host(HostEngine& engine, const void* arguments);
/// Rows of the table by threads, the packed side of a stage by a counted bulk copy.
void gather_staged_host(HostEngine& engine, const void* arguments);
/// Row by row, these two: what differs on a GPU is how bytes get into registers.
void gather_shift_host(HostEngine& engine, const void* arguments);
void gather_plain_host(HostEngine& engine, const void* arguments);
/// Weighted rows and sums of rows, through shared memory and by elements.
void gather_sum_host(HostEngine& engine, const void* arguments);
void gather_sum_plain_host(HostEngine& engine, const void* arguments);
/// MarginArgs.
void gather_margin_host(HostEngine& engine, const void* arguments);
/// FewArgs.
void gather_few_host(HostEngine& engine, const void* arguments);
/// OutsideArgs.
void gather_outside_host(HostEngine& engine, const void* arguments);

}  // namespace tw
