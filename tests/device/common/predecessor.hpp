// SPDX-License-Identifier: Apache-2.0
#pragma once
// A kernel that writes the bytes which are there already. A dependent launch behind it must wait
// for it before it touches any of that memory.

#include "ops/copies/copies.hpp"
#include "tests/device/common/arena.hpp"

namespace tw::test {

class Predecessor {
 public:
  Predecessor(const std::shared_ptr<Device>& device, Stream& stream)
      : device_(device), stream_(stream) {}

  /// Adds memory, rounded outwards to multiples of kPiece. The caller owns that much around it.
  void add(uint64_t address, uint64_t bytes) {
    if (bytes == 0) return;
    for (uint64_t at = address / kPiece * kPiece; at < address + bytes; at += kPiece)
      pieces_.push_back(at);
  }

  /// Launches the kernel. The object must live until the stream is idle.
  void launch() {
    const size_t count = pieces_.size(), list_bytes = count * 8;
    copy_ = std::make_unique<Arena>(device_, stream_, count * kPiece);
    lists_ = std::make_unique<Arena>(device_, stream_, 2 * list_bytes);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t of_copy = copy_->address() + i * kPiece;
      std::memcpy(&lists_->image()[i * 8], &pieces_[i], 8);
      std::memcpy(&lists_->image()[list_bytes + i * 8], &of_copy, 8);
    }
    lists_->upload();
    CopiesDesc desc;
    desc.shape[0] = kPiece, desc.src_stride[0] = desc.dst_stride[0] = 1;
    desc.src_alignment = desc.dst_alignment = 16;
    desc.count = static_cast<int64_t>(count);
    desc.methods = 1u << kCopiesPlain, desc.max_sms = 4;
    TW_REQUIRE_OK(CopiesPlan::create(device_, desc, &plan_));
    const uint64_t here = lists_->address(), there = here + list_bytes;
    const auto run = [&](uint64_t from, uint64_t to) {
      TW_REQUIRE_OK(
          static_cast<CopiesPlan&>(*plan_).run(stream_, {.src_list = from, .dst_list = to}));
    };
    run(here, there);
    TW_REQUIRE_OK(stream_.synchronize());
    run(there, here);
  }

 private:
  static constexpr uint64_t kPiece = 256;
  std::shared_ptr<Device> device_;
  Stream& stream_;
  std::vector<uint64_t> pieces_;
  std::unique_ptr<Arena> copy_, lists_;
  std::unique_ptr<Plan> plan_;
};

}  // namespace tw::test
