/* SPDX-License-Identifier: Apache-2.0 */
/* tilewright-tune: measures kernels for a list of matrix products, and writes the fastest as text
 * for tw_gemm_tuning_load(). */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <string.h>

#include "tune.h"

/* Several texts, because a C99 compiler may bound the length of one. */
static const char* const usage[] = {
    "tilewright-tune - choose the kernels of matrix products by measuring\n"
    "\n"
    "  tilewright-tune [OPTION]... [SHAPE]...\n"
    "\n"
    "Measures kernels for D = A B of each shape and m, on a device on which nothing else runs, "
    "and\n"
    "writes the fastest as text. A program gives the text to tw_gemm_tuning_load() and makes its\n"
    "plans by tw_gemm_plan_tuned().\n"
    "\n"
    "Options\n"
    "  --shapes FILE     a shape a line; \"-\" is the standard input. May be given several times\n"
    "  --out FILE        where the text goes, as a whole or not at all; standard output without "
    "it\n"
    "  --merge           keeps entries and rates that FILE of --out has and that are not measured\n"
    "                    again. Its comments are lost. Not from two processes at once\n"
    "  --device DEVICE   cuda, the default, cuda:1 and so on, or host, the CPU reference\n"
    "  --candidates N    kernels that are tried for each m; the default is 12, 0 is all\n"
    "  --rounds N        times that each is measured, 1 to 1000; the default is 7\n"
    "  --flush SIZE      bytes that are read before each run, so that it does not find its "
    "operands\n"
    "                    in the L2 cache; K, M or G may follow the number. By default four times\n"
    "                    the L2 cache of a GPU, and nothing on the host device\n"
    "  --hot             reads nothing before runs, which then follow each other at once\n"
    "  --calibrate       first measures the chip's memory bandwidth and its rate at the power "
    "limit,\n"
    "                    for the kernels that plans choose without an entry. A second, 384 MB\n"
    "  --dry-run         lists what would be tuned, the bytes that its operands need and the "
    "kernel\n"
    "                    so far, and measures nothing\n"
    "  --help            this text\n"
    "  --version         the library's version\n"
    "\n",
    "Shapes\n"
    "  A shape is fields with blanks between them, on the command line in one argument:\n"
    "  'm=1-64 n=4096 k=14336'. In a file, empty lines and what follows a # are skipped.\n"
    "\n"
    "  m=LIST            rows of A and D, tokens for example; the default is 8-512. Commas divide\n"
    "                    the list: numbers, FIRST-LAST (doubling), FIRST-LAST:STEP, or\n"
    "                    FIRST-LAST:all, which is the fewest m whose entries serve all rows from\n"
    "                    FIRST to LAST. LAST itself is always in it\n"
    "  n=N k=N           required: columns of B, and columns of A\n"
    "  types=A->D        of A and B, bf16 or f16; of D, these or f32. The default is bf16->bf16\n"
    "                    Or f8e4m3, f8e5m2, i8 or tf32 to any type that these have, and A,B->D\n"
    "  orders=ABD        r (row-major) or c (column-major) for A, B and D; the default is rcr:\n"
    "                    weights B as n lines of k\n"
    "  accumulator=f16   f32 is the default\n"
    "  lda=N ldb=N ldd=N  leading dimensions, elements; packed is the default\n"
    "  batch=N           products in a run, packed behind one another\n"
    "  batch_pointers    their matrices are found by arrays of addresses\n"
    "  bias=row|column   bias_type=TYPE  activation=relu|gelu|gelu_tanh|silu\n"
    "  gate=halves|interleaved  d_factor=tensor|row|column  amax\n"
    "                    the epilogue: an entry is for products with any epilogue\n"
    "  a_scale=KIND b_scale=KIND  d_quantize=1x128\n"
    "                    scales of A, of B and those that a run computes for D, of 8-bit types\n"
    "                    and tf32: tensor, row, 1x128, 128x128; packed\n"
    "  scale_orders=ABD  their orders, as orders; the default is rrr. D's may be left out\n"
    "  programmatic a_constant b_constant device_m device_scalars batch_invariant staging_copy\n"
    "  d_padding_writable fast_accumulate  the options of tw_gemm_desc of these names\n"
    "  max_sms=N         SMs that a plan may use\n"
    "\n",
    "Which m\n"
    "  Plans choose kernels for steps of m, which end at multiples of 8 up to 512, of 64 up to\n"
    "  8192, and further apart above. An entry that was measured at m serves the step of m to its\n"
    "  end t and the steps before it that end above t - t/8: 8 serves 1 to 8, 64 serves 57 to 64,\n"
    "  4096 serves 3585 to 4096. Of the m of one step only the largest is measured, because plans\n"
    "  would take its entry for all of them.\n"
    "\n"
    "Progress, on standard error\n"
    "  A line for each m: the kernel that a plan would have taken, by the cost model or by the "
    "file\n"
    "  of --merge, and its time; the fastest and its time; how many times faster it is. Two\n"
    "  different kernels are timed once more in turn, and the old one stays where the other is no\n"
    "  faster then. SIGINT and SIGTERM end the work behind the m that is being measured, and what\n"
    "  was tuned is written.\n"
    "\n"
    "Exit status\n"
    "  0  every m has an entry (with --dry-run: could be tuned)\n"
    "  1  a device, a file or memory failed; what was tuned before is written where it can be\n"
    "  2  the command line or a shape cannot be read or can work nowhere: nothing was measured\n"
    "  3  some m were not tuned: operands do not fit, no kernel of this device takes the product,\n"
    "     or a signal came. The others are written\n"
    "\n"
    "Example\n"
    "  tilewright-tune --out tuning.txt 'm=8-256 n=4096 k=14336' 'm=64-512:all n=28672 k=4096'\n",
    NULL};

static int misused(const char* what, const char* argument) {
  tune_say("tilewright-tune: %s%s; --help lists the options\n", what, argument);
  return TUNE_MISUSED;
}

static int read_count(const char* name, const char* text, int64_t least, int64_t most,
                      int32_t* out) {
  int64_t number = 0;
  const char* const end = strcmp(text, "0") == 0 ? text + 1 : number_read(text, most, &number);
  if (!end || *end || number < least) {
    tune_say("tilewright-tune: %s %s: a number from %lld to %lld is needed\n", name, text,
             (long long)least, (long long)most);
    return TUNE_MISUSED;
  }
  *out = (int32_t)number;
  return TUNE_DONE;
}

/* Reads a number of bytes, optionally with K, M or G. */
static int read_size(const char* text, int64_t* bytes) {
  static const char units[] = "KMG";
  const int64_t most = INT64_C(1) << 40;
  const char* end = number_read(text, most, bytes);
  const char* const unit = end && *end ? strchr(units, *end) : NULL;
  for (const char* u = units; unit && u <= unit; ++u) *bytes *= *bytes <= most ? 1024 : 1;
  if (unit) ++end;
  if (end && *end == '\0' && *bytes <= most) return TUNE_DONE;
  tune_say("tilewright-tune: --flush %s: 1 byte to 1024G are read, as in 200M\n", text);
  return TUNE_MISUSED;
}

static int read_device(const char* text, tune_options* options) {
  options->ordinal = 0;
  options->kind = strcmp(text, "host") == 0 ? TW_DEVICE_HOST : TW_DEVICE_CUDA;
  if (strcmp(text, "host") == 0 || strcmp(text, "cuda") == 0) return TUNE_DONE;
  if (strncmp(text, "cuda:", 5) == 0)
    return read_count("--device: the number behind cuda:", text + 5, 0, 1023, &options->ordinal);
  return misused("--device is host, cuda or cuda:NUMBER, not ", text);
}

static int add_shape(tune_options* options, const char* text, int number) {
  const int32_t before = options->shapes.count;
  char where[32];
  int status;
  snprintf(where, sizeof where, "shape %d", number);
  status = shapes_add(&options->shapes, where, text);
  if (status == TUNE_DONE && options->shapes.count == before)
    return misused("an empty shape; n and k are needed, as in 'n=4096 k=4096'", "");
  return status;
}

/* Reads an option that has a value. */
static int read_value(const char* name, const char* value, tune_options* options) {
  if (strcmp(name, "--shapes") == 0) return shapes_add_file(&options->shapes, value);
  if (strcmp(name, "--out") == 0) return options->out = value, TUNE_DONE;
  if (strcmp(name, "--device") == 0) return read_device(value, options);
  if (strcmp(name, "--candidates") == 0)
    return read_count(name, value, 0, 100000, &options->candidates);
  if (strcmp(name, "--rounds") == 0) return read_count(name, value, 1, 1000, &options->rounds);
  return read_size(value, &options->flush_bytes);
}

static int has_value(const char* word) {
  static const char* const names[] = {"--shapes",     "--out",    "--device",
                                      "--candidates", "--rounds", "--flush"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcmp(word, names[i]) == 0) return 1;
  return 0;
}

/* Reads an option without a value, or a shape; `shapes` counts the shapes of the command line. */
static int read_word(const char* word, tune_options* options, int* shapes) {
  if (strcmp(word, "--merge") == 0) return options->merge = 1, TUNE_DONE;
  if (strcmp(word, "--dry-run") == 0) return options->dry_run = 1, TUNE_DONE;
  if (strcmp(word, "--calibrate") == 0) return options->calibrate = 1, TUNE_DONE;
  if (strcmp(word, "--hot") == 0) return options->flush_bytes = 0, TUNE_DONE;
  if (word[0] == '-') return misused("unknown option ", word);
  return add_shape(options, word, ++*shapes);
}

static int parse(int argc, char** argv, tune_options* options) {
  int worst = TUNE_DONE, hot = 0, flush = 0, shapes = 0;
  for (int i = 1; i < argc; ++i) {
    const char* const word = argv[i];
    int status;
    hot |= strcmp(word, "--hot") == 0;
    flush |= strcmp(word, "--flush") == 0;
    if (!has_value(word)) {
      status = read_word(word, options, &shapes);
    } else if (i + 1 == argc) {
      status = misused(word, " needs a value");
    } else {
      status = read_value(word, argv[++i], options);
    }
    if (status == TUNE_FAILED) return status;
    if (status) worst = status;
  }
  if (worst) return worst;
  if (hot && flush) return misused("--hot goes without --flush", "");
  if (options->merge && !options->out) return misused("--merge goes with --out FILE", "");
  if (options->shapes.count == 0 && !options->calibrate)
    return misused("no shapes, as in 'n=4096 k=4096'", "");
  return TUNE_DONE;
}

static int asks_for(int argc, char** argv, const char* word) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], word) == 0) return 1;
  return 0;
}

static void on_signal(int number) {
  (void)number;
  tune_interrupt();
}

/* A second signal of the same kind ends the program at once. */
static void catch_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = (int)SA_RESETHAND | SA_RESTART;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
    sigaction(numbers[i], &action, NULL);
}

static int print_usage(void) {
  for (const char* const* part = usage; *part; ++part)
    if (fputs(*part, stdout) < 0) return TUNE_FAILED;
  return TUNE_DONE;
}

int main(int argc, char** argv) {
  tune_options options;
  int status;
  if (asks_for(argc, argv, "--help")) return print_usage();
  if (asks_for(argc, argv, "--version"))
    return printf("tilewright-tune %s\n", tw_version_string()) < 0;
  memset(&options, 0, sizeof options);
  options.kind = TW_DEVICE_CUDA;
  options.candidates = options.rounds = -1;
  options.flush_bytes = -1;
  status = parse(argc, argv, &options);
  catch_signals();
  if (status == TUNE_DONE) status = tune_run(&options);
  shapes_free(&options.shapes);
  return status;
}
