// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/program/reader.hpp"

#include <algorithm>
#include <unordered_map>

#include "tests/ptx_machine/program/operands.hpp"

namespace tw::ptx_machine {
namespace {

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : scanner_(text, name) {
    module_.name = name;
  }

  Module read() {
    for (scanner_.begin_statement(); !scanner_.at_end(); scanner_.begin_statement())
      read_directive();
    return std::move(module_);
  }

 private:
  void read_directive() {
    const std::string_view directive = scanner_.spelling();
    if (directive == ".version" || directive == ".target") {
      scanner_.spelling();
    } else if (directive == ".address_size") {
      if (scanner_.integer() != 64) scanner_.fail("only 64-bit addresses are supported");
    } else if (directive == ".visible" || directive == ".extern" || directive == ".weak") {
      // Linkage does not matter to the machine.
    } else if (directive == ".shared") {
      module_.symbols.push_back(read_variable(Space::shared));
      scanner_.expect(';');
    } else if (directive == ".entry" || directive == ".func") {
      read_function(directive == ".entry");
    } else if (directive == ".file") {
      read_file();
    } else if (directive == ".section") {
      scanner_.skip_past('}');  // debug information
    } else {
      scanner_.fail("unknown directive " + std::string(directive));
    }
  }

  void read_file() {
    const size_t number = static_cast<size_t>(scanner_.integer());
    if (number > 0xffff) scanner_.fail("too many files");
    if (module_.files.size() <= number) module_.files.resize(number + 1);
    module_.files[number] = scanner_.text();
    scanner_.skip_line();
  }

  /// Reads a variable after its state space: alignment, type, name, number of elements.
  Symbol read_variable(Space space) {
    Symbol symbol;
    symbol.space = space;
    std::string_view word = scanner_.spelling();
    bool aligned = false;
    if (word == ".align") {
      symbol.align = static_cast<uint32_t>(scanner_.integer());
      aligned = true;
      word = scanner_.spelling();
    }
    const Type type = word.empty() ? Type::none : find_type(word.substr(1));
    if (type_bytes(type) == 0) scanner_.fail("unknown type of a variable");
    const uint64_t bytes = static_cast<uint64_t>(type_bytes(type));
    if (!aligned) symbol.align = static_cast<uint32_t>(bytes);
    symbol.name = scanner_.expect_name();
    symbol.bytes = bytes;
    if (scanner_.take('[')) {
      symbol.bytes =
          scanner_.number_is_next() ? bytes * static_cast<uint64_t>(scanner_.integer()) : 0;
      scanner_.expect(']');
    }
    return symbol;
  }

  /// Reads a list of parameters and lays them out from *end on. Returns their number.
  uint32_t read_parameters(Function* function, Space space, uint32_t* end) {
    if (!scanner_.take('(')) return 0;
    uint32_t count = 0;
    while (!scanner_.take(')')) {
      if (count > 0) scanner_.expect(',');
      if (scanner_.spelling() != ".param") scanner_.fail(".param expected");
      function->symbols.push_back(place(read_variable(space), end));
      ++count;
    }
    return count;
  }

  static Symbol place(Symbol symbol, uint32_t* end) {
    symbol.offset = (*end + symbol.align - 1) / symbol.align * symbol.align;
    *end = static_cast<uint32_t>(symbol.offset + symbol.bytes);
    return symbol;
  }

  void read_function(bool entry) {
    Function function;
    function.entry = entry;
    function.line = scanner_.line();
    uint32_t* end = entry ? &function.param_bytes : &function.call_bytes;
    const Space space = entry ? Space::param : Space::call;
    if (!entry) function.results = read_parameters(&function, space, end);
    function.name = scanner_.expect_name();
    function.parameters = read_parameters(&function, space, end);
    read_limits(&function);
    if (scanner_.take(';')) return;  // a declaration
    scanner_.expect('{');
    Body body(&scanner_, &module_, &function, &constants_, &spellings_);
    while (body.depth() > 0) {
      scanner_.begin_statement();
      if (scanner_.at_end()) scanner_.fail("the function has no end");
      if (!read_declaration(&body, &function)) body.read_statement();
    }
    function.defined = true;
    module_.functions.push_back(std::move(function));
  }

  void read_limits(Function* function) {
    while (scanner_.peek() == '.') {
      const std::string_view limit = scanner_.spelling();
      uint32_t product = 1;
      if (limit == ".noreturn") continue;
      do product *= static_cast<uint32_t>(scanner_.integer());
      while (scanner_.take(','));
      if (limit == ".maxntid")
        function->max_threads = product;
      else if (limit != ".minnctapersm" && limit != ".reqntid" && limit != ".maxnreg")
        scanner_.fail("unknown directive " + std::string(limit));
    }
  }

  /// Reads a directive inside a function. Returns false if none is next.
  bool read_declaration(Body* body, Function* function) {
    if (scanner_.peek() != '.') return false;
    const std::string_view directive = scanner_.spelling();
    if (directive == ".pragma") {
      scanner_.skip_past(';');
      return true;
    }
    if (directive == ".loc") {
      body->read_source_line();
      return true;
    }
    if (directive == ".reg") {
      body->read_registers();
    } else if (directive == ".shared") {
      body->add_symbol(read_variable(Space::shared));
    } else if (directive == ".local") {
      body->add_symbol(place(read_variable(Space::local), &function->local_bytes));
    } else if (directive == ".param") {
      body->add_symbol(place(read_variable(Space::call), &function->call_bytes));
    } else {
      scanner_.fail("unknown directive " + std::string(directive));
    }
    scanner_.expect(';');
    return true;
  }

  Scanner scanner_;
  Module module_;
  Constants constants_;
  SpellingCache spellings_;
};

}  // namespace

Module read_module(std::string_view text, const std::string& name) {
  return Reader(text, name).read();
}

}  // namespace tw::ptx_machine
