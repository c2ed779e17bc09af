// SPDX-License-Identifier: Apache-2.0
#pragma once
// A device that takes down what each launch changes in memory: of the PTX machine, or of a GPU that
// says of itself what the machine does, so that plans are the same on both.
//
// A launch is known by its key: its kernel, grid and arguments and all memory before it. What it
// has changed is its outcome. Addresses count in both by the allocation that they lie in. Launches
// of one key have one outcome, unless the kernel adds up floating-point numbers in no fixed order
// or uses approximate functions.

#include <memory>

#include "runtime/device.hpp"

namespace tw::ptx_machine {

/// The device of TW_TEST_DEVICE=ptx: the machine, which
///   TW_OUTCOMES=FILE         holds against the outcomes recorded there: a launch with another one
///                            fails. Launches without a record are not compared.
///   TW_OUTCOMES_OF=NAME      of that test alone; recorded launches that do not come are counted
///   TW_RECORD_OUTCOMES=FILE  writes down what launches change, a line each (outcomes.py)
///   TW_RECORD_ON=cuda        with the last one: the first GPU in the machine's place
Status open_test_machine(std::shared_ptr<Device>* out);

}  // namespace tw::ptx_machine
