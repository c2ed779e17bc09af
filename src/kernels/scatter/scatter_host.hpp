// SPDX-License-Identifier: Apache-2.0
#pragma once
// The scatter family's host bodies, named as their rows. All take ScatterArgs.

namespace tw {

class HostEngine;

/// Rows through shared memory by counted bulk copies.
void scatter_bulk_host(HostEngine& engine, const void* arguments);
/// Row by row, all of them: what differs on a GPU is how bytes get into registers.
void scatter_shift_host(HostEngine& engine, const void* arguments);
void scatter_narrow_host(HostEngine& engine, const void* arguments);
void scatter_plain_host(HostEngine& engine, const void* arguments);

}  // namespace tw
