// SPDX-License-Identifier: Apache-2.0
// A cubin is an ELF64 file with EM_CUDA. Section `.nv.info` has attributes of all functions by
// symbol number, `.nv.info.NAME` has those of one kernel, and the size of `.nv.shared.NAME` is its
// static shared memory.
#include "kernels/image/cubin_info.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace tw {
namespace {

struct Section {
  uint32_t name, type;
  uint64_t flags, address, offset, size;
  uint32_t link, info;
  uint64_t alignment, entry;
};
static_assert(sizeof(Section) == 64);

constexpr uint32_t kSymbols = 2, kNoBits = 8;

class Cubin {
 public:
  Cubin(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  bool open() {
    if (size_ < 64 || std::memcmp(data_, "\177ELF\2\1", 6) != 0) return false;
    std::memcpy(&table_, data_ + 40, sizeof table_);
    std::memcpy(&count_, data_ + 60, sizeof count_);
    std::memcpy(&names_, data_ + 62, sizeof names_);
    return holds(table_, uint64_t{count_} * sizeof(Section)) && names_ < count_;
  }
  bool holds(uint64_t offset, uint64_t length) const {
    return offset <= size_ && length <= size_ - offset;
  }
  Section section(unsigned index) const {
    Section out;
    std::memcpy(&out, data_ + table_ + uint64_t{index} * sizeof out, sizeof out);
    return out;
  }
  /// The zero-terminated name at `offset` of a string table; empty if the offset is out of range.
  std::string_view text(const Section& strings, uint32_t offset) const {
    if (!holds(strings.offset, strings.size) || offset >= strings.size) return {};
    const auto* begin = reinterpret_cast<const char*>(data_ + strings.offset + offset);
    return {begin, strnlen(begin, static_cast<size_t>(strings.size - offset))};
  }
  bool find(std::string_view name, Section* out) const {
    const Section strings = section(names_);
    for (unsigned i = 0; i < count_; ++i) {
      *out = section(i);
      if (text(strings, out->name) == name)
        return out->type == kNoBits || holds(out->offset, out->size);
    }
    return false;
  }
  /// Index of a function's symbol, or -1.
  int64_t symbol(std::string_view name) const {
    Section symbols;
    if (!find(".symtab", &symbols) || symbols.type != kSymbols || symbols.link >= count_) return -1;
    const Section strings = section(symbols.link);
    for (uint64_t i = 0; i < symbols.size / 24; ++i) {
      uint32_t offset;
      std::memcpy(&offset, data_ + symbols.offset + i * 24, sizeof offset);
      if (text(strings, offset) == name && data_[symbols.offset + i * 24 + 4] % 16 == 2)
        return static_cast<int64_t>(i);
    }
    return -1;
  }
  /// Calls visit(attribute, value, bytes of value) for each attribute of an info section. False if
  /// the section is damaged.
  template <class Visit>
  bool attributes(const Section& info, Visit&& visit) const {
    if (info.type == kNoBits || !holds(info.offset, info.size)) return false;
    const uint8_t* at = data_ + info.offset;
    const uint8_t* const end = at + info.size;
    while (end - at >= 4) {
      uint16_t word;
      std::memcpy(&word, at + 2, sizeof word);
      // Attributes of format 4 have their size here, the others a value of two bytes.
      const uint8_t* value = at[0] == 4 ? at + 4 : at + 2;
      const ptrdiff_t bytes = at[0] == 4 ? word : 2;
      if (end - value < bytes) return false;
      visit(at[1], value, static_cast<size_t>(bytes));
      at = value + bytes;
    }
    return at == end;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  uint64_t table_ = 0;
  uint16_t count_ = 0, names_ = 0;
};

// NVIDIA's numbers of attributes (EIATTR).
constexpr uint8_t kMaxThreads = 0x05, kReqThreads = 0x10, kFrameSize = 0x11, kParam = 0x17,
                  kParamBytes = 0x19, kRegisters = 0x2f;

// Bytes of each block that the system reserves from 9.0 on; the driver does not count them.
constexpr uint64_t kReservedShared = 1024;

uint32_t word_of(const uint8_t* value, size_t bytes, size_t index) {
  uint32_t out = 0;
  if (bytes >= (index + 1) * 4) std::memcpy(&out, value + index * 4, 4);
  return out;
}

}  // namespace

bool read_cubin_info(const uint8_t* data, size_t size, const char* kernel, CubinInfo* out) {
  *out = CubinInfo{};
  Cubin cubin(data, size);
  if (!cubin.open()) return false;
  const int64_t symbol = cubin.symbol(kernel);
  const std::string name = kernel;
  Section all, own, shared;
  if (symbol < 0 || !cubin.find(".nv.info", &all) || !cubin.find(".nv.info." + name, &own))
    return false;
  bool good = cubin.attributes(all, [&](uint8_t attribute, const uint8_t* value, size_t bytes) {
    if (bytes != 8 || word_of(value, bytes, 0) != static_cast<uint64_t>(symbol)) return;
    const auto number = static_cast<int32_t>(word_of(value, bytes, 1));
    if (attribute == kRegisters) out->registers = number;
    if (attribute == kFrameSize) out->local_bytes = number;
  });
  good &= cubin.attributes(own, [&](uint8_t attribute, const uint8_t* value, size_t bytes) {
    if (attribute == kMaxThreads || attribute == kReqThreads) {
      const uint32_t threads =
          word_of(value, bytes, 0) * word_of(value, bytes, 1) * word_of(value, bytes, 2);
      out->max_threads = static_cast<int32_t>(threads);
    } else if (attribute == kParam) {
      const auto offset = static_cast<int32_t>(word_of(value, bytes, 1) >> 16);
      out->param_offset = out->param_count == 0 ? offset : std::min(out->param_offset, offset);
      ++out->param_count;
    } else if (attribute == kParamBytes && bytes == 2) {
      uint16_t number;
      std::memcpy(&number, value, sizeof number);
      out->param_bytes = number;
    }
  });
  if (cubin.find(".nv.shared." + name, &shared))
    out->static_smem_bytes =
        static_cast<int32_t>(shared.size - std::min<uint64_t>(shared.size, kReservedShared));
  return good && out->registers > 0;
}

}  // namespace tw
