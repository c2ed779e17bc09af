// SPDX-License-Identifier: Apache-2.0
// Reads arbitrary bytes as a module image, a packed image or a cubin: accepted or refused, without
// reading past their end.
#include <cstdlib>
#include <vector>

#include "edits.hpp"
#include "kernels/image/cubin_info.hpp"
#include "kernels/image/precompiled.hpp"
#include "kernels/image/unpack.hpp"
#include "runtime/cuda/image.hpp"

using namespace tw;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // A copy of exactly this size, so that sanitizers detect a read past its end.
  const std::vector<uint8_t> bytes(data + 1, data + size);
  std::vector<uint8_t> out(static_cast<size_t>(data[0]) * 64);
  switch (data[0] % 4) {
    case 0: {
      ImageSummary summary;
      if (bytes.empty()) break;
      if (!check_image(bytes.data(), bytes.size(), &summary).ok() &&
          last_failure().message[0] == '\0')
        std::abort();
      FatbinEntry entry;
      for (const Target& target : {Target{"sm_90a", false, 90, 0}, Target{"ptx", true, 90, 0}})
        if (find_entry(bytes.data(), bytes.size(), target, &entry) && entry.size < 1 << 16) {
          out.resize(entry.size);
          (void)unpack(entry, out.data());
        }
      break;
    }
    case 1:
      (void)unpack_zstd(bytes.data(), bytes.size(), out.data(), out.size());
      break;
    case 2:
      (void)unpack_lz4(bytes.data(), bytes.size(), out.data(), out.size());
      break;
    default: {
      CubinInfo info;
      (void)read_cubin_info(bytes.data(), bytes.size(), "k", &info);
    }
  }
  return 0;
}
