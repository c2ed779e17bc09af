// SPDX-License-Identifier: Apache-2.0
// read_cubin_info() on a cubin built byte by byte, and on damaged ones.
#include <cstring>
#include <string>
#include <vector>

#include "doctest_main.hpp"
#include "kernels/image/cubin_info.hpp"

namespace tw::test {
namespace {

using Bytes = std::vector<uint8_t>;

template <class T>
void put(Bytes* bytes, size_t offset, T value) {
  if (bytes->size() < offset + sizeof value) bytes->resize(offset + sizeof value);
  std::memcpy(bytes->data() + offset, &value, sizeof value);
}

constexpr size_t kSections = 64;  // offset of the section headers, behind the file header
constexpr uint32_t kStringTable = 3, kSymbolTable = 2, kNoBits = 8, kInfo = 0x70000000;

/// Appends a section's bytes to the file and writes its header at `index`.
void add_section(Bytes* cubin, size_t index, uint32_t name, uint32_t type, const Bytes& bytes) {
  const size_t header = kSections + index * 64;
  put<uint32_t>(cubin, header, name);
  put<uint32_t>(cubin, header + 4, type);
  put<uint64_t>(cubin, header + 24, cubin->size());
  put<uint64_t>(cubin, header + 32, bytes.size());
  cubin->insert(cubin->end(), bytes.begin(), bytes.end());
}

/// An attribute of format 4: its number, then two words.
Bytes attribute(uint8_t number, uint32_t first, uint32_t second) {
  Bytes out;
  put<uint8_t>(&out, 0, 4);
  put<uint8_t>(&out, 1, number);
  put<uint16_t>(&out, 2, 8);
  put<uint32_t>(&out, 4, first);
  put<uint32_t>(&out, 8, second);
  return out;
}

// The section numbers; section 0 holds the names.
enum { kNames, kSymbols, kOfAll, kOfKernel, kCount };

/// A cubin of kernel `k` (symbol 1), which uses 40 registers.
Bytes make_cubin() {
  const std::string names("\0.symtab\0.nv.info\0.nv.info.k\0k\0", 31);
  Bytes cubin(kSections + kCount * 64);
  std::memcpy(cubin.data(), "\177ELF\2\1", 6);
  put<uint64_t>(&cubin, 40, kSections);
  put<uint16_t>(&cubin, 60, kCount);
  put<uint16_t>(&cubin, 62, kNames);
  Bytes symbols(2 * 24);
  put<uint32_t>(&symbols, 24, static_cast<uint32_t>(names.size() - 2));
  put<uint8_t>(&symbols, 24 + 4, 2);  // a function
  add_section(&cubin, kNames, 0, kStringTable, Bytes(names.begin(), names.end()));
  add_section(&cubin, kSymbols, 1, kSymbolTable, symbols);
  add_section(&cubin, kOfAll, 9, kInfo, attribute(0x2f, 1, 40));
  add_section(&cubin, kOfKernel, 18, kInfo, attribute(0x17, 0, 8u << 16));
  return cubin;
}

bool read(const Bytes& cubin, CubinInfo* info) {
  return read_cubin_info(cubin.data(), cubin.size(), "k", info);
}

TEST_CASE("a cubin says its registers and parameters") {
  CubinInfo info;
  REQUIRE(read(make_cubin(), &info));
  CHECK(info.registers == 40);
  CHECK(info.param_count == 1);
  CHECK(info.param_offset == 8);
  CHECK(!read_cubin_info(make_cubin().data(), make_cubin().size(), "other", &info));
}

TEST_CASE("attributes in a section that claims to have no bytes are not read") {
  for (const size_t section : {size_t{kOfAll}, size_t{kOfKernel}}) {
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 40}) {
      Bytes cubin = make_cubin();
      put<uint32_t>(&cubin, kSections + section * 64 + 4, kNoBits);
      if (offset > 0) put<uint64_t>(&cubin, kSections + section * 64 + 24, offset);
      CubinInfo info;
      CHECK(!read(cubin, &info));
    }
  }
}

}  // namespace
}  // namespace tw::test
