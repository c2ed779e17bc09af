// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of a run besides the one that moves rows: they count indices outside the table, write
// zeros for columns outside the table, find the last of equal indices, and make deterministic sums.

#include <cstdint>

#include "ops/rows/rows_setup.hpp"

namespace tw {

/// The fields of tw_rows_args.
struct RowsRun {
  uint64_t table = 0;
  uint64_t index = 0;
  uint64_t packed = 0;
  int64_t count = -1;
  uint64_t weights = 0;
  uint64_t device_count = 0;
  uint64_t invalid_count = 0;
  uint64_t workspace = 0;
  uint64_t workspace_bytes = 0;
};

/// Offsets of the regions of the workspace; all 0 if the plan needs none.
struct RowsWorkspace {
  uint64_t order[2] = {};
  uint64_t digit_counts = 0;
  uint64_t partials = 0;
  uint64_t bytes = 0;
  uint32_t blocks = 0;  // blocks per sort pass
  uint32_t passes = 0;
  uint64_t segments = 0;
};

namespace rows {

Status prepare_steps(RowsSetup* setup);
RowsWorkspace make_workspace(const RowsSetup& setup);
Status count_outside(const RowsSetup& setup, Stream& stream, const RowsRun& run,
                     const RowsArgs& args);
Status fill_margins(const RowsSetup& setup, Stream& stream, const RowsRun& run,
                    const RowsArgs& args);
Status find_winners(const RowsSetup& setup, Stream& stream, const RowsArgs& args);
Status add_in_order(const RowsSetup& setup, const RowsWorkspace& workspace, Stream& stream,
                    const RowsRun& run, const RowsArgs& args);

}  // namespace rows
}  // namespace tw
