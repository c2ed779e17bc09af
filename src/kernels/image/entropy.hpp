// SPDX-License-Identifier: Apache-2.0
#pragma once
// The entropy decoders of zstd: backward bit streams, FSE tables and Huffman trees. unpack.hpp
// states what they guarantee for damaged input.

#include <cstddef>
#include <cstdint>

namespace tw::zstd {

/// A range of bytes, read from the front. Reads beyond its end return false.
struct Input {
  const uint8_t* data = nullptr;
  size_t size = 0;

  /// Cuts `count` bytes off the front.
  bool take(size_t count, Input* out) {
    if (count > size) return false;
    *out = {data, count};
    data += count;
    size -= count;
    return true;
  }
  /// A little-endian number of `count` bytes, at most 8.
  bool number(size_t count, uint64_t* out) {
    Input part;
    if (!take(count, &part)) return false;
    *out = 0;
    for (size_t i = 0; i < count; ++i) *out |= uint64_t{part.data[i]} << (8 * i);
    return true;
  }
};

/// Reads bits from the last one back to the first; beyond the first, reads zeros.
class BackwardBits {
 public:
  /// The highest set bit of the last byte marks the end of the bits. False if there is none.
  bool open(Input input);
  uint64_t read(int count);
  uint64_t peek(int count) const;
  /// Number of unread bits; negative if more were read than exist.
  int64_t left() const { return at_; }

 private:
  Input input_;
  int64_t at_ = 0;
};

inline constexpr int kMaxFseLog = 9;

/// A decoding table of finite state entropy (FSE).
struct FseTable {
  struct Cell {
    uint8_t symbol;
    uint8_t bits;
    uint16_t base;
  };
  int log = 0;
  Cell cells[1 << kMaxFseLog];

  /// Builds the table from the description at the front of `input`, and removes that.
  bool read(Input* input, int max_log, int max_symbol);
  /// Builds the table from probabilities; -1 is "less than one".
  bool build(const int16_t* probabilities, int symbols, int table_log);
  /// Makes a table that always decodes `symbol`.
  void repeat(uint8_t symbol);
};

/// A decoding state: yields a symbol, then reads bits to get to the next state.
struct FseState {
  const FseTable* table = nullptr;
  uint64_t at = 0;
  void open(const FseTable& from, BackwardBits* bits) {
    table = &from;
    at = bits->read(from.log);
  }
  uint8_t symbol() const { return table->cells[at].symbol; }
  void next(BackwardBits* bits) {
    const FseTable::Cell cell = table->cells[at];
    at = cell.base + bits->read(cell.bits);
  }
};

/// A Huffman tree as a lookup table, indexed by as many bits as its longest code has.
struct HuffmanTable {
  static constexpr int kMaxBits = 11;
  struct Cell {
    uint8_t symbol;
    uint8_t bits;
  };
  int bits = 0;  // of the longest code; 0: no tree yet
  Cell cells[1 << kMaxBits];

  /// Builds the table from the description at the front of `input`, and removes that.
  bool read(Input* input);
  /// Decodes exactly `size` symbols of one stream.
  bool decode(Input stream, uint8_t* out, size_t size) const;

 private:
  bool build(const uint8_t* weights, int count);
};

}  // namespace tw::zstd
