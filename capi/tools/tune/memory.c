/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of one job are consecutive in one block of memory. */
#include <stdlib.h>
#include <string.h>

#include "tune.h"

enum { ALIGNMENT = 256, LINE = 128, PATTERN = 1 << 19, MEBIBYTE = 1 << 20 };

static uint64_t product(uint64_t a, uint64_t b) {
  return a != 0 && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

/* Rounds `bytes` up to a multiple of `unit`, a power of two. */
static uint64_t whole(uint64_t bytes, uint64_t unit) {
  return bytes > UINT64_MAX - unit ? UINT64_MAX : (bytes + unit - 1) / unit * unit;
}

/* One operand of a batch: a matrix for each product. */
typedef struct {
  uint64_t at;     /* offset in the block of the first product's matrix */
  uint64_t apart;  /* bytes from one product's matrix to the next */
  uint64_t array;  /* with TW_GEMM_BATCH_POINTERS: offset of the array of addresses */
  uint64_t copied; /* largest number of bytes of a staging copy of all matrices */
} matrix;

/* Offsets of a job's operands in the block. */
typedef struct {
  matrix a, b, d;
  uint64_t bias, d_factor, amax, workspace, workspace_bytes;
  uint64_t a_scale, b_scale, d_block_scale;
  uint64_t end; /* UINT64_MAX: the size exceeds 64 bits */
} arrangement;

/* Reserves the next `bytes` of the block and returns their offset. */
static uint64_t take(arrangement* to, uint64_t bytes) {
  const uint64_t at = to->end, needed = whole(bytes, ALIGNMENT);
  to->end = needed > UINT64_MAX - at ? UINT64_MAX : at + needed;
  return at;
}

static matrix place(arrangement* to, const tw_gemm_desc* desc, int64_t rows, int64_t columns,
                    tw_order order, int64_t leading, tw_dtype dtype) {
  const uint64_t lines = (uint64_t)(order == TW_ROW_MAJOR ? rows : columns);
  const uint64_t packed = (uint64_t)(order == TW_ROW_MAJOR ? columns : rows);
  const uint64_t size = (uint64_t)tw_dtype_size(dtype), batch = (uint64_t)desc->batch_count;
  const int by_address = (desc->flags & TW_GEMM_BATCH_POINTERS) != 0;
  const uint64_t pitch = leading > 0 ? (uint64_t)leading : packed;
  matrix m;
  m.apart = product(product(lines, pitch), size);
  /* Descriptions promise alignment for every matrix that has an address of its own. */
  if (by_address) m.apart = whole(m.apart, ALIGNMENT);
  m.copied = whole(product(product(whole(packed * size, LINE), lines), batch), ALIGNMENT);
  m.at = take(to, product(m.apart, batch));
  m.array = by_address ? take(to, batch * sizeof(uint64_t)) : 0;
  return m;
}

/* Number of elements of a vector with one for each row or column, or one for the whole matrix. */
static uint64_t elements(tw_per per, int64_t rows, int64_t columns) {
  return (uint64_t)(per == TW_PER_ROW ? rows : per == TW_PER_COLUMN ? columns : per != TW_PER_NONE);
}

/* Scales of an operand of so many lines along k, or 128 of them, in a batch. */
static uint64_t scales(tw_scale_kind kind, int64_t lines, const tw_gemm_desc* d) {
  const uint64_t blocks = ((uint64_t)d->k + 127) / 128, batch = (uint64_t)d->batch_count;
  const uint64_t all = (uint64_t)lines;
  if (kind == TW_SCALE_NONE) return 0;
  if (kind == TW_SCALE_TENSOR) return batch;
  if (kind == TW_SCALE_ROW) return product(all, batch);
  return product(product(kind == TW_SCALE_128X128 ? (all + 127) / 128 : all, blocks), batch);
}

/* The type of a bias that the description leaves open. */
static tw_dtype bias_type(const tw_gemm_desc* d) {
  if (d->bias_dtype) return d->bias_dtype;
  return tw_dtype_size(d->d_dtype) == 2 ? d->d_dtype : TW_DTYPE_F32;
}

/* Workspace bytes for stream-K candidates, as tw_gemm_tune() states them; 0 on the host device. */
static tw_status stream_k_workspace_bytes(tw_device* device, uint64_t* bytes) {
  tw_device_info info;
  tw_status status = tw_device_info_init(&info, sizeof info);
  if (status == TW_OK) status = tw_device_get_info(device, &info);
  *bytes = 0;
  if (status == TW_OK && info.kind == TW_DEVICE_CUDA) *bytes = (uint64_t)64 << 20;
  return status;
}

static tw_status workspace_of(tw_device* device, const tw_gemm_desc* desc, uint64_t* bytes) {
  tw_plan* plan = NULL;
  tw_plan_info info;
  tw_status status = tw_plan_info_init(&info, sizeof info);
  if (status == TW_OK) status = tw_gemm_plan(device, desc, &plan);
  if (status == TW_OK) status = tw_plan_get_info(plan, &info);
  tw_plan_destroy(plan);
  *bytes = status == TW_OK ? info.workspace_bytes : 0;
  return status;
}

static tw_status arrange(tw_device* device, const tune_job* job, arrangement* to) {
  const tw_gemm_desc* const d = &job->desc;
  const int64_t columns = d->gate ? d->n / 2 : d->n;
  const uint64_t d_scales = d->d_quantize ? ((uint64_t)columns + 127) / 128 : 0;
  uint64_t candidates; /* bytes of a workspace that suffices for every candidate */
  tw_status status;
  memset(to, 0, sizeof *to);
  status = workspace_of(device, d, &to->workspace_bytes);
  if (status == TW_OK) status = stream_k_workspace_bytes(device, &candidates);
  if (status != TW_OK) return status;
  to->a = place(to, d, d->m, d->k, d->a_order, d->lda, d->a_dtype);
  to->b = place(to, d, d->k, d->n, d->b_order, d->ldb, d->b_dtype ? d->b_dtype : d->a_dtype);
  to->d = place(to, d, d->m, columns, d->d_order, d->ldd, d->d_dtype);
  to->bias = take(to, elements(d->bias, d->m, d->n) * (uint64_t)tw_dtype_size(bias_type(d)));
  to->d_factor = take(to, elements(d->d_factor, d->m, columns) * sizeof(float));
  to->amax = take(to, sizeof(float));
  to->a_scale = take(to, product(scales(d->a_scale, d->m, d), sizeof(float)));
  to->b_scale = take(to, product(scales(d->b_scale, d->n, d), sizeof(float)));
  to->d_block_scale = take(
      to,
      product(product(product(d_scales, (uint64_t)d->m), (uint64_t)d->batch_count), sizeof(float)));
  /* A candidate may need a staging copy even if the plan's own kernel needs none. */
  if (d->flags & TW_GEMM_STAGING_COPY) {
    const uint64_t copies =
        to->a.copied > UINT64_MAX - to->b.copied ? UINT64_MAX : to->a.copied + to->b.copied;
    candidates = copies > UINT64_MAX - candidates ? UINT64_MAX : copies + candidates;
  }
  if (candidates > to->workspace_bytes) to->workspace_bytes = candidates;
  to->workspace = take(to, to->workspace_bytes);
  return TW_OK;
}

tw_status memory_needed(tw_device* device, const tune_job* job, uint64_t* bytes) {
  arrangement all;
  const tw_status status = arrange(device, job, &all);
  *bytes = status == TW_OK ? all.end : 0;
  return status;
}

/* Linux overcommits memory, and kills a process that uses more than there is. So the host device
 * uses at most the memory that Linux reports as available; UINT64_MAX if it reports nothing. */
static uint64_t host_available(void) {
  FILE* const file = fopen("/proc/meminfo", "r");
  unsigned long long kilobytes = 0;
  char line[128];
  int found = 0;
  while (file && !found && fgets(line, sizeof line, file))
    found = sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1;
  if (file) fclose(file);
  return found ? (uint64_t)kilobytes * 1024 : UINT64_MAX;
}

static tw_status allocate(const tune_memory* memory, uint64_t bytes, uint64_t* address) {
  *address = 0;
  if (memory->is_host && bytes > host_available()) return TW_ERROR_OUT_OF_MEMORY;
  return tw_malloc(memory->device, bytes, address);
}

uint64_t memory_free(const tune_memory* memory, uint64_t wanted) {
  uint64_t fits = 0, too_much = wanted / MEBIBYTE + 1; /* mebibytes */
  if (memory->is_host) return wanted < host_available() ? wanted : host_available();
  while (too_much - fits > 1) {
    const uint64_t middle = fits + (too_much - fits) / 2;
    uint64_t address = 0;
    const int good = allocate(memory, middle * MEBIBYTE, &address) == TW_OK;
    if (good) tw_free(memory->device, address);
    *(good ? &fits : &too_much) = middle;
  }
  return fits * MEBIBYTE;
}

/* Random bits that are numbers of either sign: 0.5 to 1 as bf16, 1.75 to 1.88 as f16, and in pairs
 * 0.5 to 1 as f32. With zeros or equal numbers a chip would need less power than with real operands
 * and might run at a higher clock. */
static uint32_t wide(uint32_t bits) {
  return 0x3f00u | (bits & 0x7fu) | (bits >> 8 & 0x8000u);
}
/* Two of 8 bits: 0.5 to 1.875 as f8e4m3, 0.125 to 1.75 as f8e5m2, 48 to 80 as i8. */
static uint32_t narrow(uint32_t bits) {
  return 0x3030u | (bits & 0x8f8fu);
}
static void make_pattern(uint16_t* pattern, uint32_t (*of)(uint32_t)) {
  uint32_t state = 2463534242u;
  for (int i = 0; i < PATTERN / 2; ++i) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    pattern[i] = (uint16_t)of(state);
  }
}

static tw_status fill(const tune_memory* memory, uint64_t at, uint64_t bytes,
                      const uint16_t* pattern) {
  uint64_t done = bytes < PATTERN ? bytes : PATTERN;
  const uint64_t to = memory->block + at;
  tw_status status = tw_memcpy_to_device(memory->stream, to, pattern, done);
  while (status == TW_OK && done < bytes) {
    const uint64_t more = bytes - done < done ? bytes - done : done;
    status = tw_memcpy_on_device(memory->stream, to + done, to, more);
    done += more;
  }
  return status;
}

/* All of a block, and A and B anew where their elements have 8 bits. */
static tw_status fill_all(const tune_memory* memory, const tw_gemm_desc* d, const arrangement* at) {
  static uint16_t pattern[2][PATTERN / 2];
  const uint64_t batch = (uint64_t)d->batch_count;
  tw_status status;
  if (pattern[0][0] == 0) {
    make_pattern(pattern[0], wide);
    make_pattern(pattern[1], narrow);
  }
  status = fill(memory, 0, at->end, pattern[0]);
  if (tw_dtype_size(d->a_dtype) != 1) return status;
  if (status == TW_OK) status = fill(memory, at->a.at, at->a.apart * batch, pattern[1]);
  if (status == TW_OK) status = fill(memory, at->b.at, at->b.apart * batch, pattern[1]);
  return status;
}

static tw_status write_array(const tune_memory* memory, const matrix* m, int64_t count) {
  uint64_t* const addresses = malloc((size_t)count * sizeof *addresses);
  tw_status status;
  if (!addresses) return TW_ERROR_OUT_OF_MEMORY;
  for (int64_t i = 0; i < count; ++i) addresses[i] = memory->block + m->at + (uint64_t)i * m->apart;
  status = tw_memcpy_to_device(memory->stream, memory->block + m->array, addresses,
                               (uint64_t)count * sizeof *addresses);
  if (status == TW_OK) status = tw_stream_synchronize(memory->stream);
  free(addresses);
  return status;
}

/* The address of a matrix; with TW_GEMM_BATCH_POINTERS that of the array of addresses. */
static tw_status address(const tune_memory* memory, const tw_gemm_desc* desc, const matrix* m,
                         uint64_t* at) {
  const int by_address = (desc->flags & TW_GEMM_BATCH_POINTERS) != 0;
  *at = memory->block + (by_address ? m->array : m->at);
  return by_address ? write_array(memory, m, desc->batch_count) : TW_OK;
}

static tw_status prepare(const tune_memory* memory, const tune_job* job, const arrangement* at,
                         tw_gemm_args* args) {
  const tw_gemm_desc* const d = &job->desc;
  const uint64_t block = memory->block;
  tw_status status = tw_gemm_args_init(args, sizeof *args);
  if (status == TW_OK) status = fill_all(memory, d, at);
  if (status == TW_OK) status = address(memory, d, &at->a, &args->a);
  if (status == TW_OK) status = address(memory, d, &at->b, &args->b);
  if (status == TW_OK) status = address(memory, d, &at->d, &args->d);
  if (d->bias) args->bias = block + at->bias;
  if (d->d_factor) args->d_factor = block + at->d_factor;
  if (d->flags & TW_GEMM_AMAX) args->amax = block + at->amax;
  if (d->a_scale) args->a_scale = block + at->a_scale;
  if (d->b_scale) args->b_scale = block + at->b_scale;
  if (d->d_quantize) args->d_block_scale = block + at->d_block_scale;
  args->workspace = block + at->workspace;
  args->workspace_bytes = at->workspace_bytes;
  if (status == TW_OK) status = tw_stream_synchronize(memory->stream);
  return status;
}

/* Waits before it frees memory: a failed measurement may have left work that uses it. */
static void give_back(const tune_memory* memory, uint64_t* at) {
  tw_stream_synchronize(memory->stream);
  tw_free(memory->device, *at);
  *at = 0;
}

static int does_not_fit(const tune_memory* memory, const tune_job* job, uint64_t bytes) {
  char name[640], needed[64];
  job_name(job, name, sizeof name);
  if (memory->is_host && bytes <= host_available()) { /* available, but not to this process */
    tune_complain(name, "%s", tune_reason(TW_ERROR_OUT_OF_MEMORY));
    return TUNE_INCOMPLETE;
  }
  snprintf(needed, sizeof needed, bytes == UINT64_MAX ? "more than %llu" : "%llu",
           (unsigned long long)(bytes == UINT64_MAX ? INT64_MAX : bytes));
  tune_complain(name,
                "the operands need %s bytes of device memory in one block, and %llu are free%s",
                needed, (unsigned long long)memory_free(memory, bytes),
                memory->flush_bytes > 0 ? " beside what is read between runs" : "");
  return TUNE_INCOMPLETE;
}

int memory_for(tune_memory* memory, const tune_job* job, tw_gemm_args* args) {
  arrangement at;
  char name[640];
  tw_status status = arrange(memory->device, job, &at);
  if (status == TW_OK && at.end > memory->bytes) {
    give_back(memory, &memory->block);
    memory->bytes = 0;
    status = at.end > INT64_MAX ? TW_ERROR_OUT_OF_MEMORY : allocate(memory, at.end, &memory->block);
    if (status == TW_ERROR_OUT_OF_MEMORY) return does_not_fit(memory, job, at.end);
    if (status == TW_OK) memory->bytes = at.end;
  }
  if (status == TW_OK) status = prepare(memory, job, &at, args);
  if (status == TW_OK) return TUNE_DONE;
  job_name(job, name, sizeof name);
  tune_complain(name, "%s", tune_reason(status));
  return status == TW_ERROR_DEVICE_LOST || status == TW_ERROR_DRIVER ? TUNE_FAILED
                                                                     : TUNE_INCOMPLETE;
}

int memory_open(tune_memory* memory, tw_device* device, tw_stream* stream, uint64_t flush_bytes) {
  tw_device_info info;
  tw_status status = tw_device_info_init(&info, sizeof info);
  memset(memory, 0, sizeof *memory);
  memory->device = device;
  memory->stream = stream;
  if (status == TW_OK) status = tw_device_get_info(device, &info);
  memory->is_host = info.kind == TW_DEVICE_HOST;
  if (status == TW_OK && flush_bytes > 0) {
    status = allocate(memory, flush_bytes, &memory->flush);
    if (status == TW_ERROR_OUT_OF_MEMORY) {
      tune_complain("--flush",
                    "%llu bytes of device memory are to be read between runs, and %llu are free; "
                    "--flush SIZE takes fewer, --hot none",
                    (unsigned long long)flush_bytes,
                    (unsigned long long)memory_free(memory, flush_bytes));
      return TUNE_FAILED;
    }
    memory->flush_bytes = flush_bytes;
    if (status == TW_OK) status = tw_memset(stream, memory->flush, 0, flush_bytes);
    if (status == TW_OK) status = tw_stream_synchronize(stream);
  }
  if (status == TW_OK) return TUNE_DONE;
  tune_complain("device memory", "%s", tune_reason(status));
  return TUNE_FAILED;
}

void memory_close(tune_memory* memory) {
  if (!memory->device) return;
  give_back(memory, &memory->block);
  give_back(memory, &memory->flush);
  memset(memory, 0, sizeof *memory);
}
