// SPDX-License-Identifier: Apache-2.0
// C API: modules, kernels and launches of the caller.
#include <algorithm>

#include "capi/common/boundary.hpp"
#include "runtime/parameters.hpp"

using namespace tw;        // NOLINT
using namespace tw::capi;  // NOLINT

namespace {

constinit DestroyedHandles<tw_module> g_destroyed_modules;
constinit DestroyedHandles<tw_kernel> g_destroyed_kernels;

constexpr tw_launch_desc kLaunchDefaults = {
    .grid = {1, 1, 1}, .block = {128, 1, 1}, .cluster = {1, 1, 1}};

Status read_launch(const tw_launch_desc* desc, LaunchConfig* config) {
  tw_launch_desc in = kLaunchDefaults;
  TW_TRY(read_struct(desc, "desc", &in));
  if (in.flags & ~static_cast<uint32_t>(TW_LAUNCH_PROGRAMMATIC))
    return fail(Code::ERROR_INVALID_ARGUMENT, {.argument = "flags", .got = in.flags},
                "flags 0x%x has bits that are not TW_LAUNCH_ flags", in.flags);
  std::copy_n(in.grid, 3, config->grid);
  std::copy_n(in.block, 3, config->block);
  std::copy_n(in.cluster, 3, config->cluster);
  config->dynamic_smem_bytes = in.dynamic_smem_bytes;
  config->programmatic = (in.flags & TW_LAUNCH_PROGRAMMATIC) != 0;
  return Code::OK;
}

}  // namespace

tw_status tw_module_load(tw_device* device, const void* image, size_t size, tw_module** module) {
  return guard(device, [&]() -> Status {
    TW_TRY(clear_output(module, "module"));
    TW_TRY(usable(device, "device"));
    TW_TRY(require(image, "image"));
    auto handle = std::make_unique<tw_module>();
    TW_TRY(device->value->load_module(image, size, &handle->value));
    *module = handle.release();
    return Code::OK;
  });
}

void tw_module_destroy(tw_module* module) {
  g_destroyed_modules.destroy(module);
}

tw_status tw_kernel_get(tw_module* module, const char* name, tw_kernel** kernel) {
  return guard(module, [&]() -> Status {
    TW_TRY(clear_output(kernel, "kernel"));
    TW_TRY(usable(module, "module"));
    TW_TRY(require(name, "name"));
    auto handle = std::make_unique<tw_kernel>();
    TW_TRY(module->value->kernel(name, &handle->value));
    *kernel = handle.release();
    return Code::OK;
  });
}

void tw_kernel_destroy(tw_kernel* kernel) {
  g_destroyed_kernels.destroy(kernel);
}

tw_status tw_kernel_get_info(tw_kernel* kernel, tw_kernel_info* info) {
  return guard(kernel, [&]() -> Status {
    TW_TRY(clear_output_struct(info, "info"));
    TW_TRY(usable(kernel, "kernel"));
    KernelInfo from;
    TW_TRY(kernel->value->info(&from));
    const tw_kernel_info value = {.registers = from.registers,
                                  .static_smem_bytes = from.static_smem_bytes,
                                  .local_bytes = from.local_bytes,
                                  .max_threads = from.max_threads,
                                  .binary_version = from.binary_version,
                                  .param_count = from.param_count,
                                  .param_bytes = from.param_bytes};
    write_struct(info, value);
    return Code::OK;
  });
}

tw_status tw_kernel_occupancy(tw_kernel* kernel, const tw_launch_desc* desc, int32_t* blocks_per_sm,
                              int32_t* clusters) {
  return guard(kernel, [&]() -> Status {
    if (clusters) *clusters = 0;
    TW_TRY(clear_output(blocks_per_sm, "blocks_per_sm"));
    TW_TRY(require(clusters, "clusters"));
    TW_TRY(usable(kernel, "kernel"));
    LaunchConfig config;
    TW_TRY(read_launch(desc, &config));
    return kernel->value->occupancy(config, blocks_per_sm, clusters);
  });
}

tw_status tw_launch_desc_init(tw_launch_desc* desc, size_t size) {
  return guard([&]() -> Status { return init_struct(desc, size, "desc", kLaunchDefaults); });
}

tw_status tw_launch(tw_stream* stream, tw_kernel* kernel, const tw_launch_desc* desc,
                    uint32_t param_count, const uint32_t* param_sizes, const void* params) {
  return guard(stream, [&]() -> Status {
    TW_TRY(usable(stream, "stream"));
    TW_TRY(usable(kernel, "kernel"));
    TW_TRY(same_device(stream, "stream", kernel, "kernel"));
    LaunchConfig config;
    TW_TRY(read_launch(desc, &config));
    if (param_count > 0) {
      TW_TRY(require(param_sizes, "param_sizes"));
      TW_TRY(require(params, "params"));
    }
    LaunchParameters values;
    TW_TRY(values.unpack(*kernel->value, param_count, param_sizes, params));
    return stream->value->launch_params(*kernel->value, config, values.pointers());
  });
}
