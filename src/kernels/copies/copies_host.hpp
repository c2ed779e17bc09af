// SPDX-License-Identifier: Apache-2.0
#pragma once
// The copies family's host bodies, named as their rows: CopiesArgs each.

#include "kernels/copies/copies.h"

namespace tw {

class HostEngine;

void copies_bulk_host(HostEngine& engine, const void* arguments);
void copies_plain_host(HostEngine& engine, const void* arguments);
void copies_skipped_host(HostEngine& engine, const void* arguments);

/// An entry of a list, where the host can read it.
u64 listed_address_host(u64 list, u64 pair);

}  // namespace tw
