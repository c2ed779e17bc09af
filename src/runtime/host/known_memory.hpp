// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory in which operands of the host device may lie: blocks of the device's two allocators
// and ranges that the caller has registered. It also remembers the blocks and ranges removed last,
// for messages about use after free. Every function may be called from any thread.

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/status.hpp"

namespace tw::host {

class KnownMemory {
 public:
  /// Which call added it: tw_malloc, tw_malloc_host or tw_memory_register.
  enum class Origin { block, host_block, range };
  struct Block {
    uint64_t bytes;
    Origin origin;
  };
  using Blocks = std::map<uint64_t, Block>;  // by address

  /// Adds a block that the device has allocated. Blocks do not overlap. Adds nothing if it throws.
  void add_block(uint64_t address, uint64_t bytes, Origin origin = Origin::block);
  /// Returns false if there is no block of that address and origin.
  bool remove_block(uint64_t address, Origin origin = Origin::block);
  /// Removes and returns all blocks.
  Blocks take_blocks();

  /// Adds a range of the caller's memory. Ranges may overlap each other and blocks. If an address
  /// is added several times, its range has the largest size given until it has been removed as many
  /// times. Adds nothing if it throws.
  void add_range(uint64_t address, uint64_t bytes);
  /// Returns false if there is no range of that address.
  bool remove_range(uint64_t address);

  /// Fails unless the `bytes` bytes (above 0) from `address` lie inside one block or one range.
  /// `operand` is a literal that names the operand in the message.
  Status check(const char* operand, uint64_t address, uint64_t bytes) const;

 private:
  struct Range {
    uint64_t begin, end;
    uint64_t times;  // how often it was added minus how often it was removed
    uint64_t reach;  // the largest end of this range and all ranges with a lower begin
  };
  struct Piece {
    uint64_t begin = 0, end = 0;
    Origin origin = Origin::block;
  };

  std::vector<Range>::iterator find_range(uint64_t address);
  void update_reach(size_t from);
  void remember(const Piece& piece);
  Piece furthest_at(uint64_t address) const;
  const Piece* removed_at(uint64_t address) const;
  bool nearest_to(uint64_t address, Piece* out) const;
  Status past_memory_end(const char* operand, uint64_t address, uint64_t bytes,
                         const Piece& piece) const;
  Status unknown_memory(const char* operand, uint64_t address, uint64_t bytes) const;

  mutable std::mutex mutex_;  // guards everything below
  Blocks blocks_;
  std::vector<Range> ranges_;  // sorted by begin, which is unique
  // A ring buffer of the blocks and ranges removed last. removed_count_ counts all removals.
  std::array<Piece, 256> removed_;
  uint64_t removed_count_ = 0;
};

}  // namespace tw::host
