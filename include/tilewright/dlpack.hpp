// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DLPACK_HPP
#define TILEWRIGHT_DLPACK_HPP
/// @file dlpack.hpp
/// Exchange of tensors with other libraries through DLPack. DLPack's own header is not needed.
///
/// - from_dlpack() reads a DLTensor, DLManagedTensor or DLManagedTensorVersioned and does not own
///   it. If it is given a device, it also registers the tensor's memory with the device for the
///   lifetime of the returned object. The host device requires this.
/// - to_dlpack() makes a managed tensor, which owns the object that keeps the memory alive. That
///   object is destroyed when the consumer calls the tensor's deleter, on the consumer's thread.

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <tilewright/tilewright.hpp>

namespace tilewright {
inline namespace TILEWRIGHT_NAMESPACE {

namespace detail {

/// The row-major stride of the dimension outside `dimension`, which has the given extent and the
/// stride `inner`. As in tw_tensor_from_dlpack() an extent of 0 counts as 1.
inline int64_t packed_stride(int64_t inner, int64_t extent, size_t dimension) {
  const auto refuse = [&](const char* rule) {
    throw std::invalid_argument("tilewright::tensor: extent " + std::to_string(extent) +
                                " of dimension " + std::to_string(dimension) + rule);
  };
  if (extent < 0) refuse(" is negative");
  if (extent > std::numeric_limits<int64_t>::max() / inner)
    refuse(" times the extents inside it exceeds 2^63 - 1");
  return inner * (extent > 0 ? extent : 1);
}

}  // namespace detail

/// A tensor in memory of a device. Strides are in elements, outermost first; without them the
/// tensor is row-major. Throws std::invalid_argument if row-major strides overflow, or for more
/// than 8 extents.
inline tw_tensor tensor(const Device& device, uint64_t address, tw_dtype dtype,
                        std::span<const int64_t> shape, std::span<const int64_t> stride = {}) {
  tw_tensor out = detail::initialized(tw_tensor_init);
  if (shape.size() > std::size(out.shape) || (!stride.empty() && stride.size() != shape.size()))
    throw std::invalid_argument(
        "tilewright::tensor: give at most 8 extents, and either no strides or one for each extent");
  const tw_device_info info = device.info();
  out.dtype = dtype;
  out.device_kind = info.kind;
  out.ordinal = info.ordinal;
  out.rank = static_cast<int32_t>(shape.size());
  out.address = address;
  int64_t packed = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    out.shape[i] = shape[i];
    out.stride[i] = stride.empty() ? packed : stride[i];
    if (stride.empty()) packed = detail::packed_stride(packed, shape[i], i);
  }
  return out;
}

/// Reads a DLPack tensor of the given form. The owner of a managed tensor still calls its deleter.
inline tw_tensor from_dlpack(const void* dlpack, tw_dlpack_form form) {
  return detail::filled(tw_tensor_init, tw_tensor_from_dlpack, dlpack, form);
}

/// Registers the memory that a tensor's elements span with a device.
inline RegisteredMemory register_tensor(const Device& device, const tw_tensor& tensor) {
  int64_t low = 0, high = 0;  // lowest and highest offset of an element
  for (int32_t i = 0; i < tensor.rank; ++i) {
    if (tensor.shape[i] == 0) return RegisteredMemory(device, tensor.address, 0);
    const int64_t reach = (tensor.shape[i] - 1) * tensor.stride[i];
    (reach < 0 ? low : high) += reach;
  }
  const int64_t bytes = tw_dtype_size(tensor.dtype);
  return RegisteredMemory(device, tensor.address + static_cast<uint64_t>(low * bytes),
                          static_cast<uint64_t>((high - low + 1) * bytes));
}

/// A tensor of another library whose memory stays registered with a device while this object lives.
/// It does not own the tensor.
struct BorrowedTensor {
  tw_tensor tensor;
  RegisteredMemory memory;
};

/// Reads a DLPack tensor of the given form and registers its memory with the device. The owner of a
/// managed tensor still calls its deleter, after the returned object and the work on it have ended.
inline BorrowedTensor from_dlpack(const Device& device, const void* dlpack, tw_dlpack_form form) {
  const tw_tensor tensor = from_dlpack(dlpack, form);
  return {tensor, register_tensor(device, tensor)};
}

/// Owns a managed DLPack tensor until a consumer takes it with release(). Otherwise the destructor
/// calls the tensor's deleter.
class DlpackTensor {
 public:
  /// The DLManagedTensor or DLManagedTensorVersioned; remains owned by this object.
  void* get() const noexcept { return managed_.get(); }
  tw_dlpack_form form() const noexcept { return managed_.get_deleter().form; }
  /// Returns the same as get() and passes ownership to the consumer, who must call the deleter.
  void* release() noexcept { return managed_.release(); }

 private:
  template <typename Owner>
  friend DlpackTensor to_dlpack(const tw_tensor& tensor, tw_dlpack_form form, Owner owner);

  // DLPack's two forms, which have their deleters at different offsets.
  struct Unversioned {
    unsigned char tensor[48];
    void* context;
    void (*deleter)(Unversioned*);
  };
  struct Versioned {
    uint32_t version[2];
    void* context;
    void (*deleter)(Versioned*);
  };
  struct Free {
    tw_dlpack_form form;
    template <typename Form>
    static void call(void* managed) {
      auto* self = static_cast<Form*>(managed);
      if (self->deleter) self->deleter(self);
    }
    void operator()(void* managed) const {
      form == TW_DLPACK_VERSIONED ? call<Versioned>(managed) : call<Unversioned>(managed);
    }
  };

  DlpackTensor(void* managed, tw_dlpack_form form) noexcept : managed_(managed, Free{form}) {}
  std::unique_ptr<void, Free> managed_;
};

/// Makes a managed tensor for another library. `owner` (such as a Memory or a shared_ptr) is moved
/// into the tensor and destroyed with it; the owner's destructor must not throw.
template <typename Owner>
DlpackTensor to_dlpack(const tw_tensor& tensor, tw_dlpack_form form, Owner owner) {
  auto kept = std::make_unique<Owner>(std::move(owner));
  void* managed = nullptr;
  check(tw_tensor_to_dlpack(
      &tensor, form, [](void* user) { delete static_cast<Owner*>(user); }, kept.get(), &managed));
  (void)kept.release();  // now owned by the managed tensor
  return DlpackTensor(managed, form);
}

}  // namespace TILEWRIGHT_NAMESPACE
}  // namespace tilewright

#endif  // TILEWRIGHT_DLPACK_HPP
