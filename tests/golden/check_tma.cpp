// SPDX-License-Identifier: Apache-2.0
// golden_check tma: each line is one TMA operation on a 1 MiB arena with seeded contents, and a
// hash of the memory that the hardware left.
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "lines.hpp"
#include "tensor_map/descriptor.hpp"
#include "tensor_map/model/tma_model.hpp"
#include "tensor_map/rules/check.hpp"

namespace golden {
namespace {

using tw::model::Outcome;

constexpr size_t kArena = 1 << 20;
constexpr size_t kShared = 228 * 1024 + 4096;

uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

void fill_random(uint8_t* memory, size_t bytes, uint64_t seed) {
  for (size_t i = 0; i < bytes / 8; ++i) {
    const uint64_t word = splitmix64(i + seed * 0x10001u);
    std::memcpy(memory + i * 8, &word, 8);
  }
}

// Small integers and their sums are exact in every type.
void fill_integers(uint8_t* memory, size_t bytes, uint64_t seed, int32_t map_type) {
  const int size = tw::dtype_bytes(dtype_of_map_type(map_type));
  for (size_t j = 0; j < bytes / static_cast<size_t>(size); ++j) {
    const auto value = static_cast<int>(splitmix64(j + seed * 0x10001u) % 33) - 16;
    const auto f = static_cast<float>(value);
    const double d = value;
    uint8_t* element = memory + j * static_cast<size_t>(size);
    uint32_t bits;
    std::memcpy(&bits, &f, 4);
    if (size == 8) {
      std::memcpy(element, &d, 8);
    } else if (size == 4) {
      std::memcpy(element, &bits, 4);
    } else {
      // bf16 is the upper half of f32. For f16 the exponent bias changes; all values are normal.
      const uint32_t magnitude = bits & 0x7fffffffu;
      const uint32_t f16 =
          (bits >> 16 & 0x8000u) | (magnitude == 0 ? 0 : (magnitude - (112u << 23)) >> 13);
      const auto half = static_cast<uint16_t>(map_type == 6 ? f16 : bits >> 16);
      std::memcpy(element, &half, 2);
    }
  }
}

uint64_t fnv1a(const uint8_t* memory, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ memory[i]) * 0x100000001b3u;
  return hash;
}

std::string hex(const uint8_t* memory, size_t bytes) {
  std::string text;
  char pair[3];
  for (size_t i = 0; i < bytes; ++i) {
    std::snprintf(pair, sizeof pair, "%02x", memory[i]);
    text += pair;
  }
  return text;
}

std::string differs(const char* what, uint64_t ours, uint64_t theirs) {
  if (ours == theirs) return {};
  return std::string(what) + " is " + std::to_string(ours) + ", the hardware's " +
         std::to_string(theirs);
}

struct Memory {
  std::unique_ptr<uint8_t[]> arena_bytes{new uint8_t[kArena + 1024]};
  std::unique_ptr<uint8_t[]> shared_bytes{new uint8_t[kShared + 1024]};
  std::vector<uint8_t> before;
  uint8_t* arena() { return aligned(arena_bytes.get()); }
  uint8_t* shared() { return aligned(shared_bytes.get()); }

  static uint8_t* aligned(uint8_t* p) {
    return reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(p) + 1023) & ~uintptr_t{1023});
  }
};

// Runs the operation on a description that was encoded to 128 bytes and decoded again.
std::string run(const nlohmann::json& line, const std::string& kind, Memory& memory,
                Outcome* outcome, tw::TensorMapDesc* out_desc) {
  const bool im2col = kind.rfind("im2col", 0) == 0;
  tw::TensorMapDesc desc = read_map(line, im2col ? "im2col" : "tiled");
  desc.global_address =
      reinterpret_cast<uint64_t>(memory.arena()) + line.at("offset").get<uint64_t>();
  tw::TensorMapBytes bytes;
  if (!tw::encode(desc, 90, &bytes).ok()) return tw::last_failure().message;
  if (!tw::decode(bytes, &desc).ok()) return tw::last_failure().message;

  int32_t coord[5] = {};
  size_t i = 0;
  for (const auto& c : line.at("coord"))
    if (i < 5) coord[i++] = c.get<int32_t>();
  const auto redop = line.at("redop").get<int32_t>();
  if (im2col) {
    uint16_t offsets[3] = {};
    i = 0;
    for (const auto& o : line.at("offsets"))
      if (i < 3) offsets[i++] = o.get<uint16_t>();
    *outcome = tw::model::load_im2col(desc, coord, offsets, memory.shared(), 0);
  } else if (kind.rfind("load", 0) == 0) {
    *outcome = tw::model::load_tile(desc, coord, memory.shared(), 0);
  } else if (redop < 0) {
    *outcome = tw::model::store_tile(desc, coord, memory.shared(), 0);
  } else {
    *outcome = tw::model::reduce_tile(desc, coord, memory.shared(), 0,
                                      static_cast<tw::model::ReduceOp>(redop));
  }
  *out_desc = desc;
  return {};
}

std::string check_shared(const nlohmann::json& line, Memory& memory, const Outcome& outcome) {
  const auto span = line.at("span_bytes").get<uint64_t>();
  if (span > kShared) return "span_bytes exceeds shared memory";
  if (auto why = differs("span", outcome.shared_end, span); !why.empty()) return why;
  if (line.contains("bytes")) {
    const std::string ours = hex(memory.shared(), span);
    if (ours != line.at("bytes").get<std::string>()) return "bytes are " + ours;
  }
  uint64_t touched = 0;
  for (uint64_t i = 0; i < kShared; ++i)
    if (memory.shared()[i] != 0xab) touched = i + 1;
  if (auto why = differs("touched", touched, line.at("touched").get<uint64_t>()); !why.empty())
    return why;
  const uint64_t hash = fnv1a(memory.shared(), span);
  return differs("hash", hash, std::stoull(line.at("hash").get<std::string>(), nullptr, 16));
}

std::string check_samples(const nlohmann::json& line, Memory& memory) {
  for (const auto& sample : line.at("samples")) {
    const auto at = sample.at(0).get<size_t>();
    const auto before = sample.at(1).get<std::string>();
    const auto after = sample.at(2).get<std::string>();
    if (at + after.size() / 2 > kArena) return "a sample lies outside the arena";
    if (hex(memory.before.data() + at, before.size() / 2) != before)
      return "before the operation, byte " + std::to_string(at) + " is not " + before;
    const std::string ours = hex(memory.arena() + at, after.size() / 2);
    if (ours != after)
      return "byte " + std::to_string(at) + ": " + before + " became " + ours + ", on hardware " +
             after;
  }
  return {};
}

std::string check_arena(const nlohmann::json& line, Memory& memory) {
  if (line.contains("samples"))
    if (auto why = check_samples(line, memory); !why.empty()) return why;
  uint64_t changed = 0, first = 0, last = 0;
  for (size_t i = 0; i < kArena; ++i)
    if (memory.arena()[i] != memory.before[i]) {
      if (changed++ == 0) first = i;
      last = i;
    }
  if (auto why = differs("changed", changed, line.at("changed").get<uint64_t>()); !why.empty())
    return why;
  if (auto why = differs("first", first, line.at("first").get<uint64_t>()); !why.empty())
    return why;
  if (auto why = differs("last", last, line.at("last").get<uint64_t>()); !why.empty()) return why;
  const uint64_t hash = fnv1a(memory.arena(), kArena);
  return differs("hash", hash, std::stoull(line.at("hash").get<std::string>(), nullptr, 16));
}

bool known_kind(const std::string& kind) {
  for (const char* known : {"load", "im2col", "store", "reduce", "reduce_bits", "load-fault",
                            "store-fault", "im2col-fault"})
    if (kind == known) return true;
  return false;
}

}  // namespace

std::string check_tma_line(const nlohmann::json& line) {
  const auto kind = line.at("kind").get<std::string>();
  if (!known_kind(kind)) return "unknown kind " + kind;
  const bool load = kind.rfind("load", 0) == 0 || kind.rfind("im2col", 0) == 0;
  const auto seed = line.at("seed").get<uint64_t>();
  const auto map_type = line.at("dtype").get<int32_t>();

  Memory memory;
  if (kind == "reduce" && map_type >= 6) {
    fill_integers(memory.arena(), kArena, seed, map_type);
    fill_integers(memory.shared(), kShared, seed + 1, map_type);
  } else {
    fill_random(memory.arena(), kArena, seed);
    fill_random(memory.shared(), kShared, seed + 1);
  }
  if (load) std::memset(memory.shared(), 0xab, kShared);
  memory.before.assign(memory.arena(), memory.arena() + kArena);

  Outcome outcome;
  tw::TensorMapDesc desc;
  if (auto why = run(line, kind, memory, &outcome, &desc); !why.empty()) return why;

  const auto cuda = line.at("cuda").get<int32_t>();
  if (cuda != 0 && cuda != 715) return "unknown result " + std::to_string(cuda);
  if (outcome.fault != (cuda == 715))
    return outcome.fault ? std::string("fault: ") + outcome.reason : "no fault";
  if (outcome.fault) return {};
  const bool complete = outcome.transaction_bytes == line.at("tx").get<uint64_t>();
  if (complete != (line.at("status").get<int32_t>() == 1))
    return differs("transaction", outcome.transaction_bytes, line.at("tx").get<uint64_t>());
  return load ? check_shared(line, memory, outcome) : check_arena(line, memory);
}

}  // namespace golden
