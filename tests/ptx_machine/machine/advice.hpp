// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a report says beside the two accesses: where an instruction stands, and what would order it.

#include <string>

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// Of the two threads.
enum class Distance : uint8_t { warp, cta, cluster, grid, launch };

/// The instruction at a line of the PTX, with the line of its source where the PTX has it.
std::string place_of(const Image& image, uint32_t line);
Op op_at(const Image& image, uint32_t line);

/// The wait or fence that would order what instruction `other` does before what comes later.
std::string remedy(Op other, Distance distance);

}  // namespace tw::ptx_machine
