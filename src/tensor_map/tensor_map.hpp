// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tensor map: what the TMA is told of a tensor, as fields and as the 128 bytes it reads.
//
// Fields carry cuTensorMapEncodeTiled's names and order (innermost dimension first, strides in
// bytes). Enumerations have cuda.h's numbers. Everything here is plain data and pure functions.

#include <cstdint>

#include "base/dtype.hpp"
#include "base/status.hpp"

namespace tw {

enum class Interleave : int32_t { none = 0, b16 = 1, b32 = 2 };
enum class Swizzle : int32_t {
  none = 0,
  b32 = 1,
  b64 = 2,
  b128 = 3,
  b128_atom_32b = 4,
  b128_atom_32b_flip_8b = 5,
  b128_atom_64b = 6
};
enum class L2Promotion : int32_t { none = 0, b64 = 1, b128 = 2, b256 = 3 };
enum class OobFill : int32_t { zero = 0, nan = 1 };

struct TensorMapDesc {
  DType dtype = DType::BF16;
  int32_t rank = 2;
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  L2Promotion l2_promotion = L2Promotion::none;
  OobFill oob_fill = OobFill::zero;
  uint64_t global_address = 0;
  uint64_t global_dim[5] = {};
  uint64_t global_strides[5] = {};  // [i] is the pitch of dimension i + 1; [4] is unused
  uint32_t box_dim[5] = {};
  uint32_t element_strides[5] = {1, 1, 1, 1, 1};
};

/// The 128 bytes. Aligned for a kernel parameter whatever the toolkit's CUtensorMap says.
struct alignas(128) TensorMapBytes {
  uint64_t words[16] = {};
};

/// Holds the description against every rule for a target (compute capability major * 10 + minor);
/// the first broken one is the Status. See check.hpp for the whole list.
Status check(const TensorMapDesc& desc, int32_t arch);

/// Writes the descriptor of a description that check() accepts.
Status encode(const TensorMapDesc& desc, int32_t arch, TensorMapBytes* bytes);

/// Reads a descriptor back. Fails, naming the bits, where they are none that encode() writes.
Status decode(const TensorMapBytes& bytes, TensorMapDesc* desc);

/// Bytes that one whole box counts on the mbarrier (element strides respected).
uint64_t box_bytes(const TensorMapDesc& desc);

/// Bytes that one whole box spans in shared memory: rows narrower than the swizzle span advance by
/// the whole span.
uint64_t box_span_bytes(const TensorMapDesc& desc);

}  // namespace tw
