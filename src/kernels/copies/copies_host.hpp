// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the plan and the host bodies of the copies family.

#include "kernels/copies/copies.h"

namespace tw {

/// Reads an entry of an address list in memory that the host can access.
u64 listed_address_host(u64 list, u64 pair);

}  // namespace tw
