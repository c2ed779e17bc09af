// SPDX-License-Identifier: Apache-2.0
#pragma once
// A block of device memory and its host image. Tests compare it as a whole, so that a write outside
// an operation's destination is found.

#include "tests/device/common/fixture.hpp"

namespace tw::test {

class Arena {
 public:
  Arena(const std::shared_ptr<Device>& device, Stream& stream, uint64_t bytes)
      : device_(device), stream_(stream), image_(bytes) {
    TW_REQUIRE_OK(device_->allocate(bytes + 256, &allocation_));
    address_ = (allocation_ + 255) / 256 * 256;
  }
  ~Arena() {
    if (!device_->release(allocation_).ok()) MESSAGE(last_failure().message);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  uint64_t address() const { return address_; }
  uint64_t bytes() const { return image_.size(); }
  std::vector<uint8_t>& image() { return image_; }

  void fill_random(std::mt19937_64& random) {
    TW_REQUIRE_OK(stream_.synchronize());  // an upload may still read the image
    for (size_t i = 0; i + 8 <= image_.size(); i += 8) {
      const uint64_t word = random();
      std::memcpy(&image_[i], &word, 8);
    }
    upload();
  }
  void fill(uint8_t value) {
    TW_REQUIRE_OK(stream_.synchronize());
    std::memset(image_.data(), value, image_.size());
    upload();
  }
  /// Copies the image to the device, in stream order. It must not change until the stream is idle.
  void upload() { TW_REQUIRE_OK(stream_.copy_to_device(address_, image_.data(), image_.size())); }
  /// Returns the device's bytes; waits for the stream.
  std::vector<uint8_t> read() {
    std::vector<uint8_t> bytes(image_.size());
    TW_REQUIRE_OK(stream_.copy_to_host(bytes.data(), address_, bytes.size()));
    TW_REQUIRE_OK(stream_.synchronize());
    return bytes;
  }

 private:
  std::shared_ptr<Device> device_;
  Stream& stream_;
  std::vector<uint8_t> image_;
  uint64_t allocation_ = 0;
  uint64_t address_ = 0;
};

/// The first byte in which two images differ; -1 if none, 0 if their sizes differ.
inline int64_t first_difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  if (a.size() != b.size()) return 0;
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return -1;
  size_t i = 0;
  while (a[i] == b[i]) ++i;
  return static_cast<int64_t>(i);
}

}  // namespace tw::test
