// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/machine/accumulators.hpp"

#include <algorithm>

#include "tests/ptx_machine/machine/advice.hpp"

namespace tw::ptx_machine {
namespace {

constexpr uint32_t kRegister = 4 * kLanes;

/// Calls visit(index in Image::accumulators) for each 32-bit register of an operand.
template <class Visit>
void each_register(const Image& image, const Operand& operand, Visit visit) {
  if (operand.kind == Operand::Kind::reg && operand.bytes >= 4) visit(operand.slot / kRegister);
  if (operand.kind != Operand::Kind::list) return;
  for (uint32_t i = 0; i < operand.count; ++i) {
    const Operand& item = image.lists[operand.slot + i];
    if (item.kind == Operand::Kind::reg && item.bytes >= 4) visit(item.slot / kRegister);
  }
}

bool is_product(Op op) {
  return op == Op::wgmma || op == Op::wgmma_tf32 || op == Op::wgmma_eights ||
         op == Op::wgmma_integers;
}

bool touches(const Image& image, const Instruction& in) {
  bool found = false;
  for (const Operand& operand : in.operand)
    each_register(image, operand, [&](uint32_t place) { found |= image.accumulators[place] != 0; });
  return found;
}

void touch(Warp& w, const Instruction& in, uint32_t place, bool writes) {
  const uint32_t number = w.image->accumulators[place];
  if (number == 0) return;
  Accumulator& accumulator = w.accumulators[number - 1];
  if (accumulator.product > w.products_ended)
    w.fail("accesses an accumulator that " + place_of(*w.image, accumulator.line) +
           " may still write; wgmma.wait_group would order them");
  const Touch how = writes && in.op != Op::mov ? Touch::write : Touch::move;
  if (how < accumulator.touch) return;
  accumulator.touch = how;
  accumulator.touch_line = in.line;
}

/// The handler of a wrapped instruction: checks, then runs the original handler. An instruction
/// writes its first operand and reads the others.
void touched(Warp& w, const Instruction& in) {
  if (w.judge())
    for (const Operand& operand : in.operand)
      each_register(*w.image, operand,
                    [&](uint32_t place) { touch(w, in, place, &operand == in.operand); });
  w.image->watched[w.pc - 1](w, in);
}

}  // namespace

void watch_accumulators(Image* image) {
  image->accumulators.assign(image->register_bytes / kRegister + 1, 0);
  for (const Instruction& in : image->code)
    if (is_product(in.op))
      each_register(*image, in.operand[0], [&](uint32_t place) {
        if (image->accumulators[place] == 0)
          image->accumulators[place] = ++image->accumulator_count;
      });
  if (image->accumulator_count == 0) return;
  image->watched.assign(image->steps.size(), nullptr);
  for (size_t i = 0; i < image->steps.size(); ++i) {
    const Instruction& in = image->code[i];
    if (is_product(in.op) || !touches(*image, in)) continue;
    image->watched[i] = image->steps[i].run;
    image->steps[i].run = touched;
  }
}

void accumulators_begin(Warp& w, const Instruction& wgmma, uint64_t number) {
  each_register(*w.image, wgmma.operand[0], [&](uint32_t place) {
    Accumulator& accumulator = w.accumulators[w.image->accumulators[place] - 1];
    if (accumulator.touch == Touch::write)
      w.fail("wgmma adds into a register without a wgmma.fence since it was touched: by " +
             (accumulator.touch_line == 0 ? "nothing yet"
                                          : place_of(*w.image, accumulator.touch_line)) +
             "; wgmma.fence would order them");
    if (accumulator.touch == Touch::move)
      w.letter("wgmma adds into a register that has been moved or read since the last wgmma.fence");
    accumulator.product = number;
    accumulator.line = wgmma.line;
  });
}

void accumulators_fence(Warp& w) {
  for (Accumulator& accumulator : w.accumulators) accumulator.touch = Touch::none;
}

void accumulators_end(Warp& w, uint64_t number) {
  w.products_ended = std::max(w.products_ended, number);
}

}  // namespace tw::ptx_machine
