/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_TESTS_RANDOM_DESCS_H
#define TILEWRIGHT_TESTS_RANDOM_DESCS_H
/* Random descriptions of every operation. Most fields have usual values, so that many descriptions
 * can be planned; some fields get arbitrary numbers. A seed gives the same descriptions on every
 * machine. */

#include <stdint.h>
#include <string.h>

#include <tilewright/tilewright.h>

typedef struct {
  uint64_t state; /* never 0 */
} random_source;

static inline uint64_t random_bits(random_source *r) {
  r->state ^= r->state << 13;
  r->state ^= r->state >> 7;
  r->state ^= r->state << 17;
  return r->state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline int64_t random_below(random_source *r, int64_t end) {
  return (int64_t)((random_bits(r) >> 33) % (uint64_t)end);
}

/* True with this probability in percent. */
static inline int random_chance(random_source *r, int percent) {
  return random_below(r, 100) < percent;
}

#define RANDOM_OF(r, array) ((array)[random_below((r), (int64_t)(sizeof(array) / sizeof *(array)))])

/* A number that a size or stride may have by mistake or at a limit. */
static inline int64_t random_wild(random_source *r) {
  static const int64_t numbers[] = {0,
                                    1,
                                    -1,
                                    -2,
                                    3,
                                    1 << 20,
                                    (1 << 20) + 1,
                                    1 << 30,
                                    INT32_MAX,
                                    (INT64_C(1) << 31) - 1024,
                                    (INT64_C(1) << 31) - 1023,
                                    INT64_C(1) << 31,
                                    INT64_C(1) << 40,
                                    INT64_C(1) << 57,
                                    INT64_C(1) << 60,
                                    (INT64_C(1) << 60) + 1,
                                    INT64_MAX,
                                    INT64_MIN,
                                    TW_UNSET};
  return RANDOM_OF(r, numbers);
}

static inline int64_t random_extent(random_source *r) {
  static const int64_t sizes[] = {2,  3,  4,   5,   8,   12,  16,   17,   31,
                                  32, 64, 100, 128, 192, 256, 1000, 1024, 4096};
  const int64_t kind = random_below(r, 40);
  return kind == 0 ? 0 : kind < 4 ? 1 : RANDOM_OF(r, sizes);
}

static inline tw_dtype random_dtype(random_source *r) {
  static const tw_dtype types[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  20, 21, 22,
                                   23, 24, 25, 26, 40, 41, 42, 43, 44, 21, 22};
  static const tw_dtype none[] = {0, -1, 10, 27, 45, 4711};
  return random_chance(r, 2) ? RANDOM_OF(r, none) : RANDOM_OF(r, types);
}

static inline tw_dtype random_index_dtype(random_source *r) {
  if (random_chance(r, 5)) return random_dtype(r);
  return random_chance(r, 60) ? TW_DTYPE_I32 : TW_DTYPE_I64;
}

static inline uint32_t random_alignment(random_source *r) {
  static const uint32_t promises[] = {16, 16, 16, 32, 128, 256, 1u << 31, 1, 2, 4, 8, 3, 24};
  return random_chance(r, 65) ? 0 : RANDOM_OF(r, promises);
}

static inline uint32_t random_sms(random_source *r) {
  static const uint32_t numbers[] = {1, 2, 16, 131, 132, 1000, UINT32_MAX};
  return random_chance(r, 75) ? 0 : RANDOM_OF(r, numbers);
}

/* A value from 0 to `last`; rarely an invalid one. */
static inline int32_t random_word(random_source *r, int32_t last) {
  static const int32_t none[] = {-1, 9, 100, INT32_MIN, INT32_MAX};
  return random_chance(r, 1) ? RANDOM_OF(r, none) : (int32_t)random_below(r, last + 1);
}

/* `usual`, except for `percent` of the draws. */
static inline int32_t random_seldom(random_source *r, int percent, int32_t last, int32_t usual) {
  return random_chance(r, percent) ? random_word(r, last) : usual;
}

static inline int32_t random_rank(random_source *r) {
  static const int32_t ranks[] = {1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8};
  static const int32_t none[] = {0, -1, 9, INT32_MAX, INT32_MIN};
  return random_chance(r, 1) ? RANDOM_OF(r, none) : RANDOM_OF(r, ranks);
}

/* Probability in percent that one of a description's sizes is arbitrary. */
#define RANDOM_WILD_PERCENT 12

static inline void random_shape(random_source *r, int32_t rank, int64_t *shape) {
  for (int32_t i = 0; i < rank && i < 8; ++i) {
    shape[i] = random_extent(r);
    if (rank > 3 && shape[i] > 16) shape[i] = 1 + shape[i] % 16;
  }
}

/* Strides that are packed in any order, have gaps, are negative, or are arbitrary. */
static inline void random_strides(random_source *r, int32_t rank, const int64_t *shape,
                                  int may_repeat, int64_t *stride) {
  int32_t order[8];
  int64_t next = 1;
  if (rank < 1 || rank > 8) return;
  for (int32_t i = 0; i < rank; ++i) order[i] = rank - 1 - i;
  if (random_chance(r, 30)) {
    const int64_t a = random_below(r, rank), b = random_below(r, rank);
    const int32_t keep = order[a];
    order[a] = order[b];
    order[b] = keep;
  }
  for (int32_t i = 0; i < rank; ++i) {
    stride[order[i]] = next;
    next *= shape[order[i]] > 0 ? shape[order[i]] : 1;
    if (random_chance(r, 15)) next = (next + 15) / 16 * 16;
    if (random_chance(r, 10)) next += 1 + random_below(r, 8);
    if (random_chance(r, 4)) stride[order[i]] = -stride[order[i]];
    if (may_repeat && random_chance(r, 3)) stride[order[i]] = 0;
  }
  if (random_chance(r, 3)) stride[random_below(r, rank)] = random_extent(r);
}

/* Sometimes sets one of the sizes to an arbitrary number. */
static inline void random_mistake(random_source *r, int64_t *sizes, int64_t count) {
  if (count >= 1 && count <= 8 && random_chance(r, RANDOM_WILD_PERCENT))
    sizes[random_below(r, count)] = random_wild(r);
}

static inline void random_copy(random_source *r, tw_copy_desc *d) {
  (void)tw_copy_desc_init(d, sizeof *d);
  d->dtype = random_dtype(r);
  d->rank = random_rank(r);
  random_shape(r, d->rank, d->shape);
  random_strides(r, d->rank, d->shape, 1, d->src_stride);
  random_strides(r, d->rank, d->shape, 0, d->dst_stride);
  d->src_alignment = random_alignment(r);
  d->dst_alignment = random_alignment(r);
  d->max_sms = random_sms(r);
  d->flags = random_chance(r, 20) ? (uint32_t)random_word(r, 1) : 0;
  d->src_cache = random_seldom(r, 20, 2, 0);
  d->dst_cache = random_seldom(r, 20, 2, 0);
  if (random_chance(r, 75) && d->rank >= 1 && d->rank <= 8) {
    for (int32_t i = 0; i < d->rank; ++i) {
      if (!random_chance(r, 60)) continue;
      d->src_shape[i] = 1 + random_extent(r);
      d->src_start[i] = random_below(r, 33) - 16;
    }
    d->fill = random_seldom(r, 90, 1, 0);
    random_mistake(r, random_chance(r, 50) ? d->src_shape : d->src_start, d->rank);
  }
  random_mistake(r, d->shape, d->rank);
  random_mistake(r, random_chance(r, 50) ? d->src_stride : d->dst_stride, d->rank);
  d->reserved = random_chance(r, 1);
}

static inline void random_copies(random_source *r, tw_copies_desc *d) {
  (void)tw_copies_desc_init(d, sizeof *d);
  d->dtype = random_dtype(r);
  d->rank = random_rank(r);
  random_shape(r, d->rank, d->shape);
  random_strides(r, d->rank, d->shape, 1, d->src_stride);
  random_strides(r, d->rank, d->shape, 0, d->dst_stride);
  d->src_alignment = random_alignment(r);
  d->dst_alignment = random_alignment(r);
  d->max_sms = random_sms(r);
  d->count = random_extent(r);
  random_mistake(r, &d->count, 1);
  random_mistake(r, d->shape, d->rank);
  random_mistake(r, d->src_stride, d->rank);
}

static inline void random_prefetch(random_source *r, tw_prefetch_desc *d) {
  (void)tw_prefetch_desc_init(d, sizeof *d);
  d->dtype = random_dtype(r);
  d->alignment = random_alignment(r);
  d->max_sms = random_sms(r);
  d->cache = random_seldom(r, 20, 2, 0);
  d->budget = random_chance(r, 70) ? 0 : random_extent(r);
  if (random_chance(r, 50)) {
    d->rank = random_rank(r);
    random_shape(r, d->rank, d->shape);
    random_strides(r, d->rank, d->shape, 1, d->stride);
    random_mistake(r, d->stride, d->rank);
    random_mistake(r, d->shape, d->rank);
  } else {
    d->rows = random_extent(r);
    d->columns = random_extent(r);
    d->pitch = random_chance(r, 60) ? 0 : d->columns + random_below(r, 64);
    random_mistake(r, &d->rows, 4); /* rows, columns, pitch, budget */
  }
}

static inline void random_rows(random_source *r, int scatter, tw_rows_desc *d) {
  static const tw_dtype numbers[] = {TW_DTYPE_F32, TW_DTYPE_F16, TW_DTYPE_BF16};
  (void)tw_rows_desc_init(d, sizeof *d);
  d->dtype = random_chance(r, 60) ? RANDOM_OF(r, numbers) : random_dtype(r);
  d->index_dtype = random_index_dtype(r);
  d->packed_dtype = random_chance(r, 80) ? 0 : random_dtype(r);
  d->table_alignment = random_alignment(r);
  d->packed_alignment = random_alignment(r);
  d->max_sms = random_sms(r);
  d->table_rows = random_extent(r);
  d->columns = random_extent(r);
  d->count = random_extent(r);
  d->column = random_chance(r, 70) ? 0 : random_below(r, 40) - 8;
  d->table_columns = random_chance(r, 60) ? 0 : d->columns + random_extent(r);
  if (random_chance(r, 30)) d->table_pitch = d->columns + d->table_columns + random_below(r, 64);
  if (random_chance(r, 30)) d->packed_pitch = d->columns + random_below(r, 64);
  if (scatter) {
    d->reduction = random_seldom(r, 50, 3, 0);
    if (d->reduction == TW_REDUCE_NONE)
      d->flags = random_chance(r, 20) ? TW_SCATTER_LAST_WINS : 0;
    else if (random_chance(r, 40))
      d->flags = 2 * (uint32_t)random_below(r, 8);
  } else {
    d->group = random_chance(r, 70) ? 1 : 1 + random_below(r, 300);
    d->flags = random_chance(r, 30) ? TW_ROWS_WEIGHTS : 0;
  }
  if (random_chance(r, 3)) d->flags = (uint32_t)random_below(r, 20);
  random_mistake(r, &d->table_rows, 8); /* up to group */
}

static inline void random_gather(random_source *r, tw_rows_desc *d) {
  random_rows(r, 0, d);
}

static inline void random_scatter(random_source *r, tw_rows_desc *d) {
  random_rows(r, 1, d);
}

static inline void random_ragged(random_source *r, tw_ragged_desc *d) {
  (void)tw_ragged_desc_init(d, sizeof *d);
  d->dtype = random_dtype(r);
  d->offset_dtype = random_index_dtype(r);
  d->direction = random_word(r, 1);
  d->fill = d->direction == TW_RAGGED_PAD ? random_seldom(r, 75, 1, 0) : 0;
  d->packed_alignment = random_alignment(r);
  d->padded_alignment = random_alignment(r);
  d->max_sms = random_sms(r);
  d->batch = random_extent(r);
  d->tokens = random_extent(r);
  d->rows = random_extent(r);
  d->columns = random_extent(r);
  d->packed_columns = random_chance(r, 70) ? 0 : d->columns + random_below(r, 64);
  if (random_chance(r, 30)) d->packed_pitch = d->columns + d->packed_columns;
  if (random_chance(r, 30)) d->padded_pitch = d->columns + random_below(r, 64);
  if (random_chance(r, 20)) d->padded_batch_pitch = d->rows * (d->columns + random_below(r, 99));
  random_mistake(r, &d->batch, 8); /* up to padded_batch_pitch */
}

static inline void random_route(random_source *r, tw_route_desc *d) {
  static const int64_t experts[] = {1, 8, 16, 60, 64, 128, 160, 256, 512, 1024};
  (void)tw_route_desc_init(d, sizeof *d);
  d->dtype = random_chance(r, 90) ? TW_DTYPE_BF16 : random_dtype(r);
  d->offset_dtype = random_index_dtype(r);
  d->score = random_below(r, 3);
  d->flags = random_chance(r, 50) ? TW_ROUTE_RENORMALIZE : 0;
  d->max_sms = random_sms(r);
  d->tokens = random_extent(r);
  d->experts = RANDOM_OF(r, experts);
  d->top_k = 1 + random_below(r, random_chance(r, 80) ? 4 : 40);
  if (random_chance(r, 30)) d->local_experts = 1 + random_below(r, d->experts);
  if (random_chance(r, 30)) d->groups = random_below(r, 9);
  if (random_chance(r, 20)) d->top_groups = random_below(r, 9);
  if (random_chance(r, 20)) d->group_score = random_below(r, 2);
  if (random_chance(r, 20)) d->logits_pitch = d->experts + random_below(r, 9);
  if (random_chance(r, 20)) {
    d->flags |= TW_ROUTE_GIVEN_IDS;
    d->dtype = 0;
    d->id_dtype = random_index_dtype(r);
    d->score = 0;
  }
  random_mistake(r, &d->tokens, 7); /* up to logits_pitch */
}

static inline void random_quantize(random_source *r, tw_quantize_desc *d) {
  static const tw_dtype wide[] = {TW_DTYPE_BF16, TW_DTYPE_F16, TW_DTYPE_F32};
  static const tw_dtype narrow[] = {TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2, TW_DTYPE_I8};
  (void)tw_quantize_desc_init(d, sizeof *d);
  d->src_dtype = random_chance(r, 90) ? RANDOM_OF(r, wide) : random_dtype(r);
  d->dst_dtype = random_chance(r, 90) ? RANDOM_OF(r, narrow) : random_dtype(r);
  if (random_chance(r, 30)) {
    const tw_dtype dtype = d->src_dtype;
    d->src_dtype = d->dst_dtype;
    d->dst_dtype = dtype;
  }
  d->scale = random_chance(r, 90) ? 1 + random_below(r, 4) : 19 + random_below(r, 4);
  if (random_chance(r, 30)) d->scale_order = random_below(r, 2);
  if (random_chance(r, 20)) d->flags = random_below(r, 4);
  d->max_sms = random_sms(r);
  d->rows = random_extent(r);
  d->columns = random_extent(r);
  if (random_chance(r, 30)) d->src_pitch = d->columns + random_below(r, 64);
  if (random_chance(r, 30)) d->dst_pitch = d->columns + random_below(r, 64);
  if (random_chance(r, 20)) d->scale_ld = d->rows + random_below(r, 64);
  random_mistake(r, &d->rows, 5); /* up to scale_ld */
}

/* Of 8-bit types, but for a few. */
static inline void random_grouped_scales(random_source *r, tw_grouped_desc *d) {
  static const tw_scale_kind pairs[][2] = {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {3, 4}, {3, 4}};
  const tw_scale_kind *const pair = pairs[random_below(r, 6)];
  const int usual = random_chance(r, 90);
  d->a_dtype = random_chance(r, 70) ? TW_DTYPE_F8E4M3 : usual ? TW_DTYPE_I8 : random_dtype(r);
  if (random_chance(r, 20)) d->b_dtype = usual ? TW_DTYPE_F8E5M2 : random_dtype(r);
  if (usual) d->d_dtype = random_chance(r, 50) ? TW_DTYPE_BF16 : TW_DTYPE_F32;
  d->a_scale = usual ? pair[0] : random_below(r, 6);
  d->b_scale = usual ? pair[1] : random_below(r, 6);
  if (random_chance(r, 50)) d->a_scale_order = d->b_scale_order = TW_COLUMN_MAJOR;
  if (random_chance(r, 30)) d->a_scale_ld = d->m + random_below(r, 64);
  if (random_chance(r, 20)) d->b_scale_ld = d->n + random_below(r, 64);
  if (random_chance(r, 20)) d->b_scale_stride = random_extent(r);
  if (random_chance(r, 10)) d->a_scale_stride = random_extent(r);
  random_mistake(r, &d->a_scale_ld, 4); /* to b_scale_stride */
}

static inline void random_grouped(random_source *r, tw_grouped_desc *d) {
  static const int64_t groups[] = {0, 1, 2, 8, 64, 128, 512, 1024};
  static const tw_dtype results[] = {0, TW_DTYPE_BF16, TW_DTYPE_F32};
  (void)tw_grouped_desc_init(d, sizeof *d);
  if (random_chance(r, 10)) d->a_dtype = random_chance(r, 50) ? TW_DTYPE_F16 : random_dtype(r);
  d->d_dtype = RANDOM_OF(r, results);
  if (random_chance(r, 20)) d->bias_dtype = random_dtype(r);
  d->index_dtype = random_index_dtype(r);
  d->row_index_dtype = random_index_dtype(r);
  d->b_order = random_seldom(r, 40, 1, 0);
  d->grouping = random_seldom(r, 60, 6, TW_GROUPING_ENDS);
  d->activation = random_seldom(r, 20, 4, 0);
  d->gate = random_seldom(r, 20, 2, 0);
  d->max_sms = random_sms(r);
  d->a_alignment = random_alignment(r);
  d->m = random_extent(r), d->n = random_extent(r), d->k = random_extent(r);
  d->group_count = d->grouping == TW_GROUPING_ONE ? 1 : RANDOM_OF(r, groups);
  if (random_chance(r, 40)) {
    d->flags |= TW_GROUPED_GATHER;
    d->a_count = random_extent(r);
    d->a_divisor = random_below(r, 9);
  }
  if (random_chance(r, 40)) {
    d->flags |= TW_GROUPED_SCATTER;
    d->d_count = random_extent(r);
    d->d_divisor = random_below(r, 9);
    d->combine = random_seldom(r, 60, 3, TW_GROUPED_COMBINE_STORE);
  }
  if (random_chance(r, 30)) d->flags |= (uint32_t)random_below(r, 128);
  if (random_chance(r, 30)) random_grouped_scales(r, d);
  random_mistake(r, &d->m, 8);        /* up to ldd */
  random_mistake(r, &d->b_stride, 8); /* up to a_divisor */
}

static inline void random_elementwise(random_source *r, tw_elementwise_desc *d) {
  static const tw_dtype floats[] = {TW_DTYPE_F32, TW_DTYPE_F16, TW_DTYPE_BF16, TW_DTYPE_F8E4M3,
                                    TW_DTYPE_F8E5M2};
  const int usual = random_chance(r, 70), two = random_chance(r, 40);
  (void)tw_elementwise_desc_init(d, sizeof *d);
  d->a_dtype = usual ? RANDOM_OF(r, floats) : random_dtype(r);
  d->dst_dtype = usual ? RANDOM_OF(r, floats) : random_chance(r, 80) ? d->a_dtype : random_dtype(r);
  if (two) d->b_dtype = usual ? RANDOM_OF(r, floats) : d->a_dtype;
  d->rank = random_rank(r);
  random_shape(r, d->rank, d->shape);
  random_strides(r, d->rank, d->shape, 1, d->a_stride);
  if (two) random_strides(r, d->rank, d->shape, 1, d->b_stride);
  random_strides(r, d->rank, d->shape, 0, d->dst_stride);
  d->a_alignment = random_alignment(r);
  d->b_alignment = two ? random_alignment(r) : 0;
  d->dst_alignment = random_alignment(r);
  d->max_sms = random_sms(r);
  d->reduction = random_seldom(r, 30, 8, 0);
  d->flags = random_chance(r, 30) ? (uint32_t)random_word(r, 3) : 0;
  d->src_cache = random_seldom(r, 20, 2, 0);
  d->dst_cache = random_seldom(r, 20, 2, 0);
  d->combine = two ? random_word(r, 1) : random_seldom(r, 2, 1, 0);
  d->activation = random_seldom(r, 30, 4, 0);
  random_mistake(r, d->shape, d->rank);
  random_mistake(r, d->dst_stride, random_chance(r, 5) ? 8 : d->rank);
}

static inline int64_t random_leading(random_source *r, tw_order order, int64_t rows,
                                     int64_t columns) {
  const int64_t contiguous = order == TW_COLUMN_MAJOR ? rows : columns;
  if (random_chance(r, 70) || contiguous < 0 || contiguous > INT32_MAX) return 0;
  return random_chance(r, 60) ? (contiguous + 63) / 64 * 64 : contiguous + random_below(r, 9);
}

static inline void random_gemm_options(random_source *r, tw_gemm_desc *d) {
  const uint32_t constant = random_chance(r, 30) ? TW_GEMM_A_CONSTANT : 0;
  if (random_chance(r, 10)) d->flags |= TW_GEMM_BATCH_POINTERS;
  if (random_chance(r, 20)) d->flags |= TW_GEMM_BATCH_INVARIANT;
  if (random_chance(r, 20)) d->flags |= TW_GEMM_PROGRAMMATIC | constant;
  if (random_chance(r, 10)) d->flags |= TW_GEMM_DEVICE_M;
  if (random_chance(r, 10)) d->flags |= TW_GEMM_DEVICE_SCALARS;
  if (random_chance(r, 15)) d->flags |= TW_GEMM_STAGING_COPY;
  if (random_chance(r, 20)) d->flags |= TW_GEMM_D_PADDING_WRITABLE;
  if (random_chance(r, 10)) d->flags |= TW_GEMM_AMAX;
  if (random_chance(r, 1)) d->flags |= (uint32_t)random_bits(r);
  d->bias = random_seldom(r, 20, 3, 0);
  if (d->bias != 0 && random_chance(r, 30)) d->bias_dtype = random_dtype(r);
  d->activation = random_seldom(r, 25, 4, 0);
  d->gate = random_seldom(r, 10, 2, 0);
  d->d_factor = random_seldom(r, 10, 3, 0);
  if (random_chance(r, 2)) d->a_scale = random_word(r, 21);
  if (random_chance(r, 2)) d->b_scale = random_word(r, 21);
}

static inline void random_gemm_batch(random_source *r, tw_gemm_desc *d) {
  if (random_chance(r, 70)) return;
  d->batch_count = random_extent(r);
  if ((d->flags & TW_GEMM_BATCH_POINTERS) != 0) return;
  if (random_chance(r, 30)) d->b_batch_stride = 0;
  if (random_chance(r, 10)) d->a_batch_stride = random_extent(r);
  if (random_chance(r, 10)) d->d_batch_stride = random_extent(r) * 4096;
  random_mistake(r, &d->batch_count, 5); /* and the strides */
}

/* 8-bit types and tf32, mostly with valid combinations of scales. */
static inline void random_gemm_narrow(random_source *r, tw_gemm_desc *d) {
  static const tw_dtype types[] = {TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2, TW_DTYPE_I8, TW_DTYPE_TF32};
  static const tw_dtype of_d[] = {TW_DTYPE_BF16,   TW_DTYPE_F16, TW_DTYPE_F32, TW_DTYPE_F8E4M3,
                                  TW_DTYPE_F8E5M2, TW_DTYPE_I8,  TW_DTYPE_I32};
  static const tw_scale_kind of_b[] = {TW_SCALE_NONE, TW_SCALE_TENSOR, TW_SCALE_ROW, TW_SCALE_1X128,
                                       TW_SCALE_128X128};
  const int64_t pair = random_below(r, 5);
  d->a_dtype = RANDOM_OF(r, types);
  if (random_chance(r, 30)) d->b_dtype = TW_DTYPE_F8E4M3;
  d->d_dtype = RANDOM_OF(r, of_d);
  d->accumulator_dtype = TW_DTYPE_F32;
  d->b_scale = of_b[pair];
  d->a_scale = pair == 4 ? TW_SCALE_1X128 : d->b_scale;
  if (pair >= 3) {
    d->a_scale_order = random_seldom(r, 40, 1, 0);
    d->b_scale_order = random_seldom(r, 40, 1, 0);
    if (random_chance(r, 20)) d->a_scale_ld = random_extent(r);
    if (random_chance(r, 20)) d->b_scale_ld = random_extent(r);
  }
  if (random_chance(r, 20)) d->flags |= TW_GEMM_FAST_ACCUMULATE;
  if (random_chance(r, 10)) d->a_scale_batch_stride = random_extent(r);
  if (random_chance(r, 10)) d->d_quantize = TW_SCALE_1X128;
}

static inline void random_gemm(random_source *r, tw_gemm_desc *d) {
  const int half = random_chance(r, 30);
  (void)tw_gemm_desc_init(d, sizeof *d);
  d->a_dtype = half ? TW_DTYPE_F16 : TW_DTYPE_BF16;
  if (random_chance(r, 12)) d->a_dtype = random_dtype(r);
  if (random_chance(r, 4)) d->b_dtype = random_dtype(r);
  if (random_chance(r, 30)) d->d_dtype = TW_DTYPE_F32;
  if (random_chance(r, 3)) d->d_dtype = random_dtype(r);
  if (random_chance(r, 2)) d->c_dtype = random_dtype(r);
  if (random_chance(r, 5)) d->accumulator_dtype = half ? TW_DTYPE_F16 : random_dtype(r);
  d->a_order = random_seldom(r, 40, 1, 0);
  d->b_order = random_seldom(r, 60, 1, 0);
  d->d_order = random_seldom(r, 20, 1, 0);
  d->a_alignment = random_alignment(r);
  d->b_alignment = random_alignment(r);
  d->c_alignment = random_chance(r, 80) ? 0 : random_alignment(r);
  d->d_alignment = random_chance(r, 80) ? 0 : random_alignment(r);
  d->max_sms = random_sms(r);
  d->m = random_extent(r);
  d->n = random_extent(r);
  d->k = random_extent(r);
  if (random_chance(r, 5)) d->k = 40000;
  random_gemm_options(r, d);
  if (random_chance(r, 25)) random_gemm_narrow(r, d);
  random_mistake(r, &d->m, 4); /* m, n, k, min_m */
  if (random_chance(r, 20) && d->m > 0) d->min_m = random_chance(r, 50) ? d->m : 1;
  d->lda = random_leading(r, d->a_order, d->m, d->k);
  d->ldb = random_leading(r, d->b_order, d->k, d->n);
  d->ldc = random_leading(r, d->d_order, d->m, d->n);
  d->ldd = random_leading(r, d->d_order, d->m, d->n);
  random_mistake(r, &d->lda, 4);
  random_gemm_batch(r, d);
}

#endif
