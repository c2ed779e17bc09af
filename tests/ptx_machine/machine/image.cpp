// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/machine/image.hpp"

#include <algorithm>
#include <map>

#include "tests/ptx_machine/machine/accumulators.hpp"
#include "tests/ptx_machine/program/opcodes.hpp"

namespace tw::ptx_machine {
namespace {

constexpr uint32_t kLanes = 32;

uint64_t align(uint64_t value, uint64_t to) {
  return (value + to - 1) / to * to;
}

class Linker {
 public:
  Linker(const Module& module, Image* image) : module_(module), image_(*image) {}

  void link(const Function& entry) {
    lay_out_shared();
    add(entry);
    for (size_t i = 0; i < placed_.size(); ++i) place(i);
    image_.scratch = static_cast<uint32_t>(align(image_.register_bytes, 256));
    image_.register_bytes = image_.scratch + 8 * kLanes;
  }

 private:
  struct Placed {
    const Function* function;
    uint32_t code, registers, predicates, lists, tables, calls, local, call_space, return_slot;
  };

  uint32_t add(const Function& function) {
    for (const Placed& placed : placed_)
      if (placed.function == &function) return static_cast<uint32_t>(&placed - placed_.data());
    Placed placed{};
    placed.function = &function;
    placed.code = static_cast<uint32_t>(image_.code.size());
    placed.registers = static_cast<uint32_t>(align(image_.register_bytes, 256));
    placed.return_slot =
        static_cast<uint32_t>(align(placed.registers + function.register_bytes, 128));
    placed.predicates = image_.predicates;
    placed.lists = static_cast<uint32_t>(image_.lists.size());
    placed.tables = static_cast<uint32_t>(image_.tables.size());
    placed.calls = static_cast<uint32_t>(image_.calls.size());
    placed.local = static_cast<uint32_t>(align(image_.local_bytes, 16));
    placed.call_space = static_cast<uint32_t>(align(image_.call_bytes, 16));
    image_.register_bytes = placed.return_slot + 4 * kLanes;
    image_.predicates += function.predicates;
    image_.local_bytes = placed.local + function.local_bytes;
    image_.call_bytes = placed.call_space + function.call_bytes;
    image_.code.insert(image_.code.end(), function.code.begin(), function.code.end());
    image_.lists.insert(image_.lists.end(), function.lists.begin(), function.lists.end());
    image_.tables.insert(image_.tables.end(), function.tables.begin(), function.tables.end());
    image_.calls.resize(image_.calls.size() + function.calls.size());
    lay_out_shared(function);
    placed_.push_back(placed);
    return static_cast<uint32_t>(placed_.size() - 1);
  }

  void lay_out_shared() {
    for (const Symbol& symbol : module_.symbols) module_shared_.push_back(take_shared(symbol));
  }
  void lay_out_shared(const Function& function) {
    for (const Symbol& symbol : function.symbols)
      if (symbol.space == Space::shared) shared_[&symbol] = take_shared(symbol);
  }
  /// Returns a symbol's offset; kNoSlot for dynamic shared memory, which follows all others.
  uint32_t take_shared(const Symbol& symbol) {
    if (symbol.bytes == 0) {
      dynamic_align_ = std::max<uint64_t>(dynamic_align_, symbol.align);
      return kNoSlot;
    }
    const uint64_t begin = align(image_.static_shared_end, symbol.align);
    image_.static_shared_end = static_cast<uint32_t>(begin + symbol.bytes);
    return static_cast<uint32_t>(begin);
  }

  void place(size_t index) {
    for (uint32_t i = 0; i < placed_[index].function->code.size(); ++i)
      place(index, &image_.code[placed_[index].code + i]);
    const Placed& placed = placed_[index];
    for (uint32_t i = 0; i < placed.function->lists.size(); ++i)
      move(placed, &image_.lists[placed.lists + i]);
    for (uint32_t i = 0; i < placed.function->tables.size(); ++i)
      for (uint32_t& target : image_.tables[placed.tables + i]) target += placed.code;
  }

  void place(size_t index, Instruction* in) {
    if (in->op == Op::call) place_call(index, in);  // may move placed_ and the code
    const Placed& placed = placed_[index];
    if (in->guarded) in->guard += placed.predicates;
    for (Operand& operand : in->operand) move(placed, &operand);
    if (in->op == Op::bra) in->target += placed.code;
    if (in->op == Op::brx) in->target += placed.tables;
    if (in->op == Op::ret) {
      in->number = placed.function->entry ? 0 : 1;
      in->target = placed.return_slot;
    }
  }

  void place_call(size_t index, Instruction*& in) {
    const size_t at = static_cast<size_t>(in - image_.code.data());
    const Function& caller = *placed_[index].function;
    const Call& call = caller.calls[in->target];
    const Function* callee = module_.find(call.callee);
    if (!callee) throw Error(module_.name + ": there is no function " + call.callee);
    if (callee->results != call.results.size() || callee->parameters != call.arguments.size())
      throw Error(module_.name + ": call of " + call.callee + ": wrong number of parameters");
    const Placed target = placed_[add(*callee)];
    in = &image_.code[at];  // add() has moved the code
    const Placed& placed = placed_[index];
    LinkedCall& linked = image_.calls[placed.calls + in->target];
    linked.target = target.code;
    linked.return_slot = target.return_slot;
    for (size_t i = 0; i < call.arguments.size() + call.results.size(); ++i) {
      const bool result = i < call.results.size();
      const Symbol& theirs = callee->symbols[i];
      const Symbol& ours =
          caller.symbols[result ? call.results[i] : call.arguments[i - call.results.size()]];
      const uint64_t there = target.call_space + theirs.offset,
                     here = placed.call_space + ours.offset;
      if (ours.bytes != theirs.bytes)
        throw Error(module_.name + ": call of " + call.callee + ": wrong parameter size");
      const uint32_t bytes = static_cast<uint32_t>(ours.bytes);
      if (result)
        linked.results.push_back({there, here, bytes});
      else
        linked.arguments.push_back({here, there, bytes});
    }
    in->target += placed.calls;
  }

  void move(const Placed& placed, Operand* operand) {
    switch (operand->kind) {
      case Operand::Kind::reg:
        operand->slot += placed.registers;
        break;
      case Operand::Kind::predicate:
        operand->slot += placed.predicates;
        break;
      case Operand::Kind::address:
        if (operand->slot != kNoSlot) operand->slot += placed.registers;
        break;
      case Operand::Kind::list:
      case Operand::Kind::map:
        operand->slot += placed.lists;
        break;
      case Operand::Kind::symbol:
        resolve(placed, operand);
        break;
      case Operand::Kind::symbol_address:
        resolve(placed, operand);
        operand->kind = Operand::Kind::address;
        operand->slot = kNoSlot;
        break;
      default:
        break;
    }
  }

  /// Adds the symbol's address to `value` and stores its space in `slot`.
  void resolve(const Placed& placed, Operand* operand) {
    const bool of_module = operand->slot >= kModuleSymbol;
    const Symbol& symbol = of_module ? module_.symbols[operand->slot - kModuleSymbol]
                                     : placed.function->symbols[operand->slot];
    uint64_t begin = symbol.offset;
    if (symbol.space == Space::shared) {
      begin = of_module ? module_shared_[operand->slot - kModuleSymbol] : shared_[&symbol];
      if (begin == kNoSlot) begin = dynamic();
    } else if (symbol.space == Space::call) {
      begin += kCallSpace + placed.call_space;
    } else if (symbol.space == Space::local) {
      begin += placed.local;
    }
    operand->value += static_cast<int64_t>(begin);
    operand->slot = static_cast<uint32_t>(symbol.space);
  }
  uint32_t dynamic() {
    image_.dynamic_shared = static_cast<uint32_t>(align(image_.static_shared_end, dynamic_align_));
    return image_.dynamic_shared;
  }

  const Module& module_;
  Image& image_;
  std::vector<Placed> placed_;
  std::vector<uint32_t> module_shared_;
  std::map<const Symbol*, uint32_t> shared_;
  uint64_t dynamic_align_ = 16;
};

}  // namespace

Image link(const Module& module, const std::string& kernel, FindHandler find) {
  Image image;
  image.module = &module;
  image.entry = module.find(kernel);
  if (!image.entry || !image.entry->entry)
    throw Error(module.name + ": there is no kernel " + kernel);
  Linker(module, &image).link(*image.entry);
  for (const Instruction& in : image.code) {
    const Run run = find(in);
    if (!run)
      throw Error(module.name + ":" + std::to_string(in.line) + ": the machine does not run " +
                  opcode_of(in.op).mnemonic + " of " + type_name(in.types[0]));
    image.steps.push_back({run, &in});
  }
  watch_accumulators(&image);
  return image;
}

}  // namespace tw::ptx_machine
