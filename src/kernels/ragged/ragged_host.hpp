// SPDX-License-Identifier: Apache-2.0
#pragma once
// The ragged family's host bodies, named as their rows: RaggedArgs each.

#include "kernels/ragged/ragged.h"

namespace tw {

class HostEngine;

void ragged_bulk_host(HostEngine& engine, const void* arguments);
void ragged_plain_host(HostEngine& engine, const void* arguments);
void ragged_faults_host(HostEngine& engine, const void* arguments);

/// Offset number i, where the host can read it.
i64 ragged_offset_host(const RaggedArgs& args, u64 i);

}  // namespace tw
