// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernel entry becomes in device code.
//
// A translation unit is a .cu file: it defines the macros of its entries and includes its table.
// nvcc compiles it once for each of its parts, which spread the work over processors. An entry
// names its part, <unit>_<number>, as gemm_basic_0 of gemm_basic.cu. The unit defines each macro as
//
//   #define TW_COPY(feature, part, symbol, ...) TW_EMIT(feature, part, <the kernel>)
//
// The build passes -DTW_HAS_<feature>=0|1 for the target (archs.py) and -DTW_PART_<part> for the
// one part that it compiles. An entry of another part, or that needs a feature which the target
// lacks, leaves nothing behind.

#define TW_EMIT_KEEP(...) __VA_ARGS__
#define TW_EMIT_DROP(...)
#define TW_EMIT_BY_0 TW_EMIT_DROP
#define TW_EMIT_BY_1 TW_EMIT_KEEP
#define TW_EMIT_CAT2(a, b) a##b
#define TW_EMIT_CAT(a, b) TW_EMIT_CAT2(a, b)

// TW_PART_<part> is 1 for the part that is compiled, so that TW_EMIT_OF_1 comes first, whose second
// argument is TW_EMIT_KEEP. For other parts it is not defined: an unknown name comes first, and the
// second argument is TW_EMIT_DROP.
#define TW_EMIT_OF_1 1, TW_EMIT_KEEP
#define TW_EMIT_SECOND2(first, second, ...) second
#define TW_EMIT_SECOND(...) TW_EMIT_SECOND2(__VA_ARGS__)

#define TW_EMIT(feature, part, ...)          \
  TW_EMIT_CAT(TW_EMIT_BY_, TW_HAS_##feature) \
  (TW_EMIT_SECOND(TW_EMIT_CAT(TW_EMIT_OF_, TW_PART_##part), TW_EMIT_DROP, )(__VA_ARGS__))
