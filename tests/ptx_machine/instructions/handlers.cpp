// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/instructions/handlers.hpp"

#include "tests/ptx_machine/instructions/barriers.hpp"
#include "tests/ptx_machine/instructions/bulk.hpp"
#include "tests/ptx_machine/instructions/control.hpp"
#include "tests/ptx_machine/instructions/convert.hpp"
#include "tests/ptx_machine/instructions/floats.hpp"
#include "tests/ptx_machine/instructions/integers.hpp"
#include "tests/ptx_machine/instructions/lanes.hpp"
#include "tests/ptx_machine/instructions/matrices.hpp"
#include "tests/ptx_machine/instructions/memory.hpp"

namespace tw::ptx_machine {

Run find_handler(const Instruction& instruction) {
  for (const auto find :
       {integer_handler, float_handler, convert_handler, memory_handler, control_handler,
        lanes_handler, barrier_handler, bulk_handler, matrix_handler})
    if (const Run run = find(instruction)) return run;
  return nullptr;
}

}  // namespace tw::ptx_machine
