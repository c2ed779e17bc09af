// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host side of the grouped wgmma kernels: which products they support, their tensor maps, and their
// workspace for tiles that stream-K divides among several blocks.

#include <cstdint>
#include <string>

#include "kernels/grouped/grouped.h"
#include "ops/grouped/grouped_problem.hpp"
#include "runtime/device.hpp"

namespace tw {

/// The reason why the wgmma kernels do not support a product, and what they would support, as far
/// as the caller can change it. Empty if they support it on a device that has these kernels, if
/// addresses are aligned.
std::string grouped_wgmma_refusal(const Device& device, const GroupedProblem& problem);

/// Dynamic shared memory of a block, in bytes.
uint32_t grouped_wgmma_smem(const GroupedProblem& problem);

/// Whether every run needs a workspace, because k needs several accumulation chains, which are
/// added up there.
bool grouped_needs_workspace(const GroupedProblem& problem);

/// Whether the wgmma kernel may divide tiles along k among blocks.
bool grouped_may_divide(const GroupedProblem& problem);

/// Bytes of the workspace for stream-K in a grid of `blocks` blocks; 0 if the kernel uses none.
uint64_t grouped_stream_k_bytes(const GroupedProblem& problem, uint32_t blocks);

/// Bytes for a packed copy of gathered rows; 0 if the product kernel gathers them itself. With few
/// rows in a group (expected_rows, or else the plan's m divided by the number of weight matrices)
/// it does.
uint64_t grouped_packed_bytes(const GroupedProblem& problem);

/// Fills in the arguments that do not depend on a run. The tensor maps get address 0.
Status prepare_grouped_wgmma(Device& device, const GroupedProblem& problem, uint32_t blocks,
                             GroupedArgs* args);

/// Copies the prepared arguments into a run's, and puts the run's addresses and rows into the maps.
void bind_grouped_wgmma(const GroupedProblem& problem, const GroupedArgs& prepared,
                        GroupedArgs* args);

}  // namespace tw
