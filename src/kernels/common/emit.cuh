// SPDX-License-Identifier: Apache-2.0
#pragma once
// TW_EMIT turns a kernel entry into a kernel if it belongs to the part and target being compiled.
//
// A translation unit is a .cu file: it defines the macros of its entries and includes its table.
// nvcc compiles it once for each of its parts, so that parts compile in parallel. An entry names
// its part, <unit>_<number>, as gemm_basic_0 of gemm_basic.cu. The unit defines each macro as
//
//   #define TW_COPY(feature, part, symbol, ...) TW_EMIT(feature, part, <the kernel>)
//
// The build passes -DTW_HAS_<feature>=0|1 for the target (archs.py) and -DTW_PART_<part> for the
// part. Entries of another part, or with a feature that the target lacks, expand to nothing.

#define TW_EMIT_KEEP(...) __VA_ARGS__
#define TW_EMIT_DROP(...)
#define TW_EMIT_BY_0 TW_EMIT_DROP
#define TW_EMIT_BY_1 TW_EMIT_KEEP
#define TW_EMIT_CAT2(a, b) a##b
#define TW_EMIT_CAT(a, b) TW_EMIT_CAT2(a, b)

// For the compiled part TW_PART_<part> is 1, so that TW_EMIT_OF_1 expands and TW_EMIT_SECOND picks
// TW_EMIT_KEEP. For other parts TW_PART_<part> is not defined, the pasted name does not expand, and
// TW_EMIT_SECOND picks TW_EMIT_DROP.
#define TW_EMIT_OF_1 1, TW_EMIT_KEEP
#define TW_EMIT_SECOND2(first, second, ...) second
#define TW_EMIT_SECOND(...) TW_EMIT_SECOND2(__VA_ARGS__)

#define TW_EMIT(feature, part, ...)          \
  TW_EMIT_CAT(TW_EMIT_BY_, TW_HAS_##feature) \
  (TW_EMIT_SECOND(TW_EMIT_CAT(TW_EMIT_OF_, TW_PART_##part), TW_EMIT_DROP, )(__VA_ARGS__))
