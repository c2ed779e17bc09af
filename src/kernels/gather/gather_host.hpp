// SPDX-License-Identifier: Apache-2.0
#pragma once
// The gather family's host bodies, named as their rows. All take GatherArgs.

namespace tw {

class HostEngine;

/// Rows through shared memory by counted bulk copies.
void gather_bulk_host(HostEngine& engine, const void* arguments);
/// Row by row, all of them: what differs on a GPU is how bytes get into registers.
void gather_shift_host(HostEngine& engine, const void* arguments);
void gather_narrow_host(HostEngine& engine, const void* arguments);
void gather_plain_host(HostEngine& engine, const void* arguments);

}  // namespace tw
