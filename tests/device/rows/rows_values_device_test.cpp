// SPDX-License-Identifier: Apache-2.0
// Special values in row arithmetic, to the bit: NaN payloads are not propagated, and f32 additions
// in a GPU's memory flush subnormal numbers.
#include "ops/rows/rows.hpp"
#include "tests/device/common/arena.hpp"

using namespace tw;
using namespace tw::test;

namespace {

constexpr int64_t kColumns = 16;  // a multiple of 16 bytes in every type

struct Bench {
  std::shared_ptr<Device> device = open_test_device();
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Arena> table, packed, index, weights, workspace;

  Bench() {
    if (!device) return;
    TW_REQUIRE_OK(device->create_stream(&stream));
    for (std::unique_ptr<Arena>* arena : {&table, &packed, &index, &weights, &workspace})
      *arena = std::make_unique<Arena>(device, *stream, 1 << 16);
  }
  bool is_host() const { return device->info().kind == DeviceKind::host; }
};

void put(Arena& arena, DType type, const std::vector<uint32_t>& bits) {
  const auto step = static_cast<size_t>(dtype_bytes(type));
  for (size_t i = 0; i < bits.size(); ++i) std::memcpy(&arena.image()[i * step], &bits[i], step);
  arena.upload();
}

// Runs with all indices 0 and returns the bits of row 0 of the written operand.
std::vector<uint32_t> row_of(Bench& bench, Op op, RowsDesc desc, const std::vector<uint32_t>& table,
                             const std::vector<uint32_t>& packed) {
  desc.columns = kColumns;
  desc.table_rows = 1;
  put(*bench.table, desc.dtype, table);
  put(*bench.packed, desc.dtype, packed);
  put(*bench.index, DType::I32, std::vector<uint32_t>(static_cast<size_t>(desc.group), 0));
  put(*bench.weights, DType::F32,
      std::vector<uint32_t>(static_cast<size_t>(desc.group), 0x3f800000));
  desc.count = 1;
  std::unique_ptr<Plan> plan;
  TW_REQUIRE_OK(RowsPlan::create(bench.device, op, desc, &plan));
  RowsRun run{.table = bench.table->address(),
              .index = bench.index->address(),
              .packed = bench.packed->address()};
  if ((desc.flags & kRowsWeighted) != 0) run.weights = bench.weights->address();
  if (plan->info().workspace_bytes != 0) {
    run.workspace = bench.workspace->address();
    run.workspace_bytes = bench.workspace->bytes();
  }
  TW_REQUIRE_OK(static_cast<const RowsPlan&>(*plan).run(*bench.stream, run));
  const auto bytes = (op == Op::gather ? bench.packed : bench.table)->read();
  const auto step = static_cast<size_t>(dtype_bytes(desc.dtype));
  std::vector<uint32_t> out(kColumns, 0);
  for (size_t i = 0; i < out.size(); ++i) std::memcpy(&out[i], &bytes[i * step], step);
  return out;
}

std::vector<uint32_t> all(uint32_t bits) {
  return std::vector<uint32_t>(kColumns, bits);
}

struct Nans {
  DType type;
  uint32_t number;  // 1.5
  uint32_t canonical;
  uint32_t payload[4];  // quiet ones and signalling ones, of both signs
};
constexpr Nans kNans[] = {
    {DType::F32, 0x3fc00000, 0x7fffffff, {0x7fc12345, 0xffc00001, 0x7f800001, 0xffffffff}},
    {DType::F16, 0x3e00, 0x7fff, {0x7e01, 0xfe00, 0x7c01, 0xffff}},
    {DType::BF16, 0x3fc0, 0x7fff, {0x7fc1, 0xffc0, 0x7f81, 0xffff}},
};

RowsDesc desc_of(DType type, uint32_t reduction = kReduceNone, uint32_t flags = 0) {
  RowsDesc desc;
  desc.dtype = type;
  desc.reduction = static_cast<int32_t>(reduction);
  desc.flags = flags;
  return desc;
}

}  // namespace

TEST_CASE("rows: the NaN of weighted rows and of sums is the canonical one") {
  Bench bench;
  if (!bench.device) return;
  for (const Nans& nans : kNans)
    for (const uint32_t method : {kRowsSum, kRowsSumPlain})
      for (const int64_t group : {1, 3})
        for (const uint32_t payload : nans.payload) {
          CAPTURE(dtype_name(nans.type));
          CAPTURE(method);
          CAPTURE(group);
          CAPTURE(payload);
          RowsDesc desc = desc_of(nans.type, kReduceNone, kRowsWeighted);
          desc.group = group;
          desc.methods = 1u << method;
          CHECK(row_of(bench, Op::gather, desc, all(payload), all(0)) == all(nans.canonical));
          // Without arithmetic the bits are moved unchanged.
          if (group == 1)
            CHECK(row_of(bench, Op::gather, desc_of(nans.type), all(payload), all(0)) ==
                  all(payload));
        }
}

TEST_CASE("rows: minima and maxima of two NaNs are the canonical NaN, of one the number") {
  Bench bench;
  if (!bench.device) return;
  for (const Nans& nans : kNans)
    for (const uint32_t reduction : {kReduceMin, kReduceMax})
      for (const uint32_t methods : {~0u, 1u << kRowsReduce})
        for (const uint32_t mine : nans.payload) {
          CAPTURE(dtype_name(nans.type));
          CAPTURE(reduction);
          CAPTURE(mine);
          RowsDesc desc = desc_of(nans.type, reduction);
          desc.methods = methods;
          for (const uint32_t theirs : nans.payload)
            CHECK(row_of(bench, Op::scatter, desc, all(mine), all(theirs)) == all(nans.canonical));
          CHECK(row_of(bench, Op::scatter, desc, all(mine), all(nans.number)) == all(nans.number));
          CHECK(row_of(bench, Op::scatter, desc, all(nans.number), all(mine)) == all(nans.number));
        }
}

TEST_CASE("rows: the NaN of a sum in a table is the canonical one") {
  Bench bench;
  if (!bench.device) return;
  for (const Nans& nans : kNans)
    for (const uint32_t flags : {0u, uint32_t{kRowsDeterministic}, uint32_t{kRowsWeighted}})
      for (const uint32_t payload : nans.payload) {
        CAPTURE(dtype_name(nans.type));
        CAPTURE(flags);
        CAPTURE(payload);
        const RowsDesc desc = desc_of(nans.type, kReduceAdd, flags);
        CHECK(row_of(bench, Op::scatter, desc, all(payload), all(nans.number)) ==
              all(nans.canonical));
        CHECK(row_of(bench, Op::scatter, desc, all(nans.number), all(payload)) ==
              all(nans.canonical));
      }
}

TEST_CASE("rows: subnormals in sums of f32: flushed by a GPU's memory, kept in every other way") {
  Bench bench;
  if (!bench.device) return;
  constexpr uint32_t kSmall = 0x00000123, kOther = 0x80000023, kSum = 0x00000100;
  RowsDesc desc = desc_of(DType::F32, kReduceAdd);
  CHECK(row_of(bench, Op::scatter, desc, all(kSmall), all(kOther)) ==
        all(bench.is_host() ? kSum : 0));
  desc.flags = kRowsDeterministic;
  CHECK(row_of(bench, Op::scatter, desc, all(kSmall), all(kOther)) == all(kSum));
  for (const uint32_t methods : {1u << kRowsSum, 1u << kRowsSumPlain}) {
    RowsDesc sum = desc_of(DType::F32);
    sum.group = 2;
    sum.methods = methods;
    CHECK(row_of(bench, Op::gather, sum, all(kSmall), all(0)) == all(2 * kSmall));
  }
  CHECK(row_of(bench, Op::scatter, desc_of(DType::F32, kReduceMin), all(kSmall), all(kOther)) ==
        all(kOther));
  CHECK(row_of(bench, Op::scatter, desc_of(DType::F32, kReduceMax), all(kSmall), all(kOther)) ==
        all(kSmall));
  for (const uint32_t flags : {0u, uint32_t{kRowsDeterministic}}) {
    CHECK(row_of(bench, Op::scatter, desc_of(DType::F16, kReduceAdd, flags), all(0x0023),
                 all(0x0100)) == all(0x0123));
    CHECK(row_of(bench, Op::scatter, desc_of(DType::BF16, kReduceAdd, flags), all(0x0023),
                 all(0x0010)) == all(0x0033));
  }
}
