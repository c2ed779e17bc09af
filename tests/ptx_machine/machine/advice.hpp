// SPDX-License-Identifier: Apache-2.0
#pragma once
// Wording of reports: the place of an instruction, and what would order two accesses.

#include <string>

#include "tests/ptx_machine/machine/image.hpp"

namespace tw::ptx_machine {

/// The smallest group that contains the threads of both accesses.
enum class Distance : uint8_t { warp, cta, cluster, grid, launch };

/// Describes the instruction at a PTX line, with its source line if the PTX has one.
std::string place_of(const Image& image, uint32_t line);
Op op_at(const Image& image, uint32_t line);

/// The wait or fence that would order the access of instruction `other` before a later access.
std::string remedy(Op other, Distance distance);

}  // namespace tw::ptx_machine
