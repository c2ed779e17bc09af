// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/known_memory.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace tw::host {

namespace {

// Words for messages: the call that adds memory of an origin, the call that removes it, its kind.
struct Words {
  const char *giver, *taker, *kind;
};

Words words_of(KnownMemory::Origin origin) {
  switch (origin) {
    case KnownMemory::Origin::block:
      return {"tw_malloc", "tw_free", "block"};
    case KnownMemory::Origin::host_block:
      return {"tw_malloc_host", "tw_free_host", "block"};
    default:
      return {"tw_memory_register", "tw_memory_unregister", "range"};
  }
}

}  // namespace

void KnownMemory::add_block(uint64_t address, uint64_t bytes, Origin origin) {
  const std::lock_guard lock(mutex_);
  blocks_.emplace(address, Block{bytes, origin});
}

bool KnownMemory::remove_block(uint64_t address, Origin origin) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(address);
  if (block == blocks_.end() || block->second.origin != origin) return false;
  remember({address, address + block->second.bytes, origin});
  blocks_.erase(block);
  return true;
}

KnownMemory::Blocks KnownMemory::take_blocks() {
  const std::lock_guard lock(mutex_);
  Blocks taken;
  taken.swap(blocks_);
  return taken;
}

std::vector<KnownMemory::Range>::iterator KnownMemory::find_range(uint64_t address) {
  return std::lower_bound(ranges_.begin(), ranges_.end(), address,
                          [](const Range& range, uint64_t at) { return range.begin < at; });
}

void KnownMemory::update_reach(size_t from) {
  for (size_t i = from; i < ranges_.size(); ++i)
    ranges_[i].reach = i == 0 ? ranges_[i].end : std::max(ranges_[i - 1].reach, ranges_[i].end);
}

void KnownMemory::add_range(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto range = find_range(address);
  if (range == ranges_.end() || range->begin != address)
    range = ranges_.insert(range, {.begin = address, .end = address, .times = 0, .reach = 0});
  range->end = std::max(range->end, address + bytes);
  ++range->times;
  update_reach(static_cast<size_t>(range - ranges_.begin()));
}

bool KnownMemory::remove_range(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto range = find_range(address);
  if (range == ranges_.end() || range->begin != address) return false;
  if (--range->times > 0) return true;
  remember({range->begin, range->end, Origin::range});
  const auto index = static_cast<size_t>(range - ranges_.begin());
  ranges_.erase(range);
  update_reach(index);
  if (ranges_.empty()) std::vector<Range>().swap(ranges_);  // frees the vector's memory
  return true;
}

void KnownMemory::remember(const Piece& piece) {
  removed_[removed_count_++ % removed_.size()] = piece;
}

// The block or range with the largest end among those that contain the address; an empty Piece if
// none does. Of a range, only `end` and `origin` are set.
KnownMemory::Piece KnownMemory::furthest_at(uint64_t address) const {
  Piece best;
  if (auto block = blocks_.upper_bound(address); block != blocks_.begin()) {
    --block;
    best = {block->first, block->first + block->second.bytes, block->second.origin};
  }
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                [](uint64_t at, const Range& other) { return at < other.begin; });
  if (range != ranges_.begin() && std::prev(range)->reach > best.end)
    best = {0, std::prev(range)->reach, Origin::range};
  return best.end > address ? best : Piece{};
}

Status KnownMemory::check(const char* operand, uint64_t address, uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  const Piece piece = furthest_at(address);
  if (piece.end == 0) return unknown_memory(operand, address, bytes);
  if (bytes <= piece.end - address) return {};
  return past_memory_end(operand, address, bytes, piece);
}

Status KnownMemory::past_memory_end(const char* operand, uint64_t address, uint64_t bytes,
                                    const Piece& piece) const {
  const uint64_t there = piece.end - address;
  const Words words = words_of(piece.origin);
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = operand,
               .rule = "memory_end",
               .got = static_cast<int64_t>(there),
               .limit = static_cast<int64_t>(bytes)},
              "%s needs %" PRIu64 " bytes from 0x%" PRIx64
              ", but the %s from %s ends after %" PRIu64
              " bytes: pass %s as many bytes as the description spans, or describe fewer",
              operand, bytes, address, words.kind, words.giver, there, words.giver);
}

// Of the removed blocks and ranges that contain the address, the one that was removed last; nullptr
// if there is none.
const KnownMemory::Piece* KnownMemory::removed_at(uint64_t address) const {
  const uint64_t kept = std::min<uint64_t>(removed_count_, removed_.size());
  for (uint64_t i = 1; i <= kept; ++i) {
    const Piece& piece = removed_[(removed_count_ - i) % removed_.size()];
    if (address >= piece.begin && address < piece.end) return &piece;
  }
  return nullptr;
}

// The block or range nearest to an address that lies in no block or range. Returns false if the
// device knows no memory.
bool KnownMemory::nearest_to(uint64_t address, Piece* out) const {
  uint64_t least = UINT64_MAX;
  const auto consider = [&](const Piece& piece) {
    const uint64_t distance = piece.begin > address ? piece.begin - address : address - piece.end;
    if (distance >= least) return;
    least = distance;
    *out = piece;
  };
  for (const auto& [begin, block] : blocks_) consider({begin, begin + block.bytes, block.origin});
  for (const Range& range : ranges_) consider({range.begin, range.end, Origin::range});
  return least != UINT64_MAX;
}

Status KnownMemory::unknown_memory(const char* operand, uint64_t address, uint64_t bytes) const {
  char hint[192] = "the device has no memory allocated or registered";
  Piece near;
  if (const Piece* gone = removed_at(address)) {
    const Words words = words_of(gone->origin);
    std::snprintf(hint, sizeof hint,
                  "a %s of %" PRIu64 " bytes from 0x%" PRIx64 " was there until %s removed it",
                  words.kind, gone->end - gone->begin, gone->begin, words.taker);
  } else if (nearest_to(address, &near)) {
    const bool above = near.begin > address;
    std::snprintf(hint, sizeof hint,
                  "the nearest is a %s of %" PRIu64 " bytes from 0x%" PRIx64 ", %" PRIu64
                  " bytes %s",
                  words_of(near.origin).kind, near.end - near.begin, near.begin,
                  above ? near.begin - address : address - near.end, above ? "above" : "below");
  }
  return fail(Code::ERROR_INVALID_ARGUMENT,
              {.argument = operand,
               .rule = "memory_unknown",
               .got = 0,
               .limit = static_cast<int64_t>(bytes)},
              "%s needs %" PRIu64 " bytes from 0x%" PRIx64
              ", which lies in no block of tw_malloc or tw_malloc_host and in no range of "
              "tw_memory_register: %s; the host device only accepts operands in such memory",
              operand, bytes, address, hint);
}

}  // namespace tw::host
