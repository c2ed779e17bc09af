// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device that records what each launch changes in memory. It wraps the PTX machine, or a GPU that
// reports the machine's DeviceInfo, so that plans are the same on both.
//
// A launch's key is a hash of its kernel, grid, arguments and all memory before it. Its outcome is
// a hash of its changes to memory. Both hash an address as allocation and offset. Equal keys have
// equal outcomes, unless the kernel adds floating-point numbers in no fixed order or uses
// approximate functions.

#include <memory>

#include "runtime/device.hpp"

namespace tw::ptx_machine {

/// Opens the device of TW_TEST_DEVICE=ptx: the machine, controlled by
///   TW_OUTCOMES=FILE         compare launches with the outcomes recorded in FILE; a launch with
///                            another outcome fails, one without a record passes
///   TW_OUTCOMES_OF=NAME      use only the outcomes of this test, and count those that do not occur
///   TW_RECORD_OUTCOMES=FILE  append a line per launch for outcomes.py
///   TW_RECORD_ON=cuda        record on the first GPU instead of the machine
Status open_test_machine(std::shared_ptr<Device>* out);

}  // namespace tw::ptx_machine
