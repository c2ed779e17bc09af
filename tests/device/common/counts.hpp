// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many cases and runs device tests have: many on a GPU, few on slower devices and under tools
// that slow kernels down.

#include <algorithm>
#include <cstdlib>
#include <string>

#include "doctest_main.hpp"

namespace tw::test {

inline bool on_gpu() {
  return std::string(test_device()) == "cuda";
}

/// The number in an environment variable, at least 1, or `otherwise`.
inline int count_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::max(1, std::atoi(text)) : otherwise;
}

/// TW_EVERY=n runs every n-th case.
inline int case_step() {
  return count_from("TW_EVERY", 1);
}

/// How many cases to run: `all` on a GPU, `few` elsewhere, and with TW_EVERY=n an n-th of them.
inline int cases_here(int all, int few) {
  return std::max(1, (on_gpu() ? all : few) / case_step());
}

/// Runs per case on a GPU: 1000, or TW_RUNS.
inline int repeat_runs() {
  return count_from("TW_RUNS", 1000);
}

}  // namespace tw::test
