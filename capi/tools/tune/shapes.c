/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "tune.h"

/* A named value of a field. */
typedef struct {
  const char* name;
  int32_t value;
} word;

static const word types[] = {
    {"bf16", TW_DTYPE_BF16},     {"f16", TW_DTYPE_F16},       {"f32", TW_DTYPE_F32},
    {"f8e4m3", TW_DTYPE_F8E4M3}, {"f8e5m2", TW_DTYPE_F8E5M2}, {"i8", TW_DTYPE_I8},
    {"i32", TW_DTYPE_I32},       {"tf32", TW_DTYPE_TF32},     {NULL, 0}};
static const word bias_types[] = {
    {"bf16", TW_DTYPE_BF16}, {"f16", TW_DTYPE_F16}, {"f32", TW_DTYPE_F32}, {NULL, 0}};
static const word accumulators[] = {{"f32", TW_DTYPE_F32}, {"f16", TW_DTYPE_F16}, {NULL, 0}};
static const word biases[] = {{"row", TW_PER_ROW}, {"column", TW_PER_COLUMN}, {NULL, 0}};
static const word scales[] = {
    {"tensor", TW_PER_TENSOR}, {"row", TW_PER_ROW}, {"column", TW_PER_COLUMN}, {NULL, 0}};
static const word scale_kinds[] = {{"tensor", TW_SCALE_TENSOR},
                                   {"row", TW_SCALE_ROW},
                                   {"1x128", TW_SCALE_1X128},
                                   {"128x128", TW_SCALE_128X128},
                                   {NULL, 0}};
static const word block_scales[] = {{"1x128", TW_SCALE_1X128}, {NULL, 0}};
static const word activations[] = {{"relu", TW_ACTIVATION_RELU},
                                   {"gelu", TW_ACTIVATION_GELU},
                                   {"gelu_tanh", TW_ACTIVATION_GELU_TANH},
                                   {"silu", TW_ACTIVATION_SILU},
                                   {NULL, 0}};
static const word gates[] = {
    {"halves", TW_GATE_HALVES}, {"interleaved", TW_GATE_INTERLEAVED}, {NULL, 0}};

typedef enum {
  FIELD_ROWS,
  FIELD_TYPES,
  FIELD_ORDERS,
  FIELD_SCALE_ORDERS,
  FIELD_LONG,  /* an int64_t of the description */
  FIELD_SHORT, /* a uint32_t */
  FIELD_WORD,  /* an int32_t with named values */
  FIELD_FLAG   /* a bit of the description's flags, set if the line has the field's name */
} field_kind;

typedef struct {
  const char* name;
  field_kind kind;
  size_t offset; /* in tw_gemm_desc */
  int64_t most;
  const word* words;
  uint32_t flag;
} field;

#define LONG(name, member, most) \
  { name, FIELD_LONG, offsetof(tw_gemm_desc, member), most, NULL, 0 }
#define WORD(name, member, words) \
  { name, FIELD_WORD, offsetof(tw_gemm_desc, member), 0, words, 0 }
#define FLAG(name, flag) \
  { name, FIELD_FLAG, 0, 0, NULL, flag }

enum { FIELD_M, FIELD_N, FIELD_K }; /* indices of the first entries of the table */

static const field fields[] = {
    {"m", FIELD_ROWS, 0, 0, NULL, 0},
    LONG("n", n, TUNE_MAX_EXTENT),
    LONG("k", k, TUNE_MAX_EXTENT),
    {"types", FIELD_TYPES, 0, 0, NULL, 0},
    {"orders", FIELD_ORDERS, 0, 0, NULL, 0},
    WORD("accumulator", accumulator_dtype, accumulators),
    WORD("bias", bias, biases),
    WORD("bias_type", bias_dtype, bias_types),
    WORD("activation", activation, activations),
    WORD("gate", gate, gates),
    WORD("d_factor", d_factor, scales),
    FLAG("amax", TW_GEMM_AMAX),
    WORD("a_scale", a_scale, scale_kinds),
    WORD("b_scale", b_scale, scale_kinds),
    WORD("d_quantize", d_quantize, block_scales),
    {"scale_orders", FIELD_SCALE_ORDERS, 0, 0, NULL, 0},
    FLAG("fast_accumulate", TW_GEMM_FAST_ACCUMULATE),
    LONG("batch", batch_count, 1 << 20),
    FLAG("batch_pointers", TW_GEMM_BATCH_POINTERS),
    FLAG("batch_invariant", TW_GEMM_BATCH_INVARIANT),
    FLAG("programmatic", TW_GEMM_PROGRAMMATIC),
    FLAG("a_constant", TW_GEMM_A_CONSTANT),
    FLAG("b_constant", TW_GEMM_B_CONSTANT),
    FLAG("device_m", TW_GEMM_DEVICE_M),
    FLAG("device_scalars", TW_GEMM_DEVICE_SCALARS),
    FLAG("staging_copy", TW_GEMM_STAGING_COPY),
    FLAG("d_padding_writable", TW_GEMM_D_PADDING_WRITABLE),
    LONG("lda", lda, INT64_C(1) << 40),
    LONG("ldb", ldb, INT64_C(1) << 40),
    LONG("ldd", ldd, INT64_C(1) << 40),
    {"max_sms", FIELD_SHORT, offsetof(tw_gemm_desc, max_sms), 1 << 20, NULL, 0},
};
enum { FIELDS = sizeof fields / sizeof *fields };
typedef char fields_fit_32_bits[FIELDS <= 32 ? 1 : -1];

static const char default_rows[] = "8-512";

static int has_value(const field* f) {
  return f->kind != FIELD_FLAG;
}

static int refuse_unknown(const char* where, const char* name) {
  char list[512] = "";
  for (int i = 0; i < FIELDS; ++i) {
    const size_t length = strlen(list);
    snprintf(list + length, sizeof list - length, "%s%s%s", i > 0 ? " " : "", fields[i].name,
             has_value(&fields[i]) ? "=" : "");
  }
  tune_complain(where, "\"%s\" is no field; there are: %s", name, list);
  return TUNE_MISUSED;
}

static int refuse_word(const char* where, const field* f, const char* value) {
  char list[128] = "";
  for (const word* w = f->words; w->name; ++w) {
    const size_t length = strlen(list);
    snprintf(list + length, sizeof list - length, "%s%s", w == f->words ? "" : ", ", w->name);
  }
  tune_complain(where, "%s=%s: %s is one of %s", f->name, value, f->name, list);
  return TUNE_MISUSED;
}

/* The value of a name that has `length` characters, or 0 if there is no such name. */
static int32_t value_of(const word* words, const char* name, size_t length) {
  for (; words->name; ++words)
    if (strlen(words->name) == length && memcmp(words->name, name, length) == 0)
      return words->value;
  return 0;
}

static int set_types(tune_shape* shape, const char* value) {
  const char* const arrow = strstr(value, "->");
  const char* const comma = strchr(value, ',');
  const int two = arrow && comma && comma < arrow;
  const char* const a_end = two ? comma : arrow;
  const int32_t a = arrow ? value_of(types, value, (size_t)(a_end - value)) : 0;
  const int32_t b = two ? value_of(types, comma + 1, (size_t)(arrow - comma - 1)) : a;
  const int32_t d = arrow ? value_of(types, arrow + 2, strlen(arrow + 2)) : 0;
  if (a == 0 || b == 0 || d == 0) {
    tune_complain(shape->where,
                  "types=%s: the type of A and B, or one of each with a comma, \"->\" and that of "
                  "D: bf16->bf16, bf16->f32 or f8e4m3,f8e5m2->bf16, for example",
                  value);
    return TUNE_MISUSED;
  }
  shape->desc.a_dtype = a;
  shape->desc.b_dtype = b == a ? 0 : b;
  shape->desc.d_dtype = d;
  return TUNE_DONE;
}

/* Letters from `least` to `most` orders. */
static int read_orders(const char* value, size_t least, size_t most, tw_order* const* orders) {
  const size_t length = strlen(value);
  if (length < least || length > most || strspn(value, "rc") != length) return -1;
  for (size_t i = 0; i < length; ++i) *orders[i] = value[i] == 'r' ? TW_ROW_MAJOR : TW_COLUMN_MAJOR;
  return 0;
}

static int set_orders(tune_shape* shape, const char* value) {
  tw_order* const orders[] = {&shape->desc.a_order, &shape->desc.b_order, &shape->desc.d_order};
  if (read_orders(value, 3, 3, orders) == 0) return TUNE_DONE;
  tune_complain(shape->where,
                "orders=%s: the orders of A, B and D, each r (row-major) or c (column-major): "
                "rcr, for example",
                value);
  return TUNE_MISUSED;
}

static int set_scale_orders(tune_shape* shape, const char* value) {
  tw_order* const orders[] = {&shape->desc.a_scale_order, &shape->desc.b_scale_order,
                              &shape->desc.d_block_scale_order};
  if (read_orders(value, 2, 3, orders) == 0) return TUNE_DONE;
  tune_complain(
      shape->where,
      "scale_orders=%s: the orders of the scales of A, of B, and of D where d_quantize is "
      "given, each r (row-major) or c (column-major): cc, for example",
      value);
  return TUNE_MISUSED;
}

static int set_rows(tune_shape* shape, const char* value) {
  char why[512];
  rows_free(&shape->rows);
  if (rows_read(value, &shape->rows, why, sizeof why) == 0) return TUNE_DONE;
  tune_complain(shape->where, "m=%.60s: %s", value, why);
  return TUNE_MISUSED;
}

static int set_number(tune_shape* shape, const field* f, const char* value) {
  void* const member = (char*)&shape->desc + f->offset;
  int64_t number = 0;
  const char* const end = number_read(value, f->most, &number);
  if (!end || *end) {
    tune_complain(shape->where, "%s=%s: %s is a number from 1 to %lld", f->name, value, f->name,
                  (long long)f->most);
    return TUNE_MISUSED;
  }
  if (f->kind == FIELD_LONG)
    *(int64_t*)member = number;
  else
    *(uint32_t*)member = (uint32_t)number;
  return TUNE_DONE;
}

static int set_word(tune_shape* shape, const field* f, const char* value) {
  const int32_t number = value_of(f->words, value, strlen(value));
  if (number == 0) return refuse_word(shape->where, f, value);
  *(int32_t*)((char*)&shape->desc + f->offset) = number;
  return TUNE_DONE;
}

static int set(tune_shape* shape, const field* f, const char* value) {
  switch (f->kind) {
    case FIELD_ROWS:
      return set_rows(shape, value);
    case FIELD_TYPES:
      return set_types(shape, value);
    case FIELD_ORDERS:
      return set_orders(shape, value);
    case FIELD_SCALE_ORDERS:
      return set_scale_orders(shape, value);
    case FIELD_LONG:
    case FIELD_SHORT:
      return set_number(shape, f, value);
    case FIELD_WORD:
      return set_word(shape, f, value);
    case FIELD_FLAG:
      shape->desc.flags |= f->flag;
      return TUNE_DONE;
  }
  return TUNE_FAILED;
}

/* Reads one field of a line, "n=4096" or "programmatic". `seen` has a bit for each earlier field.
 */
static int read_field(tune_shape* shape, char* text, uint32_t* seen) {
  char* const equals = strchr(text, '=');
  const field* f = fields;
  if (equals) *equals = '\0';
  while (f < fields + FIELDS && strcmp(f->name, text) != 0) ++f;
  if (f == fields + FIELDS) return refuse_unknown(shape->where, text);
  if (has_value(f) != (equals != NULL)) {
    tune_complain(shape->where, has_value(f) ? "%s needs a value: %s=..." : "%s takes no value",
                  f->name, f->name);
    return TUNE_MISUSED;
  }
  if (*seen & 1u << (f - fields)) {
    tune_complain(shape->where, "%s is given twice", f->name);
    return TUNE_MISUSED;
  }
  *seen |= 1u << (f - fields);
  return set(shape, f, equals ? equals + 1 : NULL);
}

/* Defaults for inference: bf16, tokens as rows, and weights stored as n rows of k elements. The
 * operands of this program are aligned. */
static int set_defaults(tune_shape* shape) {
  tw_gemm_desc* const desc = &shape->desc;
  if (tw_gemm_desc_init(desc, sizeof *desc) != TW_OK) {
    tune_complain(shape->where, "%s", tw_last_error());
    return TUNE_FAILED;
  }
  desc->d_dtype = TW_DTYPE_BF16;
  desc->b_order = TW_COLUMN_MAJOR;
  desc->a_alignment = desc->b_alignment = desc->c_alignment = desc->d_alignment = 16;
  return TUNE_DONE;
}

static int read_fields(tune_shape* shape, char* line) {
  uint32_t seen = 0;
  char* rest = NULL;
  int status = set_defaults(shape);
  for (char* text = strtok_r(line, " \t\r\n", &rest); text && status == TUNE_DONE;
       text = strtok_r(NULL, " \t\r\n", &rest))
    status = read_field(shape, text, &seen);
  if (status) return status;
  for (int i = FIELD_N; i <= FIELD_K; ++i)
    if (!(seen & 1u << i)) {
      tune_complain(shape->where, "%s is missing: a shape has n and k, as in m=1-64 n=4096 k=4096",
                    fields[i].name);
      return TUNE_MISUSED;
    }
  if (!(seen & 1u << FIELD_M)) status = set_rows(shape, default_rows);
  if (status == TUNE_DONE) shape->desc.m = shape->rows.m[0];
  return status;
}

static void free_shape(tune_shape* shape) {
  free(shape->where);
  rows_free(&shape->rows);
}

static int add(tune_shapes* shapes, const tune_shape* shape) {
  tune_shape* const items =
      realloc(shapes->items, ((size_t)shapes->count + 1) * sizeof *shapes->items);
  if (!items) return TUNE_FAILED;
  shapes->items = items;
  items[shapes->count++] = *shape;
  return TUNE_DONE;
}

int shapes_add(tune_shapes* shapes, const char* where, const char* line) {
  tune_shape shape;
  char* const text = strndup(line, strcspn(line, "#"));
  int status = TUNE_FAILED;
  memset(&shape, 0, sizeof shape);
  shape.where = strdup(where);
  if (!text || !shape.where) {
    tune_complain(where, "memory is exhausted");
  } else if (text[strspn(text, " \t\r\n")] == '\0') {
    free_shape(&shape);
    free(text);
    return TUNE_DONE;
  } else {
    status = read_fields(&shape, text);
    if (status == TUNE_DONE && (status = add(shapes, &shape)))
      tune_complain(where, "memory is exhausted");
  }
  if (status) free_shape(&shape);
  free(text);
  return status;
}

int shapes_add_file(tune_shapes* shapes, const char* path) {
  char* const text = file_read(path);
  const char* const name = strcmp(path, "-") == 0 ? "standard input" : path;
  const size_t size = strlen(name) + 32;
  char* const where = malloc(size);
  int worst = text && where ? TUNE_DONE : TUNE_FAILED, number = 0;
  for (char* line = text; worst != TUNE_FAILED && line;) {
    char* const end = strchr(line, '\n');
    if (end) *end = '\0';
    snprintf(where, size, "%s, line %d", name, ++number);
    const int status = shapes_add(shapes, where, line);
    if (status) worst = status;
    line = end ? end + 1 : NULL;
  }
  free(where);
  free(text);
  return worst;
}

void shapes_free(tune_shapes* shapes) {
  for (int32_t i = 0; i < shapes->count; ++i) free_shape(&shapes->items[i]);
  free(shapes->items);
  shapes->items = NULL;
  shapes->count = 0;
}

static const char* name_of(const word* words, int32_t value) {
  while (words->name && words->value != value) ++words;
  return words->name ? words->name : "?";
}

static char letter_of(tw_order order) {
  return order == TW_ROW_MAJOR ? 'r' : 'c';
}

static void describe_scale_orders(const tw_gemm_desc* desc, char* text, size_t size) {
  const int of_d = desc->d_block_scale_order != TW_ROW_MAJOR;
  if (desc->a_scale_order == TW_ROW_MAJOR && desc->b_scale_order == TW_ROW_MAJOR && !of_d) return;
  snprintf(text, size, " scale_orders=%c%c%s", letter_of(desc->a_scale_order),
           letter_of(desc->b_scale_order), of_d ? "c" : "");
}

/* Writes a field in the syntax of a line, with a leading space; "" if it has its default. */
static void describe(const tune_shape* shape, const tw_gemm_desc* usual, const field* f, char* text,
                     size_t size) {
  const char* const member = (const char*)&shape->desc + f->offset;
  const char* const other = (const char*)usual + f->offset;
  text[0] = '\0';
  if (f->kind == FIELD_LONG && *(const int64_t*)member != *(const int64_t*)other)
    snprintf(text, size, " %s=%lld", f->name, (long long)*(const int64_t*)member);
  if (f->kind == FIELD_SHORT && *(const uint32_t*)member != *(const uint32_t*)other)
    snprintf(text, size, " %s=%lu", f->name, (unsigned long)*(const uint32_t*)member);
  if (f->kind == FIELD_WORD && *(const int32_t*)member != *(const int32_t*)other)
    snprintf(text, size, " %s=%s", f->name, name_of(f->words, *(const int32_t*)member));
  if (f->kind == FIELD_SCALE_ORDERS) describe_scale_orders(&shape->desc, text, size);
  if (f->kind == FIELD_FLAG && (shape->desc.flags & f->flag)) snprintf(text, size, " %s", f->name);
}

void shape_options(const tune_shape* shape, char* text, size_t size) {
  const tw_gemm_desc* const desc = &shape->desc;
  const tw_order orders[] = {desc->a_order, desc->b_order, desc->d_order};
  tw_gemm_desc usual;
  char letters[4] = "";
  if (tw_gemm_desc_init(&usual, sizeof usual) != TW_OK) return;
  for (int i = 0; i < 3; ++i) letters[i] = letter_of(orders[i]);
  snprintf(text, size, "%s%s%s->%s %s", tw_dtype_name(desc->a_dtype), desc->b_dtype ? "," : "",
           desc->b_dtype ? tw_dtype_name(desc->b_dtype) : "", tw_dtype_name(desc->d_dtype),
           letters);
  for (const field* f = fields + FIELD_K + 1; f < fields + FIELDS; ++f) {
    const size_t length = strlen(text);
    describe(shape, &usual, f, text + length, size - length);
  }
}
