// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_SUPPORTED_HPP
#define TILEWRIGHT_SUPPORTED_HPP
/// @file supported.hpp
/// Whether a plan can be made, without one. true: Plan::copy() and so on would make it. false: the
/// description is valid, and this version of the library or this device cannot serve it;
/// tw_last_error() says why. A description that no version could serve throws what planning throws.

#include <tilewright/tilewright.hpp>

namespace tilewright {
inline namespace TILEWRIGHT_NAMESPACE {
namespace detail {

inline bool served(tw_status status) {
  if (status != TW_ERROR_UNSUPPORTED) check(status);
  return status == TW_OK;
}

}  // namespace detail

/// Of Plan::copy().
inline bool copy_supported(const Device& device, const tw_copy_desc& desc) {
  return detail::served(tw_copy_supported(device.get(), &desc));
}
/// Of Plan::copies().
inline bool copies_supported(const Device& device, const tw_copies_desc& desc) {
  return detail::served(tw_copies_supported(device.get(), &desc));
}
/// Of Plan::prefetch().
inline bool prefetch_supported(const Device& device, const tw_prefetch_desc& desc) {
  return detail::served(tw_prefetch_supported(device.get(), &desc));
}
/// Of Plan::gather().
inline bool gather_supported(const Device& device, const tw_rows_desc& desc) {
  return detail::served(tw_gather_supported(device.get(), &desc));
}
/// Of Plan::scatter().
inline bool scatter_supported(const Device& device, const tw_rows_desc& desc) {
  return detail::served(tw_scatter_supported(device.get(), &desc));
}
/// Of Plan::ragged().
inline bool ragged_supported(const Device& device, const tw_ragged_desc& desc) {
  return detail::served(tw_ragged_supported(device.get(), &desc));
}
/// Of Plan::route().
inline bool route_supported(const Device& device, const tw_route_desc& desc) {
  return detail::served(tw_route_supported(device.get(), &desc));
}
/// Of Plan::grouped().
inline bool grouped_supported(const Device& device, const tw_grouped_desc& desc) {
  return detail::served(tw_grouped_supported(device.get(), &desc));
}
/// Of Plan::quantize().
inline bool quantize_supported(const Device& device, const tw_quantize_desc& desc) {
  return detail::served(tw_quantize_supported(device.get(), &desc));
}
/// Of Plan::elementwise().
inline bool elementwise_supported(const Device& device, const tw_elementwise_desc& desc) {
  return detail::served(tw_elementwise_supported(device.get(), &desc));
}
/// Of Plan::gemm().
inline bool gemm_supported(const Device& device, const tw_gemm_desc& desc) {
  return detail::served(tw_gemm_supported(device.get(), &desc));
}

}  // namespace TILEWRIGHT_NAMESPACE
}  // namespace tilewright

#endif  // TILEWRIGHT_SUPPORTED_HPP
