// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the grouped wgmma kernels need besides addresses: which products they take, their tensor
// maps, and memory for tiles that several blocks share along k.

#include <cstdint>

#include "kernels/grouped/grouped.h"
#include "ops/grouped/grouped_problem.hpp"
#include "runtime/device.hpp"

namespace tw {

/// Why the wgmma kernels do not take a product, even on a device that has them and with addresses
/// that are multiples of 16 bytes; nullptr if they do.
const char* grouped_wgmma_refusal(const Device& device, const GroupedProblem& problem);

/// Bytes of shared memory of a block.
uint32_t grouped_wgmma_smem(const GroupedProblem& problem);

/// Whether a sum over k is made of several accumulation chains, which are added up in the
/// workspace: runs then need one.
bool grouped_needs_workspace(const GroupedProblem& problem);

/// Bytes of the workspace for grids of `blocks` blocks; 0 if runs do not use one.
uint64_t grouped_wgmma_workspace(const GroupedProblem& problem, uint32_t blocks);

/// Bytes for a contiguous copy of the rows that a product gathers; 0 if the tiles gather them.
uint64_t grouped_packed_bytes(const GroupedProblem& problem);

/// Fills in maps with address 0, and what follows from the description and the number of blocks.
Status prepare_grouped_wgmma(Device& device, const GroupedProblem& problem, uint32_t blocks,
                             GroupedArgs* args);

/// Adds what was prepared to a run's arguments, with the run's addresses and rows in the maps.
void bind_grouped_wgmma(const GroupedProblem& problem, const GroupedArgs& prepared,
                        GroupedArgs* args);

}  // namespace tw
