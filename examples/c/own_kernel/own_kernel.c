/* SPDX-License-Identifier: Apache-2.0 */
/* own_kernel [tma_load.fatbin]: launches the program's own CUDA kernel with the library's tensor
 * maps.
 *
 * For each swizzle the kernel loads a box by TMA. It returns the raw bytes of shared memory, and
 * the box's rows, which it locates with the header for kernel authors (device.cuh). The program
 * then checks each element against the definition of the swizzle. Exit code: 0 all correct, 1 a
 * failure, 77 no GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tilewright/tilewright.h>

/* The tensor, and the box's place in it. The box reaches past the right and the lower edge, where
 * TMA fills with zeros. */
enum { ROWS = 40, COLUMNS = 104, BOX_ROWS = 32, FIRST_ROW = 13, FIRST_COLUMN = 48 };
enum { OUT_BYTES_MAX = 2 * BOX_ROWS * 128, THREADS = 128 };

static const struct {
  const char* name;
  tw_swizzle swizzle;
  int span; /* bytes of a box row: the full width of the swizzle */
} kCases[] = {{"none", TW_SWIZZLE_NONE, 128},
              {"32B", TW_SWIZZLE_32B, 32},
              {"64B", TW_SWIZZLE_64B, 64},
              {"128B", TW_SWIZZLE_128B, 128}};

static int library_failed(const char* doing) {
  fprintf(stderr, "own_kernel: %s: %s\n", doing, tw_last_error());
  return 1;
}

/* The place of a box's element (row, column) in shared memory, in elements. A row consists of
 * chunks of 8 elements (16 bytes), and the swizzle XORs the chunk's index with bits of the row's
 * index. With 128 bytes this is ((column / 8) ^ (row % 8)) * 8 + column % 8. A narrower swizzle
 * changes its pattern every 128 bytes, which is every second or fourth row. */
static int place(tw_swizzle swizzle, int span, int row, int column) {
  const int width = span / 2;
  const int chunks = span / 16;
  const int pattern = swizzle == TW_SWIZZLE_NONE ? 0 : row / (128 / span) % chunks;
  return row * width + ((column / 8) ^ pattern) * 8 + column % 8;
}

/* The element's value: unique and never 0. */
static uint16_t element(int row, int column) {
  return (uint16_t)(1 + row * COLUMNS + column);
}

static uint16_t expected(int row, int column) {
  if (row >= ROWS || column >= COLUMNS) return 0;
  return element(row, column);
}

/* Counts the elements that differ from the definition. `box` is shared memory, then the rows. */
static int compare(int index, const uint16_t* box) {
  const int width = kCases[index].span / 2;
  const uint16_t* rows = box + BOX_ROWS * width;
  int wrong = 0;
  for (int row = 0; row < BOX_ROWS; row++) {
    for (int column = 0; column < width; column++) {
      const int at = place(kCases[index].swizzle, kCases[index].span, row, column);
      const uint16_t wanted = expected(FIRST_ROW + row, FIRST_COLUMN + column);
      wrong += box[at] != wanted || rows[row * width + column] != wanted;
    }
  }
  return wrong;
}

/* Loads one box with one swizzle and checks it. */
static int run_case(tw_device* device, tw_stream* stream, tw_kernel* kernel, int index,
                    uint64_t tensor, uint64_t out) {
  uint16_t box[OUT_BYTES_MAX / 2];
  const uint32_t row_bytes = (uint32_t)kCases[index].span;
  const uint32_t rows = BOX_ROWS;
  const uint32_t bytes = rows * row_bytes;

  tw_tensor_map_desc desc;
  tw_tensor_map* map = NULL;
  tw_tensor_map_desc_init(&desc, sizeof desc);
  desc.dtype = TW_DTYPE_BF16;
  desc.swizzle = kCases[index].swizzle;
  desc.global_address = tensor;
  desc.global_dim[0] = COLUMNS;
  desc.global_dim[1] = ROWS;
  desc.global_stride_bytes[0] = COLUMNS * 2;
  desc.box_dim[0] = (uint32_t)kCases[index].span / 2;
  desc.box_dim[1] = BOX_ROWS;
  if (tw_tensor_map_create(device, &desc, &map) != TW_OK) return library_failed("tensor map");

  /* The kernel's parameters, packed: the map by value, out, rows, row_bytes, swizzle, x, y. */
  const uint32_t sizes[7] = {128, 8, 4, 4, 4, 4, 4};
  const int32_t x = FIRST_COLUMN;
  const int32_t y = FIRST_ROW;
  unsigned char params[128 + 8 + 4 + 4 + 4 + 4 + 4];
  tw_status status = tw_tensor_map_bytes(map, params);
  tw_tensor_map_destroy(map); /* a launch needs only the map's bytes */
  memcpy(params + 128, &out, 8);
  memcpy(params + 136, &rows, 4);
  memcpy(params + 140, &row_bytes, 4);
  memcpy(params + 144, &kCases[index].swizzle, 4);
  memcpy(params + 148, &x, 4);
  memcpy(params + 152, &y, 4);

  tw_launch_desc launch;
  tw_launch_desc_init(&launch, sizeof launch);
  launch.block[0] = THREADS;
  launch.dynamic_smem_bytes = bytes + 1024;
  if (status != TW_OK || tw_memset(stream, out, 0xAB, OUT_BYTES_MAX) != TW_OK ||
      tw_launch(stream, kernel, &launch, 7, sizes, params) != TW_OK ||
      tw_memcpy_to_host(stream, box, out, 2 * bytes) != TW_OK ||
      tw_stream_synchronize(stream) != TW_OK) {
    return library_failed(kCases[index].name);
  }
  const int wrong = compare(index, box);
  if (wrong != 0) {
    fprintf(stderr, "own_kernel: swizzle %s: %d of %d elements are misplaced\n", kCases[index].name,
            wrong, (int)bytes / 2);
    return 1;
  }
  printf("swizzle %-4s  %2d x %2d elements, each where the definition puts it\n",
         kCases[index].name, BOX_ROWS, kCases[index].span / 2);
  return 0;
}

static int read_file(const char* path, void** data, size_t* size) {
  FILE* file = fopen(path, "rb");
  long end = -1;
  if (file != NULL && fseek(file, 0, SEEK_END) == 0) end = ftell(file);
  *data = end > 0 ? malloc((size_t)end) : NULL;
  *size = (size_t)end;
  if (*data == NULL || fseek(file, 0, SEEK_SET) != 0 || fread(*data, 1, *size, file) != *size) {
    perror(path);
    free(*data);
    if (file != NULL) fclose(file);
    return 1;
  }
  fclose(file);
  return 0;
}

static int run(tw_device* device, const char* path, tw_module** module, tw_kernel** kernel,
               tw_stream** stream) {
  static uint16_t tensor[ROWS * COLUMNS];
  void* image;
  size_t size;
  if (read_file(path, &image, &size) != 0) return 1;
  const tw_status loaded = tw_module_load(device, image, size, module);
  free(image);
  uint64_t src = 0;
  uint64_t out = 0;
  if (loaded != TW_OK || tw_kernel_get(*module, "load_box", kernel) != TW_OK ||
      tw_stream_create(device, stream) != TW_OK ||
      tw_malloc(device, sizeof(tensor), &src) != TW_OK ||
      tw_malloc(device, OUT_BYTES_MAX, &out) != TW_OK) {
    return library_failed(path);
  }
  for (int i = 0; i < ROWS * COLUMNS; i++) tensor[i] = element(i / COLUMNS, i % COLUMNS);
  if (tw_memcpy_to_device(*stream, src, tensor, sizeof(tensor)) != TW_OK) {
    return library_failed("upload");
  }
  for (int i = 0; i < (int)(sizeof(kCases) / sizeof(kCases[0])); i++) {
    if (run_case(device, *stream, *kernel, i, src, out) != 0) return 1;
  }
  return 0;
}

int main(int argc, char** argv) {
  tw_device* device = NULL;
  tw_module* module = NULL;
  tw_kernel* kernel = NULL;
  tw_stream* stream = NULL;
  const tw_status status = tw_device_create(TW_DEVICE_CUDA, 0, &device);
  if (status == TW_ERROR_NO_DRIVER || status == TW_ERROR_NO_DEVICE ||
      status == TW_ERROR_UNSUPPORTED_DEVICE || status == TW_ERROR_NOT_BUILT) {
    printf("skipped: %s\n", tw_last_error());
    return 77;
  }
  if (status != TW_OK) return library_failed("opening the device");
  const int code = run(device, argc > 1 ? argv[1] : "tma_load.fatbin", &module, &kernel, &stream);
  tw_stream_destroy(stream);
  tw_kernel_destroy(kernel);
  tw_module_destroy(module);
  tw_device_destroy(device);
  return code;
}
