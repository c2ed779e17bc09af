// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses PTX as nvcc writes it, including the kernels' inline assembly.

#include <string>
#include <string_view>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

/// Throws Error with line and text at anything unknown. `name` identifies the module in messages.
Module read_module(std::string_view text, const std::string& name);

}  // namespace tw::ptx_machine
