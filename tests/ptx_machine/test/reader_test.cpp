// SPDX-License-Identifier: Apache-2.0
// The reader decodes PTX, and refuses anything unknown with its line and text.
#include "tests/ptx_machine/program/reader.hpp"

#include <set>

#include "kernels/table/kernel_table.hpp"
#include "tests/ptx_machine/device/machine_device.hpp"
#include "tests/ptx_machine/test/lab.hpp"

using namespace tw;
using namespace tw::ptx_machine;
using namespace tw::test;

namespace {

/// The reader's error for a body, or an empty string.
std::string refusal(const std::string& body) {
  try {
    read_module(kernel_text(body), "test.ptx");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// Images with kernels that the machine can run.
std::set<std::string> images() {
  std::set<std::string> out;
  const FeatureMask here = feature::tma | feature::mma | feature::wgmma;
  for (const Family family : {
#define TW_FAMILY(name, value) Family::name,
#include "kernels/families.inc"
#undef TW_FAMILY
       })
    for (const KernelEntry& entry : kernel_entries(family))
      if (entry.image && (entry.feature & here) != 0) out.insert(entry.image);
  return out;
}

}  // namespace

TEST_CASE("reader: the PTX of every image is decoded, and the machine has code for all of it") {
  std::set<std::string> missing;
  size_t instructions = 0;
  for (const std::string& image : images()) {
    const std::string path = find_ptx(image);
    if (path.empty()) {
      missing.insert(image);
      continue;
    }
    INFO(path);
    const ptx_machine::Module module = read_module(read_file(path), path);
    for (const Function& function : module.functions)
      if (function.entry) instructions += link(module, function.name, find_handler).code.size();
  }
  if (instructions == 0) return skip("no PTX of the kernels");
  MESSAGE(instructions << " instructions");
  // Prebuilt images come without PTX.
  for (const std::string& image : missing) MESSAGE("no PTX of " << image);
}

TEST_CASE("reader: registers, lists, constants, labels and tables have their places") {
  const ptx_machine::Module module = read_module(
      kernel_text(
          "{\n.reg .b32 a;\n.reg .pred p;\nsetp.ne.b32 p, %r1, -1;\n@!p bra AGAIN;\nAGAIN:\n"
          "mov.f32 %f1, 0f3F800000;\nTABLE: .branchtargets AGAIN, OUT;\n"
          "brx.idx.uni %r1, TABLE;\nOUT:\nmov.b64 {a, _}, %d4;\n}\n"
          "ld.shared::cta.v4.u32 {%r3, _, %r4, %r5}, [fixed+16];"),
      "test.ptx");
  const Function* function = module.find("test");
  REQUIRE(function);
  CHECK(function->entry);
  CHECK(function->param_bytes == 16);
  const size_t first = function->code.size() - 7;
  const Instruction* code = &function->code[first];
  CHECK(code[0].op == Op::setp);
  CHECK(code[0].word(Class::comparison) == Word::ne);
  CHECK(code[0].operand[2].kind == Operand::Kind::constant);
  CHECK(static_cast<uint32_t>(code[0].operand[2].value) == 0xffffffffu);
  CHECK(code[1].guarded);
  CHECK(code[1].guard_negated);
  CHECK(code[1].target == first + 2);
  CHECK(code[2].operand[1].value == 0x3f800000);
  CHECK(code[3].op == Op::brx);
  CHECK(function->tables[code[3].target] ==
        std::vector<uint32_t>{uint32_t(first + 2), uint32_t(first + 4)});
  CHECK(code[4].operand[0].kind == Operand::Kind::list);
  CHECK(function->lists[code[4].operand[0].slot + 1].kind == Operand::Kind::sink);
  CHECK(code[5].word(Class::vector) == Word::v4);
  CHECK(code[5].word(Class::space) == Word::shared_cta);
  CHECK(code[5].operand[1].value == 16);
  CHECK(code[6].op == Op::ret);
}

TEST_CASE("reader: unknown PTX is refused with line and text") {
  struct Bad {
    const char *body, *reason;
  };
  for (const Bad& bad : {
           Bad{"frobnicate.b32 %r1, %r2;", "unknown instruction frobnicate.b32"},
           {"add.sat.rn.s32 %r1, %r1, %r2;", "unknown instruction add.sat.rn.s32"},
           {"add.u8 %r1, %r1, %r2;", "unknown instruction add.u8"},
           {"ld.global.L1::evict_first.u32 %r1, [%d0];",
            "unknown instruction ld.global.L1::evict_first"},
           {"wgmma.mma_async.sync.aligned.m64n8k16.f32.s8.s8 {%f1}, %d1, %d2, 1, 1, 1, 0, 0;",
            "unknown instruction wgmma"},
           {"add.s32 %r1, %r1;", "an operand is missing"},
           {"add.s32 %r1, %r1, %r2, %r3;", "';' expected"},
           {"add.s32 %r1, %r1, %d2;", "the size of register %d2 does not match"},
           {"add.s32 %r1, %r1, %x2;", "undefined register %x2"},
           {"add.s32 5, %r1, %r2;", "a register expected"},
           {"ld.global.v2.u32 {%r1, %r2, %r3}, [%d0];", "wrong number of registers"},
           {"bra NOWHERE;", "undefined label NOWHERE"},
           {"HERE:\nHERE:\nret;", "the label is defined twice"},
           {"add.f32 %f1, %f1, 0d3FF0000000000000;", "the size of the constant does not match"},
           {".sreg .b32 x;", "unknown directive .sreg"},
       }) {
    INFO(std::string(bad.body));
    const std::string said = refusal(bad.body);
    INFO(said);
    CHECK(says(said, bad.reason));
    CHECK(says(said, "test.ptx:"));
  }
  // The error names the line where the statement begins.
  CHECK(
      says(refusal("mov.u32 %r1, 1;\n  add.s32 %r1,\n   %r1, %q;"), ":25: undefined register %q:"));
}

TEST_CASE("reader: an instruction without a handler is refused with its line") {
  const ptx_machine::Module module =
      read_module(kernel_text("add.rz.f32 %f1, %f1, %f1;"), "test.ptx");
  CHECK_THROWS_WITH_AS(link(module, "test", find_handler),
                       "test.ptx:24: the machine does not run add of f32", Error);
  CHECK_THROWS_AS(link(module, "other", find_handler), Error);
}
