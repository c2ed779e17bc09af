// SPDX-License-Identifier: Apache-2.0
#pragma once
// Interprets a fuzzer's input as numbers, or as edits of a struct: the struct starts as its `_init`
// leaves it, and each edit writes one number somewhere into it. Fields that later versions add are
// thus fuzzed too, and existing inputs keep their meaning.

#include <cstdint>
#include <cstring>

namespace tw::fuzz {

/// Reads numbers from the input; zeros after its end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  /// Mostly small, sometimes near a power of two, sometimes arbitrary.
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

/// Applies up to `most` edits to a struct, after its struct_size and struct_mark.
template <class T>
void edit(Bytes* in, T* value, int most) {
  const int edits = in->byte() % (most + 1);
  for (int i = 0; i < edits && !in->empty(); ++i) {
    constexpr size_t kWords = sizeof(T) / 4, kHead = 2;
    const size_t word = kHead + (in->byte() | in->byte() << 8) % (kWords - kHead);
    const int64_t number = in->number();
    // Writes eight bytes at an aligned place, else four.
    const size_t bytes = word % 2 == 0 && word + 1 < kWords ? 8 : 4;
    std::memcpy(reinterpret_cast<char*>(value) + word * 4, &number, bytes);
  }
}

}  // namespace tw::fuzz
