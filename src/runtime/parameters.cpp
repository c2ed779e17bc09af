// SPDX-License-Identifier: Apache-2.0
#include "runtime/parameters.hpp"

#include <cstring>

namespace tw {

Status LaunchParameters::unpack(Kernel& kernel, uint32_t count, const uint32_t* sizes,
                                const void* packed) {
  KernelInfo info;
  TW_TRY(kernel.info(&info));
  if (count != static_cast<uint32_t>(info.param_count))
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "param_count", .got = count, .limit = info.param_count},
                "param_count is %u and the kernel has %d parameters", count, info.param_count);
  if (count > kMaxCount)
    return fail(Code::ERROR_UNSUPPORTED,
                {.argument = "param_count", .got = count, .limit = kMaxCount},
                "the kernel has %u parameters and the library launches %u at most: pass a struct",
                count, kMaxCount);
  const auto* from = static_cast<const unsigned char*>(packed);
  for (uint32_t i = 0; i < count; ++i) {
    const auto index = static_cast<int32_t>(i);
    size_t offset = 0;
    size_t size = 0;
    TW_TRY(kernel.param(index, &offset, &size));
    if (sizes[i] != size)
      return fail(Code::ERROR_INVALID_ARGUMENT,
                  {.argument = "param_sizes",
                   .index = index,
                   .got = sizes[i],
                   .limit = static_cast<int64_t>(size)},
                  "param_sizes[%u] is %u and parameter %u of the kernel has %zu bytes", i, sizes[i],
                  i, size);
    if (offset > kMaxBytes || size > kMaxBytes - offset)
      return fail(Code::ERROR_UNSUPPORTED,
                  {.argument = "param_sizes",
                   .index = index,
                   .got = static_cast<int64_t>(offset + size),
                   .limit = kMaxBytes},
                  "parameter %u of the kernel ends at byte %zu and the limit is %zu", i,
                  offset + size, kMaxBytes);
    std::memcpy(bytes_ + offset, from, size);
    pointers_[i] = bytes_ + offset;
    from += size;
  }
  pointers_[count] = nullptr;
  return Code::OK;
}

}  // namespace tw
