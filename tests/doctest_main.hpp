// SPDX-License-Identifier: Apache-2.0
#pragma once
// doctest, and the two things that our main adds: skipping aloud, and the device under test.

#include <doctest/doctest.h>

namespace tw::test {

/// Says that the running test case cannot run here and why; return from it right after. A program
/// whose test cases were all skipped exits 77, Meson's "skipped", so that nothing that did not run
/// counts as passed.
void skip(const char* reason);

/// "host", "cuda" or "ptx": on which device bodies for any device run (TW_TEST_DEVICE, host by
/// default). The last is the PTX machine, which few programs have.
const char* test_device();

}  // namespace tw::test
