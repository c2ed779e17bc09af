// SPDX-License-Identifier: Apache-2.0
// DLPack through the C++ classes: imports, and the lifetime of what an exported tensor refers to.
#include <limits>
#include <memory>
#include <thread>
#include <tilewright/dlpack.hpp>
#include <type_traits>
#include <vector>

#include "doctest_main.hpp"

namespace {

using namespace tilewright;

/// DLPack's own structs, as its specification defines them.
struct DLTensor {
  void* data;
  int32_t device_type, device_id, ndim;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct Managed {
  DLTensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct ManagedVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  DLTensor tensor;
};

static_assert(std::is_nothrow_move_constructible_v<DlpackTensor> &&
              !std::is_copy_constructible_v<DlpackTensor>);

const std::vector<int64_t> kShape{2, 3};

TEST_CASE("a tensor goes out and comes back, in both forms") {
  const Device device = Device::host();
  for (const tw_dlpack_form form : {TW_DLPACK_TENSOR, TW_DLPACK_VERSIONED}) {
    CAPTURE(form);
    Memory memory(device, 24);
    const uint64_t address = memory.address();
    const tw_tensor out = tensor(device, address, TW_DTYPE_F32, kShape);
    const DlpackTensor managed = to_dlpack(out, form, std::move(memory));
    CHECK(managed.form() == form);
    const tw_tensor back = from_dlpack(managed.get(), form);
    CHECK(back.address == address);
    CHECK(back.dtype == TW_DTYPE_F32);
    CHECK(back.device_kind == TW_DEVICE_HOST);
    CHECK(back.rank == 2);
    CHECK(back.shape[1] == 3);
    CHECK(back.stride[0] == 3);
    CHECK(back.stride[1] == 1);
  }
}

TEST_CASE("strides are kept, and wrong ones refused") {
  const Device device = Device::host();
  const Memory memory(device, 64);
  const std::vector<int64_t> stride{1, 2};
  const tw_tensor columns = tensor(device, memory.address(), TW_DTYPE_F32, kShape, stride);
  CHECK(columns.stride[1] == 2);
  const std::vector<int64_t> one{1};
  CHECK_THROWS_AS((void)tensor(device, 0, TW_DTYPE_F32, kShape, one), std::invalid_argument);
  const std::vector<int64_t> nine(9, 1);
  CHECK_THROWS_AS((void)tensor(device, 0, TW_DTYPE_F32, nine), std::invalid_argument);
}

TEST_CASE("row-major strides that no number holds are refused") {
  const Device device = Device::host();
  const int64_t most = std::numeric_limits<int64_t>::max();
  const auto packed = [&](const std::vector<int64_t>& shape) {
    return tensor(device, 0, TW_DTYPE_F32, shape);
  };
  const int64_t big = int64_t{1} << 32;
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{
           {1, big, big}, {big, big}, {2, most, 1}, {1, big, 0, big}, {1, most, most, most, most}})
    CHECK_THROWS_AS((void)packed(shape), std::invalid_argument);
  CHECK_THROWS_WITH(
      (void)packed({7, big / 4, big}),
      "tilewright::tensor: extent 7 of dimension 0 times the extents inside it exceeds 2^63 - 1");
  CHECK_THROWS_WITH((void)packed({2, -3, 4}),
                    "tilewright::tensor: extent -3 of dimension 1 is negative");
  CHECK(packed({1, most}).stride[0] == most);
  CHECK(packed({big / 2 - 1, big}).stride[0] == big);

  // An extent of 0 counts as 1 in the strides, as in imported tensors.
  const tw_tensor empty = packed({2, 0, 3});
  int64_t shape[] = {2, 0, 3};
  Managed managed{{nullptr, 1, 0, 3, 2, 32, 1, shape, nullptr, 0}, nullptr, nullptr};
  const tw_tensor seen = from_dlpack(&managed, TW_DLPACK_TENSOR);
  for (int i = 0; i < 3; ++i) CHECK(empty.stride[i] == seen.stride[i]);
  // If the caller passes strides, no product of extents can overflow.
  const std::vector<int64_t> wide{big, big};
  CHECK(tensor(device, 0, TW_DTYPE_F32, wide, std::vector<int64_t>{0, 0}).shape[0] == big);
}

TEST_CASE("the owner lives until the consumer calls the deleter, on any thread") {
  const Device device = Device::host();
  auto owner = std::make_shared<std::vector<float>>(6, 7.0f);
  const std::weak_ptr<std::vector<float>> watch = owner;
  const auto address = reinterpret_cast<uint64_t>(owner->data());
  const tw_tensor out = tensor(device, address, TW_DTYPE_F32, kShape);
  {
    DlpackTensor managed = to_dlpack(out, TW_DLPACK_TENSOR, owner);
    DlpackTensor moved = std::move(managed);
    CHECK(managed.get() == nullptr);
    CHECK(watch.use_count() == 2);
  }
  CHECK(watch.use_count() == 1);  // not consumed: freed by its own deleter
  auto* consumed = static_cast<ManagedVersioned*>(
      to_dlpack(out, TW_DLPACK_VERSIONED, std::move(owner)).release());
  CHECK(consumed->major == 1);
  CHECK(watch.use_count() == 1);
  CHECK(static_cast<const float*>(consumed->tensor.data)[5] == 7.0f);
  std::thread([&] { consumed->deleter(consumed); }).join();
  CHECK(watch.expired());
}

TEST_CASE("a tensor that cannot be made takes its owner along") {
  const Device device = Device::host();
  auto owner = std::make_shared<int>(1);
  const tw_tensor none = tensor(device, 4096, 9999, kShape);
  CHECK_THROWS_AS((void)to_dlpack(none, TW_DLPACK_TENSOR, owner), Error);
  CHECK(owner.use_count() == 1);
}

TEST_CASE("a borrowed tensor's memory is the host device's to use while the object lives") {
  const Device device = Device::host();
  Stream stream(device);
  std::vector<int32_t> data(64);
  int64_t shape[] = {4, 3}, strides[] = {-8, 2};
  Managed managed{{&data[40], 1, 0, 2, 0, 32, 1, shape, strides, 0}, nullptr, nullptr};
  const auto fill = [&](uint64_t address, uint64_t bytes) { stream.fill(address, 1, bytes); };
  {
    const BorrowedTensor borrowed = from_dlpack(device, &managed, TW_DLPACK_TENSOR);
    CHECK(borrowed.tensor.address == reinterpret_cast<uintptr_t>(&data[40]));
    CHECK(borrowed.memory.address() == reinterpret_cast<uintptr_t>(&data[16]));
    CHECK(borrowed.memory.bytes() == (24 + 4 + 1) * 4);
    fill(borrowed.memory.address(), borrowed.memory.bytes());
    CHECK_THROWS_AS(fill(borrowed.memory.address(), borrowed.memory.bytes() + 1), Error);
    stream.synchronize();
    CHECK(data[16] == 0x01010101);
    CHECK(data[44] == 0x01010101);
    CHECK(data[45] == 0);
  }
  CHECK_THROWS_AS(fill(reinterpret_cast<uintptr_t>(&data[40]), 1), Error);
  shape[1] = 0;
  CHECK(from_dlpack(device, &managed, TW_DLPACK_TENSOR).memory.bytes() == 0);
}

TEST_CASE("what others made is read without being owned") {
  int64_t shape[] = {4};
  float data[4] = {};
  Managed managed{{data, 1, 0, 1, 2, 32, 1, shape, nullptr, 8}, nullptr, nullptr};
  const tw_tensor seen = from_dlpack(&managed, TW_DLPACK_TENSOR);
  CHECK(seen.address == reinterpret_cast<uint64_t>(data) + 8);
  CHECK(seen.stride[0] == 1);
  managed.tensor.bits = 3;
  CHECK_THROWS_AS((void)from_dlpack(&managed, TW_DLPACK_TENSOR), Error);
}

}  // namespace
