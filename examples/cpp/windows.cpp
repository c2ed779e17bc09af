// SPDX-License-Identifier: Apache-2.0
// The C++ classes: a layout locates a window of a matrix, a tensor map is checked and explained, a
// plan copies the window, and a gather reverses the rows of the copy.
//
//   windows [host|cuda]
//
// Without an argument it uses a GPU if there is one. The exit code is 0 if every element is where
// the layout says.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <tilewright/tilewright.hpp>
#include <vector>

namespace tw = tilewright;

namespace {

constexpr int64_t kRows = 1000;
constexpr int64_t kColumns = 1504;  // rows at multiples of 16 bytes, as TMA requires
constexpr int64_t kWindowRows = 300;
constexpr int64_t kWindowColumns = 200;
constexpr int64_t kFirstRow = 123;
constexpr int64_t kFirstColumn = 456;

tw::Device open_device(const std::string& wanted) {
  if (wanted == "host") return tw::Device::host();
  try {
    return tw::Device::cuda();
  } catch (const tw::Error& error) {
    if (wanted == "cuda") throw;
    std::printf("no GPU, using the host device: %s\n", error.what());
    return tw::Device::host();
  }
}

/// Shows the error message for a box that breaks a rule; needs no GPU.
void show_a_broken_rule(const tw_tensor_map_desc& good) {
  tw_tensor_map_desc bad = good;
  bad.box_dim[0] = 100;  // 400 bytes exceed a 128-byte swizzle
  for (const tw_rule_violation& broken : tw::TensorMap::violations(bad, TW_ARCH_SM_90)) {
    std::printf("a box of 100 columns would break %s: %s\n", broken.rule, broken.message);
  }
}

void explain_map(const tw::Device& device, uint64_t address) {
  tw_tensor_map_desc desc = tw::tensor_map_desc();
  desc.dtype = TW_DTYPE_F32;
  desc.swizzle = TW_SWIZZLE_128B;
  desc.global_address = address;
  desc.global_dim[0] = kColumns;
  desc.global_dim[1] = kRows;
  desc.global_stride_bytes[0] = kColumns * sizeof(float);
  desc.box_dim[0] = 32;
  desc.box_dim[1] = 64;
  const tw::TensorMap map(device, desc);
  std::printf("map: %s\n", map.explain().c_str());
  std::printf("its coordinates: %s\n", map.coordinates().text().c_str());
  show_a_broken_rule(desc);
}

int run(const tw::Device& device) {
  std::printf("device: %s\n", device.info().name);
  tw::Stream stream(device);

  // The matrix, row-major; `first` is the index of the window's first element.
  const tw::Layout matrix("(1000,1504):(1504,1)");
  const int64_t first = matrix(kFirstRow, kFirstColumn);
  std::vector<float> values(static_cast<size_t>(matrix.size()));
  std::iota(values.begin(), values.end(), 0.0f);  // each element is its own index
  const tw::Memory src(device, values.size() * sizeof(float));
  stream.to_device(src, values);
  explain_map(device, src.address());

  tw_copy_desc copy = tw::copy_desc();
  copy.dtype = TW_DTYPE_F32;
  copy.rank = 2;
  copy.shape[0] = kWindowRows;
  copy.shape[1] = kWindowColumns;
  copy.src_stride[0] = kColumns;
  copy.dst_stride[0] = kWindowColumns;
  copy.src_stride[1] = copy.dst_stride[1] = 1;
  const tw::Plan copy_plan = tw::Plan::copy(device, copy);
  std::printf("copy: %s\n", copy_plan.explain().c_str());
  const tw::Memory window(device, kWindowRows * kWindowColumns * sizeof(float));
  tw_copy_args copy_args = tw::copy_args();
  copy_args.src = src.address() + static_cast<uint64_t>(first) * sizeof(float);
  copy_args.dst = window.address();
  copy_plan.run(stream, copy_args);

  // The rows of the window in reverse order.
  std::vector<int32_t> index(kWindowRows);
  for (size_t i = 0; i < index.size(); i++) index[i] = static_cast<int32_t>(kWindowRows - 1 - i);
  const tw::Memory index_memory(device, index.size() * sizeof(int32_t));
  stream.to_device(index_memory, index);
  tw_rows_desc rows = tw::rows_desc();
  rows.dtype = TW_DTYPE_F32;
  rows.table_rows = kWindowRows;
  rows.columns = kWindowColumns;
  rows.count = kWindowRows;
  const tw::Plan gather = tw::Plan::gather(device, rows);
  const tw::Memory turned(device, window.bytes());
  tw_rows_args gather_args = tw::rows_args();
  gather_args.table = window.address();
  gather_args.index = index_memory.address();
  gather_args.packed = turned.address();
  tw::Event start(device);
  tw::Event stop(device);
  start.record(stream);
  gather.run(stream, gather_args);
  stop.record(stream);
  std::vector<float> result(static_cast<size_t>(kWindowRows * kWindowColumns));
  stream.to_host(result, turned);
  stream.synchronize();
  std::printf("gather: %s in %.3f ms\n", gather.info().kernel, stop.milliseconds_since(start));

  int64_t wrong = 0;
  for (int64_t r = 0; r < kWindowRows; r++) {
    for (int64_t c = 0; c < kWindowColumns; c++) {
      const int64_t home = matrix(kFirstRow + kWindowRows - 1 - r, kFirstColumn + c);
      wrong += result[static_cast<size_t>(r * kWindowColumns + c)] != static_cast<float>(home);
    }
  }
  std::printf("%lld of %lld elements are wrong\n", static_cast<long long>(wrong),
              static_cast<long long>(kWindowRows * kWindowColumns));
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(open_device(argc > 1 ? argv[1] : "auto"));
  } catch (const tw::Error& error) {
    std::fprintf(stderr, "%s: %s\n", tw_status_name(error.status()), error.what());
    return 1;
  }
}
