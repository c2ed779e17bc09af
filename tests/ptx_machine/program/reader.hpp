// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads PTX as nvcc writes it, with the inline assembly of the kernels in it.

#include <string>
#include <string_view>

#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

/// Throws Error, which names line and text, where anything is not known. `name` is for messages.
Module read_module(std::string_view text, const std::string& name);

}  // namespace tw::ptx_machine
