// SPDX-License-Identifier: Apache-2.0
#include "tests/ptx_machine/machine/history.hpp"

#include <algorithm>

namespace tw::ptx_machine {
namespace {

// At least so many reads of a byte are kept, the latest ones, and at most twice as many. A race
// with a forgotten one shows when the warps run in another order.
constexpr uint32_t kKeptReads = 48;

}  // namespace

void History::begin_launch(bool programmatic, const void* stream) {
  const bool overlaps = programmatic && !settled_ && stream == stream_;
  // If the predecessor never waited for its own predecessor, that grid may still run as well.
  if (!overlaps)
    clear();
  else if (waited_)
    first_in_flight_ = launch_;
  ++launch_;
  if (!overlaps) first_in_flight_ = launch_;
  settled_ = waited_ = false;
  stream_ = stream;
}

void History::clear() {
  accesses_.resize(1);
  sets_.resize(1);
  joined_.clear();
  pages_.clear();
  last_number_ = ~uint64_t{0};
  releases_.clear();
}

void History::forget(uint64_t address, uint64_t bytes) {
  if (pages_.empty()) return;
  for (; bytes != 0; ++address, --bytes) {
    const auto found = pages_.find(address / kPage);
    const uint64_t begin = address % kPage, more = std::min(bytes, kPage - begin) - 1;
    if (found != pages_.end()) {
      std::fill_n(found->second->write + begin, more + 1, 0u);
      std::fill_n(found->second->reads + begin, more + 1, 0u);
    }
    address += more;
    bytes -= more;
  }
}

History::Page& History::page(uint64_t address) {
  const uint64_t number = address / kPage;
  if (number != last_number_) {
    std::unique_ptr<Page>& found = pages_[number];
    if (!found) found = std::make_unique<Page>();
    last_number_ = number;
    last_ = found.get();
  }
  return *last_;
}

uint32_t History::add(const GlobalAccess& access) {
  // The lanes of one instruction mostly make equal accesses.
  if (accesses_.size() > 1 && accesses_.back() == access)
    return static_cast<uint32_t>(accesses_.size() - 1);
  accesses_.push_back(access);
  return static_cast<uint32_t>(accesses_.size() - 1);
}

void History::record_write(uint64_t address, uint64_t bytes, uint32_t id) {
  while (bytes != 0) {
    Page& of = page(address);
    const uint64_t begin = address % kPage, count = std::min(bytes, kPage - begin);
    std::fill_n(of.write + begin, count, id);
    std::fill_n(of.reads + begin, count, 0u);
    address += count;
    bytes -= count;
  }
}

uint32_t History::with_read(uint32_t reads, uint32_t id) {
  const GlobalAccess &access = accesses_[id], &last = accesses_[sets_[reads].access];
  // A later read by the same agent replaces the earlier one.
  const bool again = reads != 0 && last.launch == access.launch && last.cluster == access.cluster &&
                     last.agent == access.agent && last.constant == access.constant;
  const uint32_t before = again ? sets_[reads].next : reads;
  if (again && sets_[reads].access == id) return reads;
  return push(sets_[before].length < 2 * kKeptReads ? before : newest(before), id);
}

uint32_t History::push(uint32_t reads, uint32_t id) {
  const auto [found, fresh] = joined_.try_emplace(uint64_t{reads} << 32 | id, 0);
  if (!fresh) return found->second;
  sets_.push_back({id, reads, sets_[reads].length + 1});
  return found->second = static_cast<uint32_t>(sets_.size() - 1);
}

uint32_t History::newest(uint32_t reads) {
  uint32_t kept[kKeptReads], out = 0;
  for (uint32_t& access : kept) {
    access = sets_[reads].access;
    reads = sets_[reads].next;
  }
  for (uint32_t i = kKeptReads; i-- > 0;) out = push(out, kept[i]);
  return out;
}

void History::record_read(uint64_t address, uint64_t bytes, uint32_t id) {
  while (bytes != 0) {
    Page& of = page(address);
    const uint64_t begin = address % kPage, count = std::min(bytes, kPage - begin);
    for (uint64_t at = begin; at < begin + count;) {
      const uint32_t before = of.reads[at], after = with_read(before, id);
      for (; at < begin + count && of.reads[at] == before; ++at) of.reads[at] = after;
    }
    address += count;
    bytes -= count;
  }
}

}  // namespace tw::ptx_machine
