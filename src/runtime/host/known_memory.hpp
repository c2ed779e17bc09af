// SPDX-License-Identifier: Apache-2.0
#pragma once
// The memory that operands of the host device may lie in: blocks from the device, of both of its
// allocators, and ranges that the caller has registered. And what lay there before, for messages.
//
// Thread-safety: every function may be called from any thread.

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/status.hpp"

namespace tw::host {

class KnownMemory {
 public:
  /// What made a piece known: tw_malloc, tw_malloc_host, tw_memory_register.
  enum class Origin { block, host_block, range };
  struct Block {
    uint64_t bytes;
    Origin origin;
  };
  using Blocks = std::map<uint64_t, Block>;  // by address

  /// A block of the device's own. Blocks do not overlap. May throw, and then adds nothing.
  void add_block(uint64_t address, uint64_t bytes, Origin origin = Origin::block);
  /// False where there is no block of that address and origin.
  bool remove_block(uint64_t address, Origin origin = Origin::block);
  /// All blocks, which are no longer known then.
  Blocks take_blocks();

  /// A range of the caller's. Ranges may overlap each other and blocks. The same address may be
  /// added several times: the range then has the most bytes that were given for it, until it has
  /// been removed as many times. May throw, and then adds nothing.
  void add_range(uint64_t address, uint64_t bytes);
  /// False where there is no range of that address.
  bool remove_range(uint64_t address);

  /// Whether `bytes` bytes from `address` lie inside one block or one range; refused by the
  /// operand's name, a literal, otherwise. `bytes` is above 0.
  Status check(const char* operand, uint64_t address, uint64_t bytes) const;

 private:
  struct Range {
    uint64_t begin, end;
    uint64_t times;  // added and not removed
    uint64_t reach;  // the furthest end of this range and all before it
  };
  struct Piece {
    uint64_t begin = 0, end = 0;
    Origin origin = Origin::block;
  };

  std::vector<Range>::iterator find_range(uint64_t address);
  void update_reach(size_t from);
  void remember(const Piece& piece);
  Piece furthest_at(uint64_t address) const;
  const Piece* forgotten_at(uint64_t address) const;
  bool nearest_to(uint64_t address, Piece* out) const;
  Status refuse_end(const char* operand, uint64_t address, uint64_t bytes,
                    const Piece& piece) const;
  Status refuse_place(const char* operand, uint64_t address, uint64_t bytes) const;

  mutable std::mutex mutex_;  // of everything below
  Blocks blocks_;
  std::vector<Range> ranges_;  // sorted by their begin, which differ
  // What was freed or unregistered last, in a ring.
  std::array<Piece, 256> forgotten_;
  uint64_t forgotten_number_ = 0;
};

}  // namespace tw::host
