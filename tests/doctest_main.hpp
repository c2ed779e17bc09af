// SPDX-License-Identifier: Apache-2.0
#pragma once
// doctest with two additions of our main(): skipped test cases, and the device under test.

#include <doctest/doctest.h>

namespace tw::test {

/// Reports that the current test case cannot run here, and why; the test case must then return. A
/// program whose test cases all skip exits with 77, which Meson counts as skipped, not as passed.
void skip(const char* reason);

/// The device on which device-independent test cases run (TW_TEST_DEVICE): "host" (default), "cuda"
/// or "ptx". "ptx" is the PTX machine, which only some programs link.
const char* test_device();

}  // namespace tw::test
