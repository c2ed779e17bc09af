// SPDX-License-Identifier: Apache-2.0
#pragma once
// The prefetch family's host bodies, named as their rows. They count what they would ask for.

namespace tw {

class HostEngine;

/// PrefetchBoxArgs.
void prefetch_boxes_host(HostEngine& engine, const void* arguments);
/// PrefetchRowArgs.
void prefetch_rows_host(HostEngine& engine, const void* arguments);

}  // namespace tw
