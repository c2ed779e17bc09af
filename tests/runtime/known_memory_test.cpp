// SPDX-License-Identifier: Apache-2.0
// The memory that a host device knows: lookups, and messages about unknown memory.
#include "runtime/host/known_memory.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "host_fixture.hpp"

namespace tw::test {
namespace {

using host::KnownMemory;

bool holds(const KnownMemory& memory, uint64_t address, uint64_t bytes) {
  const Status status = memory.check("d", address, bytes);
  if (status.ok()) return true;
  CHECK(status.code() == Code::ERROR_INVALID_ARGUMENT);
  CHECK(std::string(last_failure().fault.argument) == "d");
  CHECK(last_failure().fault.limit == static_cast<int64_t>(bytes));
  return false;
}

TEST_CASE("an operand lies inside one block, to its last byte") {
  KnownMemory memory;
  memory.add_block(4096, 64);
  memory.add_block(4160, 64);  // adjacent: begins where the first ends
  CHECK(holds(memory, 4096, 64));
  CHECK(holds(memory, 4159, 1));
  CHECK(!holds(memory, 4096, 65));
  CHECK(message_has(
      "d needs 65 bytes from 0x1000, but the block from tw_malloc ends after 64 bytes"));
  CHECK(last_failure().fault.got == 64);
  CHECK(!holds(memory, 4095, 1));
  CHECK(message_has("the nearest is a block of 64 bytes from 0x1000, 1 bytes above"));
  CHECK(!holds(memory, 4224, 1));
  CHECK(message_has("the nearest is a block of 64 bytes from 0x1040, 0 bytes below"));
  CHECK(!holds(memory, 4096, ~uint64_t{0}));
  CHECK(!holds(memory, ~uint64_t{0}, ~uint64_t{0}));
}

TEST_CASE("a block is ended by the call that goes with its allocator") {
  KnownMemory memory;
  memory.add_block(4096, 64, KnownMemory::Origin::host_block);
  CHECK(holds(memory, 4096, 64));
  CHECK(!holds(memory, 4096, 65));
  CHECK(message_has("but the block from tw_malloc_host ends after"));
  CHECK(!memory.remove_block(4096));
  CHECK(memory.remove_block(4096, KnownMemory::Origin::host_block));
  CHECK(!holds(memory, 4096, 64));
  CHECK(message_has("was there until tw_free_host removed it"));
}

TEST_CASE("a block of no bytes holds nothing") {
  KnownMemory memory;
  memory.add_range(4096, 0);
  CHECK(!holds(memory, 4096, 1));
  CHECK(memory.remove_range(4096));
  CHECK(!holds(memory, 4096, 1));
  CHECK(message_has("the device has no memory allocated or registered"));
}

TEST_CASE("what was freed or unregistered is told") {
  KnownMemory memory;
  memory.add_block(4096, 64);
  memory.add_range(8192, 32);
  CHECK(!memory.remove_block(4097));
  CHECK(!memory.remove_range(4096));
  CHECK(memory.remove_block(4096));
  CHECK(!memory.remove_block(4096));
  CHECK(!holds(memory, 4128, 8));
  CHECK(message_has("a block of 64 bytes from 0x1000 was there until tw_free removed it"));
  CHECK(memory.remove_range(8192));
  CHECK(!memory.remove_range(8192));
  CHECK(!holds(memory, 8192, 8));
  CHECK(message_has(
      "a range of 32 bytes from 0x2000 was there until tw_memory_unregister removed it"));
  memory.add_block(4096, 16);  // other memory at the same address
  CHECK(holds(memory, 4096, 16));
  CHECK(!holds(memory, 4128, 8));
  CHECK(message_has("until tw_free removed it"));
  for (uint64_t i = 0; i < 300; ++i) {  // enough removals to make it forget the first
    memory.add_range(1 << 20, 8);
    CHECK(memory.remove_range(1 << 20));
  }
  CHECK(!holds(memory, 4128, 8));
  CHECK(message_has("the nearest is a block of 16 bytes from 0x1000, 16 bytes below"));
}

TEST_CASE("a range counts how often it was registered, and has the most bytes of it") {
  KnownMemory memory;
  memory.add_range(4096, 8);
  memory.add_range(4096, 64);
  memory.add_range(4096, 16);
  CHECK(holds(memory, 4096, 64));
  CHECK(memory.remove_range(4096));
  CHECK(memory.remove_range(4096));
  CHECK(holds(memory, 4096, 64));
  CHECK(memory.remove_range(4096));
  CHECK(!holds(memory, 4096, 1));
  CHECK(!memory.remove_range(4096));
}

TEST_CASE("taken blocks are no longer known") {
  KnownMemory memory;
  memory.add_block(4096, 64);
  memory.add_block(8192, 32, KnownMemory::Origin::host_block);
  const KnownMemory::Blocks taken = memory.take_blocks();
  REQUIRE(taken.size() == 2);
  CHECK(taken.at(4096).bytes == 64);
  CHECK(taken.at(8192).origin == KnownMemory::Origin::host_block);
  CHECK(!holds(memory, 4096, 1));
}

// Ranges that overlap in any way, against a linear search of a list.
TEST_CASE("of overlapping ranges one must hold the operand") {
  std::mt19937_64 random(7);
  const auto draw = [&](uint64_t from, uint64_t to) {
    return std::uniform_int_distribution<uint64_t>(from, to)(random);
  };
  struct Range {
    uint64_t begin, bytes;
  };
  int held = 0;
  for (int round = 0; round < 200; ++round) {
    KnownMemory memory;
    std::vector<Range> ranges;
    for (int step = 0; step < 100; ++step) {
      if (ranges.empty() || draw(0, 2) != 0) {
        const Range range{draw(1, 200), draw(0, 40)};
        // For ranges with equal addresses the record keeps the largest; the list does not.
        if (std::any_of(ranges.begin(), ranges.end(),
                        [&](const Range& other) { return other.begin == range.begin; }))
          continue;
        memory.add_range(range.begin, range.bytes);
        ranges.push_back(range);
      } else {
        const auto gone = ranges.begin() + static_cast<std::ptrdiff_t>(draw(0, ranges.size() - 1));
        REQUIRE(memory.remove_range(gone->begin));
        ranges.erase(gone);
      }
      const uint64_t address = draw(1, 240), bytes = draw(1, 30);
      const bool wanted = std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
        return range.begin <= address && address + bytes <= range.begin + range.bytes;
      });
      REQUIRE(memory.check("d", address, bytes).ok() == wanted);
      held += wanted ? 1 : 0;
    }
  }
  CHECK(held > 1000);
}

TEST_CASE("a host device knows its blocks and what is registered, until it is closed") {
  const auto device = open_host();
  CHECK(device->checks_memory());
  uint64_t block = 0;
  int64_t own[4] = {};
  REQUIRE(device->allocate(100, &block).ok());
  CHECK(device->check_memory("a", block, 100).ok());
  CHECK(!device->check_memory("a", block, 101).ok());
  CHECK(!device->check_memory("a", address_of(own), sizeof own).ok());
  CHECK(device->check_memory("a", address_of(own), 0).ok());
  REQUIRE(device->register_memory(address_of(own), sizeof own).ok());
  CHECK(device->check_memory("a", address_of(own), sizeof own).ok());
  REQUIRE(device->unregister_memory(address_of(own)).ok());
  CHECK(device->unregister_memory(address_of(own)).code() == Code::ERROR_NOT_FOUND);
  CHECK(!device->check_memory("a", address_of(own), sizeof own).ok());
  REQUIRE(device->release(block).ok());
  CHECK(!device->check_memory("a", block, 1).ok());
}

}  // namespace
}  // namespace tw::test
