// SPDX-License-Identifier: Apache-2.0
#pragma once
// Included in front of every kernel source that nvrtc_kernels.py compiles: what nvcc has of its
// host compiler and NVRTC lacks.

namespace nvrtc {

template <class A, class B>
inline constexpr bool kSame = false;
template <class A>
inline constexpr bool kSame<A, A> = true;

// Equal to every number. Only assertions use offsets; those of sizes remain.
struct AnyOffset {
  constexpr bool operator==(unsigned long) const { return true; }
};

}  // namespace nvrtc

#define __is_same(a, b) ::nvrtc::kSame<a, b>
#define __builtin_offsetof(type, member) (::nvrtc::AnyOffset{})
