/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H
/**
 * @file tilewright.h
 * Moving tensors with NVIDIA's Tensor Memory Accelerator (TMA) and multiplying them, from any
 * language.
 *
 * Conventions, which hold for every function here:
 * - A function that can fail returns a ::tw_status; TW_OK is 0. Outputs usually come last; the
 *   descriptions of the parameters mark them with [out] or [in,out]. After a failure an output
 *   handle, pointer or number is NULL or 0, and output arrays keep their contents. An output struct
 *   has 0 in every field except struct_size and struct_mark. Exceptions are stated with the
 *   function. After TW_ERROR_BUFFER_TOO_SMALL the length is set, and a text buffer holds the
 *   beginning of the text. tw_last_error() explains the calling thread's last failure: what was
 *   wrong, with the numbers, and what would work. Functions check their arguments before they do
 *   anything. The library never prints, aborts or exits.
 * - The errors from 100 to 199, such as TW_ERROR_INVALID_ARGUMENT, refuse a request that is wrong:
 *   its arguments contradict each other or a rule, or belong to the wrong device.
 *   TW_ERROR_UNSUPPORTED refuses a valid request that this version of the library or this device
 *   cannot serve.
 * - The lists of return values name only what is particular to a function. In addition, functions
 *   return TW_ERROR_INVALID_ARGUMENT for a pointer that must not be NULL, for a destroyed handle,
 *   and for a required field that was not set. Functions that take a struct return TW_ERROR_STRUCT,
 *   and all functions may return TW_ERROR_OUT_OF_MEMORY. Functions that return TW_ERROR_OVERLAP for
 *   operands that overlap also return it if the operands interleave (one begins before the other
 *   ends) and a bounded search cannot prove that they share no byte. Functions on a device, or on a
 *   handle that belongs to one, also return TW_ERROR_DEVICE_CLOSED, TW_ERROR_FORKED,
 *   TW_ERROR_WRONG_DEVICE if two handles belong to different devices, and the driver's errors:
 *   TW_ERROR_DEVICE_LOST, TW_ERROR_DRIVER, TW_ERROR_CAPTURE and TW_ERROR_SHUTDOWN.
 * - Text goes into a `buffer` of `capacity` bytes. The function cuts text that does not fit and
 *   always zero-terminates it. `length` may be NULL; otherwise it receives the number of bytes that
 *   the whole text needs, including the zero. TW_ERROR_BUFFER_TOO_SMALL says that the text was cut
 *   or that capacity is 0. As an exception, (NULL, 0, &length) asks for the length only and returns
 *   TW_OK. Drawings are texts too. tw_embedded_kernel_image() has the same parameters for an image,
 *   but never writes only a part of it.
 * - Handles are opaque. The caller owns a handle that `tw_x_create` or a similar function returns,
 *   and releases it with `tw_x_destroy`, which accepts NULL and works in every state. Destroying a
 *   device does not free the handles that were made from it: each must still be destroyed. Every
 *   other call on such a handle returns TW_ERROR_DEVICE_CLOSED.
 * - The library recognizes the last 1,024 destroyed handles of each type. Every function refuses
 *   such a handle with TW_ERROR_INVALID_ARGUMENT, and destroying it again does nothing. A handle
 *   that was destroyed earlier than those is freed memory: do not use it.
 * - Pass every struct to its own init function first, with its size, as in
 *   `tw_gemm_desc_init(&desc, sizeof desc)`. This also holds for structs that the library fills.
 *   The init function sets every field to its default and marks the struct as initialized. A struct
 *   without the mark is refused with TW_ERROR_STRUCT. An initialized struct may be copied and
 *   reused.
 * - Structs can grow: a later version of the library may add fields at a struct's end. A program
 *   that was compiled against the shorter struct also works with the later library, because the
 *   library reads and writes only as many bytes as the program gave to the init function; the
 *   fields that the program does not know have their defaults. A program's struct may also be
 *   longer than this library's, up to 4096 bytes, if the fields that this library does not know are
 *   zero. A size is therefore valid if it is a multiple of the struct's alignment, is at least the
 *   size of the struct's first version and is at most 4096 bytes. While the major version is 0, a
 *   new minor version may also break programs, as CONTRIBUTING.md describes.
 * - Fields that are marked "required" must be set. Most required sizes, extents and strides start
 *   as TW_UNSET, because 0 can be a valid value. Required types, ranks and addresses start as 0,
 *   and so do fields that only some options require.
 * - An extent or count of 0 makes an empty operation, which is planned and run like any other and
 *   accesses no memory; its addresses may be 0. There are exceptions: a matrix product with k = 0
 *   still writes D, a routing of 0 tokens writes its counts and offsets, and a grouped product of 0
 *   rows still clears D with TW_GROUPED_COMBINE_SUM or TW_GROUPED_ZERO_OTHER_ROWS.
 * - Some options make a field or an address meaningless. For example, bias_dtype has no meaning
 *   without a bias. Such a field or address is called excluded. It must keep the value that the
 *   init function gave it: the library refuses any other value rather than ignore it. A workspace
 *   is the exception: it is ignored if the plan needs none.
 * - Arrays of extents and strides have 8 elements. Set the first `rank` of them; the others must
 *   keep the values that the init function gave them. As an exception, the arrays of
 *   ::tw_tensor_map_desc have 5 elements, and elements past the rank are ignored.
 * - Device addresses are `uint64_t`. Sizes of memory are in bytes. Extents and strides of tensors
 *   are in elements. Strides of tensor maps are in bytes, as they are in CUDA.
 * - The host device checks that operands lie in memory that it knows; the CUDA device does not.
 *   Each operand of a run, and the device memory of a copy or fill, must lie from its lowest to its
 *   highest byte inside one block of tw_malloc() or tw_malloc_host() or inside one range of
 *   tw_memory_register(). Two adjacent blocks do not count as one. Every address in the arguments
 *   of a run is an operand, including those of workspaces, counters and scalars. Other memory is
 *   refused with TW_ERROR_INVALID_ARGUMENT before anything happens. The message names the operand,
 *   its address, the bytes that it needs and the bytes that are available. If a run takes lists of
 *   addresses, the host device waits for the stream, reads the lists and checks the memory that
 *   they name too. The operands of a graph are checked when they are captured, but not the memory
 *   that such lists name.
 * - Functions that enqueue work on a stream return before the work is done. On a CUDA device they
 *   neither allocate memory nor synchronize, with two exceptions: during stream capture they
 *   allocate what the recording needs, and copies of pageable host memory may block. The host
 *   device may also wait for the stream, as described above. Host memory that is passed to these
 *   functions must stay valid until the stream has executed the work.
 *
 * A part that is marked "Experimental" may change with any minor version, and an experimental
 * function may disappear. The promise of stability in CONTRIBUTING.md covers everything else in
 * this file; it also says what may change while the major version is 0.
 *
 * Each function that runs an operation says under "Repeatability" (the tag `repeats` in this file)
 * whether its results repeat. They repeat if runs of one plan on one device write the same bytes
 * each time, as long as the inputs, the numbers in the arguments and the alignments of the
 * addresses are equal. Another device, another version of the library or another plan may choose
 * another kernel, which may round differently. Such differences occur only where floating-point
 * numbers are summed or an activation is computed.
 *
 * Each function states its thread-safety under "Thread-safety" (the tag `threadsafety`):
 * - "any thread" means that any number of threads may call it at once, also on the same handles.
 * - "external" means that the caller must prevent overlapping calls on one handle. Calls on
 *   different handles may overlap. For tw_device_destroy(), calls on the handles that were made
 *   from the device count as calls on the device.
 *
 * A function that says nothing about blocking does not wait for work. A function that says nothing
 * about stream capture enqueues nothing. Any thread may call it during a capture, also the thread
 * that captures, even in the global capture mode, unless its description says otherwise. "Stream
 * capture: allowed" (the tag `capture`) means that the function may be called while a stream is
 * captured; work that it enqueues on a captured stream becomes part of the graph. "Stream capture:
 * refused" means that the function returns TW_ERROR_CAPTURE if the stream is captured.
 */

#include <stddef.h>
#include <stdint.h>

#define TW_VERSION_MAJOR 0 /**< a new major version may break programs */
#define TW_VERSION_MINOR 2 /**< new features; may break programs while MAJOR is 0 */
#define TW_VERSION_PATCH 0 /**< corrections; may also add features while MAJOR is 0 */

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default"))) /**< exported */
#else
#define TW_API
#endif

/** Placed at the end of a function's declaration: the compiler warns about each use and names the
 *  replacement. A program that defines TW_NO_DEPRECATED before it includes the header gets no
 *  warning. */
#if defined(__GNUC__) && !defined(TW_NO_DEPRECATED)
#define TW_DEPRECATED(instead) __attribute__((deprecated(instead)))
#else
#define TW_DEPRECATED(instead)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Initial value of most required sizes, extents and strides, for which 0 can be a valid value. */
#define TW_UNSET (INT64_MIN + 1)

/* NVIDIA's own struct tags: a CUstream, cudaStream_t, CUevent, cudaEvent_t or CUcontext converts
 * without a cast. */
struct CUstream_st;
struct CUctx_st;
struct CUevent_st;

/** @defgroup library Library: version, status, errors, log
 *  @{ */

/** A result; one of the TW_ERROR_ numbers or TW_OK. Values never change. */
typedef int32_t tw_status;
enum {
  TW_OK = 0, /**< done */
  /* Initialization and driver. */
  TW_ERROR_NO_DRIVER = 1,          /**< libcuda.so.1 cannot be loaded */
  TW_ERROR_DRIVER_TOO_OLD = 2,     /**< the driver is older than the library needs */
  TW_ERROR_NO_DEVICE = 3,          /**< there is no device of that kind and number */
  TW_ERROR_UNSUPPORTED_DEVICE = 4, /**< the compute capability is below 9.0 */
  /** There is no code that the device can run: this build left out the kernel or its code for this
   *  device, or the image that the caller loads has no code for this device. */
  TW_ERROR_NO_KERNEL_IMAGE = 5,
  TW_ERROR_NOT_BUILT = 6, /**< this build has no support for this kind of device */
  /* Bad parameter. */
  TW_ERROR_INVALID_ARGUMENT = 100, /**< an argument is invalid */
  TW_ERROR_STRUCT = 101,           /**< a struct was not initialized, or its size is invalid */
  TW_ERROR_PARSE = 102,            /**< a text cannot be parsed */
  TW_ERROR_OVERFLOW = 103,         /**< a number exceeds 64 bits, or an operand exceeds its limit */
  TW_ERROR_CAPACITY = 104,         /**< a layout or DLPack tensor has too many parts */
  TW_ERROR_RULE = 105,             /**< a tensor-map rule is broken */
  TW_ERROR_MISALIGNED = 106,       /**< an address or size is not aligned as required */
  TW_ERROR_OVERLAP = 107,          /**< operands overlap */
  TW_ERROR_WRONG_DEVICE = 108,  /**< handles of different devices, or a device of the wrong kind */
  TW_ERROR_INVALID_IMAGE = 109, /**< a module image is damaged */
  TW_ERROR_NOT_FOUND = 110,     /**< there is nothing of that name or address */
  TW_ERROR_BUFFER_TOO_SMALL = 111, /**< the caller's buffer is too small */
  TW_ERROR_NOT_A_LAYOUT = 112,     /**< the mathematical result is not a layout */
  /* Unsupported. */
  TW_ERROR_UNSUPPORTED = 200, /**< valid, but not supported here */
  /* State and capture. */
  TW_ERROR_NOT_READY = 300,     /**< the work has not finished */
  TW_ERROR_DEVICE_CLOSED = 301, /**< the handle's device has been destroyed */
  /** This process was forked after the handle was made, or after its parent process had initialized
   *  the CUDA driver. In the second case, calls that need the driver but no handle fail too, such
   *  as tw_device_count() for TW_DEVICE_CUDA. */
  TW_ERROR_FORKED = 302,
  TW_ERROR_CAPTURE = 303,  /**< the call is not possible while the stream is captured */
  TW_ERROR_SHUTDOWN = 304, /**< the CUDA driver is shutting down with the process */
  /* Device. */
  TW_ERROR_OUT_OF_MEMORY = 400, /**< host or device memory is exhausted */
  TW_ERROR_DEVICE_LOST = 401,   /**< an earlier error killed the context */
  TW_ERROR_DRIVER = 402,        /**< a CUDA driver call failed */
  TW_ERROR_INTERNAL = 500       /**< the library broke one of its own rules */
};

/** Details of a failure: see tw_last_error_info(). */
typedef struct tw_error_info {
  uint32_t struct_size;  /**< set by tw_error_info_init() */
  uint32_t struct_mark;  /**< set by the same function */
  tw_status status;      /**< status of the failure */
  int32_t driver_result; /**< the CUresult, or 0 */
  /** Index of the wrong element if `argument` is an array. For some other arguments it is a number
   *  that the message gives, for example of a line or of a matrix. Otherwise it is -1. */
  int32_t index;
  uint32_t reserved;    /**< 0 */
  const char *argument; /**< name of the argument or field, or NULL; static */
  const char *rule;     /**< stable id of the broken rule, or NULL; static */
  int64_t got;          /**< the wrong number that was passed; a uint64_t is stored bit for bit */
  /** A second number that the message contains; the message says what it means. It is usually a
   *  bound, a required multiple or the only allowed value. For some rules it is the value of a
   *  field that contradicts `got`, such as the rank or the type. */
  int64_t limit;
} tw_error_info;

/** Initializes a ::tw_error_info, which other functions then fill in.
 *  @param[out] info not NULL. @param size sizeof(tw_error_info) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_error_info_init(tw_error_info *info, size_t size);

/** Log levels, most severe first. */
typedef int32_t tw_log_level;
enum { TW_LOG_ERROR = 1, TW_LOG_WARNING = 2, TW_LOG_INFO = 3, TW_LOG_DEBUG = 4 };

/** Receives one log line. `message` is valid only during the call. The library may call it on any
 *  thread. */
typedef void (*tw_log_callback)(void *user, tw_log_level level, const char *message);

/** The library's version. @return major * 10000 + minor * 100 + patch.
 *  @threadsafety{any thread} @since 0.1 */
TW_API uint32_t tw_version(void);

/** The version as text, such as "0.2.0". @return a static string.
 *  @threadsafety{any thread} @since 0.1 */
TW_API const char *tw_version_string(void);

/** The name of a status, such as "TW_ERROR_RULE". @param status any number. @return a static
 *  string; "TW_ERROR_?" for a number that is no status.
 *  @threadsafety{any thread} @since 0.1 */
TW_API const char *tw_status_name(tw_status status);

/** The general meaning of a status; tw_last_error() explains the particular failure.
 *  @param status any number.
 *  @return a static string. @threadsafety{any thread} @since 0.1 */
TW_API const char *tw_status_text(tw_status status);

/** The message of the calling thread's last failure; "" before the first.
 *  @return a string valid until the thread's next failing call.
 *  @threadsafety{any thread; a language that moves its tasks between threads must pin the task
 *  around the failing call and this one} @since 0.1 */
TW_API const char *tw_last_error(void);

/** Details of the calling thread's last failure.
 *  @param[in,out] info initialized; receives the details.
 *  @retval TW_OK also if nothing has failed yet; status is then TW_OK.
 *  @retval TW_ERROR_INVALID_ARGUMENT info is NULL.
 *  @retval TW_ERROR_STRUCT the struct was not initialized, or its struct_size is invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_last_error_info(tw_error_info *info);

/** Installs the log callback of the process, the library's only process-wide setting. The callback
 *  receives the messages about all devices that have no callback of their own: see
 *  tw_device_log_set(). TW_LOG_ERROR reports devices that are lost. TW_LOG_WARNING reports tensor
 *  maps for which the driver and the library compute different bytes; the driver's bytes are used.
 *  TW_LOG_INFO reports devices that are opened, and tensor maps in which the library corrects a
 *  known fault of the driver. TW_LOG_DEBUG reports each plan and its kernel, and the message of
 *  each failing call except those that return TW_ERROR_NOT_READY.
 *
 *  The library calls the callback in the middle of other calls, possibly on a thread of the
 *  library. The callback must return normally: no exception and no longjmp() may leave it. It must
 *  not call a function that takes a handle. Installing a callback from inside a callback has no
 *  effect, and the call returns TW_OK. A failure inside the callback does not replace the last
 *  failure of the call around it.
 *  @param callback may be NULL, which removes the previous callback. Before the function returns,
 *  it waits until calls of the previous callback have returned.
 *  @param user passed to the callback; may be NULL. It must stay valid while the callback is
 *  installed.
 *  @param level messages up to this level are delivered.
 *  @retval TW_ERROR_INVALID_ARGUMENT level is no log level. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_log_set(tw_log_callback callback, void *user, tw_log_level level);

/** Element types. The types from TW_DTYPE_F32_FTZ on exist for tensor maps; operations that only
 *  move elements accept them too, because only the size of an element matters to them: see
 *  tw_dtype_size(). */
typedef int32_t tw_dtype;
enum {
  TW_DTYPE_U8 = 1,
  TW_DTYPE_I8 = 2,
  TW_DTYPE_U16 = 3,
  TW_DTYPE_I16 = 4,
  TW_DTYPE_U32 = 5,
  TW_DTYPE_I32 = 6,
  TW_DTYPE_U64 = 7,
  TW_DTYPE_I64 = 8,
  TW_DTYPE_B128 = 9, /**< 16 opaque bytes */
  TW_DTYPE_F16 = 20,
  TW_DTYPE_BF16 = 21,
  TW_DTYPE_F32 = 22,
  TW_DTYPE_F64 = 23,
  TW_DTYPE_TF32 = 24,
  TW_DTYPE_F8E4M3 = 25,
  TW_DTYPE_F8E5M2 = 26,
  TW_DTYPE_F32_FTZ = 40,
  TW_DTYPE_TF32_FTZ = 41,
  TW_DTYPE_U4X16_ALIGN8B = 42,  /**< 16 packed 4-bit values; 8 bytes */
  TW_DTYPE_U4X16_ALIGN16B = 43, /**< 16 packed 4-bit values; in shared memory padded to 16 bytes */
  TW_DTYPE_U6X16_ALIGN16B = 44  /**< 16 packed 6-bit values; in shared memory padded to 16 bytes */
};

/** Bytes of one element. For a packed type this is the size of a group of 16 values in shared
 *  memory. Operations that only move elements treat such a group as one element of this size. A
 *  tensor map instead expects a group to have 8 bytes (4-bit values) or 12 bytes (6-bit values) in
 *  global memory.
 *  @param dtype any number. @return 0 for a number that is not an element type.
 *  @threadsafety{any thread} @since 0.1 */
TW_API int32_t tw_dtype_size(tw_dtype dtype);

/** The name of an element type, such as "bf16". @param dtype any number.
 *  @return a static string; "?" for a number that is not an element type.
 *  @threadsafety{any thread} @since 0.1 */
TW_API const char *tw_dtype_name(tw_dtype dtype);
/** @} */

/** @defgroup device Device
 *  @{ */
typedef struct tw_device tw_device;         /**< A GPU, or the host device. */
typedef struct tw_stream tw_stream;         /**< A queue of work on one device. */
typedef struct tw_event tw_event;           /**< A point in a stream's work. */
typedef struct tw_graph tw_graph;           /**< Captured work that can be launched repeatedly. */
typedef struct tw_layout tw_layout;         /**< A shape and its strides; belongs to no device. */
typedef struct tw_tensor_map tw_tensor_map; /**< A descriptor that the TMA reads. */
typedef struct tw_module tw_module;         /**< GPU code that the caller loads. */
typedef struct tw_kernel tw_kernel;         /**< A kernel of a module. */
typedef struct tw_plan tw_plan;             /**< An operation that is ready to run. */

/** The two kinds of device. The library never silently substitutes one for the other. */
typedef int32_t tw_device_kind;
enum {
  TW_DEVICE_HOST = 1, /**< the CPU reference, which emulates the TMA and its tensor maps */
  TW_DEVICE_CUDA = 2  /**< a GPU of compute capability 9.0 or higher */
};

/** Features of a device; bits of tw_device_info::features. Plans do not necessarily use all of
 *  them: a kernel that needs a feature runs only if this build has embedded it for a target that
 *  the device can run. tw_embedded_kernel_get() lists the kernels, the feature that each one needs,
 *  and their targets. */
enum {
  TW_FEATURE_HOST = 1,      /**< the host device; no GPU has it */
  TW_FEATURE_TMA = 2,       /**< the TMA: copies of tensor boxes and of byte ranges */
  TW_FEATURE_MMA = 4,       /**< matrix products by mma.sync */
  TW_FEATURE_WGMMA = 8,     /**< matrix products by wgmma */
  TW_FEATURE_GATHER4 = 16,  /**< TMA loads of four rows by number */
  TW_FEATURE_SCATTER4 = 32, /**< TMA stores of four rows by number */
  TW_FEATURE_TCGEN05 = 64   /**< matrix products by tcgen05 */
};

/** Properties of a device. Fields that do not apply to the host device are 0. */
typedef struct tw_device_info {
  uint32_t struct_size;           /**< set by tw_device_info_init() */
  uint32_t struct_mark;           /**< set by the same function */
  tw_device_kind kind;            /**< host or CUDA */
  int32_t ordinal;                /**< the driver's number; 0 for the host device */
  int32_t compute_major;          /**< compute capability */
  int32_t compute_minor;          /**< its minor number */
  int32_t driver_version;         /**< as cuDriverGetVersion says: 13000 is 13.0 */
  int32_t sm_count;               /**< SMs that the context may use; 1 on the host device */
  int32_t max_dynamic_smem_bytes; /**< maximum dynamic shared memory of one block */
  uint32_t features;              /**< TW_FEATURE_ bits of the chip */
  uint64_t total_memory_bytes;    /**< the device's memory */
  uint64_t l2_bytes;              /**< size of the L2 cache */
  char name[128];                 /**< zero-terminated */
} tw_device_info;

/** Initializes a ::tw_device_info, which other functions then fill in.
 *  @param[out] info not NULL. @param size sizeof(tw_device_info) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_device_info_init(tw_device_info *info, size_t size);

/** Counts the devices of a kind. There is one host device.
 *  @param kind which kind. @param[out] count the number of devices; 0 on failure.
 *  @retval TW_ERROR_NO_DRIVER kind is TW_DEVICE_CUDA and there is no libcuda.so.1.
 *  @retval TW_ERROR_DRIVER_TOO_OLD kind is TW_DEVICE_CUDA and the driver is older than CUDA 12.4.
 *  @retval TW_ERROR_DRIVER kind is TW_DEVICE_CUDA and the driver cannot be used.
 *  @retval TW_ERROR_FORKED kind is TW_DEVICE_CUDA and the process was forked from one that uses
 *  CUDA.
 *  @retval TW_ERROR_NOT_BUILT kind is TW_DEVICE_CUDA and this build has no CUDA device.
 *  @retval TW_ERROR_INVALID_ARGUMENT the kind is unknown, or count is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_device_count(tw_device_kind kind, int32_t *count);

/** Opens a device by number. A CUDA device uses its primary context. If the environment variable
 *  CUDA_FORCE_PTX_JIT is 1, the driver accepts only PTX, and plans choose only among kernels that
 *  are embedded as PTX. This also applies to devices of tw_device_create_from_context(). The
 *  library reads no other environment variable.
 *  @param kind which kind. @param ordinal from 0; the host device is number 0.
 *  @param[out] device owned by the caller; release it with tw_device_destroy().
 *  @retval TW_ERROR_NO_DRIVER there is no libcuda.so.1.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver is older than CUDA 12.4; plans may need a newer one.
 *  @retval TW_ERROR_NO_DEVICE there is no device of this number.
 *  @retval TW_ERROR_UNSUPPORTED_DEVICE the compute capability is below 9.0.
 *  @retval TW_ERROR_NOT_BUILT this build has no CUDA device.
 *  @retval TW_ERROR_INVALID_ARGUMENT the kind is unknown, or device is NULL.
 *  @threadsafety{any thread} @blocking{may initialize the driver: up to seconds} @since 0.1 */
TW_API tw_status tw_device_create(tw_device_kind kind, int32_t ordinal, tw_device **device);

/** Opens a CUDA device on the caller's own context, which must outlive the device handle.
 *  @param context not NULL; remains owned by the caller.
 *  @param[out] device owned by the caller; release it with tw_device_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT context or device is NULL, or context is not a live context.
 *  @retval TW_ERROR_NO_DRIVER there is no libcuda.so.1.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver is older than CUDA 12.4; plans may need a newer one.
 *  @retval TW_ERROR_NO_DEVICE the driver finds no device.
 *  @retval TW_ERROR_UNSUPPORTED_DEVICE the compute capability is below 9.0.
 *  @retval TW_ERROR_NOT_BUILT this build has no CUDA device.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_device_create_from_context(struct CUctx_st *context, tw_device **device);

/** The CUDA context that the device works in. A device of tw_device_create() retains the primary
 *  context until tw_device_destroy(). The context of a device of tw_device_create_from_context()
 *  remains owned by the caller.
 *  @param device a CUDA device. @param[out] context the context; NULL on failure.
 *  @retval TW_ERROR_WRONG_DEVICE the device is the host device, which has no context.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_device_get_cuda_context(tw_device *device, struct CUctx_st **context);

/** Installs a log callback for one device. It replaces the process's callback for the messages
 *  about this device, its plans and its tensor maps, and for the failures of calls that are given
 *  the device or one of its handles. Levels and the rules for the callback are those of
 *  tw_log_set(). The message that reports the opening of a device goes to the process's callback.
 *  @param device not NULL. @param callback may be NULL, which gives the messages back to the
 *  process's callback. Before the function returns, it waits until calls of the device's previous
 *  callback have returned.
 *  @param user passed to the callback; may be NULL. It must stay valid until another callback is
 *  installed or tw_device_destroy() has returned: the callback is not called after that.
 *  @param level messages up to this level are delivered.
 *  @retval TW_ERROR_INVALID_ARGUMENT level is no log level, or device is NULL.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_device_log_set(tw_device *device, tw_log_callback callback, void *user,
                                   tw_log_level level);

/** Closes a device. It ends the captures of streams from tw_stream_create(), waits for those
 *  streams, frees the remaining memory of tw_malloc() and tw_malloc_host(), and unloads kernels and
 *  modules. It does not wait for wrapped streams, those of tw_stream_create_from(): synchronize
 *  them first. Handles that were made from the device return TW_ERROR_DEVICE_CLOSED from then on
 *  and must still be destroyed.
 *  @param device may be NULL.
 *  @threadsafety{external} @blocking{until the streams of tw_stream_create() are idle} @since 0.1
 */
TW_API void tw_device_destroy(tw_device *device);

/** Reads the properties of a device. @param device not NULL.
 *  @param[in,out] info initialized; receives the properties.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @retval TW_ERROR_STRUCT the struct was not initialized, or its struct_size is invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_device_get_info(tw_device *device, tw_device_info *info);
/** @} */

/** @defgroup memory Memory, streams and events
 *  @{ */

/** Allocates device memory that is aligned to 256 bytes; its contents are undefined. This is for
 *  callers without an allocator of their own: operations of a CUDA device accept memory from any
 *  allocator. The host device accepts memory from other allocators only after tw_memory_register().
 *  @param device not NULL. @param bytes 0 gives address 0.
 *  @param[out] address owned by the caller; release it with tw_free().
 *  @retval TW_ERROR_OUT_OF_MEMORY there is not enough memory.
 *  @threadsafety{any thread} @capture{allowed; the memory is not part of the graph} @since 0.1 */
TW_API tw_status tw_malloc(tw_device *device, uint64_t bytes, uint64_t *address);

/** Frees memory of tw_malloc(). @param device the device that allocated the memory.
 *  @param address 0 does nothing.
 *  @retval TW_ERROR_NOT_FOUND tw_malloc() did not give this address, or it was freed already.
 *  @threadsafety{any thread} @blocking{as cuMemFree: may wait for work on the device} @since 0.1 */
TW_API tw_status tw_free(tw_device *device, uint64_t address);

/** Allocates pinned host memory that is aligned to 256 bytes; its contents are undefined. The
 *  device copies to and from it directly, so tw_memcpy_to_device() and tw_memcpy_to_host() return
 *  at once. On a GPU the memory is pinned for all contexts, and kernels can use its address as a
 *  device address, over the bus. On the host device it is ordinary memory.
 *  @param device not NULL. @param bytes 0 gives NULL.
 *  @param[out] memory owned by the caller; release it with tw_free_host(). tw_device_destroy()
 *  frees what is left. NULL on failure.
 *  @retval TW_ERROR_OUT_OF_MEMORY this amount of memory cannot be pinned.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver lacks the functions that pin memory.
 *  @threadsafety{any thread} @capture{allowed; the memory is not part of the graph} @since 0.2 */
TW_API tw_status tw_malloc_host(tw_device *device, uint64_t bytes, void **memory);

/** Frees memory of tw_malloc_host(). @param device the device that allocated the memory.
 *  @param memory NULL does nothing.
 *  @retval TW_ERROR_NOT_FOUND tw_malloc_host() did not give this address, or it was freed already.
 *  @threadsafety{any thread} @blocking{as cuMemFreeHost: may wait for work on the device}
 *  @since 0.2 */
TW_API tw_status tw_free_host(tw_device *device, void *memory);

/** Makes memory from another allocator known to a device, so that operands may lie in it. The host
 *  device refuses operands in memory that it does not know. On a CUDA device this function checks
 *  its arguments and does nothing else, so that one program works on both. Ranges may overlap each
 *  other and blocks of tw_malloc(), but an operand must lie inside a single one of them. An address
 *  may be registered several times. Its range then has the largest of the registered sizes, and
 *  keeps it until every registration of the address has been undone by a tw_memory_unregister().
 *  @param device not NULL. @param address the first byte; the memory remains owned by the caller.
 *  Address 0 is allowed only if bytes is 0; the call then does nothing. @param bytes size of the
 *  range. A range of 0 bytes has no effect on the check of operands.
 *  @retval TW_ERROR_INVALID_ARGUMENT address is 0 and bytes is not.
 *  @retval TW_ERROR_OVERFLOW the range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed; not part of the graph} @since 0.2 */
TW_API tw_status tw_memory_register(tw_device *device, uint64_t address, uint64_t bytes);

/** Undoes one tw_memory_register() of the same address. It does not wait for enqueued work and does
 *  not disturb it: synchronize before you free the memory itself.
 *  @param device as registered. @param address as registered; 0 does nothing.
 *  @retval TW_ERROR_NOT_FOUND the address is not registered. Only the host device returns this: a
 *  CUDA device keeps no list of ranges.
 *  @threadsafety{any thread} @capture{allowed; not part of the graph} @since 0.2 */
TW_API tw_status tw_memory_unregister(tw_device *device, uint64_t address);

/** Creates a stream, which does not synchronize with the NULL stream. @param device not NULL.
 *  @param[out] stream owned by the caller; release it with tw_stream_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_stream_create(tw_device *device, tw_stream **stream);

/** Wraps a CUDA stream of the caller's, or a default stream of the device's context:
 *  - NULL and CU_STREAM_LEGACY, `(CUstream)1`, are the legacy default stream, which all threads
 *    share. Its work waits for the earlier work of the context's blocking streams, and their later
 *    work waits for it. Streams of tw_stream_create(), like others made with
 *    CU_STREAM_NON_BLOCKING, are not blocking streams: use events to order them with the legacy
 *    default stream. It cannot be captured. While a blocking stream of the context is captured,
 *    work for the legacy default stream is refused with TW_ERROR_CAPTURE and breaks that capture.
 *  - CU_STREAM_PER_THREAD, `(CUstream)2`, is the calling thread's own default stream. Through one
 *    handle each thread uses a stream of its own, in which its work runs in order, and
 *    tw_stream_synchronize() waits only for the work of the calling thread. It is a blocking
 *    stream, so it and the legacy default stream wait for each other. It can be captured: the
 *    thread that begins the capture must end it, and work that other threads enqueue is not part of
 *    it.
 *
 *  @param device a CUDA device, in whose context the stream was made.
 *  @param cuda_stream remains owned by the caller and must outlive the handle; NULL is the legacy
 *  default stream.
 *  @param[out] stream owned by the caller; release it with tw_stream_destroy().
 *  @retval TW_ERROR_WRONG_DEVICE the device is the host device, or the stream belongs to another
 *  context.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_stream_create_from(tw_device *device, struct CUstream_st *cuda_stream,
                                       tw_stream **stream);

/** The CUDA stream behind a handle, for other work of the caller in the same order. The library
 *  owns a stream of tw_stream_create(): it is valid until tw_stream_destroy() or
 *  tw_device_destroy(), and nobody else may destroy it. A wrapped stream remains owned by the
 *  caller.
 *  @param stream of a CUDA device.
 *  @param[out] cuda_stream the stream; NULL if the wrapped stream was NULL, and NULL on failure.
 *  @retval TW_ERROR_WRONG_DEVICE the stream belongs to the host device, which has no CUDA streams.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_stream_get_cuda(tw_stream *stream, struct CUstream_st **cuda_stream);

/** Destroys the handle. A stream of tw_stream_create() is destroyed too: the driver lets its
 *  enqueued work finish, and a capture that began on it ends and is lost. A wrapped stream and its
 *  capture are left as they are.
 *  @param stream may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_stream_destroy(tw_stream *stream);

/** Waits until everything enqueued so far is done. @param stream not NULL.
 *  @retval TW_ERROR_DEVICE_LOST something enqueued failed and killed the context.
 *  @retval TW_ERROR_CAPTURE the stream is being captured.
 *  @threadsafety{any thread} @blocking{yes} @since 0.1 */
TW_API tw_status tw_stream_synchronize(tw_stream *stream);

/** Asks whether everything enqueued so far is done. @param stream not NULL.
 *  @retval TW_OK everything is done. @retval TW_ERROR_NOT_READY some work is not done.
 *  @retval TW_ERROR_CAPTURE the stream is being captured. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_stream_query(tw_stream *stream);

/** Makes later work of a stream wait for an event. @param stream not NULL. @param event not NULL.
 *  An event that was never recorded causes no wait. @retval TW_ERROR_WRONG_DEVICE the handles
 *  belong to different devices.
 *  @retval TW_ERROR_CAPTURE the stream is being captured and the event was last recorded outside of
 *  this capture, which is then broken; or the event was last recorded in a capture that has ended.
 *  @threadsafety{any thread} @capture{allowed; a stream that waits for an event of a capture joins
 *  that capture, see tw_stream_begin_capture()} @since 0.1 */
TW_API tw_status tw_stream_wait_event(tw_stream *stream, tw_event *event);

/** Enqueues a copy from host to device memory. @param stream not NULL. @param dst device address.
 *  @param src host memory, which must stay valid until the copy is done. @param bytes 0 does
 *  nothing.
 *  @retval TW_ERROR_OVERLAP the ranges overlap: the same memory can have a host and a device
 *  address.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is zero and bytes is not.
 *  @retval TW_ERROR_OVERFLOW a range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed} @blocking{with pageable memory the call may return
 *  only after the driver has copied it} @since 0.1 */
TW_API tw_status tw_memcpy_to_device(tw_stream *stream, uint64_t dst, const void *src,
                                     uint64_t bytes);

/** Enqueues a copy from device to host memory. @param stream not NULL. @param dst host memory,
 *  which must stay valid until the copy is done. @param src device address. @param bytes 0 does
 *  nothing.
 *  @retval TW_ERROR_OVERLAP the ranges overlap: the same memory can have a host and a device
 *  address.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is zero and bytes is not.
 *  @retval TW_ERROR_OVERFLOW a range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed} @blocking{with pageable memory the call may return
 *  only after the driver has copied it} @since 0.1 */
TW_API tw_status tw_memcpy_to_host(tw_stream *stream, void *dst, uint64_t src, uint64_t bytes);

/** Enqueues a copy between two ranges of device memory that do not overlap.
 *  @param stream not NULL. @param dst device address. @param src device address.
 *  @param bytes 0 does nothing. @retval TW_ERROR_OVERLAP the ranges overlap.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is zero and bytes is not.
 *  @retval TW_ERROR_OVERFLOW a range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_memcpy_on_device(tw_stream *stream, uint64_t dst, uint64_t src, uint64_t bytes);

/** Enqueues a copy from memory of one device to memory of another or of the same device. Both must
 *  be host devices or both CUDA devices; they may be two handles of one GPU. For copies between
 *  host memory and a device, including the host device, use tw_memcpy_to_device() and
 *  tw_memcpy_to_host().
 *  @param stream of dst_device or of src_device. @param dst_device the device that owns dst.
 *  @param dst device address. @param src_device the device that owns src. @param src device
 *  address. Both memories must stay valid until the copy is done. @param bytes 0 does nothing.
 *  @retval TW_ERROR_WRONG_DEVICE one device is a host device and the other a CUDA device, or the
 *  stream belongs to a third device.
 *  @retval TW_ERROR_OVERLAP the ranges overlap.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is zero and bytes is not.
 *  @retval TW_ERROR_OVERFLOW a range ends past the last address.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver lacks cuMemcpyPeerAsync.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_memcpy_between_devices(tw_stream *stream, tw_device *dst_device, uint64_t dst,
                                           tw_device *src_device, uint64_t src, uint64_t bytes);

/** Fills device memory with one byte value. Enqueues the work. @param stream not NULL. @param dst
 *  device address. @param value 0 to 255. @param bytes 0 does nothing.
 *  @retval TW_ERROR_INVALID_ARGUMENT dst is zero and bytes is not, or value is not a byte.
 *  @retval TW_ERROR_OVERFLOW the range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_memset(tw_stream *stream, uint64_t dst, int32_t value, uint64_t bytes);

/** Creates an event with timing enabled. @param device not NULL.
 *  @param[out] event owned by the caller; release it with tw_event_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_event_create(tw_device *device, tw_event **event);

/** Wraps a CUDA event of the caller. @param device a CUDA device, in whose context the event was
 *  made. The library cannot detect an event of another context: recording it fails with the
 *  driver's error.
 *  @param cuda_event not NULL; remains owned by the caller and must outlive the handle.
 *  @param[out] event owned by the caller; release it with tw_event_destroy().
 *  @retval TW_ERROR_WRONG_DEVICE the device is the host device, which cannot record a CUDA event.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_event_create_from(tw_device *device, struct CUevent_st *cuda_event,
                                      tw_event **event);

/** The CUDA event behind a handle. The library owns an event of tw_event_create(): it is valid
 *  until tw_event_destroy() or tw_device_destroy(), and nobody else may destroy it. A wrapped event
 *  remains owned by the caller.
 *  @param event of a CUDA device. @param[out] cuda_event the event; NULL on failure.
 *  @retval TW_ERROR_WRONG_DEVICE the event belongs to the host device, which has no CUDA events.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_event_get_cuda(tw_event *event, struct CUevent_st **cuda_event);

/** Destroys the handle, and the event too if tw_event_create() made it. Work that waits for the
 *  event is not disturbed.
 *  @param event may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_event_destroy(tw_event *event);

/** Enqueues a record of the event: it is reached when all earlier work of the stream is done.
 *  @param event not NULL. @param stream of the same device.
 *  @retval TW_ERROR_WRONG_DEVICE the handles belong to different devices.
 *  @threadsafety{any thread} @capture{allowed; the event then orders work inside the capture, see
 *  tw_stream_begin_capture()} @since 0.1 */
TW_API tw_status tw_event_record(tw_event *event, tw_stream *stream);

/** Waits until the event's last record is reached; returns at once if there is none. @param event
 *  not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @retval TW_ERROR_CAPTURE the event was last recorded in a capture.
 *  @threadsafety{any thread} @blocking{yes} @since 0.1 */
TW_API tw_status tw_event_synchronize(tw_event *event);

/** Asks whether the event's last record is reached. @param event not NULL.
 *  @retval TW_OK it is reached, or there is none. @retval TW_ERROR_NOT_READY it is not reached.
 *  @retval TW_ERROR_CAPTURE the event was last recorded in a capture.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_event_query(tw_event *event);

/** The time between two reached events. @param start recorded first. @param end recorded later.
 *  @param[out] milliseconds the time; 0 on failure.
 *  @retval TW_ERROR_NOT_READY an event is not reached yet.
 *  @retval TW_ERROR_INVALID_ARGUMENT an event was never recorded, or is a wrapped one without
 *  timing.
 *  @retval TW_ERROR_CAPTURE an event was last recorded in a capture.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_event_elapsed(tw_event *start, tw_event *end, float *milliseconds);
/** @} */

/** @defgroup graph Graphs: work that is captured once and launched many times
 *  A captured stream records what is enqueued on it and runs nothing. The recording becomes a
 *  ::tw_graph, which one call launches as a whole:
 *  - Call tw_stream_begin_capture(), the functions to be recorded and tw_stream_end_capture(). Then
 *    call tw_graph_instantiate() once, and tw_graph_launch() as often as needed.
 *  - The graph holds the addresses, sizes and scalars of the recorded calls. The contents of device
 *    and host memory are read and written when the graph runs.
 *  - To run it with other addresses, capture the same calls with those addresses and pass the new
 *    graph to tw_graph_update(), which costs less than instantiating the new graph. A capture may
 *    begin while earlier launches are still running.
 *  - If only the contents of memory change, no new capture is needed. Runs can also read addresses,
 *    sizes and scalars from device memory: see TW_GEMM_BATCH_POINTERS, tw_copies_plan() and the
 *    fields whose names begin with `device_`.
 *
 *  Host and CUDA devices behave alike. A program that uses CUDA itself may instead capture a
 *  wrapped stream with CUDA's functions. It may also begin a capture of a wrapped stream with
 *  tw_stream_begin_capture() and end it with cuStreamEndCapture(). The memory that a graph uses
 *  must stay valid while the graph may run. Plans, events and streams that were used in the capture
 *  may be destroyed; kernels stay loaded until the device is destroyed.
 *  @{ */

/** Begins to capture a stream: work that is enqueued on it from now on is recorded and does not
 *  run. Events extend the capture to other streams of the device. If another stream waits for an
 *  event that was recorded in the capture, that stream joins the capture, and its work is recorded
 *  until the capture ends. For each joined stream, record an event after its last work, and let the
 *  captured stream wait for this event before the capture ends. An event that was last recorded in
 *  a capture is never reached, and launching the graph does not record it. tw_event_query(),
 *  tw_event_synchronize() and tw_event_elapsed() return TW_ERROR_CAPTURE for such an event.
 *
 *  A call that concerns no stream of the capture does not disturb it, whichever thread makes the
 *  call (the capture's mode is CU_STREAM_CAPTURE_MODE_RELAXED). There is one exception: if a stream
 *  of the capture is a blocking stream, work for the legacy default stream breaks the capture, see
 *  tw_stream_create_from().
 *
 *  A call on a captured stream that is refused for its arguments records nothing, and the capture
 *  goes on: check the status of each call, or the graph lacks its work. If a call asks for a
 *  dependency that a graph cannot have, the driver breaks the capture: calls on its streams then
 *  fail until the capture is ended.
 *  @param stream not NULL.
 *  @retval TW_ERROR_CAPTURE the stream is already being captured, or is the legacy default stream,
 *  which cannot be captured.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver lacks the functions of graphs.
 *  @threadsafety{external: no other call on the stream may overlap} @since 0.2 */
TW_API tw_status tw_stream_begin_capture(tw_stream *stream);

/** Ends a capture, on any thread unless the stream is the per-thread default stream. Afterwards the
 *  stream and the streams that joined the capture execute work again, even if the call fails. Two
 *  failures instead leave the capture as it was: TW_ERROR_OUT_OF_MEMORY, and TW_ERROR_CAPTURE for a
 *  stream that only joined a capture.
 *  @param stream the stream that the capture began on.
 *  @param[out] graph owned by the caller; release it with tw_graph_destroy(). May be NULL: this
 *  ends the capture, even a broken one, and discards it.
 *  @retval TW_ERROR_CAPTURE the stream is not being captured, or it joined a capture that began on
 *  another stream; or the capture was broken, or the stream did not wait for a stream that joined.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver lacks the functions of graphs.
 *  @threadsafety{external: no other call on the stream may overlap} @since 0.2 */
TW_API tw_status tw_stream_end_capture(tw_stream *stream, tw_graph **graph);

/** Prepares a captured graph for launching. Calling it again for the same graph does nothing.
 *  @param graph not NULL. @retval TW_OK it is ready.
 *  @threadsafety{external} @blocking{prepares each operation: up to milliseconds for a large graph}
 *  @since 0.2 */
TW_API tw_status tw_graph_instantiate(tw_graph *graph);

/** Enqueues a graph. Launches of one graph run one after the other, even on different streams.
 *  @param graph an instantiated one. @param stream any stream of the same device, not necessarily
 *  the captured one.
 *  @retval TW_ERROR_INVALID_ARGUMENT the graph was not instantiated.
 *  @retval TW_ERROR_CAPTURE the stream is being captured; a graph cannot become part of another
 *  one.
 *  @threadsafety{external} @capture{refused} @since 0.2 */
TW_API tw_status tw_graph_launch(tw_graph *graph, tw_stream *stream);

/** Replaces the addresses, sizes, scalars and kernels of an instantiated graph by those of another
 *  graph that has the same operations in the same order, from another capture of the same calls.
 *  Launches that were already enqueued are not affected. A failure leaves the graph as it was.
 *  @param graph an instantiated one.
 *  @param captured a graph of the same device, instantiated or not. It is not changed and may be
 *  destroyed afterwards. Each recorded tw_memcpy_ call must copy in the same direction, and between
 *  the same devices, as the corresponding call of `graph`.
 *  @retval TW_ERROR_INVALID_ARGUMENT the graph was not instantiated, or the operations or their
 *  order differ: the message says how, on a GPU with the driver's reason.
 *  @threadsafety{external: on both graphs} @since 0.2 */
TW_API tw_status tw_graph_update(tw_graph *graph, tw_graph *captured);

/** Destroys a graph; launches that are already enqueued are not disturbed. @param graph may be
 *  NULL.
 *  @threadsafety{external} @since 0.2 */
TW_API void tw_graph_destroy(tw_graph *graph);
/** @} */

/** @defgroup tensor Tensors: addresses with a type and extents, and DLPack
 *  A tensor describes memory, usually that of another library. It is a plain struct and owns
 *  nothing. Its fields can be copied into the descriptions and arguments of plans and tensor maps.
 *  @{ */

/** Bits of tw_tensor::flags. */
enum { TW_TENSOR_READ_ONLY = 1 /**< the owner forbids writing to the tensor */ };

/** A tensor in memory of the CPU or of a GPU. */
typedef struct tw_tensor {
  uint32_t struct_size;       /**< set by tw_tensor_init() */
  uint32_t struct_mark;       /**< set by the same function */
  tw_dtype dtype;             /**< required: element type */
  tw_device_kind device_kind; /**< which memory: the CPU's or a GPU's */
  int32_t ordinal;            /**< the GPU's number; 0 for the CPU */
  int32_t rank;               /**< 0 to 8 */
  uint32_t flags;             /**< TW_TENSOR_ bits */
  uint32_t reserved;          /**< 0 */
  uint64_t address;           /**< address of the element with coordinate 0 */
  int64_t shape[8];           /**< elements, outermost first */
  int64_t stride[8];          /**< elements from one coordinate to the next, for each dimension */
} tw_tensor;

/** The two forms of a DLPack tensor. */
typedef int32_t tw_dlpack_form;
enum {
  TW_DLPACK_TENSOR = 1,   /**< DLTensor, or DLManagedTensor, which begins with a DLTensor */
  TW_DLPACK_VERSIONED = 2 /**< DLManagedTensorVersioned, version 1.x */
};

/** Called once when the consumer no longer needs the tensor, on any thread. It must not fail. */
typedef void (*tw_release_callback)(void *user);

/** Initializes a ::tw_tensor: zeros; device_kind is TW_DEVICE_HOST.
 *  @param[out] tensor not NULL. @param size sizeof(tw_tensor) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_tensor_init(tw_tensor *tensor, size_t size);

/** Reads a DLPack tensor. The function takes no ownership: the owner of a managed tensor must still
 *  call the tensor's deleter, after the work on the tensor's memory is done. Missing strides become
 *  those of a row-major tensor. The byte offset is added to the address.
 *  @param dlpack a struct of the given form. @param form which form it has.
 *  @param[in,out] tensor initialized; receives the converted tensor.
 *  @retval TW_ERROR_UNSUPPORTED the element type or the device has no equivalent here, or the major
 *  version is not 1. @retval TW_ERROR_CAPACITY more than 8 dimensions.
 *  @retval TW_ERROR_OVERFLOW the product of the extents exceeds 63 bits.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, form is unknown, or an extent or GPU
 *  number is negative.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_from_dlpack(const void *dlpack, tw_dlpack_form form, tw_tensor *tensor);

/** Makes a managed DLPack tensor, which another library can consume.
 *  @param tensor its memory remains owned by the caller and must stay valid until `release` is
 *  called.
 *  @param form which form to make. @param release called by the managed tensor's deleter; may be
 *  NULL. @param user passed to release; may be NULL.
 *  @param[out] managed a DLManagedTensor or DLManagedTensorVersioned, owned by the caller. Pass it
 *  to a consumer, or free it with its own deleter.
 *  @retval TW_ERROR_UNSUPPORTED DLPack has no such element type; or the tensor is
 *  TW_TENSOR_READ_ONLY and the form is TW_DLPACK_TENSOR, which cannot express that.
 *  @retval TW_ERROR_OVERFLOW the product of the extents exceeds 63 bits.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or a type, device kind or form is
 *  unknown.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_to_dlpack(const tw_tensor *tensor, tw_dlpack_form form,
                                     tw_release_callback release, void *user, void **managed);
/** @} */

/** @defgroup tensor_map Tensor maps: the 128-byte descriptors that the TMA reads
 *  @{ */
/** Target chip of a check or an encoding: compute capability major * 10 + minor. */
typedef int32_t tw_arch;
enum {
  TW_ARCH_SM_90 = 90,
  TW_ARCH_SM_100 = 100,
  TW_ARCH_SM_103 = 103,
  TW_ARCH_SM_110 = 110,
  TW_ARCH_SM_120 = 120
};

/** The values of CUtensorMapInterleave. */
typedef int32_t tw_interleave;
enum { TW_INTERLEAVE_NONE = 0, TW_INTERLEAVE_16B = 1, TW_INTERLEAVE_32B = 2 };

/** The values of CUtensorMapSwizzle. */
typedef int32_t tw_swizzle;
enum {
  TW_SWIZZLE_NONE = 0,
  TW_SWIZZLE_32B = 1,
  TW_SWIZZLE_64B = 2,
  TW_SWIZZLE_128B = 3,
  TW_SWIZZLE_128B_ATOM_32B = 4,
  TW_SWIZZLE_128B_ATOM_32B_FLIP_8B = 5,
  TW_SWIZZLE_128B_ATOM_64B = 6
};

/** The values of CUtensorMapL2promotion. */
typedef int32_t tw_l2_promotion;
enum {
  TW_L2_PROMOTION_NONE = 0,
  TW_L2_PROMOTION_64B = 1,
  TW_L2_PROMOTION_128B = 2,
  TW_L2_PROMOTION_256B = 3
};

/** The values of CUtensorMapFloatOOBfill. */
typedef int32_t tw_oob_fill;
enum { TW_OOB_FILL_ZERO = 0, TW_OOB_FILL_NAN = 1 };

/** Kinds of tensor maps. */
typedef int32_t tw_tensor_map_kind;
enum {
  TW_TENSOR_MAP_TILED = 0,
  TW_TENSOR_MAP_IM2COL = 1,     /**< columns of pixels, for convolutions */
  TW_TENSOR_MAP_IM2COL_WIDE = 2 /**< im2col along W only */
};

/** Description of a tensor map. The fields are the parameters of cuTensorMapEncodeTiled and
 *  cuTensorMapEncodeIm2col. Dimensions are innermost first. */
typedef struct tw_tensor_map_desc {
  uint32_t struct_size;            /**< set by tw_tensor_map_desc_init() */
  uint32_t struct_mark;            /**< set by the same function */
  tw_dtype dtype;                  /**< element type */
  int32_t rank;                    /**< 1 to 5; 3 to 5 for im2col */
  tw_interleave interleave;        /**< TW_INTERLEAVE_ */
  tw_swizzle swizzle;              /**< TW_SWIZZLE_ */
  tw_l2_promotion l2_promotion;    /**< TW_L2_PROMOTION_ */
  tw_oob_fill oob_fill;            /**< TW_OOB_FILL_ */
  tw_tensor_map_kind kind;         /**< TW_TENSOR_MAP_TILED by default */
  int32_t wide_mode;               /**< value of CUtensorMapIm2ColWideMode; im2col-wide maps only */
  uint64_t global_address;         /**< required: device address of the tensor */
  uint64_t global_dim[5];          /**< required: elements, innermost first */
  uint64_t global_stride_bytes[5]; /**< required from rank 2 on: bytes, not elements; [i] is the
                                      pitch of dimension i + 1; [4] is unused */
  uint32_t box_dim[5];             /**< required for tiled maps and only for them: elements */
  uint32_t element_strides[5];     /**< 1 to 8; n reads every n-th element */
  uint32_t channels_per_pixel;     /**< im2col maps only, like all fields that follow */
  uint32_t pixels_per_column;      /**< pixels in one box */
  int32_t lower_corner[3]; /**< of the bounding box: W, H, D; im2col-wide maps have only W */
  int32_t upper_corner[3]; /**< upper corner, relative to the last element */
} tw_tensor_map_desc;

/** A broken rule: see tw_tensor_map_check(). */
typedef struct tw_rule_violation {
  uint32_t struct_size; /**< set by tw_rule_violation_init() */
  uint32_t struct_mark; /**< set by the same function */
  int32_t index;        /**< index of the wrong element if `argument` is an array; -1 if it is none,
                           or if no single element is wrong */
  uint32_t reserved;    /**< 0 */
  const char *rule;     /**< stable id; static */
  const char *argument; /**< field of the description; static */
  int64_t got;          /**< what was passed; a uint64_t is stored bit for bit */
  int64_t limit;        /**< as in ::tw_error_info */
  char message[472]; /**< the broken rule in a sentence, with the numbers, and values of fields that
                        would work, as tw_tensor_map_propose() finds them; `...` stands for the
                        fields for which the buffer has no room */
} tw_rule_violation;

/** Initializes a ::tw_rule_violation, one element of an array that other functions then fill in.
 *  @param[out] violation not NULL. @param size sizeof(tw_rule_violation) as the caller's compiler
 *  sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_rule_violation_init(tw_rule_violation *violation, size_t size);

/** Initializes a ::tw_tensor_map_desc: bf16, rank 2, no interleave, no swizzle, no L2 promotion,
 *  zero fill, element strides 1, all sizes 0.
 *  @param[out] desc not NULL. @param size sizeof(tw_tensor_map_desc) as the caller's compiler sees
 *  it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_tensor_map_desc_init(tw_tensor_map_desc *desc, size_t size);

/** Checks a description against every rule; needs no device. The rules for compute capability 9.0
 *  were verified against the driver, except the one for wide_mode. That rule and the rules for
 *  other chips come from NVIDIA's documentation and are unverified.
 *  @param desc not NULL. @param arch for which chip.
 *  @param[out] violations an array of initialized elements; may be NULL if capacity is 0.
 *  @param capacity number of elements in the array.
 *  @param[out] count total number of broken rules, which may exceed capacity; may be NULL.
 *  @retval TW_OK no rule is broken. @retval TW_ERROR_RULE a rule is broken; the last error
 *  describes the first broken rule.
 *  @retval TW_ERROR_INVALID_ARGUMENT arch is none of the TW_ARCH_ numbers, or capacity is negative.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_check(const tw_tensor_map_desc *desc, tw_arch arch,
                                     tw_rule_violation *violations, int32_t capacity,
                                     int32_t *count);

/** Finds a valid description near one that breaks a rule. The proposal differs from desc only in
 *  fields that the broken rules name. The search looks for a box that has at least half of the
 *  bytes of desc's box and takes at most 233472 bytes of shared memory. That is the driver's limit;
 *  a block has at most 232448 bytes on compute capability 9.0. If there is no such box, the
 *  proposal has the largest valid box that the search found.
 *  @param desc not NULL. @param arch for which chip. @param[in,out] proposed initialized; receives
 *  the proposal, which equals desc if no rule is broken.
 *  @retval TW_ERROR_NOT_FOUND the search found no valid description that differs only in these
 *  fields. @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or arch is none of the TW_ARCH_
 *  numbers.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_propose(const tw_tensor_map_desc *desc, tw_arch arch,
                                       tw_tensor_map_desc *proposed);

/** Checks a description and writes its 128 bytes without a driver. For compute capability 9.0 the
 *  bytes equal the driver's; for other chips they are unverified. @param desc not NULL.
 *  @param arch for which chip. @param[out] bytes room for 128, at any address.
 *  @retval TW_ERROR_RULE a rule is broken. @retval TW_ERROR_UNSUPPORTED the library does not know
 *  the encoding of this type or swizzle. @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or
 *  arch is none of the TW_ARCH_ numbers.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_encode(const tw_tensor_map_desc *desc, tw_arch arch, void *bytes);

/** Decodes 128 bytes into a description, for example from a core dump or another library. The bytes
 *  do not distinguish an im2col-wide map from an im2col map. They also do not distinguish types
 *  that share a code: u16 and i16, for example, or the types of 8 bits. The function then returns
 *  the type with the lowest number.
 *  @param bytes 128 of them, at any address.
 *  @param[in,out] desc initialized; the function fills in what it could decode, also after
 *  TW_ERROR_UNSUPPORTED.
 *  @retval TW_ERROR_UNSUPPORTED the library does not know the meaning of some bits: the message
 *  names them.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_decode(const void *bytes, tw_tensor_map_desc *desc);

/** Makes a tensor map. @param device not NULL. @param desc not NULL.
 *  @param[out] map owned by the caller; release it with tw_tensor_map_destroy().
 *  @retval TW_ERROR_RULE a rule is broken: the message and tw_last_error_info() name it.
 *  @retval TW_ERROR_UNSUPPORTED the map is an im2col-wide map, and this driver or this build does
 *  not support those.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_create(tw_device *device, const tw_tensor_map_desc *desc,
                                      tw_tensor_map **map);

/** A tensor and a tile of it, from which tw_tensor_map_create_tile() makes a map. Modes are
 *  outermost first, and strides are in elements. One mode must have stride 1. */
typedef struct tw_tile_desc {
  uint32_t struct_size;         /**< set by tw_tile_desc_init() */
  uint32_t struct_mark;         /**< set by the same function */
  tw_dtype dtype;               /**< element type; packed types are not allowed */
  int32_t rank;                 /**< required: 1 to 8 */
  tw_swizzle swizzle;           /**< TW_SWIZZLE_ */
  tw_l2_promotion l2_promotion; /**< TW_L2_PROMOTION_ */
  tw_oob_fill oob_fill;         /**< TW_OOB_FILL_ */
  int32_t multicast; /**< number of blocks of a cluster that share a tile; 1: no multicast. Each
                        block loads the same number of the tile's boxes and multicasts them to all
                        of these blocks */
  /** A bit mask of modes. If bit k is set, tiles may begin at any coordinate of mode k, even
   *  outside the tensor. (A tile that is stored must not begin at a negative coordinate: the
   *  hardware would abort the kernel. In the mode with stride 1, the coordinate times the size of
   *  an element must be a multiple of 16 bytes.) If bit k is not set, the map may split mode k or
   *  merge it with others, as tw_tensor_map_create_tile() describes. Tiles can then begin only at
   *  some coordinates of mode k: see the errors of tw_tensor_map_box(). */
  uint32_t free_start;
  uint32_t reserved;       /**< 0 */
  uint64_t global_address; /**< required: device address of the tensor */
  int64_t shape[8];        /**< required: elements, outermost first */
  int64_t stride[8];       /**< required: elements, not bytes; one mode has stride 1 */
  int64_t tile[8]; /**< required: extents of a tile, elements; the whole tile has at most 232448
                      bytes */
} tw_tile_desc;

/** Initializes a ::tw_tile_desc: bf16, no swizzle, no multicast, rank 0; shape, stride and tile are
 *  unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_tile_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_tile_desc_init(tw_tile_desc *desc, size_t size);

/** Fills the type, rank, address, shape and strides of a tile's description from a tensor; the tile
 *  and the other fields keep their values. @param tensor not NULL. @param[in,out] desc initialized.
 *  Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensor has rank 0, or is not a valid tensor.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_tile_desc_from_tensor(const tw_tensor *tensor, tw_tile_desc *desc);

/** Makes a map that moves tiles with the smallest number of boxes. A mode of the tensor is normally
 *  one dimension of the map. There are two exceptions, which let one box move more of a tile:
 *  - Splitting: if the tile's extent along a mode is too large for one box, the mode becomes two
 *    dimensions: the position in a piece, and the index of the piece. A box has at most 256
 *    elements along a mode. With a swizzle a row of the box also has at most as many bytes as the
 *    swizzle span, which is 32, 64 or 128 bytes.
 *  - Merging: modes that are contiguous in memory become one dimension.
 *
 *  The TMA compares coordinates with the extents of the map's dimensions, not with those of the
 *  modes. An element of a tile that lies past the end of a mode must therefore also lie outside of
 *  the map's dimensions: otherwise a box would move an element that belongs to another coordinate.
 *  This gives two conditions. A mode is split only if the length of a piece divides the mode's
 *  extent. A mode is merged with the next outer one in two cases: if the tile covers the inner mode
 *  completely, or if the tile's extent along the inner mode divides that mode's extent and the tile
 *  has extent 1 along the outer mode.
 *  @param device not NULL. @param desc not NULL.
 *  @param shared layout of the tile in shared memory, in elements; NULL stores one box after the
 *  other.
 *  @param[out] map owned by the caller; release it with tw_tensor_map_destroy().
 *  @retval TW_ERROR_RULE no map is possible: the message names the broken rule.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is invalid or NULL.
 *  @retval TW_ERROR_UNSUPPORTED tensor maps do not support the element type.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_create_tile(tw_device *device, const tw_tile_desc *desc,
                                           const tw_layout *shared, tw_tensor_map **map);

/** The number of boxes that move a tile, one TMA instruction each; 1 for a map of
 *  tw_tensor_map_create().
 *  @param map not NULL. @param[out] boxes the number.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_boxes(const tw_tensor_map *map, int32_t *boxes);

/** Coordinates and shared-memory offset of one box of a tile. With multicast, each block of the
 *  cluster loads a consecutive range of whole boxes, all ranges of equal length.
 *  (tw_layout_partition_tma() instead divides each box among the blocks.)
 *  @param map not NULL. @param start where the tile begins, in the tensor's own coordinates, one
 *  for each of its modes, outermost first. @param index number of the box, from 0.
 *  @param[out] coord room for 5: the instruction's coordinates, innermost first.
 *  @param[out] shared_offset bytes from the start of the tile in shared memory to the box.
 *  @retval TW_ERROR_MISALIGNED along a split or merged mode, start is not a multiple of the number
 *  that the map requires; the message gives the number. This is also returned if coord[0] times the
 *  size of an element would not be a multiple of 16 bytes, because the TMA aborts the kernel for
 *  such a coordinate. This second check is not made for packed types.
 *  @retval TW_ERROR_OVERFLOW a resulting coordinate exceeds 32 bits.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, there is no box of this index, or start
 *  is outside the tensor along a mode where it must be inside. It must be inside along two kinds of
 *  modes: the modes of a group of merged modes, except the group's outermost mode, and modes along
 *  which the tensor has extent 1, if their bit in tw_tile_desc.free_start is not set. Along other
 *  modes start may be any number that gives 32-bit coordinates, but a store or reduction with a
 *  negative coordinate aborts the kernel.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_box(const tw_tensor_map *map, const int64_t *start, int32_t index,
                                   int32_t *coord, uint64_t *shared_offset);

/** Changes the address of a map, and checks only the address. @param map not NULL.
 *  @param global_address device address, aligned as the map requires.
 *  @retval TW_ERROR_RULE the address is misaligned or too large; the map is unchanged.
 *  @retval TW_ERROR_INVALID_ARGUMENT map is NULL. @threadsafety{external} @since 0.1 */
TW_API tw_status tw_tensor_map_rebind(tw_tensor_map *map, uint64_t global_address);

/** Changes one extent of a tiled map. @param map not NULL.
 *  @param dimension of the map, 0 is the innermost; not one that belongs to split or merged modes,
 *  see tw_tensor_map_create_tile().
 *  @param extent elements, 1 to 2^32.
 *  @retval TW_ERROR_RULE the extent is invalid; the map is unchanged.
 *  @retval TW_ERROR_UNSUPPORTED the map is an im2col map, or the dimension belongs to split or
 *  merged modes.
 *  @retval TW_ERROR_INVALID_ARGUMENT map is NULL, or there is no such dimension.
 *  @threadsafety{external} @since 0.1 */
TW_API tw_status tw_tensor_map_resize(tw_tensor_map *map, int32_t dimension, uint64_t extent);

/** Destroys a tensor map; launches that already copied its bytes are not disturbed. @param map may
 *  be NULL.
 *  @threadsafety{external} @since 0.1 */
TW_API void tw_tensor_map_destroy(tw_tensor_map *map);

/** Copies the 128 bytes of the map to any address. A kernel needs them aligned to 64 bytes;
 *  tw_launch() and the kernel's parameter space provide that. @param map not NULL.
 *  @param[out] bytes room for 128.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_bytes(const tw_tensor_map *map, void *bytes);

/** The current description of a map. @param map not NULL.
 *  @param[in,out] desc initialized; receives the description.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_get_desc(const tw_tensor_map *map, tw_tensor_map_desc *desc);

/** The coordinate tensor of a map: a layout that maps a coordinate of the tensor, outermost mode
 *  first, to the coordinate that the TMA takes, innermost dimension first. For example, a tensor of
 *  shape (1024,512) has the layout `(0,0) o (1024,512):(1@1,1@0)`: see the introduction to layouts
 *  in tilewright_layout.h.
 *  @param map not NULL. @param[out] layout owned by the caller; release it with
 *  tw_layout_destroy().
 *  @retval TW_ERROR_OVERFLOW the product of the extents exceeds the largest size of a layout,
 *  2^63 - 1.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_coordinates(const tw_tensor_map *map, tw_layout **layout);

/** Describes a map in words: its extents, its box, the number of bytes that a load counts on its
 *  mbarrier, and whether a store writes bytes past the end of a row. A store does so if the size of
 *  a row is not a multiple of 16 bytes. @param map not NULL. @param[out] buffer may be NULL if
 *  capacity is 0. @param capacity bytes of buffer. @param[out] length bytes needed; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_explain(const tw_tensor_map *map, char *buffer, size_t capacity,
                                       size_t *length);

/** Draws a box in shared memory as SVG: where each 16 bytes of each row lie, and in which banks.
 *  @param map not NULL. @param[out] buffer may be NULL if capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes needed; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @experimental{the function and the picture that it writes}
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_draw(const tw_tensor_map *map, char *buffer, size_t capacity,
                                    size_t *length);
/** @} */

/** @defgroup kernel Modules and kernels of the caller
 *  @{ */
/** Resources and limits of a kernel. */
typedef struct tw_kernel_info {
  uint32_t struct_size;      /**< set by tw_kernel_info_init() */
  uint32_t struct_mark;      /**< set by the same function */
  int32_t registers;         /**< per thread */
  int32_t static_smem_bytes; /**< per block */
  int32_t local_bytes;       /**< per thread: stack and spills */
  int32_t max_threads;       /**< per block */
  int32_t binary_version;    /**< 90 for sm_90 */
  int32_t param_count;       /**< number of parameters */
  int32_t param_bytes;       /**< offset of the end of the last parameter */
} tw_kernel_info;

/** Initializes a ::tw_kernel_info, which other functions then fill in.
 *  @param[out] info not NULL. @param size sizeof(tw_kernel_info) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_kernel_info_init(tw_kernel_info *info, size_t size);

/** Programmatic dependent launch: the kernel may start before its predecessor is done, and must
 *  execute griddepcontrol.wait itself before it uses the predecessor's results. */
enum { TW_LAUNCH_PROGRAMMATIC = 1 };

/** Launch parameters of a kernel. */
typedef struct tw_launch_desc {
  uint32_t struct_size;        /**< set by tw_launch_desc_init() */
  uint32_t struct_mark;        /**< set by the same function */
  uint32_t flags;              /**< TW_LAUNCH_ bits */
  uint32_t grid[3];            /**< blocks in the grid */
  uint32_t block[3];           /**< threads in a block */
  uint32_t cluster[3];         /**< blocks in a cluster; must divide grid; 1,1,1: no cluster */
  uint32_t dynamic_smem_bytes; /**< up to 232,448 on Hopper */
} tw_launch_desc;

/** Loads a fatbin, a cubin or zero-terminated PTX. The library checks the magic number, lengths and
 *  section bounds before it passes the image to the driver. The code stays loaded until the device
 *  is destroyed, so that captured graphs can be replayed. @param device a CUDA device. @param image
 *  the bytes; they are copied.
 *  @param size number of bytes. @param[out] module owned by the caller; release it with
 *  tw_module_destroy().
 *  @retval TW_ERROR_INVALID_IMAGE the image is truncated, damaged or of an unknown kind.
 *  @retval TW_ERROR_NO_KERNEL_IMAGE the image has no code for this device; the message says what it
 *  has.
 *  @retval TW_ERROR_WRONG_DEVICE the host device cannot run GPU code.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the image has only PTX that is newer than the driver.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_module_load(tw_device *device, const void *image, size_t size,
                                tw_module **module);

/** Destroys the handle; the code stays loaded. @param module may be NULL.
 *  @threadsafety{external} @since 0.1 */
TW_API void tw_module_destroy(tw_module *module);

/** Finds a kernel of a module by its symbol. @param module not NULL. @param name zero-terminated.
 *  @param[out] kernel owned by the caller; release it with tw_kernel_destroy(). It may outlive the
 *  module handle. @retval TW_ERROR_NOT_FOUND the module has no kernel of this name.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_kernel_get(tw_module *module, const char *name, tw_kernel **kernel);

/** Destroys the handle. @param kernel may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_kernel_destroy(tw_kernel *kernel);

/** Reads the resources of a kernel. @param kernel not NULL. @param[in,out] info initialized.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_kernel_get_info(tw_kernel *kernel, tw_kernel_info *info);

/** Computes how many blocks and clusters of a launch the device can hold at once. @param kernel not
 *  NULL. @param desc not NULL.
 *  @param[out] blocks_per_sm blocks of this size that fit on one SM. @param[out] clusters clusters
 *  of this size that fit on the device.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_kernel_occupancy(tw_kernel *kernel, const tw_launch_desc *desc,
                                     int32_t *blocks_per_sm, int32_t *clusters);

/** Initializes a ::tw_launch_desc: one block of 128 threads, no cluster, no dynamic shared memory.
 *  @param[out] desc not NULL. @param size sizeof(tw_launch_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_launch_desc_init(tw_launch_desc *desc, size_t size);

/** Launches a kernel. @param stream of the kernel's device. @param kernel not NULL.
 *  @param desc not NULL. @param param_count must equal the kernel's. @param param_sizes bytes of
 *  each parameter, which must equal the kernel's; a tensor map by value has 128. @param params the
 *  values, packed without gaps, at any address. They are copied.
 *  @retval TW_ERROR_INVALID_ARGUMENT a count, a size, the block, the cluster or the shared memory
 *  is invalid; the message names the limit. @retval TW_ERROR_WRONG_DEVICE the handles belong to
 *  different devices.
 *  @retval TW_ERROR_UNSUPPORTED the kernel has more parameters, or more bytes of them, than the
 *  library supports.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_launch(tw_stream *stream, tw_kernel *kernel, const tw_launch_desc *desc,
                           uint32_t param_count, const uint32_t *param_sizes, const void *params);
/** @} */

/** @defgroup plan Plans: operations made once and run many times
 *  A plan holds no memory of the caller: each run gives the addresses. Plans are immutable, so one
 *  plan may run on several streams at once. On a CUDA device a run does not synchronize, and it
 *  allocates no memory, except what the recording of a capture needs. A CUDA graph that captures a
 *  run holds the addresses and sizes of that run.
 *
 *  An operand spans at most 2^60 bytes, from its lowest byte to its highest. The matrices of
 *  tw_gemm_plan() may be larger: all matrices of one operand together span at most 2^63 - 1 bytes,
 *  or 2^60 bytes if TW_GEMM_STAGING_COPY would copy them.
 *
 *  Each function lists its own return values. Beside what each lists, functions that make a plan
 *  return
 *  - TW_ERROR_UNSUPPORTED if no kernel for the device's architecture supports the description;
 *  - TW_ERROR_NO_KERNEL_IMAGE if the build has no code for the device, or if the plan needs a
 *    kernel that was left out of the build;
 *  - TW_ERROR_DRIVER_TOO_OLD if the driver is older than the kernels need. Machine code needs a
 *    driver of at least the major version of the CUDA toolkit that compiled it. PTX, which the
 *    driver compiles, needs a driver of at least the toolkit's exact version. The rest of the
 *    library, including the caller's own modules, works with older drivers: see tw_device_create().
 *
 *  Each tw_x_plan() that takes a description has a tw_x_supported(), which answers without making a
 *  plan whether planning would succeed. It returns the status that planning would return for the
 *  same device and description, with the same message and details. It does not report exhausted
 *  memory, nor errors that the driver reports when it loads kernels. It loads no kernel, allocates
 *  nothing on the device and launches nothing. The answer takes less than 2 microseconds, except in
 *  these cases:
 *  - Kernels that the device could run were left out of the build. To find out whether the
 *    remaining kernels suffice, the library then makes a complete plan for a stand-in of the
 *    device, on which it loads and allocates nothing.
 *  - The strides of a destination are not nested: one of them is smaller than the memory that the
 *    dimensions with smaller strides span together. The library then searches for elements that
 *    overlap.
 *  - A product has more tiles than a grid can have blocks.
 *  - A product has both max_sms and TW_GEMM_BATCH_INVARIANT.
 *  - It is the first call for an operation on a device.
 *  @{ */
/** Operations. */
typedef int32_t tw_op;
enum {
  TW_OP_COPY = 1,
  TW_OP_PREFETCH = 2,
  TW_OP_GATHER = 3,
  TW_OP_SCATTER = 4,
  TW_OP_GEMM = 5,
  TW_OP_ELEMENTWISE = 6,
  TW_OP_RAGGED = 20,
  TW_OP_COPIES = 21,
  TW_OP_ROUTE = 22,
  TW_OP_GROUPED = 23,
  TW_OP_QUANTIZE = 24
};

/** Facts about a plan, for a run of the described sizes whose addresses have the promised
 *  alignments. An address without a promise is taken to be a multiple of 16 bytes, as those of
 *  allocators are. A run with less aligned addresses may use another kernel. */
typedef struct tw_plan_info {
  uint32_t struct_size; /**< set by tw_plan_info_init() */
  uint32_t struct_mark; /**< set by the same function */
  tw_op op;             /**< the operation */
  uint32_t reserved;    /**< 0 */
  const char *kernel;   /**< symbol of the kernel, or name of the driver's function; static */
  uint32_t grid[3];     /**< blocks in the grid */
  uint32_t block[3];    /**< threads in a block */
  uint32_t cluster[3];  /**< blocks in a cluster */
  uint32_t tile[3];     /**< rows, columns (and k for a GEMM) of one tile, elements */
  uint32_t stages;      /**< number of stages of the pipeline in shared memory */
  uint32_t dynamic_smem_bytes; /**< per block */
  uint64_t boxes_loaded; /**< TMA copies from global to shared memory: boxes of tensor maps, and
                            rows or parts of rows copied by cp.async.bulk */
  uint64_t boxes_stored; /**< TMA copies from shared to global memory, counted in the same way */
  uint64_t boxes_prefetched; /**< what is brought into the L2 cache: boxes of tensor maps, and rows
                                or parts of rows that bulk copies bring */
  /** Bytes of the operands that a run reads. Of a GEMM or a grouped product only A and B count, and
   *  a matrix that all products share counts once. A row that several indices name counts once for
   *  each. The source of a quantization counts twice if the run reads it twice. */
  uint64_t bytes_read;
  uint64_t bytes_written; /**< bytes of the operands that a run writes; of a product only D */
  uint64_t flops;         /**< 2 m n k for a GEMM, times the number of products of a batch; 2 m n k
                             for a grouped product; else 0 */
  uint64_t workspace_bytes; /**< size of the workspace for runs. Some runs may do without: see the
                               field `workspace` of the operation's arguments */
} tw_plan_info;

/** Initializes a ::tw_plan_info, which other functions then fill in.
 *  @param[out] info not NULL. @param size sizeof(tw_plan_info) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_plan_info_init(tw_plan_info *info, size_t size);

/** Reads the facts about a plan. @param plan not NULL. @param[in,out] info initialized; receives
 *  the facts.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_plan_get_info(const tw_plan *plan, tw_plan_info *info);

/** Describes a plan in words: its kernel, and why it was chosen. @param plan not NULL.
 *  @param[out] buffer may be NULL if capacity is 0. @param capacity bytes of buffer.
 *  @param[out] length bytes needed with the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_plan_explain(const tw_plan *plan, char *buffer, size_t capacity,
                                 size_t *length);

/** Destroys a plan; enqueued runs are not disturbed. @param plan may be NULL.
 *  @threadsafety{external} @since 0.1 */
TW_API void tw_plan_destroy(tw_plan *plan);

/** The largest rank of a copy. */
enum { TW_MAX_RANK = 8 };

/** How long the L2 cache should keep the parts of an operand that an operation reads or writes.
 *  This is a hint: it changes speed, never results. */
typedef int32_t tw_cache_priority;
enum {
  TW_CACHE_NORMAL = 0,
  TW_CACHE_EVICT_FIRST = 1, /**< not needed again soon: leave the cache to others */
  TW_CACHE_EVICT_LAST = 2   /**< needed again soon: keep it while there is room */
};

/** How an operation combines a value that it has computed or read (`value` below) with the element
 *  of the destination (`old`). A scatter supports the first four, an elementwise operation all. */
typedef int32_t tw_reduction;
enum {
  TW_REDUCE_NONE = 0, /**< value replaces old */
  TW_REDUCE_ADD = 1,  /**< old + value, rounded to nearest even; integers wrap */
  TW_REDUCE_MIN = 2,  /**< the smaller of old and value; if one of them is NaN, the other one */
  TW_REDUCE_MAX = 3,  /**< the larger of old and value; if one of them is NaN, the other one */
  TW_REDUCE_AND = 4,  /**< bitwise and; integers only, as are OR and XOR */
  TW_REDUCE_OR = 5,   /**< bitwise or */
  TW_REDUCE_XOR = 6,  /**< bitwise exclusive or */
  TW_REDUCE_INC = 7,  /**< u32: old >= value ? 0 : old + 1, as CUDA's atomicInc() */
  TW_REDUCE_DEC = 8   /**< u32: old == 0 or old > value ? value : old - 1, as CUDA's atomicDec() */
};

/** A function that is applied to each element, in f32. For x = -infinity every function except
 *  TW_ACTIVATION_NONE returns 0. */
typedef int32_t tw_activation;
enum {
  TW_ACTIVATION_NONE = 0, /**< x */
  TW_ACTIVATION_RELU = 1, /**< max(x, 0); NaN stays NaN */
  /** 0.5 * x * (1 + erf(x / sqrt(2))); absolute error at most 2^-21 * |x|. */
  TW_ACTIVATION_GELU = 2,
  /** 0.5 * x * (1 + tanh(u)) with u = sqrt(2 / pi) * (x + 0.044715 * x^3); absolute error at most
   *  2^-20 * (1 + |u|) * |result| + 2^-110. In a GEMM x itself has an error of up to 2^-23 *
   *  (|alpha * A B| + |bias|). */
  TW_ACTIVATION_GELU_TANH = 3,
  /** x / (1 + exp(-x)); absolute error at most 2^-20 * (1 + |x|) * |result| + 2^-110. */
  TW_ACTIVATION_SILU = 4
};

/** @name Copies
 *  @{ */

/** Options of a copy: bits of tw_copy_desc.flags. */
enum {
  /** The copy may overwrite the padding of the destination: the bytes from the end of a row to the
   *  next address that is a multiple of 16. This is faster if rows do not end at such addresses. */
  TW_COPY_PADDING_WRITABLE = 1
};

/** A copy: dst[i, j, ...] = src[i, j, ...]. To copy a sub-box or a slice, set the strides here, and
 *  pass the address of its first element to the run. */
typedef struct tw_copy_desc {
  uint32_t struct_size;   /**< set by tw_copy_desc_init() */
  uint32_t struct_mark;   /**< set by the same function */
  tw_dtype dtype;         /**< required: any type; only its size matters, unless fill is NaN */
  int32_t rank;           /**< required: 1 to 8 */
  uint32_t src_alignment; /**< promised alignment of the source address, in bytes; 0: none */
  uint32_t dst_alignment; /**< promised alignment of the destination address, in bytes; 0: none */
  uint32_t max_sms;       /**< at most this many SMs and blocks are used; 0: no limit */
  uint32_t flags;         /**< TW_COPY_ bits */
  tw_cache_priority src_cache; /**< how long the L2 cache should keep what is read of the source */
  tw_cache_priority dst_cache; /**< how long the L2 cache should keep what is written */
  /** Value of the elements outside the tensor that src_shape describes; only with src_shape.
   *  TW_OOB_FILL_NAN writes 0x7ff7 into every 16 bits and is only for the types f16, bf16, f32,
   *  tf32, f64, f32_ftz and tf32_ftz. */
  tw_oob_fill fill;
  uint32_t reserved; /**< 0 */
  int64_t shape[8];  /**< required: extents in elements, outermost first; an extent of 0 makes the
                        copy empty */
  int64_t src_stride[8]; /**< required: elements */
  int64_t dst_stride[8]; /**< required: elements; no two coordinates may share an element */
  /** Extents of the whole tensor of which the source is a window. (The window's own extents are
   *  `shape`.) Coordinate i of the window is coordinate src_start + i of the tensor, and elements
   *  outside the tensor get the fill value. With an extent of 0 there is no bounds check along the
   *  dimension. */
  int64_t src_shape[8];
  int64_t src_start[8]; /**< start of the window in the tensor; may be negative or past the end;
                           must be 0 where src_shape is 0 */
} tw_copy_desc;

/** Addresses of a copy's run. Each is the address of the element whose coordinates are all 0. If
 *  the source is a window, src is the address of the tensor's element (0, ..., 0), not of the
 *  window's first element. */
typedef struct tw_copy_args {
  uint32_t struct_size; /**< set by tw_copy_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  uint64_t src;         /**< required: device address */
  uint64_t dst;         /**< required: device address */
} tw_copy_args;

/** Initializes a ::tw_copy_desc: no promised alignment, no window; shape and strides unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_copy_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copy_desc_init(tw_copy_desc *desc, size_t size);

/** Initializes a ::tw_copy_args: no addresses.
 *  @param[out] args not NULL. @param size sizeof(tw_copy_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copy_args_init(tw_copy_args *args, size_t size);

/** Fills the type, rank, shape and strides of a copy's description from its operands; the other
 *  fields keep their values. The description does not contain the addresses: pass them to the run.
 *  @param src not NULL. @param dst not NULL; must have src's shape and type.
 *  @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not match, or dst is read-only.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copy_desc_from_tensors(const tw_tensor *src, const tw_tensor *dst,
                                           tw_copy_desc *desc);

/** Plans a copy. @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type, rank, extent, alignment, cache priority or window is
 *  invalid. @retval TW_ERROR_UNSUPPORTED the type has no NaN pattern, but the fill is NaN.
 *  @retval TW_ERROR_OVERLAP two coordinates share an element of the destination, or a bounded
 *  search cannot prove that they share none.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_copy_plan(tw_device *device, const tw_copy_desc *desc, tw_plan **plan);

/** Answers whether tw_copy_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_copy_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copy_supported(tw_device *device, const tw_copy_desc *desc);

/** Enqueues a copy. @param plan from tw_copy_plan(). @param stream of the same device.
 *  @param args not NULL. @retval TW_ERROR_MISALIGNED an address lacks the promised alignment.
 *  @retval TW_ERROR_OVERLAP source and destination share an element, or a bounded search cannot
 *  prove that they share none.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is 0, and the copy is not empty.
 *  @repeats{yes}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_copy_run(tw_plan *plan, tw_stream *stream, const tw_copy_args *args);

/** @} */

/** @name Many copies of the same shape and strides
 *  @{ */

/** Many copies of the same shape and strides in one launch: from src[i] to dst[i] for each pair i.
 *  As in ::tw_copy_desc, addresses and strides select sub-boxes, slices and permutations. The
 *  addresses lie in device memory and are read when the run executes. A pair is skipped as a whole
 *  if one of its addresses is 0, is not a multiple of the size of an element, or lacks the promised
 *  alignment. No pair may write memory that another pair reads or writes. */
typedef struct tw_copies_desc {
  uint32_t struct_size;   /**< set by tw_copies_desc_init() */
  uint32_t struct_mark;   /**< set by the same function */
  tw_dtype dtype;         /**< required: any type; only its size matters */
  int32_t rank;           /**< required: 1 to 8 */
  uint32_t src_alignment; /**< promised alignment of all sources, in bytes; 0: none */
  uint32_t dst_alignment; /**< promised alignment of all destinations, in bytes; 0: none */
  uint32_t max_sms;       /**< at most this many SMs and blocks are used; 0: no limit */
  uint32_t reserved;      /**< 0 */
  int64_t shape[8]; /**< required: extents of each copy in elements, outermost first; an extent of 0
                       makes all copies empty */
  int64_t src_stride[8]; /**< required: elements */
  int64_t dst_stride[8]; /**< required: elements; no two coordinates may share an element */
  int64_t count;         /**< required: largest number of pairs in a run */
} tw_copies_desc;

/** Lists of a run of many copies. */
typedef struct tw_copies_args {
  uint32_t struct_size; /**< set by tw_copies_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  uint64_t src;  /**< required: device address of a list of `count` 64-bit device addresses, one for
                    each source */
  uint64_t dst;  /**< required: the same list for the destinations */
  int64_t count; /**< pairs of this run; -1: the plan's */
  /** Device address of a 64-bit counter to which the run adds the number of skipped pairs; 0: they
   *  are not counted. ::tw_copies_desc says which pairs are skipped. Before a run the host device
   *  waits for the stream and reads the lists, unless the stream is captured. It checks the memory
   *  of the pairs that are not skipped (see the conventions). Without a counter it also refuses a
   *  run that would skip a pair, or that has a pair whose operands overlap. A CUDA device never
   *  refuses a run for its pairs and does not detect overlap: the result of a pair whose operands
   *  overlap is undefined. */
  uint64_t invalid_count;
} tw_copies_args;

/** Initializes a ::tw_copies_desc: no promised alignment; shape, strides and count unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_copies_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copies_desc_init(tw_copies_desc *desc, size_t size);

/** Initializes a ::tw_copies_args: no addresses, the plan's count.
 *  @param[out] args not NULL. @param size sizeof(tw_copies_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copies_args_init(tw_copies_args *args, size_t size);

/** Fills a description as tw_copy_desc_from_tensors() does, from the operands of one of the copies;
 *  count keeps its value.
 *  @param src not NULL. @param dst not NULL; must have src's shape and type.
 *  @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not match, or dst is read-only.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copies_desc_from_tensors(const tw_tensor *src, const tw_tensor *dst,
                                             tw_copies_desc *desc);

/** Plans many copies of the same shape and strides. @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type, rank, extent, alignment or count is invalid.
 *  @retval TW_ERROR_OVERLAP two coordinates share an element of a destination, or a bounded search
 *  cannot prove that they share none.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes, count is above 2^57, or all
 *  copies together have too many elements.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_copies_plan(tw_device *device, const tw_copies_desc *desc, tw_plan **plan);

/** Answers whether tw_copies_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_copies_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copies_supported(tw_device *device, const tw_copies_desc *desc);

/** Enqueues many copies. If invalid_count is given, a second kernel counts the skipped pairs.
 *
 *  Some of the errors below concern the contents of the lists. A CUDA device does not return these,
 *  and the host device returns them only if there is no invalid_count and the stream is not
 *  captured.
 *  @param plan from tw_copies_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT the address of a list is 0; count is outside the range 0 ...
 *  the plan's count; or, on the host device, a list contains the address 0.
 *  @retval TW_ERROR_MISALIGNED the address of a list or of invalid_count is not a multiple of 8;
 *  or, on the host device, an address in a list is not a multiple of the size of an element or
 *  lacks the promised alignment.
 *  @retval TW_ERROR_OVERLAP invalid_count shares bytes with a list; or, on the host device, the
 *  operands of a pair share an element, or a bounded search cannot prove that they share none.
 *  @repeats{yes}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_copies_run(tw_plan *plan, tw_stream *stream, const tw_copies_args *args);

/** @} */

/** @name Prefetch into the L2 cache
 *  @{ */

/** Brings a tensor, or a sub-box of one, into the L2 cache. With rank 0 the operand has `rows` rows
 *  of `columns` elements, `pitch` elements apart. With rank 1 to 8 it has a shape and strides. The
 *  device loads the bytes of the operand (up to `budget`) and discards the values; only bytes at
 *  the ends of rows may be an exception (see tw_prefetch_run()). All of the operand must therefore
 *  be readable memory: otherwise the run faults. If the operand is larger than the cache, later
 *  parts evict earlier ones. */
typedef struct tw_prefetch_desc {
  uint32_t struct_size; /**< set by tw_prefetch_desc_init() */
  uint32_t struct_mark; /**< set by the same function */
  tw_dtype dtype;       /**< required: any type; only its size matters */
  int32_t rank; /**< 0: rows, columns and pitch describe the operand; 1 to 8: shape and stride do */
  uint32_t alignment;      /**< promised alignment of the address, in bytes; 0: none */
  uint32_t max_sms;        /**< at most this many SMs and blocks are used; 0: no limit */
  tw_cache_priority cache; /**< how long the cache should keep the operand */
  uint32_t reserved;       /**< 0 */
  int64_t rows;            /**< required with rank 0, else excluded; 1 for a contiguous range */
  int64_t columns;         /**< required with rank 0, else excluded: elements of a row */
  int64_t pitch;           /**< only with rank 0: elements between rows; 0: columns */
  /** Maximum number of bytes to prefetch; 0: no limit. The operand consists of rows, which are
   *  contiguous ranges. Only whole rows are prefetched; if not even the first row fits in the
   *  budget, the beginning of that row is prefetched. The order of rows is the one in which the
   *  dimension with the smallest stride varies fastest. If the strides are nested, that is, if each
   *  is at least the memory that the dimensions with smaller strides span together, this is the
   *  order of addresses. */
  int64_t budget;
  int64_t shape[8];  /**< required with rank 1 to 8: extents in elements, outermost first */
  int64_t stride[8]; /**< required with rank 1 to 8: elements; may be 0 or negative */
} tw_prefetch_desc;

/** Address of a prefetch's run. */
typedef struct tw_prefetch_args {
  uint32_t struct_size; /**< set by tw_prefetch_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  uint64_t src;         /**< required: device address */
} tw_prefetch_args;

/** Initializes a ::tw_prefetch_desc: rank 0; rows, columns, shape and stride unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_prefetch_desc) as the caller's compiler sees
 *  it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_prefetch_desc_init(tw_prefetch_desc *desc, size_t size);

/** Initializes a ::tw_prefetch_args: no address.
 *  @param[out] args not NULL. @param size sizeof(tw_prefetch_args) as the caller's compiler sees
 *  it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_prefetch_args_init(tw_prefetch_args *args, size_t size);

/** Fills the type, rank, shape and strides of a prefetch's description; the other fields keep their
 *  values.
 *  @param src not NULL. @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensor has rank 0, or is not a valid tensor.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_prefetch_desc_from_tensors(const tw_tensor *src, tw_prefetch_desc *desc);

/** Plans a prefetch. @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a size, rank, budget or cache priority is invalid.
 *  @retval TW_ERROR_OVERFLOW the operand spans more than 2^60 bytes; or the sum of the sizes of its
 *  elements is above 2^63 - 1 bytes. An element that several coordinates share counts once for each
 *  of them, but dimensions of stride 0 are left out.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_prefetch_plan(tw_device *device, const tw_prefetch_desc *desc, tw_plan **plan);

/** Answers whether tw_prefetch_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_prefetch_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_prefetch_supported(tw_device *device, const tw_prefetch_desc *desc);

/** Enqueues a prefetch. When it is done, the operand is in the cache, with one exception: where a
 *  row does not begin or end at a multiple of 16 bytes, the cache line of its first or last bytes
 *  has only been requested and may arrive later.
 *  @param plan from tw_prefetch_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT src is 0, and the operand is not empty.
 *  @retval TW_ERROR_MISALIGNED the address lacks the promised alignment.
 *  @repeats{yes: it writes nothing}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_prefetch_run(tw_plan *plan, tw_stream *stream, const tw_prefetch_args *args);

/** @} */

/** @name Gather and scatter of rows
 *  @{ */

/** Options of gather and scatter: bits of tw_rows_desc.flags. */
enum {
  /** For a scatter without reduction: if several indices name one row, the last of them in the
   *  index array writes the whole row. This costs two passes over the indices and a workspace of 4
   *  bytes for each row of the table. */
  TW_SCATTER_LAST_WINS = 1,
  /** For reductions: runs with equal inputs write equal bits. Integer sums, and minima and maxima
   *  of all types, have this property without the flag. Sums of f32, f16 and bf16 need the flag,
   *  which costs a workspace and a radix sort of the indices. The sort takes three kernels for each
   *  8 bits of a row number: three if table_rows is below 2^8, six below 2^16, nine below 2^24. The
   *  sorted indices are divided into segments of equal length. Within a segment, the addends of a
   *  row are summed in f32, in the order of the index array. The sums of a row's segments are then
   *  added in order and to the row's old value, also in f32, and the result is rounded once.
   *  Subnormals are kept. Sums of f64 do not support the flag. */
  TW_SCATTER_DETERMINISTIC = 2,
  /** Each row is multiplied by a weight as it is moved. Weights are f32, one for each index. This
   *  works for f32, f16 and bf16, in gathers and in scatters that add. */
  TW_ROWS_WEIGHTS = 4,
  /** For sums of f16 and bf16. A run sorts each 128 consecutive indices (numbers 128 j to
   *  128 j + 127) by row, and divides the sorted indices into shares of equal size. A share has 16
   *  indices if rows are longer than 256 bytes; with shorter rows it may have fewer, down to one.
   *  If several indices of a share name the same row, their addends are first summed in f32; this
   *  sum is then rounded and added to the row. The additions of different shares round separately:
   *  in bf16, 256 + 1 is 256. Without the flag a run may add each addend to the row by itself. */
  TW_ROWS_ACCUMULATE_F32 = 8
};

/** Rows by index. Gather: packed[i, :] = table[index[i], column : column + columns]. An index
 *  outside the table gives zeros, and so does a column outside it. If `group` is g > 1, packed row
 *  i is the sum of g rows of the table, whose numbers are index[i * g] to index[i * g + g - 1].
 *  They are added in this order, in f32.
 *
 *  Scatter: table[index[i], column : column + columns] = packed[i, :], or with a reduction the two
 *  are combined. An index or column outside the table writes nothing. If several indices name one
 *  row, each element comes from one of them; with a reduction all of them are combined. Reductions
 *  support f32, f16, bf16, f64, u32, i32, u64 and i64.
 *
 *  A computed NaN is the canonical one, 0x7fffffff in f32 and 0x7fff in f16 and bf16; in f64 its
 *  bits are not defined. The memory system of a GPU performs additions to an f32 table. It treats
 *  subnormal elements and addends as zeros of their sign and writes zeros for subnormal sums. With
 *  TW_SCATTER_DETERMINISTIC the additions are done in registers, which keep subnormals. Sums of a
 *  gather, minima, maxima, other types and the host device keep subnormals too. */
typedef struct tw_rows_desc {
  uint32_t struct_size;  /**< set by tw_rows_desc_init() */
  uint32_t struct_mark;  /**< set by the same function */
  tw_dtype dtype;        /**< required: any type; only its size matters where nothing is computed */
  tw_dtype index_dtype;  /**< TW_DTYPE_I32 or TW_DTYPE_I64 */
  tw_dtype packed_dtype; /**< type of the packed operand; 0: dtype. Rows of f16 or bf16 may be added
                            to an f32 table */
  tw_reduction reduction;    /**< how a scatter combines rows; TW_REDUCE_NONE for a gather */
  uint32_t table_alignment;  /**< promised alignment of the table's address, in bytes; 0: none */
  uint32_t packed_alignment; /**< promised alignment of the packed operand's address, in bytes; 0:
                                none */
  uint32_t max_sms;          /**< at most this many SMs and blocks are used; 0: no limit */
  uint32_t flags;            /**< TW_SCATTER_ and TW_ROWS_ bits */
  int64_t table_rows;        /**< required: rows of the table */
  /** Number of columns of the table, required if the window (columns `column` to `column` +
   *  `columns` - 1) extends past the table's edges. 0: the window lies inside the table, and its
   *  columns are not checked. */
  int64_t table_columns;
  int64_t table_pitch;  /**< elements between rows of the table; 0: table_columns, or column +
                           columns if table_columns is 0 */
  int64_t column;       /**< first column; may be negative only for a gather with table_columns */
  int64_t columns;      /**< required: elements of a row that are moved */
  int64_t count;        /**< required: largest number of packed rows in a run. At most 2^31 - 1 with
                           TW_SCATTER_LAST_WINS or TW_SCATTER_DETERMINISTIC */
  int64_t packed_pitch; /**< elements between rows of the packed operand; 0: columns */
  int64_t group;        /**< number of rows that a gather sums into one, 1 (no sum) to 2^20 */
} tw_rows_desc;

/** Addresses of a gather's or scatter's run. */
typedef struct tw_rows_args {
  uint32_t struct_size; /**< set by tw_rows_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  uint64_t table;       /**< required: device address of row 0, column 0 */
  uint64_t index;       /**< required: device address of the indices, aligned to their type */
  uint64_t packed;      /**< required: destination of a gather, source of a scatter */
  int64_t count;        /**< rows of the packed operand in this run; -1: the plan's */
  uint64_t weights;     /**< with TW_ROWS_WEIGHTS: f32, one for each index; else 0 */
  /** Device address of the number of packed rows, which has the type of the indices. It is read
   *  when the run executes and clamped to the range 0 ... count. If the address is 0, the number is
   *  count. */
  uint64_t device_count;
  /** Device address of a 64-bit counter to which the run adds the number of indices outside the
   *  table; 0: they are not counted. */
  uint64_t invalid_count;
  uint64_t workspace; /**< device address of the workspace, a multiple of 256; ignored if the plan
                         needs no workspace */
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
} tw_rows_args;

/** Initializes a ::tw_rows_desc: i32 indices, group 1; table_rows, columns and count unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_rows_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_rows_desc_init(tw_rows_desc *desc, size_t size);

/** Initializes a ::tw_rows_args: no addresses, the plan's count.
 *  @param[out] args not NULL. @param size sizeof(tw_rows_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_rows_args_init(tw_rows_args *args, size_t size);

/** Fills the types, sizes and pitches of a gather's or scatter's description; the other fields keep
 *  their values. Set `group` before the call.
 *  @param table rows by columns, with contiguous rows. @param index contiguous, with (rows of
 *  packed) * group elements.
 *  @param packed rows by as many columns as table has.
 *  @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not match.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_rows_desc_from_tensors(const tw_tensor *table, const tw_tensor *index,
                                           const tw_tensor *packed, tw_rows_desc *desc);

/** Plans a gather of rows. @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type or size is invalid.
 *  @retval TW_ERROR_UNSUPPORTED the type does not support weights or groups, packed_dtype differs
 *  from dtype, group is above 2^20, rows exceed 2^30 bytes, or the indices are integers other than
 *  i32 and i64.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gather_plan(tw_device *device, const tw_rows_desc *desc, tw_plan **plan);

/** Answers whether tw_gather_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_gather_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gather_supported(tw_device *device, const tw_rows_desc *desc);

/** Enqueues a gather of rows. Whatever the index array contains, the run accesses nothing outside
 *  the operands. @param plan from tw_gather_plan(). @param stream of the same device.
 *  @param args not NULL. @retval TW_ERROR_INVALID_ARGUMENT an address is 0, weights are given
 *  without TW_ROWS_WEIGHTS, or count exceeds the plan's. @retval TW_ERROR_MISALIGNED an address is
 *  not a multiple of its element size, or lacks the promised alignment.
 *  @retval TW_ERROR_OVERLAP an operand that the run writes (packed, invalid_count) shares bytes
 *  with another operand of the run: packed, invalid_count, the columns of the table that are moved,
 *  index, weights or device_count. Rows of one operand may lie between the rows of another, as the
 *  left and right halves of one matrix do. If their pitches differ and a bounded search cannot
 *  prove that the operands share no byte, the run is refused.
 *  @repeats{yes}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gather_run(tw_plan *plan, tw_stream *stream, const tw_rows_args *args);

/** Plans a scatter of rows. tw_plan_info.workspace_bytes is the size of the workspace that its runs
 *  need.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type, size, column or option is invalid.
 *  @retval TW_ERROR_UNSUPPORTED the type does not support the reduction or a flag; packed_dtype
 *  differs from dtype and is not f16 or bf16 that is added to f32; count is above 2^31 - 1 with
 *  TW_SCATTER_LAST_WINS or TW_SCATTER_DETERMINISTIC; table_columns is given and the window begins
 *  before the table's first column; group is above 2^20; rows exceed 2^30 bytes; or the indices are
 *  integers other than i32 and i64.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_scatter_plan(tw_device *device, const tw_rows_desc *desc, tw_plan **plan);

/** Answers whether tw_scatter_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_scatter_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_scatter_supported(tw_device *device, const tw_rows_desc *desc);

/** Enqueues a scatter of rows. Whatever the index array contains, the run writes nothing outside
 *  the table. TW_SCATTER_LAST_WINS and sums with TW_SCATTER_DETERMINISTIC need a workspace of
 *  tw_plan_info.workspace_bytes. Its initial contents do not matter. The run owns it until the run
 *  is done, so runs that may overlap in time need a workspace each.
 *  @param plan from tw_scatter_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is 0, weights are given without TW_ROWS_WEIGHTS, or
 *  count exceeds the plan's. @retval TW_ERROR_MISALIGNED an address is not a multiple of its
 *  element size or lacks the promised alignment, or the workspace is not a multiple of 256.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
 *  @retval TW_ERROR_OVERLAP an operand that the run writes (the columns of the table that are
 *  moved, invalid_count, the workspace) shares bytes with another operand of the run: one of these,
 *  packed, index, weights or device_count. Rows of one operand may lie between the rows of another,
 *  as in tw_gather_run().
 *  @repeats{without a reduction: yes, if each row is named once or the plan has
 *  TW_SCATTER_LAST_WINS; otherwise each element may come from any of the indices that name its row.
 *  With a reduction: yes for integers, minima and maxima, and for floating-point sums if each row
 *  is named once. If a row is named several times, sums of f32, f16 and bf16 repeat only with
 *  TW_SCATTER_DETERMINISTIC, and sums of f64 do not repeat}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_scatter_run(tw_plan *plan, tw_stream *stream, const tw_rows_args *args);

/** @} */

/** @name Ragged copies: sequences of different lengths
 *  @{ */

/** Direction of a ragged copy. */
typedef int32_t tw_ragged_direction;
enum {
  TW_RAGGED_PAD = 0,  /**< from the packed operand to the padded one */
  TW_RAGGED_UNPAD = 1 /**< from the padded operand to the packed one */
};

/** A copy between two forms of a batch of sequences of different lengths. The packed operand is
 *  [tokens, packed_columns], with the sequences one after the other. The padded operand is [batch,
 *  rows, columns]. Sequence b consists of the packed rows offsets[b] to offsets[b + 1] - 1;
 *  FlashAttention calls such offsets cu_seqlens. Element [b, r, c] of the padded operand is the
 *  packed operand's element [offsets[b] + row + r, column + c], where `row` and `column` are
 *  arguments of the run. Padding writes the fill value to rows that the sequence does not have.
 *  Unpadding skips these rows. The padded operand can also be stored in the order [rows, batch,
 *  columns]: padded_pitch is then larger than padded_batch_pitch.
 *
 *  Offsets are read when the run executes. A sequence counts as empty if one of its two offsets is
 *  negative or exceeds the tokens of the run, or if the second offset is below the first. Whatever
 *  the offsets hold, nothing outside the operands is read or written. If wrong offsets make two
 *  sequences share packed rows, the contents of those rows after unpadding are undefined; on the
 *  host device each element comes from one of the two sequences. */
typedef struct tw_ragged_desc {
  uint32_t struct_size;  /**< set by tw_ragged_desc_init() */
  uint32_t struct_mark;  /**< set by the same function */
  tw_dtype dtype;        /**< required: any type; only its size matters, unless fill is NaN */
  tw_dtype offset_dtype; /**< TW_DTYPE_I32 or TW_DTYPE_I64 */
  tw_ragged_direction direction; /**< TW_RAGGED_ */
  uint32_t packed_alignment; /**< promised alignment of the packed operand's address, in bytes; 0:
                                none */
  uint32_t padded_alignment; /**< promised alignment of the padded operand's address, in bytes; 0:
                                none */
  uint32_t max_sms;          /**< at most this many SMs and blocks are used; 0: no limit */
  tw_oob_fill fill;       /**< fill value of a padding copy; TW_OOB_FILL_NAN as in tw_copy_desc */
  uint32_t reserved;      /**< 0 */
  int64_t batch;          /**< required: largest number of sequences in a run */
  int64_t tokens;         /**< required: largest number of packed rows in a run */
  int64_t rows;           /**< required: rows of each sequence in the padded operand */
  int64_t columns;        /**< required: elements of a row that are moved */
  int64_t packed_columns; /**< elements of a packed row; 0: columns */
  int64_t packed_pitch;   /**< elements between packed rows; 0: packed_columns */
  int64_t padded_pitch;   /**< elements between padded rows of a sequence; 0: columns */
  int64_t padded_batch_pitch; /**< elements between padded sequences; 0: rows * padded_pitch */
} tw_ragged_desc;

/** Addresses and window of a ragged copy's run. */
typedef struct tw_ragged_args {
  uint32_t struct_size; /**< set by tw_ragged_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  uint64_t packed;      /**< required: device address of row 0, column 0 */
  uint64_t offsets;     /**< required: batch + 1 numbers in device memory, aligned to their type */
  uint64_t padded;      /**< required: device address of sequence 0, row 0 */
  int64_t batch;        /**< sequences of this run; -1: the plan's */
  int64_t tokens;       /**< rows of the packed operand in this run; -1: the plan's */
  int64_t row;          /**< row of each sequence that becomes padded row 0; may be negative */
  int64_t column;       /**< first column, 0 to packed_columns - columns */
  /** Device address of a 64-bit counter to which the run adds the number of sequences with wrong
   *  offsets; 0: they are not counted. Without a counter the host device waits for the stream,
   *  reads the offsets and refuses the run if they are wrong. It does not do so while the stream is
   *  captured. */
  uint64_t invalid_count;
} tw_ragged_args;

/** Initializes a ::tw_ragged_desc: i32 offsets, padding with zeros; batch, tokens, rows and columns
 *  unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_ragged_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_ragged_desc_init(tw_ragged_desc *desc, size_t size);

/** Initializes a ::tw_ragged_args: no addresses, the plan's batch and tokens.
 *  @param[out] args not NULL. @param size sizeof(tw_ragged_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_ragged_args_init(tw_ragged_args *args, size_t size);

/** Fills the types, sizes and pitches of a ragged copy's description; the other fields keep their
 *  values.
 *  @param packed tokens by columns. @param offsets contiguous; the number of sequences plus 1
 *  elements.
 *  @param padded sequences by rows by columns. Rows must be contiguous in both operands.
 *  @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not match.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_ragged_desc_from_tensors(const tw_tensor *packed, const tw_tensor *offsets,
                                             const tw_tensor *padded, tw_ragged_desc *desc);

/** Plans a ragged copy. @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type, size, pitch or option is invalid.
 *  @retval TW_ERROR_UNSUPPORTED the fill is NaN and the type has no NaN pattern, or the offsets are
 *  integers other than i32 and i64.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_ragged_plan(tw_device *device, const tw_ragged_desc *desc, tw_plan **plan);

/** Answers whether tw_ragged_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_ragged_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_ragged_supported(tw_device *device, const tw_ragged_desc *desc);

/** Enqueues a ragged copy. Whatever the offsets are, the run accesses nothing outside the operands.
 *  @param plan from tw_ragged_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument of the run is outside the planned range. Only the
 *  host device, if args have no invalid_count and the stream is not captured, also returns it for
 *  offsets that decrease, are negative or exceed the tokens.
 *  @retval TW_ERROR_MISALIGNED an address lacks the promised alignment.
 *  @retval TW_ERROR_OVERLAP operands overlap.
 *  @repeats{yes}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_ragged_run(tw_plan *plan, tw_stream *stream, const tw_ragged_args *args);

/** @} */

/** @name Routing of tokens to experts
 *  @{ */

/** How logits become scores, from which the experts' weights are made. */
typedef int32_t tw_route_score;
enum {
  TW_ROUTE_SOFTMAX = 0,       /**< exp(logit) divided by the sum over all experts */
  TW_ROUTE_SIGMOID = 1,       /**< 1 / (1 + exp(-logit)) */
  TW_ROUTE_SOFTMAX_CHOSEN = 2 /**< exp(logit) divided by the sum over the chosen experts */
};

/** How groups of experts are ranked. */
typedef int32_t tw_route_group_score;
enum {
  TW_ROUTE_GROUP_BEST = 0, /**< by the key of the group's best expert, see ::tw_route_desc */
  TW_ROUTE_GROUP_TOP2 = 1  /**< by the sum of the keys of its two best experts */
};

/** Options of a routing: bits of tw_route_desc.flags. */
enum {
  /** The scores of each token's chosen experts are divided by their sum, if the sum is above 0. The
   *  weights then add up to `scale`. */
  TW_ROUTE_RENORMALIZE = 1,
  /** The caller gives the experts of each token in tw_route_args.given_ids; none are chosen. */
  TW_ROUTE_GIVEN_IDS = 2
};

/** Routing of tokens to experts, for mixtures of experts. For each token the top_k experts with the
 *  largest ranking keys (see below) are chosen, best first. Each token has top_k slots, one for
 *  each chosen expert. A token with one of its slots is a pair; slot s of token t is pair number
 *  t * top_k + s. The results are the experts and weights of all pairs, and the pairs in order of
 *  their experts, as grouped matrix products consume them. Everything is read and computed when the
 *  run executes, so one captured graph serves any logits.
 *
 *  Experts are ranked by a key. A bias that is not given counts as 0:
 *
 *  | `score` | Key | Key with tw_route_args.bias or TW_ROUTE_GROUP_TOP2 |
 *  |---|---|---|
 *  | TW_ROUTE_SOFTMAX, TW_ROUTE_SIGMOID | logit | score + bias |
 *  | TW_ROUTE_SOFTMAX_CHOSEN | logit | logit + bias |
 *
 *  Different logits can have equal scores, because scores are rounded and small ones become 0. If
 *  experts have equal keys, the one with the lower number ranks first; -0 equals 0. An expert whose
 *  logit is NaN ranks last, whatever its bias. If experts are divided into groups of consecutive
 *  experts, only experts of the best top_groups groups are chosen.
 *
 *  Biases do not affect weights. The weight of a chosen expert is its score times `scale`. With
 *  TW_ROUTE_RENORMALIZE the score is first divided by the sum of the scores of the token's top_k
 *  chosen experts. The score of a NaN logit is 0. If the largest logit of a softmax is infinite,
 *  each logit that equals it counts as exp(0) = 1 and every other logit as 0. Scores are f32 with a
 *  relative error below 2^-16; values below exp(-87), or exp(-83) for a sigmoid, become 0. Every
 *  device computes the same bits.
 *
 *  If the experts are distributed over several GPUs, an expert map says which experts are local,
 *  that is, on this GPU, and gives each of them a local number. Pairs of other experts are dropped
 *  from counts and order, but keep their id and weight. A pair is also dropped if its given id
 *  names no expert, or if its expert's entry of the map is neither -1 nor the number of a local
 *  expert. tw_route_args.invalid_count counts only the pairs that are dropped for one of these two
 *  errors. */
typedef struct tw_route_desc {
  uint32_t struct_size; /**< set by tw_route_desc_init() */
  uint32_t struct_mark; /**< set by the same function */
  tw_dtype dtype; /**< required: type of the logits, TW_DTYPE_F32, TW_DTYPE_BF16 or TW_DTYPE_F16; 0
                     with TW_ROUTE_GIVEN_IDS */
  tw_dtype id_dtype;     /**< type of given ids: TW_DTYPE_I32 or TW_DTYPE_I64 */
  tw_dtype offset_dtype; /**< type of the offsets: TW_DTYPE_I32 or TW_DTYPE_I64 */
  tw_route_score score;  /**< TW_ROUTE_SOFTMAX, TW_ROUTE_SIGMOID or TW_ROUTE_SOFTMAX_CHOSEN */
  tw_route_group_score group_score; /**< TW_ROUTE_GROUP_; only if groups is above 1 */
  uint32_t flags;                   /**< TW_ROUTE_RENORMALIZE, TW_ROUTE_GIVEN_IDS */
  float scale;                      /**< factor of all weights */
  uint32_t max_sms;                 /**< at most this many SMs and blocks are used; 0: no limit */
  int64_t tokens;  /**< required: largest number of tokens in a run; tokens * top_k is below 2^31 */
  int64_t experts; /**< required: 1 to 1024 */
  int64_t top_k;   /**< required: experts of each token, 1 to 32 */
  int64_t local_experts; /**< number of local experts in the expert map, 1 to experts; 0: experts */
  int64_t groups; /**< number of groups of consecutive experts, 1 to 32; divides experts; 0: 1 */
  int64_t top_groups;   /**< number of groups that experts are chosen from; 0: all of them */
  int64_t logits_pitch; /**< elements between the logits of consecutive tokens; 0: experts */
} tw_route_desc;

/** Addresses of a routing's run. A result whose address is 0 is not computed; at least one must be
 *  requested. Arrays are contiguous. */
typedef struct tw_route_args {
  uint32_t struct_size; /**< set by tw_route_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  int64_t tokens;       /**< tokens of this run; -1: the plan's */
  uint64_t logits;      /**< required: [tokens, experts]; 0 with TW_ROUTE_GIVEN_IDS */
  uint64_t bias;        /**< f32 [experts], added only to rank experts; 0: none */
  uint64_t given_ids;   /**< [tokens, top_k], required with TW_ROUTE_GIVEN_IDS; else 0 */
  /** f32 [tokens, top_k], only with TW_ROUTE_GIVEN_IDS: the scores of the given experts. Although
   *  the field is named after weights, its numbers are used as scores: the run applies `scale` and
   *  TW_ROUTE_RENORMALIZE to them and writes the results to `weights`. Required if the address
   *  `weights` is not 0, otherwise it must be 0. */
  uint64_t given_weights;
  /** i32 [experts]: each expert's local number, or -1; 0: every expert is local under its own
   *  number, which requires local_experts equal to experts. */
  uint64_t expert_map;
  uint64_t ids;     /**< i32 [tokens, top_k]: the experts; -1 for a given id that names no expert */
  uint64_t weights; /**< f32 [tokens, top_k] */
  uint64_t counts;  /**< i32 [local_experts]: number of pairs of each local expert */
  uint64_t offsets; /**< [local_experts + 1]: entry e is the position in `order` at which the pairs
                       of local expert e begin; the last entry is the number of pairs in `order` */
  uint64_t order; /**< i32 [tokens, top_k]: the pairs sorted by local expert, pairs of one expert in
                     ascending order; then -1 for each dropped pair */
  uint64_t order_tokens; /**< i32 [tokens, top_k]: the tokens of the pairs in `order`, or -1: an
                            index array for tw_gather_run() */
  uint64_t inverse;      /**< i32 [tokens, top_k]: each pair's position in `order`; -1: dropped */
  /** Device address of a 64-bit counter to which the run adds the number of pairs with wrong ids or
   *  wrong entries of the map; 0: they are not counted. */
  uint64_t invalid_count;
  uint64_t workspace; /**< device address of the workspace, a multiple of 256; ignored if the run
                         needs none */
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
} tw_route_args;

/** Initializes a ::tw_route_desc: i32 ids and offsets, softmax, no groups, scale 1; tokens, experts
 *  and top_k unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_route_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_route_desc_init(tw_route_desc *desc, size_t size);

/** Initializes a ::tw_route_args: no addresses, the plan's tokens.
 *  @param[out] args not NULL. @param size sizeof(tw_route_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_route_args_init(tw_route_args *args, size_t size);

/** Fills the types, sizes and pitch of a routing's description; the other fields keep their values.
 *  Set `flags` before the call, and with TW_ROUTE_GIVEN_IDS also `experts`.
 *  @param logits tokens by experts, with contiguous rows; NULL with TW_ROUTE_GIVEN_IDS.
 *  @param ids contiguous; tokens by top_k: the resulting ids, or the given ids.
 *  @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not match.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_route_desc_from_tensors(const tw_tensor *logits, const tw_tensor *ids,
                                            tw_route_desc *desc);

/** Plans a routing. tw_plan_info.workspace_bytes is the size of the workspace that its runs need;
 *  it is 0 for up to 128 tokens. @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type, size, pitch or option is invalid.
 *  @retval TW_ERROR_UNSUPPORTED the logits have another type, ids or offsets are integers other
 *  than i32 and i64, or there are more than 1024 experts, top_k above 32 or more than 32 groups.
 *  @retval TW_ERROR_OVERFLOW there are 2^31 pairs or more, or the logits span more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_route_plan(tw_device *device, const tw_route_desc *desc, tw_plan **plan);

/** Answers whether tw_route_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_route_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_route_supported(tw_device *device, const tw_route_desc *desc);

/** Enqueues a routing. Whatever the logits, ids and map contain, the run accesses nothing outside
 *  the operands. A run of more than 128 tokens that requests counts, offsets, order, order_tokens
 *  or inverse needs a workspace of tw_plan_info.workspace_bytes. Its initial contents do not
 *  matter. The run owns it until the run is done, so runs that may overlap in time need a workspace
 *  each. A run of 0 tokens writes 0 to counts and offsets.
 *  @param plan from tw_route_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT a required address is 0, an address is given that the
 *  description excludes, no result is requested, or tokens is outside the plan's range.
 *  @retval TW_ERROR_MISALIGNED an address is not a multiple of its element size, or the workspace
 *  is not a multiple of 256. @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
 *  @retval TW_ERROR_OVERLAP a result, invalid_count or the workspace shares bytes with any other
 *  operand.
 *  @repeats{yes}
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_route_run(tw_plan *plan, tw_stream *stream, const tw_route_args *args);

/** @} */

/** @name Elementwise operations
 *  @{ */

/** How an elementwise operation combines its two sources. */
typedef int32_t tw_combine;
enum {
  TW_COMBINE_ADD = 0,     /**< act(alpha * a + beta * b); without b, act(alpha * a) */
  TW_COMBINE_MULTIPLY = 1 /**< act(alpha * a) * b; requires b and has no beta */
};

/** Options of an elementwise operation: bits of tw_elementwise_desc.flags. */
enum {
  /** Floating-point results beyond the largest finite number of dst_dtype, including infinities,
   *  become that number with their sign. Without the flag they become infinity, or NaN in f8e4m3,
   *  which has no infinity. */
  TW_ELEMENTWISE_SATURATE = 1,
  /** Runs may give device addresses of alpha and beta: see tw_elementwise_args. Only for
   *  floating-point types. */
  TW_ELEMENTWISE_DEVICE_SCALARS = 2
};

/** dst[i...] = act(alpha * a[i...] + beta * b[i...]), or act(alpha * a[i...]) * b[i...], or without
 *  b act(alpha * a[i...]), converted to dst_dtype.
 *
 *  f32, f16, bf16, f8e4m3 and f8e5m2 can be converted to one another. The result is computed in
 *  f32, and each step is rounded to nearest even. A sum is fma(alpha, a, beta * b). A product is
 *  act(alpha * a) * b, with one rounding after each of the two multiplications. The result is then
 *  rounded once to dst_dtype. `activation` gives act, with the errors that tw_activation states for
 *  its f32 argument. Without an activation all devices compute the same bits. Every NaN that is
 *  written has sign bit 0 and all other bits 1.
 *
 *  Integers of 8 to 64 bits and f64 must have the same type in all operands, and have no
 *  activation. Integers wrap. f64 is computed in f64, with f32 factors.
 *
 *  With a reduction, the result in dst_dtype is then combined with the element of the destination;
 *  this step may round and saturate again. add, min and max support f32, f16, bf16, f64 and
 *  integers; and, or and xor support integers; inc and dec support u32. For min and max, -0 is
 *  below +0. A reduction uses no atomics: nothing else may write the destination at the same time.
 *
 *  Examples. To scale and convert a key-value cache in one call: a_dtype TW_DTYPE_BF16, dst_dtype
 *  TW_DTYPE_F8E4M3, flags TW_ELEMENTWISE_SATURATE | TW_ELEMENTWISE_DEVICE_SCALARS, and in each run
 *  device_alpha, the address of the factor. A gated layer silu(a) * b: TW_COMBINE_MULTIPLY and
 *  TW_ACTIVATION_SILU. A factor for each row of a matrix: TW_COMBINE_MULTIPLY, and an f32 b with
 *  b_stride[1] = 0. A factor for each column: the same with b_stride[0] = 0. */
typedef struct tw_elementwise_desc {
  uint32_t struct_size;        /**< set by tw_elementwise_desc_init() */
  uint32_t struct_mark;        /**< set by the same function */
  tw_dtype a_dtype;            /**< type of a */
  tw_dtype b_dtype;            /**< type of b; 0: there is no b */
  tw_dtype dst_dtype;          /**< type of the destination */
  int32_t rank;                /**< required: 1 to 8 */
  uint32_t a_alignment;        /**< promised alignment of a's address, in bytes; 0: none */
  uint32_t b_alignment;        /**< promised alignment of b's address; only with b */
  uint32_t dst_alignment;      /**< promised alignment of the destination address */
  tw_reduction reduction;      /**< how the result is combined with the destination */
  uint32_t flags;              /**< TW_ELEMENTWISE_ bits */
  uint32_t max_sms;            /**< at most this many SMs and blocks are used; 0: no limit */
  tw_cache_priority src_cache; /**< how long the L2 cache should keep what is read of a and b */
  tw_cache_priority dst_cache; /**< how long the L2 cache should keep what is written */
  tw_combine combine;          /**< TW_COMBINE_ADD by default */
  tw_activation activation;    /**< none by default */
  int64_t shape[8];    /**< required: extents in elements, outermost first; an extent of 0 makes the
                          operation empty */
  int64_t a_stride[8]; /**< required: elements; 0 repeats an element along the dimension */
  int64_t b_stride[8]; /**< required with b, excluded without b: as a_stride */
  int64_t dst_stride[8]; /**< required: elements; no two coordinates may share an element */
} tw_elementwise_desc;

/** Addresses and factors of an elementwise run. The addresses of a, b and dst are those of the
 *  elements whose coordinates are all 0. */
typedef struct tw_elementwise_args {
  uint32_t struct_size; /**< set by tw_elementwise_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  float alpha; /**< 1 by default; for integer types a whole number of magnitude below 2^63 */
  float beta;  /**< 1 by default, with the same rule for integers. Must stay 1 if there is no b, and
                  also if combine is TW_COMBINE_MULTIPLY */
  uint64_t a;  /**< required: device address */
  uint64_t b;  /**< required with b, else 0: device address */
  uint64_t dst; /**< required: device address. May equal a or b if strides and element size are the
                   same; otherwise it must not share a byte with them */
  uint64_t device_alpha; /**< with TW_ELEMENTWISE_DEVICE_SCALARS: device address of an aligned f32
                            that is read when the run executes and replaces alpha. It must not share
                            a byte with dst; 0: alpha is used */
  uint64_t device_beta;  /**< the same for beta; only if b is added */
} tw_elementwise_args;

/** Initializes a ::tw_elementwise_desc: f32 to f32, no b; shape and strides unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_elementwise_desc) as the caller's compiler sees
 *  it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_elementwise_desc_init(tw_elementwise_desc *desc, size_t size);

/** Initializes a ::tw_elementwise_args: alpha 1, beta 1.
 *  @param[out] args not NULL. @param size sizeof(tw_elementwise_args) as the caller's compiler sees
 *  it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_elementwise_args_init(tw_elementwise_args *args, size_t size);

/** Fills the types, rank, shape and strides of an elementwise description; the other fields keep
 *  their values. The dimensions of a and b are matched with dst's from the last one on. Extents of
 *  1 and missing dimensions are broadcast.
 *  @param a not NULL. @param b NULL if there is none. @param dst not NULL.
 *  @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not match, or dst is read-only.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_elementwise_desc_from_tensors(const tw_tensor *a, const tw_tensor *b,
                                                  const tw_tensor *dst, tw_elementwise_desc *desc);

/** Plans an elementwise operation: a conversion, an activation, or a sum or product of two tensors.
 *  With a reduction, the result is combined with the elements of the destination.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type, rank, extent, alignment, reduction, combination,
 *  activation or flag is invalid, or TW_COMBINE_MULTIPLY has no b.
 *  @retval TW_ERROR_UNSUPPORTED the types cannot be converted to one another, or dst_dtype does not
 *  support the reduction, activation or flag; the message names them.
 *  @retval TW_ERROR_OVERLAP two coordinates share an element of the destination, or a bounded
 *  search cannot prove that they share none.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_elementwise_plan(tw_device *device, const tw_elementwise_desc *desc,
                                     tw_plan **plan);

/** Answers whether tw_elementwise_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_elementwise_plan(). Errors that are found
 *  only when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_elementwise_supported(tw_device *device, const tw_elementwise_desc *desc);

/** Enqueues an elementwise operation. @param plan from tw_elementwise_plan(). @param stream of the
 *  same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is 0, a factor for integers is not a whole number,
 *  a scalar's address is given without TW_ELEMENTWISE_DEVICE_SCALARS, or beta is given where the
 *  operation has none.
 *  @retval TW_ERROR_MISALIGNED an address lacks the promised alignment, or the address of a scalar
 *  is not a multiple of 4.
 *  @retval TW_ERROR_OVERLAP the destination shares bytes with a scalar; or it shares bytes with a
 *  source and is not the same tensor as the source, with equal address, strides and element size;
 *  or a bounded search cannot prove that they share no byte.
 *  @repeats{yes, reductions too. Without an activation all devices compute the same bits}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_elementwise_run(tw_plan *plan, tw_stream *stream,
                                    const tw_elementwise_args *args);

/** @} */

/** @name Matrix products
 *  @{ */

/** Storage order of a matrix. */
typedef int32_t tw_order;
enum {
  TW_ROW_MAJOR = 0, /**< C order: the elements of a row are contiguous. The leading dimension is the
                       distance between rows, in elements */
  /** Fortran order: the elements of a column are contiguous. The leading dimension is the distance
   *  between columns. A k x n matrix B that is stored transposed, as n rows of k elements, is
   *  column-major with leading dimension k. */
  TW_COLUMN_MAJOR = 1
};

/** Options of a matrix product. */
enum {
  /** a, b, c and d of a run are device addresses of arrays of batch_count 64-bit device addresses,
   *  one matrix each, which are read when the run executes. Batch strides must keep the values that
   *  the init function gave them. A product is skipped as a whole if one of its addresses is 0, is
   *  not a multiple of the size of an element, or lacks the promised alignment;
   *  tw_gemm_args.invalid_count counts skipped products. Needs a workspace. */
  TW_GEMM_BATCH_POINTERS = 1,
  /** The bits of a row of D, except the sign of a zero, depend neither on the run's m nor on the
   *  plan's m. (The name means the batch of rows that a model computes at once, not batch_count.)
   *  The order in which the kernels add along k, and the number of blocks among which they divide
   *  k, depend only on the chip and on fields of the description other than m. The price:
   *  - A product of few rows is slower.
   *  - A column-major A needs either TW_GEMM_STAGING_COPY or an explicit lda, because a packed lda
   *    depends on m.
   *  - Some products must divide a long k among several blocks, because the sum of one tensor-core
   *    accumulator over all of k would be too inaccurate: those with an f16 D and k above 16384,
   *    and those with an f32 D and k above 4096 that have an epilogue, a batch, TW_GEMM_DEVICE_M or
   *    TW_GEMM_DEVICE_SCALARS. With max_sms, such a product can have at most max_sms blocks. If the
   *    plan's m needs more blocks, planning returns TW_ERROR_UNSUPPORTED, and the message gives the
   *    largest m that is possible. */
  TW_GEMM_BATCH_INVARIANT = 2,
  /** Dependent launch (PDL): the run's kernels may start while the preceding kernel in the stream
   *  still runs. They wait until it has ended before they read an operand that is not declared
   *  constant, and before they write. This also works in captured streams. */
  TW_GEMM_PROGRAMMATIC = 4,
  /** The run may read A before the preceding kernels in the stream have ended. The caller promises
   *  that these kernels do not write A: go back in the stream from the run, past kernels that were
   *  themselves dependent launches, to the first kernel K that was launched normally. Neither K nor
   *  any kernel between K and the run may write A. Needs TW_GEMM_PROGRAMMATIC. */
  TW_GEMM_A_CONSTANT = 8,
  TW_GEMM_B_CONSTANT = 16, /**< the same promise for B, which may for example be weights */
  /** Runs may give the device address of their m: see tw_gemm_args.device_m. */
  TW_GEMM_DEVICE_M = 32,
  /** Runs may give the device addresses of alpha and beta. */
  TW_GEMM_DEVICE_SCALARS = 64,
  /** Runs first copy an operand, A or B, into the workspace if the TMA kernels cannot read it. That
   *  is faster than reading it element by element. The TMA kernels can read an operand whose
   *  address, leading dimension and batch stride are multiples of 16 bytes; an operand of an 8-bit
   *  type or tf32 must also be contiguous along k. Planning does not know the address, only its
   *  promised alignment. If that is less than 16 bytes, the operand counts as one that may need a
   *  staging copy, even if its address is aligned in every run. Such an operand has these limits:
   *  - If it is A, min_m must equal m.
   *  - If only its address may be misaligned, the copy has the same strides as the operand. The
   *    matrices of a batch must then not overlap, except that all products may share one matrix
   *    (batch stride 0).
   *  - The operand spans at most 2^60 bytes, and so does its copy. */
  TW_GEMM_STAGING_COPY = 128,
  /** The run may overwrite the padding of D: the elements between the end of each row (or column,
   *  if column-major) and the leading dimension, also after the last row or column. */
  TW_GEMM_D_PADDING_WRITABLE = 256,
  /** Runs compute the largest magnitude of D: see tw_gemm_args.amax. */
  TW_GEMM_AMAX = 512,
  /** For 8-bit floats whose scales do not change along k (TW_SCALE_NONE, TW_SCALE_TENSOR,
   *  TW_SCALE_ROW): the tensor cores may accumulate over all of k. Without the flag their
   *  accumulators are added in f32 after every 128 elements along k. The flag is faster and less
   *  accurate: on compute capability 9.0 an accumulator of the tensor cores keeps about 14 bits of
   *  the significand. ::tw_scale_kind has the bound of the error.
   *  @experimental{the flag, like all 8-bit floats} */
  TW_GEMM_FAST_ACCUMULATE = 1024
};

/** How a vector is broadcast over the elements of a matrix. */
typedef int32_t tw_per;
enum {
  TW_PER_NONE = 0,   /**< there is no vector */
  TW_PER_TENSOR = 1, /**< one element for the whole matrix */
  TW_PER_ROW = 2,    /**< one element for each row */
  TW_PER_COLUMN = 3  /**< one element for each column */
};

/** Which two columns of V = alpha * A B + beta * C + bias form one column of D: D = act(gate
 *  column) * linear column. */
typedef int32_t tw_gate;
enum {
  TW_GATE_NONE = 0,       /**< no gate: each column of D is act of the same column of V */
  TW_GATE_HALVES = 1,     /**< column j of D has gate column j and linear column j + n / 2 */
  TW_GATE_INTERLEAVED = 2 /**< column j of D has gate column 2 * j and linear column 2 * j + 1 */
};

/** Which elements of A or B, of an 8-bit type or tf32, share an f32 scale that dequantizes them:
 *
 *      A B = sum over blocks of 128 along k (a_scale * b_scale * (sum of the block's products))
 *
 *  The product of two scales is first rounded to f32. Scales that do not change along k multiply
 *  the finished sum. The supported pairs for A and B are: no scales for either, TW_SCALE_TENSOR for
 *  both, TW_SCALE_ROW for both, TW_SCALE_1X128 for both, and TW_SCALE_1X128 for A with
 *  TW_SCALE_128X128 for B. Other pairs are refused with TW_ERROR_UNSUPPORTED, and so are
 *  TW_SCALE_K32_UE8M0 and TW_SCALE_K16_UE4M3, which are reserved for a later version.
 *
 *  The last block along k, m or n may be smaller than the others; it also has one scale. The scales
 *  of blocks form a matrix with an order and a leading dimension. The matrix for A has one row for
 *  each row of A, and one column for each block of 128 along k. The matrix for B, which is k x n,
 *  has one row for each block of 128 along k. It has one column for each column of B with
 *  TW_SCALE_1X128, and one for each 128 columns with TW_SCALE_128X128. For example, if B is stored
 *  as n rows of k elements and the scales of 128 columns are contiguous along k, then the matrix of
 *  scales is column-major. Quantization makes such scales: see ::tw_quantize_desc.
 *
 *  For 8-bit floats, the error of A B on compute capability 9.0 has two parts:
 *  - The tensor cores add up the products of 128 elements along k or, with
 *    TW_GEMM_FAST_ACCUMULATE, of all k elements. Let L be the larger of the largest magnitude among
 *    the products and the largest magnitude of a partial sum. Each product, and each sum of 32
 *    products, loses at most L * 2^-13, and a product at most itself. So 128 elements lose at most
 *    132 * L * 2^-13, times their scales.
 *  - The arithmetic in f32 that follows adds at most (k / 128 + 16) * 2^-24 of the sum of the
 *    magnitudes of all products, times their scales.
 *  Rounding D then adds half a unit in its last place. This is the largest possible error; that of
 *  typical products is far smaller.
 *
 *  @experimental{all values except TW_SCALE_NONE; also the fields that describe scales of A and B
 *  in ::tw_gemm_desc, ::tw_gemm_args, ::tw_grouped_desc and ::tw_grouped_args} */
typedef int32_t tw_scale_kind;
enum {
  TW_SCALE_NONE = 0,   /**< no scales */
  TW_SCALE_TENSOR = 1, /**< one f32 for the whole operand */
  /** One f32 for each row of A, or for each column of B. (If B is stored as n rows of k elements,
   *  each of these rows is a column of B.) */
  TW_SCALE_ROW = 2,
  TW_SCALE_1X128 = 3,   /**< one f32 for each 128 elements along k of a row of A or column of B */
  TW_SCALE_128X128 = 4, /**< one f32 for each block of 128 by 128 elements */
  TW_SCALE_K32_UE8M0 = 20, /**< one 8-bit power of two for each 32 elements along k */
  TW_SCALE_K16_UE4M3 = 21  /**< one unsigned 8-bit float for each 16 elements along k */
};

/** D = act(alpha * A B + beta * C + bias) * d_factor. A is m x k, B is k x n, and C and D are m x
 *  n; with a gate D is m x (n / 2). Accumulators are f32 unless accumulator_dtype or an integer
 *  a_dtype says otherwise; scalars and functions are f32. D is rounded once, with one exception: if
 *  D is f32 and k is above 4096, k may be split into several partial sums, and D is rounded as each
 *  of them is added. A zero result may have either sign.
 *
 *  A run may have m = 0, or any m from min_m to the plan's m. A plan may use different kernels for
 *  small and for large m: tw_gemm_ranges() lists them. If A and D are row-major, the kernel that
 *  serves a run depends on the m of the run, but not on the min_m and m of the plan. If n, m or
 *  batch_count is 0, a run writes nothing. If k is 0, A B is zero, neither A nor B is read, and D
 *  is written. */
typedef struct tw_gemm_desc {
  uint32_t struct_size; /**< set by tw_gemm_desc_init() */
  uint32_t struct_mark; /**< set by the same function */
  /** TW_DTYPE_BF16, the default, TW_DTYPE_F16, TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2, TW_DTYPE_I8 or
   *  TW_DTYPE_TF32. The fields b_dtype to bias_dtype say which types go with it. A TF32 operand is
   *  f32 in memory; its elements are rounded to nearest even as they are read. Sums of i8 are exact
   *  modulo 2^32. @experimental{all types other than TW_DTYPE_BF16 and TW_DTYPE_F16} */
  tw_dtype a_dtype;
  tw_dtype b_dtype; /**< 0, the default: a_dtype. With 8-bit floats the two may differ, but at least
                       one must be TW_DTYPE_F8E4M3 */
  tw_dtype c_dtype; /**< 0, the default: d_dtype. Other types are not supported yet */
  /** 0, the default: a_dtype, or TW_DTYPE_F32 if that is TW_DTYPE_TF32. The allowed types are:
   *  - if a_dtype has 16 bits: a_dtype or TW_DTYPE_F32;
   *  - if a_dtype is an 8-bit float or TW_DTYPE_TF32: TW_DTYPE_BF16, TW_DTYPE_F16, TW_DTYPE_F32,
   *    TW_DTYPE_F8E4M3 or TW_DTYPE_F8E5M2. Results beyond the range of an 8-bit type saturate, and
   *    NaN stays NaN;
   *  - if a_dtype is TW_DTYPE_I8: TW_DTYPE_BF16, TW_DTYPE_F16, TW_DTYPE_F32, TW_DTYPE_I8 or
   *    TW_DTYPE_I32. A D of TW_DTYPE_I8 saturates, and a NaN that a factor or bias causes becomes
   *    0. With TW_DTYPE_I32 D is A B itself: alpha must be 1 and beta 0, and there are no scales
   *    and no epilogue. */
  tw_dtype d_dtype;
  tw_dtype accumulator_dtype; /**< TW_DTYPE_F32, the default. TW_DTYPE_F16 is allowed if a_dtype and
                                 d_dtype are F16: a kernel that accumulates in f16 is then used, if
                                 there is one. If a_dtype is TW_DTYPE_I8, TW_DTYPE_I32 is allowed
                                 too and means the same as the default: sums are i32 */
  /** Only with bias. The allowed types are:
   *  - if a_dtype has 16 bits: a_dtype or TW_DTYPE_F32. 0, the default: d_dtype;
   *  - if a_dtype has 8 bits or is TW_DTYPE_TF32: TW_DTYPE_BF16, TW_DTYPE_F16 or TW_DTYPE_F32. 0,
   *    the default: d_dtype if it has 16 bits, otherwise TW_DTYPE_F32. */
  tw_dtype bias_dtype;
  tw_order a_order;     /**< order of A: TW_ROW_MAJOR by default */
  tw_order b_order;     /**< order of B: TW_ROW_MAJOR by default */
  tw_order d_order;     /**< order of C and D: TW_ROW_MAJOR by default */
  uint32_t flags;       /**< TW_GEMM_ bits */
  uint32_t a_alignment; /**< promised alignment of A's address, in bytes; 0: none */
  uint32_t b_alignment; /**< promised alignment of B's address */
  uint32_t c_alignment; /**< promised alignment of C's address */
  uint32_t d_alignment; /**< promised alignment of D's address */
  /** At most this many SMs and blocks are used; 0: no limit. With TW_GEMM_BATCH_POINTERS another
   *  kernel first reads the arrays of addresses. It has one block, of four warps, for every four
   *  products; these blocks are not counted. */
  uint32_t max_sms;
  tw_per bias; /**< TW_PER_NONE by default, TW_PER_ROW (m elements) or TW_PER_COLUMN (n elements);
                  all products of a batch share the bias */
  tw_activation activation; /**< none by default */
  tw_gate gate; /**< works with any activation; n must be even, and D has n / 2 columns */
  /** Whether D's elements are multiplied by an f32 factor before they are rounded: one factor for
   *  all (TW_PER_TENSOR), or one for each row or column of D. The scale that dequantizes D is the
   *  inverse of its factor. */
  tw_per d_factor;
  tw_scale_kind a_scale;  /**< scales of A, with 8-bit types and tf32 */
  tw_scale_kind b_scale;  /**< scales of B; tw_scale_kind lists the supported pairs */
  tw_order a_scale_order; /**< order of the matrix of A's scales; only with TW_SCALE_1X128 and
                             TW_SCALE_128X128 */
  tw_order b_scale_order; /**< order of the matrix of B's scales; only with TW_SCALE_1X128 and
                             TW_SCALE_128X128 */
  uint32_t reserved;      /**< 0 */
  int64_t m; /**< required: largest number of rows of A, C and D in a run; m, n and k are 0 to 2^31
                - 1024 (2147482624) */
  int64_t n; /**< required: columns of B and C, and of D without a gate */
  int64_t k; /**< required: columns of A, rows of B; if it is 0, A B is zero and D is written */
  int64_t min_m; /**< 0 by default: smallest number of rows in a run that is not empty; a plan
                    prepares no kernel for fewer rows */
  /** Leading dimension of A, elements (see tw_order). 0: packed, that is the length of a row, or of
   *  a column if A is column-major. Wherever a field says packed, it means packed for the plan's m,
   *  also in a run of fewer rows. The fast kernels need pitches (lda and ldb in bytes) that are
   *  multiples of 16 and below 2^40. */
  int64_t lda;
  int64_t ldb;            /**< leading dimension of B, as for A */
  int64_t ldc;            /**< leading dimension of C, as for A */
  int64_t ldd;            /**< leading dimension of D, as for A */
  int64_t batch_count;    /**< products in a run, 1 by default, at most 2^20; 0: runs do nothing */
  int64_t a_batch_stride; /**< elements from one product's A to the next; 0: all share A; -1, the
                             default: packed, the leading dimension times the number of rows (or of
                             columns, if A is column-major) */
  int64_t b_batch_stride; /**< the same for B */
  int64_t c_batch_stride; /**< the same for C */
  int64_t d_batch_stride; /**< the same for D, whose matrices may interleave but must not share an
                             element */
  int64_t a_scale_ld;     /**< leading dimension of the matrix of A's scales, elements; 0: packed */
  int64_t b_scale_ld;     /**< leading dimension of the matrix of B's scales */
  int64_t a_scale_batch_stride; /**< elements from one product's scales of A to the next; 0: all
                                   share them; -1, the default: packed */
  int64_t b_scale_batch_stride; /**< the same for B's scales */
  /** TW_SCALE_NONE by default. With TW_SCALE_1X128 and a row-major D of 8-bit floats, runs compute
   *  a scale for each 128 columns of each row of D. The scale is the largest finite magnitude among
   *  them divided by the largest number of the type (448 or 57344), at least 2^-126, and 1 if all
   *  are zero. D then contains each element times the inverse of its scale. D and its scales can
   *  thus be the A of the next product. @experimental{the field, like all 8-bit floats} */
  tw_scale_kind d_quantize;
  /** Only with d_quantize: order of the matrix of the scales that it computes, which has the rows
   *  of D and one column for each 128 columns of D. */
  tw_order d_block_scale_order;
  int64_t d_block_scale_ld; /**< only with d_quantize: leading dimension of that matrix, elements;
                               0: packed */
  int64_t d_block_scale_batch_stride; /**< only with d_quantize: as a_scale_batch_stride */
} tw_gemm_desc;

/** Addresses and scalars of a GEMM's run. */
typedef struct tw_gemm_args {
  uint32_t struct_size; /**< set by tw_gemm_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  float alpha;          /**< 1 by default; with 0 neither A nor B is read */
  float beta;           /**< 0 by default; with 0 C is not read */
  float d_factor_value; /**< 1 by default: the factor of D if the description's d_factor is
                          TW_PER_TENSOR and the address d_factor is 0 */
  uint32_t reserved;    /**< 0 */
  uint64_t a;           /**< required: device address of A */
  uint64_t b;           /**< required: device address of B */
  uint64_t c; /**< required unless beta is 0: device address of C. May equal d if C is laid out as D
                 is: equal pitches if there are several rows (or columns, if column-major), equal
                 batch strides if there are several products, and no gate */
  uint64_t d; /**< required: device address of D */
  int64_t m;  /**< rows of this run: 0, or any number from min_m to the plan's m; -1, the default:
                   the plan's m */
  /** Device address of a workspace, a multiple of 256; ignored if tw_plan_info.workspace_bytes is
   *  0. Runs need it for staging copies (TW_GEMM_STAGING_COPY), for TW_GEMM_BATCH_POINTERS, and for
   *  stream-K kernels that add partial sums in the workspace. If only such a stream-K kernel needs
   *  it, a run without a workspace (0) uses another kernel, which may be slower. A plan of
   *  tw_gemm_plan_candidate() refuses that run instead. The run owns the workspace until the run is
   *  done, so concurrent runs need one each. Its initial contents do not matter. */
  uint64_t workspace;
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
  /** With TW_GEMM_DEVICE_M: device address of an aligned int64_t, the number of rows of this run,
   *  which is read when the run executes and clamped to the range 0 ... m. If that number is 0,
   *  nothing is written. A, C and D must still have m rows; rows of D past the number are not
   *  changed. If the address device_m is 0, the run has m rows. */
  uint64_t device_m;
  uint64_t device_alpha; /**< with TW_GEMM_DEVICE_SCALARS: device address of an aligned float that
                            is read when the run executes and replaces alpha; 0: alpha is used */
  uint64_t device_beta;  /**< the same for beta; c is then required */
  /** With TW_GEMM_BATCH_POINTERS: device address of a 64-bit counter to which the run adds the
   *  number of skipped products; 0: they are not counted. Only the host device, and only without a
   *  counter, refuses a run that would skip a product. While the stream is captured, it does not
   *  check this. */
  uint64_t invalid_count;
  uint64_t bias;     /**< required if the description sets bias, else 0: device address */
  uint64_t d_factor; /**< required if the description sets d_factor, else 0: device address of the
                        f32 factors. With TW_PER_TENSOR it may be 0: d_factor_value is then used */
  /** Required with TW_GEMM_AMAX, else 0: device address of an f32 number. If the largest magnitude
   *  in D is above this number, the run replaces the number by it.
   *  - If D is an 8-bit float, magnitudes are taken before d_factor and rounding. The next run's
   *    d_factor can be derived from the result.
   *  - For other types of D they are taken from D as stored.
   *
   *  The library never resets the number: to begin a new maximum, set it to 0 before a run. A NaN
   *  in D makes it NaN. */
  uint64_t amax;
  uint64_t a_scale; /**< required if the description sets a_scale, else 0: device address of A's
                       f32 scales, which are read when the run executes */
  uint64_t b_scale; /**< the same for B's scales */
  /** Required if the description sets d_quantize, else 0: device address of the f32 scales that
   *  the run computes and writes. d_block_scale_order, d_block_scale_ld and
   *  d_block_scale_batch_stride describe them. */
  uint64_t d_block_scale;
} tw_gemm_args;

/** Initializes a ::tw_gemm_desc: bf16, row-major, one product, no epilogue; m, n and k unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_gemm_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_desc_init(tw_gemm_desc *desc, size_t size);

/** Initializes a ::tw_gemm_args: alpha 1, beta 0, the plan's m.
 *  @param[out] args not NULL. @param size sizeof(tw_gemm_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_args_init(tw_gemm_args *args, size_t size);

/** Fills the types, m, n, k, orders, leading dimensions and batch strides of a product's
 *  description; the other fields keep their values. Set `gate` before the call. A matrix that is
 *  contiguous along its columns becomes column-major, so a transposed view needs no copy. If
 *  a_dtype is TW_DTYPE_TF32 before the call and a and b are f32 tensors, the description keeps
 *  TW_DTYPE_TF32 as their type.
 *  @param a [m, k] or [batch_count, m, k]. @param b [k, n] or [batch_count, k, n]. @param c as d,
 *  or NULL if no run reads C. @param d [m, n] or [batch_count, m, n]; with a gate n / 2 in place of
 *  n. If a, b or c has only one matrix, all products of the batch share it.
 *  @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not match, the strides are not those of a
 *  matrix in either order, or d is read-only.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_desc_from_tensors(const tw_tensor *a, const tw_tensor *b,
                                           const tw_tensor *c, const tw_tensor *d,
                                           tw_gemm_desc *desc);

/** Plans a matrix product. @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a size is unset, a type is unknown, or a size, leading
 *  dimension, batch stride, epilogue or option is invalid. @retval TW_ERROR_OVERLAP the matrices of
 *  D in a batch share elements, or the matrices of an operand that TW_GEMM_STAGING_COPY would copy
 *  share elements.
 *  @retval TW_ERROR_OVERFLOW all matrices of an operand together span more than 2^63 - 1 bytes, or
 *  more than 2^60 bytes if TW_GEMM_STAGING_COPY would copy them.
 *  @retval TW_ERROR_UNSUPPORTED no kernel supports the types (f64, for example), the scales, the
 *  bias or the rest of the description on this device or with this max_sms; an extent is above 2^31
 *  - 1024; there are more than 2^20 products; there are more tiles than a grid can have blocks; or
 *  TW_GEMM_STAGING_COPY would copy A and min_m is below m.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_plan(tw_device *device, const tw_gemm_desc *desc, tw_plan **plan);

/** Answers whether tw_gemm_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_gemm_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_supported(tw_device *device, const tw_gemm_desc *desc);

/** Enqueues a matrix product. @param plan from tw_gemm_plan(). @param stream of the same device.
 *  @param args not NULL. @retval TW_ERROR_MISALIGNED an address lacks the promised alignment.
 *  @retval TW_ERROR_OVERLAP what the run writes (D, D's computed scales, amax, invalid_count, and
 *  the workspace if it is used) shares a byte with another operand of the run; only C may equal D.
 *  Operands may interleave, as the column halves of one buffer do. They are refused if a short
 *  search cannot prove that they share no byte, which can happen with several different pitches and
 *  batch strides. With TW_GEMM_BATCH_POINTERS only the arrays of addresses are checked, not the
 *  matrices. No operand that the run writes may overlap one of these arrays. The array of D's
 *  addresses may be the array of C's addresses, but it must not overlap the array of A's or of B's
 *  addresses: otherwise one matrix would be both read and written.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
 *  @retval TW_ERROR_INVALID_ARGUMENT m is not 0 and is outside the range min_m ... the plan's m; an
 *  address is 0 and the product is not empty; or an address is given that the description excludes,
 *  for example a bias without desc.bias. @retval TW_ERROR_UNSUPPORTED the plan was made by
 *  tw_gemm_plan_candidate(), and its candidate does not support what the run asks for.
 *  @repeats{yes: blocks that split k add their partial sums in a fixed order and without atomics.
 *  Two runs of different m may use different kernels unless the plan has TW_GEMM_BATCH_INVARIANT}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_run(tw_plan *plan, tw_stream *stream, const tw_gemm_args *args);

/** @} */

/** @name Matrix products: candidates and tuning
 *  @{ */

/** A way to compute a matrix product: a kernel and, with split-K or stream-K, its factor. With
 *  stream-K also the cluster in which its blocks run, and a limit on the columns of its tiles. */
typedef struct tw_gemm_candidate {
  uint32_t struct_size; /**< set by tw_gemm_candidate_init() */
  uint32_t struct_mark; /**< set by the same function */
  /** For a split-K kernel: the number of blocks that divide the k of each tile. For a stream-K
   *  kernel: the stream-K factor f, where 1 means that no tile is divided along k, and a larger f
   *  means that a tile is divided into at most f + 1 parts. Other kernels have 1. */
  uint32_t split;
  uint32_t reserved;  /**< 0 */
  const char *kernel; /**< symbol of the kernel; static */
  int64_t m_first;    /**< smallest m of the runs that it serves */
  int64_t m_last;     /**< largest m of the runs that it serves */
  /** Microseconds of a run. If a tuning entry chose the candidate for m_last, this is the time that
   *  was measured for the entry, at the entry's m. If not, it is the time that the cost model
   *  predicts for the largest m of the step that contains m_last (see tw_gemm_plan_tuned()). */
  double microseconds;
  double waves; /**< number of work units divided by the number that can run at once; a work unit is
                   the tile or tiles that one cluster of blocks computes together */
  char text[104]; /**< its name for tw_gemm_plan_candidate(): the kernel's symbol, followed by
                     "/<split>" for split-K and stream-K kernels. If the blocks of a stream-K
                     kernel's cluster share their loads, "/<rows>x<columns>" comes next. These are
                     numbers of blocks: those along the rows, and those along the columns, of the
                     matrix that the kernel computes. A "rowstream" kernel computes D, or D
                     transposed if D is column-major; a "stream" kernel, which uses swap-AB (see
                     the glossary), does the reverse. "/w<columns>" comes last if the kernel's
                     tiles have at most this many columns of that matrix; without it, they have as
                     many as the kernel supports, if that many are needed */
} tw_gemm_candidate;

/** Initializes a ::tw_gemm_candidate, one element of an array that other functions then fill in.
 *  @param[out] candidate not NULL. @param size sizeof(tw_gemm_candidate) as the caller's compiler
 *  sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_candidate_init(tw_gemm_candidate *candidate, size_t size);

/** Lists the ways to compute a matrix product of desc->m rows: first the one that tw_gemm_plan()
 *  chooses for runs of desc->m rows, then the others by predicted time. m_first and m_last of each
 *  are desc->m. The function loads at most one kernel, once for each device, to ask the driver how
 *  many clusters can run at once.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] candidates an array of initialized elements; may be NULL if capacity is 0.
 *  @param capacity number of elements in the array.
 *  @param[out] count total number of candidates, which may exceed capacity; 0 if no kernel on this
 *  device supports the description; may be NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as tw_gemm_plan() would return it.
 *  @retval TW_ERROR_UNSUPPORTED the library supports the description on no device, for example
 *  because of its types, or every kernel would need more blocks than one launch can have or max_sms
 *  allows. If only this device lacks a kernel, the function succeeds and count is 0.
 *  @retval TW_ERROR_OVERLAP the matrices of D in a batch share elements.
 *  @retval TW_ERROR_OVERFLOW the matrices of an operand span more than 2^63 - 1 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_candidates(tw_device *device, const tw_gemm_desc *desc,
                                    tw_gemm_candidate *candidates, int32_t capacity,
                                    int32_t *count);

/** Plans a matrix product with a given candidate for every m. Runs that the candidate does not
 *  support, because of their addresses or of what they ask for, are refused: no other kernel
 *  replaces it. Some candidates compute only alpha * A B: batched kernels and basic stream-K
 *  kernels. Their plans refuse runs with beta, device_m, device_alpha or device_beta. They also
 *  refuse runs whose D they cannot store: the address and the pitches of D must be multiples of 16
 *  bytes and, without TW_GEMM_D_PADDING_WRITABLE, so must the length of a row of D (of a column if
 *  D is column-major). Plans of stream-K candidates refuse runs without a workspace if the run
 *  needs one. Plans of basic stream-K kernels also refuse runs with alpha 0 and, if k is 0, all
 *  runs that are not empty.
 *  @param device not NULL. @param desc not NULL. @param candidate text of a tw_gemm_candidate.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_PARSE the text is not that of a candidate. @retval TW_ERROR_NOT_FOUND the
 *  library has no such kernel. @retval TW_ERROR_UNSUPPORTED the candidate does not support the
 *  description or the device: the message says why. @retval TW_ERROR_INVALID_ARGUMENT as
 *  tw_gemm_plan() would return it. @retval TW_ERROR_OVERLAP as tw_gemm_plan() would return it.
 *  @retval TW_ERROR_OVERFLOW as tw_gemm_plan() would return it.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_plan_candidate(tw_device *device, const tw_gemm_desc *desc,
                                        const char *candidate, tw_plan **plan);

/** Lists which candidate serves which range of m of a plan, in ascending order of m. Consecutive
 *  steps of m (see tw_gemm_plan_tuned()) with the same candidate form one range.
 *  @param plan from tw_gemm_plan() or another function that plans a matrix product.
 *  @param[out] candidates an array of initialized elements; may be NULL if capacity is 0.
 *  @param capacity number of elements in the array.
 *  @param[out] count total number of ranges of m, which may exceed capacity; may be NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT plan is NULL or not a plan of a matrix product.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_gemm_ranges(const tw_plan *plan, tw_gemm_candidate *candidates,
                                int32_t capacity, int32_t *count);

/** A set of tuning entries. Each entry records the fastest measured candidate for one product on
 *  one chip. A set belongs to no device. */
typedef struct tw_gemm_tuning tw_gemm_tuning;

/** Makes an empty set of tuning entries. Each entry records the chip that it was measured on.
 *  @param[out] tuning owned by the caller; release it with tw_gemm_tuning_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT tuning is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_gemm_tuning_create(tw_gemm_tuning **tuning);

/** Destroys a set of tuning entries; plans that were made with it keep their choices.
 *  @param tuning may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_gemm_tuning_destroy(tw_gemm_tuning *tuning);

/** Adds the tuning entries of a text to a set. A new entry replaces an old one for the same chip
 *  and shape. The text has the format that tw_gemm_tuning_format() writes. Its lines are:
 *  - "tilewright gemm tuning 1", which must be the first line that is not skipped;
 *  - for each chip, "device <name>", followed by the lines of that chip;
 *  - optionally, "rates 4800 700": the GB/s of memory and the TFLOP/s that tw_gemm_calibrate() has
 *    measured on the chip;
 *  - a line for each shape;
 *  - empty lines and lines that begin with #, which are skipped.
 *
 *  The line of a shape has, in this order:
 *  - the types of A, D and the accumulators;
 *  - the orders of A, B and D in one word of three letters (r or c), the number of SMs, m, n, k,
 *    the candidate and its microseconds. A line begins, for example, with "bf16 bf16 f32 rcr 132 64
 *    2112 7168", followed by the candidate;
 *  - for a batch, "x" and the number of products;
 *  - "programmatic" if it was measured with TW_GEMM_PROGRAMMATIC;
 *  - for 8-bit types and tf32 only: "by" and the type of B if it is not that of A; "scales" and a
 *    letter each for the scales of A and B (n, t, r, k and b for TW_SCALE_NONE, TW_SCALE_TENSOR,
 *    TW_SCALE_ROW, TW_SCALE_1X128 and TW_SCALE_128X128); "fast" with TW_GEMM_FAST_ACCUMULATE;
 *    "quantized" with d_quantize.
 *
 *  @param tuning not NULL. @param text zero-terminated.
 *  @retval TW_ERROR_PARSE a line cannot be read, or names a kernel that this library does not have.
 *  The message and the field `index` of tw_last_error_info() give the number of the line, from 1.
 *  Nothing was added.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_gemm_tuning_load(tw_gemm_tuning *tuning, const char *text);

/** Writes a set as text, for tw_gemm_tuning_load(). @param tuning not NULL.
 *  @param[out] buffer may be NULL if capacity is 0. @param capacity bytes of buffer.
 *  @param[out] length bytes needed with the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_gemm_tuning_format(const tw_gemm_tuning *tuning, char *buffer, size_t capacity,
                                       size_t *length);

/** How tw_gemm_tune() measures. */
typedef struct tw_gemm_tune_desc {
  uint32_t struct_size; /**< set by tw_gemm_tune_desc_init() */
  uint32_t struct_mark; /**< set by the same function */
  int32_t candidates;   /**< how many candidates to try, from the beginning of the list of
                           tw_gemm_candidates(); 0: all */
  /** Largest number of measurements of a candidate, 1 to 1000; their median is used. After the
   *  first round, a candidate is no longer measured if it takes more than 1.3 times as long as the
   *  fastest one. */
  int32_t rounds;
  uint64_t scratch_d; /**< device address that is written instead of D; 0: D itself is written. Must
                         be 0 with TW_GEMM_BATCH_POINTERS */
  uint64_t flush;     /**< device memory that is read into the L2 cache before each measured run, so
                         that no operands are in the cache; 0: runs are measured back to back */
  uint64_t flush_bytes; /**< size of that memory, at most 2^60; use a few times the L2 size */
} tw_gemm_tune_desc;

/** Initializes a ::tw_gemm_tune_desc: 12 candidates, 7 rounds, back to back.
 *  @param[out] desc not NULL. @param size sizeof(tw_gemm_tune_desc) as the caller's compiler sees
 *  it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_tune_desc_init(tw_gemm_tune_desc *desc, size_t size);

/** Measures candidates for one matrix product on the caller's stream and operands, and adds the
 *  fastest to a set. It also tries the set's entry for the product. D is overwritten many times; if
 *  args.c equals args.d, each run applies beta to the result of the previous run. Set scratch_d if
 *  the contents of D matter. The function waits for the stream's earlier work. Measure while
 *  nothing else runs on the chip.
 *  Kernels that divide k among blocks are tried if the workspace is large enough. 64 MB suffices on
 *  every chip, and 35 MB on a chip with 132 SMs, unless desc has TW_GEMM_STAGING_COPY or
 *  TW_GEMM_BATCH_POINTERS. TW_GEMM_BATCH_POINTERS needs 416 bytes more for each product, and up to
 *  224 bytes for alignment.
 *  @param tuning not NULL. @param stream not NULL. @param desc not NULL.
 *  @param args addresses, and the m to measure; none of m, n and k may be 0.
 *  @param how options of the measurement; NULL for the values of tw_gemm_tune_desc_init().
 *  @param[in,out] best initialized: receives the choice and its measured time; may be NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is invalid. @retval TW_ERROR_CAPTURE the stream is
 *  being captured. @retval TW_ERROR_MISALIGNED as tw_gemm_run() would return it.
 *  @retval TW_ERROR_OVERLAP as tw_gemm_run() would return it.
 *  @retval TW_ERROR_OVERFLOW as tw_gemm_plan() would return it.
 *  @retval TW_ERROR_UNSUPPORTED no kernel computes this product on the device.
 *  @threadsafety{any thread} @capture{refused} @blocking{yes} @since 0.1 */
TW_API tw_status tw_gemm_tune(tw_gemm_tuning *tuning, tw_stream *stream, const tw_gemm_desc *desc,
                              const tw_gemm_args *args, const tw_gemm_tune_desc *how,
                              tw_gemm_candidate *best);

/** Constants of tw_gemm_calibrate(). */
enum {
  TW_GEMM_CALIBRATION_BYTES = 402653184 /**< scratch memory that it needs: 384 MiB */
};

/** Measures the chip's memory bandwidth, and the FLOP rate of its tensor cores at its power limit,
 *  and adds both figures to a set, under the name of the stream's device. When tw_gemm_plan_tuned()
 *  plans with the set on a device of that name, the cost model uses the measured figures. Without
 *  them it uses published figures, or its own estimates if it does not know the chip. The entries
 *  of the set do not change. The function runs two products in the scratch memory for about a
 *  second, so measure while nothing else runs on the chip. It waits for the stream's earlier work.
 *  @param tuning not NULL. @param stream not NULL, of a CUDA device.
 *  @param scratch device address, a multiple of 256; the memory is overwritten.
 *  @param scratch_bytes at least TW_GEMM_CALIBRATION_BYTES.
 *  @retval TW_ERROR_MISALIGNED scratch is 0 or not a multiple of 256.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL scratch_bytes is too small.
 *  @retval TW_ERROR_UNSUPPORTED the stream is of the host device, or no kernel runs on the device.
 *  @retval TW_ERROR_CAPTURE the stream is being captured.
 *  @threadsafety{any thread} @capture{refused} @blocking{yes} @since 0.2 */
TW_API tw_status tw_gemm_calibrate(tw_gemm_tuning *tuning, tw_stream *stream, uint64_t scratch,
                                   uint64_t scratch_bytes);

/** Plans a matrix product with tuning entries. A kernel is chosen for each step of m. The width of
 *  a step depends on m:
 *
 *  | m | Width of a step | The first steps |
 *  |---|---|---|
 *  | 1 to 512 | 8 | 1 to 8, 9 to 16 |
 *  | 513 to 8192 | 64 | 513 to 576 |
 *  | 8193 to 65536 | 256 | 8193 to 8448 |
 *  | 65537 to 131072 | 4096 | 65537 to 69632 |
 *
 *  Above 131072 the width doubles with each doubling of m: it is 8192 up to 262144, and so on.
 *
 *  An entry matches a plan if both have the same chip (name and number of usable SMs), types,
 *  orders, n, k and batch_count, and for 8-bit types and tf32 the same scales, d_quantize and
 *  TW_GEMM_FAST_ACCUMULATE. If the product has 16-bit operands and no batch, these options matter
 *  too: an epilogue (bias, activation, gate, d_factor, TW_GEMM_AMAX), TW_GEMM_BATCH_POINTERS,
 *  TW_GEMM_DEVICE_M and TW_GEMM_DEVICE_SCALARS. An entry that was measured with at least one of
 *  them matches plans that have at least one of them, not necessarily the same. An entry that was
 *  measured with none of them matches plans that have none. The line of an entry has no field for
 *  these options: an entry counts as measured with one of them if its kernel is an epilogue kernel.
 *
 *  An entry that was measured for m rows serves the step that contains m. If that step ends at t,
 *  the entry also serves the lower steps that end above t - t / 8:
 *
 *  | Measured m | Serves m from | to |
 *  |---|---|---|
 *  | 8 | 1 | 8 |
 *  | 64 | 57 | 64 |
 *  | 4096 | 3585 | 4096 |
 *  | 4097 | 3585 | 4160 |
 *
 *  If several entries serve a step, an entry that was measured in the step itself wins, otherwise
 *  one of the nearest higher step. Among entries of one step the one with the most rows wins. An
 *  entry that was measured with TW_GEMM_PROGRAMMATIC serves only plans with that flag, and wins
 *  over others of its step.
 *
 *  The cost model chooses for the steps that no entry serves. Entries of other chips are ignored.
 *  tw_plan_explain() says whether an entry or the cost model chose.
 *  @param device not NULL. @param desc not NULL. @param tuning not NULL; it is copied from and not
 *  kept.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT as tw_gemm_plan() would return it.
 *  @retval TW_ERROR_OVERLAP as tw_gemm_plan() would return it.
 *  @retval TW_ERROR_OVERFLOW as tw_gemm_plan() would return it.
 *  @retval TW_ERROR_UNSUPPORTED as tw_gemm_plan() would return it.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_plan_tuned(tw_device *device, const tw_gemm_desc *desc,
                                    const tw_gemm_tuning *tuning, tw_plan **plan);

/** @} */

/** @name Grouped matrix products, for mixtures of experts
 *  @{ */

/** How rows are assigned to groups. Each value says what the array tw_grouped_args.groups contains
 *  for G = tw_grouped_desc.group_count groups. The array is read when the run executes. A group
 *  whose numbers are invalid counts as empty, for example if it ends before its first row or past
 *  the run's m. */
typedef int32_t tw_grouping;
enum {
  TW_GROUPING_ONE = 0, /**< all rows form one group; there is no array */
  /** [G]: the end of each group, which is the row after its last row. The first group begins at row
   *  0, each other group at the end of the previous one. */
  TW_GROUPING_ENDS = 1,
  /** [G + 1]: the first row of each group, then the end of the last group, like the offsets of
   *  tw_route_run(). */
  TW_GROUPING_OFFSETS = 2,
  /** [G]: the end of each group. The first group begins at row 0, each other group at the end of
   *  the previous one, rounded up to a multiple of row_alignment. The ends are thus padded prefix
   *  sums of the groups' sizes, as in DeepGEMM's psum layout. */
  TW_GROUPING_PSUM = 3,
  /** [m]: the group of each row, or -1 for none. The rows of a group must be consecutive; otherwise
   *  the group counts as empty. */
  TW_GROUPING_ROW_GROUPS = 4,
  /** [G]: the number of rows of each group, at most group_rows. Group g begins at row
   *  g * group_rows. */
  TW_GROUPING_MASKED = 5,
  /** [G]: the end of each group. Groups are ranges of k instead of rows. The first group begins at
   *  0, each other group at the end of the previous one, and none may end past the run's k. Each
   *  group has a matrix D of its own. */
  TW_GROUPING_K_RANGES = 6,
  TW_GROUPING_BLOCKS = 20 /**< reserved for a later version; refused with TW_ERROR_UNSUPPORTED */
};

/** How the rows of the result are written to D. */
typedef int32_t tw_grouped_combine;
enum {
  /** Rows of the result are stored. If several of them go to one row of D, D holds one of them; it
   *  is unspecified which one. */
  TW_GROUPED_COMBINE_STORE = 0,
  /** Each row of D becomes the sum of the rows of the result that go to it. These are first rounded
   *  to d_dtype and then added in f32 in a fixed order: by ascending row or, with
   *  TW_GROUPED_INVERSE, in the order of tw_grouped_args.inverse. The old contents of D are lost: a
   *  row of D to which no row goes becomes zero. (TW_GROUPED_COMBINE_ADD keeps them.) Needs
   *  TW_GROUPED_SCATTER and a workspace. */
  TW_GROUPED_COMBINE_SUM = 1,
  /** Rows of the result are added to the contents of D by atomic additions in d_dtype. Their order
   *  varies, so results do not repeat. Needs TW_GROUPED_SCATTER. */
  TW_GROUPED_COMBINE_ADD_ATOMIC = 2,
  /** Rows of the result are added to the contents of D as in TW_GROUPED_COMBINE_SUM, so results
   *  repeat: in f32 and in a fixed order, the old contents first. Each element of D is then rounded
   *  once. A row of D to which no row goes does not change, unless TW_GROUPED_ZERO_OTHER_ROWS
   *  clears it first. Needs TW_GROUPED_SCATTER and a workspace. */
  TW_GROUPED_COMBINE_ADD = 3
};

/** Options of a grouped product: bits of tw_grouped_desc.flags. */
enum {
  /** Row r of the product reads row a_rows[r] / a_divisor of A, which has a_count rows. If A has no
   *  row of this number, zeros are used. */
  TW_GROUPED_GATHER = 1,
  /** Row r of the result goes to row d_rows[r] / d_divisor of D, which has d_count rows. If D has
   *  no row of this number, row r is dropped. */
  TW_GROUPED_SCATTER = 2,
  /** The bits of a row of the result depend neither on other rows nor on the sizes of groups. */
  TW_GROUPED_BATCH_INVARIANT = 4,
  /** The same as TW_GEMM_PROGRAMMATIC. */
  TW_GROUPED_PROGRAMMATIC = 8,
  /** Row r is multiplied by row_weights[d_rows[r]] instead of row_weights[r]. Typically d_rows[r]
   *  is the number of a pair, token * top_k + slot: tw_route_run() writes the weight of each pair
   *  at this index. Needs TW_GROUPED_SCATTER. */
  TW_GROUPED_ROW_WEIGHT_BY_INDEX = 16,
  /** The run first clears D, so that rows of D to which no row of the result goes become zero. */
  TW_GROUPED_ZERO_OTHER_ROWS = 32,
  /** Runs give the inverse of d_rows in tw_grouped_args.inverse, which makes
   *  TW_GROUPED_COMBINE_SUM and TW_GROUPED_COMBINE_ADD faster. Needs one of the two. */
  TW_GROUPED_INVERSE = 64,
  /** The same as TW_GEMM_FAST_ACCUMULATE. Only the fast kernels for 8-bit floats use it: see
   *  tw_grouped_desc. @experimental{the flag, like all 8-bit floats} */
  TW_GROUPED_FAST_ACCUMULATE = 128
};

/** Products of groups of consecutive rows, each group with a weight matrix of its own, as in
 *  mixtures of experts. Each row r of group g is multiplied by the weight matrix w = group_map[g],
 *  or w = g without a map:
 *
 *      V[r] = alpha * group_alpha[w] * A[r] B[w] + bias[w]
 *      D[r] = act(V[r]) * weight(r)
 *
 *  With a gate, `gate` and `linear` are the gate column and the linear column of V[r] that form one
 *  column of D (see ::tw_gate):
 *
 *      D[r] = act(min(gate, limit)) * (clamp(linear, -limit, limit) + offset) * weight(r)
 *
 *  Here limit, offset and slope are the fields gate_limit, gate_offset and gate_slope, and with a
 *  gate SiLU is x * sigmoid(slope * x). TW_ACTIVATION_SILU with the default limit, offset and slope
 *  gives SwiGLU; limit 7, offset 1 and slope 1.702 give the gate of gpt-oss.
 *
 *  weight(r) is 1 without row_weights. With them it is row_weights[r], or row_weights[d_rows[r]]
 *  with TW_GROUPED_ROW_WEIGHT_BY_INDEX.
 *
 *  A is m x k, each weight matrix is k x n, and D is m x n, or m x (n / 2) with a gate. A and D are
 *  row-major. TW_GROUPED_GATHER and TW_GROUPED_SCATTER instead take and put rows by index: A then
 *  has a_count rows, or D has d_count. Accumulators are f32, or i32 if A is TW_DTYPE_I8 and has no
 *  scales of blocks along k. Scalars and functions are f32. D is rounded once, except where
 *  tw_grouped_combine adds rows.
 *
 *  The array of groups and all other arrays are read when the run executes, so one captured graph
 *  serves any routing. A row that is in no group contributes nothing to D. Groups must not share
 *  rows. If they do, the result of a shared row is unspecified: it is that of one of its groups or,
 *  where rows are added, the sum of several.
 *
 *  TW_GROUPING_K_RANGES computes gradients of weights. A is k x m and B is k x n, both row-major.
 *  Group g is a range of rows of both, and gives D[g] = alpha * A[g]^T B[g] + beta * D[g], which is
 *  m x n and f32. For an empty range D[g] becomes zero (beta 0) or does not change (beta 1). The
 *  following are excluded:
 *  - the fields b_order, b_stride, weight_count, combine, bias_dtype, activation and gate;
 *  - the arguments group_map, group_alpha and row_weights;
 *  - the flags TW_GROUPED_GATHER, TW_GROUPED_SCATTER, TW_GROUPED_ROW_WEIGHT_BY_INDEX,
 *    TW_GROUPED_ZERO_OTHER_ROWS and TW_GROUPED_INVERSE.
 *
 *  Operands of 8-bit types can have scales. ::tw_scale_kind lists the supported pairs of scales and
 *  gives the formula of A[r] B[w] with scales.
 *  - Scales of A are indexed by the row of A. With TW_GROUPED_GATHER this is the gathered row,
 *    a_rows[r] / a_divisor. If A has no row of this number, no scale is read.
 *  - Each weight matrix has scales of its own, b_scale_stride elements apart. With TW_SCALE_TENSOR
 *    it has one f32.
 *  - Only the scales of rows and weight matrices that groups use are read.
 *  - With TW_GROUPING_K_RANGES, TW_SCALE_ROW means one f32 for each row of A^T (m in all) and for
 *    each column of B. Scales of blocks along k are refused with TW_ERROR_UNSUPPORTED.
 *
 *  On compute capability 9.0 the fast kernels for 8-bit floats need a column-major B. lda, ldb and
 *  b_stride must be multiples of 16; packed matrices satisfy this if k is a multiple of 16. With a
 *  gate, n must also be a multiple of 16. Other products of 8-bit types take slower kernels: those
 *  of TW_DTYPE_I8, and all with TW_GROUPING_K_RANGES, because their B is row-major.
 *
 *  The fast kernels for 8-bit floats multiply the sum of each 128 elements along k by its scales,
 *  even if the scales do not change along k, unless TW_GROUPED_FAST_ACCUMULATE is set. An infinite
 *  scale may then give NaN where scaling the finished sum would give infinity.
 *
 *  The forms of grouping are those of DeepGEMM (masked, psum and k-grouped layouts), of torch's
 *  grouped_mm (ends), and of vLLM and llama.cpp (TW_GROUPED_GATHER with the indices token * top_k +
 *  slot, and a_divisor = top_k), so that their arrays can be used unchanged. */
typedef struct tw_grouped_desc {
  uint32_t struct_size; /**< set by tw_grouped_desc_init() */
  uint32_t struct_mark; /**< set by the same function */
  /** TW_DTYPE_BF16, the default, or TW_DTYPE_F16; or TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2 or
   *  TW_DTYPE_I8. @experimental{TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2 and TW_DTYPE_I8} */
  tw_dtype a_dtype;
  /** The type of D:
   *  - with TW_GROUPING_K_RANGES: TW_DTYPE_F32, or 0, which means TW_DTYPE_F32;
   *  - otherwise, if a_dtype has 16 bits: a_dtype or TW_DTYPE_F32, or 0, which means a_dtype;
   *  - otherwise, if a_dtype has 8 bits, required: TW_DTYPE_BF16, TW_DTYPE_F16 or TW_DTYPE_F32. */
  tw_dtype d_dtype;
  tw_dtype bias_dtype;  /**< 0, the default: there is no bias. Otherwise TW_DTYPE_F32, a_dtype if
                             that has 16 bits, or TW_DTYPE_BF16 or TW_DTYPE_F16 if a_dtype has 8 */
  tw_dtype index_dtype; /**< type of the numbers in tw_grouped_args.groups: TW_DTYPE_I32, the
                             default, or TW_DTYPE_I64 */
  /** Type of a_rows and d_rows: TW_DTYPE_I32, the default, or TW_DTYPE_I64. */
  tw_dtype row_index_dtype;
  tw_order b_order; /**< order of each weight matrix: TW_ROW_MAJOR by default. With 8-bit types, and
                       also with TW_GATE_HALVES, the fast kernels need TW_COLUMN_MAJOR (n rows of k
                       elements in memory) */
  tw_grouping grouping;       /**< TW_GROUPING_ENDS by default */
  tw_grouped_combine combine; /**< TW_GROUPED_COMBINE_STORE by default */
  tw_activation activation;   /**< none by default */
  tw_gate gate;               /**< none by default; with a gate n must be even */
  float gate_limit;     /**< only with a gate: `limit` in its formula; 0, the default: no limit */
  float gate_offset;    /**< only with a gate: `offset` in its formula; 0 by default */
  float gate_slope;     /**< only with a gate and TW_ACTIVATION_SILU: slope of SiLU; 1 by default */
  uint32_t flags;       /**< TW_GROUPED_ bits */
  uint32_t a_alignment; /**< promised alignment of A's address, in bytes; 0: none */
  uint32_t b_alignment; /**< promised alignment of B's address */
  uint32_t d_alignment; /**< promised alignment of D's address */
  uint32_t max_sms;     /**< at most this many SMs and blocks are used; 0: no limit */
  int64_t m; /**< required: largest number of rows in a run, including rows that are in no group;
                with TW_GROUPING_K_RANGES largest number of columns of A. m, n and k are 0 to 2^31 -
                1024 (2147482624) */
  int64_t n; /**< required: columns of B */
  int64_t k; /**< required: columns of A and rows of each weight matrix; with TW_GROUPING_K_RANGES
                largest number of rows of A and B in a run. If it is 0, A B is zero and D is
                written */
  int64_t group_count;  /**< required unless grouping is TW_GROUPING_ONE: 0 to 1024 */
  int64_t weight_count; /**< number of weight matrices; 0: group_count. If it is below group_count,
                           runs need a group_map */
  int64_t lda;      /**< elements between rows of A; 0: packed. (0 means packed in all pitches and
                       strides of this struct except a_scale_stride. In tw_gemm_desc a batch stride
                       of 0 means that the matrix is shared) */
  int64_t ldb;      /**< leading dimension of each weight matrix; 0: packed */
  int64_t ldd;      /**< elements between rows of D; 0: packed */
  int64_t b_stride; /**< elements between weight matrices; 0: packed */
  int64_t d_stride; /**< only with TW_GROUPING_K_RANGES: elements between the groups' matrices D,
                       which must not share an element; 0: packed */
  int64_t bias_stride; /**< only with bias_dtype: elements between the biases of weight matrices; 0:
                          packed */
  /** Only with TW_GROUPING_MASKED: rows from the first row of a group to the first row of the next,
   *  at most m / group_count; 0: m / group_count, rounded down. */
  int64_t group_rows;
  int64_t row_alignment; /**< only with TW_GROUPING_PSUM: each group begins at a multiple of this
                            number; 0: 1 */
  int64_t a_count; /**< required with TW_GROUPED_GATHER: largest number of rows of A in a run */
  int64_t d_count; /**< required with TW_GROUPED_SCATTER: largest number of rows of D in a run */
  /** Only with TW_GROUPED_GATHER: each index in a_rows is divided by this number and rounded down.
   *  Set it to top_k if a_rows contains numbers of pairs, which are token * top_k + slot. 0: 1. */
  int64_t a_divisor;
  int64_t d_divisor; /**< only with TW_GROUPED_SCATTER: the same for d_rows. d_count * d_divisor
                        must be below 2^31 */
  /** A hint: typical number of rows of a group that is not empty; 0, the default: not given. With
   *  TW_GROUPING_K_RANGES it is a number of rows of A and B. It decides whether the workspace has
   *  room for a copy of gathered rows (see tw_grouped_plan()); without it, m divided by the number
   *  of weight matrices does. tw_grouped_candidates() and tw_plan_explain() predict times for groups
   *  of this size; without it, for m divided by the number of groups. The result does not depend on
   *  it. */
  int64_t expected_rows;
  tw_dtype b_dtype;       /**< 0, the default: a_dtype. With 8-bit floats the two may differ, but at
                               least one must be TW_DTYPE_F8E4M3 */
  tw_scale_kind a_scale;  /**< scales of A, only with 8-bit types; TW_SCALE_NONE by default */
  tw_scale_kind b_scale;  /**< scales of B; ::tw_scale_kind lists the pairs that are supported */
  tw_order a_scale_order; /**< only with TW_SCALE_1X128: order of the matrix of A's scales, which
                             has one row for each row of A. DeepGEMM uses TW_COLUMN_MAJOR */
  /** Only with TW_SCALE_1X128 and TW_SCALE_128X128. The scales of each weight matrix form a matrix,
   *  and this is its order. It has one column for each column of the weight matrix
   *  (TW_SCALE_1X128), or one for each 128 columns (TW_SCALE_128X128). DeepGEMM uses
   *  TW_COLUMN_MAJOR. */
  tw_order b_scale_order;
  uint32_t reserved;  /**< 0 */
  int64_t a_scale_ld; /**< leading dimension of the matrix of A's scales, elements; 0: packed */
  int64_t b_scale_ld; /**< leading dimension of the matrix of each weight matrix's scales, elements;
                         0: packed */
  /** Only with TW_GROUPING_MASKED, without TW_GROUPED_GATHER, and with an a_scale of TW_SCALE_ROW
   *  or TW_SCALE_1X128. Above 0: each group has scales of A of its own, for group_rows rows, as in
   *  DeepGEMM's masked layout. The value is the number of elements from one group's scales to those
   *  of the next. 0, the default: one matrix has the scales of all rows of A. */
  int64_t a_scale_stride;
  int64_t b_scale_stride; /**< elements between the scales of weight matrices; 0: packed. Not with
                             TW_GROUPING_K_RANGES */
} tw_grouped_desc;

/** Addresses and scalars of a grouped product's run. Arrays are contiguous. */
typedef struct tw_grouped_args {
  uint32_t struct_size; /**< set by tw_grouped_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  float alpha;          /**< 1 by default; with 0 neither A nor B is read */
  float beta;           /**< 0 by default; only with TW_GROUPING_K_RANGES it may also be 1 */
  int64_t m; /**< rows of this run (with TW_GROUPING_K_RANGES columns of A), 0 to the plan's m; -1,
                the default: the plan's m */
  int64_t k; /**< only with TW_GROUPING_K_RANGES: rows of A and B in this run, 0 to the
                plan's k; -1, the default: the plan's k */
  int64_t a_count; /**< only with TW_GROUPED_GATHER: rows of A in this run, 0 to the plan's a_count;
                      -1, the default: the plan's */
  int64_t d_count; /**< only with TW_GROUPED_SCATTER: rows of D in this run, 0 to the plan's
                      d_count; -1, the default: the plan's */
  uint64_t a;      /**< required: device address of A */
  uint64_t b;      /**< required: device address of the weight matrices */
  uint64_t d;      /**< required: device address of D */
  uint64_t bias;   /**< required with bias_dtype, else 0: device address of the biases, n elements
                      for each weight matrix */
  uint64_t groups; /**< required unless grouping is TW_GROUPING_ONE, else 0: device address of the
                      array that ::tw_grouping describes */
  /** Device address of an i32 array with the weight matrix of each group. A group whose entry is
   *  -1, or is not the number of a matrix, is skipped: its rows count as rows in no group. 0: group
   *  g has matrix g. */
  uint64_t group_map;
  uint64_t group_alpha; /**< device address of an f32 array with one factor for each weight matrix
                           (not for each group), which is multiplied with alpha; 0: none */
  uint64_t a_rows;      /**< required with TW_GROUPED_GATHER, else 0: device address of m indices */
  uint64_t d_rows; /**< required with TW_GROUPED_SCATTER, else 0: device address of m indices */
  uint64_t row_weights; /**< device address of f32 factors of rows: m of them, or with
                           TW_GROUPED_ROW_WEIGHT_BY_INDEX d_count * d_divisor; 0: none */
  /** Required with TW_GROUPED_INVERSE, else 0: device address of an i32 array [d_count, d_divisor],
   *  as tw_route_run() writes it. For row t of D and slot s, entry [t, s] is the row r with
   *  d_rows[r] = t * d_divisor + s, or -1 if there is none. The rows that the d_divisor entries for
   *  row t of D name are added in the order of the slots. An entry that names no row of a group
   *  adds nothing. */
  uint64_t inverse;
  /** Device address of a 64-bit counter to which the run adds the number of
   *  - groups with invalid numbers;
   *  - entries of group_map that are neither -1 nor a matrix;
   *  - with TW_GROUPING_ROW_GROUPS, rows whose number is neither -1 nor a group;
   *  - for rows of groups that are not skipped, entries of a_rows other than -1 that name no row of
   *    A, and entries of d_rows other than -1 that name no row of D.
   *
   *  0: they are not counted. */
  uint64_t invalid_count;
  uint64_t workspace;       /**< device address of the workspace, a multiple of 256; ignored if
                               tw_plan_info.workspace_bytes is 0. Some runs may pass 0: see
                               tw_grouped_plan() */
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
  uint64_t a_scale;         /**< required with desc.a_scale, else 0: device address of A's scales,
                               f32 */
  uint64_t b_scale; /**< required with desc.b_scale, else 0: device address of the f32 scales of the
                       weight matrices */
} tw_grouped_args;

/** Initializes a ::tw_grouped_desc: bf16, row-major weight matrices, i32 groups and indices,
 *  TW_GROUPING_ENDS, TW_GROUPED_COMBINE_STORE; m, n, k and group_count unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_grouped_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_grouped_desc_init(tw_grouped_desc *desc, size_t size);

/** Initializes a ::tw_grouped_args: alpha 1, beta 0, no addresses, the plan's sizes.
 *  @param[out] args not NULL. @param size sizeof(tw_grouped_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_grouped_args_init(tw_grouped_args *args, size_t size);

/** Fills the types of A, B and D, the sizes n and k, the number of weight matrices, and the order,
 *  pitches and strides of A, B and D in a description. The other fields, among them those of
 *  scales, keep their values. Set `flags`, `grouping` and `gate` before the call. The flags decide
 *  how the numbers of rows are filled in:
 *
 *  | flags have | m | a_count | d_count |
 *  |---|---|---|---|
 *  | neither TW_GROUPED_GATHER nor TW_GROUPED_SCATTER | rows of a and d | - | - |
 *  | only TW_GROUPED_GATHER | rows of d | rows of a | - |
 *  | only TW_GROUPED_SCATTER | rows of a | - | rows of d |
 *  | both | keeps its value | rows of a | rows of d |
 *
 *  With TW_GROUPING_K_RANGES m becomes the number of columns of a, and group_count the number of
 *  matrices in d. Otherwise, if group_count is unset, it becomes the number of weight matrices,
 *  except with TW_GROUPING_ONE.
 *  @param a [rows, k], with contiguous rows; with TW_GROUPING_K_RANGES [k, m].
 *  @param b [weights, k, n], each matrix in either order; [k, n] if there is one. With
 *  TW_GROUPING_K_RANGES [k, n], with contiguous rows.
 *  @param d [rows, n], or [rows, n / 2] with a gate, with contiguous rows; with
 *  TW_GROUPING_K_RANGES [groups, m, n].
 *  @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not match, or d is read-only.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_grouped_desc_from_tensors(const tw_tensor *a, const tw_tensor *b,
                                              const tw_tensor *d, tw_grouped_desc *desc);

/** Plans a grouped product. tw_plan_info.workspace_bytes is the size of the workspace for its runs.
 *  If it is not 0, a run needs a workspace of that size in these cases:
 *  - the plan has TW_GROUPED_COMBINE_SUM, TW_GROUPED_COMBINE_ADD or TW_GROUPING_ROW_GROUPS;
 *  - A has a 16-bit type, and k is above 4096 if D is f32, above 16384 if D is f16, or above
 *    131072 if D is bf16.
 *
 *  In all other cases a run may pass the address 0 instead, and may then be slower. The workspace
 *  holds:
 *  - with TW_GROUPED_COMBINE_SUM and TW_GROUPED_COMBINE_ADD, m rows of the result and, without
 *    TW_GROUPED_INVERSE, 4 bytes for each of these rows and for each row of D;
 *  - with TW_GROUPING_ROW_GROUPS, 8 bytes for each group;
 *  - on compute capability 9.0 and with 16-bit types, partial sums of tiles that several SMs
 *    compute together: up to 35 MB on an H200;
 *  - on compute capability 9.0 and with 16-bit types, a copy of gathered rows (m * k elements),
 *    which the product loads faster than the rows themselves. The workspace has no such copy if it
 *    would exceed 1 GiB, groups have fewer than 48 rows (expected_rows or, if that is 0, m divided
 *    by the number of weight matrices), n is below 768, k is not a multiple of 8, or grouping is
 *    TW_GROUPING_MASKED.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a size is unset, or a size, pitch, stride or option is invalid
 *  or excluded by the others.
 *  @retval TW_ERROR_UNSUPPORTED no kernel supports the types on this device, the types or the
 *  scales of A and B are not a supported pair, there are more than 1024 groups, an extent is above
 *  2147482624, or grouping is TW_GROUPING_BLOCKS.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes, or d_count * d_divisor is 2^31
 *  or more.
 *  @retval TW_ERROR_OVERLAP matrices of D share elements.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_grouped_plan(tw_device *device, const tw_grouped_desc *desc, tw_plan **plan);

/** Answers whether tw_grouped_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_grouped_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_grouped_supported(tw_device *device, const tw_grouped_desc *desc);

/** Lists the kernels that can multiply the groups of a description, beginning with the one that
 *  tw_grouped_plan() chooses. It loads no kernel and returns the same errors as tw_grouped_plan().
 *  The fields `microseconds` and `waves` of ::tw_gemm_candidate are predicted. They depend on the
 *  sizes of groups, which only runs know, so they are those of the groups that the field
 *  expected_rows of ::tw_grouped_desc describes. The time includes the copy of gathered rows for
 *  which a workspace may have room, but no other kernel that a run launches besides the product.
 *  The predictions for wgmma kernels were within 25 % of measured times for 20 products of bf16 on
 *  an H200; those for mma.sync kernels and for 8-bit types have not been compared with
 *  measurements.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] candidates an array of initialized elements; may be NULL if capacity is 0.
 *  @param capacity number of elements in the array.
 *  @param[out] count total number of candidates, which may exceed capacity; may be NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as tw_grouped_plan() would return it.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_grouped_candidates(tw_device *device, const tw_grouped_desc *desc,
                                       tw_gemm_candidate *candidates, int32_t capacity,
                                       int32_t *count);

/** Plans a grouped product with a given kernel. Runs whose addresses the kernel does not support
 *  are refused with TW_ERROR_MISALIGNED: no other kernel replaces it. The function also returns the
 *  errors of tw_grouped_plan().
 *  @param device not NULL. @param desc not NULL. @param candidate text of a ::tw_gemm_candidate
 *  from tw_grouped_candidates(). @param[out] plan owned by the caller; release it with
 *  tw_plan_destroy().
 *  @retval TW_ERROR_PARSE the text is empty. @retval TW_ERROR_NOT_FOUND the library has no such
 *  kernel. @retval TW_ERROR_UNSUPPORTED the candidate does not support the description or the
 *  device: the message says why. @retval TW_ERROR_INVALID_ARGUMENT as tw_grouped_plan() would
 *  return it.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_grouped_plan_candidate(tw_device *device, const tw_grouped_desc *desc,
                                           const char *candidate, tw_plan **plan);

/** Enqueues a grouped product. Whatever the run's arrays contain, the run accesses nothing outside
 *  the operands and writes nothing between the rows of D. The initial contents of the workspace do
 *  not matter. The run owns the workspace until the run is done, so runs that may overlap in time
 *  need one each. A run with m = 0 still clears D with TW_GROUPED_COMBINE_SUM or
 *  TW_GROUPED_ZERO_OTHER_ROWS; otherwise it does not write D.
 *  @param plan from tw_grouped_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT a required address is 0, an address or size is given that the
 *  description excludes, a size is outside the plan's range, beta is invalid, or there are fewer
 *  weight matrices than groups and no group_map. @retval TW_ERROR_MISALIGNED an address is not a
 *  multiple of its element size or lacks the promised alignment, or the workspace is not a multiple
 *  of 256.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
 *  @retval TW_ERROR_OVERLAP D, invalid_count or the workspace shares bytes with any other operand.
 *  @repeats{yes, unless rows are added by TW_GROUPED_COMBINE_ADD_ATOMIC, several rows are stored to
 *  one row of D, or groups share rows}
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_grouped_run(tw_plan *plan, tw_stream *stream, const tw_grouped_args *args);

/** @} */

/** @name Quantization to 8 bits with scales, and dequantization
 *  @{ */

/** Options of a quantization: bits of tw_quantize_desc.flags. */
enum {
  /** Each scale is rounded up to a power of two. */
  TW_QUANTIZE_POWERS_OF_TWO = 1,
  /** The scale is read, not computed from the source: static quantization. Needs TW_SCALE_TENSOR;
   *  excludes TW_QUANTIZE_POWERS_OF_TWO. */
  TW_QUANTIZE_GIVEN_SCALE = 2
};

/** Quantization of a matrix to 8 bits with scales, or dequantization. Quantization converts bf16,
 *  f16 or f32 to f8e4m3, f8e5m2 or i8; dequantization does the reverse. The types of source and
 *  destination decide which of the two a plan does. A scale is the f32 factor that dequantizes: x
 *  is about q * scale. Everything is read and computed when the run executes, so one captured graph
 *  serves any matrix.
 *
 *  The scales form a matrix: 1 x 1 with TW_SCALE_TENSOR, rows x 1 with TW_SCALE_ROW, rows x
 *  ceil(columns / 128) with TW_SCALE_1X128, and ceil(rows / 128) x ceil(columns / 128) with
 *  TW_SCALE_128X128. Each scale belongs to a region of the matrix; the last region of a row or
 *  column may be smaller. scale_order and scale_ld describe the matrix in memory. For example,
 *  DeepGEMM's scales of A are TW_SCALE_1X128 in TW_COLUMN_MAJOR order.
 *
 *  Quantization: the scale of a region is amax / max, where amax is the largest finite magnitude in
 *  the region and max is 448 for f8e4m3, 57344 for f8e5m2 and 127 for i8. A scale is at least
 *  2^-126, and it is 1 if amax is 0. With TW_QUANTIZE_POWERS_OF_TWO it is then rounded up to a
 *  power of two. An element is q = x * (1 / scale), rounded to nearest even. Elements beyond the
 *  range of the type, including infinities, are saturated: in 8-bit floats to the largest finite
 *  number with their sign, in i8 to 127 or -128. Infinities and NaN do not count in amax. NaN
 *  becomes NaN in 8-bit floats (0x7f in both types) and 0 in i8. Zeros keep their sign in floats.
 *
 *  Dequantization: x = q * scale, rounded to nearest even; results beyond the range become
 *  infinity. NaN is written as 0x7fff in bf16 and f16 and as 0x7fffffff in f32.
 *
 *  Quotient, inverse and products are f32, each rounded to nearest even, with subnormals kept:
 *  every device computes the same bits. Scales that a run reads may be any numbers; the same
 *  formulas apply to them. If rows or columns is 0, a run does nothing. */
typedef struct tw_quantize_desc {
  uint32_t struct_size; /**< set by tw_quantize_desc_init() */
  uint32_t struct_mark; /**< set by the same function */
  tw_dtype src_dtype;   /**< required: TW_DTYPE_BF16, TW_DTYPE_F16 or TW_DTYPE_F32 to quantize,
                             TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2 or TW_DTYPE_I8 to dequantize */
  tw_dtype dst_dtype;   /**< required: one of the 8-bit types above to quantize, one of the other
                           three to dequantize */
  /** Required: TW_SCALE_TENSOR, TW_SCALE_ROW, TW_SCALE_1X128 or TW_SCALE_128X128. */
  tw_scale_kind scale;
  tw_order scale_order;        /**< order of the matrix of scales; not with TW_SCALE_TENSOR */
  uint32_t flags;              /**< TW_QUANTIZE_ bits; 0 to dequantize */
  uint32_t max_sms;            /**< at most this many SMs and blocks are used; 0: no limit */
  tw_cache_priority src_cache; /**< how long the cache should keep the source */
  tw_cache_priority dst_cache; /**< how long the cache should keep the destination */
  int64_t rows;    /**< required: largest number of rows in a run; rows * ceil(columns / 128) is at
                      most 2^30, whatever the scales */
  int64_t columns; /**< required: elements of a row (the k of a product); below 2^31 */
  /** Elements between rows of the source; 0: columns. Runs are fast if the wide matrix, whose
   *  elements are f32, f16 or bf16, begins at a multiple of 16 bytes, the 8-bit matrix begins at a
   *  multiple of v bytes, and columns and both pitches are multiples of v. Here v is 4 if the wide
   *  matrix is f32, otherwise 8. */
  int64_t src_pitch;
  int64_t dst_pitch; /**< the same for the destination */
  int64_t scale_ld;  /**< leading dimension of the matrix of scales, elements (see tw_order); 0:
                        packed for the description's rows. Not with TW_SCALE_TENSOR */
} tw_quantize_desc;

/** Addresses of a run that quantizes or dequantizes. */
typedef struct tw_quantize_args {
  uint32_t struct_size; /**< set by tw_quantize_args_init() */
  uint32_t struct_mark; /**< set by the same function */
  int64_t rows;         /**< rows of this run; -1: the plan's */
  uint64_t src;         /**< required: device address of the source */
  uint64_t dst;         /**< required: device address of the destination */
  uint64_t scale; /**< required: device address of the f32 scales. Quantization writes them, except
                     with TW_QUANTIZE_GIVEN_SCALE; dequantization reads them */
  /** For quantization with TW_SCALE_TENSOR: device address of an f32 number, or 0. If the amax of
   *  the run is above this number, the run replaces the number by it. The library never resets the
   *  number: to begin a new maximum, set it to 0 before a run. */
  uint64_t amax;
  uint64_t workspace;       /**< device address of the workspace, a multiple of 256; ignored if
                               tw_plan_info.workspace_bytes is 0 */
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
} tw_quantize_args;

/** Initializes a ::tw_quantize_desc: packed, row-major scales; types, scale, rows and columns
 *  unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_quantize_desc) as the caller's compiler sees
 *  it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_quantize_desc_init(tw_quantize_desc *desc, size_t size);

/** Initializes a ::tw_quantize_args: no addresses, the plan's rows.
 *  @param[out] args not NULL. @param size sizeof(tw_quantize_args) as the caller's compiler sees
 *  it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_quantize_args_init(tw_quantize_args *args, size_t size);

/** Fills the types, sizes and pitches of a quantization's description, and the order and leading
 *  dimension of its scales; the other fields keep their values. Set `scale` before the call.
 *  @param src rows by columns, with contiguous rows. @param dst of the same shape, with contiguous
 *  rows.
 *  @param scale the matrix of scales, f32, in either order. With TW_SCALE_ROW a vector with one
 *  element per row is allowed too, with TW_SCALE_TENSOR any tensor of one element.
 *  @param[in,out] desc initialized. Unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not match, or a tensor that the run writes is
 *  read-only.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_quantize_desc_from_tensors(const tw_tensor *src, const tw_tensor *dst,
                                               const tw_tensor *scale, tw_quantize_desc *desc);

/** Plans a quantization or dequantization. tw_plan_info.workspace_bytes is the size of the
 *  workspace that its runs need: 4 KB if a run computes one scale for the whole matrix, else 0.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] plan owned by the caller; release it with tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type, scale, size, pitch or option is invalid.
 *  @retval TW_ERROR_UNSUPPORTED the types are not supported, or scale is TW_SCALE_K32_UE8M0 or
 *  TW_SCALE_K16_UE4M3, which are reserved for a later version.
 *  @retval TW_ERROR_OVERFLOW too many rows or columns, or an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_quantize_plan(tw_device *device, const tw_quantize_desc *desc, tw_plan **plan);

/** Answers whether tw_quantize_plan() could plan this description, without making a plan.
 *  @param device not NULL. @param desc not NULL.
 *  @return TW_OK if it could, otherwise the error of tw_quantize_plan(). Errors that are found only
 *  when kernels are loaded or memory is allocated are not reported: see the introduction of
 *  @ref plan.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_quantize_supported(tw_device *device, const tw_quantize_desc *desc);

/** Enqueues a quantization or dequantization: one kernel, or two if one scale is computed for the
 *  whole matrix. Memory between rows, and between rows or columns of scales, is neither read nor
 *  written. The initial contents of the workspace do not matter. The run owns it until the run is
 *  done, so runs that may overlap in time need a workspace each.
 *  @param plan from tw_quantize_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT a required address is 0, amax is given to a plan that does not
 *  use it, or rows is outside the plan's range.
 *  @retval TW_ERROR_MISALIGNED an address is not a multiple of its element size, or the workspace
 *  is not a multiple of 256. @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
 *  @retval TW_ERROR_OVERLAP the destination, the scales that are written, amax or the workspace
 *  shares bytes with any other operand.
 *  @repeats{yes: amax too}
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_quantize_run(tw_plan *plan, tw_stream *stream, const tw_quantize_args *args);

/** @} */
/** @} */

/** @defgroup table Precompiled kernels: what is embedded, for which targets
 *  These functions describe the build, not a device: they work on a machine without a GPU.
 *  @{ */

/** One precompiled kernel for one target. */
typedef struct tw_embedded_kernel {
  uint32_t struct_size; /**< set by tw_embedded_kernel_init() */
  uint32_t struct_mark; /**< set by the same function */
  tw_op op;             /**< operation whose plans use the kernel */
  uint32_t feature;     /**< the TW_FEATURE_ bit that a device must have to run the kernel */
  const char *name;     /**< symbol of the kernel; static */
  const char *target;   /**< "sm_90a": machine code; "compute_90": PTX; static */
  uint32_t threads;     /**< threads in a block */
  uint32_t tile[3];     /**< rows, columns, k of a tile, elements; 0 if it has none */
  uint32_t stages; /**< number of stages of the pipeline in shared memory; 0: chosen by the plan */
  uint32_t cluster[2];    /**< blocks along rows and columns; 0: chosen by the plan */
  tw_dtype dtypes[2];     /**< types of inputs and output; 0 if it works with several */
  int32_t driver_version; /**< oldest driver that loads the kernel, 12090 for CUDA 12.9; 0: unknown.
                             A CUDA device needs at least 12040 in any case */
  uint64_t packed_bytes;  /**< compressed size, in the library, of the image that contains this
                             kernel and others of its family. The size of one image appears in the
                             entries of all its kernels */
  uint64_t image_bytes;   /**< number of bytes that tw_embedded_kernel_image() writes */
} tw_embedded_kernel;

/** Initializes a ::tw_embedded_kernel, which other functions then fill in.
 *  @param[out] entry not NULL. @param size sizeof(tw_embedded_kernel) as the caller's compiler sees
 *  it.
 *  @retval TW_ERROR_STRUCT size is not a valid size of this struct (see the conventions).
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_embedded_kernel_init(tw_embedded_kernel *entry, size_t size);

/** Reads one entry of the list of precompiled kernels. @param index from 0 to count - 1.
 *  @param[in,out] entry initialized; receives the entry. May be NULL if only the count is wanted.
 *  @param[out] count number of entries, one for each pair of a kernel and a target for which it is
 *  embedded; may be NULL.
 *  @retval TW_ERROR_NOT_FOUND entry is not NULL and index is out of range; count is set.
 *  @retval TW_ERROR_STRUCT the struct was not initialized, or its struct_size is invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_embedded_kernel_get(int32_t index, tw_embedded_kernel *entry, int32_t *count);

/** Reads the resources that ptxas assigned to a precompiled kernel: registers, shared and local
 *  memory, parameters. Needs no device. For a loaded kernel, tw_kernel_get_info() asks the driver
 *  for these numbers.
 *  @param name the kernel's symbol. @param target as in tw_embedded_kernel.
 *  @param[in,out] info initialized; receives the resources.
 *  @retval TW_ERROR_NOT_FOUND there is no kernel of this name, or it is not embedded for this
 *  target; the message says which of the two.
 *  @retval TW_ERROR_UNSUPPORTED target is PTX, which has no registers before the driver compiles
 *  it.
 *  @threadsafety{any thread} @blocking{unpacks the image: milliseconds} @since 0.1 */
TW_API tw_status tw_embedded_kernel_info(const char *name, const char *target,
                                         tw_kernel_info *info);

/** Reads the image that holds a precompiled kernel, for disassembly: a cubin for machine code, or
 *  PTX text. The kernel shares it with others of its family. @param name the kernel's symbol.
 *  @param target as in tw_embedded_kernel. @param[out] buffer may be NULL if capacity is 0.
 *  @param capacity bytes of buffer. @param[out] size bytes of the image; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL capacity is less than the image; nothing is written.
 *  @retval TW_ERROR_NOT_FOUND there is no such kernel, or not for this target.
 *  @threadsafety{any thread} @blocking{unpacks the image: milliseconds} @since 0.1 */
TW_API tw_status tw_embedded_kernel_image(const char *name, const char *target, void *buffer,
                                          size_t capacity, size_t *size);
/** @} */

#ifdef __cplusplus
}
#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_LAYOUT_H
#define TILEWRIGHT_LAYOUT_H
/**
 * @file tilewright_layout.h
 * Layouts and drawings of them. tilewright.h includes this file; its conventions hold here too.
 */


#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup layout Layouts: CuTe's shape:stride algebra at run time
 *  A layout is a function from coordinates to indices, written shape:stride. `(4,3):(1,8)` has 4 *
 *  3 coordinates (i,j), and (i,j) has index i * 1 + j * 8. Each extent with its stride is a mode. A
 *  mode can contain modes, as in `((2,3),4):((1,8),2)`; its coordinate can then be one number or a
 *  tuple. If one number stands for several modes, it numbers their coordinates with the leftmost
 *  mode fastest (colexicographic order). In this layout 3, (3,0) and ((1,1),0) are three forms of
 *  one coordinate, which has index 9. Every layout is thus also a function of one number, and can
 *  be a mode of another layout.
 *
 *  A layout can begin with a swizzle and an offset: `Sw<3,3,3> o 0 o (64,64):(64,1)`. Strides can
 *  be scaled basis elements: `2@1` is 2 at element 1 of a tuple. `2@0@1`, which is read from right
 *  to left, is 2 at element 0 of element 1 of a tuple. The layout then returns coordinates, not
 *  indices: `(0,0) o (1024,512):(1@1,1@0)` at (2,3) is (3,2).
 *
 *  Layouts, tuples and tilers are values: no function changes one, and the caller owns each one
 *  that a function returns.
 *
 *  Each function lists its own return values. Beside what each lists, functions return
 *  - TW_ERROR_OVERFLOW if a number of the result exceeds 64 bits;
 *  - TW_ERROR_CAPACITY if the result has more leaves than TW_LAYOUT_MAX_LEAVES or is nested deeper
 *    than TW_LAYOUT_MAX_DEPTH;
 *  - TW_ERROR_UNSUPPORTED for a kind of operand that they do not support, such as basis strides in
 *    place of integer strides.
 *
 *  The "Example:" lines below show the texts of the operands and of the result; the tests run every
 *  one. If a function has several results, the example shows them in one text. For a part of a
 *  layout this text is "offset + layout"; for other results the function's comment explains it.
 *  @{ */

typedef struct tw_tuple tw_tuple;   /**< Nested integers: a shape, a coordinate, an order. */
typedef struct tw_tiler tw_tiler;   /**< How to cut a layout: a layout, or a list of tilers. */
typedef struct tw_linear tw_linear; /**< A linear layout over bits, as in Triton. */

/** Limits of a layout: its number of leaves, and its depth of nesting. */
enum { TW_LAYOUT_MAX_LEAVES = 32, TW_LAYOUT_MAX_DEPTH = 16 };

/** Parses a layout: `shape:stride`, or `shape` alone for the compact column-major layout. Strides
 *  may be integers or scaled basis elements such as `2@1`. A layout with basis strides (a
 *  coordinate tensor) may begin with an origin, as in `(0,0) o shape:stride`.
 *  @param text zero-terminated. @param[out] layout owned by the caller; release it with
 *  tw_layout_destroy().
 *  @retval TW_ERROR_PARSE the text is invalid; the message says where and what was expected.
 *  @retval TW_ERROR_CAPACITY the layout has too many leaves or is nested too deeply.
 *  @retval TW_ERROR_OVERFLOW a number is too large. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_parse(const char *text, tw_layout **layout);

/** Makes a flat layout. @param rank 1 to TW_LAYOUT_MAX_LEAVES. @param shape rank extents, each at
 *  least 1. @param stride rank strides, or NULL for compact column-major strides.
 *  @param[out] layout owned by the caller; release it with tw_layout_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_create(int32_t rank, const int64_t *shape, const int64_t *stride,
                                  tw_layout **layout);

/** Destroys a layout. @param layout may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_layout_destroy(tw_layout *layout);

/** Writes the text of a layout, zero-terminated. @param layout not NULL. @param[out] buffer may be
 *  NULL if capacity is 0. @param capacity bytes of buffer. @param[out] length bytes of the whole
 *  text, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_format(const tw_layout *layout, char *buffer, size_t capacity,
                                  size_t *length);

/** Number of coordinates: the product of the shape.
 *  Example: size("((2,3),4):((1,8),2)") = "24" @param layout not NULL. @param[out] size the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_size(const tw_layout *layout, int64_t *size);

/** Size of the smallest range of consecutive integers that contains all indices of a layout without
 *  a swizzle: the sum of (extent - 1) * |stride|, plus 1. The function ignores a swizzle, which can
 *  move indices out of this range.
 *  Example: cosize("(4,3):(1,100)") = "204"
 *  @param layout not NULL. @param[out] cosize the result.
 *  @retval TW_ERROR_UNSUPPORTED the layout returns coordinates (basis strides), not integers.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_cosize(const tw_layout *layout, int64_t *cosize);

/** Number of top-level modes; 1 for a layout that is a single `extent:stride`.
 *  Example: rank("((2,3),4):((1,8),2)") = "2"
 *  @param layout not NULL. @param[out] rank the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_rank(const tw_layout *layout, int32_t *rank);

/** Depth of nesting: 0 for a single `extent:stride`, 1 for a flat tuple.
 *  Example: depth("((2,3),4):((1,8),2)") = "2"
 *  @param layout not NULL. @param[out] depth the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_depth(const tw_layout *layout, int32_t *depth);

/** Number of leaves: the integers in the shape.
 *  Example: leaves("((2,3),4):((1,8),2)") = "3" @param layout not NULL.
 *  @param[out] leaves the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_leaves(const tw_layout *layout, int32_t *leaves);

/** One top-level mode of a layout, as a layout.
 *  Example: mode("((2,3),4):((1,8),2)", 0) = "(2,3):(1,8)"
 *  @param layout not NULL. @param mode from 0 to rank - 1.
 *  @param[out] out owned by the caller; release it with tw_layout_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_mode(const tw_layout *layout, int32_t mode, tw_layout **out);

/** Maps a coordinate to its index. Unlike tw_layout_at() it refuses numbers past the end of their
 *  extents.
 *  Example: crd2idx("((2,3),4):((1,8),2)", 5, 3) = "23"
 *  @param layout with integer strides. @param coord one linear coordinate (count 1), one for each
 *  top-level mode (count = rank), or one for each leaf (count = leaves).
 *  @param count numbers in coord. @param[out] index the result.
 *  @retval TW_ERROR_UNSUPPORTED the layout returns coordinates: use tw_layout_crd2crd().
 *  @retval TW_ERROR_INVALID_ARGUMENT count matches none of these, or a number is outside its
 *  extent.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_crd2idx(const tw_layout *layout, const int64_t *coord, int32_t count,
                                   int64_t *index);

/** Maps a coordinate to a coordinate, for a layout with basis strides such as that of a tensor map.
 *  Example: crd2crd("(0,0) o (1024,512):(1@1,1@0)", 2, 3) = "(3,2)"
 *  @param layout not NULL. @param coord as in tw_layout_crd2idx(). @param count numbers in coord.
 *  @param[out] out one number for each basis element `@0`, `@1`, ...
 *  @param capacity numbers that out can hold. @param[out] written number of numbers in the result.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written tells how many numbers there are.
 *  @retval TW_ERROR_INVALID_ARGUMENT as tw_layout_crd2idx() returns it.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_crd2crd(const tw_layout *layout, const int64_t *coord, int32_t count,
                                   int64_t *out, int32_t capacity, int32_t *written);

/** Maps a linear coordinate to a flat coordinate, one number for each leaf. The name is CuTe's: the
 *  argument is a linear coordinate, not an index. For an index see tw_layout_find().
 *  Example: idx2crd("((2,3),4):((1,8),2)", 13) = "(1,0,2)" @param layout not NULL.
 *  @param linear from 0 to size - 1. @param[out] coord the numbers. @param capacity numbers that
 *  coord can hold, at least leaves.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL capacity is less than leaves.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_idx2crd(const tw_layout *layout, int64_t linear, int64_t *coord,
                                   int32_t capacity);

/** Maps an index to the smallest linear coordinate that has it.
 *  Example: find("(4,3):(1,8)", 9) = "5" @param layout with integer strides.
 *  @param index any number. @param[out] linear the coordinate.
 *  @retval TW_ERROR_NOT_FOUND no coordinate has this index.
 *  @retval TW_ERROR_UNSUPPORTED the modes overlap too much for the search.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_find(const tw_layout *layout, int64_t index, int64_t *linear);

/** One tile of a tensor: CuTe's local_tile. Extents that are not multiples of the tile are rounded
 *  up to whole tiles.
 *  Example: local_tile("(6,8):(1,6)", "(2,4)", "(1,1)") = "26 + (2,4):(1,6)"
 *  @param layout of rank at least `rank`. @param rank number of modes that are tiled, from the
 *  left. @param tile extents of the tile, each at least 1. @param coord which tile, one number for
 *  each tiled mode. @param[out] out the tile's layout, owned by the caller. @param[out] offset the
 *  index of the tile's first element, which must be added to the indices of out. If the layout has
 *  basis strides, a swizzle or an offset, out contains the tile's offset, and the parameter
 *  receives 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_local_tile(const tw_layout *layout, int32_t rank, const int64_t *tile,
                                      const int64_t *coord, tw_layout **out, int64_t *offset);

/** @name Tuples: shapes, coordinates, orders
 *  A tuple is a nested list of integers. It is parsed from a text or made from an array. In a
 *  coordinate or a tiler, `_` in place of a number means that the whole mode is kept.
 *  @{ */

/** The value of `_` in a tuple or tiler that is made from an array. */
#define TW_UNDERSCORE INT64_MIN

/** Parses a tuple: `4`, `(2,(3,4))`, `(_,2)`.
 *  @param text zero-terminated. @param[out] tuple owned by the caller; release it with
 *  tw_tuple_destroy().
 *  @retval TW_ERROR_PARSE the text is invalid; the message says where and what was expected.
 *  @retval TW_ERROR_CAPACITY the tuple has too many numbers or is nested too deeply.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_parse(const char *text, tw_tuple **tuple);

/** Makes a flat tuple. @param count 1 to TW_LAYOUT_MAX_LEAVES. @param values count numbers.
 *  @param[out] tuple owned by the caller; release it with tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_create(int32_t count, const int64_t *values, tw_tuple **tuple);

/** Destroys a tuple. @param tuple may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_tuple_destroy(tw_tuple *tuple);

/** Writes the text of a tuple, zero-terminated. @param tuple not NULL. @param[out] buffer may be
 *  NULL if capacity is 0. @param capacity bytes of buffer. @param[out] length bytes of the whole
 *  text, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_format(const tw_tuple *tuple, char *buffer, size_t capacity,
                                 size_t *length);

/** Lists the numbers from left to right, without their nesting. @param tuple not NULL.
 *  @param[out] values the numbers. @param capacity numbers that values can hold.
 *  @param[out] written number of numbers in the result.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written tells how many numbers there are.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_values(const tw_tuple *tuple, int64_t *values, int32_t capacity,
                                 int32_t *written);

/** Product of the numbers. Example: product("(2,(3,4))") = "24"
 *  @param tuple not NULL. @param[out] product the result.
 *  @retval TW_ERROR_OVERFLOW the product exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_product(const tw_tuple *tuple, int64_t *product);

/** Tests whether two tuples have the same nesting. Example: congruent("(2,(3,4))", "(1,(1,1))") =
 *  "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_congruent(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Tests whether b's nesting refines a's: where a has a number, b may have any number or tuple.
 *  Example: weakly_congruent("(2,12)", "(2,(3,4))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_weakly_congruent(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Tests whether every coordinate of shape a is also a coordinate of shape b. This is so if b has,
 *  in place of each number of a, either that number or a tuple with that product.
 *  Example: compatible("(2,12)", "(2,(3,4))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_compatible(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Tests whether every number of a coordinate is below the corresponding number of a shape. This is
 *  the predicate for partial tiles: it compares a coordinate of a divided identity tensor with the
 *  tensor's shape.
 *  Example: elem_less("(3,(1,4))", "(4,(2,4))") = "0"
 *  @param coord not NULL. @param shape of the same nesting. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the nestings differ.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_elem_less(const tw_tuple *coord, const tw_tuple *shape, int32_t *yes);

/** Products of all numbers to the left: the compact column-major strides of a shape.
 *  Example: prefix_product("(2,(3,4))") = "(1,(2,6))"
 *  @param shape not NULL. @param[out] out owned by the caller; release it with tw_tuple_destroy().
 *  @retval TW_ERROR_OVERFLOW a product exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_prefix_product(const tw_tuple *shape, tw_tuple **out);

/** Sum of the products of corresponding numbers, such as a coordinate times strides.
 *  Example: inner_product("(1,(2,3))", "(4,(5,6))") = "32"
 *  @param a not NULL. @param b of the same nesting. @param[out] product the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the nestings differ.
 *  @retval TW_ERROR_OVERFLOW the sum exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_inner_product(const tw_tuple *a, const tw_tuple *b, int64_t *product);

/** Divides a shape: by an integer, beginning with the leftmost number; or by a shape, number by
 *  number.
 *  Example: shape_div("(4,(3,2))", "12") = "(1,(1,2))"
 *  Example: shape_div("(4,(3,2))", "6") = ERROR_NOT_A_LAYOUT (neither of 4 and 6 divides the other)
 *  @param a not NULL. @param b not NULL. @param[out] out owned by the caller; release it with
 *  tw_tuple_destroy().
 *  @retval TW_ERROR_NOT_A_LAYOUT neither of two numbers divides the other.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_shape_div(const tw_tuple *a, const tw_tuple *b, tw_tuple **out);

/** Number of tiles that cover a shape. Example: ceil_div("(84,168)", "(5,16)") = "(17,11)"
 *  @param shape not NULL. @param tile not NULL; modes that it lacks keep their extents.
 *  @param[out] out owned by the caller; release it with tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or tile has more modes than shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_ceil_div(const tw_tuple *shape, const tw_tuple *tile, tw_tuple **out);
/** @} */

/** @name Tilers: how to cut a layout
 *  A tiler is of one of two kinds:
 *  - A layout, such as `8:2`. It cuts another layout as a whole, as a function of one number.
 *  - A list of tilers in angle brackets, one for each mode. It cuts another layout mode by mode. An
 *    entry n means `n:1`, and `_` leaves the corresponding mode uncut. Such a list is a ::tw_tiler,
 *    not a ::tw_tuple.
 *  @{ */

/** Parses a tiler: `8:2`, `<8,(2,4):(4,1),_>`, `<4,<2,2>>`.
 *  @param text zero-terminated. @param[out] tiler owned by the caller; release it with
 *  tw_tiler_destroy().
 *  @retval TW_ERROR_PARSE the text is invalid; the message says where and what was expected.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_parse(const char *text, tw_tiler **tiler);

/** Makes `<extents[0],extents[1],...>`. @param rank 1 to TW_LAYOUT_MAX_LEAVES.
 *  @param extents rank numbers, each at least 1, or TW_UNDERSCORE.
 *  @param[out] tiler owned by the caller; release it with tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_create(int32_t rank, const int64_t *extents, tw_tiler **tiler);

/** Makes a tiler from a layout. @param layout with integer strides, without swizzle or offset;
 *  copied.
 *  @param[out] tiler owned by the caller; release it with tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_from_layout(const tw_layout *layout, tw_tiler **tiler);

/** Makes `<entries[0],entries[1],...>`. @param rank 1 to TW_LAYOUT_MAX_LEAVES.
 *  @param entries rank tilers; copied. @param[out] tiler owned by the caller; release it with
 *  tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument or an entry is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_by_mode(int32_t rank, const tw_tiler *const *entries, tw_tiler **tiler);

/** Destroys a tiler. @param tiler may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_tiler_destroy(tw_tiler *tiler);

/** Writes the text of a tiler, zero-terminated. @param tiler not NULL. @param[out] buffer may be
 *  NULL if capacity is 0. @param capacity bytes of buffer. @param[out] length bytes of the whole
 *  text, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_format(const tw_tiler *tiler, char *buffer, size_t capacity,
                                 size_t *length);
/** @} */

/** @name Layouts from shapes
 *  @{ */

/** The compact layout whose leftmost mode is contiguous: column-major.
 *  Example: make_layout_left("(4,(2,3))") = "(4,(2,3)):(1,(4,8))"
 *  @param shape extents, each at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_left(const tw_tuple *shape, tw_layout **out);

/** The compact layout whose rightmost mode is contiguous: row-major.
 *  Example: make_layout_right("(4,(2,3))") = "(4,(2,3)):(6,(3,1))"
 *  @param shape extents, each at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_right(const tw_tuple *shape, tw_layout **out);

/** The layout whose strides increase with the numbers of an order. It is compact if these numbers
 *  all differ. As in CuTe, modes with equal numbers get the same stride.
 *  Example: make_ordered_layout("(4,3,2)", "(2,0,1)") = "(4,3,2):(6,1,3)"
 *  Example: make_ordered_layout("(4,3,2)", "(0,1,1)") = "(4,3,2):(1,4,4)"
 *  @param shape extents, each at least 1. @param order with the shape's nesting, or coarser: a
 *  number then orders a whole mode, whose leaves are column-major. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_ordered(const tw_tuple *shape, const tw_tuple *order,
                                        tw_layout **out);

/** A compact layout whose modes have the same order as those of another layout; strides of 0 remain
 *  0.
 *  Example: make_layout_like("(2,16,2):(1,8,4)") = "(2,16,2):(1,4,2)"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_like(const tw_layout *layout, tw_layout **out);

/** The layout that returns each coordinate unchanged. Predicates are made from it: see
 *  tw_tuple_elem_less(). Example: make_identity_layout("(4,(2,3))") =
 *  "(4,(2,3)):(1@0,(1@0@1,1@1@1))"
 *  @param shape extents, each at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_identity(const tw_tuple *shape, tw_layout **out);

/** A thread-value layout: maps (thread, value) to the index in a tile. `threads` arranges the
 *  threads in the tile; each thread has a block of values that `values` arranges.
 *  The example's result shows the tile's shape (16,128), a space, and the layout.
 *  Example: make_layout_tv("(4,32):(32,1)", "(4,4):(4,1)") = "(16,128)
 *  ((32,4),(4,4)):((64,4),(16,1))"
 *  @param threads compact. @param values compact. @param[out] tile the tile's shape, owned by the
 *  caller.
 *  @param[out] out the layout, owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT threads and values do not number the tile's elements one to one.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_tv(const tw_layout *threads, const tw_layout *values,
                                   tw_tuple **tile, tw_layout **out);

/** Spreads `size` positions, for example threads, over a shape. The result maps a position to its
 *  linear coordinate in the shape. The function goes through the leaves of the shape from the left
 *  and keeps a remaining number of positions, which is `size` at first. It places g positions along
 *  a leaf, where g is the greatest common divisor of the leaf's extent and the remaining number,
 *  and then divides the remaining number by g. If more than 1 remains after the last leaf, the
 *  result has fewer than `size` positions. In the example 1 position is placed along the leaf 9 and
 *  8 along the leaf 32. A step along the leaf 32 is 9 linear coordinates, so the result is 8:9.
 *  Example: domain_distribute("(9,32,2)", "8") = "8:9"
 *  @param shape extents, each at least 1. @param size at least 1. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_domain_distribute(const tw_tuple *shape, int64_t size, tw_layout **out);
/** @} */

/** @name Queries of a layout
 *  @{ */

/** The shape. Example: shape("((2,3),4):((1,8),2)") = "((2,3),4)"
 *  @param layout not NULL. @param[out] shape owned by the caller; release it with
 *  tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_shape(const tw_layout *layout, tw_tuple **shape);

/** The strides. Example: stride("((2,3),4):((1,8),2)") = "((1,8),2)"
 *  @param layout not NULL. @param[out] stride owned by the caller; release it with
 *  tw_tuple_destroy().
 *  @retval TW_ERROR_UNSUPPORTED the strides are basis elements: read them from the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_stride(const tw_layout *layout, tw_tuple **stride);

/** The swizzle Sw<bits,base,shift> and the offset in front of a layout; 0 if there is none.
 *  Example: swizzle("Sw<3,4,3> o 128 o (8,128):(128,1)") = "3 4 3 128"
 *  @param layout not NULL. @param[out] bits B, 0 without a swizzle. @param[out] base M.
 *  @param[out] shift S. @param[out] offset added before the swizzle.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_swizzle(const tw_layout *layout, int32_t *bits, int32_t *base,
                                   int32_t *shift, int64_t *offset);

/** The index of a coordinate. Where the shape has a tuple, the coordinate may have one number.
 *  Unlike in tw_layout_crd2idx(), a coordinate that is one number may exceed the size: the last
 *  mode then continues to count, as in CuTe.
 *  Example: at("((2,3),4):((1,8),2)", "(5,3)") = "23"
 *  Example: at("(4,3):(1,8)", "13") = "25"
 *  Example: at("((2,3),4):((1,8),2)", "(5,(3))") = ERROR_INVALID_ARGUMENT (the coordinate has a
 *  tuple where the shape has the number 4)
 *  @param layout not NULL. @param coord without `_`. @param[out] index of the coordinate.
 *  @retval TW_ERROR_UNSUPPORTED the layout returns coordinates: use tw_layout_at_coord().
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_at(const tw_layout *layout, const tw_tuple *coord, int64_t *index);

/** The same as tw_layout_at(), for a layout that returns coordinates.
 *  Example: at_coord("(0,0) o (1024,512):(1@1,1@0)", "(2,3)") = "(3,2)"
 *  @param layout not NULL. @param coord without `_`. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_at_coord(const tw_layout *layout, const tw_tuple *coord, tw_tuple **out);

/** Tests whether each index has only one coordinate. Example: is_injective("(4,4):(1,3)") = "0"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED the modes overlap too much for the test.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_injective(const tw_layout *layout, int32_t *yes);

/** Tests whether every integer between the smallest and the largest index is an index.
 *  Example: is_surjective("(4,4):(1,3)") = "1"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED the layout returns coordinates (basis strides), or it has more than
 *  2^20 coordinates and a swizzle that may move indices into gaps or out of the range that they
 *  would have without the swizzle.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_surjective(const tw_layout *layout, int32_t *yes);

/** Tests whether the indices are size(layout) consecutive integers, in any order.
 *  Example: is_contiguous("(4,4):(4,1)") = "1"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED as for tw_layout_is_surjective().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_contiguous(const tw_layout *layout, int32_t *yes);

/** The length of the longest vectors, in elements, with which the whole layout can be accessed. The
 *  elements of each vector are contiguous, and each vector begins at an index that is a multiple of
 *  the length.
 *  Example: max_alignment("(3,(32,2)):(128,(4,1))") = "2"
 *  @param layout of integer strides. @param[out] elements the number.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is negative. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_alignment(const tw_layout *layout, int64_t *elements);

/** The longest vector of elements that are consecutive in both layouts, in the same order: the
 *  widest access of a copy between them. Example: max_common_vector("(8,4):(1,8)", "(8,4):(1,16)")
 *  = "8"
 *  @param a of integer strides. @param b of the same size. @param[out] elements the number.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_common_vector(const tw_layout *a, const tw_layout *b,
                                             int64_t *elements);
/** @} */

/** @name Rearranging, adding and removing modes
 *  tw_layout_coalesce(), tw_layout_flatten() and tw_layout_group_modes() return the same function
 *  with other modes. All functions of this section keep a swizzle, an offset or an origin in front
 *  of the layout as it is.
 *  @{ */

/** Merges modes that continue one another and drops modes of extent 1.
 *  Example: coalesce("(2,(1,6)):(1,(6,2))", NULL) = "12:1"
 *  Example: coalesce("(2,(1,6)):(1,(6,2))", "(1,1)") = "(2,6):(1,2)"
 *  @param layout not NULL. @param profile NULL to coalesce the whole layout. Otherwise the profile
 *  gives the nesting that remains: each mode for which it has a number is coalesced by itself. The
 *  numbers themselves do not matter. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the profile has too many modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_coalesce(const tw_layout *layout, const tw_tuple *profile,
                                    tw_layout **out);

/** Removes the modes of stride 0 and coalesces the others.
 *  Example: filter("(2,4,8):(1,0,2)", NULL) = "16:1"
 *  @param layout not NULL. @param profile as for tw_layout_coalesce(), may be NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the profile has too many modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_filter(const tw_layout *layout, const tw_tuple *profile,
                                  tw_layout **out);

/** Gives modes of stride 0 the extent 1. Example: filter_zeros("(2,4,8):(1,0,2)") =
 *  "(2,1,8):(1,0,2)"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_filter_zeros(const tw_layout *layout, tw_layout **out);

/** Removes the nesting. Example: flatten("((2,3),4):((1,8),2)") = "(2,3,4):(1,8,2)"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flatten(const tw_layout *layout, tw_layout **out);

/** Groups several modes into one. Example: group_modes("(2,3,4):(1,2,6)", 1, 3) =
 *  "(2,(3,4)):(1,(2,6))"
 *  @param layout not NULL. @param begin first mode. @param end one past the last mode.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there are no such modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_group_modes(const tw_layout *layout, int32_t begin, int32_t end,
                                       tw_layout **out);

/** Adds a mode at the end. Example: append("(2,3):(1,2)", "4:8") = "(2,3,4):(1,2,8)"
 *  @param layout not NULL. @param mode any layout without swizzle, offset or origin; copied.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @retval TW_ERROR_CAPACITY the result has too many leaves.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_append(const tw_layout *layout, const tw_layout *mode, tw_layout **out);

/** Adds a mode at the beginning. Example: prepend("(2,3):(1,2)", "4:8") = "(4,2,3):(8,1,2)"
 *  @param layout not NULL. @param mode as for tw_layout_append(). @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @retval TW_ERROR_CAPACITY the result has too many leaves.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_prepend(const tw_layout *layout, const tw_layout *mode, tw_layout **out);

/** Replaces a mode by a layout. Example: replace("(2,3):(1,2)", 1, "(4,4):(8,2)") =
 *  "(2,(4,4)):(1,(8,2))"
 *  @param layout not NULL. @param index the mode. @param with as for tw_layout_append().
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such mode.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_replace(const tw_layout *layout, int32_t index, const tw_layout *with,
                                   tw_layout **out);

/** Selects modes, in the given order. Example: select("(2,3,4):(1,2,6)", 2, 0) = "(4,2):(6,1)"
 *  @param layout not NULL. @param count how many, at least 1. @param modes their numbers.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such mode.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_select(const tw_layout *layout, int32_t count, const int32_t *modes,
                                  tw_layout **out);

/** Selects a range of modes. Example: take("(2,3,4):(1,2,6)", 1, 3) = "(3,4):(2,6)"
 *  @param layout not NULL. @param begin first mode. @param end one past the last mode.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there are no such modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_take(const tw_layout *layout, int32_t begin, int32_t end,
                                tw_layout **out);
/** @} */

/** @name Algebra
 *  Results equal those of CuTe wherever CuTe's are correct. An operation returns its mathematical
 *  result if that is a layout; otherwise it is refused with TW_ERROR_NOT_A_LAYOUT and the reason.
 *  Divides and products have further conditions, which they state.
 *  @{ */

/** Function composition: R(c) = A(B(c)). B's shape is refined where one mode of B spans several
 *  modes of A. A is a function of one number; past its end its last mode continues to count. If B
 *  returns coordinates, each of their numbers indexes a mode of A.
 *  Example: composition("(6,2):(8,2)", "(4,3):(3,1)") = "((2,2),3):((24,2),8)"
 *  Example: composition("(8,8):(8,1)", "6:3") = "(3,2):(24,9)"
 *  Example: composition("(4,8):(8,1)", "(2,1,2,8):(1,16,1,1)") = ERROR_NOT_A_LAYOUT (index 1
 *  of one mode of B and index 3 of another add up to 4, past the extent of A's first mode)
 *  @param a may have a swizzle or an offset, which remain in front. @param b not NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the composed function is not a layout.
 *  @retval TW_ERROR_OVERFLOW an index exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_composition(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** Composition mode by mode; modes that the tiler lacks are dropped.
 *  Example: composition_tiler("(12,(4,8)):(59,(13,1))", "<3:4,8>") = "(3,(4,2)):(236,(13,1))"
 *  @param a as for tw_layout_composition(). @param tiler not NULL. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the composed function is not a layout.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tiler has more modes than a.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_composition_tiler(const tw_layout *a, const tw_tiler *tiler,
                                             tw_layout **out);

/** The layout R, with ascending strides, whose indices fill the gaps of a layout L. The sums of an
 *  index of L and an index of R are all different. As far as L's strides allow, these sums are the
 *  numbers 0 to cosize - 1. In the example the indices of L are 0, 2, 4 and 6, and those of R are
 *  0, 1, 8, 9, 16 and 17.
 *  Example: complement("4:2", 24) = "(2,3):(1,8)"
 *  @param layout with integer strides, none negative. @param cosize at least 1.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the layout's modes overlap.
 *  @retval TW_ERROR_INVALID_ARGUMENT cosize is below 1. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_complement(const tw_layout *layout, int64_t cosize, tw_layout **out);

/** Maps an index to its coordinate: L(R(i)) = i for every i below size(R). R is made of modes of L
 *  that together are compact: taken by ascending stride, the first has stride 1, and the stride of
 *  each further one is the product of the extents before it. Other modes of L are skipped.
 *  Example: right_inverse("(4,8):(8,1)") = "(8,4):(4,1)"
 *  @param layout with integer strides, none negative. A swizzle is allowed if it maps the layout's
 *  indices onto themselves. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_right_inverse(const tw_layout *layout, tw_layout **out);

/** Maps an index to its coordinate even if the indices have gaps: R(L(i)) = i. If several
 *  coordinates share an index, only L(R(L(i))) = L(i) holds.
 *  Example: left_inverse("(4,8):(1,6)") = "(6,8):(1,4)"
 *  Example: left_inverse("(4,3,5):(1,12,37)") = ERROR_NOT_A_LAYOUT (37 is no multiple of 12)
 *  @param layout with integer strides, none negative. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is not a multiple of the next smaller one.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_left_inverse(const tw_layout *layout, tw_layout **out);

/** Cuts a layout into tiles: A o (B, complement(B, size(A))). The first mode is one tile; the
 *  second steps from tile to tile, and the last tile may extend past the end. A tiler of several
 *  layouts cuts mode by mode.
 *
 *  A tiler is refused if a coordinate of the layout would be in no tile. To check this, sort the
 *  modes of the tile by stride. If each stride is a multiple of (extent * stride) of the mode
 *  before it, every coordinate is in a tile. Otherwise some coordinates are in no tile, which is
 *  allowed only if they are past the end of the layout. In the last example the modes of the tile
 *  are 4:1 and 2:5, and 5 is not a multiple of 4 * 1. Coordinates 4 and 9, which have the indices
 *  256 and 576, would be in no tile. CuTe accepts such a tiler and omits these indices.
 *  Example: logical_divide("(4,2,3):(2,1,8)", "4:2") = "((2,2),(2,3)):((4,1),(2,8))"
 *  Example: logical_divide("(9,(4,8)):(59,(13,1))", "<3:3,(2,4):(1,8)>") =
 *  "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"
 *  Example: logical_divide("11:64", "(2,4):(5,1)") = ERROR_NOT_A_LAYOUT (see above)
 *  @param layout not NULL. @param tiler not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout, or would omit indices.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_logical_divide(const tw_layout *layout, const tw_tiler *tiler,
                                          tw_layout **out);

/** logical_divide with the modes of the tile first and grouped: ((tile, tile), (rest, rest)).
 *  Example: zipped_divide("(6,8):(1,6)", "<2,4>") = "((2,4),(3,2)):((1,6),(2,24))"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_zipped_divide(const tw_layout *layout, const tw_tiler *tiler,
                                         tw_layout **out);

/** zipped_divide with the modes of the rest at the top level: ((tile, tile), rest, rest).
 *  Example: tiled_divide("(6,8):(1,6)", "<2,4>") = "((2,4),3,2):((1,6),2,24)"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tiled_divide(const tw_layout *layout, const tw_tiler *tiler,
                                        tw_layout **out);

/** zipped_divide with all modes at the top level: (tile, tile, rest, rest).
 *  Example: flat_divide("(6,8):(1,6)", "<2,4>") = "(2,4,3,2):(1,6,2,24)"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flat_divide(const tw_layout *layout, const tw_tiler *tiler,
                                       tw_layout **out);

/** Repeats a layout: (A, complement(A, size(A) * cosize(B)) o B). The first mode is A; the second
 *  steps from copy to copy in B's order. A tiler of several layouts repeats mode by mode.
 *  Example: logical_product("(2,2):(4,1)", "6:1") = "((2,2),(2,3)):((4,1),(2,8))"
 *  @param a with integer strides, none negative. @param tiler not NULL. @param[out] out owned by
 *  the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout, a stride of the tiler is negative, or
 *  a mode of the tiler does not divide the modes of the complement evenly. CuTe refuses such a mode
 *  too, even if the result would be a layout. The message has the conditions.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_logical_product(const tw_layout *a, const tw_tiler *tiler,
                                           tw_layout **out);

/** logical_product with A's modes first and grouped. If the tiler has fewer entries than A has
 *  modes, the remaining modes of A follow the modes of the copies.
 *  Example: zipped_product("(2,5):(5,1)", "<3,4>") = "((2,5),(3,4)):((5,1),(1,5))"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_zipped_product(const tw_layout *a, const tw_tiler *tiler,
                                          tw_layout **out);

/** zipped_product with the modes of the copies at the top level.
 *  Example: tiled_product("(2,5):(5,1)", "(3,4):(1,3)") = "((2,5),3,4):((5,1),10,30)"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tiled_product(const tw_layout *a, const tw_tiler *tiler,
                                         tw_layout **out);

/** zipped_product with all modes at the top level.
 *  Example: flat_product("(2,5):(5,1)", "(3,4):(1,3)") = "(2,5,3,4):(5,1,10,30)"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flat_product(const tw_layout *a, const tw_tiler *tiler, tw_layout **out);

/** logical_product with corresponding modes paired, A's first: a tiling of blocks.
 *  Example: blocked_product("(2,5):(5,1)", "(3,4):(1,3)") = "((2,3),(5,4)):((5,10),(1,30))"
 *  @param a as for tw_layout_logical_product(). @param b with integer strides.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_blocked_product(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** logical_product with corresponding modes paired, B's first: A's elements are interleaved over
 *  the copies.
 *  Example: raked_product("(2,5):(5,1)", "(3,4):(1,3)") = "((3,2),(4,5)):((10,5),(30,1))"
 *  @param a as for tw_layout_logical_product(). @param b with integer strides.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_product().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_raked_product(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** Repeats a block until it covers a shape.
 *  Example: tile_to_shape("Sw<3,3,3> o 0 o (8,64):(64,1)", "(128,64)", NULL) = "Sw<3,3,3> o 0 o
 *  ((8,16),(64,1)):((64,512),(1,0))"
 *  @param block may be swizzled. @param shape of at least the block's rank. @param order of the
 *  copies, NULL for leftmost first. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tile_to_shape(const tw_layout *block, const tw_tuple *shape,
                                         const tw_tuple *order, tw_layout **out);

/** The coordinates that have the indices 0, 1, 2 and so on in both layouts, up to the first index
 *  at which the layouts differ: R with a(R(i)) = b(R(i)) = i.
 *  Example: max_common_layout("(4,16):(16,1)", "(4,16):(16,1)") = "(16,4):(4,1)"
 *  @param a with integer strides. @param b with integer strides. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_common_layout(const tw_layout *a, const tw_layout *b,
                                             tw_layout **out);

/** The modes of stride 0, as a layout N of linear coordinates: moving along these modes does not
 *  change the index of the layout L, so L(N(i)) = L(0). This is 0 if L has no offset.
 *  Example: nullspace("(4,2,8):(1,0,4)") = "2:4"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_nullspace(const tw_layout *layout, tw_layout **out);
/** @} */

/** @name Parts of a layout
 *  A part of a layout begins at an offset. If the layout has integer strides and neither a swizzle
 *  nor an offset, the functions return the part's offset as `offset`; add it to the part's indices,
 *  or to a pointer in elements. For all other layouts the returned layout contains the offset, and
 *  `offset` is 0.
 *  @{ */

/** Fixes the modes for which a coordinate has a number and keeps those for which it has `_`.
 *  Example: slice("(4,(2,3)):(1,(4,8))", "(2,(_,1))") = "10 + (2):(4)"
 *  @param layout not NULL. @param coord not NULL. @param[out] out owned by the caller.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_slice(const tw_layout *layout, const tw_tuple *coord, tw_layout **out,
                                 int64_t *offset);

/** Keeps the modes for which a coordinate has a number, that is the modes that tw_layout_slice()
 *  removes.
 *  Example: dice("(4,(2,3)):(1,(4,8))", "(2,(_,1))") = "(4,3):(1,8)"
 *  @param layout not NULL. @param coord not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_dice(const tw_layout *layout, const tw_tuple *coord, tw_layout **out);

/** Moves the origin of a layout to a coordinate.
 *  Example: domain_offset("(8,8):(1,8)", "(2,3)") = "26 + (8,8):(1,8)"
 *  Example: domain_offset("Sw<3,2,3> o 0 o (2,32):(1,2)", "(0,14)") = "Sw<3,2,3> o 28 o
 *  (2,32):(1,2)"
 *  @param layout not NULL. @param coord without `_`. @param[out] out owned by the caller.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_domain_offset(const tw_layout *layout, const tw_tuple *coord,
                                         tw_layout **out, int64_t *offset);

/** One tile of a layout that a tiler divides. If the tile is given by extents alone,
 *  tw_layout_local_tile() does the same without a tiler.
 *  Example: tile("(6,8):(1,6)", "<2,4>", "(1,1)") = "26 + (2,4):(1,6)"
 *  Example: tile("(6,8):(1,6)", "<2,4>", "(1,_)") = "2 + (2,4,2):(1,6,24)"
 *  @param layout not NULL. @param tiler not NULL. @param coord which tile, one number for each mode
 *  of tiles. With `_` in place of a number, out contains all tiles along this mode: the mode of
 *  tiles then follows the modes of the tile, as in the second example.
 *  @param[out] out owned by the caller.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not match the tiles.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_zipped_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tile(const tw_layout *layout, const tw_tiler *tiler,
                                const tw_tuple *coord, tw_layout **out, int64_t *offset);

/** The elements of one thread. The layout is cut into tiles of the shape of `threads`. The thread
 *  has the element at its own position in each tile.
 *  Example: local_partition("(32,16):(1,32)", "(2,8):(1,2)", 4) = "64 + (16,2):(2,256)"
 *  @param layout not NULL. @param threads maps a position to a thread's number. @param thread
 *  number of the thread.
 *  @param[out] out owned by the caller. @param[out] offset of the part, elements.
 *  @retval TW_ERROR_NOT_FOUND there is no thread of this number.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_zipped_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_local_partition(const tw_layout *layout, const tw_layout *threads,
                                           int64_t thread, tw_layout **out, int64_t *offset);
/** @} */

/** @name Swizzles, and elements of another size
 *  The swizzle Sw<bits,base,shift> of a layout acts on indices, which count elements. It maps x to
 *  x ^ ((x & Y) >> shift), where Y = ((1 << bits) - 1) << (base + max(0, shift)). The hardware's
 *  swizzles act on byte addresses: those of 32, 64 and 128 bytes are Sw<1,4,3>, Sw<2,4,3> and
 *  Sw<3,4,3>. To use one in a layout, convert it with tw_swizzle_recast() from 8 bits to the size
 *  of an element. For bf16 the 128-byte swizzle becomes Sw<3,3,3>. In rows of 64 elements it moves
 *  column c of row r to column ((c / 8) ^ (r % 8)) * 8 + c % 8.
 *  @{ */

/** Puts a swizzle in front of a layout.
 *  Example: add_swizzle("(8,64):(64,1)", 3, 3, 3) = "Sw<3,3,3> o 0 o (8,64):(64,1)"
 *  @param layout of integers, not swizzled. @param bits B, 0 or more. @param base M, 0 or more.
 *  @param shift S, |S| at least B; a negative shift is to the left. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_add_swizzle(const tw_layout *layout, int32_t bits, int32_t base,
                                       int32_t shift, tw_layout **out);

/** A layout without its swizzle, its offset and its origin.
 *  Example: remove_swizzle("Sw<3,3,3> o 8 o (8,64):(64,1)") = "(8,64):(64,1)"
 *  @param layout not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_remove_swizzle(const tw_layout *layout, tw_layout **out);

/** Applies a swizzle to a number. Example: swizzle_apply("Sw<3,4,3>", 144) = "128"
 *  @param bits B. @param base M. @param shift S. @param x any number. @param[out] out the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_swizzle_apply(int32_t bits, int32_t base, int32_t shift, int64_t x,
                                  int64_t *out);

/** Converts a swizzle from elements of one size to elements of another size, both in bits. If the
 *  new elements are larger, those bits of the swizzle that would move parts of a new element are
 *  dropped, as in the second example.
 *  Example: swizzle_recast("Sw<3,4,3>", 8, 16) = "Sw<3,3,3>"
 *  Example: swizzle_recast("Sw<3,0,3>", 8, 16) = "Sw<2,0,3>"
 *  @param[in,out] bits B. @param[in,out] base M. @param[in,out] shift S. @param from_bits size of
 *  an element before. @param to_bits size of an element after.
 *  @retval TW_ERROR_NOT_A_LAYOUT the ratio of the sizes is not a power of two.
 *  @retval TW_ERROR_INVALID_ARGUMENT the numbers are not a valid swizzle, or a size is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_swizzle_recast(int32_t *bits, int32_t *base, int32_t *shift, int64_t from_bits,
                                   int64_t to_bits);

/** Joins n consecutive elements into one. Example: upcast("(8,4):(4,1)", 2) = "(8,2):(2,1)"
 *  @param layout of integers. @param n at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is neither a multiple nor a positive divisor of n, the
 *  offset is not a multiple of n, or the layout is swizzled and n is not a power of two.
 *  @retval TW_ERROR_INVALID_ARGUMENT n is below 1. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_upcast(const tw_layout *layout, int64_t n, tw_layout **out);

/** Splits each element into n. Example: downcast("(8,4):(4,1)", 2) = "(8,8):(8,1)"
 *  @param layout of integers. @param n at least 1. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT no mode has stride 1 (the parts of an element become part of such
 *  a mode), or the layout is swizzled and n is not a power of two.
 *  @retval TW_ERROR_INVALID_ARGUMENT n is below 1. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_downcast(const tw_layout *layout, int64_t n, tw_layout **out);

/** The same bytes as elements of another size, swizzle included.
 *  Example: recast("Sw<3,4,3> o 0 o (8,128):(128,1)", 8, 16) = "Sw<3,3,3> o 0 o (8,64):(64,1)"
 *  @param layout of integers. @param from_bits size of an element before. @param to_bits size
 *  after.
 *  @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT as tw_layout_upcast() and tw_layout_downcast() return it.
 *  @retval TW_ERROR_INVALID_ARGUMENT a size is below 1. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_recast(const tw_layout *layout, int64_t from_bits, int64_t to_bits,
                                  tw_layout **out);
/** @} */

/** @name Partitions: which thread or TMA box moves which elements
 *  @{ */

/** The elements of one thread in a thread-value layout: CuTe's
 *  get_slice(thread).partition_S(tensor). If tensor is an identity layout, the elements are
 *  coordinates, from which predicates can be made: see tw_tuple_elem_less().
 *  Example: partition_tv("(64,256):(256,1)", "(16,128)", "((32,4),(4,4)):((64,4),(16,1))", 33) =
 *  "1028 + ((4,4),4,2):((1,256),4096,128)"
 *  @param tensor not NULL. @param tile the shape that tv numbers. @param tv maps (thread, value) to
 *  the number of an element of the tile, as tw_layout_make_tv() makes it. @param thread number of
 *  the thread.
 *  @param[out] out (values, tiles ...), owned by the caller. @param[out] offset of the part,
 *  elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT there is no such thread, or tv does not have two modes.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout, because the extents of tile or tv do
 *  not fit the modes of the tensor.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_partition_tv(const tw_layout *tensor, const tw_tuple *tile,
                                        const tw_layout *tv, int64_t thread, tw_layout **out,
                                        int64_t *offset);

/** The boxes that the TMA moves for a tile: CuTe's tma_partition. In the example, a tile of 128 x
 *  128 bf16 at the tile coordinate (2,1) takes two boxes of 128 x 64, because a row of a box has at
 *  most the 128 bytes of the swizzle span. The example shows the three outputs in one text,
 *  "box at boxes to slots".
 *  Example: partition_tma("(1024,512):(512,1)", "Sw<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))",
 *  "(128,128)", "(2,1)", 1, 0) = "128,64 at (256,128) o 2:64@1 to (2):(8192)"
 *  @param tensor one mode for each dimension, 1 to 5. If it has basis strides, the coordinates of
 *  boxes are those that it returns. If it has integer strides, coordinate k of a box belongs to
 *  mode k of the tensor.
 *  @param smem layout of shared memory: first one mode for each mode of the tensor, in the same
 *  order, then the modes of the pipeline stages; may be swizzled.
 *  @param tile extents. @param coord which tile. @param ctas number of CTAs of a cluster that share
 *  the tile by multicast; 1: no multicast. Each box is divided into this number of equal boxes, one
 *  for each CTA, and each CTA multicasts its boxes to all CTAs. (A map of
 *  tw_tensor_map_create_tile() instead gives each CTA whole boxes.) @param cta number of the CTA,
 *  from 0.
 *  @param[out] box extents of one box that the CTA moves, one for each mode of the tensor.
 *  @param capacity numbers that box can hold. @param[out] boxes maps the number of a box, in the
 *  order of shared memory, to the coordinate of its first element; owned by the caller.
 *  @param[out] slots maps (box, stage ...) to the element of shared memory at which the box
 *  begins, before any swizzle; owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT no boxes can move this tile; the message says why.
 *  @retval TW_ERROR_INVALID_ARGUMENT extents do not match, or there is no such tile or CTA.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_partition_tma(const tw_layout *tensor, const tw_layout *smem,
                                         const tw_tuple *tile, const tw_tuple *coord, int64_t ctas,
                                         int64_t cta, int64_t *box, int32_t capacity,
                                         tw_layout **boxes, tw_layout **slots);

/** Number of passes through shared memory (32 banks of 4 bytes) that a warp needs to access all its
 *  values. The examples' results show the two outputs: passes, the word "of", least. In the first
 *  example 32 passes are needed; without bank conflicts 1 would be enough.
 *  Example: bank_passes("(32,32):(32,1)", 32, "(32,1):(1,0)", 4) = "32 of 1"
 *  Example: bank_passes("Sw<3,3,3> o 0 o (8,64):(64,1)", 16, "((8,4),8):((1,64),8)", 16) = "4 of 4"
 *  @param layout of the elements, swizzled or not. @param element_bits bits of an element, a
 *  multiple of 8.
 *  @param tv maps (thread, value) to a coordinate of layout; at most 32 threads.
 *  @param access_bytes 4, 8 or 16: bytes that each thread accesses at once.
 *  @param[out] passes number of passes. @param[out] least number of passes without bank conflicts.
 *  @retval TW_ERROR_INVALID_ARGUMENT the values of one access are not consecutive.
 *  @retval TW_ERROR_MISALIGNED an access is not aligned to its size.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_bank_passes(const tw_layout *layout, int32_t element_bits,
                                       const tw_layout *tv, int32_t access_bytes, int64_t *passes,
                                       int64_t *least);

/** The default shared-memory layout of a tile of rows. It has the widest swizzle of 128, 64 or 32
 *  bytes whose span divides a row, and no swizzle if there are fewer than 8 rows. A row that is
 *  wider than the swizzle is stored in panels: each panel has all rows and as many columns as one
 *  swizzle span, and the panels follow one another.
 *  Example: default_shared(64, 128, 16) = "Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))"
 *  @param rows at least 1. @param columns at least 1. @param element_bits 4 to 128, a power of two.
 *  @param[out] swizzle_bytes 128, 64, 32, or 0 for none. @param[out] out owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_default_shared(int64_t rows, int64_t columns, int32_t element_bits,
                                          int32_t *swizzle_bytes, tw_layout **out);
/** @} */

/** @name Linear layouts: which element each register of each thread holds
 *  These are Triton's layouts. Each bit of the register, lane, warp and block numbers has a basis,
 *  a coordinate of the tensor. The coordinate of an element is the exclusive or of the bases of all
 *  set bits. As text: `register=[[0,1]] lane=[[1,0],[2,0]] warp=[] block=[] -> (4,2)`. Extents are
 *  powers of two.
 *  @experimental{every function whose name begins with tw_linear_}
 *  @{ */

/** Parses a linear layout. @param text zero-terminated.
 *  @param[out] linear owned by the caller; release it with tw_linear_destroy().
 *  @retval TW_ERROR_PARSE the text is invalid. @retval TW_ERROR_INVALID_ARGUMENT a basis is outside
 *  the shape, or an extent is not a power of two.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_parse(const char *text, tw_linear **linear);

/** Destroys a linear layout. @param linear may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_linear_destroy(tw_linear *linear);

/** Writes the text of a linear layout, zero-terminated. @param linear not NULL. @param[out] buffer
 *  may be NULL if capacity is 0. @param capacity bytes of buffer. @param[out] length bytes of the
 *  whole text, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_format(const tw_linear *linear, char *buffer, size_t capacity,
                                  size_t *length);

/** Triton's BlockedLayout on a shape. If the layout is larger than the shape, bases outside the
 *  shape become 0. If the shape is larger, additional register bases repeat the layout over it.
 *  Operands of the example: shape, size_per_thread, threads_per_warp, warps_per_cta, order.
 *  Example: linear_blocked("(8,8)", "(1,4)", "(4,2)", "(2,1)", "(1,0)") = "register=[[0,1],[0,2]]
 *  lane=[[0,4],[1,0],[2,0]] warp=[[4,0]] block=[] -> (8,8)"
 *  @param rank 1 to 5. @param shape rank extents.
 *  @param size_per_thread rank numbers. @param threads_per_warp rank numbers.
 *  @param warps_per_cta rank numbers. @param order the dimensions, fastest first.
 *  @param[out] out owned by the caller; release it with tw_linear_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, a number is not a power of two, or order
 *  is not a permutation.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_blocked(int32_t rank, const int64_t *shape,
                                   const int64_t *size_per_thread, const int64_t *threads_per_warp,
                                   const int64_t *warps_per_cta, const int32_t *order,
                                   tw_linear **out);

/** Triton's SliceLayout: removes a dimension from the coordinates, and removes the register bits
 *  whose bases then are 0.
 *  Example: linear_slice("register=[[0,1],[1,0]] lane=[[2,0]] -> (4,2)", 0) = "register=[[1]]
 *  lane=[[0]] warp=[] block=[] -> (2)"
 *  @param parent of at least two dimensions. @param dim from 0. @param[out] out owned by the
 *  caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such dimension.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_slice(const tw_linear *parent, int32_t dim, tw_linear **out);

/** Fits a linear layout to another shape. The coordinates of each basis are taken modulo the
 *  extents of the shape. If the shape is larger than the layout, additional register bases repeat
 *  the layout over it.
 *  Example: linear_resize("register=[[1]] lane=[[2]] -> (4)", "(8)") = "register=[[1],[4]]
 *  lane=[[2]] warp=[] block=[] -> (8)"
 *  @param linear not NULL. @param shape one extent for each of its dimensions. @param[out] out
 *  owned by the caller.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or invalid.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_resize(const tw_linear *linear, const tw_tuple *shape, tw_linear **out);

/** outer(inner(x)): the bits of inner's coordinate become the input bits of outer, from the lowest
 *  on. The bits of a coordinate begin with those of its first dimension. The input bits begin with
 *  the register bits, followed by the lane, warp and block bits.
 *  Example: linear_compose("register=[[2],[1]] -> (4)", "register=[[2]] lane=[[1]] -> (4)") =
 *  "register=[[1]] lane=[[2]] warp=[] block=[] -> (4)"
 *  @param outer not NULL. @param inner must have as many coordinate bits as outer has input bits.
 *  @param[out] out owned by the caller. @retval TW_ERROR_INVALID_ARGUMENT the numbers of bits
 *  differ.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_compose(const tw_linear *outer, const tw_linear *inner, tw_linear **out);

/** Inverts a linear layout: the result maps an element to the (register, lane, warp, block) that
 *  holds it, or to the first one if several hold it. The result is also a linear layout. Its input
 *  is the number of the element, whose bits take the place of the register bits. Its output is the
 *  coordinate (register, lane, warp, block).
 *  Example: linear_inverse("register=[[2]] lane=[[1]] -> (4)") = "register=[[0,1,0,0],[1,0,0,0]]
 *  lane=[] warp=[] block=[] -> (2,2,1,1)"
 *  @param linear not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT an element is not held by any register.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_inverse(const tw_linear *linear, tw_linear **out);

/** The coordinate of the element that a register of a lane, warp and block holds.
 *  Example: linear_at("register=[[0,1]] lane=[[1,0],[2,0]] -> (4,2)", 1, 3, 0, 0) = "(3,1)"
 *  @param linear not NULL. @param reg register number.
 *  @param lane lane number. @param warp warp number. @param block block number.
 *  @param[out] coord one number for each dimension. @param capacity numbers that coord can hold.
 *  @param[out] written number of numbers in the result.
 *  @retval TW_ERROR_INVALID_ARGUMENT a number has more bits than the layout.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written tells how many numbers there are.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_at(const tw_linear *linear, int64_t reg, int64_t lane, int64_t warp,
                              int64_t block, int64_t *coord, int32_t capacity, int32_t *written);

/** Converts a layout whose extents are powers of two, swizzled or not, to a linear layout. The
 *  layout's modes are (registers), (threads, registers) or (threads, registers, blocks); threads
 *  are split into 32 lanes and warps.
 *  Example: linear_from_layout("((4,8),(2,2)):((32,1),(16,8))", NULL) = "register=[[16],[8]]
 *  lane=[[32],[64],[1],[2],[4]] warp=[] block=[] -> (128)"
 *  @param layout without offset. @param shape in which elements are numbered, leftmost fastest;
 *  NULL for one dimension. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the layout is not linear over bits; the message says where.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_from_layout(const tw_layout *layout, const tw_tuple *shape,
                                       tw_linear **out);

/** Converts a linear layout to a layout of (threads, registers) or (threads, registers, blocks),
 *  with a swizzle if one is needed.
 *  Example: linear_to_layout("register=[[16],[8]] lane=[[32],[64],[1],[2],[4]] -> (128)") =
 *  "((4,8),(2,2)):((32,1),(16,8))"
 *  @param linear not NULL. @param[out] out owned by the caller.
 *  @retval TW_ERROR_NOT_A_LAYOUT the result is not a layout.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_to_layout(const tw_linear *linear, tw_layout **out);

/** Tests whether a layout of row indices suits the gather4 instruction: the first two register
 *  bases must be [1] and [2], and all lane bases [0]. The result of the example, "16 in 4", means
 *  16 instructions in each of 4 warps.
 *  Example: linear_gather4("register=[[1],[2],[16],[32],[64],[128]] lane=[[0]] warp=[[4],[8]] ->
 *  (256)") = "16 in 4"
 *  Example: linear_gather4("register=[[1],[2]] lane=[[4],[8]] -> (16)") = ERROR_UNSUPPORTED (lane
 *  bases other than [0])
 *  @param linear of one dimension. @param[out] per_warp instructions that each issuing warp issues.
 *  @param[out] warps number of issuing warps; 1 if all warps hold the same rows.
 *  @retval TW_ERROR_UNSUPPORTED the layout does not suit gather4; the message says which basis is
 *  wrong and why.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_gather4(const tw_linear *linear, int64_t *per_warp, int64_t *warps);
/** @} */

/** @name Drawings
 *  SVG texts: a grid of the first mode (rows) by the other modes (columns). At most 128 rows and
 *  128 columns are shown.
 *  @experimental{the drawing functions and the pictures that they write}
 *  @{ */

/** What the colors of a drawing mean. */
typedef int32_t tw_paint;
enum {
  TW_PAINT_NONE = 0,  /**< nothing */
  TW_PAINT_BANKS = 1, /**< the bank of shared memory (32 of 4 bytes) in which an element begins */
  TW_PAINT_INDEX = 2  /**< a scale from the smallest to the largest index */
};

/** Draws a layout: the index of each coordinate, and for a swizzled layout also the index without
 *  the swizzle.
 *  @param layout not NULL. @param paint what colors mean. @param element_bits for TW_PAINT_BANKS.
 *  @param[out] buffer may be NULL if capacity is 0. @param capacity bytes of buffer.
 *  @param[out] length bytes of the drawing, including the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @retval TW_ERROR_INVALID_ARGUMENT paint is not a TW_PAINT_ number, or element_bits is outside 1
 *  to 1024 with TW_PAINT_BANKS.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw(const tw_layout *layout, tw_paint paint, int32_t element_bits,
                                char *buffer, size_t capacity, size_t *length);

/** Draws a thread-value layout: each element of the tile shows the thread and value that hold it,
 *  colored by thread. If several pairs hold an element, the first pair is shown. Elements that no
 *  pair holds are gray.
 *
 *  A tv of at most 2^20 pairs of thread and value can always be drawn. For a larger tv, each
 *  element in the drawing is searched for, and all searches of one drawing together may take at
 *  most 2^20 steps. Modes that overlap, such as (4,4):(3,5), take the most steps.
 *  @param tv maps (thread, value) to the number of an element of the tile.
 *  @param tile its shape. @param[out] buffer may be NULL if capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes of the drawing, including the zero;
 *  may be NULL. @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @retval TW_ERROR_INVALID_ARGUMENT tv does not have two modes, or an extent of tile is below 1.
 *  @retval TW_ERROR_UNSUPPORTED tv has more than 2^20 pairs and the searches would take more than
 *  2^20 steps. Nothing is drawn.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw_tv(const tw_layout *tv, const tw_tuple *tile, char *buffer,
                                   size_t capacity, size_t *length);

/** Draws the boxes of tw_layout_partition_tma() over the tensor's first two modes. Parts of boxes
 *  outside the tensor, also before its first element, are cut off. At most 4,096 boxes are drawn;
 *  the drawing says if there are more.
 *  @param tensor not NULL. @param box extents of one box, as many as tensor has modes. @param boxes
 *  maps the number of a box to its coordinate. @param[out] buffer may be NULL if capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes of the drawing, including the zero;
 *  may be NULL. @retval TW_ERROR_BUFFER_TOO_SMALL the text was cut to fit the buffer.
 *  @retval TW_ERROR_INVALID_ARGUMENT boxes returns numbers instead of coordinates, or an extent of
 *  box is below 1.
 *  @retval TW_ERROR_OVERFLOW a coordinate of a box exceeds 64 bits.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw_boxes(const tw_layout *tensor, const int64_t *box,
                                      const tw_layout *boxes, char *buffer, size_t capacity,
                                      size_t *length);
/** @} */
/** @} */

#ifdef __cplusplus
}
#endif

#endif /* TILEWRIGHT_LAYOUT_H */

#endif /* TILEWRIGHT_H */
