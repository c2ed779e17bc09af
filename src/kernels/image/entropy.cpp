// SPDX-License-Identifier: Apache-2.0
#include "kernels/image/entropy.hpp"

#include <algorithm>
#include <bit>

namespace tw::zstd {

// --- Bits ---

bool BackwardBits::open(Input input) {
  if (input.size == 0 || input.data[input.size - 1] == 0) return false;
  input_ = input;
  const int marker = std::bit_width(static_cast<unsigned>(input.data[input.size - 1])) - 1;
  at_ = static_cast<int64_t>(input.size - 1) * 8 + marker;
  return true;
}

uint64_t BackwardBits::peek(int count) const {
  uint64_t bits = 0;
  int64_t from = at_ - count;
  int shift = 0;
  if (from < 0) {
    if (at_ <= 0) return 0;
    shift = static_cast<int>(-from);
    from = 0;
  }
  const auto first = static_cast<size_t>(from / 8);
  for (size_t i = first; i < input_.size && i < first + 8; ++i)
    bits |= uint64_t{input_.data[i]} << (8 * (i - first));
  bits >>= from % 8;
  const int kept = count - shift;
  bits &= (uint64_t{1} << kept) - 1;
  return bits << shift;
}

uint64_t BackwardBits::read(int count) {
  const uint64_t bits = count == 0 ? 0 : peek(count);
  at_ -= count;
  return bits;
}

// --- FSE ---

namespace {

/// Reads bits from the first one on, as in descriptions of FSE tables.
class ForwardBits {
 public:
  explicit ForwardBits(Input input) : input_(input) {}
  uint32_t peek(int count) const {
    uint32_t bits = 0;
    for (int i = 0; i < count; ++i) {
      const size_t at = at_ + static_cast<size_t>(i);
      if (at / 8 < input_.size) bits |= uint32_t{(input_.data[at / 8] >> (at % 8)) & 1u} << i;
    }
    return bits;
  }
  uint32_t read(int count) {
    const uint32_t bits = peek(count);
    skip(count);
    return bits;
  }
  void skip(int count) { at_ += static_cast<size_t>(count); }
  size_t bytes() const { return (at_ + 7) / 8; }

 private:
  Input input_;
  size_t at_ = 0;
};

}  // namespace

bool FseTable::read(Input* input, int max_log, int max_symbol) {
  ForwardBits bits(*input);
  const int table_log = static_cast<int>(bits.read(4)) + 5;
  if (table_log > max_log) return false;
  int16_t probabilities[256] = {};
  int left = 1 << table_log;
  int symbol = 0;
  while (left > 0 && symbol <= max_symbol) {
    // Values range up to `left` + 1; small ones take one bit less.
    const int width = std::bit_width(static_cast<unsigned>(left + 1));
    const auto low_mask = (1u << (width - 1)) - 1;
    const uint32_t threshold = (1u << width) - 1 - static_cast<uint32_t>(left + 1);
    uint32_t value = bits.peek(width);
    if ((value & low_mask) < threshold) {
      value &= low_mask;
      bits.skip(width - 1);
    } else {
      if (value > low_mask) value -= threshold;
      bits.skip(width);
    }
    const auto probability = static_cast<int16_t>(static_cast<int>(value) - 1);
    probabilities[symbol++] = probability;
    left -= probability < 0 ? 1 : probability;
    if (probability != 0) continue;
    for (uint32_t zeros = 3; zeros == 3;) {
      zeros = bits.read(2);
      symbol += static_cast<int>(zeros);
      if (symbol > max_symbol) return false;
    }
  }
  Input used;
  return left == 0 && input->take(bits.bytes(), &used) && build(probabilities, symbol, table_log);
}

bool FseTable::build(const int16_t* probabilities, int symbols, int table_log) {
  log = table_log;
  const int size = 1 << log;
  int next[256] = {};
  int high = size;
  for (int s = 0; s < symbols; ++s) {
    next[s] = probabilities[s] < 0 ? 1 : probabilities[s];
    if (probabilities[s] < 0) cells[--high].symbol = static_cast<uint8_t>(s);
  }
  const int step = (size >> 1) + (size >> 3) + 3;
  int at = 0;
  for (int s = 0; s < symbols; ++s)
    for (int i = 0; i < probabilities[s]; ++i) {
      cells[at].symbol = static_cast<uint8_t>(s);
      do {
        at = (at + step) & (size - 1);
      } while (at >= high);
    }
  if (at != 0) return false;
  for (int i = 0; i < size; ++i) {
    const auto state = static_cast<unsigned>(next[cells[i].symbol]++);
    cells[i].bits = static_cast<uint8_t>(log - (std::bit_width(state) - 1));
    cells[i].base = static_cast<uint16_t>((state << cells[i].bits) - static_cast<unsigned>(size));
  }
  return true;
}

void FseTable::repeat(uint8_t symbol) {
  log = 0;
  cells[0] = {symbol, 0, 0};
}

// --- Huffman ---

namespace {

constexpr int kMaxWeights = 255;  // the last of 256 is derived

/// Decodes FSE-packed weights with two alternating states. Returns their number, or -1 on an error.
int read_weights(Input input, uint8_t* weights) {
  FseTable table;
  BackwardBits bits;
  if (!table.read(&input, 6, HuffmanTable::kMaxBits + 1) || !bits.open(input)) return -1;
  FseState states[2];
  for (FseState& state : states) state.open(table, &bits);
  if (bits.left() < 0) return -1;
  int count = 0;
  for (int turn = 0; count < kMaxWeights; turn ^= 1) {
    weights[count++] = states[turn].symbol();
    states[turn].next(&bits);
    if (bits.left() < 0) {
      // The bits ended with this state; the other state still holds a symbol.
      if (count == kMaxWeights) return -1;
      weights[count++] = states[turn ^ 1].symbol();
      return count;
    }
  }
  return -1;
}

}  // namespace

bool HuffmanTable::read(Input* input) {
  uint64_t head = 0;
  Input part;
  uint8_t weights[kMaxWeights + 1] = {};
  if (!input->number(1, &head)) return false;
  if (head < 128) {
    if (!input->take(head, &part)) return false;
    const int count = read_weights(part, weights);
    return count >= 0 && build(weights, count);
  }
  const auto count = static_cast<int>(head) - 127;
  if (!input->take(static_cast<size_t>(count + 1) / 2, &part)) return false;
  for (int i = 0; i < count; ++i)
    weights[i] = static_cast<uint8_t>(i % 2 ? part.data[i / 2] & 15 : part.data[i / 2] >> 4);
  return build(weights, count);
}

bool HuffmanTable::build(const uint8_t* given, int count) {
  uint8_t weights[kMaxWeights + 1];
  uint32_t sum = 0;
  for (int i = 0; i < count; ++i) {
    weights[i] = given[i];
    if (given[i] > kMaxBits) return false;
    if (given[i] > 0) sum += 1u << (given[i] - 1);
  }
  if (sum == 0) return false;
  const int longest = std::bit_width(sum);
  const uint32_t rest = (1u << longest) - sum;
  if (longest > kMaxBits || !std::has_single_bit(rest)) return false;
  weights[count++] = static_cast<uint8_t>(std::bit_width(rest));
  bits = longest;
  int at = 0;
  for (int weight = 1; weight <= longest; ++weight)
    for (int symbol = 0; symbol < count; ++symbol)
      if (weights[symbol] == weight) {
        const Cell cell = {static_cast<uint8_t>(symbol),
                           static_cast<uint8_t>(longest + 1 - weight)};
        std::fill_n(cells + at, 1 << (weight - 1), cell);
        at += 1 << (weight - 1);
      }
  return at == 1 << longest;
}

bool HuffmanTable::decode(Input stream, uint8_t* out, size_t size) const {
  BackwardBits input;
  if (!input.open(stream)) return false;
  for (size_t i = 0; i < size; ++i) {
    const Cell cell = cells[input.peek(bits)];
    out[i] = cell.symbol;
    (void)input.read(cell.bits);
  }
  return input.left() == 0;
}

}  // namespace tw::zstd
