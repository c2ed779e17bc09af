// SPDX-License-Identifier: Apache-2.0
// The library's graphs, for programs that do not use CUDA themselves: a step of several operations
// is replayed a thousand times with changing data, and updated by captures with other addresses.
#include <random>

#include "tests/device/common/plan_set.hpp"

namespace tw::test {
namespace {

using GraphHandle = Owned<tw_graph, tw_graph_destroy>;

constexpr int64_t kRows = 64;    // rows of the table
constexpr int64_t kTokens = 16;  // rows gathered by a step; m
constexpr int64_t kWidth = 32;   // columns of the table; k
constexpr int64_t kOut = 64;     // n

/// Device memory that a step reads and writes.
struct Buffers {
  uint64_t table = 0, index = 0, packed = 0, weights = 0, product = 0, kept = 0;
};

class Step {
 public:
  explicit Step(tw_device* device) : device_(device) {
    tw_rows_desc rows;
    TW_REQUIRE_CALL(tw_rows_desc_init(&rows, sizeof rows));
    rows.dtype = TW_DTYPE_BF16;
    rows.table_rows = kRows;
    rows.columns = kWidth;
    rows.count = kTokens;
    tw_plan* plan = nullptr;
    TW_REQUIRE_CALL(tw_gather_plan(device, &rows, &plan));
    gather_.reset(plan);
    tw_gemm_desc gemm;
    TW_REQUIRE_CALL(tw_gemm_desc_init(&gemm, sizeof gemm));
    gemm.m = kTokens;
    gemm.n = kOut;
    gemm.k = kWidth;
    TW_REQUIRE_CALL(tw_gemm_plan(device, &gemm, &plan));
    gemm_.reset(plan);
  }

  uint64_t memory(uint64_t bytes) const {
    uint64_t address = 0;
    TW_REQUIRE_CALL(tw_malloc(device_, bytes, &address));
    return address;
  }
  Buffers buffers() const {
    return {memory(kRows * kWidth * 2), memory(kTokens * 4),        memory(kTokens * kWidth * 2),
            memory(kWidth * kOut * 2),  memory(kTokens * kOut * 2), memory(kTokens * kOut * 2)};
  }

  /// Gathers rows, multiplies them by the weights, and copies the product.
  void run(tw_stream* stream, const Buffers& at) const {
    tw_rows_args rows;
    TW_REQUIRE_CALL(tw_rows_args_init(&rows, sizeof rows));
    rows.table = at.table;
    rows.index = at.index;
    rows.packed = at.packed;
    TW_REQUIRE_CALL(tw_gather_run(gather_.get(), stream, &rows));
    tw_gemm_args gemm;
    TW_REQUIRE_CALL(tw_gemm_args_init(&gemm, sizeof gemm));
    gemm.a = at.packed;
    gemm.b = at.weights;
    gemm.d = at.product;
    TW_REQUIRE_CALL(tw_gemm_run(gemm_.get(), stream, &gemm));
    TW_REQUIRE_CALL(tw_memcpy_on_device(stream, at.kept, at.product, kTokens * kOut * 2));
    TW_REQUIRE_CALL(tw_memset(stream, at.product, 0xee, kTokens * kOut * 2));
  }

  GraphHandle capture(tw_stream* stream, const Buffers& at) const {
    tw_graph* graph = nullptr;
    TW_REQUIRE_CALL(tw_stream_begin_capture(stream));
    run(stream, at);
    TW_REQUIRE_CALL(tw_stream_end_capture(stream, &graph));
    return GraphHandle(graph);
  }

 private:
  tw_device* device_;
  PlanHandle gather_, gemm_;
};

uint16_t bf16_of(int value) {
  const auto number = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &number, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);  // small integers are exact
}

/// Random small integers, so that every sum is exact, and the expected result.
struct Data {
  std::vector<uint16_t> table, weights, expected;
  std::vector<int32_t> index;

  explicit Data(std::mt19937& random) {
    std::uniform_int_distribution<int> small(-2, 2), row(0, kRows - 1);
    std::vector<int> t(kRows * kWidth), w(kWidth * kOut);
    for (int& value : t) value = small(random);
    for (int& value : w) value = small(random);
    for (int64_t i = 0; i < kTokens; ++i) index.push_back(row(random));
    for (const int value : t) table.push_back(bf16_of(value));
    for (const int value : w) weights.push_back(bf16_of(value));
    for (int64_t i = 0; i < kTokens; ++i)
      for (int64_t j = 0; j < kOut; ++j) {
        int sum = 0;
        for (int64_t k = 0; k < kWidth; ++k)
          sum += t[static_cast<size_t>(index[static_cast<size_t>(i)] * kWidth + k)] *
                 w[static_cast<size_t>(k * kOut + j)];
        expected.push_back(bf16_of(sum));
      }
  }

  void upload(tw_stream* stream, const Buffers& at) const {
    TW_REQUIRE_CALL(tw_memcpy_to_device(stream, at.table, table.data(), table.size() * 2));
    TW_REQUIRE_CALL(tw_memcpy_to_device(stream, at.weights, weights.data(), weights.size() * 2));
    TW_REQUIRE_CALL(tw_memcpy_to_device(stream, at.index, index.data(), index.size() * 4));
    TW_REQUIRE_CALL(tw_memset(stream, at.kept, 0, expected.size() * 2));
  }
};

TEST_CASE("graphs: a thousand replays with updated addresses and other data") {
  const DeviceHandle device = open_any_device();
  if (!device) return;
  const Step step(device.get());
  const StreamHandle capturing = new_stream(device.get()), stream = new_stream(device.get());
  std::vector<Buffers> places;
  for (int i = 0; i < 5; ++i) places.push_back(step.buffers());
  std::mt19937 random(11);
  std::vector<Data> data;
  for (int i = 0; i < 7; ++i) data.emplace_back(random);
  const GraphHandle graph = step.capture(capturing.get(), places[0]);
  TW_REQUIRE_CALL(tw_graph_instantiate(graph.get()));
  std::vector<uint16_t> got(data[0].expected.size());
  int wrong = 0;
  for (size_t replay = 0; replay < 1000; ++replay) {
    const Buffers& at = places[replay % places.size()];
    const Data& in = data[replay % data.size()];
    const GraphHandle again = step.capture(capturing.get(), at);
    TW_REQUIRE_CALL(tw_graph_update(graph.get(), again.get()));
    in.upload(stream.get(), at);
    TW_REQUIRE_CALL(tw_graph_launch(graph.get(), stream.get()));
    TW_REQUIRE_CALL(tw_memcpy_to_host(stream.get(), got.data(), at.kept, got.size() * 2));
    TW_REQUIRE_CALL(tw_stream_synchronize(stream.get()));
    wrong += got != in.expected;
  }
  CHECK(wrong == 0);
}

// Launches without waiting in between: an update must not affect launches that are pending.
TEST_CASE("graphs: updates between pending launches") {
  const DeviceHandle device = open_any_device();
  if (!device) return;
  const Step step(device.get());
  const StreamHandle capturing = new_stream(device.get()), stream = new_stream(device.get());
  std::mt19937 random(12);
  std::vector<Buffers> places;
  std::vector<Data> data;
  for (int i = 0; i < 8; ++i) {
    places.push_back(step.buffers());
    data.emplace_back(random);
    data.back().upload(stream.get(), places.back());
  }
  const GraphHandle graph = step.capture(capturing.get(), places[0]);
  TW_REQUIRE_CALL(tw_graph_instantiate(graph.get()));
  for (const Buffers& at : places) {
    const GraphHandle again = step.capture(capturing.get(), at);
    TW_REQUIRE_CALL(tw_graph_update(graph.get(), again.get()));
    TW_REQUIRE_CALL(tw_graph_launch(graph.get(), stream.get()));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<uint16_t> got(data[i].expected.size());
    TW_REQUIRE_CALL(tw_memcpy_to_host(stream.get(), got.data(), places[i].kept, got.size() * 2));
    TW_REQUIRE_CALL(tw_stream_synchronize(stream.get()));
    CHECK(got == data[i].expected);
  }
}

// Proves that the test can fail.
TEST_CASE("graphs: a replay without its update is noticed") {
  const DeviceHandle device = open_any_device();
  if (!device) return;
  const Step step(device.get());
  const StreamHandle stream = new_stream(device.get());
  std::mt19937 random(13);
  const Data data(random);
  const Buffers first = step.buffers(), second = step.buffers();
  const GraphHandle graph = step.capture(stream.get(), first);
  TW_REQUIRE_CALL(tw_graph_instantiate(graph.get()));
  data.upload(stream.get(), first);
  data.upload(stream.get(), second);
  TW_REQUIRE_CALL(tw_graph_launch(graph.get(), stream.get()));
  std::vector<uint16_t> got(data.expected.size());
  TW_REQUIRE_CALL(tw_memcpy_to_host(stream.get(), got.data(), second.kept, got.size() * 2));
  TW_REQUIRE_CALL(tw_stream_synchronize(stream.get()));
  CHECK(got != data.expected);
}

}  // namespace
}  // namespace tw::test
