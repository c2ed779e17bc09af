// SPDX-License-Identifier: Apache-2.0
#pragma once
// Inputs of the fuzzers as numbers, and as edits of a description: the struct begins as its `_init`
// leaves it, and each edit puts one number somewhere into it. Whatever fields a later version adds
// are fuzzed too, and inputs keep their meaning.

#include <cstdint>
#include <cstring>

namespace tw::fuzz {

/// Numbers out of the input, zeros behind its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  /// Mostly small, now and then near a power of two or anything at all.
  int64_t number() {
    const uint8_t kind = byte();
    const auto small = static_cast<int8_t>(byte());
    if (kind < 160) return small;
    if (kind < 220)
      return static_cast<int64_t>((uint64_t{1} << (kind % 64)) +
                                  static_cast<uint64_t>(int64_t{small}));
    uint64_t value = static_cast<uint8_t>(small);
    for (int i = 0; i < 7; ++i) value = value << 8 | byte();
    return static_cast<int64_t>(value);
  }
  const uint8_t* rest() const { return data_ + at_; }
  size_t rest_size() const { return size_ - at_; }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

/// Up to `most` edits of a struct, behind struct_size and struct_mark.
template <class T>
void edit(Bytes* in, T* value, int most) {
  const int edits = in->byte() % (most + 1);
  for (int i = 0; i < edits && !in->empty(); ++i) {
    constexpr size_t kWords = sizeof(T) / 4, kHead = 2;
    const size_t word = kHead + (in->byte() | in->byte() << 8) % (kWords - kHead);
    const int64_t number = in->number();
    // Eight bytes where there are so many and the place is one of theirs.
    const size_t bytes = word % 2 == 0 && word + 1 < kWords ? 8 : 4;
    std::memcpy(reinterpret_cast<char*>(value) + word * 4, &number, bytes);
  }
}

}  // namespace tw::fuzz
