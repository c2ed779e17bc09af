// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a kernels.inc row becomes in device code.
//
// The build passes -DTW_HAS_<feature>=0|1 for the target (archs.py) and -DTW_SHARD=<n>. A family's
// source defines its row macro as
//
//   #define TW_COPY(feature, shard, symbol, ...) TW_EMIT(feature, shard, <the kernel>)
//
// and a row that needs what the target lacks, or is of another shard, leaves nothing behind.

#define TW_EMIT_KEEP(...) __VA_ARGS__
#define TW_EMIT_DROP(...)
#define TW_EMIT_BY_0 TW_EMIT_DROP
#define TW_EMIT_BY_1 TW_EMIT_KEEP
#define TW_EMIT_CAT2(a, b) a##b
#define TW_EMIT_CAT(a, b) TW_EMIT_CAT2(a, b)

// Whether the row's shard is the one being built; a family has thirteen at most.
#define TW_EMIT_SHARD_0 0
#define TW_EMIT_SHARD_1 0
#define TW_EMIT_SHARD_2 0
#define TW_EMIT_SHARD_3 0
#define TW_EMIT_SHARD_4 0
#define TW_EMIT_SHARD_5 0
#define TW_EMIT_SHARD_6 0
#define TW_EMIT_SHARD_7 0
#define TW_EMIT_SHARD_8 0
#define TW_EMIT_SHARD_9 0
#define TW_EMIT_SHARD_10 0
#define TW_EMIT_SHARD_11 0
#define TW_EMIT_SHARD_12 0
#if TW_SHARD == 0
#undef TW_EMIT_SHARD_0
#define TW_EMIT_SHARD_0 1
#elif TW_SHARD == 1
#undef TW_EMIT_SHARD_1
#define TW_EMIT_SHARD_1 1
#elif TW_SHARD == 2
#undef TW_EMIT_SHARD_2
#define TW_EMIT_SHARD_2 1
#elif TW_SHARD == 3
#undef TW_EMIT_SHARD_3
#define TW_EMIT_SHARD_3 1
#elif TW_SHARD == 4
#undef TW_EMIT_SHARD_4
#define TW_EMIT_SHARD_4 1
#elif TW_SHARD == 5
#undef TW_EMIT_SHARD_5
#define TW_EMIT_SHARD_5 1
#elif TW_SHARD == 6
#undef TW_EMIT_SHARD_6
#define TW_EMIT_SHARD_6 1
#elif TW_SHARD == 7
#undef TW_EMIT_SHARD_7
#define TW_EMIT_SHARD_7 1
#elif TW_SHARD == 8
#undef TW_EMIT_SHARD_8
#define TW_EMIT_SHARD_8 1
#elif TW_SHARD == 9
#undef TW_EMIT_SHARD_9
#define TW_EMIT_SHARD_9 1
#elif TW_SHARD == 10
#undef TW_EMIT_SHARD_10
#define TW_EMIT_SHARD_10 1
#elif TW_SHARD == 11
#undef TW_EMIT_SHARD_11
#define TW_EMIT_SHARD_11 1
#elif TW_SHARD == 12
#undef TW_EMIT_SHARD_12
#define TW_EMIT_SHARD_12 1
#else
#error "TW_SHARD must be 0 to 12"
#endif

#define TW_EMIT(feature, shard, ...)         \
  TW_EMIT_CAT(TW_EMIT_BY_, TW_HAS_##feature) \
  (TW_EMIT_CAT(TW_EMIT_BY_, TW_EMIT_CAT(TW_EMIT_SHARD_, shard))(__VA_ARGS__))
