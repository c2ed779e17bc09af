// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/unpack.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/image/entropy.hpp"

namespace tw {
namespace zstd {
namespace {

constexpr uint32_t kMagic = 0xFD2FB528;
constexpr size_t kMaxBlock = 128 << 10;

// Length codes: a length is `base` plus the value of `bits` extra bits.
struct LengthCode {
  uint32_t base;
  uint8_t bits;
};
constexpr LengthCode kLiteralLengths[36] = {
    {0, 0},     {1, 0},      {2, 0},      {3, 0},     {4, 0},   {5, 0},     {6, 0},     {7, 0},
    {8, 0},     {9, 0},      {10, 0},     {11, 0},    {12, 0},  {13, 0},    {14, 0},    {15, 0},
    {16, 1},    {18, 1},     {20, 1},     {22, 1},    {24, 2},  {28, 2},    {32, 3},    {40, 3},
    {48, 4},    {64, 6},     {128, 7},    {256, 8},   {512, 9}, {1024, 10}, {2048, 11}, {4096, 12},
    {8192, 13}, {16384, 14}, {32768, 15}, {65536, 16}};
constexpr LengthCode kMatchLengths[53] = {
    {3, 0},     {4, 0},     {5, 0},      {6, 0},      {7, 0},     {8, 0},   {9, 0},     {10, 0},
    {11, 0},    {12, 0},    {13, 0},     {14, 0},     {15, 0},    {16, 0},  {17, 0},    {18, 0},
    {19, 0},    {20, 0},    {21, 0},     {22, 0},     {23, 0},    {24, 0},  {25, 0},    {26, 0},
    {27, 0},    {28, 0},    {29, 0},     {30, 0},     {31, 0},    {32, 0},  {33, 0},    {34, 0},
    {35, 1},    {37, 1},    {39, 1},     {41, 1},     {43, 2},    {47, 2},  {51, 3},    {59, 3},
    {67, 4},    {83, 4},    {99, 5},     {131, 7},    {259, 8},   {515, 9}, {1027, 10}, {2051, 11},
    {4099, 12}, {8195, 13}, {16387, 14}, {32771, 15}, {65539, 16}};

// The predefined distributions, which a block may use instead of its own.
constexpr int16_t kLiteralDefault[36] = {4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1,  1,  2,  2,
                                         2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1};
constexpr int16_t kOffsetDefault[29] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 1,  1,  1,  1,  1, 1,
                                        1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1};
constexpr int16_t kMatchDefault[53] = {1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                       1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,  1,  1,  1,  1,  1,  1, 1,
                                       1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1};

/// Codes of one of a sequence's three numbers: literal length, offset, match length.
struct CodeKind {
  const int16_t* probabilities;
  int symbols, default_log, max_log;
};
constexpr CodeKind kKinds[3] = {
    {kLiteralDefault, 36, 6, 9}, {kOffsetDefault, 29, 5, 8}, {kMatchDefault, 53, 6, 9}};
constexpr int kMaxOffsetCode = 31;

class Frame {
 public:
  Frame(uint8_t* out, size_t size) : out_(out), size_(size) {}
  bool unpack(Input input);

 private:
  bool header(Input* input);
  bool block(Input input);
  bool literals(Input* input);
  bool sequences(Input input);
  bool table(int kind, uint64_t mode, Input* input);
  bool copy_literals(size_t count);
  bool copy_match(size_t offset, size_t length);

  uint8_t* out_;
  size_t size_;
  size_t at_ = 0;
  HuffmanTable huffman_;
  FseTable tables_[3];
  bool has_table_[3] = {};
  uint64_t repeats_[3] = {1, 4, 8};
  uint8_t literal_bytes_[kMaxBlock];
  Input literals_;
};

bool Frame::header(Input* input) {
  uint64_t magic = 0, descriptor = 0, ignored = 0;
  if (!input->number(4, &magic) || magic != kMagic || !input->number(1, &descriptor)) return false;
  const bool single = descriptor >> 5 & 1;
  static constexpr size_t kDictionaryBytes[4] = {0, 1, 2, 4};
  const size_t size_bytes = descriptor >> 6 == 0 ? size_t{single} : size_t{1} << (descriptor >> 6);
  uint64_t dictionary = 0, content = size_;
  if (descriptor & 8) return false;  // reserved
  if (!single && !input->number(1, &ignored)) return false;
  if (!input->number(kDictionaryBytes[descriptor & 3], &dictionary) || dictionary != 0)
    return false;
  if (size_bytes > 0 && !input->number(size_bytes, &content)) return false;
  if (size_bytes == 2) content += 256;
  return content == size_;
}

bool Frame::unpack(Input input) {
  if (!header(&input)) return false;
  for (bool last = false; !last;) {
    uint64_t head = 0;
    Input part;
    if (!input.number(3, &head)) return false;
    last = head & 1;
    const auto size = static_cast<size_t>(head >> 3);
    switch (head >> 1 & 3) {
      case 0:  // raw bytes
        if (!input.take(size, &part) || size > size_ - at_) return false;
        std::copy_n(part.data, size, out_ + at_);
        at_ += size;
        break;
      case 1:  // one byte, repeated
        if (!input.take(1, &part) || size > size_ - at_) return false;
        std::fill_n(out_ + at_, size, part.data[0]);
        at_ += size;
        break;
      case 2:
        if (!input.take(size, &part) || !block(part)) return false;
        break;
      default:
        return false;
    }
  }
  return at_ == size_;
}

bool Frame::block(Input input) {
  return literals(&input) && sequences(input);
}

bool Frame::literals(Input* input) {
  if (input->size == 0) return false;
  const unsigned kind = input->data[0] & 3, format = input->data[0] >> 2 & 3;
  uint64_t head = 0;
  Input part;
  if (kind < 2) {
    // Raw, or one byte repeated. The size has 5, 12 or 20 bits.
    static constexpr size_t kHeadBytes[4] = {1, 2, 1, 3};
    if (!input->number(kHeadBytes[format], &head)) return false;
    const auto size = static_cast<size_t>(head >> (format % 2 ? 4 : 3));
    if (size > kMaxBlock || !input->take(kind == 0 ? size : 1, &part)) return false;
    if (kind == 0)
      std::copy_n(part.data, size, literal_bytes_);
    else
      std::fill_n(literal_bytes_, size, part.data[0]);
    literals_ = {literal_bytes_, size};
    return true;
  }
  static constexpr size_t kHeadBytes[4] = {3, 3, 4, 5};
  static constexpr int kSizeBits[4] = {10, 10, 14, 18};
  if (!input->number(kHeadBytes[format], &head)) return false;
  const uint64_t mask = (uint64_t{1} << kSizeBits[format]) - 1;
  const auto size = static_cast<size_t>(head >> 4 & mask);
  const auto packed = static_cast<size_t>(head >> (4 + kSizeBits[format]) & mask);
  if (size > kMaxBlock || !input->take(packed, &part)) return false;
  if (kind == 2 ? !huffman_.read(&part) : huffman_.bits == 0) return false;
  literals_ = {literal_bytes_, size};
  if (format == 0) return huffman_.decode(part, literal_bytes_, size);
  // Four streams; all but the last decode to `each` bytes.
  const size_t each = (size + 3) / 4;
  uint64_t sizes[3];
  for (uint64_t& bytes : sizes)
    if (!part.number(2, &bytes)) return false;
  if (3 * each > size) return false;
  Input streams[4];
  for (int i = 0; i < 3; ++i)
    if (!part.take(sizes[i], &streams[i])) return false;
  streams[3] = part;
  for (size_t i = 0; i < 4; ++i)
    if (!huffman_.decode(streams[i], literal_bytes_ + i * each, i < 3 ? each : size - 3 * each))
      return false;
  return true;
}

bool Frame::table(int kind, uint64_t mode, Input* input) {
  FseTable& table = tables_[kind];
  const CodeKind& codes = kKinds[kind];
  const int max_symbol = kind == 1 ? kMaxOffsetCode : codes.symbols - 1;
  uint64_t symbol = 0;
  if (mode == 3) return has_table_[kind];
  has_table_[kind] = true;
  if (mode == 0) return table.build(codes.probabilities, codes.symbols, codes.default_log);
  if (mode == 2) return table.read(input, codes.max_log, max_symbol);
  if (!input->number(1, &symbol) || symbol > static_cast<uint64_t>(max_symbol)) return false;
  table.repeat(static_cast<uint8_t>(symbol));
  return true;
}

bool Frame::sequences(Input input) {
  uint64_t count = 0, more = 0;
  if (!input.number(1, &count)) return false;
  if (count >= 128 && count < 255) {
    if (!input.number(1, &more)) return false;
    count = ((count - 128) << 8) + more;
  } else if (count == 255) {
    if (!input.number(2, &more)) return false;
    count = more + 0x7f00;
  }
  if (count == 0) return input.size == 0 && copy_literals(literals_.size);
  uint64_t modes = 0;
  if (!input.number(1, &modes) || (modes & 3) != 0) return false;
  for (int kind = 0; kind < 3; ++kind)
    if (!table(kind, modes >> (6 - 2 * kind) & 3, &input)) return false;
  BackwardBits bits;
  if (!bits.open(input)) return false;
  FseState states[3];
  for (int kind = 0; kind < 3; ++kind) states[kind].open(tables_[kind], &bits);
  for (uint64_t i = 0; i < count; ++i) {
    const int offset_code = states[1].symbol();
    const LengthCode literal = kLiteralLengths[states[0].symbol()];
    const LengthCode match = kMatchLengths[states[2].symbol()];
    const uint64_t value = (uint64_t{1} << offset_code) + bits.read(offset_code);
    const size_t match_length = match.base + bits.read(match.bits);
    const size_t literal_length = literal.base + bits.read(literal.bits);
    if (bits.left() < 0) return false;
    // Values 1 to 3 select repeats_[value - 1], one of the last three offsets. In a sequence
    // without literals, 1 and 2 select repeats_[value] instead, and 3 means repeats_[0] - 1.
    const uint64_t which = value + (literal_length == 0 ? 1 : 0);
    uint64_t offset = value - 3;
    if (value <= 3) {
      offset = which <= 3 ? repeats_[which - 1] : repeats_[0] - 1;
      if (which >= 3) repeats_[2] = repeats_[1];
      if (which >= 2) repeats_[1] = repeats_[0];
    } else {
      repeats_[2] = repeats_[1];
      repeats_[1] = repeats_[0];
    }
    repeats_[0] = offset;
    if (!copy_literals(literal_length) || !copy_match(offset, match_length)) return false;
    if (i + 1 == count) break;
    for (const int kind : {0, 2, 1}) states[kind].next(&bits);
    if (bits.left() < 0) return false;
  }
  return bits.left() == 0 && copy_literals(literals_.size);
}

bool Frame::copy_literals(size_t count) {
  Input part;
  if (count > size_ - at_ || !literals_.take(count, &part)) return false;
  if (count > 0) std::copy_n(part.data, count, out_ + at_);
  at_ += count;
  return true;
}

bool Frame::copy_match(size_t offset, size_t length) {
  if (offset == 0 || offset > at_ || length > size_ - at_) return false;
  // Byte by byte, because a match may overlap its own output.
  for (size_t i = 0; i < length; ++i, ++at_) out_[at_] = out_[at_ - offset];
  return true;
}

}  // namespace
}  // namespace zstd

bool unpack_zstd(const uint8_t* packed, size_t packed_size, uint8_t* out, size_t size) {
  // On the heap: the frame's tables and literals are too large for the stack of a small thread.
  const auto frame = std::make_unique<zstd::Frame>(out, size);
  return frame->unpack({packed, packed_size});
}

bool unpack_lz4(const uint8_t* packed, size_t packed_size, uint8_t* out, size_t size) {
  zstd::Input input{packed, packed_size};
  size_t at = 0;
  // A length of 15 in a token continues in further bytes, up to the first one that is not 255.
  const auto longer = [&input](uint64_t* length) {
    for (uint64_t byte = 255; byte == 255; *length += byte)
      if (!input.number(1, &byte)) return false;
    return true;
  };
  while (input.size > 0) {
    uint64_t token = 0, offset = 0;
    zstd::Input literals;
    if (!input.number(1, &token)) return false;
    uint64_t count = token >> 4, length = token & 15;
    if (count == 15 && !longer(&count)) return false;
    if (count > size - at || !input.take(count, &literals)) return false;
    std::copy_n(literals.data, count, out + at);
    at += count;
    if (input.size == 0) break;  // a block ends with literals
    if (!input.number(2, &offset) || (length == 15 && !longer(&length))) return false;
    length += 4;
    if (offset == 0 || offset > at || length > size - at) return false;
    for (uint64_t i = 0; i < length; ++i, ++at) out[at] = out[at - offset];
  }
  return at == size;
}

}  // namespace tw
