// SPDX-License-Identifier: Apache-2.0
#pragma once
// What plans and the copies family's host bodies share.

#include "kernels/copies/copies.h"

namespace tw {

/// An entry of a list, where the host can read it.
u64 listed_address_host(u64 list, u64 pair);

}  // namespace tw
