// SPDX-License-Identifier: Apache-2.0
// The library's answers against the live driver and the live copy engine, on fresh random
// questions: TW_SEED sets the seed, which is printed otherwise.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tensor_map/descriptor.hpp"
#include "tensor_map/model/reduce_ops.hpp"
#include "tensor_map/model/tma_model.hpp"
#include "tensor_map/rules/check.hpp"
#include "tensor_map/tensor_map.hpp"
#include "tests/device/common/copy_engine_ptx.hpp"
#include "tests/device/common/live_driver.hpp"
#include "tests/device/common/random_maps.hpp"

namespace tw {
namespace {

using test::LiveDriver;
using test::RandomMaps;

constexpr int kDescriptions = 200000;
constexpr int kOperations = 2000;
constexpr uint64_t kArena = 256 * 1024;
constexpr uint32_t kShared = 128 * 1024;

uint64_t seed() {
  const char* text = std::getenv("TW_SEED");
  const uint64_t value = text ? std::strtoull(text, nullptr, 0) : std::random_device()();
  std::printf("TW_SEED=%llu\n", static_cast<unsigned long long>(value));
  return value;
}

int32_t driver_encode(const LiveDriver& cu, const TensorMapDesc& d, TensorMapBytes* bytes) {
  const int type = dtype_tensor_map_type(d.dtype);
  const auto rank = static_cast<uint32_t>(d.rank);
  void* address = reinterpret_cast<void*>(d.global_address);
  const auto interleave = static_cast<int>(d.interleave);
  const auto swizzle = static_cast<int>(d.swizzle);
  const auto promotion = static_cast<int>(d.l2_promotion);
  const auto fill = static_cast<int>(d.oob_fill);
  if (d.kind == MapKind::tiled)
    return cu.encode_tiled(bytes, type, rank, address, d.global_dim, d.global_stride_bytes,
                           d.box_dim, d.element_strides, interleave, swizzle, promotion, fill);
  if (d.kind == MapKind::im2col)
    return cu.encode_im2col(bytes, type, rank, address, d.global_dim, d.global_stride_bytes,
                            d.lower_corner, d.upper_corner, d.channels_per_pixel,
                            d.pixels_per_column, d.element_strides, interleave, swizzle, promotion,
                            fill);
  return cu.encode_wide(bytes, type, rank, address, d.global_dim, d.global_stride_bytes,
                        d.lower_corner[0], d.upper_corner[0], d.channels_per_pixel,
                        d.pixels_per_column, d.element_strides, interleave, d.wide_mode, swizzle,
                        promotion, fill);
}

std::string spell(const TensorMapDesc& d) {
  std::string text = "kind " + std::to_string(static_cast<int>(d.kind)) + " type " +
                     dtype_name(d.dtype) + " rank " + std::to_string(d.rank) + " interleave " +
                     std::to_string(static_cast<int>(d.interleave)) + " swizzle " +
                     std::to_string(static_cast<int>(d.swizzle)) + " fill " +
                     std::to_string(static_cast<int>(d.oob_fill)) + " promotion " +
                     std::to_string(static_cast<int>(d.l2_promotion)) + " address " +
                     std::to_string(d.global_address);
  for (int i = 0; i < 5; ++i)
    text += " [" + std::to_string(d.global_dim[i]) + " : " +
            std::to_string(d.global_stride_bytes[i]) + " box " + std::to_string(d.box_dim[i]) +
            " / " + std::to_string(d.element_strides[i]) + "]";
  text += " channels " + std::to_string(d.channels_per_pixel) + " pixels " +
          std::to_string(d.pixels_per_column);
  for (int i = 0; i < 3; ++i)
    text +=
        " (" + std::to_string(d.lower_corner[i]) + ", " + std::to_string(d.upper_corner[i]) + ")";
  return text;
}

TEST_CASE("random descriptions: accepted, refused and encoded as by the live driver") {
  LiveDriver cu;
  if (std::string(test::test_device()) != "cuda") return test::skip("needs a GPU");
  if (!cu.open()) return;
  RandomMaps maps(seed());
  int accepted = 0;
  int differ = 0;
  for (int i = 0; i < kDescriptions; ++i) {
    MapKind kind = static_cast<MapKind>(i % 8 < 5 ? 0 : (i % 8 < 7 ? 1 : 2));
    if (kind == MapKind::im2col_wide && !cu.encode_wide) kind = MapKind::im2col;
    const TensorMapDesc desc = maps.wild(kind);
    TensorMapBytes theirs;
    TensorMapBytes ours;
    const bool driver_takes = driver_encode(cu, desc, &theirs) == 0;
    Violations violations;
    check_all(desc, 90, &violations);
    accepted += driver_takes;
    bool same = driver_takes == (violations.count == 0);
    if (same && driver_takes) {
      encode_accepted(desc, &ours);
      same = std::memcmp(&ours, &theirs, sizeof ours) == 0;
    }
    if (same) continue;
    const std::string text = spell(desc);
    const std::string rule = violations.count == 0 ? "none" : rule_row(violations.items[0].rule).id;
    if (++differ <= 10)
      FAIL_CHECK("driver " << driver_takes << ", our first broken rule: " << rule << ": " << text);
  }
  CHECK(differ == 0);
  CHECK(accepted > kDescriptions / 20);
  CHECK(accepted < kDescriptions * 19 / 20);
  std::printf("%d descriptions, %d accepted, %d differ\n", kDescriptions, accepted, differ);
}

// One random operation that does not fault, for the model and for the hardware.
struct Operation {
  enum Kind { load, im2col, store, reduce } kind;
  TensorMapDesc desc;
  int32_t coord[5] = {};
  uint16_t offsets[3] = {};
  model::ReduceOp op = model::ReduceOp::add;

  std::string kernel() const {
    const std::string rank = "_" + std::to_string(desc.rank);
    if (kind == load) return "load" + rank;
    if (kind == im2col) return "im2col" + rank;
    if (kind == store) return "store" + rank;
    return std::string("reduce_") + test::kReduceNames[static_cast<int>(op)] + rank;
  }
  model::Outcome run(TensorMapDesc on_host, uint8_t* shared) const {
    if (kind == load) return model::load_tile(on_host, coord, shared, 0);
    if (kind == im2col) return model::load_im2col(on_host, coord, offsets, shared, 0);
    if (kind == store) return model::store_tile(on_host, coord, shared, 0);
    return model::reduce_tile(on_host, coord, shared, 0, op);
  }
};

Operation draw(RandomMaps& maps) {
  Operation o;
  o.kind = static_cast<Operation::Kind>(maps.below(4));
  o.desc = maps.tame(o.kind == Operation::im2col ? MapKind::im2col : MapKind::tiled, kArena);
  do {
    o.op = static_cast<model::ReduceOp>(maps.below(8));
    if (maps.below(64) == 0) break;  // most types have none: not worth another map each time
  } while (o.kind == Operation::reduce && !model::reduce_chunk(o.desc.dtype, o.op));
  const bool negative = o.kind == Operation::load;
  for (int i = 0; i < o.desc.rank; ++i) {
    const auto extent = static_cast<int64_t>(o.desc.global_dim[i]);
    const bool spatial = o.kind == Operation::im2col && i > 0 && i + 1 < o.desc.rank;
    const int64_t low = spatial ? o.desc.lower_corner[i - 1] : (negative ? -8 : 0);
    const int64_t high = spatial ? extent - 1 + o.desc.upper_corner[i - 1] : extent + 1;
    o.coord[i] = static_cast<int32_t>(maps.between(low, high));
    if (spatial) o.offsets[i - 1] = static_cast<uint16_t>(maps.below(4));
  }
  const int32_t step = 16 / dtype_bytes(o.desc.dtype);
  o.coord[0] = o.coord[0] / step * step;
  return o;
}

// Random bits; now and then infinities, NaNs, zeros and subnormals of 16, 32 and 64 bits.
uint64_t random_word(RandomMaps& maps) {
  static constexpr uint64_t kSpecial[] = {
      0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff4000000000001,
      0x7ff0000000000001, 0x8000000000000000, 0x0000000000000001, 0x7f800000ff800000,
      0x7fc00000ffc00001, 0x8000000000000001, 0x007fffff80000001, 0x7c00fc007e00fe01,
      0x7f80ff807fc0ffc1, 0x0001800100008000};
  return maps.below(4) != 0 ? maps.below(UINT64_MAX) : kSpecial[maps.below(std::size(kSpecial))];
}

struct Arena {
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kArena + 1024);
  uint8_t* begin() {
    auto p = reinterpret_cast<uintptr_t>(bytes.data());
    return bytes.data() + ((p + 1023) & ~uintptr_t{1023}) - p;
  }
};

// The first 8-byte word of the arena in which the two differ.
std::string difference(const uint8_t* model, const uint8_t* hardware) {
  for (uint64_t at = 0; at < kArena; at += 8) {
    uint64_t ours;
    uint64_t theirs;
    std::memcpy(&ours, model + at, 8);
    std::memcpy(&theirs, hardware + at, 8);
    if (ours == theirs) continue;
    char text[120];
    std::snprintf(text, sizeof text, "; at %llu the model has %016llx, the hardware %016llx",
                  static_cast<unsigned long long>(at), static_cast<unsigned long long>(ours),
                  static_cast<unsigned long long>(theirs));
    return text;
  }
  return "; in shared memory";
}

class CopyEngine {
 public:
  explicit CopyEngine(const LiveDriver& cu) : cu_(cu) {
    REQUIRE(cu.module_load(&module_, test::copy_engine_ptx().c_str()) == 0);
    REQUIRE(cu.allocate(&arena_, kArena) == 0);
    REQUIRE(cu.allocate(&image_, kShared) == 0);
    REQUIRE(cu.allocate(&status_, 256) == 0);
  }
  ~CopyEngine() {
    for (const uint64_t memory : {arena_, image_, status_}) (void)cu_.release(memory);
  }
  // Does the operation on copies of both memories and brings them back. Shared memory's image is of
  // `bytes`, a multiple of 1024.
  void run(const Operation& o, uint32_t bytes, uint32_t tx, uint8_t* arena, uint8_t* shared) {
    TensorMapDesc desc = o.desc;
    desc.global_address += arena_;
    alignas(128) TensorMapBytes map;
    REQUIRE(encode(desc, 90, &map).ok());
    void* function = nullptr;
    REQUIRE(cu_.module_function(&function, module_, o.kernel().c_str()) == 0);
    REQUIRE(cu_.function_set(function, 8, static_cast<int>(bytes + 16)) == 0);
    int32_t offsets[3] = {o.offsets[0], o.offsets[1], o.offsets[2]};
    int32_t coord[5];
    std::memcpy(coord, o.coord, sizeof coord);
    uint32_t status = 0;
    REQUIRE(cu_.to_device(arena_, arena, kArena) == 0);
    REQUIRE(cu_.to_device(image_, shared, bytes) == 0);
    REQUIRE(cu_.to_device(status_, &status, 4) == 0);
    void* params[] = {&map, &image_, &bytes, &tx, coord, offsets, &status_};
    REQUIRE(cu_.launch(function, 1, 1, 1, 128, 1, 1, bytes + 16, nullptr, params, nullptr) == 0);
    const std::string text = o.kernel() + ": " + spell(o.desc);
    CAPTURE(text);
    REQUIRE(cu_.synchronize() == 0);
    REQUIRE(cu_.to_host(&status, status_, 4) == 0);
    CHECK(status == 1);
    REQUIRE(cu_.to_host(arena, arena_, kArena) == 0);
    REQUIRE(cu_.to_host(shared, image_, bytes) == 0);
  }

 private:
  const LiveDriver& cu_;
  void* module_ = nullptr;
  uint64_t arena_ = 0;
  uint64_t image_ = 0;
  uint64_t status_ = 0;
};

TEST_CASE(
    "random loads, stores, reductions and im2col loads: the model's bytes are the hardware's") {
  LiveDriver cu;
  if (std::string(test::test_device()) != "cuda") return test::skip("needs a GPU");
  if (!cu.open()) return;
  RandomMaps maps(seed());
  CopyEngine engine(cu);
  Arena host, device, shared_host, shared_device;
  int done[4] = {};
  int differ = 0;
  for (int i = 0; i < kOperations;) {
    const Operation o = draw(maps);
    for (uint64_t at = 0; at < kArena; at += 8) {
      const uint64_t word = random_word(maps);
      std::memcpy(host.begin() + at, &word, 8);
      const uint64_t other = random_word(maps);
      if (at < kShared) std::memcpy(shared_host.begin() + at, &other, 8);
    }
    if (o.kind == Operation::load || o.kind == Operation::im2col)
      std::memset(shared_host.begin(), 0xab, kShared);
    std::memcpy(device.begin(), host.begin(), kArena);
    std::memcpy(shared_device.begin(), shared_host.begin(), kShared);

    TensorMapDesc on_host = o.desc;
    on_host.global_address += reinterpret_cast<uint64_t>(host.begin());
    const model::Outcome outcome = o.run(on_host, shared_host.begin());
    if (outcome.fault) continue;  // it would kill the context
    const uint32_t bytes = (outcome.shared_end + 1023) / 1024 * 1024;
    engine.run(o, bytes, outcome.transaction_bytes, device.begin(), shared_device.begin());
    ++done[o.kind];
    ++i;
    const bool same = std::memcmp(host.begin(), device.begin(), kArena) == 0 &&
                      std::memcmp(shared_host.begin(), shared_device.begin(), bytes) == 0;
    if (same) continue;
    const std::string text = o.kernel() + ": " + spell(o.desc);
    if (++differ <= 10)
      FAIL_CHECK("not the hardware's bytes: " << text << difference(host.begin(), device.begin()));
  }
  CHECK(differ == 0);
  for (const int count : done) CHECK(count > kOperations / 20);
  std::printf("%d loads, %d im2col loads, %d stores, %d reductions, %d differ\n", done[0], done[1],
              done[2], done[3], differ);
}

}  // namespace
}  // namespace tw
