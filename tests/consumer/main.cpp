// SPDX-License-Identifier: Apache-2.0
// An outside C++ program. It instantiates templates of the library's, so that a clash would show.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <tilewright/dlpack.hpp>
#include <tilewright/kernels.hpp>
#include <tilewright/tilewright.hpp>
#include <vector>

int main() {
  try {
    const auto device = tilewright::Device::host();
    tilewright::Stream stream(device);
    std::vector<float> in(1000), out(1000);
    std::map<std::string, std::unique_ptr<int>> names;
    std::shared_mutex mutex;
    for (size_t i = 0; i < in.size(); ++i) {
      in[i] = static_cast<float>(i);
      names[std::to_string(i)] = std::make_unique<int>(static_cast<int>(i));
    }
    tilewright::Memory src(device, in.size() * sizeof(float));
    tilewright::Memory dst(device, out.size() * sizeof(float));
    stream.to_device(src, in);
    auto desc = tilewright::copy_desc();
    desc.dtype = TW_DTYPE_F32;
    desc.rank = 1;
    desc.shape[0] = 1000;
    desc.src_stride[0] = desc.dst_stride[0] = 1;
    const auto plan = tilewright::Plan::copy(device, desc);
    auto args = tilewright::copy_args();
    args.src = src.address();
    args.dst = dst.address();
    std::thread other([&] {
      std::unique_lock lock(mutex);
      plan.run(stream, args);
    });
    other.join();
    stream.to_host(out, dst);
    stream.synchronize();
    if (in != out || names.size() != in.size()) return 1;

    tilewright::Layout layout("((2,3),4):((1,8),2)");
    if (layout.text() != "((2,3),4):((1,8),2)") return 1;
    try {
      tilewright::Layout("(2,3");
      return 1;
    } catch (const tilewright::Error& error) {
      std::cout << "as expected: " << error.what() << '\n';
    }
    return 0;
  } catch (const std::exception& error) {
    std::cout << error.what() << '\n';
    return 1;
  }
}
