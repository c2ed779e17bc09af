// SPDX-License-Identifier: Apache-2.0
#pragma once
// Basis elements: where a stride such as 2@1 points to in a tuple of coordinates.
//
// `v@k0@k1` adds v at the element k0 of the element k1 of the coordinate (the last @ is the
// outermost, as CuTe writes it). A path is packed outermost first, six bits an element holding
// index + 1, so that comparing numbers compares positions from left to right; 0 is no path at all,
// a plain integer.

#include <cstdint>

namespace tw {

using Basis = uint64_t;

inline constexpr int kMaxBasisDepth = 10;
inline constexpr int kMaxBasisIndex = 62;

constexpr int basis_shift(int position) {
  return 58 - 6 * position;
}

/// The path's element at a position, counted from the outermost; -1 past its end.
constexpr int basis_at(Basis path, int position) {
  return position >= kMaxBasisDepth ? -1 : static_cast<int>(path >> basis_shift(position) & 63) - 1;
}

constexpr int basis_depth(Basis path) {
  int depth = 0;
  while (basis_at(path, depth) >= 0) ++depth;
  return depth;
}

/// The path with one more, inner, element. The caller has checked both limits.
constexpr Basis basis_inner(Basis path, int depth, int index) {
  return path | static_cast<Basis>(index + 1) << basis_shift(depth);
}

/// True where `path` is `prefix` or lies inside it.
constexpr bool basis_within(Basis path, Basis prefix, int prefix_depth) {
  return prefix_depth == 0 || (path ^ prefix) >> basis_shift(prefix_depth - 1) == 0;
}

}  // namespace tw
