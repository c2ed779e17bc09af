// SPDX-License-Identifier: Apache-2.0
#include "kernels/common/host_engine.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "descs.hpp"
#include "doctest_main.hpp"
#include "tensor_map/rules/check.hpp"

namespace tw {
namespace {

struct Setup {
  std::vector<uint8_t> memory = std::vector<uint8_t>(64 * 1024 + 16);
  std::unique_ptr<HostEngine> engine = std::make_unique<HostEngine>();
  uint64_t base() const { return (reinterpret_cast<uint64_t>(memory.data()) + 15) / 16 * 16; }

  TensorMapBytes map(uint64_t columns) const {
    TensorMapDesc desc = test::matrix(64, columns, 8, 64, Swizzle::b128);
    desc.global_address = base();
    TensorMapBytes bytes;
    REQUIRE(encode(desc, 90, &bytes).ok());
    return bytes;
  }
};

TEST_CASE("boxes are counted and moved, through more maps than the cache holds") {
  Setup s;
  for (size_t i = 0; i < s.memory.size(); ++i) s.memory[i] = static_cast<uint8_t>(i * 7);
  const int32_t coord[] = {0, 8};
  for (int pass = 0; pass < 2; ++pass)
    for (uint64_t columns = 64; columns <= 64 * 7; columns += 64) {
      s.engine->load(s.map(columns), coord, 2048);
      CHECK(std::memcmp(s.engine->shared() + 2048,
                        reinterpret_cast<void*>(s.base() + 8 * columns * 2), 16) == 0);
    }
  s.engine->store(s.map(64), coord, 0);
  s.engine->prefetch(s.map(64), coord);
  s.engine->load_bulk(s.base(), 16, 32);
  s.engine->store_bulk(s.base(), 16, 32);
  s.engine->prefetch_bulk(s.base(), 32);
  CHECK(s.engine->fault()[0] == '\0');
  CHECK(s.engine->counters().boxes_loaded == 15);
  CHECK(s.engine->counters().boxes_stored == 2);
  CHECK(s.engine->counters().boxes_prefetched == 2);
  CHECK(reinterpret_cast<uintptr_t>(s.engine->shared()) % 1024 == 0);
}

TEST_CASE("the first fault stays, and nothing is done after it until the next launch") {
  Setup s;
  const TensorMapBytes map = s.map(64);
  const int32_t wrong[] = {1, 0};
  const int32_t right[] = {0, 0};
  s.engine->load(map, wrong, 0);
  const std::string first = s.engine->fault();
  CHECK(first.find("coordinate 0 is 1") != first.npos);
  const int32_t negative[] = {0, -1};
  s.engine->store(map, negative, 0);
  s.engine->load(map, right, 0);
  CHECK(s.engine->fault() == first);
  CHECK(s.engine->counters().boxes_loaded == 0);
  s.engine->reset();
  CHECK(s.engine->fault()[0] == '\0');
  s.engine->load(map, right, 0);
  CHECK(s.engine->counters().boxes_loaded == 1);
}

TEST_CASE("shared memory has an end, and 128 bytes may be no map") {
  Setup s;
  const int32_t coord[] = {0, 0};
  s.engine->load(s.map(64), coord, HostEngine::kSharedBytes - 1024);
  CHECK(s.engine->fault()[0] == '\0');
  s.engine->load(s.map(64), coord, HostEngine::kSharedBytes - 896);
  CHECK(std::string(s.engine->fault()).find("shared address out of range") == 0);
  s.engine->reset();
  s.engine->load_bulk(s.base(), HostEngine::kSharedBytes, 16);
  CHECK(std::string(s.engine->fault()).find("shared address out of range") == 0);
  s.engine->reset();
  s.engine->load_bulk(s.base(), 0xfffffff0u, 32);
  CHECK(std::string(s.engine->fault()).find("shared address out of range") == 0);
  s.engine->reset();
  TensorMapBytes junk = s.map(64);
  junk.words[12] = 1;
  s.engine->load(junk, coord, 0);
  CHECK(std::string(s.engine->fault()).find("invalid tensor map") != std::string::npos);
}

}  // namespace
}  // namespace tw
