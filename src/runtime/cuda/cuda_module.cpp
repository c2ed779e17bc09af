// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_module.hpp"

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/scope.hpp"

namespace tw::cuda {
namespace {

// Most blocks in a cluster: what every chip with clusters supports, and what sm_90 and later chips
// support with the non-portable attribute.
constexpr uint32_t kPortableCluster = 8;
constexpr uint32_t kLargestCluster = 16;

Status function_attribute(CudaDevice& device, CUfunction function, CUfunction_attribute which,
                          int32_t* out) {
  int value = 0;
  TW_TRY(device.check(device.cu().FuncGetAttribute(&value, which, function), "cuFuncGetAttribute"));
  *out = value;
  return Code::OK;
}

Status read_info(CudaDevice& device, CUfunction function, KernelInfo* info) {
  TW_TRY(function_attribute(device, function, CU_FUNC_ATTRIBUTE_NUM_REGS, &info->registers));
  TW_TRY(function_attribute(device, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                            &info->static_smem_bytes));
  TW_TRY(
      function_attribute(device, function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &info->local_bytes));
  TW_TRY(function_attribute(device, function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                            &info->max_threads));
  return function_attribute(device, function, CU_FUNC_ATTRIBUTE_BINARY_VERSION,
                            &info->binary_version);
}

/// Reads offset and size of each parameter. The driver returns INVALID_VALUE past the last one.
Status read_parameters(CudaDevice& device, CUkernel kernel, LaunchTarget* target) {
  for (;;) {
    Parameter parameter{};
    const CUresult result = device.cu().KernelGetParamInfo(kernel, target->parameters.size(),
                                                           &parameter.offset, &parameter.size);
    if (result == CUDA_ERROR_INVALID_VALUE) break;
    TW_TRY(device.check(result, "cuKernelGetParamInfo"));
    target->parameters.push_back(parameter);
    target->info.param_bytes = static_cast<int32_t>(parameter.offset + parameter.size);
  }
  target->info.param_count = static_cast<int32_t>(target->parameters.size());
  return Code::OK;
}

/// Raises the function's limits to the chip's. Plans share a function, so limits per plan could be
/// too low for another plan.
Status raise_limits(CudaDevice& device, LaunchTarget* target) {
  const Driver& cu = device.cu();
  const int32_t dynamic = device.info().max_dynamic_smem_bytes - target->info.static_smem_bytes;
  TW_TRY(device.check(cu.FuncSetAttribute(target->function,
                                          CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, dynamic),
                      "cuFuncSetAttribute"));
  const bool large =
      cu.FuncSetAttribute(target->function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
                          1) == CUDA_SUCCESS;
  target->limits.max_threads = static_cast<uint32_t>(target->info.max_threads);
  target->limits.max_dynamic_smem = static_cast<uint32_t>(dynamic);
  target->limits.static_smem = static_cast<uint32_t>(target->info.static_smem_bytes);
  target->limits.max_cluster_blocks = large ? kLargestCluster : kPortableCluster;
  return Code::OK;
}

}  // namespace

Status get_kernel(CudaDevice& device, CUlibrary library, const char* name, LaunchTarget* out) {
  const ContextScope scope(device, ContextScope::relaxed);
  TW_TRY(scope.status());
  CUkernel kernel = nullptr;
  const CUresult found = device.cu().LibraryGetKernel(&kernel, library, name);
  if (found == CUDA_ERROR_NOT_FOUND)
    return fail(
        Code::ERROR_NOT_FOUND, {.argument = "name", .driver_result = static_cast<int32_t>(found)},
        "name is \"%s\", and the module has no such kernel: is it extern \"C\" and __global__?",
        name);
  TW_TRY(device.check(found, "cuLibraryGetKernel"));
  TW_TRY(
      device.check(device.cu().KernelGetFunction(&out->function, kernel), "cuKernelGetFunction"));
  // Load now, so that no launch triggers lazy loading.
  if (device.cu().FuncLoad) TW_TRY(device.check(device.cu().FuncLoad(out->function), "cuFuncLoad"));
  out->name = device.keep_name(name);
  TW_TRY(read_info(device, out->function, &out->info));
  TW_TRY(read_parameters(device, kernel, out));
  return raise_limits(device, out);
}

Status CudaModule::kernel(const char* name, std::unique_ptr<Kernel>* out) {
  LaunchTarget target;
  TW_TRY(get_kernel(static_cast<CudaDevice&>(*device()), library_, name, &target));
  *out = std::make_unique<CudaKernel>(device(), std::move(target));
  return Code::OK;
}

Status CudaKernel::info(KernelInfo* out) {
  *out = target_.info;
  return Code::OK;
}

Status CudaKernel::param(int32_t index, size_t* offset, size_t* size) {
  if (index < 0 || index >= target_.info.param_count)
    return fail(Code::ERROR_INVALID_ARGUMENT,
                {.argument = "index", .got = index, .limit = target_.info.param_count - 1},
                "parameter %d does not exist: the kernel has %d", index, target_.info.param_count);
  const Parameter& parameter = target_.parameters[static_cast<size_t>(index)];
  *offset = parameter.offset;
  *size = parameter.size;
  return Code::OK;
}

Status CudaKernel::check_argument_bytes(size_t bytes) const {
  if (target_.parameters.size() == 1 && target_.parameters[0].size == bytes) return Code::OK;
  return fail(Code::ERROR_INTERNAL,
              {.got = static_cast<int64_t>(bytes), .limit = target_.info.param_bytes},
              "kernel %s takes %d parameters of %d bytes in all, and one of %zu was passed: the "
              "embedded image is of another build",
              target_.name, target_.info.param_count, target_.info.param_bytes, bytes);
}

Status CudaKernel::occupancy(const LaunchConfig& config, int32_t* blocks_per_sm,
                             int32_t* clusters) {
  TW_TRY(check(config));
  auto& device = static_cast<CudaDevice&>(*this->device());
  const ContextScope scope(device, ContextScope::relaxed);
  TW_TRY(scope.status());
  const auto threads = static_cast<int>(config.block[0] * config.block[1] * config.block[2]);
  int blocks = 0;
  TW_TRY(device.check(device.cu().OccupancyMaxActiveBlocksPerMultiprocessor(
                          &blocks, target_.function, threads, config.dynamic_smem_bytes),
                      "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
  int in_device = blocks * device.info().sm_count;
  CUlaunchAttribute attributes[2] = {};
  CUlaunchConfig launch{};
  launch.numAttrs = fill_attributes(config, attributes);
  if (config.cluster[0] * config.cluster[1] * config.cluster[2] > 1) {
    launch.gridDimX = config.grid[0];
    launch.gridDimY = config.grid[1];
    launch.gridDimZ = config.grid[2];
    launch.blockDimX = config.block[0];
    launch.blockDimY = config.block[1];
    launch.blockDimZ = config.block[2];
    launch.sharedMemBytes = config.dynamic_smem_bytes;
    launch.attrs = attributes;
    TW_TRY(
        device.check(device.cu().OccupancyMaxActiveClusters(&in_device, target_.function, &launch),
                     "cuOccupancyMaxActiveClusters"));
  }
  *blocks_per_sm = blocks;
  *clusters = in_device;
  return Code::OK;
}

unsigned fill_attributes(const LaunchConfig& config, CUlaunchAttribute* attributes) {
  unsigned count = 0;
  if (config.cluster[0] * config.cluster[1] * config.cluster[2] > 1) {
    CUlaunchAttribute& attribute = attributes[count++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = config.cluster[0];
    attribute.value.clusterDim.y = config.cluster[1];
    attribute.value.clusterDim.z = config.cluster[2];
  }
  if (config.programmatic) {
    CUlaunchAttribute& attribute = attributes[count++];
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
  }
  return count;
}

}  // namespace tw::cuda
