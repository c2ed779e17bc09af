// SPDX-License-Identifier: Apache-2.0
#include "runtime/rehearsal.hpp"

namespace tw {
namespace {

Status not_in_rehearsal() {
  return fail(Code::ERROR_INTERNAL, {},
              "planning called a device function that the rehearsal device does not support");
}

class RehearsalKernel final : public Kernel {
 public:
  using Kernel::Kernel;
  Status info(KernelInfo*) override { return not_in_rehearsal(); }
  Status param(int32_t, size_t*, size_t*) override { return not_in_rehearsal(); }
  // Planning refuses a kernel if the driver says that none of its clusters fits the SMs. The driver
  // cannot be asked, because the kernel is not loaded, so the rehearsal assumes that one fits.
  Status occupancy(const LaunchConfig&, int32_t* blocks_per_sm, int32_t* clusters) override {
    *blocks_per_sm = *clusters = 1;
    return {};
  }
};

class RehearsalDevice final : public Device {
 public:
  explicit RehearsalDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {
    info_ = device_->info();
    for (uint32_t size = 2; size <= kMaxCluster; ++size)
      set_max_active_clusters(size, device_->max_active_clusters(size));
  }

  Status find_kernel(const KernelEntry& entry) override { return device_->find_kernel(entry); }
  Status prepare(const KernelEntry& entry, uint32_t, std::unique_ptr<Kernel>* out) override {
    TW_TRY(find_kernel(entry));
    *out = std::make_unique<RehearsalKernel>(shared_from_this());
    return {};
  }
  Status encode(const TensorMapDesc& desc, TensorMapBytes* bytes) override {
    return device_->encode(desc, bytes);
  }

  void close() override {}
  Status allocate(uint64_t, uint64_t*) override { return not_in_rehearsal(); }
  Status release(uint64_t) override { return not_in_rehearsal(); }
  Status allocate_host(uint64_t, void**) override { return not_in_rehearsal(); }
  Status release_host(void*) override { return not_in_rehearsal(); }
  Status create_stream(std::unique_ptr<Stream>*) override { return not_in_rehearsal(); }
  Status wrap_stream(CUstream_st*, std::unique_ptr<Stream>*) override { return not_in_rehearsal(); }
  Status create_event(std::unique_ptr<Event>*) override { return not_in_rehearsal(); }
  Status load_module(const void*, size_t, std::unique_ptr<Module>*) override {
    return not_in_rehearsal();
  }

 private:
  const std::shared_ptr<Device> device_;
};

bool all_kernels_found(Device& device, Family family) {
  constexpr FeatureMask kBasicFeatures = feature::tma | feature::mma;
  const FeatureMask usable = device.info().kernel_features;
  if ((usable & feature::host) == 0 && (usable & kBasicFeatures) != kBasicFeatures) return false;
  // A missing kernel is an answer here, not an error of the caller's call.
  const RestoreErrors restored_at_end;
  for (const KernelEntry& entry : kernel_entries(family))
    if ((entry.feature & usable) != 0 && !device.find_kernel(entry).ok()) return false;
  return true;
}

}  // namespace

bool has_all_kernels(Device& device, Family family) {
  FamilyCache& known = device.family_cache();
  const uint32_t bit = 1u << static_cast<uint32_t>(family);
  if ((known.looked_up.load(std::memory_order_acquire) & bit) == 0) {
    if (all_kernels_found(device, family)) known.complete.fetch_or(bit, std::memory_order_relaxed);
    known.looked_up.fetch_or(bit, std::memory_order_release);
  }
  return (known.complete.load(std::memory_order_relaxed) & bit) != 0;
}

std::shared_ptr<Device> make_rehearsal_device(const std::shared_ptr<Device>& device) {
  return std::make_shared<RehearsalDevice>(device);
}

}  // namespace tw
