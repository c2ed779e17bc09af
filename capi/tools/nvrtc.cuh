// SPDX-License-Identifier: Apache-2.0
#pragma once
// Included before every kernel source that nvrtc_kernels.py compiles. It defines what nvcc gets
// from its host compiler and NVRTC lacks.

namespace nvrtc {

template <class A, class B>
inline constexpr bool kSame = false;
template <class A>
inline constexpr bool kSame<A, A> = true;

// Compares equal to every number, so that assertions about offsets hold. Only assertions use
// offsets; assertions about sizes are still checked.
struct AnyOffset {
  constexpr bool operator==(unsigned long) const { return true; }
};

}  // namespace nvrtc

#define __is_same(a, b) ::nvrtc::kSame<a, b>
#define __builtin_offsetof(type, member) (::nvrtc::AnyOffset{})
