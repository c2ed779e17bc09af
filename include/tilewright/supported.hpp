// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_SUPPORTED_HPP
#define TILEWRIGHT_SUPPORTED_HPP
/// @file supported.hpp
/// Functions that tell whether a plan can be made, without making it. They return true if the
/// corresponding function, such as Plan::copy(), would succeed. They return false if the
/// description is valid but this version of the library or this device cannot serve it;
/// tw_last_error() then says why. For an invalid description they throw the exception that planning
/// would throw.

#include <tilewright/tilewright.hpp>

namespace tilewright {
inline namespace TILEWRIGHT_NAMESPACE {
namespace detail {

inline bool served(tw_status status) {
  if (status != TW_ERROR_UNSUPPORTED) check(status);
  return status == TW_OK;
}

}  // namespace detail

/// For Plan::copy().
inline bool copy_supported(const Device& device, const tw_copy_desc& desc) {
  return detail::served(tw_copy_supported(device.get(), &desc));
}
/// For Plan::copies().
inline bool copies_supported(const Device& device, const tw_copies_desc& desc) {
  return detail::served(tw_copies_supported(device.get(), &desc));
}
/// For Plan::prefetch().
inline bool prefetch_supported(const Device& device, const tw_prefetch_desc& desc) {
  return detail::served(tw_prefetch_supported(device.get(), &desc));
}
/// For Plan::gather().
inline bool gather_supported(const Device& device, const tw_rows_desc& desc) {
  return detail::served(tw_gather_supported(device.get(), &desc));
}
/// For Plan::scatter().
inline bool scatter_supported(const Device& device, const tw_rows_desc& desc) {
  return detail::served(tw_scatter_supported(device.get(), &desc));
}
/// For Plan::ragged().
inline bool ragged_supported(const Device& device, const tw_ragged_desc& desc) {
  return detail::served(tw_ragged_supported(device.get(), &desc));
}
/// For Plan::route().
inline bool route_supported(const Device& device, const tw_route_desc& desc) {
  return detail::served(tw_route_supported(device.get(), &desc));
}
/// For Plan::grouped().
inline bool grouped_supported(const Device& device, const tw_grouped_desc& desc) {
  return detail::served(tw_grouped_supported(device.get(), &desc));
}
/// For Plan::quantize().
inline bool quantize_supported(const Device& device, const tw_quantize_desc& desc) {
  return detail::served(tw_quantize_supported(device.get(), &desc));
}
/// For Plan::elementwise().
inline bool elementwise_supported(const Device& device, const tw_elementwise_desc& desc) {
  return detail::served(tw_elementwise_supported(device.get(), &desc));
}
/// For Plan::gemm().
inline bool gemm_supported(const Device& device, const tw_gemm_desc& desc) {
  return detail::served(tw_gemm_supported(device.get(), &desc));
}

}  // namespace TILEWRIGHT_NAMESPACE
}  // namespace tilewright

#endif  // TILEWRIGHT_SUPPORTED_HPP
