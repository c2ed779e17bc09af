// SPDX-License-Identifier: Apache-2.0
#pragma once
// Global memory is host memory. Kernels may access only the registered blocks.

#include <cstdint>
#include <map>

namespace tw::ptx_machine {

class GlobalMemory {
 public:
  void add(uint64_t address, uint64_t bytes) { blocks_[address] = address + bytes; }
  void remove(uint64_t address) {
    blocks_.erase(address);
    begin_ = end_ = 0;
  }
  bool contains(uint64_t address, uint64_t bytes) const {
    if (address >= begin_ && bytes <= end_ - address && address < end_) return true;
    return look(address, bytes);
  }

 private:
  bool look(uint64_t address, uint64_t bytes) const {
    auto next = blocks_.upper_bound(address);
    if (next == blocks_.begin()) return false;
    --next;
    if (address >= next->second || bytes > next->second - address) return false;
    begin_ = next->first, end_ = next->second;
    return true;
  }

  std::map<uint64_t, uint64_t> blocks_;   // end of each block, by its begin
  mutable uint64_t begin_ = 0, end_ = 0;  // cache: the block that was found last
};

}  // namespace tw::ptx_machine
