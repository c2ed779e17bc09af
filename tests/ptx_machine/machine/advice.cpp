// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/machine/advice.hpp"

#include <algorithm>

#include "tests/ptx_machine/program/opcodes.hpp"

namespace tw::ptx_machine {
namespace {

const Instruction* find(const Image& image, uint32_t line) {
  const auto found = std::find_if(image.code.begin(), image.code.end(),
                                  [&](const Instruction& in) { return in.line == line; });
  return found == image.code.end() ? nullptr : &*found;
}

/// The wait for the asynchronous work that an instruction begins; nullptr if it begins none.
const char* wait_for(Op op) {
  switch (op) {
    case Op::bulk_load:
    case Op::tensor_load:
    case Op::tensor_gather4:
    case Op::st_async:
      return "a wait for the mbarrier that it completes";
    case Op::bulk_store:
    case Op::bulk_reduce:
    case Op::tensor_store:
    case Op::tensor_scatter4:
    case Op::tensor_reduce:
      return "cp.async.bulk.wait_group, without .read for what it writes,";
    case Op::wgmma:
      return "wgmma.wait_group";
    case Op::cp_async_ca:
    case Op::cp_async_cg:
      return "cp.async.wait_group or cp.async.mbarrier.arrive";
    default:
      return nullptr;
  }
}

const char* barrier_for(Distance distance) {
  switch (distance) {
    case Distance::warp:
      return "bar.warp.sync";
    case Distance::cta:
      return "bar.sync or an mbarrier";
    case Distance::cluster:
      return "the cluster's barrier or an mbarrier";
    case Distance::grid:
      return "a release and an acquire at .gpu scope";
    default:
      return "griddepcontrol.wait";
  }
}

}  // namespace

std::string place_of(const Image& image, uint32_t line) {
  const Instruction* in = find(image, line);
  std::string out = image.module->name + ":" + std::to_string(line);
  if (in) out += std::string(" (") + opcode_of(in->op).mnemonic + ")";
  if (in && in->source_line != 0) out += " from " + image.module->source_of(*in);
  return out;
}

Op op_at(const Image& image, uint32_t line) {
  const Instruction* in = find(image, line);
  return in ? in->op : Op::add;
}

std::string remedy(Op other, Distance distance) {
  const char* wait = wait_for(other);
  if (!wait || distance == Distance::launch) return barrier_for(distance);
  if (distance == Distance::warp) return wait;
  return std::string(wait) + " and then " + barrier_for(distance);
}

}  // namespace tw::ptx_machine
