// SPDX-License-Identifier: Apache-2.0
#pragma once
// The accesses of launches to global memory: for each byte the last write, and the reads since.
//
// The machine runs one launch after the other. For a dependent launch (PDL), which may begin before
// its predecessor grid has ended, the history keeps that grid's accesses, and the judge treats them
// as unordered until griddepcontrol.wait.

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tests/ptx_machine/machine/knowledge.hpp"
#include "tests/ptx_machine/program/program.hpp"

namespace tw::ptx_machine {

/// An access to global memory. `agent` and `time` are those of the vector clocks (knowledge.hpp).
struct GlobalAccess {
  uint32_t launch = 0, cluster = 0, agent = 0, time = 0, line = 0;
  Op op{};
  uint8_t rank = 0, warp = 0;  // the CTA's in its cluster, the warp's in the CTA
  Reach reach = Reach::weak;
  Proxy proxy = Proxy::generic;
  bool constant = false;    // ld.global.nc
  bool map_copied = false;  // write of a tensor map by tensormap.cp_fenceproxy
  bool same = false;        // write of the bytes that are there already
  bool operator==(const GlobalAccess&) const = default;
};

class History {
 public:
  /// `programmatic`: a dependent launch. It overlaps its predecessor only in the same stream; the
  /// caller orders launches of different streams.
  void begin_launch(bool programmatic, const void* stream);
  /// All launches so far end before the next one begins.
  void settle() { settled_ = true; }
  /// Something other than a launch has written the bytes.
  void forget(uint64_t address, uint64_t bytes);
  /// The current launch has executed griddepcontrol.wait.
  void waited() { waited_ = true; }
  uint32_t launch() const { return launch_; }
  /// The first launch that may still run.
  uint32_t first_in_flight() const { return first_in_flight_; }

  Releases& releases() { return releases_; }

  uint32_t add(const GlobalAccess& access);
  const GlobalAccess& at(uint32_t id) const { return accesses_[id]; }

  /// Adjacent bytes with equal history: the last write's id and a list of reads; 0: none.
  struct Run {
    uint64_t address = 0, bytes = 0;
    uint32_t write = 0, reads = 0;
  };
  template <class Visit>
  void each_run(uint64_t address, uint64_t bytes, Visit visit);
  /// Calls visit(access) for the reads of a run until it returns false.
  template <class Visit>
  void each_read(uint32_t reads, Visit visit) const {
    for (; reads != 0; reads = sets_[reads].next)
      if (!visit(at(sets_[reads].access))) return;
  }
  void record_write(uint64_t address, uint64_t bytes, uint32_t id);
  void record_read(uint64_t address, uint64_t bytes, uint32_t id);

 private:
  static constexpr uint64_t kPage = 4096;
  struct Page {
    uint32_t write[kPage] = {}, reads[kPage] = {};
  };
  /// Node of a list of a byte's reads, latest first. Lists share their tails.
  struct Set {
    uint32_t access = 0, next = 0, length = 0;
  };

  Page& page(uint64_t address);
  void clear();
  uint32_t with_read(uint32_t reads, uint32_t id);
  /// The list with one more read.
  uint32_t push(uint32_t reads, uint32_t id);
  /// A list of the latest reads only, so that lists do not grow without bound.
  uint32_t newest(uint32_t reads);

  uint32_t launch_ = 0, first_in_flight_ = 0;
  bool settled_ = true, waited_ = false;
  const void* stream_ = nullptr;
  std::vector<GlobalAccess> accesses_{1};
  std::vector<Set> sets_{1};
  std::unordered_map<uint64_t, uint32_t> joined_;  // (list, access) to the list with that access
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t last_number_ = ~uint64_t{0};
  Page* last_ = nullptr;
  Releases releases_;
};

template <class Visit>
void History::each_run(uint64_t address, uint64_t bytes, Visit visit) {
  while (bytes != 0) {
    const Page& of = page(address);
    const uint64_t begin = address % kPage;
    uint64_t end = begin + 1;
    const uint64_t most = begin + bytes < kPage ? begin + bytes : kPage;
    while (end < most && of.write[end] == of.write[begin] && of.reads[end] == of.reads[begin])
      ++end;
    visit(Run{address, end - begin, of.write[begin], of.reads[begin]});
    address += end - begin;
    bytes -= end - begin;
  }
}

}  // namespace tw::ptx_machine
