// SPDX-License-Identifier: Apache-2.0
// C API: the precompiled kernels, their list, resources and images.
#include <vector>

#include "capi/common/boundary.hpp"
#include "kernels/image/cubin_info.hpp"
#include "kernels/image/driver_choice.hpp"
#include "kernels/image/kernel_images.hpp"
#include "kernels/image/precompiled.hpp"

using namespace tw;        // NOLINT
using namespace tw::capi;  // NOLINT

namespace {

Status find(const char* name, const char* target, Precompiled* kernel, FatbinEntry* image) {
  TW_TRY(require(name, "name"));
  TW_TRY(require(target, "target"));
  TW_TRY(find_precompiled(name, target, kernel));
  return precompiled_image(*kernel, image);
}

}  // namespace

tw_status tw_embedded_kernel_get(int32_t index, tw_embedded_kernel* entry, int32_t* count) {
  return guard([&]() -> Status {
    if (count) *count = precompiled_count();
    if (!entry) return count ? Status() : require(entry, "entry");
    TW_TRY(clear_output_struct(entry, "entry"));
    Precompiled kernel;
    if (index < 0 || !precompiled_at(index, &kernel))
      return fail(Code::ERROR_NOT_FOUND,
                  {.argument = "index", .got = index, .limit = precompiled_count() - 1},
                  "index is %d, but only %d entries (pairs of a kernel and a target) are embedded",
                  index, precompiled_count());
    FatbinEntry image;
    TW_TRY(precompiled_image(kernel, &image));
    const KernelEntry& table_entry = *kernel.entry;
    tw_embedded_kernel value{};
    value.op = static_cast<tw_op>(table_entry.family);
    value.name = table_entry.symbol;
    value.target = kernel.target->name;
    value.feature = table_entry.feature;
    value.threads = static_cast<uint32_t>(table_entry.threads);
    for (int i = 0; i < 3; ++i) value.tile[i] = static_cast<uint32_t>(table_entry.tile[i]);
    value.stages = static_cast<uint32_t>(table_entry.stages);
    for (int i = 0; i < 2; ++i) value.cluster[i] = static_cast<uint32_t>(table_entry.cluster[i]);
    for (int i = 0; i < 2; ++i) value.dtypes[i] = static_cast<tw_dtype>(table_entry.dtypes[i]);
    const KernelImage whole = kernel_image(table_entry.image);
    value.driver_version = oldest_driver(whole.data, whole.size, *kernel.target);
    value.packed_bytes = image.packed_size;
    value.image_bytes = image.size;
    write_struct(entry, value);
    return Code::OK;
  });
}

tw_status tw_embedded_kernel_info(const char* name, const char* target, tw_kernel_info* info) {
  return guard([&]() -> Status {
    TW_TRY(clear_output_struct(info, "info"));
    Precompiled kernel;
    FatbinEntry image;
    TW_TRY(find(name, target, &kernel, &image));
    if (kernel.target->ptx)
      return fail(Code::ERROR_UNSUPPORTED, {.argument = "target"},
                  "target %s is PTX, which has no registers until a driver compiles it", target);
    std::vector<uint8_t> cubin(image.size);
    TW_TRY(unpack(image, cubin.data()));
    CubinInfo from;
    if (!read_cubin_info(cubin.data(), cubin.size(), name, &from))
      return fail(Code::ERROR_INTERNAL, {}, "the cubin of %s for %s cannot be read", name, target);
    const tw_kernel_info value = {.registers = from.registers,
                                  .static_smem_bytes = from.static_smem_bytes,
                                  .local_bytes = from.local_bytes,
                                  .max_threads = from.max_threads,
                                  .binary_version = static_cast<int32_t>(kernel.target->sm),
                                  .param_count = from.param_count,
                                  .param_bytes = from.param_bytes};
    write_struct(info, value);
    return Code::OK;
  });
}

tw_status tw_embedded_kernel_image(const char* name, const char* target, void* buffer,
                                   size_t capacity, size_t* size) {
  return guard([&]() -> Status {
    if (size) *size = 0;
    Precompiled kernel;
    FatbinEntry image;
    TW_TRY(find(name, target, &kernel, &image));
    if (size) *size = image.size;
    if (capacity == 0 && !buffer && size) return Code::OK;  // the caller asks only for the size
    if (capacity > 0) TW_TRY(require(buffer, "buffer"));
    if (capacity < image.size)
      return fail(Code::ERROR_BUFFER_TOO_SMALL,
                  {.argument = "capacity",
                   .got = static_cast<int64_t>(capacity),
                   .limit = static_cast<int64_t>(image.size)},
                  "the image has %zu bytes and capacity is %zu", image.size, capacity);
    return unpack(image, buffer);
  });
}
