/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H
/**
 * @file tilewright.h
 * Moving and multiplying tensors with NVIDIA's Tensor Memory Accelerator (TMA), from any language.
 *
 * Conventions, which hold for every function here:
 * - A function that can fail returns a ::tw_status; TW_OK is 0. Outputs come last. After a failure
 *   an output is NULL or 0, with two exceptions: arrays keep their contents, and the length that
 *   comes with TW_ERROR_BUFFER_TOO_SMALL is set. tw_last_error() explains the calling thread's last
 *   failure: what was wrong, with the numbers, and what would work. An argument that cannot work is
 *   refused before anything happens. The library never prints, aborts or exits.
 * - TW_ERROR_INVALID_ARGUMENT and the other errors of its group refuse what can work nowhere.
 *   TW_ERROR_UNSUPPORTED refuses a valid request that this version of the library or this device
 *   cannot serve.
 * - The lists of return values name what is special to a function. In addition, functions return
 *   TW_ERROR_INVALID_ARGUMENT for a pointer that must not be NULL, for a destroyed handle, and for
 * a required field that was not set. Functions that take a struct return TW_ERROR_STRUCT, and all
 *   functions TW_ERROR_OUT_OF_MEMORY. Functions on a device or on a handle that belongs to one also
 *   return TW_ERROR_DEVICE_CLOSED, TW_ERROR_FORKED, TW_ERROR_WRONG_DEVICE for two handles of
 *   different devices, and the driver's errors: TW_ERROR_DEVICE_LOST, TW_ERROR_DRIVER,
 *   TW_ERROR_CAPTURE and TW_ERROR_SHUTDOWN.
 * - Text goes into a `buffer` of `capacity` bytes. It is cut if it does not fit, and always
 *   zero-terminated. `length` may be NULL; otherwise it becomes the bytes that the whole text needs
 *   with its zero. TW_ERROR_BUFFER_TOO_SMALL says that the text was cut or that capacity is 0, but
 *   (NULL, 0, &length) asks for the length only and returns TW_OK. Images follow the same rules,
 *   except that they are not cut.
 * - Handles are opaque. `tw_x_create` and the like give the caller a handle, and the caller gives
 * it to `tw_x_destroy`, which accepts NULL and works in every state. Destroying a device does not
 *   free the handles that were made from it: each must still be destroyed. Every other call on such
 *   a handle returns TW_ERROR_DEVICE_CLOSED.
 * - The library recognises the last 1,024 destroyed handles of each type. Every function that is
 *   given one refuses it with TW_ERROR_INVALID_ARGUMENT, and destroying it again does nothing. A
 *   handle that was destroyed before those is freed memory: do not use it.
 * - Every struct is first given to its own init function with its size, as in
 *   `tw_gemm_desc_init(&desc, sizeof desc)`, also the structs that the library fills. The function
 *   sets every field to its default and leaves a mark in the struct. A struct without the mark is
 *   refused with TW_ERROR_STRUCT. An initialised struct may be copied and used again.
 * - Structs can grow: a later version of the library may add fields at a struct's end. A program
 *   that was compiled against a shorter struct works with it, because the library reads and writes
 *   only as many bytes as the program gave to the init function; the fields that the program does
 *   not know have their defaults. A struct that is longer than this library's, up to 4096 bytes,
 *   works too as long as the fields that this library does not know are zero. While the major
 *   version is 0, a new minor version may break programs in other ways: CONTRIBUTING.md has the
 *   promise of stability.
 * - Fields that are marked "required" must be set. They start as TW_UNSET, or as 0 if 0 is no value
 *   for them. A size of 0 makes an empty operation, which is planned and run like any other and
 *   touches nothing; its addresses may be 0. There is one exception: a matrix product with k = 0
 *   still writes D. A field or an address that the description excludes must stay as the init
 *   function left it: the library refuses it rather than ignore it. A workspace is the exception:
 *   it is ignored if the plan needs none.
 * - Arrays of extents and strides have room for 8 numbers, of which the first `rank` are set; the
 *   others must stay as the init function left them.
 * - Device addresses are `uint64_t`. Sizes of memory are in bytes. Extents and strides of tensors
 *   are in elements. Strides of tensor maps are in bytes, as they are in CUDA.
 * - The host device checks where operands lie; the CUDA device does not. Each operand of a run and
 *   the device memory of a copy or fill, from its lowest to its highest byte, must lie inside one
 *   block of tw_malloc() or tw_malloc_host() or one range of tw_memory_register(); two blocks side
 *   by side do not count as one. Every address in the arguments of a run is an operand, workspaces
 *   and single words too. Other memory is refused with TW_ERROR_INVALID_ARGUMENT before anything
 *   happens. The message names the operand, its address, the bytes that it needs and the bytes that
 *   are there. If a run takes lists of addresses, the host device waits for the stream, reads the
 *   lists and checks the memory that they name too. The operands of a graph are checked when they
 *   are captured, but not the memory that such lists name.
 * - Functions that enqueue work on a stream return before the work is done. They allocate nothing
 *   and synchronise nothing. Host memory that they are given must stay valid until the stream
 *   reaches it. While the stream is captured they allocate what the recording needs.
 *
 * A part that is marked "Experimental" may change with any minor version, and an experimental
 * function may disappear. The promise of stability in CONTRIBUTING.md covers everything else in
 * this file.
 *
 * Each function that runs an operation says under "Repeatability" whether its results repeat. They
 * repeat if runs of one plan, on one device, with equal inputs, equal numbers in the arguments and
 * equally aligned addresses write the same bytes each time. Another device, another version of the
 * library or another plan may choose another kernel, which may round differently: that is possible
 * only where floating-point numbers are summed or an activation is computed.
 *
 * Each function states its thread-safety with one of two words. "any thread": any number of threads
 * may call it at once, also on the same handles. "external": calls on one handle must not overlap;
 * calls on different handles may. For tw_device_destroy(), calls on the handles that were made from
 * the device count as calls on the device.
 *
 * A function that says nothing about blocking waits for no work. A function that says nothing about
 * stream capture enqueues nothing and may be called while other threads capture, also in global
 * mode. "Stream capture: allowed" means that the function may be called while a stream is captured;
 * work that it enqueues on a captured stream becomes part of the graph.
 */

#include <stddef.h>
#include <stdint.h>

#define TW_VERSION_MAJOR 0 /**< breaks programs when it changes */
#define TW_VERSION_MINOR 2 /**< new things; breaks programs while the major version is 0 */
#define TW_VERSION_PATCH 0 /**< corrections */

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default"))) /**< exported */
#else
#define TW_API
#endif

/** At the end of a function's declaration: the compiler warns of its use and says what to use
 * instead. A program that defines TW_NO_DEPRECATED before the header gets no warning. */
#if defined(__GNUC__) && !defined(TW_NO_DEPRECATED)
#define TW_DEPRECATED(instead) __attribute__((deprecated(instead)))
#else
#define TW_DEPRECATED(instead)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What required sizes of descriptions are before the program sets them. */
#define TW_UNSET (INT64_MIN + 1)

/* NVIDIA's own tags: a CUstream, cudaStream_t, CUevent, cudaEvent_t or CUcontext converts without a
 * cast. */
struct CUstream_st;
struct CUctx_st;
struct CUevent_st;

/** @defgroup library Library: version, status, errors, log
 *  @{ */

/** A result; one of the TW_ERROR_ numbers or TW_OK. Values never change. */
typedef int32_t tw_status;
enum {
  TW_OK = 0, /**< done */
  /* Initialisation and driver. */
  TW_ERROR_NO_DRIVER = 1,          /**< libcuda.so.1 cannot be loaded */
  TW_ERROR_DRIVER_TOO_OLD = 2,     /**< the driver is older than the library needs */
  TW_ERROR_NO_DEVICE = 3,          /**< no device of that kind and number */
  TW_ERROR_UNSUPPORTED_DEVICE = 4, /**< compute capability below 9.0 */
  TW_ERROR_NO_KERNEL_IMAGE = 5,    /**< nothing embedded runs on this device */
  TW_ERROR_NOT_BUILT = 6,          /**< this build leaves the feature out */
  /* Bad parameter. */
  TW_ERROR_INVALID_ARGUMENT = 100, /**< an argument cannot work */
  TW_ERROR_STRUCT = 101,           /**< a struct was not initialised, or has a size of no version */
  TW_ERROR_PARSE = 102,            /**< a text cannot be parsed */
  TW_ERROR_OVERFLOW = 103,         /**< a product or sum exceeds 64 bits, or a plan's own limit */
  TW_ERROR_CAPACITY = 104,         /**< a fixed capacity is exceeded */
  TW_ERROR_RULE = 105,             /**< a tensor-map rule is broken */
  TW_ERROR_MISALIGNED = 106,       /**< an alignment is missing */
  TW_ERROR_OVERLAP = 107,          /**< operands overlap */
  TW_ERROR_WRONG_DEVICE = 108,     /**< handles of different devices, or of the wrong kind */
  TW_ERROR_INVALID_IMAGE = 109,    /**< a module image is damaged */
  TW_ERROR_NOT_FOUND = 110,        /**< nothing of that name or address */
  TW_ERROR_BUFFER_TOO_SMALL = 111, /**< the caller's buffer is too small */
  TW_ERROR_NOT_A_LAYOUT = 112,     /**< the mathematical answer is not a layout */
  /* Unsupported. */
  TW_ERROR_UNSUPPORTED = 200, /**< valid, but not supported here */
  /* State and capture. */
  TW_ERROR_NOT_READY = 300,     /**< the work has not finished */
  TW_ERROR_DEVICE_CLOSED = 301, /**< the handle's device has been destroyed */
  TW_ERROR_FORKED = 302,        /**< the handle belongs to the process before a fork */
  TW_ERROR_CAPTURE = 303,       /**< not possible while the stream is captured */
  TW_ERROR_SHUTDOWN = 304,      /**< the CUDA driver is shutting down with the process */
  /* Device. */
  TW_ERROR_OUT_OF_MEMORY = 400, /**< host or device memory is exhausted */
  TW_ERROR_DEVICE_LOST = 401,   /**< an earlier error killed the context */
  TW_ERROR_DRIVER = 402,        /**< a CUDA driver call failed */
  TW_ERROR_INTERNAL = 500       /**< the library broke one of its own rules */
};

/** Details of a failure, see tw_last_error_info(). */
typedef struct tw_error_info {
  uint32_t struct_size;  /**< set by tw_error_info_init() */
  uint32_t struct_mark;  /**< likewise */
  tw_status status;      /**< of the failure */
  int32_t driver_result; /**< the CUresult, or 0 */
  int32_t index;         /**< element of the argument, or -1 */
  uint32_t reserved;     /**< 0 */
  const char *argument;  /**< name of the argument or field, or NULL; lives for ever */
  const char *rule;      /**< stable id of the broken rule, or NULL; lives for ever */
  int64_t got;           /**< what was passed, where a number was wrong; of a uint64_t its bits */
  int64_t limit;         /**< what the rule allows */
} tw_error_info;

/** Initialises a ::tw_error_info, which other functions then fill in.
 *  @param[out] info not NULL. @param size sizeof(tw_error_info) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_error_info_init(tw_error_info *info, size_t size);

/** Log levels, most severe first. */
typedef int32_t tw_log_level;
enum { TW_LOG_ERROR = 1, TW_LOG_WARNING = 2, TW_LOG_INFO = 3, TW_LOG_DEBUG = 4 };

/** Receives one log line; `message` is valid during the call alone. Called from any thread. */
typedef void (*tw_log_callback)(void *user, tw_log_level level, const char *message);

/** The library's version. @return major * 10000 + minor * 100 + patch.
 *  @threadsafety{any thread} @since 0.1 */
TW_API uint32_t tw_version(void);

/** The version as text, "0.1.0". @return a string that lives for ever.
 *  @threadsafety{any thread} @since 0.1 */
TW_API const char *tw_version_string(void);

/** The name of a status, "TW_ERROR_RULE". @param status any number.
 *  @return a string that lives for ever; "TW_ERROR_?" for a number that is no status.
 *  @threadsafety{any thread} @since 0.1 */
TW_API const char *tw_status_name(tw_status status);

/** What a status means in general; tw_last_error() says what happened in particular.
 *  @param status any number.
 *  @return a string that lives for ever. @threadsafety{any thread} @since 0.1 */
TW_API const char *tw_status_text(tw_status status);

/** The message of the calling thread's last failure; "" before the first.
 *  @return a string valid until the thread's next failing call.
 *  @threadsafety{any thread; a language that moves its tasks between threads must pin the task
 *  around the failing call and this one} @since 0.1 */
TW_API const char *tw_last_error(void);

/** Details of the calling thread's last failure.
 *  @param[in,out] info initialised; the rest is filled in.
 *  @retval TW_OK also where nothing has failed yet (status is then TW_OK).
 *  @retval TW_ERROR_INVALID_ARGUMENT info is NULL.
 *  @retval TW_ERROR_STRUCT struct_size is not that of a known version.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_last_error_info(tw_error_info *info);

/** Installs the log callback of the process, which is the only process-wide state of the library.
 * It gets the messages of all devices that have no callback of their own: see tw_device_log_set().
 *  TW_LOG_ERROR reports devices that are lost. TW_LOG_WARNING reports tensor maps that the driver
 *  encodes differently from the library. TW_LOG_INFO reports devices that are opened, and tensor
 *  maps in which the library corrects an error of the driver. TW_LOG_DEBUG reports each plan with
 *  its kernel, and each call that fails with its message.
 *  The library calls the callback in the middle of other calls, perhaps on a thread of its own. The
 *  callback must return. It must not call a function that takes a handle, and it cannot install a
 *  callback: such a call does nothing. A failure inside the callback does not replace the last
 *  failure of the call around it.
 *  @param callback may be NULL, which removes it; when the call returns the old one is not running.
 *  @param user passed on, may be NULL; must outlive the callback's installation.
 *  @param level messages up to this level are delivered.
 *  @retval TW_ERROR_INVALID_ARGUMENT level is no log level.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_log_set(tw_log_callback callback, void *user, tw_log_level level);

/** Element types. The last group is of tensor maps; operations that move elements and compute
 *  nothing take it too, by its size. */
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
  TW_DTYPE_U4X16_ALIGN8B = 42,  /**< 16 packed 4-bit values, 8 bytes */
  TW_DTYPE_U4X16_ALIGN16B = 43, /**< 16 packed 4-bit values, 16 bytes */
  TW_DTYPE_U6X16_ALIGN16B = 44  /**< 16 packed 6-bit values, 16 bytes */
};

/** Bytes of one element (of one packed group for the packed types).
 *  @param dtype any number. @return 0 for a number that names no type.
 *  @threadsafety{any thread} @since 0.1 */
TW_API int32_t tw_dtype_size(tw_dtype dtype);

/** "bf16", ... @param dtype any number.
 *  @return a string that lives for ever; "?" for a number that names no type.
 *  @threadsafety{any thread} @since 0.1 */
TW_API const char *tw_dtype_name(tw_dtype dtype);
/** @} */

/** @defgroup device Device
 *  @{ */
typedef struct tw_device tw_device;         /**< A GPU, or the CPU reference. */
typedef struct tw_stream tw_stream;         /**< A queue of work of one device. */
typedef struct tw_event tw_event;           /**< A point in a stream's work. */
typedef struct tw_graph tw_graph;           /**< Captured work of a stream, to be launched again. */
typedef struct tw_layout tw_layout;         /**< A shape and its strides; belongs to no device. */
typedef struct tw_tensor_map tw_tensor_map; /**< A descriptor that the TMA reads. */
typedef struct tw_module tw_module;         /**< Loaded GPU code of the caller's. */
typedef struct tw_kernel tw_kernel;         /**< A function of a module. */
typedef struct tw_plan tw_plan;             /**< An operation, made ready to run. */

/** The two kinds of device. Nothing ever falls from one to the other in silence. */
typedef int32_t tw_device_kind;
enum {
  TW_DEVICE_HOST = 1, /**< the CPU reference: moves tiles through the same tensor maps */
  TW_DEVICE_CUDA = 2  /**< a GPU of compute capability 9.0 or higher */
};

/** Features of a device; bits of tw_device_info::features. Of those the library's own kernels use
 *  what they are compiled for: tw_kernels_list() has the targets. */
enum {
  TW_FEATURE_HOST = 1,
  TW_FEATURE_TMA = 2,
  TW_FEATURE_MMA = 4,
  TW_FEATURE_WGMMA = 8,
  TW_FEATURE_GATHER4 = 16,
  TW_FEATURE_SCATTER4 = 32,
  TW_FEATURE_TCGEN05 = 64
};

/** What a device is. Zero where the host device has no such thing. */
typedef struct tw_device_info {
  uint32_t struct_size;           /**< set by tw_device_info_init() */
  uint32_t struct_mark;           /**< likewise */
  tw_device_kind kind;            /**< which of the two kinds */
  int32_t ordinal;                /**< the driver's number; 0 for the host device */
  int32_t compute_major;          /**< compute capability */
  int32_t compute_minor;          /**< its minor number */
  int32_t driver_version;         /**< as cuDriverGetVersion says: 13000 is 13.0 */
  int32_t sm_count;               /**< SMs that the context may use; 1 on the host device */
  int32_t max_dynamic_smem_bytes; /**< shared memory that one block can have */
  uint32_t features;              /**< TW_FEATURE_ bits: what the chip has */
  uint64_t total_memory_bytes;    /**< the device's memory */
  uint64_t l2_bytes;              /**< size of the L2 cache */
  char name[128];                 /**< zero-terminated */
} tw_device_info;

/** Initialises a ::tw_device_info, which other functions then fill in.
 *  @param[out] info not NULL. @param size sizeof(tw_device_info) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_device_info_init(tw_device_info *info, size_t size);

/** How many devices of a kind there are. The host device counts one.
 *  @param kind which kind. @param[out] count the number; 0 on failure.
 *  @retval TW_ERROR_NO_DRIVER kind is TW_DEVICE_CUDA and there is no libcuda.so.1.
 *  @retval TW_ERROR_DRIVER_TOO_OLD kind is TW_DEVICE_CUDA and it is older than CUDA 12.4.
 *  @retval TW_ERROR_DRIVER kind is TW_DEVICE_CUDA and it cannot be used.
 *  @retval TW_ERROR_FORKED kind is TW_DEVICE_CUDA and the process was forked from one that uses it.
 *  @retval TW_ERROR_NOT_BUILT kind is TW_DEVICE_CUDA and this build has no CUDA device.
 *  @retval TW_ERROR_INVALID_ARGUMENT an unknown kind, or count is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_device_count(tw_device_kind kind, int32_t *count);

/** Opens a device by number; a CUDA device on its primary context. Where
 *  CUDA_FORCE_PTX_JIT=1 in the environment tells the driver to take PTX alone, plans choose among
 *  the kernels that are embedded as PTX, since no others would load. So it is with
 *  tw_device_create_from_context(). The library reads nothing else of the environment.
 *  @param kind which kind. @param ordinal from 0; the host device has 0 alone.
 *  @param[out] device the caller's, to be given to tw_device_destroy().
 *  @retval TW_ERROR_NO_DRIVER no libcuda.so.1.
 *  @retval TW_ERROR_DRIVER_TOO_OLD it is older than CUDA 12.4; plans may need a newer one.
 *  @retval TW_ERROR_NO_DEVICE no such number. @retval TW_ERROR_UNSUPPORTED_DEVICE below 9.0.
 *  @retval TW_ERROR_NOT_BUILT this build has no CUDA device.
 *  @retval TW_ERROR_INVALID_ARGUMENT an unknown kind, or device is NULL.
 *  @threadsafety{any thread} @blocking{may initialise the driver: up to seconds} @since 0.1 */
TW_API tw_status tw_device_create(tw_device_kind kind, int32_t ordinal, tw_device **device);

/** Opens a CUDA device on the caller's own context, which must outlive the device handle.
 *  @param context not NULL; stays the caller's.
 *  @param[out] device the caller's, to be given to tw_device_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT context or device is NULL, or context is no live context.
 *  @retval TW_ERROR_NO_DRIVER no libcuda.so.1.
 *  @retval TW_ERROR_DRIVER_TOO_OLD it is older than CUDA 12.4; plans may need a newer one.
 *  @retval TW_ERROR_NO_DEVICE it finds none. @retval TW_ERROR_UNSUPPORTED_DEVICE below 9.0.
 *  @retval TW_ERROR_NOT_BUILT this build has no CUDA device.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_device_create_from_context(struct CUctx_st *context, tw_device **device);

/** The CUDA context that the device works in. It stays the device's: a primary context is retained
 *  until tw_device_destroy(), one that the device was opened on is the caller's.
 *  @param device a CUDA device. @param[out] context the context; NULL on failure.
 *  @retval TW_ERROR_WRONG_DEVICE the host device has none.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_device_get_cuda_context(tw_device *device, struct CUctx_st **context);

/** Installs a log callback for one device. It replaces the process's callback for the messages
 *  about this device, its plans and its tensor maps, and for the failures of calls that are given
 *  the device or one of its handles. Levels and the rules for the callback are those of
 *  tw_log_set(). The message that reports the opening of a device goes to the process's callback.
 *  @param device not NULL. @param callback may be NULL, which gives the messages back to the
 *  process's callback. When the call returns, the device's old callback is not running.
 *  @param user passed to the callback; may be NULL. It must stay valid until another callback is
 *  installed or tw_device_destroy() has returned: the callback is not called after that.
 *  @param level messages up to this level are delivered.
 *  @retval TW_ERROR_INVALID_ARGUMENT level is no log level, or device is NULL.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_device_log_set(tw_device *device, tw_log_callback callback, void *user,
                                   tw_log_level level);

/** Closes a device. It ends the captures of the streams that tw_stream_create() made, waits for
 *  those streams, frees the memory of tw_malloc() and tw_malloc_host() that is still there, and
 *  unloads kernels and modules. It does not wait for wrapped streams: synchronise them before.
 *  Handles that were made from the device return TW_ERROR_DEVICE_CLOSED from then on and must still
 *  be destroyed. @param device may be NULL.
 *  @threadsafety{external} @blocking{until the device's streams are idle} @since 0.1 */
TW_API void tw_device_destroy(tw_device *device);

/** What the device is. @param device not NULL.
 *  @param[in,out] info initialised; the rest is filled in.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @retval TW_ERROR_STRUCT no known
 *  size. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_device_get_info(tw_device *device, tw_device_info *info);
/** @} */

/** @defgroup memory Memory, streams and events
 *  @{ */

/** Allocates device memory, aligned to 256 bytes, contents undefined. For callers who have no
 *  allocator of their own: operations take memory of any origin. The host device must be told of
 *  memory from elsewhere by tw_memory_register().
 *  @param device not NULL. @param bytes 0 gives address 0.
 *  @param[out] address the caller's, to be given to tw_free().
 *  @retval TW_ERROR_OUT_OF_MEMORY there is not so much.
 *  @threadsafety{any thread} @capture{allowed; the memory is not part of the graph} @since 0.1 */
TW_API tw_status tw_malloc(tw_device *device, uint64_t bytes, uint64_t *address);

/** Frees what tw_malloc() gave. @param device the same one. @param address 0 does nothing.
 *  @retval TW_ERROR_NOT_FOUND tw_malloc() did not give this address, or it was freed already.
 *  @threadsafety{any thread} @blocking{as cuMemFree: may wait for work on the device} @since 0.1 */
TW_API tw_status tw_free(tw_device *device, uint64_t address);

/** Allocates host memory that the device copies from and to without a detour (pinned memory, on a
 *  GPU for all contexts), aligned to 256 bytes, contents undefined. tw_memcpy_to_device() and
 *  tw_memcpy_to_host() return at once with it. A GPU's kernels can use its address as a device
 *  address too, over the bus. On the host device it is ordinary memory.
 *  @param device not NULL. @param bytes 0 gives NULL.
 *  @param[out] memory the caller's, to be given to tw_free_host(); tw_device_destroy() frees what
 *  was not. NULL on failure.
 *  @retval TW_ERROR_OUT_OF_MEMORY there is not so much that can be pinned.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver lacks the functions for it.
 *  @threadsafety{any thread} @capture{allowed; the memory is not part of the graph} @since 0.2 */
TW_API tw_status tw_malloc_host(tw_device *device, uint64_t bytes, void **memory);

/** Frees what tw_malloc_host() gave. @param device the same one. @param memory NULL does nothing.
 *  @retval TW_ERROR_NOT_FOUND tw_malloc_host() did not give this address, or it was freed already.
 *  @threadsafety{any thread} @blocking{as cuMemFreeHost: may wait for work on the device}
 *  @since 0.2 */
TW_API tw_status tw_free_host(tw_device *device, void *memory);

/** Tells a device of memory that neither tw_malloc() nor tw_malloc_host() gave, so that operands
 * may lie in it. The host device refuses operands in memory that it does not know. A CUDA device
 * checks the arguments and does nothing else, so that a program is the same on both. Ranges may
 * overlap each other and blocks from tw_malloc(); an operand must lie inside one of them. An
 * address may be registered several times: the range has the most bytes that were given for it,
 * until it has been unregistered as many times.
 *  @param device not NULL. @param address the first byte; stays the caller's memory. 0 is allowed
 *  if bytes is 0, and nothing happens then. @param bytes of the range; a range of 0 bytes admits no
 *  operand.
 *  @retval TW_ERROR_INVALID_ARGUMENT address is 0 and bytes is not.
 *  @retval TW_ERROR_OVERFLOW the range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed; not part of the graph} @since 0.2 */
TW_API tw_status tw_memory_register(tw_device *device, uint64_t address, uint64_t bytes);

/** Undoes one tw_memory_register() of the same address. It waits for no work, and does not disturb
 *  work that has been enqueued: synchronise before the memory itself is given back.
 *  @param device the same one. @param address as registered; 0 does nothing.
 *  @retval TW_ERROR_NOT_FOUND the address is not registered (the host device alone knows).
 *  @threadsafety{any thread} @capture{allowed; not part of the graph} @since 0.2 */
TW_API tw_status tw_memory_unregister(tw_device *device, uint64_t address);

/** Creates a stream, which does not synchronise with the NULL stream. @param device not NULL.
 *  @param[out] stream the caller's, to be given to tw_stream_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_stream_create(tw_device *device, tw_stream **stream);

/** Wraps a CUDA stream of the caller's, or a default stream of the device's context:
 *  - NULL and CU_STREAM_LEGACY, `(CUstream)1`, are the legacy default stream, one for all threads.
 *    Its work waits for what the context's blocking streams have been given before, and their later
 *    work waits for it. Streams of tw_stream_create() are not blocking, nor are others made with
 *    CU_STREAM_NON_BLOCKING: events order work between those and it. It cannot be captured, and
 *    while a blocking stream of the context is captured, work for it is refused with
 *    TW_ERROR_CAPTURE and breaks that capture.
 *  - CU_STREAM_PER_THREAD, `(CUstream)2`, is the calling thread's own default stream: through one
 *    handle each thread uses another stream, in which its own work runs in order, and
 *    tw_stream_synchronize() waits for the work of the calling thread alone. It is a blocking
 *    stream, so the legacy default stream waits for it and it for that. It can be captured: the
 *    thread that begins the capture ends it, and what other threads enqueue is not part of it.
 *
 *  @param device a CUDA device whose context the stream is of.
 *  @param cuda_stream stays the caller's and must outlive the handle; NULL is a default stream.
 *  @param[out] stream the caller's, for tw_stream_destroy().
 *  @retval TW_ERROR_WRONG_DEVICE the host device, or a stream of another context.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_stream_create_from(tw_device *device, struct CUstream_st *cuda_stream,
                                       tw_stream **stream);

/** The CUDA stream behind a handle, for work of the caller's own in the same order. It stays the
 *  library's, or for a handle of tw_stream_create_from() the caller's: one of tw_stream_create() is
 *  valid until tw_stream_destroy() or tw_device_destroy(), and must not be destroyed by others.
 *  @param stream of a CUDA device.
 *  @param[out] cuda_stream the stream, NULL too where that was wrapped; NULL on failure.
 *  @retval TW_ERROR_WRONG_DEVICE the host device has none.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_stream_get_cuda(tw_stream *stream, struct CUstream_st **cuda_stream);

/** Destroys the handle. An own stream is drained by the driver in its time; a capture that began on
 *  it ends, and what it recorded is lost. A wrapped stream is left alone, and so is its capture.
 *  @param stream may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_stream_destroy(tw_stream *stream);

/** Waits until everything enqueued so far is done. @param stream not NULL.
 *  @retval TW_ERROR_DEVICE_LOST something enqueued failed and killed the context.
 *  @retval TW_ERROR_CAPTURE the stream is being captured.
 *  @threadsafety{any thread} @blocking{yes} @since 0.1 */
TW_API tw_status tw_stream_synchronize(tw_stream *stream);

/** Whether everything enqueued so far is done. @param stream not NULL.
 *  @retval TW_OK it is. @retval TW_ERROR_NOT_READY it is not.
 *  @retval TW_ERROR_CAPTURE the stream is being captured.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_stream_query(tw_stream *stream);

/** Makes later work of a stream wait for an event. @param stream not NULL. @param event not NULL;
 *  one that was never recorded is no wait. @retval TW_ERROR_WRONG_DEVICE of different devices.
 *  @retval TW_ERROR_CAPTURE the event was recorded before the stream's capture began, or in another
 *  one; the capture is then broken.
 *  @threadsafety{any thread} @capture{allowed; a stream that waits for an event of a capture joins
 *  that capture, see tw_stream_begin_capture()} @since 0.1 */
TW_API tw_status tw_stream_wait_event(tw_stream *stream, tw_event *event);

/** Enqueues a copy from host to device memory. @param stream not NULL. @param dst device address.
 *  @param src host memory, valid until the copy is done. @param bytes 0 does nothing.
 *  @retval TW_ERROR_OVERLAP the ranges overlap: one memory may be both.
 *  @retval TW_ERROR_INVALID_ARGUMENT a zero address with bytes above 0.
 *  @retval TW_ERROR_OVERFLOW a range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed} @blocking{for pageable memory the driver may return
 *  late} @since 0.1 */
TW_API tw_status tw_memcpy_to_device(tw_stream *stream, uint64_t dst, const void *src,
                                     uint64_t bytes);

/** Enqueues a copy from device to host memory. @param stream not NULL. @param dst host memory,
 *  valid until the copy is done. @param src device address. @param bytes 0 does nothing.
 *  @retval TW_ERROR_OVERLAP the ranges overlap: one memory may be both.
 *  @retval TW_ERROR_INVALID_ARGUMENT a zero address with bytes above 0.
 *  @retval TW_ERROR_OVERFLOW a range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed} @blocking{for pageable memory the driver may return
 *  late} @since 0.1 */
TW_API tw_status tw_memcpy_to_host(tw_stream *stream, void *dst, uint64_t src, uint64_t bytes);

/** Enqueues a copy between two places of device memory that do not overlap.
 *  @param stream not NULL. @param dst device address. @param src device address.
 *  @param bytes 0 does nothing. @retval TW_ERROR_OVERLAP the ranges overlap.
 *  @retval TW_ERROR_INVALID_ARGUMENT a zero address with bytes above 0. @retval TW_ERROR_OVERFLOW a
 * range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_memcpy_on_device(tw_stream *stream, uint64_t dst, uint64_t src, uint64_t bytes);

/** Enqueues a copy from memory of one device to that of another, or of the same one; both devices
 *  are host devices or both CUDA devices, and may be two handles of one GPU. For host memory there
 *  are tw_memcpy_to_device() and tw_memcpy_to_host(), which take memory of the host device too.
 *  @param stream of dst_device or of src_device. @param dst_device the device that dst is of.
 *  @param dst device address. @param src_device the device that src is of. @param src device
 *  address; both memories must stay until the copy is done. @param bytes 0 does nothing.
 *  @retval TW_ERROR_WRONG_DEVICE a host device and a CUDA device, or a stream of a third device.
 *  @retval TW_ERROR_OVERLAP the ranges overlap.
 *  @retval TW_ERROR_INVALID_ARGUMENT a zero address with bytes above 0.
 *  @retval TW_ERROR_OVERFLOW a range ends past the last address.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver lacks cuMemcpyPeerAsync.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_memcpy_between_devices(tw_stream *stream, tw_device *dst_device, uint64_t dst,
                                           tw_device *src_device, uint64_t src, uint64_t bytes);

/** Enqueues the filling of device memory with one byte. @param stream not NULL. @param dst device
 *  address. @param value 0 to 255. @param bytes 0 does nothing.
 *  @retval TW_ERROR_INVALID_ARGUMENT a zero address with bytes above 0, or value is no byte.
 *  @retval TW_ERROR_OVERFLOW the range ends past the last address.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_memset(tw_stream *stream, uint64_t dst, int32_t value, uint64_t bytes);

/** Creates an event, which can time. @param device not NULL.
 *  @param[out] event the caller's, to be given to tw_event_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_event_create(tw_device *device, tw_event **event);

/** Wraps a CUDA event of the caller's. @param device a CUDA device whose context the event is of.
 *  An event of another context cannot be told: recording it fails with the driver's answer.
 *  @param cuda_event not NULL; stays the caller's and must outlive the handle.
 *  @param[out] event the caller's, to be given to tw_event_destroy().
 *  @retval TW_ERROR_WRONG_DEVICE the host device cannot record a CUDA event.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_event_create_from(tw_device *device, struct CUevent_st *cuda_event,
                                      tw_event **event);

/** The CUDA event behind a handle. It stays the library's, or for a handle of
 *  tw_event_create_from() the caller's: one of tw_event_create() is valid until tw_event_destroy()
 *  or tw_device_destroy(), and must not be destroyed by others.
 *  @param event of a CUDA device. @param[out] cuda_event the event; NULL on failure.
 *  @retval TW_ERROR_WRONG_DEVICE the host device has none.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_event_get_cuda(tw_event *event, struct CUevent_st **cuda_event);

/** Destroys the handle, and an own event with it; work that waits for the event is not disturbed.
 * @param event may be NULL.
 *  @threadsafety{external} @since 0.1 */
TW_API void tw_event_destroy(tw_event *event);

/** Enqueues the event: it is reached when all earlier work of the stream is done.
 *  @param event not NULL. @param stream of the same device.
 *  @retval TW_ERROR_WRONG_DEVICE of different devices.
 *  @threadsafety{any thread} @capture{allowed; the event then orders work inside the capture, see
 *  tw_stream_begin_capture()} @since 0.1 */
TW_API tw_status tw_event_record(tw_event *event, tw_stream *stream);

/** Waits for the event's last record; returns at once where there was none. @param event not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @blocking{yes} @since 0.1 */
TW_API tw_status tw_event_synchronize(tw_event *event);

/** Whether the event's last record is reached. @param event not NULL.
 *  @retval TW_OK it is, or there was none. @retval TW_ERROR_NOT_READY it is not.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_event_query(tw_event *event);

/** Time between two reached events. @param start recorded first. @param end recorded later.
 *  @param[out] milliseconds the time; 0 on failure.
 *  @retval TW_ERROR_NOT_READY one is not reached yet.
 *  @retval TW_ERROR_INVALID_ARGUMENT one was never recorded, or is a caller's that cannot time.
 *  @retval TW_ERROR_CAPTURE one was last recorded in a capture.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_event_elapsed(tw_event *start, tw_event *end, float *milliseconds);
/** @} */

/** @defgroup graph Graphs: work that is captured once and launched many times
 *  A captured stream records what is enqueued on it and runs nothing. The recording becomes a
 *  ::tw_graph, which is launched as one piece of work, at the cost of one call:
 *  - tw_stream_begin_capture(), the calls to be recorded, tw_stream_end_capture(), then
 *    tw_graph_instantiate() once, and tw_graph_launch() as often as wanted.
 *  - The graph holds the addresses, sizes and scalars of its calls; the contents of the memory are
 *    read when it runs. Host memory is read and written then, too.
 *  - To run it with other addresses, capture the same calls with those, and give the new graph to
 *    tw_graph_update(), which costs less than instantiating the new graph. A capture may begin
 * while earlier launches are still running.
 *  - Where only the contents of memory change, nothing has to be captured again. Runs can also read
 *    addresses, sizes and scalars from device memory: see TW_GEMM_BATCH_POINTERS, tw_copies_plan()
 *    and the fields whose names begin with `device_`.
 *
 *  Host and CUDA devices do the same. A program with CUDA of its own can capture a wrapped stream
 * by itself instead, and may begin a capture here and end it there. The memory that a graph uses
 * must stay while it may run. Plans, events and streams that were used in the capture may be
 * destroyed; kernels stay loaded until the device is destroyed.
 *  @{ */

/** Begins to capture a stream: what is enqueued on it from now on is recorded and does not run. The
 *  capture reaches other streams of the device by events: a stream that waits for an event recorded
 *  in the capture joins it, and its work is recorded too, until the capture ends. Before it ends,
 *  the captured stream must wait for an event recorded behind the last work of each such stream. An
 *  event that was last recorded in a capture is never reached, and asking for it gives
 *  TW_ERROR_CAPTURE; launching the graph does not record it.
 *
 *  No call of another thread disturbs the capture (its mode is CU_STREAM_CAPTURE_MODE_RELAXED). A
 *  call on a captured stream that is refused for its arguments records nothing, and the capture
 *  goes on: check each call's status, or the graph lacks its work. The driver breaks a capture in
 * which a dependency is asked for that a graph cannot have: calls on its streams then fail until it
 * is ended.
 *  @param stream not NULL.
 *  @retval TW_ERROR_CAPTURE the stream is being captured already, or is the legacy default stream,
 *  which cannot be.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver lacks the functions of graphs.
 *  @threadsafety{external: no other call on the stream may overlap} @since 0.2 */
TW_API tw_status tw_stream_begin_capture(tw_stream *stream);

/** Ends a capture, on any thread unless the stream is the per-thread default stream. Afterwards the
 *  stream and those that joined work as before; so they do after a failure, except
 *  TW_ERROR_OUT_OF_MEMORY, which leaves the capture as it was.
 *  @param stream the one that the capture began on.
 *  @param[out] graph the caller's, to be given to tw_graph_destroy(); may be NULL, which ends the
 *  capture and keeps nothing, also where it is broken.
 *  @retval TW_ERROR_CAPTURE the stream is not being captured, or joined a capture that began on
 *  another stream; the capture was broken, or a stream that joined it was not waited for.
 *  @retval TW_ERROR_DRIVER_TOO_OLD the driver lacks the functions of graphs.
 *  @threadsafety{external: no other call on the stream may overlap} @since 0.2 */
TW_API tw_status tw_stream_end_capture(tw_stream *stream, tw_graph **graph);

/** Makes a captured graph ready to be launched. The second time it does nothing.
 *  @param graph not NULL. @retval TW_OK it is ready.
 *  @threadsafety{external} @blocking{prepares each operation: up to milliseconds for a large graph}
 *  @since 0.2 */
TW_API tw_status tw_graph_instantiate(tw_graph *graph);

/** Enqueues a graph. Launches of one graph run one after the other, on whatever streams they are.
 *  @param graph an instantiated one. @param stream any of the same device; it need not be the one
 *  that was captured.
 *  @retval TW_ERROR_INVALID_ARGUMENT the graph was not instantiated.
 *  @retval TW_ERROR_CAPTURE the stream is being captured: a graph cannot be part of another one.
 *  @threadsafety{external} @capture{refused} @since 0.2 */
TW_API tw_status tw_graph_launch(tw_graph *graph, tw_stream *stream);

/** Replaces the addresses, sizes, scalars and kernels of an instantiated graph by those of another
 *  one that has the same operations in the same order: by capturing the same calls again. Launches
 *  that were enqueued before are not affected. A failure leaves the graph as it was.
 *  @param graph an instantiated one.
 *  @param captured a graph of the same device, instantiated or not, that is not changed; graph does
 *  not need it afterwards. Copies must have the same direction and the same devices as before.
 *  @retval TW_ERROR_INVALID_ARGUMENT the graph was not instantiated, or the operations or their
 *  order differ: the message says how, on a GPU with the driver's reason.
 *  @threadsafety{external: of both graphs} @since 0.2 */
TW_API tw_status tw_graph_update(tw_graph *graph, tw_graph *captured);

/** Destroys a graph; launches that are under way are not disturbed. @param graph may be NULL.
 *  @threadsafety{external} @since 0.2 */
TW_API void tw_graph_destroy(tw_graph *graph);
/** @} */

/** @defgroup tensor Tensors: addresses with a type and extents, and DLPack
 *  What other libraries hand over. A tensor is a plain struct and owns nothing; its numbers go into
 *  the descriptions and arguments of plans and tensor maps.
 *  @{ */

/** Bits of tw_tensor::flags. */
enum { TW_TENSOR_READ_ONLY = 1 /**< its owner asks that nobody writes to it */ };

/** A tensor in memory of either kind of device. */
typedef struct tw_tensor {
  uint32_t struct_size;       /**< set by tw_tensor_init() */
  uint32_t struct_mark;       /**< likewise */
  tw_dtype dtype;             /**< required: element type */
  tw_device_kind device_kind; /**< whose memory: the CPU's or a GPU's */
  int32_t ordinal;            /**< the GPU's number; 0 for the CPU */
  int32_t rank;               /**< 0 to 8 */
  uint32_t flags;             /**< TW_TENSOR_ bits */
  uint32_t reserved;          /**< 0 */
  uint64_t address;           /**< of the element with coordinate 0 */
  int64_t shape[8];           /**< elements, outermost first */
  int64_t stride[8];          /**< elements from one coordinate to the next */
} tw_tensor;

/** The two forms of a DLPack tensor. */
typedef int32_t tw_dlpack_form;
enum {
  TW_DLPACK_TENSOR = 1,   /**< DLTensor, and DLManagedTensor, which begins with one */
  TW_DLPACK_VERSIONED = 2 /**< DLManagedTensorVersioned, of version 1.x */
};

/** Told that somebody is done with what was lent. Called once, from any thread; must not fail. */
typedef void (*tw_release_callback)(void *user);

/** Initialises a ::tw_tensor: zeros; device_kind is TW_DEVICE_HOST.
 *  @param[out] tensor not NULL. @param size sizeof(tw_tensor) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_tensor_init(tw_tensor *tensor, size_t size);

/** Reads a DLPack tensor. Nothing is kept or owned: whoever has the managed tensor still calls its
 *  deleter, when the work on its memory is done. Strides that are left out become those of a
 *  row-major tensor, the byte offset is added to the address.
 *  @param dlpack in the form that `form` says. @param form which form it has.
 *  @param[in,out] tensor initialised; the rest is filled in.
 *  @retval TW_ERROR_UNSUPPORTED an element type or a device that no number here names, or another
 *  major version than 1. @retval TW_ERROR_CAPACITY more than 8 dimensions.
 *  @retval TW_ERROR_OVERFLOW the extents multiply to more than 63 bits.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, form is unknown, or an extent or the
 *  number of a GPU is negative.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_from_dlpack(const void *dlpack, tw_dlpack_form form, tw_tensor *tensor);

/** Makes a managed DLPack tensor of a tensor, for another library to consume.
 *  @param tensor its memory stays the caller's and must live until `release` is called.
 *  @param form which form to make. @param release called by the managed tensor's deleter; may be
 *  NULL. @param user passed to release, may be NULL.
 *  @param[out] managed DLManagedTensor or DLManagedTensorVersioned, the caller's: to be given to a
 *  consumer, or freed by its own deleter.
 *  @retval TW_ERROR_UNSUPPORTED DLPack has no such element type, or the tensor is
 *  TW_TENSOR_READ_ONLY and the form TW_DLPACK_TENSOR, which cannot say so.
 *  @retval TW_ERROR_OVERFLOW the extents multiply to more than 63 bits.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or a number names nothing.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_to_dlpack(const tw_tensor *tensor, tw_dlpack_form form,
                                     tw_release_callback release, void *user, void **managed);
/** @} */

/** @defgroup tensor_map Tensor maps: the 128-byte descriptors that the TMA reads
 *  @{ */
/** Target of a check or an encoding: compute capability major * 10 + minor. */
typedef int32_t tw_arch;
enum {
  TW_ARCH_SM_90 = 90,
  TW_ARCH_SM_100 = 100,
  TW_ARCH_SM_103 = 103,
  TW_ARCH_SM_110 = 110,
  TW_ARCH_SM_120 = 120
};

/** CUtensorMapInterleave's values. */
typedef int32_t tw_interleave;
enum { TW_INTERLEAVE_NONE = 0, TW_INTERLEAVE_16B = 1, TW_INTERLEAVE_32B = 2 };

/** CUtensorMapSwizzle's values. */
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

/** CUtensorMapL2promotion's values. */
typedef int32_t tw_l2_promotion;
enum {
  TW_L2_PROMOTION_NONE = 0,
  TW_L2_PROMOTION_64B = 1,
  TW_L2_PROMOTION_128B = 2,
  TW_L2_PROMOTION_256B = 3
};

/** CUtensorMapFloatOOBfill's values. */
typedef int32_t tw_oob_fill;
enum { TW_OOB_FILL_ZERO = 0, TW_OOB_FILL_NAN = 1 };

/** Kinds of tensor maps. */
typedef int32_t tw_tensor_map_kind;
enum {
  TW_TENSOR_MAP_TILED = 0,
  TW_TENSOR_MAP_IM2COL = 1,     /**< columns of pixels, for convolutions */
  TW_TENSOR_MAP_IM2COL_WIDE = 2 /**< the same along W alone */
};

/** Description of a tensor map, with the fields of cuTensorMapEncodeTiled and
 *  cuTensorMapEncodeIm2col, innermost first. */
typedef struct tw_tensor_map_desc {
  uint32_t struct_size;            /**< set by tw_tensor_map_desc_init() */
  uint32_t struct_mark;            /**< likewise */
  tw_dtype dtype;                  /**< element type */
  int32_t rank;                    /**< 1 to 5; 3 to 5 for im2col */
  tw_interleave interleave;        /**< TW_INTERLEAVE_ */
  tw_swizzle swizzle;              /**< TW_SWIZZLE_ */
  tw_l2_promotion l2_promotion;    /**< TW_L2_PROMOTION_ */
  tw_oob_fill oob_fill;            /**< TW_OOB_FILL_ */
  tw_tensor_map_kind kind;         /**< tiled or im2col */
  int32_t wide_mode;               /**< CUtensorMapIm2ColWideMode's values; im2col wide alone */
  uint64_t global_address;         /**< required: device address of the tensor */
  uint64_t global_dim[5];          /**< required: elements, innermost first */
  uint64_t global_stride_bytes[5]; /**< required from rank 2 on: bytes, not elements; [i] is the
                                      pitch of dimension i + 1; [4] is unused */
  uint32_t box_dim[5];             /**< required for tiled maps, which alone have it: elements */
  uint32_t element_strides[5];     /**< 1 to 8; reads each n-th element */
  uint32_t channels_per_pixel;     /**< this and what follows: im2col maps alone */
  uint32_t pixels_per_column;      /**< pixels of one box (im2col) */
  int32_t lower_corner[3];         /**< of the bounding box: W, H, D; im2col wide has W alone */
  int32_t upper_corner[3];         /**< relative to the last element */
} tw_tensor_map_desc;

/** A broken rule, see tw_tensor_map_check(). */
typedef struct tw_rule_violation {
  uint32_t struct_size; /**< set by tw_rule_violation_init() */
  uint32_t struct_mark; /**< likewise */
  int32_t index;        /**< element of the argument, or -1 */
  uint32_t reserved;    /**< 0 */
  const char *rule;     /**< stable id; lives for ever */
  const char *argument; /**< field of the description; lives for ever */
  int64_t got;          /**< what was passed; of a uint64_t its bits */
  int64_t limit;        /**< what the rule allows */
  char message[472];    /**< the rule in a sentence, with the numbers, and what would work; `...`
                             for fields beyond its length, see tw_tensor_map_propose() */
} tw_rule_violation;

/** Initialises a ::tw_rule_violation, one element of an array that other functions then fill in.
 *  @param[out] violation not NULL. @param size sizeof(tw_rule_violation) as the caller's compiler
 * sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_rule_violation_init(tw_rule_violation *violation, size_t size);

/** Initialises a ::tw_tensor_map_desc: bf16, rank 2, no interleave, no swizzle, no promotion,
 *  zero fill, element strides 1, all sizes 0.
 *  @param[out] desc not NULL. @param size sizeof(tw_tensor_map_desc) as the caller's compiler sees
 * it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_tensor_map_desc_init(tw_tensor_map_desc *desc, size_t size);

/** Checks a description against every rule; needs no device. Rules of 9.0 were measured on the
 *  driver; those of other chips come from its manual and are unverified. @param desc not NULL.
 *  @param arch for which chip. @param[out] violations an array of
 *  initialised elements; may be NULL where capacity is 0. @param capacity its elements.
 *  @param[out] count broken rules in all, which may be more than capacity; may be NULL.
 *  @retval TW_OK all rules hold. @retval TW_ERROR_RULE the first broken one is the last error too.
 *  @retval TW_ERROR_INVALID_ARGUMENT arch is none of the TW_ARCH_ numbers, or capacity is negative.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_check(const tw_tensor_map_desc *desc, tw_arch arch,
                                     tw_rule_violation *violations, int32_t capacity,
                                     int32_t *count);

/** Finds an accepted description that differs from a broken one only in fields that its broken
 *  rules name; its box covers at least half the bytes asked for, where one that shared memory holds
 *  does. What was asked for and breaks no rule stays.
 *  @param desc not NULL. @param arch for which chip. @param[in,out] proposed initialised; the rest
 * is filled in, with desc's own fields where no rule is broken.
 *  @retval TW_ERROR_NOT_FOUND no such description is accepted. @retval TW_ERROR_INVALID_ARGUMENT an
 *  argument is NULL, or arch is none of the TW_ARCH_ numbers.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_propose(const tw_tensor_map_desc *desc, tw_arch arch,
                                       tw_tensor_map_desc *proposed);

/** Checks a description and writes its 128 bytes, without a driver: the same bytes as the driver's
 *  for compute capability 9.0; unverified for other chips. @param desc not NULL.
 *  @param arch for which chip. @param[out] bytes room for 128, at any address.
 *  @retval TW_ERROR_RULE a rule is broken. @retval TW_ERROR_UNSUPPORTED the bits of this type or
 *  swizzle are not known to the library. @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or
 *  arch is none of the TW_ARCH_ numbers. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_encode(const tw_tensor_map_desc *desc, tw_arch arch, void *bytes);

/** Reads 128 bytes back into a description: of a core dump, of another library. Bytes do not tell
 *  an im2col-wide map from an im2col map, nor types that share a code; the first such type comes
 *  back. @param bytes 128 of them, at any address.
 *  @param[in,out] desc initialised; what could be read is filled in, after
 *  TW_ERROR_UNSUPPORTED too.
 *  @retval TW_ERROR_UNSUPPORTED some bits are not known to the library: the message names them.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_decode(const void *bytes, tw_tensor_map_desc *desc);

/** Makes a tensor map. @param device not NULL. @param desc not NULL.
 *  @param[out] map the caller's, to be given to tw_tensor_map_destroy().
 *  @retval TW_ERROR_RULE a rule is broken: the message and tw_last_error_info() name it.
 *  @retval TW_ERROR_UNSUPPORTED an im2col-wide map, which this driver or this build does not know.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_create(tw_device *device, const tw_tensor_map_desc *desc,
                                      tw_tensor_map **map);

/** A tensor and a tile of it, from which tw_tensor_map_create_tile() makes a map. Modes are
 *  outermost first, strides in elements; one mode has stride 1. */
typedef struct tw_tile_desc {
  uint32_t struct_size;         /**< set by tw_tile_desc_init() */
  uint32_t struct_mark;         /**< likewise */
  tw_dtype dtype;               /**< element type; no packed type */
  int32_t rank;                 /**< required: 1 to 8 */
  tw_swizzle swizzle;           /**< TW_SWIZZLE_ */
  tw_l2_promotion l2_promotion; /**< TW_L2_PROMOTION_ */
  tw_oob_fill oob_fill;         /**< TW_OOB_FILL_ */
  int32_t multicast;            /**< blocks of a cluster that load equal parts of a tile; 1: none */
  uint32_t free_start;          /**< bit k below rank: tiles may begin anywhere along mode k, if of
                                     stride 1 at multiples of 16 bytes */
  uint32_t reserved;            /**< 0 */
  uint64_t global_address;      /**< required: device address of the tensor */
  int64_t shape[8];             /**< required: elements, outermost first */
  int64_t stride[8];            /**< required: elements, not bytes; one mode has stride 1 */
  int64_t tile[8];              /**< required: elements of a tile, which has 232448 bytes at most */
} tw_tile_desc;

/** Initialises a ::tw_tile_desc: bf16, no swizzle, no multicast; rank 0, shape, stride and tile
 *  unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_tile_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_tile_desc_init(tw_tile_desc *desc, size_t size);

/** Fills type, rank, address, shape and strides of a tile's description; the tile and the other
 *  fields stay. @param tensor not NULL. @param[in,out] desc initialised. It is unchanged after a
 *  failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensor has no dimension, or is none.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_tile_desc_from_tensor(const tw_tensor *tensor, tw_tile_desc *desc);

/** Makes the map that moves tiles by as few boxes as possible. Rows wider than the swizzle's span
 *  become a dimension of their own and neighbouring modes are merged, where what lies outside the
 *  tensor stays outside; no box ever touches another row's bytes.
 *  @param device not NULL. @param desc not NULL.
 *  @param shared layout of the tile in shared memory, in elements; NULL: box behind box.
 *  @param[out] map the caller's, to be given to tw_tensor_map_destroy().
 *  @retval TW_ERROR_RULE no map can be made: the message names the rule that is broken.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument cannot work, or is NULL.
 *  @retval TW_ERROR_UNSUPPORTED elements of a type that tensor maps do not have.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_create_tile(tw_device *device, const tw_tile_desc *desc,
                                           const tw_layout *shared, tw_tensor_map **map);

/** How many boxes, each one instruction, move a tile; 1 for a map of tw_tensor_map_create().
 *  @param map not NULL. @param[out] boxes the number.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_boxes(const tw_tensor_map *map, int32_t *boxes);

/** One box of a tile. Blocks of a multicast load equal runs of boxes.
 *  @param map not NULL. @param start where the tile begins, in the tensor's own coordinates, one
 *  for each of its modes, outermost first. @param index which box, from 0.
 *  @param[out] coord room for 5: the instruction's coordinates, innermost first.
 *  @param[out] shared_offset bytes from the tile's beginning in shared memory to the box's.
 *  @retval TW_ERROR_MISALIGNED tiles of this map begin at multiples along a mode, or coordinate 0
 *  would be no multiple of 16 bytes, at which the copy engine stops a kernel (packed types: not
 *  checked).
 *  @retval TW_ERROR_OVERFLOW a coordinate exceeds 32 bits; start may be any 64-bit number.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or there is no such box.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_box(const tw_tensor_map *map, const int64_t *start, int32_t index,
                                   int32_t *coord, uint64_t *shared_offset);

/** Points a map at another address; nothing else is checked or encoded anew. @param map not NULL.
 *  @param global_address device address, aligned as the map needs it.
 *  @retval TW_ERROR_RULE the address is misaligned or too large; the map is as before.
 *  @retval TW_ERROR_INVALID_ARGUMENT map is NULL. @threadsafety{external} @since 0.1 */
TW_API tw_status tw_tensor_map_rebind(tw_tensor_map *map, uint64_t global_address);

/** Changes one extent of a tiled map. @param map not NULL.
 *  @param dimension of the map, 0 the innermost; one that neither folds nor merges modes.
 *  @param extent elements, 1 to 2^32.
 *  @retval TW_ERROR_RULE the extent cannot be; the map is as before.
 *  @retval TW_ERROR_UNSUPPORTED an im2col map, or a dimension that folds or merges modes.
 *  @retval TW_ERROR_INVALID_ARGUMENT map is NULL, or there is no such dimension.
 *  @threadsafety{external} @since 0.1 */
TW_API tw_status tw_tensor_map_resize(tw_tensor_map *map, int32_t dimension, uint64_t extent);

/** Destroys a tensor map; launches that took its bytes are not disturbed. @param map may be NULL.
 *  @threadsafety{external} @since 0.1 */
TW_API void tw_tensor_map_destroy(tw_tensor_map *map);

/** Copies out the 128 bytes, to any address. A kernel wants them 64-byte aligned, which
 *  tw_launch() and the parameter space see to. @param map not NULL. @param[out] bytes room for 128.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_bytes(const tw_tensor_map *map, void *bytes);

/** The description that a map was made from. @param map not NULL.
 *  @param[in,out] desc initialised; the rest is filled in.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_get_desc(const tw_tensor_map *map, tw_tensor_map_desc *desc);

/** The coordinate tensor: the layout that gives TMA coordinates for the tensor's coordinates, modes
 *  outermost first as in a row-major tensor: (1024,512) has `(0,0) o (1024,512):(1@1,1@0)`.
 *  @param map not NULL. @param[out] layout the caller's.
 *  @retval TW_ERROR_OVERFLOW the extents multiply to more than a layout's size can be, 2^63 - 1.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_coordinates(const tw_tensor_map *map, tw_layout **layout);

/** Describes a map in words: extents, box, bytes of a transaction, and whether a store through it
 *  would touch bytes past the tensor. @param map not NULL. @param[out] buffer may be NULL where
 *  capacity is 0. @param capacity bytes of buffer. @param[out] length bytes needed; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_explain(const tw_tensor_map *map, char *buffer, size_t capacity,
                                       size_t *length);

/** Draws a box in shared memory as SVG: which 16 bytes of which row lie where, and in which banks.
 *  @param map not NULL. @param[out] buffer may be NULL where capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes needed; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @experimental{the function; also the picture that it writes}
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tensor_map_draw(const tw_tensor_map *map, char *buffer, size_t capacity,
                                    size_t *length);
/** @} */

/** @defgroup kernel Modules and kernels of the caller's own
 *  @{ */
/** What a kernel needs and may have. */
typedef struct tw_kernel_info {
  uint32_t struct_size;      /**< set by tw_kernel_info_init() */
  uint32_t struct_mark;      /**< likewise */
  int32_t registers;         /**< a thread */
  int32_t static_smem_bytes; /**< a block */
  int32_t local_bytes;       /**< a thread: stack and spills */
  int32_t max_threads;       /**< a block */
  int32_t binary_version;    /**< 90 for sm_90 */
  int32_t param_count;       /**< number of parameters */
  int32_t param_bytes;       /**< up to the end of the last parameter */
} tw_kernel_info;

/** Initialises a ::tw_kernel_info, which other functions then fill in.
 *  @param[out] info not NULL. @param size sizeof(tw_kernel_info) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_kernel_info_init(tw_kernel_info *info, size_t size);

/** Programmatic dependent launch: the kernel may start before its predecessor is done, and must
 *  execute griddepcontrol.wait itself. */
enum { TW_LAUNCH_PROGRAMMATIC = 1 };

/** How to launch a kernel. */
typedef struct tw_launch_desc {
  uint32_t struct_size;        /**< set by tw_launch_desc_init() */
  uint32_t struct_mark;        /**< likewise */
  uint32_t flags;              /**< TW_LAUNCH_ bits */
  uint32_t grid[3];            /**< blocks */
  uint32_t block[3];           /**< threads */
  uint32_t cluster[3];         /**< blocks; divides grid; 1,1,1 for none */
  uint32_t dynamic_smem_bytes; /**< up to 232,448 on Hopper */
} tw_launch_desc;

/** Loads a fatbin, cubin or zero-terminated PTX. Magic, lengths and section bounds are checked
 *  before the driver sees it. It stays loaded until the device is destroyed, so that captured
 *  graphs can replay. @param device a CUDA device. @param image the bytes; copied.
 *  @param size how many. @param[out] module the caller's, to be given to tw_module_destroy().
 *  @retval TW_ERROR_INVALID_IMAGE truncated, damaged or of no known kind.
 *  @retval TW_ERROR_NO_KERNEL_IMAGE it holds nothing for this device; the message says what.
 *  @retval TW_ERROR_WRONG_DEVICE the host device cannot run GPU code.
 *  @retval TW_ERROR_DRIVER_TOO_OLD its PTX is newer than the driver.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_module_load(tw_device *device, const void *image, size_t size,
                                tw_module **module);

/** Destroys the handle. @param module may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_module_destroy(tw_module *module);

/** A kernel of a module by its symbol. @param module not NULL. @param name zero-terminated.
 *  @param[out] kernel the caller's, to be given to tw_kernel_destroy(); it outlives the module
 *  handle. @retval TW_ERROR_NOT_FOUND no kernel of that name.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_kernel_get(tw_module *module, const char *name, tw_kernel **kernel);

/** Destroys the handle. @param kernel may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_kernel_destroy(tw_kernel *kernel);

/** What the kernel needs. @param kernel not NULL. @param[in,out] info initialised.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_kernel_get_info(tw_kernel *kernel, tw_kernel_info *info);

/** How much of a launch fits the device at once. @param kernel not NULL. @param desc not NULL.
 *  @param[out] blocks_per_sm blocks of this size that one SM holds. @param[out] clusters clusters
 *  of this size that the device holds.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_kernel_occupancy(tw_kernel *kernel, const tw_launch_desc *desc,
                                     int32_t *blocks_per_sm, int32_t *clusters);

/** Initialises a ::tw_launch_desc: one block of 128 threads, no cluster, no dynamic shared
 *  memory.
 *  @param[out] desc not NULL. @param size sizeof(tw_launch_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_launch_desc_init(tw_launch_desc *desc, size_t size);

/** Launches a kernel. @param stream of the kernel's device. @param kernel not NULL.
 *  @param desc not NULL. @param param_count must be the kernel's. @param param_sizes bytes of each
 *  parameter, which must be the kernel's; a tensor map by value is 128. @param params the values,
 *  packed one behind the other with no gaps, at any address; copied.
 *  @retval TW_ERROR_INVALID_ARGUMENT a count, a size, the block, the cluster or the shared memory
 *  cannot work; the message names the limit. @retval TW_ERROR_WRONG_DEVICE of different devices.
 *  @retval TW_ERROR_UNSUPPORTED more parameters, or bytes of them, than the library passes on.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_launch(tw_stream *stream, tw_kernel *kernel, const tw_launch_desc *desc,
                           uint32_t param_count, const uint32_t *param_sizes, const void *params);
/** @} */

/** @defgroup plan Plans: operations made once and run many times
 *  A plan holds no memory of the caller's: addresses come with each run. Plans are immutable, so
 *  one plan may run on several streams at once. A run allocates nothing, synchronises nothing and
 *  can be captured in a CUDA graph, which then holds that run's addresses and sizes.
 *
 *  An operand spans 2^60 bytes at most, from its lowest byte to its highest; the matrices of one
 *  operand of a matrix product 2^63 - 1 together.
 *
 *  Beside what each lists, functions that make a plan return TW_ERROR_UNSUPPORTED where none of the
 *  kernels that this build embeds for the device takes the description, TW_ERROR_NO_KERNEL_IMAGE
 *  where it embeds none for the device, and TW_ERROR_DRIVER_TOO_OLD where the driver is older than
 *  they need. Machine code needs a driver of at least the major version of the CUDA toolkit that
 * made it. PTX, which the driver compiles, needs a driver of at least the toolkit's exact version.
 * The rest of the library, including the caller's own modules, works with older drivers: see
 *  tw_device_create().
 *
 *  Each tw_x_plan() that takes a description has a tw_x_supported(), which answers whether planning
 *  would succeed without making a plan. It returns the status that planning would return for the
 *  same device and description, with the same message and details, except for exhausted memory and
 *  for what the driver says when it loads kernels. It loads no kernel, allocates nothing on the
 *  device and launches nothing. It takes less than 2 microseconds if the library has all the
 * kernels that the device can run. Four cases take longer: strides whose elements interleave,
 * because the overlap has to be searched for; products of more tiles than a launch may have;
 * products with both max_sms and TW_GEMM_BATCH_INVARIANT; and the first call for an operation on a
 * device.
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

/** What a plan will do, for a run at its described sizes and promised alignments; where nothing is
 *  promised, for addresses that are multiples of 16, as every allocator gives. */
typedef struct tw_plan_info {
  uint32_t struct_size;        /**< set by tw_plan_info_init() */
  uint32_t struct_mark;        /**< likewise */
  tw_op op;                    /**< the operation */
  uint32_t reserved;           /**< 0 */
  const char *kernel;          /**< its symbol, or the driver's function; lives for ever */
  uint32_t grid[3];            /**< blocks */
  uint32_t block[3];           /**< threads */
  uint32_t cluster[3];         /**< blocks */
  uint32_t tile[3];            /**< rows, columns (and k for a GEMM) of one tile, elements */
  uint32_t stages;             /**< of the pipeline in shared memory */
  uint32_t dynamic_smem_bytes; /**< a block */
  uint64_t boxes_loaded;       /**< tensor-map boxes and bulk rows from global to shared memory */
  uint64_t boxes_stored;       /**< likewise from shared to global memory */
  uint64_t boxes_prefetched;   /**< into the L2 cache */
  uint64_t bytes_read;         /**< of the operands, each counted once */
  uint64_t bytes_written;      /**< likewise */
  uint64_t flops;              /**< 2 m n k for a GEMM */
  uint64_t workspace_bytes;    /**< of a workspace that runs use; a GEMM's may do without, see
                                    tw_gemm_args */
} tw_plan_info;

/** Initialises a ::tw_plan_info, which other functions then fill in.
 *  @param[out] info not NULL. @param size sizeof(tw_plan_info) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_plan_info_init(tw_plan_info *info, size_t size);

/** What a plan will do, in numbers. @param plan not NULL. @param[in,out] info initialised; the
 *  rest is filled in.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_plan_get_info(const tw_plan *plan, tw_plan_info *info);

/** What a plan will do, in words: the kernel and why it was chosen. @param plan not NULL.
 *  @param[out] buffer may be NULL where capacity is 0. @param capacity bytes of buffer.
 *  @param[out] length bytes needed with the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_plan_explain(const tw_plan *plan, char *buffer, size_t capacity,
                                 size_t *length);

/** Destroys a plan; runs in flight are not disturbed. @param plan may be NULL.
 *  @threadsafety{external} @since 0.1 */
TW_API void tw_plan_destroy(tw_plan *plan);

/** Copies with up to this many dimensions can be described. */
enum { TW_MAX_RANK = 8 };

/** How long the second-level cache should keep what an operation reads or writes of an operand: a
 *  hint, which changes speed and never results. */
typedef int32_t tw_cache_priority;
enum {
  TW_CACHE_NORMAL = 0,
  TW_CACHE_EVICT_FIRST = 1, /**< not needed again soon: leave the cache to others */
  TW_CACHE_EVICT_LAST = 2   /**< needed again soon: keep it while there is room */
};

/** What an operation does with an element of the destination: a scatter of the table that it names,
 *  which has the first four, or an elementwise operation. */
typedef int32_t tw_reduction;
enum {
  TW_REDUCE_NONE = 0, /**< it is replaced */
  TW_REDUCE_ADD = 1,  /**< the new element is added, rounded to nearest even; integers wrap */
  TW_REDUCE_MIN = 2,  /**< the lesser stays; of a NaN and a number the number */
  TW_REDUCE_MAX = 3,  /**< the greater stays; likewise */
  TW_REDUCE_AND = 4,  /**< bits that both have; integers */
  TW_REDUCE_OR = 5,   /**< bits that either has */
  TW_REDUCE_XOR = 6,  /**< bits that one has */
  TW_REDUCE_INC = 7,  /**< u32: one more, or 0 where that would pass the new element */
  TW_REDUCE_DEC = 8   /**< u32: one less; the new element where it was 0 or above that */
};

/** A function applied to each element, in f32. Every function except
 *  TW_ACTIVATION_NONE maps minus infinity to zero. */
typedef int32_t tw_activation;
enum {
  TW_ACTIVATION_NONE = 0,      /**< x */
  TW_ACTIVATION_RELU = 1,      /**< max(x, 0); NaN stays NaN */
  TW_ACTIVATION_GELU = 2,      /**< x / 2 (1 + erf(x / sqrt 2)), within 2^-21 |x| */
  TW_ACTIVATION_GELU_TANH = 3, /**< x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), within 2^-20
                                    of its value times 1 + |the tangent's argument|, and 2^-110;
                                    in GEMM of an x within 2^-23 (|alpha A B| + |bias|) of the
                                    sum */
  TW_ACTIVATION_SILU = 4       /**< x / (1 + exp(-x)), within 2^-20 of its value times 1 + |x|, and
                                    2^-110 */
};

/** @name Copies
 *  @{ */

/** Options of a copy: bits of tw_copy_desc.flags. */
enum {
  /** The bytes from the end of a destination row to the next multiple of 16 may be overwritten,
   *  which is faster where rows end elsewhere. */
  TW_COPY_PADDING_FREE = 1
};

/** dst[i...] = src[i...]. Sub-boxes and slices are expressed by the run's base addresses and the
 *  strides here. */
typedef struct tw_copy_desc {
  uint32_t struct_size;   /**< set by tw_copy_desc_init() */
  uint32_t struct_mark;   /**< likewise */
  tw_dtype dtype;         /**< required: any type; only its size matters */
  int32_t rank;           /**< required: 1 to 8 */
  uint32_t src_alignment; /**< bytes the source address is promised to be a multiple of; 0: none */
  uint32_t dst_alignment; /**< likewise for the destination */
  uint32_t max_sms;       /**< at most so many blocks run, one an SM; 0: no bound */
  uint32_t flags;         /**< TW_COPY_ bits */
  tw_cache_priority src_cache; /**< for what is read */
  tw_cache_priority dst_cache; /**< for what is written */
  tw_oob_fill fill;            /**< of the elements outside src_shape; TW_OOB_FILL_NAN, 0x7ff7 in
                                    every 16 bits, for f16, bf16, f32, tf32, their ftz kinds and
                                    f64. Only with src_shape */
  uint32_t reserved;           /**< 0 */
  int64_t shape[8];            /**< required: elements, outermost first; 0 is an empty copy */
  int64_t src_stride[8];       /**< required: elements */
  int64_t dst_stride[8];       /**< required: elements; no two coordinates may share an element */
  int64_t src_shape[8];        /**< elements of the tensor that the source is a window of:
                                    coordinate i is the tensor's src_start + i, and outside the
                                    tensor the destination is filled; 0: no bound along that
                                    dimension */
  int64_t src_start[8];        /**< where the window begins, negative or past the end too; 0 where
                                    src_shape is 0 */
} tw_copy_desc;

/** Addresses of a copy's run: of the elements with coordinate 0, for the source of its tensor's
 * where the copy has a window. */
typedef struct tw_copy_args {
  uint32_t struct_size; /**< set by tw_copy_args_init() */
  uint32_t struct_mark; /**< likewise */
  uint64_t src;         /**< required: device address */
  uint64_t dst;         /**< required: device address */
} tw_copy_args;

/** Initialises a ::tw_copy_desc: no promise, no window; shape and strides unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_copy_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copy_desc_init(tw_copy_desc *desc, size_t size);

/** Initialises a ::tw_copy_args: no addresses.
 *  @param[out] args not NULL. @param size sizeof(tw_copy_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copy_args_init(tw_copy_args *args, size_t size);

/** Fills type, rank, shape and strides of a copy's description from its operands; the other fields
 *  stay. The addresses go into the run's arguments. Nothing is kept.
 *  @param src not NULL. @param dst not NULL; of src's shape and type.
 *  @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not fit together, or dst may not be written.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copy_desc_from_tensors(const tw_tensor *src, const tw_tensor *dst,
                                           tw_copy_desc *desc);

/** Plans a copy. @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's, to be given to tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type, rank, extent, alignment, cache priority or window
 *  cannot work. @retval TW_ERROR_UNSUPPORTED a fill with NaN of a type that has no such pattern.
 *  @retval TW_ERROR_OVERLAP the destination would write an element twice.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_copy_plan(tw_device *device, const tw_copy_desc *desc, tw_plan **plan);

/** Answers whether tw_copy_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_copy_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copy_supported(tw_device *device, const tw_copy_desc *desc);

/** Enqueues a copy. @param plan from tw_copy_plan(). @param stream of the same device.
 *  @param args not NULL. @retval TW_ERROR_MISALIGNED an address breaks the description's promise.
 *  @retval TW_ERROR_OVERLAP source and destination overlap.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is 0, and the copy not empty.
 *  @repeats{yes}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_copy_run(tw_plan *plan, tw_stream *stream, const tw_copy_args *args);

/** @} */

/** @name Many copies of one description
 *  @{ */

/** Many copies of one description in one launch, from src[i] to dst[i] for each pair i: sub-boxes,
 *  slices and permutations by the addresses and the strides here, as in tw_copy_desc. The addresses
 *  lie in device memory and are read when the run executes. A pair with an address that is 0 or
 *  breaks the promise (an element's own alignment is always needed) is left out whole. No pair may
 *  write what another reads or writes. */
typedef struct tw_copies_desc {
  uint32_t struct_size;   /**< set by tw_copies_desc_init() */
  uint32_t struct_mark;   /**< likewise */
  tw_dtype dtype;         /**< required: any type; only its size matters */
  int32_t rank;           /**< required: 1 to 8 */
  uint32_t src_alignment; /**< bytes that all sources are promised to be multiples of; 0: none */
  uint32_t dst_alignment; /**< likewise for the destinations */
  uint32_t max_sms;       /**< at most so many blocks run, one an SM; 0: no bound */
  uint32_t reserved;      /**< 0 */
  int64_t shape[8]; /**< required: elements of each copy, outermost first; 0 is an empty copy */
  int64_t src_stride[8]; /**< required: elements */
  int64_t dst_stride[8]; /**< required: elements; no two coordinates may share an element */
  int64_t count;         /**< required: pairs of a run, at most */
} tw_copies_desc;

/** Lists of a run of many copies. */
typedef struct tw_copies_args {
  uint32_t struct_size; /**< set by tw_copies_args_init() */
  uint32_t struct_mark; /**< likewise */
  uint64_t src;  /**< required: device address of count 64-bit device addresses, one a source */
  uint64_t dst;  /**< required: likewise of the destinations */
  int64_t count; /**< pairs of this run; -1: the plan's */
  /** A 64-bit device word to which the number of pairs that were left out is added; 0: none.
   *  Without it the host device waits for the stream, looks at the lists and refuses the run, for
   *  operands of a pair that overlap too; not while the stream is captured. */
  uint64_t invalid_count;
} tw_copies_args;

/** Initialises a ::tw_copies_desc: no promise; shape, strides and count unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_copies_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copies_desc_init(tw_copies_desc *desc, size_t size);

/** Initialises a ::tw_copies_args: no addresses, the plan's count.
 *  @param[out] args not NULL. @param size sizeof(tw_copies_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copies_args_init(tw_copies_args *args, size_t size);

/** As tw_copy_desc_from_tensors(), from the operands of one of the copies; count stays.
 *  @param src not NULL. @param dst not NULL; of src's shape and type.
 *  @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not fit together, or dst may not be written.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copies_desc_from_tensors(const tw_tensor *src, const tw_tensor *dst,
                                             tw_copies_desc *desc);

/** Plans many copies of one description. @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's. @retval TW_ERROR_INVALID_ARGUMENT a type, rank, extent, alignment
 *  or number cannot work. @retval TW_ERROR_OVERLAP a destination would have an element written
 *  twice. @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_copies_plan(tw_device *device, const tw_copies_desc *desc, tw_plan **plan);

/** Answers whether tw_copies_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_copies_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_copies_supported(tw_device *device, const tw_copies_desc *desc);

/** Enqueues many copies, in one launch. @param plan from tw_copies_plan(). @param stream of the
 * same device. @param args not NULL. @retval TW_ERROR_INVALID_ARGUMENT a list is 0, or the number
 * of pairs is outside what was planned; on the host device also an address of a list that is 0,
 * where args have no invalid_count. @retval TW_ERROR_MISALIGNED a list is not aligned to 8; on the
 * host device also a promise that is broken. @retval TW_ERROR_OVERLAP a pair's operands overlap,
 * which the host device alone sees. @repeats{yes}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_copies_run(tw_plan *plan, tw_stream *stream, const tw_copies_args *args);

/** @} */

/** @name Prefetch into the L2 cache
 *  @{ */

/** Brings a tensor, or a sub-box of one by its address and strides, into the L2 cache: rows and
 *  columns, or with a rank a shape and strides. The device reads all of it and keeps nothing, so
 *  that all of it must be memory that it can read: elsewhere the run faults. What does not fit in
 *  the cache drives out what does. */
typedef struct tw_prefetch_desc {
  uint32_t struct_size;    /**< set by tw_prefetch_desc_init() */
  uint32_t struct_mark;    /**< likewise */
  tw_dtype dtype;          /**< required: any type; only its size matters */
  int32_t rank;            /**< 0: the operand is rows, columns and pitch; 1 to 8: it is shape and
                                stride */
  uint32_t alignment;      /**< bytes the address is promised to be a multiple of; 0: none */
  uint32_t max_sms;        /**< at most so many blocks run, one an SM; 0: no bound */
  tw_cache_priority cache; /**< how long the cache should keep it */
  uint32_t reserved;       /**< 0 */
  int64_t rows;            /**< required with rank 0, excluded otherwise; 1 for a plain range */
  int64_t columns;         /**< required with rank 0, excluded otherwise: elements of a row */
  int64_t pitch;           /**< elements between rows; 0: columns. Only with rank 0 */
  int64_t budget;          /**< bytes that may be asked for: whole rows, along the smallest stride
                                first, which is the lowest address first unless dimensions
                                interleave; or of a longer first row its beginning; 0: no bound */
  int64_t shape[8];        /**< required with a rank: elements, outermost first */
  int64_t stride[8];       /**< required with a rank: elements; 0 and negative ones too */
} tw_prefetch_desc;

/** Address of a prefetch's run. */
typedef struct tw_prefetch_args {
  uint32_t struct_size; /**< set by tw_prefetch_args_init() */
  uint32_t struct_mark; /**< likewise */
  uint64_t src;         /**< required: device address */
} tw_prefetch_args;

/** Initialises a ::tw_prefetch_desc: rank 0; rows, columns, shape and stride unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_prefetch_desc) as the caller's compiler sees
 * it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_prefetch_desc_init(tw_prefetch_desc *desc, size_t size);

/** Initialises a ::tw_prefetch_args: no address.
 *  @param[out] args not NULL. @param size sizeof(tw_prefetch_args) as the caller's compiler sees
 * it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_prefetch_args_init(tw_prefetch_args *args, size_t size);

/** Fills type, rank, shape and strides of a prefetch's description; the other fields stay.
 *  @param src not NULL. @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensor has no dimension, or is none.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_prefetch_desc_from_tensors(const tw_tensor *src, tw_prefetch_desc *desc);

/** Plans a prefetch. @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's. @retval TW_ERROR_INVALID_ARGUMENT a size, rank, budget or cache
 *  priority cannot work. @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_prefetch_plan(tw_device *device, const tw_prefetch_desc *desc, tw_plan **plan);

/** Answers whether tw_prefetch_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_prefetch_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_prefetch_supported(tw_device *device, const tw_prefetch_desc *desc);

/** Enqueues a prefetch. Done means that what is asked for has been read; where a row begins or
 *  ends off a multiple of 16 bytes, its line there is only asked for, and may arrive later.
 *  @param plan from tw_prefetch_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT src is 0, and the operand not empty.
 *  @retval TW_ERROR_MISALIGNED the address breaks the description's promise.
 *  @repeats{yes: it writes nothing}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_prefetch_run(tw_plan *plan, tw_stream *stream, const tw_prefetch_args *args);

/** @} */

/** @name Gather and scatter of rows
 *  @{ */

/** Options of gather and scatter: bits of tw_rows_desc.flags. */
enum {
  /** Scatter without reduction: of several i that name one row the highest writes it, whole. Costs
   *  two passes over the indices and a workspace of 4 bytes for each row of the table. */
  TW_SCATTER_LAST_WINS = 1,
  /** Reductions: equal inputs give equal bits. Integer sums, minima and maxima always do. For sums
   *  of f32, f16 and bf16 it costs a workspace and a sort of the indices: three kernels for
   *  each 8 bits, rounded up, of the number table_rows. Equal rows are then summed in f32 in the
   *  order of i, in fixed segments, and rounded once; subnormals are kept. Not for f64 sums. */
  TW_SCATTER_DETERMINISTIC = 2,
  /** Each row is multiplied by its weight, an f32 number for each index, where it is moved: f32,
   *  f16 and bf16, in gathers and in scatters that add. */
  TW_ROWS_WEIGHTS = 4,
  /** Sums of f16 and bf16: rows that several of 128 neighbouring indices name are summed in f32
   *  before they are rounded and added. Without it every addend is rounded: bf16 256 + 1 is 256. */
  TW_ROWS_ACCUMULATE_F32 = 8
};

/** Rows by index. Gather: packed[i, :] = table[index[i], column : column + columns]; an index
 *  outside the table gives zeros, and so does a column outside it. With `group` k above 1 row i is
 *  the sum of rows index[i k] to index[i k + k - 1], in that order, in f32. Scatter: the other way;
 *  an index or a column outside the table writes nothing, and where several i name one row each
 *  element comes whole from one of them, or from all of them with a reduction. Reductions are of
 *  f32, f16, bf16, f64, u32, i32, u64 and i64.
 *
 *  A NaN that is computed is the canonical one, 0x7fffffff in f32 and 0x7fff in f16 and bf16; in
 *  f64 its bits are not defined. Additions to an f32 table are done by a GPU's memory, which takes
 *  subnormal elements and addends for zeros of their sign and writes zeros for subnormal sums; with
 *  TW_SCATTER_DETERMINISTIC they are done in registers, which keep subnormals, as sums of a gather,
 *  minima, maxima, other types and the host device do. */
typedef struct tw_rows_desc {
  uint32_t struct_size;  /**< set by tw_rows_desc_init() */
  uint32_t struct_mark;  /**< likewise */
  tw_dtype dtype;        /**< required: any type; only its size matters where nothing is computed */
  tw_dtype index_dtype;  /**< TW_DTYPE_I32 or TW_DTYPE_I64 */
  tw_dtype packed_dtype; /**< 0: dtype; f16 or bf16 may be added to an f32 table */
  tw_reduction reduction;    /**< of a scatter */
  uint32_t table_alignment;  /**< bytes the table's address is promised to be a multiple of */
  uint32_t packed_alignment; /**< bytes the packed operand's address is promised */
  uint32_t max_sms;          /**< at most so many blocks run, one an SM; 0: no bound */
  uint32_t flags;            /**< TW_SCATTER_ and TW_ROWS_ bits */
  int64_t table_rows;        /**< required: rows of the table */
  int64_t table_columns;     /**< of the table, for windows that hang over it; 0: none does */
  int64_t table_pitch;       /**< elements between rows of the table; 0: table_columns, or column +
                                  columns if table_columns is 0. Set it if the table is wider */
  int64_t column;            /**< first column; negative for a gather with table_columns alone */
  int64_t columns;           /**< required: elements of a row that are moved */
  int64_t count;             /**< required: rows of the packed operand in a run, at most */
  int64_t packed_pitch;      /**< elements between rows of the packed operand; 0: columns */
  int64_t group;             /**< rows that a gather sums into one, 1 (none) to 2^20 */
} tw_rows_desc;

/** Addresses of a gather's or scatter's run. */
typedef struct tw_rows_args {
  uint32_t struct_size; /**< set by tw_rows_args_init() */
  uint32_t struct_mark; /**< likewise */
  uint64_t table;       /**< required: device address of row 0, column 0 */
  uint64_t index;       /**< required: aligned to its type */
  uint64_t packed;      /**< required: destination of a gather, source of a scatter */
  int64_t count;        /**< rows of the packed operand in this run; -1: the plan's */
  uint64_t weights;     /**< with TW_ROWS_WEIGHTS: f32, one for each index; else 0 */
  /** Where the device finds the number of rows, of the indices' type, when the run executes; what
   *  lies outside 0 to count counts as the nearer of the two. 0: the number is count. */
  uint64_t device_count;
  /** A 64-bit device word to which the number of indices outside the table is added; 0: none. */
  uint64_t invalid_count;
  uint64_t workspace;       /**< a multiple of 256, where the plan needs one; else ignored */
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
} tw_rows_args;

/** Initialises a ::tw_rows_desc: i32 indices, group 1; table_rows, columns and count unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_rows_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_rows_desc_init(tw_rows_desc *desc, size_t size);

/** Initialises a ::tw_rows_args: no addresses, the plan's count.
 *  @param[out] args not NULL. @param size sizeof(tw_rows_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_rows_args_init(tw_rows_args *args, size_t size);

/** Fills the types, sizes and pitches of a gather's or scatter's description; the other fields
 *  stay, `group` among them, which must be set before.
 *  @param table rows by columns, with contiguous rows. @param index contiguous; as many elements as
 *  packed has rows, times group. @param packed rows by as many columns as table has.
 *  @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not fit together.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_rows_desc_from_tensors(const tw_tensor *table, const tw_tensor *index,
                                           const tw_tensor *packed, tw_rows_desc *desc);

/** Plans a gather of rows. @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's. @retval TW_ERROR_INVALID_ARGUMENT a type or size cannot work.
 *  @retval TW_ERROR_UNSUPPORTED weights or a group of a type that has neither, a group of more than
 *  2^20, rows of more than 2^30 bytes, or indices of other integers than i32 and i64.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gather_plan(tw_device *device, const tw_rows_desc *desc, tw_plan **plan);

/** Answers whether tw_gather_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_gather_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gather_supported(tw_device *device, const tw_rows_desc *desc);

/** Enqueues a gather of rows. Nothing in the index array can make it read or write outside the
 *  operands. @param plan from tw_gather_plan(). @param stream of the same device.
 *  @param args not NULL. @retval TW_ERROR_INVALID_ARGUMENT an address is 0, weights are given that
 *  the description has no flag for, or count lies above the plan's. @retval TW_ERROR_MISALIGNED an
 *  address is no multiple of its element's size, or breaks the description's promise.
 *  @retval TW_ERROR_OVERLAP packed or invalid_count, which are written, share bytes with each other
 * or any other operand: the table's columns that are moved, index, weights, device_count. Rows may
 *  lie between those of another operand, as halves of one matrix do; where pitches differ and a
 *  bounded search cannot tell, they are refused.
 *  @repeats{yes}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gather_run(tw_plan *plan, tw_stream *stream, const tw_rows_args *args);

/** Plans a scatter of rows. tw_plan_info.workspace_bytes is what its runs need beside the operands.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's. @retval TW_ERROR_INVALID_ARGUMENT a type, size, column or option
 *  cannot work. @retval TW_ERROR_UNSUPPORTED a reduction of a type that has none, a window that
 *  begins before the table's first column, rows of more than 2^30 bytes, or indices of other
 * integers than i32 and i64.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_scatter_plan(tw_device *device, const tw_rows_desc *desc, tw_plan **plan);

/** Answers whether tw_scatter_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_scatter_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_scatter_supported(tw_device *device, const tw_rows_desc *desc);

/** Enqueues a scatter of rows. Nothing in the index array can make it write outside the table.
 *  TW_SCATTER_LAST_WINS and sums with TW_SCATTER_DETERMINISTIC need a workspace of
 *  tw_plan_info.workspace_bytes, the caller's until the run is done; its contents before do not
 *  matter, and runs that may be in flight together need one each.
 *  @param plan from tw_scatter_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is 0, weights are given that the description has no
 *  flag for, or count lies above the plan's. @retval TW_ERROR_MISALIGNED an address is no multiple
 *  of its element's size, breaks the description's promise, or is a workspace's and no multiple of
 *  256. @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
 *  @retval TW_ERROR_OVERLAP the table's columns that are moved, invalid_count or the workspace,
 * which are written, share bytes with each other or any other operand: packed, index, weights,
 * device_count. Rows may lie between those of another operand, as in tw_gather_run().
 *  @repeats{without a reduction: yes if each row is named once or the plan has
 *  TW_SCATTER_LAST_WINS. Otherwise each element may come from any of the indices that name its row.
 *  With a reduction: yes for integers and for minima and maxima. Sums of floating-point numbers
 *  repeat if each row is named once. If rows are named several times then sums of f32 or f16 or
 * bf16 repeat only with TW_SCATTER_DETERMINISTIC; sums of f64 do not repeat}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_scatter_run(tw_plan *plan, tw_stream *stream, const tw_rows_args *args);

/** @} */

/** @name Ragged copies: sequences of different lengths
 *  @{ */

/** Which way a ragged copy goes. */
typedef int32_t tw_ragged_direction;
enum {
  TW_RAGGED_PAD = 0,  /**< from the packed operand to the padded one */
  TW_RAGGED_UNPAD = 1 /**< from the padded operand to the packed one */
};

/** Sequences of different lengths: packed [tokens, packed_columns] behind one another, and padded
 *  [batch, rows, columns]. Sequence b is the packed rows offsets[b] to offsets[b + 1] - 1, as
 *  cu_seqlens say it. Row r of padded sequence b is row `row` + r of the sequence, columns `column`
 *  to column + columns - 1 of it, with the run's `row` and `column`. Padding fills rows that the
 *  sequence does not have; unpadding neither reads nor writes for them. Either pitch of the padded
 *  operand may be the larger: [rows, batch, columns] is as good.
 *
 *  Offsets are read when the run executes. A sequence whose own two offsets are negative, decrease
 *  or run past the tokens of the run has no rows; nothing outside the operands is read or written
 *  whatever they hold. If wrong offsets make two sequences share packed rows, the contents of
 *  those rows after unpadding are undefined; on the host device each element comes from one of the
 *  two sequences. */
typedef struct tw_ragged_desc {
  uint32_t struct_size;  /**< set by tw_ragged_desc_init() */
  uint32_t struct_mark;  /**< likewise */
  tw_dtype dtype;        /**< required: any type; only its size matters, unless NaN is asked for */
  tw_dtype offset_dtype; /**< TW_DTYPE_I32 or TW_DTYPE_I64 */
  tw_ragged_direction direction; /**< TW_RAGGED_ */
  uint32_t packed_alignment;     /**< bytes the packed operand's address is promised */
  uint32_t padded_alignment;     /**< bytes the padded operand's address is promised */
  uint32_t max_sms;              /**< at most so many blocks run, one an SM; 0: no bound */
  tw_oob_fill fill;              /**< of a padding copy; NaN, 0x7ff7 in each 16 bits, for f16, bf16,
                                      f32, tf32 and f64 */
  uint32_t reserved;             /**< 0 */
  int64_t batch;                 /**< required: sequences of a run, at most */
  int64_t tokens;                /**< required: rows of the packed operand in a run, at most */
  int64_t rows;                  /**< required: of each sequence in the padded operand */
  int64_t columns;               /**< required: elements of a row that are moved */
  int64_t packed_columns;        /**< elements of a packed row; 0: columns */
  int64_t packed_pitch;          /**< elements between packed rows; 0: packed_columns */
  int64_t padded_pitch;          /**< elements between padded rows of a sequence; 0: columns */
  int64_t padded_batch_pitch;    /**< elements between padded sequences; 0: rows * padded_pitch */
} tw_ragged_desc;

/** Addresses and window of a ragged copy's run. */
typedef struct tw_ragged_args {
  uint32_t struct_size; /**< set by tw_ragged_args_init() */
  uint32_t struct_mark; /**< likewise */
  uint64_t packed;      /**< required: device address of row 0, column 0 */
  uint64_t offsets;     /**< required: batch + 1 numbers in device memory, aligned to their type */
  uint64_t padded;      /**< required: device address of sequence 0, row 0 */
  int64_t batch;        /**< sequences of this run; -1: the plan's */
  int64_t tokens;       /**< rows of the packed operand in this run; -1: the plan's */
  int64_t row;          /**< of each sequence, that is padded row 0; may be negative */
  int64_t column;       /**< first column, 0 to packed_columns - columns */
  /** A 64-bit device word to which the number of sequences with wrong offsets is added; 0: none.
   *  Without it the host device waits for the stream, looks at the offsets and refuses the run; not
   *  while the stream is captured. */
  uint64_t invalid_count;
} tw_ragged_args;

/** Initialises a ::tw_ragged_desc: i32 offsets, padding with zeros; batch, tokens, rows and
 *  columns unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_ragged_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_ragged_desc_init(tw_ragged_desc *desc, size_t size);

/** Initialises a ::tw_ragged_args: no addresses, the plan's batch and tokens.
 *  @param[out] args not NULL. @param size sizeof(tw_ragged_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_ragged_args_init(tw_ragged_args *args, size_t size);

/** Fills the types, sizes and pitches of a ragged copy's description; the other fields stay.
 *  @param packed tokens by columns. @param offsets contiguous; sequences plus 1 elements.
 *  @param padded sequences by rows by columns. Rows are contiguous in both operands.
 *  @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not fit together.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_ragged_desc_from_tensors(const tw_tensor *packed, const tw_tensor *offsets,
                                             const tw_tensor *padded, tw_ragged_desc *desc);

/** Plans a ragged copy. @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's. @retval TW_ERROR_INVALID_ARGUMENT a type, size, pitch or option
 *  cannot work. @retval TW_ERROR_UNSUPPORTED NaN of a type that has no such pattern, or offsets of
 *  other integers than i32 and i64.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_ragged_plan(tw_device *device, const tw_ragged_desc *desc, tw_plan **plan);

/** Answers whether tw_ragged_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_ragged_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_ragged_supported(tw_device *device, const tw_ragged_desc *desc);

/** Enqueues a ragged copy. Nothing in the offsets can make it read or write outside the operands.
 *  @param plan from tw_ragged_plan(). @param stream of the same device.
 *  @param args not NULL. @retval TW_ERROR_INVALID_ARGUMENT a number of the run is outside what was
 *  planned; on the host device also offsets that decrease, are negative or run past the tokens,
 *  where args have no invalid_count. @retval TW_ERROR_MISALIGNED an address breaks the
 * description's promise. @retval TW_ERROR_OVERLAP operands overlap.
 *  @repeats{yes}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_ragged_run(tw_plan *plan, tw_stream *stream, const tw_ragged_args *args);

/** @} */

/** @name Routing: which experts take which tokens
 *  @{ */

/** How a logit becomes the score that an expert's weight is made of. */
typedef int32_t tw_route_score;
enum {
  TW_ROUTE_SOFTMAX = 0,       /**< exp(logit) over the sum of all experts' */
  TW_ROUTE_SIGMOID = 1,       /**< 1 / (1 + exp(-logit)) */
  TW_ROUTE_SOFTMAX_CHOSEN = 2 /**< exp(logit) over the sum of the chosen experts' */
};

/** By what a group of experts is chosen. */
typedef int32_t tw_route_group_score;
enum {
  TW_ROUTE_GROUP_BEST = 0, /**< by its best expert */
  TW_ROUTE_GROUP_TOP2 = 1  /**< by the sum of its two best experts' scores, biases included */
};

/** Options of a routing: bits of tw_route_desc.flags. */
enum {
  /** A token's weights are divided by their sum, where that is above 0, and so add up to 1. */
  TW_ROUTE_RENORMALIZE = 1,
  /** The experts of each token are given and not chosen: tw_route_args.given_ids. */
  TW_ROUTE_GIVEN_IDS = 2
};

/** Routing of tokens to experts, for mixtures of experts. Of each token the top_k experts with the
 *  largest logits are chosen, the best first. Slot s of token t is the pair t * top_k + s. Results
 *  are the experts and weights of all pairs, and the order of the pairs by expert, in which grouped
 *  matrix products take them. All is read and computed when the run executes, so that one captured
 *  graph serves any logits.
 *
 *  Of equal experts the one with the lower number is the better one; -0 equals 0, and a NaN is
 * below every number. With a bias (tw_route_args.bias) an expert is chosen by its score plus its
 * bias, with TW_ROUTE_SOFTMAX_CHOSEN by its logit plus its bias; an expert whose logit is NaN comes
 * last all the same. Experts may be in groups of neighbours, of which the best top_groups are taken
 *  first; with TW_ROUTE_GROUP_TOP2 experts are chosen by score without a bias too. Biases do not
 *  count in weights, which are the scores, divided by their sum if the flag says so, times `scale`.
 *  The score of a NaN is 0, and of infinite logits in a softmax each counts as exp(0). Scores are
 *  f32 with a relative error below 2^-16; below exp(-87), of a sigmoid below exp(-83), they are 0.
 *  Every device computes the same bits.
 *
 *  An expert map says which experts are local, and under what number. Pairs of other experts are
 *  dropped from counts and order, and keep their id and weight. So are given ids that are no
 *  expert's, and entries of the map that are neither -1 nor a local expert's number; these are
 *  counted in tw_route_args.invalid_count. */
typedef struct tw_route_desc {
  uint32_t struct_size; /**< set by tw_route_desc_init() */
  uint32_t struct_mark; /**< likewise */
  tw_dtype dtype;       /**< required: of the logits, TW_DTYPE_F32, TW_DTYPE_BF16 or TW_DTYPE_F16; 0
                             with TW_ROUTE_GIVEN_IDS */
  tw_dtype id_dtype;    /**< of given ids: TW_DTYPE_I32 or TW_DTYPE_I64 */
  tw_dtype offset_dtype;            /**< of the offsets: TW_DTYPE_I32 or TW_DTYPE_I64 */
  tw_route_score score;             /**< TW_ROUTE_SOFTMAX and its like */
  tw_route_group_score group_score; /**< TW_ROUTE_GROUP_; only where groups is above 1 */
  uint32_t flags;                   /**< TW_ROUTE_RENORMALIZE, TW_ROUTE_GIVEN_IDS */
  float scale;                      /**< factor of all weights */
  uint32_t max_sms;                 /**< at most so many blocks run, one an SM; 0: no bound */
  int64_t tokens;        /**< required: of a run, at most; tokens times top_k is below 2^31 */
  int64_t experts;       /**< required: 1 to 1024 */
  int64_t top_k;         /**< required: experts of each token, 1 to 32 */
  int64_t local_experts; /**< numbers that the expert map gives, 1 to experts; 0: experts */
  int64_t groups;        /**< of experts / groups neighbours each, 1 to 32; 0: 1 */
  int64_t top_groups;    /**< groups that experts are chosen from; 0: all of them */
  int64_t logits_pitch;  /**< elements between the logits of neighbouring tokens; 0: experts */
} tw_route_desc;

/** Addresses of a routing's run. Results whose address is 0 are not computed; at least one is
 *  wanted. Arrays are contiguous. */
typedef struct tw_route_args {
  uint32_t struct_size;   /**< set by tw_route_args_init() */
  uint32_t struct_mark;   /**< likewise */
  int64_t tokens;         /**< of this run; -1: the plan's */
  uint64_t logits;        /**< required: [tokens, experts]; 0 with TW_ROUTE_GIVEN_IDS */
  uint64_t bias;          /**< f32 [experts], added for the choice alone; 0: none */
  uint64_t given_ids;     /**< [tokens, top_k], with TW_ROUTE_GIVEN_IDS required; else 0 */
  uint64_t given_weights; /**< f32 [tokens, top_k], with TW_ROUTE_GIVEN_IDS: scores that `weights`
                               is made of; 0 where `weights` is */
  uint64_t expert_map;    /**< i32 [experts]: each expert's local number, or -1; 0: the numbers are
                               the same, where local_experts is experts */
  uint64_t ids;           /**< i32 [tokens, top_k]: the experts; -1 for a given id that is none's */
  uint64_t weights;       /**< f32 [tokens, top_k] */
  uint64_t counts;        /**< i32 [local_experts]: pairs of each local expert */
  uint64_t offsets;      /**< [local_experts + 1]: pairs of all lower local experts; the last is the
                              number of pairs in the order */
  uint64_t order;        /**< i32 [tokens, top_k]: pairs by local expert, those of one expert in
                              their own order; then -1 for each pair that was dropped */
  uint64_t order_tokens; /**< i32 [tokens, top_k]: the tokens of the pairs in `order`, or -1: what
                              tw_gather_run() takes as index */
  uint64_t inverse;      /**< i32 [tokens, top_k]: each pair's place in `order`; -1: dropped */
  uint64_t invalid_count;   /**< a 64-bit device word to which the number of pairs with wrong ids or
                                 wrong entries of the map is added; 0: none */
  uint64_t workspace;       /**< a multiple of 256, where a run needs one; else ignored */
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
} tw_route_args;

/** Initialises a ::tw_route_desc: i32 ids and offsets, softmax, no groups, scale 1; tokens, experts
 *  and top_k unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_route_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_route_desc_init(tw_route_desc *desc, size_t size);

/** Initialises a ::tw_route_args: no addresses, the plan's tokens.
 *  @param[out] args not NULL. @param size sizeof(tw_route_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_route_args_init(tw_route_args *args, size_t size);

/** Fills the types, sizes and pitch of a routing's description; the other fields stay. `flags` must
 *  be set before, and with TW_ROUTE_GIVEN_IDS also `experts`.
 *  @param logits tokens by experts, with contiguous rows; NULL with TW_ROUTE_GIVEN_IDS.
 *  @param ids contiguous; tokens by experts of each token: the result, or the ids that are given.
 *  @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not fit together.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_route_desc_from_tensors(const tw_tensor *logits, const tw_tensor *ids,
                                            tw_route_desc *desc);

/** Plans a routing. tw_plan_info.workspace_bytes is what its runs need beside the operands, nothing
 *  up to 128 tokens. @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's. @retval TW_ERROR_INVALID_ARGUMENT a type, size, pitch or option
 *  cannot work. @retval TW_ERROR_UNSUPPORTED logits of other types, ids or offsets of other
 * integers than i32 and i64, more than 1024 experts, 32 experts of a token or 32 groups.
 *  @retval TW_ERROR_OVERFLOW 2^31 pairs or more, or logits that span more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_route_plan(tw_device *device, const tw_route_desc *desc, tw_plan **plan);

/** Answers whether tw_route_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_route_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_route_supported(tw_device *device, const tw_route_desc *desc);

/** Enqueues a routing. Nothing in logits, ids or map can make it read or write outside the
 * operands. Runs of more than 128 tokens that want counts, offsets, an order or its inverse need a
 * workspace of tw_plan_info.workspace_bytes, the caller's until the run is done; its contents
 * before do not matter, and runs that may be in flight together need one each. A run of no tokens
 * writes counts and offsets of 0.
 *  @param plan from tw_route_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT a required address is 0, one is given that the description has
 *  no use for, no result is wanted, or tokens lies outside the plan's.
 *  @retval TW_ERROR_MISALIGNED an address is no multiple of its element's size, or is a workspace's
 *  and no multiple of 256. @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
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
  TW_COMBINE_ADD = 0,     /**< act(alpha * a + beta * b); without b act(alpha * a) */
  TW_COMBINE_MULTIPLY = 1 /**< act(alpha * a) * b; needs b, and has no beta */
};

/** Options of an elementwise operation: bits of tw_elementwise_desc.flags. */
enum {
  /** Floating results beyond the largest finite number of dst_dtype, infinities included, become
   *  that number of their sign. Without it they become infinity. In f8e4m3,
   *  which has no infinity, they become NaN. */
  TW_ELEMENTWISE_SATURATE = 1,
  /** Runs may give the device addresses of alpha and beta: see tw_elementwise_args. For floating
   *  types. */
  TW_ELEMENTWISE_DEVICE_SCALARS = 2
};

/** dst[i...] = act(alpha * a[i...] + beta * b[i...]), or act(alpha * a[i...]) * b[i...], or without
 *  b act(alpha * a[i...]), converted to dst_dtype.
 *  f32, f16, bf16, f8e4m3 and f8e5m2 are converted to one another. The result is computed in f32,
 *  each step rounded to nearest even: a sum as fma(alpha, a, beta * b); a product as
 *  act(alpha * a) * b, which has two roundings. It is then rounded once to dst_dtype. act is
 *  `activation`, within the errors that tw_activation states, of the f32 that it is given. Without
 *  an activation all devices give the same bits. Every NaN that is written is the one with all bits
 *  but the sign set.
 *  Integers of 8 to 64 bits and f64 are of one type in all operands, and have no activation.
 *  Integers wrap. f64 is computed in f64 with factors that are f32.
 *  With a reduction the result, in dst_dtype, is then reduced into what the destination holds,
 *  where it may round and saturate once more: add, min and max of f32, f16, bf16, f64 and integers,
 *  and, or and xor of integers, inc and dec of u32. Of min and max -0 is below +0. A reduction uses
 *  no atomics: nobody else may write the destination meanwhile.
 *  Example, a cache scaled and narrowed in one call: a_dtype TW_DTYPE_BF16, dst_dtype
 *  TW_DTYPE_F8E4M3, flags TW_ELEMENTWISE_SATURATE | TW_ELEMENTWISE_DEVICE_SCALARS, and in each run
 *  device_alpha the address of the factor. A gated layer silu(a) * b: TW_COMBINE_MULTIPLY and
 *  TW_ACTIVATION_SILU. A factor for each row or column: TW_COMBINE_MULTIPLY, and a b of f32 whose
 *  other stride is 0. */
typedef struct tw_elementwise_desc {
  uint32_t struct_size;        /**< set by tw_elementwise_desc_init() */
  uint32_t struct_mark;        /**< likewise */
  tw_dtype a_dtype;            /**< of a */
  tw_dtype b_dtype;            /**< of b; 0: there is no b */
  tw_dtype dst_dtype;          /**< of the destination */
  int32_t rank;                /**< required: 1 to 8 */
  uint32_t a_alignment;        /**< bytes the address is promised to be a multiple of; 0: none */
  uint32_t b_alignment;        /**< likewise for b. Only with b */
  uint32_t dst_alignment;      /**< likewise for the destination */
  tw_reduction reduction;      /**< of the result into the destination */
  uint32_t flags;              /**< TW_ELEMENTWISE_ bits */
  uint32_t max_sms;            /**< at most so many blocks run, one an SM; 0: no bound */
  tw_cache_priority src_cache; /**< for what is read of a and b */
  tw_cache_priority dst_cache; /**< for the destination */
  tw_combine combine;          /**< TW_COMBINE_ADD by default */
  tw_activation activation;    /**< none by default */
  int64_t shape[8];            /**< required: elements, outermost first; 0 is an empty operation */
  int64_t a_stride[8];         /**< required: elements; 0 repeats */
  int64_t b_stride[8];         /**< required with b, excluded without: likewise */
  int64_t dst_stride[8];       /**< required: elements; no two coordinates may share an element */
} tw_elementwise_desc;

/** Addresses, of the elements with coordinate 0, and factors of an elementwise run. */
typedef struct tw_elementwise_args {
  uint32_t struct_size; /**< set by tw_elementwise_args_init() */
  uint32_t struct_mark; /**< likewise */
  float alpha;          /**< 1 by default; for integers a whole number below 2^63 */
  float beta;           /**< 1 by default; likewise; without b, and with TW_COMBINE_MULTIPLY, it
                             must stay 1 */
  uint64_t a;           /**< required: device address */
  uint64_t b;           /**< required with b, else 0: device address */
  uint64_t dst; /**< required: device address; may be a's or b's where strides and the size of
                     an element are the same, else it shares no byte with them */
  uint64_t device_alpha; /**< with TW_ELEMENTWISE_DEVICE_SCALARS: device address of an aligned f32
                              that is read when the run executes and replaces alpha; it shares no
                              byte with dst; 0: alpha counts */
  uint64_t device_beta;  /**< likewise for beta, where b is added */
} tw_elementwise_args;

/** Initialises a ::tw_elementwise_desc: f32 to f32, no b; shape and strides unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_elementwise_desc) as the caller's compiler sees
 * it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_elementwise_desc_init(tw_elementwise_desc *desc, size_t size);

/** Initialises a ::tw_elementwise_args: alpha 1, beta 1.
 *  @param[out] args not NULL. @param size sizeof(tw_elementwise_args) as the caller's compiler sees
 * it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_elementwise_args_init(tw_elementwise_args *args, size_t size);

/** Fills types, rank, shape and strides of an elementwise description; the other fields stay. A
 *  source's dimensions are matched with dst's from the last one; an extent of 1 and a dimension
 *  that it lacks are repeated.
 *  @param a not NULL. @param b NULL if there is none. @param dst not NULL.
 *  @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not fit together, or dst may not be written.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_elementwise_desc_from_tensors(const tw_tensor *a, const tw_tensor *b,
                                                  const tw_tensor *dst, tw_elementwise_desc *desc);

/** Plans an elementwise operation: a conversion, an activation, a sum or product of two tensors, or
 *  a reduction into a third. @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's, to be given to tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a type, rank, extent, alignment, reduction, combination,
 *  activation or flag cannot work, or there is no b to multiply by.
 *  @retval TW_ERROR_UNSUPPORTED types that are not converted to one another, or a reduction,
 *  activation or flag that dst_dtype has not; the message names them.
 *  @retval TW_ERROR_OVERLAP the destination would write an element twice.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_elementwise_plan(tw_device *device, const tw_elementwise_desc *desc,
                                     tw_plan **plan);

/** Answers whether tw_elementwise_plan() could plan this description, without making a plan: see
 * the beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_elementwise_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_elementwise_supported(tw_device *device, const tw_elementwise_desc *desc);

/** Enqueues an elementwise operation. @param plan from tw_elementwise_plan(). @param stream of the
 *  same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT an address is 0, a factor of integers is no whole number, a
 *  scalar's address is given without TW_ELEMENTWISE_DEVICE_SCALARS, or a beta where there is none.
 *  @retval TW_ERROR_MISALIGNED an address breaks the description's promise, or a scalar's is no
 *  multiple of 4.
 *  @retval TW_ERROR_OVERLAP the destination shares bytes with a source without being it, or with a
 *  scalar.
 *  @repeats{yes; reductions too. Without an activation all devices give the same bits}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_elementwise_run(tw_plan *plan, tw_stream *stream,
                                    const tw_elementwise_args *args);

/** @} */

/** @name Matrix products
 *  @{ */

/** Order of a matrix in memory. */
typedef int32_t tw_order;
enum {
  TW_ROW_MAJOR = 0, /**< C order: the elements of a row are contiguous, and the leading dimension
                         is the distance between rows, in elements */
  /** Fortran order: the elements of a column are contiguous, and the leading dimension is the
   *  distance between columns. A matrix B of k by n that is stored transposed, as n rows of k
   *  elements, is column-major with leading dimension k. */
  TW_COLUMN_MAJOR = 1
};

/** Options of a matrix product. */
enum {
  /** a, b, c and d of a run are device addresses of arrays of batch_count 64-bit device addresses,
   * a matrix each, which are read when the run executes; batch strides are not looked at. A product
   *  with an address that is 0 or breaks the description's promise (an element's own alignment is
   *  always needed) is left out whole: see tw_gemm_args's invalid_count. Needs a workspace. */
  TW_GEMM_BATCH_POINTERS = 1,
  /** The bits of a row of D, but for the sign of a zero, do not depend on m, nor on the plan's m:
   *  the kernels of all m take the same steps over k and share k among the same number of blocks,
   *  which follow from the rest of the description and the chip. Costs speed for few rows. A
   *  column-major A needs an lda (packed it would follow from m) or TW_GEMM_STAGING_COPY. In
   *  two cases several blocks share k and must run at the same time: D is f16 and k is above 16384;
   *  or D is f32, k is above 4096, and there is an epilogue, a batch, TW_GEMM_DEVICE_M or
   *  TW_GEMM_DEVICE_SCALARS. If m then needs more such blocks than max_sms allows, planning returns
   *  TW_ERROR_UNSUPPORTED and the message gives the largest m that works. */
  TW_GEMM_BATCH_INVARIANT = 2,
  /** The run's kernels may be launched while the kernel before them in the stream still runs; they
   *  wait for its end before they read an operand that is not declared constant and before they
   *  write. Works in captured streams too. */
  TW_GEMM_PROGRAMMATIC = 4,
  /** A does not change while kernels of the stream that come shortly before the run execute: with
   *  TW_GEMM_PROGRAMMATIC it may be read before they have ended. */
  TW_GEMM_A_CONSTANT = 8,
  TW_GEMM_B_CONSTANT = 16, /**< likewise B, weights for example */
  /** Runs may give the address of their m: see tw_gemm_args's device_m. */
  TW_GEMM_DEVICE_M = 32,
  /** Runs may give the addresses of alpha and beta. */
  TW_GEMM_DEVICE_SCALARS = 64,
  /** Operands that no tensor map can read (a pitch or an address that is no multiple of 16 bytes)
   *  are first copied into the run's workspace, which is faster than reading them element by
   *  element. If A may need such a staging copy, min_m must equal m; and matrices of a batch that
   *  may need one for their address alone must not share elements. An operand and its copy span
   *  2^60 bytes at most. */
  TW_GEMM_STAGING_COPY = 128,
  /** The bytes from D's extent to its leading dimension may be overwritten, of the last line too.
   */
  TW_GEMM_D_PADDING_FREE = 256,
  /** Runs find the largest |D|: see tw_gemm_args's amax. */
  TW_GEMM_AMAX = 512,
  /** With 8-bit floats, and scales that do not change along k (TW_SCALE_NONE, TW_SCALE_TENSOR,
   *  TW_SCALE_ROW): sums may stay in the tensor cores however long k is, instead of being added in
   *  f32 for each 128 of k. Faster, and less accurate: on compute capability 9.0 such a sum keeps
   *  14 bits. @experimental{like the types that it is for} */
  TW_GEMM_FAST_ACCUMULATE = 1024
};

/** Where a vector has an element. */
typedef int32_t tw_per;
enum {
  TW_PER_NONE = 0,   /**< there is no vector */
  TW_PER_TENSOR = 1, /**< one element for all */
  TW_PER_ROW = 2,    /**< one for each row */
  TW_PER_COLUMN = 3  /**< one for each column */
};

/** Which columns of V = alpha * A B + beta * C + bias make one of D: act(first) * second. */
typedef int32_t tw_gate;
enum {
  TW_GATE_NONE = 0,       /**< each its own: act(v) */
  TW_GATE_HALVES = 1,     /**< columns j and j + n / 2 make column j of D */
  TW_GATE_INTERLEAVED = 2 /**< columns 2 j and 2 j + 1 make column j of D */
};

/** Which elements of A or B, of an 8-bit type or tf32, have an f32 in common that dequantises them:
 *
 *      A B = sum over blocks of 128 of k (a_scale * b_scale * (sum of the block's products))
 *
 *  The product of two scales is rounded to f32 first. Scales that do not change along k multiply
 *  the finished sum. Pairs of A's and B's are: none of both, TW_SCALE_TENSOR twice, TW_SCALE_ROW
 *  twice, TW_SCALE_1X128 twice, and TW_SCALE_1X128 of A with TW_SCALE_128X128 of B. Others are
 *  refused with TW_ERROR_UNSUPPORTED, and so are TW_SCALE_K32_UE8M0 and TW_SCALE_K16_UE4M3, names
 *  for a later version.
 *
 *  Blocks that k, or m or n, ends in count as whole ones. Scales by blocks are a matrix with an
 *  order and a leading dimension: A's has a row for each row of A (TW_SCALE_1X128) or 128 of them,
 *  and a column for each 128 of k; B's, as B is k x n, a row for each 128 of k, and a column for
 *  each column of B or 128 of them. So scales of a B that is stored as n rows of k elements, with
 *  the scales of 128 columns behind one another along k, are column-major here.
 *  Quantisation makes such scales: see ::tw_quantize_desc.
 *
 *  @experimental{all values except TW_SCALE_NONE; also the fields of ::tw_gemm_desc, ::tw_gemm_args,
 *  ::tw_grouped_desc and ::tw_grouped_args that describe scales of A and B} */
typedef int32_t tw_scale_kind;
enum {
  TW_SCALE_NONE = 0,    /**< no scales */
  TW_SCALE_TENSOR = 1,  /**< one f32 for the whole operand */
  TW_SCALE_ROW = 2,     /**< one f32 for each row of A or column of B */
  TW_SCALE_1X128 = 3,   /**< one f32 for each 128 elements along k of a row of A or column of B */
  TW_SCALE_128X128 = 4, /**< one f32 for each block of 128 by 128 elements */
  TW_SCALE_K32_UE8M0 = 20, /**< one power of two, a byte, for each 32 elements along k */
  TW_SCALE_K16_UE4M3 = 21  /**< one unsigned 8-bit float for each 16 elements along k */
};

/** D = act(alpha * A B + beta * C + bias) * d_scale; A is m x k, B is k x n, C and D are m x n,
 * where columns are gated D is m x n / 2. Sums, scalars and functions are f32. D is rounded once,
 * with one exception: if D is f32 and k is above 4096, k may be split into several partial sums,
 * and D is rounded as each of them is added. A zero sum may have either sign. A run may have any m
 * from min_m to m: a plan prepares a kernel for each range of m, and which kernel serves an m does
 * not depend on the plan's own range. With n or m of 0, or batch_count 0, a run writes nothing.
 * With k = 0, A B is zero, neither A nor B is read, and D is written.
 */
typedef struct tw_gemm_desc {
  uint32_t struct_size; /**< set by tw_gemm_desc_init() */
  uint32_t struct_mark; /**< likewise */
  /** TW_DTYPE_BF16, the default, or TW_DTYPE_F16; or one of these, with other rules for the types
   *  that follow: TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2, TW_DTYPE_I8, and TW_DTYPE_TF32, f32 in memory
   *  whose elements are rounded to nearest even as they are read. Sums of i8 are exact modulo 2^32.
   *  @experimental{the types behind TW_DTYPE_F16} */
  tw_dtype a_dtype;
  tw_dtype b_dtype; /**< 0, the default: a_dtype. Of 8-bit floats the two may differ; one of them
                         at least is TW_DTYPE_F8E4M3 */
  tw_dtype c_dtype; /**< 0, the default: d_dtype. Others are unsupported so far */
  /** 0, the default: a_dtype, with TW_DTYPE_TF32 TW_DTYPE_F32. With 16-bit A a_dtype or
   *  TW_DTYPE_F32. Otherwise TW_DTYPE_BF16, TW_DTYPE_F16, TW_DTYPE_F32, or one of 8 bits, which
   *  saturates: with 8-bit floats and TW_DTYPE_TF32 one of the two 8-bit floats, of which NaN stays
   *  NaN; with TW_DTYPE_I8 TW_DTYPE_I8, of which NaN becomes 0; or TW_DTYPE_I32, the sums of A B
   *  alone: alpha is 1 and beta 0, and there are no scales and no epilogue. */
  tw_dtype d_dtype;
  tw_dtype
      accumulator_dtype; /**< TW_DTYPE_F32, the default; or TW_DTYPE_F16 where a_dtype and d_dtype
                            are F16: where there is such a kernel it accumulates in f16; with
                            TW_DTYPE_I8 also TW_DTYPE_I32, which means the same as the default */
  tw_dtype bias_dtype;   /**< a_dtype or TW_DTYPE_F32; 0: d_dtype. With 8-bit types and tf32
                              TW_DTYPE_BF16, TW_DTYPE_F16 or TW_DTYPE_F32; 0: d_dtype if it has 16
                              bits, else TW_DTYPE_F32. Only with bias */
  tw_order a_order;      /**< of A: TW_ROW_MAJOR by default */
  tw_order b_order;      /**< of B: likewise */
  tw_order d_order;      /**< of C and D: likewise */
  uint32_t flags;        /**< TW_GEMM_ bits */
  uint32_t a_alignment;  /**< bytes the addresses are promised to be multiples of; 0: none */
  uint32_t b_alignment;  /**< of B */
  uint32_t c_alignment;  /**< of C */
  uint32_t d_alignment;  /**< of D */
  uint32_t max_sms;      /**< at most so many blocks run, one an SM; 0: no bound. The short
                              kernel that reads arrays of addresses in front of a product is
                              not counted: it has a block of four warps for four products */
  tw_per bias;           /**< TW_PER_NONE by default, TW_PER_ROW (m elements) or TW_PER_COLUMN
                              (n); all products of a batch share it */
  tw_activation activation; /**< none by default */
  tw_gate gate;             /**< with any activation; n is even then, and D has n / 2 columns */
  tw_per d_scale;           /**< factors of D's elements, f32: rows as D's, columns as D's */
  tw_scale_kind a_scale;    /**< scales of A, with 8-bit types and tf32 */
  tw_scale_kind b_scale;    /**< scales of B; tw_scale_kind has the pairs */
  tw_order a_scale_order;   /**< of the matrix of A's scales, where they are by blocks */
  tw_order b_scale_order;   /**< of the matrix of B's scales, likewise */
  uint32_t reserved;        /**< 0 */
  int64_t m;                /**< required: the most rows of A, C and D that a run may have; m, n and
                                 k are 0 to 2147482624 */
  int64_t n;                /**< required: columns of B and C, and of D unless they are gated */
  int64_t k;     /**< required: columns of A, rows of B; with 0, A B is zero and D is written */
  int64_t min_m; /**< 0 by default: the fewest rows of a run, unless it has none; a plan
                      prepares no kernel for fewer rows */
  int64_t lda;   /**< leading dimension of A, elements (see tw_order); 0: packed, the
                      elements of a row or, column-major, of a column. The fast kernels
                      need lda and ldb in multiples of 16 bytes, below 2^40 bytes */
  int64_t ldb;   /**< of B */
  int64_t ldc;   /**< of C */
  int64_t ldd;   /**< of D */
  int64_t batch_count;    /**< products in a run, 1 by default, 2^20 at most; 0: runs do nothing */
  int64_t a_batch_stride; /**< elements from one product's A to the next one's; 0: all share A;
                               -1, the default: packed, the leading dimension times its lines */
  int64_t b_batch_stride; /**< likewise of B */
  int64_t c_batch_stride; /**< likewise of C */
  int64_t d_batch_stride; /**< of D, whose matrices may lie between each other's lines but share
                               no element */
  int64_t a_scale_ld;     /**< leading dimension of the matrix of A's scales, elements; 0: packed */
  int64_t b_scale_ld;     /**< likewise of B's scales */
  int64_t a_scale_batch_stride; /**< elements from one product's scales of A to the next one's; 0:
                                     all share them; -1, the default: packed */
  int64_t b_scale_batch_stride; /**< likewise of B's scales */
  /** TW_SCALE_NONE by default. With TW_SCALE_1X128 and a row-major D of 8-bit floats runs compute a
   *  scale for each row of D and 128 of its columns: their largest finite magnitude divided by the
   *  type's largest number (448 or 57344), 1 where all are zero, 2^-126 at least. D has the
   *  elements multiplied by its inverse, so that D and its scales are an A of the next product.
   *  @experimental{like the types that it is for} */
  tw_scale_kind d_quantize;
  tw_order d_scale_order;       /**< of the matrix of D's scales: rows as D's, a column for each 128
                                     of D's. Only with d_quantize */
  int64_t d_scale_ld;           /**< leading dimension of D's scales, elements; 0: packed */
  int64_t d_scale_batch_stride; /**< as a_scale_batch_stride, of D's scales */
} tw_gemm_desc;

/** Addresses and scalars of a GEMM's run. */
typedef struct tw_gemm_args {
  uint32_t struct_size; /**< set by tw_gemm_args_init() */
  uint32_t struct_mark; /**< likewise */
  float alpha;          /**< 1 by default; with 0 neither A nor B is read */
  float beta;           /**< 0 by default, and then C is not read */
  float d_scale_value;  /**< 1 by default: the factor where d_scale is TW_PER_TENSOR and its
                             address 0 */
  uint32_t reserved;    /**< 0 */
  uint64_t a;           /**< required: device address of A */
  uint64_t b;           /**< required: device address of B */
  uint64_t c;           /**< required unless beta is 0: device address of C. May equal d, where C
                             lies as D: with equal pitches as far as there are several lines,
                             equal batch strides as far as there are several products, and no
                             gate */
  uint64_t d;           /**< required: device address of D */
  int64_t m;            /**< rows of this run, 0 or min_m to the plan's m; -1, the default: the
                             plan's */
  /** A multiple of 256 where tw_plan_info.workspace_bytes is not 0; else ignored. Plans with
   *  TW_GEMM_STAGING_COPY or TW_GEMM_BATCH_POINTERS need it. Of other plans a run without one (0)
   *  takes a kernel that adds up no parts of k, which may be slower. It is the run's until the run
   *  is done: runs at the same time have one each. What it holds before does not matter. */
  uint64_t workspace;
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
  /** With TW_GEMM_DEVICE_M: address of an aligned int64_t, the rows of this run, read when it
   *  executes. What lies outside 0 to m counts as the nearer of the two; with 0 rows nothing is
   *  written. A, C and D must have m rows all the same, and rows of D past the number are left as
   *  they are. 0: the number is m. */
  uint64_t device_m;
  uint64_t device_alpha; /**< with TW_GEMM_DEVICE_SCALARS: address of an aligned float that is read
                              when the run executes, in alpha's place; 0: alpha */
  uint64_t device_beta;  /**< likewise of beta: c must be an address */
  /** With TW_GEMM_BATCH_POINTERS: a 64-bit device word to which the number of products that were
   *  left out is added; 0: none, and the host device waits for the arrays and refuses a run with
   *  such a product, unless the stream is captured. */
  uint64_t invalid_count;
  uint64_t bias;    /**< required with bias, else 0: device address */
  uint64_t d_scale; /**< required with d_scale, else 0: device address of f32. With
                         TW_PER_TENSOR it may be 0, and d_scale_value counts */
  /** Required with TW_GEMM_AMAX, else 0: device address of an f32 word that is raised to the
   *  largest |D| of the run, as D is rounded, if it is less; of 8-bit floats to the largest
   *  magnitude before d_scale and D's rounding, from which the next run's d_scale follows. Nobody
   *  resets it: set it to 0 before the first run that counts. NaN in D makes it NaN. */
  uint64_t amax;
  uint64_t a_scale; /**< required with a_scale, else 0: device address of A's scales, f32, which
                         are read when the run executes */
  uint64_t b_scale; /**< likewise of B's scales */
  uint64_t d_block_scale; /**< required with d_quantize, else 0: device address of D's scales, f32,
                               which the run writes */
} tw_gemm_args;

/** Initialises a ::tw_gemm_desc: bf16, row-major, one product, no epilogue; m, n and k unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_gemm_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_desc_init(tw_gemm_desc *desc, size_t size);

/** Initialises a ::tw_gemm_args: alpha 1, beta 0, the plan's m.
 *  @param[out] args not NULL. @param size sizeof(tw_gemm_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_args_init(tw_gemm_args *args, size_t size);

/** Fills types, m, n, k, orders, leading dimensions and batch strides of a product's description;
 *  the other fields stay, `gate` among them, which must be set before. A matrix that is contiguous
 *  along its columns is column-major, so that a transposed view needs no copy. Where a_dtype is
 *  TW_DTYPE_TF32 before, an A and a B of f32 keep that type.
 *  @param a m by k, or products by m by k. @param b k by n, or products by k by n. @param c as d,
 * or NULL if no run reads C. @param d m by n (n / 2 columns with a gate), or products by m by n;
 * one product of a, b or c is shared by all.
 *  @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not fit together, strides are those of no
 *  matrix in either order, or d may not be written.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_desc_from_tensors(const tw_tensor *a, const tw_tensor *b,
                                           const tw_tensor *c, const tw_tensor *d,
                                           tw_gemm_desc *desc);

/** Plans a matrix product. @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's, to be given to tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a size is unset, or a number names no type, or a size, leading
 *  dimension, batch stride, epilogue or option cannot work. @retval TW_ERROR_OVERLAP matrices of D
 *  in a batch share elements, or those of an operand that TW_GEMM_STAGING_COPY would copy.
 *  @retval TW_ERROR_OVERFLOW an operand's bytes exceed 2^63 - 1, or 2^60 where TW_GEMM_STAGING_COPY
 *  would copy it. @retval TW_ERROR_UNSUPPORTED no kernel takes the types (f8e4m3, for
 *  example), the scales, the bias or the rest of the description on this device or with this
 *  max_sms; an extent is above 2147482624; there are more than 2^20 products; there are more tiles
 *  than a launch can have; or TW_GEMM_STAGING_COPY would copy an A that runs of fewer rows read.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_plan(tw_device *device, const tw_gemm_desc *desc, tw_plan **plan);

/** Answers whether tw_gemm_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_gemm_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_supported(tw_device *device, const tw_gemm_desc *desc);

/** Enqueues a matrix product. @param plan from tw_gemm_plan(). @param stream of the same device.
 *  @param args not NULL. @retval TW_ERROR_MISALIGNED a promise is broken.
 *  @retval TW_ERROR_OVERLAP what the run writes (D, the words amax and invalid_count, the workspace
 * where it is used) shares a byte with anything else that the run reads or writes by args: C alone
 * may be D. Operands may lie between each other's lines, as halves of one buffer's columns do.
 *  They are refused if a short search cannot prove that they share no byte, which can happen with
 *  several different pitches and batch strides. With TW_GEMM_BATCH_POINTERS only the arrays of
 *  addresses are checked, not the matrices: the run must not write into an array, the array of D
 * may be that of C, and it shares no byte with those of A and B.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
 *  @retval TW_ERROR_INVALID_ARGUMENT m is not 0 and lies outside min_m to the plan's m, an address
 *  is 0 and the product not empty, or an address is given that the description excludes: a bias
 *  without desc.bias, for example. @retval TW_ERROR_UNSUPPORTED the plan's own candidate, see
 *  tw_gemm_plan_candidate(), does not do what the run asks for.
 *  @repeats{yes: blocks that share the sum along k add their parts in a fixed order and
 *  without atomics. Two runs of different m may use different kernels unless the plan has
 *  TW_GEMM_BATCH_INVARIANT}
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_run(tw_plan *plan, tw_stream *stream, const tw_gemm_args *args);

/** @} */

/** @name Matrix products: candidates and tuning
 *  @{ */

/** A way to compute a matrix product: a kernel, and how many blocks share each tile along k. */
typedef struct tw_gemm_candidate {
  uint32_t struct_size; /**< set by tw_gemm_candidate_init() */
  uint32_t struct_mark; /**< likewise */
  uint32_t split;       /**< blocks that share each tile along k; 1: none do */
  uint32_t reserved;    /**< 0 */
  const char *kernel;   /**< symbol of the kernel; lives for ever */
  int64_t m_first;      /**< rows m of the runs that it serves */
  int64_t m_last;       /**< likewise, the most */
  double microseconds;  /**< for m_last rows: predicted by the cost model, or measured */
  double waves;         /**< tiles, or clusters of them, for each that can run at once */
  char text[104];       /**< its name, for tw_gemm_plan_candidate(): the kernel's symbol, with
                             "/<split>" behind it where tiles are shared along k */
} tw_gemm_candidate;

/** Initialises a ::tw_gemm_candidate, one element of an array that other functions then fill in.
 *  @param[out] candidate not NULL. @param size sizeof(tw_gemm_candidate) as the caller's compiler
 * sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_candidate_init(tw_gemm_candidate *candidate, size_t size);

/** Lists the ways to compute a matrix product of the described size: first the one that
 *  tw_gemm_plan() takes, then the others by predicted time. It loads no kernel, except once for
 * each device the one with which it asks the driver how many clusters run at once.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] candidates an array of initialised elements; may be NULL where
 *  capacity is 0. @param capacity its elements.
 *  @param[out] count how many there are, which may be more than capacity; 0 if no kernel on this
 *  device takes the description; may be NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_gemm_plan(). @retval TW_ERROR_UNSUPPORTED likewise,
 * of types for example. @retval TW_ERROR_OVERFLOW the matrices of an operand span more than 2^63 -
 * 1 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_candidates(tw_device *device, const tw_gemm_desc *desc,
                                    tw_gemm_candidate *candidates, int32_t capacity,
                                    int32_t *count);

/** Plans a matrix product by a given candidate, for every m. Runs whose addresses the candidate
 *  cannot take, or that ask for what it does not do, are refused: no other kernel steps in. Some
 *  candidates compute only alpha * A B of a batch. Their plans refuse runs with a beta, a device_m,
 *  a device_alpha or a device_beta, and runs whose D breaks the rules of tensor maps: its address
 *  and pitches are multiples of 16 bytes.
 *  @param device not NULL. @param desc not NULL. @param candidate text of a tw_gemm_candidate.
 *  @param[out] plan the caller's, to be given to tw_plan_destroy().
 *  @retval TW_ERROR_PARSE the text is none of a candidate. @retval TW_ERROR_NOT_FOUND the library
 *  has no such kernel. @retval TW_ERROR_UNSUPPORTED the candidate cannot serve the description, or
 *  not on this device: the message says why. @retval TW_ERROR_INVALID_ARGUMENT as of
 *  tw_gemm_plan(). @retval TW_ERROR_OVERFLOW likewise.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_plan_candidate(tw_device *device, const tw_gemm_desc *desc,
                                        const char *candidate, tw_plan **plan);

/** Which candidate serves which rows m of a plan, by m. @param plan from tw_gemm_plan() or another
 *  function that plans a matrix product. @param[out] candidates an array of initialised elements;
 * may be NULL where capacity is 0. @param capacity its elements.
 *  @param[out] count how many ranges of m there are, which may be more than capacity; may be NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT plan is NULL or none of a matrix product.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_gemm_ranges(const tw_plan *plan, tw_gemm_candidate *candidates,
                                int32_t capacity, int32_t *count);

/** Measured choices of candidates; belongs to no device. */
typedef struct tw_gemm_tuning tw_gemm_tuning;

/** Makes an empty set of measured choices. It belongs to no device and knows for which chip each
 *  choice was measured. @param[out] tuning the caller's, to be given to tw_gemm_tuning_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT tuning is NULL. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_gemm_tuning_create(tw_gemm_tuning **tuning);

/** Destroys a set of measured choices; plans made with it keep what they took.
 *  @param tuning may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_gemm_tuning_destroy(tw_gemm_tuning *tuning);

/** Adds the choices of a text to a set, each in the place of one for the same chip and shape. The
 *  text is what tw_gemm_tuning_format() writes, of any number of chips: a line
 *  "tilewright gemm tuning 1", then a line "device <name>" for each chip and under it a line for
 * each shape: types of A and B, of D and of sums, orders of A, B and D (r or c), SMs used, m, n, k,
 *  candidate, microseconds, of a batch "x" and its products, and "programmatic" where it was
 *  measured with TW_GEMM_PROGRAMMATIC. Then, of 8-bit types and tf32 alone: "by" and the type of B
 *  where it is not A's; "scales" and a letter each for those of A and B (n, t, r, k and b as
 *  tw_scale_kind has them, the last two for TW_SCALE_1X128 and TW_SCALE_128X128); "fast" with
 *  TW_GEMM_FAST_ACCUMULATE; "quantized" with d_quantize. Empty lines and those that begin with #
 *  are skipped.
 *  @param tuning not NULL. @param text zero-terminated.
 *  @retval TW_ERROR_PARSE a line cannot be read, or names no kernel of this library: the message
 *  and tw_last_error_info()'s index have its number, from 1, and nothing was added.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_gemm_tuning_load(tw_gemm_tuning *tuning, const char *text);

/** Writes a set as text, for tw_gemm_tuning_load(). @param tuning not NULL.
 *  @param[out] buffer may be NULL where capacity is 0. @param capacity bytes of buffer.
 *  @param[out] length bytes needed with the zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_gemm_tuning_format(const tw_gemm_tuning *tuning, char *buffer, size_t capacity,
                                       size_t *length);

/** How tw_gemm_tune() measures. */
typedef struct tw_gemm_tune_desc {
  uint32_t struct_size; /**< set by tw_gemm_tune_desc_init() */
  uint32_t struct_mark; /**< likewise */
  int32_t candidates;   /**< how many of tw_gemm_candidates()'s first are tried; 0: all */
  int32_t rounds;       /**< times that each is measured, 1 to 1000; its median counts */
  uint64_t scratch_d;   /**< address that is written in the place of D; 0: D itself is, and must be
                             where operands are given by arrays of addresses */
  uint64_t flush;       /**< memory that is brought into the L2 cache before each measured run, so
                             that it finds no operands there; 0: runs are measured back to back */
  uint64_t flush_bytes; /**< of it, 2^60 at most; a few times the L2 cache's size */
} tw_gemm_tune_desc;

/** Initialises a ::tw_gemm_tune_desc: 12 candidates, 7 rounds, back to back.
 *  @param[out] desc not NULL. @param size sizeof(tw_gemm_tune_desc) as the caller's compiler sees
 * it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_gemm_tune_desc_init(tw_gemm_tune_desc *desc, size_t size);

/** Measures candidates for one matrix product on the caller's stream and operands and adds the
 *  fastest to a set; what the set holds for the product is tried too. D is overwritten many times
 *  (and with beta, where C is D, grows): give a scratch D where its values matter. Waits for the
 *  stream's earlier work; measure while nothing else runs on the chip. Kernels that add up parts of
 * k are tried where the workspace is large enough: 64 MB is for any product without copies.
 *  @param tuning not NULL. @param stream not NULL. @param desc not NULL.
 *  @param args addresses, and the m to be measured for; none of m, n and k may be 0.
 *  @param how to measure; NULL for tw_gemm_tune_desc_init()'s values.
 *  @param[in,out] best initialised: the choice and its measured time; may be
 * NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument cannot work. @retval TW_ERROR_CAPTURE the stream
 *  is being captured. @retval TW_ERROR_MISALIGNED as of tw_gemm_run(). @retval TW_ERROR_OVERLAP
 *  likewise.
 *  @retval TW_ERROR_OVERFLOW as of tw_gemm_plan().
 *  @retval TW_ERROR_UNSUPPORTED no kernel computes this product on the device.
 *  @threadsafety{any thread} @capture{refused} @blocking{yes} @since 0.1 */
TW_API tw_status tw_gemm_tune(tw_gemm_tuning *tuning, tw_stream *stream, const tw_gemm_desc *desc,
                              const tw_gemm_args *args, const tw_gemm_tune_desc *how,
                              tw_gemm_candidate *best);

/** Plans a matrix product by measured choices. Kernels are chosen for steps of m, which end at
 *  multiples of 8 up to 512, of 64 up to 8192, of 256 up to 65536, of 4096 up to 131072, and of
 *  twice as much for each doubling from there. A choice measured for m rows on this chip (the same
 *  name and number of SMs, the same types, orders, n, k and batch_count, and likewise with or
 *  without an epilogue or options) serves the step that m lies in, to its end t, and those before
 *  it that end above t - t / 8 (the quotient rounded down): measured at 8 it serves 1 to 8 rows, at
 *  64 57 to 64, at 4096 3585 to 4096, and at 4097 3585 to 4160. Of several that serve, that of the
 *  lowest step counts, of one step that of the most rows. One measured with TW_GEMM_PROGRAMMATIC
 *  serves such plans alone and goes before others of its step. The cost model chooses for all other
 *  rows. Choices of other chips do not count, and tw_plan_explain() says which of the two chose.
 *  @param device not NULL. @param desc not NULL. @param tuning not NULL; copied from.
 *  @param[out] plan the caller's, to be given to tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_gemm_plan().
 *  @retval TW_ERROR_OVERFLOW likewise.
 *  @threadsafety{any thread} @capture{allowed} @since 0.1 */
TW_API tw_status tw_gemm_plan_tuned(tw_device *device, const tw_gemm_desc *desc,
                                    const tw_gemm_tuning *tuning, tw_plan **plan);

/** @} */

/** @name Grouped matrix products: mixtures of experts
 *  @{ */

/** How rows belong to groups. `groups` of a run is the device address of the numbers, which are
 *  read when the run executes; G is the number of groups. A group whose numbers cannot be (an end
 *  before its begin, or rows past the run's m) counts as empty. */
typedef int32_t tw_grouping;
enum {
  TW_GROUPING_ALL = 0,     /**< all rows are one group, and there are no numbers */
  TW_GROUPING_ENDS = 1,    /**< [G]: each group's end. It begins where the group before ends */
  TW_GROUPING_OFFSETS = 2, /**< [G + 1]: each group's begin, then the end of the last. The offsets
                                of tw_route_run() are such numbers */
  TW_GROUPING_PSUM = 3,    /**< [G]: each group's end. It begins at the first multiple of
                                row_alignment that is not less than the end of the group before */
  TW_GROUPING_ROW_GROUPS = 4, /**< [m]: each row's group, or -1. Rows of a group must lie side by
                                   side, else the group counts as empty */
  TW_GROUPING_MASKED = 5,     /**< [G]: the number of each group's rows. Group g begins at row
                                   g * group_rows */
  TW_GROUPING_K_RANGES = 6,   /**< [G]: ends of ranges of k, which begin where the range before
                                   ends. Each has a D of its own */
  TW_GROUPING_BLOCKS = 20     /**< a name for a later version, which is refused with
                                   TW_ERROR_UNSUPPORTED */
};

/** What becomes of the rows of the result. */
typedef int32_t tw_grouped_combine;
enum {
  TW_GROUPED_STORE = 0, /**< they are stored. Rows that go to one row of D leave any one of them */
  /** Each row of D becomes the sum of the rows that go to it, in f32 and in ascending order of the
   *  row; each has been rounded to d_dtype before. D is overwritten: a row that no row goes to
   *  becomes zero. Needs TW_GROUPED_SCATTER and a workspace. */
  TW_GROUPED_ADD = 1,
  /** Rows are added to what D holds, by atomic additions in d_dtype and in any order, so that
   *  results do not repeat. Needs TW_GROUPED_SCATTER. */
  TW_GROUPED_ADD_ATOMIC = 2
};

/** Options of a grouped product: bits of tw_grouped_desc.flags. */
enum {
  /** Row r of A is row a_rows[r] / a_divisor of the caller's A, which has a_count rows. An index
   *  that names no row stands for a row of zeros. */
  TW_GROUPED_GATHER = 1,
  /** Row r of the result goes to row d_rows[r] / d_divisor of D, which has d_count rows. If its
   *  index names no row of D, row r is dropped. */
  TW_GROUPED_SCATTER = 2,
  /** The bits of a row of the result depend neither on other rows nor on the sizes of groups. */
  TW_GROUPED_BATCH_INVARIANT = 4,
  /** As TW_GEMM_PROGRAMMATIC. */
  TW_GROUPED_PROGRAMMATIC = 8,
  /** Row r's weight is row_weights[d_rows[r]], not row_weights[r]: weights of pairs, as
   *  tw_route_run() writes them. Needs TW_GROUPED_SCATTER. */
  TW_GROUPED_WEIGHT_BY_INDEX = 16,
  /** Rows of D that no row of a group goes to become zero: D is cleared first. */
  TW_GROUPED_ZERO_OTHER_ROWS = 32,
  /** Runs give the inverse of d_rows (see tw_grouped_args's inverse), which makes sums in a fixed
   *  order faster. Needs TW_GROUPED_ADD. */
  TW_GROUPED_INVERSE = 64,
  /** As TW_GEMM_FAST_ACCUMULATE. @experimental{like the types that it is for} */
  TW_GROUPED_FAST_ACCUMULATE = 128
};

/** A product of groups of rows, each by a weight matrix of its own, as mixtures of experts need it:
 *  for each row r of group g, with the weight matrix w = group_map[g],
 *
 *      V[r] = alpha * group_alpha[w] * A[r] B[w] + bias[w]
 *      D[r] = act(V[r]) * row_weight[r]
 *
 *  or, with a gate, where p and q are the columns of V[r] that `gate` pairs,
 *
 *      D[r] = act(min(p, limit)) * (clamp(q, -limit, limit) + offset) * row_weight[r]
 *
 *  in which SiLU has a slope: act(x) is x * sigmoid(slope * x). With the defaults this is SwiGLU,
 *  with limit 7, offset 1 and slope 1.702 the gate of gpt-oss. A is m x k, each weight matrix is
 *  k x n, and D is m x n (n / 2 with a gate); A and D are row-major. Sums and functions are f32. D
 *  is rounded once, except for what tw_grouped_combine says of sums.
 *
 *  Which rows a group has is read when the run executes, as are all other arrays, so that one
 *  captured graph serves any routing. Rows in no group are neither read nor written. Groups must
 *  not share rows: for a row in several groups the result is that of one of them, or the sum of
 *  several.
 *
 *  With TW_GROUPING_K_RANGES, for gradients of weights, A is k x m and B is k x n, both row-major,
 *  and each range g of rows of both gives D[g] = alpha * A[g]^T B[g] + beta * D[g], which is m x n
 *  and f32. An empty range gives zero or leaves D[g] as it is. There is no map, bias, activation or
 *  gate, and there are no weights of rows and no rows by index.
 *
 *  8-bit types have scales in the pairs that ::tw_scale_kind lists, and A[r] B[w] is then the sum
 *  that it says. A's scales go by the row of A, which has them with it where rows are gathered: an
 *  index that names no row reads no scale either. Each weight matrix has scales of its own,
 *  b_scale_stride apart; with TW_SCALE_TENSOR that is one f32 each. Only scales that rows of groups
 *  need are read. With TW_GROUPING_K_RANGES TW_SCALE_ROW is one f32 for each row of A^T and each
 *  column of B, and scales by blocks of 128 of k are refused with TW_ERROR_UNSUPPORTED.
 *
 *  The forms of grouping are those that DeepGEMM (masked, psum and k-grouped layouts), torch's
 *  grouped_mm (ends), vLLM and llama.cpp (rows by pairs) use, so that their arrays can be taken as
 *  they are. */
typedef struct tw_grouped_desc {
  uint32_t struct_size;     /**< set by tw_grouped_desc_init() */
  uint32_t struct_mark;     /**< likewise */
  /** TW_DTYPE_BF16, the default, or TW_DTYPE_F16; or TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2 or
   *  TW_DTYPE_I8. @experimental{the types behind TW_DTYPE_F16} */
  tw_dtype a_dtype;
  /** 0, the default: a_dtype, with TW_GROUPING_K_RANGES f32; or TW_DTYPE_F32. With 8-bit types it
   *  is required, unless it is f32 for TW_GROUPING_K_RANGES: TW_DTYPE_BF16, TW_DTYPE_F16 or
   *  TW_DTYPE_F32. */
  tw_dtype d_dtype;
  tw_dtype bias_dtype;      /**< a_dtype or TW_DTYPE_F32, with 8-bit types TW_DTYPE_BF16,
                                 TW_DTYPE_F16 or TW_DTYPE_F32; 0, the default: there is no bias */
  tw_dtype index_dtype;     /**< of the run's groups: TW_DTYPE_I32, the default, or TW_DTYPE_I64 */
  tw_dtype row_index_dtype; /**< of a_rows and d_rows: likewise */
  tw_order b_order;         /**< of each weight matrix: TW_ROW_MAJOR by default. The fast kernels
                                 need TW_COLUMN_MAJOR, n rows of k elements */
  tw_grouping grouping;     /**< TW_GROUPING_ENDS by default */
  tw_grouped_combine combine; /**< TW_GROUPED_STORE by default */
  tw_activation activation;   /**< none by default */
  tw_gate gate;               /**< none by default; n is even with one */
  float gate_limit;           /**< above 0: bound of the gated columns; 0, the default: none */
  float gate_offset;          /**< 0 by default. Only with a gate, as the other two */
  float gate_slope;           /**< 1 by default. Only with TW_ACTIVATION_SILU */
  uint32_t flags;             /**< TW_GROUPED_ bits */
  uint32_t a_alignment;       /**< bytes the addresses are promised to be multiples of; 0: none */
  uint32_t b_alignment;       /**< of B */
  uint32_t d_alignment;       /**< of D */
  uint32_t max_sms;           /**< at most so many blocks run, one an SM; 0: no bound */
  int64_t m; /**< required: rows of a run, at most: places of rows, whether they are in a group or
                  not. m, n and k are 0 to 2147482624 */
  int64_t n; /**< required: columns of B */
  int64_t k; /**< required: columns of A, rows of B; with 0, A B is zero and D is written. With
                  TW_GROUPING_K_RANGES the rows of A and B */
  int64_t groups;        /**< required unless grouping is TW_GROUPING_ALL: 0 to 1024 */
  int64_t weights;       /**< weight matrices; 0: groups */
  int64_t lda;           /**< elements between rows of A; 0: packed, as all that follow */
  int64_t ldb;           /**< leading dimension of each weight matrix */
  int64_t ldd;           /**< elements between rows of D */
  int64_t b_stride;      /**< elements between weight matrices */
  int64_t d_stride;      /**< elements between matrices of D; with TW_GROUPING_K_RANGES alone */
  int64_t bias_stride;   /**< elements between the biases of weight matrices */
  int64_t group_rows;    /**< with TW_GROUPING_MASKED alone: rows from one group's begin to the next
                              one's; 0: m / groups */
  int64_t row_alignment; /**< with TW_GROUPING_PSUM alone: groups begin at multiples of it; 0: 1 */
  int64_t a_count;       /**< required with TW_GROUPED_GATHER: rows of A, at most */
  int64_t d_count;       /**< required with TW_GROUPED_SCATTER: rows of D, at most */
  int64_t a_divisor; /**< with TW_GROUPED_GATHER: what indices are divided by, so that pairs of a
                          token and a slot name the token; 0: 1 */
  int64_t d_divisor; /**< likewise with TW_GROUPED_SCATTER. d_count * d_divisor is below 2^31 */
  int64_t expected_rows; /**< a hint: rows of a usual group that has any; 0: unknown. The kernels of
                              this version adapt to the groups that they find, and need no hint */
  tw_dtype b_dtype;      /**< 0, the default: a_dtype. As tw_gemm_desc's */
  tw_scale_kind a_scale; /**< scales of A, with 8-bit types: TW_SCALE_NONE by default */
  tw_scale_kind b_scale; /**< scales of B; ::tw_scale_kind has the pairs */
  tw_order a_scale_order; /**< of the matrix of A's scales, where they are by blocks: a row for each
                               row of A. As DeepGEMM has them: TW_COLUMN_MAJOR */
  tw_order b_scale_order; /**< of each weight matrix's scales, likewise: a column for each column of
                               B or 128 of them. As DeepGEMM has them: TW_COLUMN_MAJOR */
  uint32_t reserved;      /**< 0 */
  int64_t a_scale_ld;     /**< leading dimension of A's scales, elements; 0: packed */
  int64_t b_scale_ld;     /**< of each weight matrix's scales */
  /** With TW_GROUPING_MASKED, without TW_GROUPED_GATHER and with several scales alone: elements
   *  from one group's scales of A to the next one's, where each group has a matrix of its own, of
   *  group_rows rows, as DeepGEMM's masked layout has it. 0: one matrix has the scales of all rows
   *  of A, as without it. */
  int64_t a_scale_stride;
  int64_t b_scale_stride; /**< elements between scales of weight matrices; 0: packed */
} tw_grouped_desc;

/** Addresses and scalars of a grouped product's run. Arrays are contiguous. */
typedef struct tw_grouped_args {
  uint32_t struct_size; /**< set by tw_grouped_args_init() */
  uint32_t struct_mark; /**< likewise */
  float alpha;          /**< 1 by default */
  float beta;           /**< 0 by default; with TW_GROUPING_K_RANGES 0 or 1 */
  int64_t m;            /**< rows of this run; -1: the plan's */
  int64_t k;            /**< with TW_GROUPING_K_RANGES, rows of A and B; -1: the plan's */
  int64_t a_count;      /**< with TW_GROUPED_GATHER, rows of A; -1: the plan's */
  int64_t d_count;      /**< with TW_GROUPED_SCATTER, rows of D; -1: the plan's */
  uint64_t a;           /**< required: device address of A */
  uint64_t b;           /**< required: device address of the weight matrices */
  uint64_t d;           /**< required: device address of D */
  uint64_t bias;        /**< required with bias_dtype, else 0: n elements for each weight matrix */
  uint64_t groups;      /**< required unless grouping is TW_GROUPING_ALL: see tw_grouping */
  uint64_t group_map;   /**< i32 [groups]: each group's weight matrix; -1 skips a group, whose
                             rows count as rows in no group, and so do numbers that name no
                             matrix; 0: matrix g for group g */
  uint64_t group_alpha; /**< f32 [weights]: factors beside alpha; 0: none */
  uint64_t a_rows;      /**< required with TW_GROUPED_GATHER, else 0: [m] */
  uint64_t d_rows;      /**< required with TW_GROUPED_SCATTER, else 0: [m] */
  uint64_t row_weights; /**< f32 [m], with TW_GROUPED_WEIGHT_BY_INDEX [d_count * d_divisor]: a
                             factor for each row, before it is rounded; 0: none */
  uint64_t inverse;     /**< required with TW_GROUPED_INVERSE, else 0: i32 [d_count, d_divisor],
                             the row r with d_rows[r] = t * d_divisor + s for each t and s, or -1,
                             as tw_route_run() writes it. A row of D is the sum of its d_divisor
                             rows in that order; entries that are no row in a group add nothing */
  uint64_t invalid_count;   /**< a 64-bit device word to which is added: the number of groups that
                                 cannot be, of entries of group_map that are neither -1 nor a matrix,
                                 of entries of TW_GROUPING_ROW_GROUPS that are neither -1 nor a group,
                                 and, for rows of groups, of entries of a_rows and of d_rows that are
                                 neither -1 nor lead to a row; 0: they are not counted */
  uint64_t workspace;       /**< a multiple of 256 where tw_plan_info.workspace_bytes is not 0; else
                                 ignored */
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
  uint64_t a_scale; /**< required with a_scale, else 0: device address of A's scales, f32 */
  uint64_t b_scale; /**< likewise of the weight matrices' scales */
} tw_grouped_args;

/** Initialises a ::tw_grouped_desc: bf16, row-major, i32 numbers, groups by their ends, rows that
 *  are stored in place; m, n, k and groups unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_grouped_desc) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_grouped_desc_init(tw_grouped_desc *desc, size_t size);

/** Initialises a ::tw_grouped_args: alpha 1, beta 0, no addresses, the plan's sizes.
 *  @param[out] args not NULL. @param size sizeof(tw_grouped_args) as the caller's compiler sees it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_grouped_args_init(tw_grouped_args *args, size_t size);

/** Fills the types of A, B and D, the sizes n and k, the number of weight matrices, order, pitches
 *  and strides of a description, but nothing of scales; the other fields stay. `flags`, `grouping` and `gate` must be set
 *  before. m is the rows of a, with TW_GROUPED_GATHER those of d, and stays with both
 *  TW_GROUPED_GATHER and TW_GROUPED_SCATTER, where a_count and d_count are filled in. `groups`, if
 *  it is unset, becomes the number of weight matrices; with TW_GROUPING_K_RANGES it is the number
 *  of d's matrices.
 *  @param a rows by k, with contiguous rows; with TW_GROUPING_K_RANGES k by m.
 *  @param b weight matrices by k by n, each in either order; with TW_GROUPING_K_RANGES k by n.
 *  @param d rows by n (n / 2 with a gate), with contiguous rows; with TW_GROUPING_K_RANGES
 *  groups by m by n.
 *  @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not fit together, or d may not be written.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_grouped_desc_from_tensors(const tw_tensor *a, const tw_tensor *b,
                                              const tw_tensor *d, tw_grouped_desc *desc);

/** Plans a grouped product. tw_plan_info.workspace_bytes is what its runs need beside the operands:
 *  with TW_GROUPED_ADD room for m rows of the result, and little with TW_GROUPING_ROW_GROUPS. On
 *  compute capability 9.0 there is also room for tiles that several SMs share along k, up to 35 MB
 *  on an H200, and, where rows are gathered and each weight matrix has 48 of them or more, for a
 *  copy of those (m * k elements, if that is 1 GiB at most), which the product then loads faster.
 *  Where that is all there is, a run without a workspace (0) is slower at worst; but runs need it
 *  where k is above 4096 and D is f32, or above 16384.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's, to be given to tw_plan_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT a size is unset, or a size, pitch, stride or option cannot
 *  work or is excluded by the others.
 *  @retval TW_ERROR_UNSUPPORTED no kernel takes the types on this device, the types or scales of A
 *  and B do not go together, there are more than 1024
 *  groups, an extent is above 2147482624, or grouping is TW_GROUPING_BLOCKS.
 *  @retval TW_ERROR_OVERFLOW an operand spans more than 2^60 bytes, or there are 2^31 pairs or
 *  more. @retval TW_ERROR_OVERLAP matrices of D share elements.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_grouped_plan(tw_device *device, const tw_grouped_desc *desc, tw_plan **plan);

/** Answers whether tw_grouped_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_grouped_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_grouped_supported(tw_device *device, const tw_grouped_desc *desc);

/** Lists the kernels that can multiply the groups of a description: first the one that
 *  tw_grouped_plan() takes. It loads no kernel. Of a ::tw_gemm_candidate `microseconds` and `waves`
 *  are 0 here: both depend on the groups, which only runs know.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] candidates an array of initialised elements; may be NULL where capacity is 0.
 *  @param capacity its elements.
 *  @param[out] count how many there are, which may be more than capacity; may be NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_grouped_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_grouped_candidates(tw_device *device, const tw_grouped_desc *desc,
                                       tw_gemm_candidate *candidates, int32_t capacity,
                                       int32_t *count);

/** Plans a grouped product by a given kernel. Runs whose addresses it cannot take are refused with
 *  TW_ERROR_MISALIGNED: no other kernel steps in.
 *  @param device not NULL. @param desc not NULL. @param candidate text of a ::tw_gemm_candidate
 *  from tw_grouped_candidates(). @param[out] plan the caller's, to be given to tw_plan_destroy().
 *  @retval TW_ERROR_PARSE the text is empty. @retval TW_ERROR_NOT_FOUND the library has no such
 *  kernel. @retval TW_ERROR_UNSUPPORTED the candidate cannot serve the description, or not on this
 *  device: the message says why. @retval TW_ERROR_INVALID_ARGUMENT as of tw_grouped_plan(), and
 *  likewise all other failures.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_grouped_plan_candidate(tw_device *device, const tw_grouped_desc *desc,
                                           const char *candidate, tw_plan **plan);

/** Enqueues a grouped product. Nothing in the run's arrays can make it read or write outside of the
 *  operands, nor between the rows of D. The workspace is the run's until the run is done; what it
 *  holds before does not matter, and runs that may be in flight together need one each. A run of
 *  no rows writes the rows of D that become zero, and nothing else.
 *  @param plan from tw_grouped_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT a required address is 0, one is given that the description has
 *  no use for, a size lies outside the plan's, beta cannot be, or there are fewer weight matrices
 *  than groups and no map. @retval TW_ERROR_MISALIGNED an address is no multiple of its element's
 *  size or breaks a promise, or is a workspace's and no multiple of 256.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
 *  @retval TW_ERROR_OVERLAP D, invalid_count or the workspace shares bytes with any other operand.
 *  @repeats{yes: but not where rows are added by TW_GROUPED_ADD_ATOMIC or several rows are stored
 *  at one row of D or groups share rows}
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_grouped_run(tw_plan *plan, tw_stream *stream, const tw_grouped_args *args);

/** @} */

/** @name Quantisation to 8 bits with scales, and back
 *  @{ */

/** Options of a quantisation: bits of tw_quantize_desc.flags. */
enum {
  /** Each scale is rounded up to a power of two. */
  TW_QUANTIZE_POWERS_OF_TWO = 1,
  /** The scale is read and not made of the source: static quantisation. Needs TW_SCALE_TENSOR;
   *  excludes TW_QUANTIZE_POWERS_OF_TWO. */
  TW_QUANTIZE_GIVEN_SCALE = 2
};

/** Quantisation of a matrix to 8 bits with scales that are computed, and the way back. The types
 *  say which: bf16, f16 or f32 becomes f8e4m3, f8e5m2 or i8 (quantisation), or the other way round
 *  (dequantisation). A scale is an f32 factor that dequantises: x is about q * scale. All is read
 *  and computed when the run executes, so that one captured graph serves any matrix.
 *
 *  The scales are a matrix themselves. With TW_SCALE_TENSOR it has one element, with TW_SCALE_ROW
 *  rows x 1, with TW_SCALE_1X128 rows x columns / 128, with TW_SCALE_128X128 rows / 128 x columns /
 *  128, rounded up; the last region of a row or column may be smaller. scale_order and scale_ld say
 *  how the matrix lies: DeepGEMM's scales of A, for example, are TW_SCALE_1X128, TW_COLUMN_MAJOR.
 *
 *  Quantisation: the scale of a region is amax / max, where amax is the largest finite magnitude in
 *  it and max is 448 for f8e4m3, 57344 for f8e5m2 and 127 for i8; it is at least 2^-126, and 1
 * where amax is 0. With TW_QUANTIZE_POWERS_OF_TWO it is then rounded up to a power of two. An
 * element is q = x * (1 / scale), rounded to nearest even. Beyond the largest number, infinities
 * included, it becomes that number of its sign (in i8 127 or -128). Infinities and NaN do not count
 * in amax. A NaN becomes NaN (0x7f in both 8-bit floats), in i8 0. Zeros keep their sign in floats.
 *
 *  Dequantisation: x = q * scale, rounded to nearest even; beyond the range infinity. A NaN is
 *  written as 0x7fff in bf16 and f16 and 0x7fffffff in f32.
 *
 *  Quotient, inverse and products are f32, each rounded to nearest even, subnormals kept: every
 *  device computes the same bits. Scales that are read may be any numbers, and the same formulas
 *  hold. Where rows or columns is 0 a run does nothing. */
typedef struct tw_quantize_desc {
  uint32_t struct_size; /**< set by tw_quantize_desc_init() */
  uint32_t struct_mark; /**< likewise */
  tw_dtype src_dtype;   /**< required: TW_DTYPE_BF16, TW_DTYPE_F16 or TW_DTYPE_F32 to quantise,
                             TW_DTYPE_F8E4M3, TW_DTYPE_F8E5M2 or TW_DTYPE_I8 to dequantise */
  tw_dtype dst_dtype;   /**< required: one of the other three */
  tw_scale_kind scale;  /**< required: TW_SCALE_TENSOR, TW_SCALE_ROW, TW_SCALE_1X128 or
                             TW_SCALE_128X128 */
  tw_order scale_order; /**< of the matrix of scales; only with several: not with TW_SCALE_TENSOR */
  uint32_t flags;       /**< TW_QUANTIZE_ bits; 0 to dequantise */
  uint32_t max_sms;     /**< at most so many blocks run, one an SM; 0: no bound */
  tw_cache_priority src_cache; /**< how long the cache should keep what is read */
  tw_cache_priority dst_cache; /**< and what is written */
  int64_t rows;      /**< required: of a run, at most; all rows have at most 2^30 groups of 128
                          elements, rounded up in each row */
  int64_t columns;   /**< required: elements of a row, the k of a product; below 2^31 */
  int64_t src_pitch; /**< elements between rows of the source; 0: columns. Fast where rows begin at
                          multiples of 16 bytes of the wide type and of as many elements of the
                          narrow one, and columns is a multiple of that too */
  int64_t dst_pitch; /**< likewise of the destination */
  int64_t scale_ld;  /**< leading dimension of the matrix of scales, elements (see tw_order); 0:
                          packed for the description's rows. Not with TW_SCALE_TENSOR */
} tw_quantize_desc;

/** Addresses of a quantisation's or dequantisation's run. */
typedef struct tw_quantize_args {
  uint32_t struct_size; /**< set by tw_quantize_args_init() */
  uint32_t struct_mark; /**< likewise */
  int64_t rows;         /**< of this run; -1: the plan's */
  uint64_t src;         /**< required: device address of the source */
  uint64_t dst;         /**< required: device address of the destination */
  uint64_t scale;       /**< required: device address of the f32 scales, which quantisation writes,
                             but for TW_QUANTIZE_GIVEN_SCALE, and dequantisation reads */
  /** With TW_SCALE_TENSOR, to quantise: device address of an f32 word that is raised to the run's
   *  amax, if it is less. Nobody resets it: set it to 0 before the first run that counts. 0: none
   */
  uint64_t amax;
  uint64_t workspace;       /**< a multiple of 256, where tw_plan_info.workspace_bytes is not 0;
                                 else ignored */
  uint64_t workspace_bytes; /**< at least tw_plan_info.workspace_bytes */
} tw_quantize_args;

/** Initialises a ::tw_quantize_desc: packed, row-major scales; types, scale, rows and columns
 *  unset.
 *  @param[out] desc not NULL. @param size sizeof(tw_quantize_desc) as the caller's compiler sees
 * it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_quantize_desc_init(tw_quantize_desc *desc, size_t size);

/** Initialises a ::tw_quantize_args: no addresses, the plan's rows.
 *  @param[out] args not NULL. @param size sizeof(tw_quantize_args) as the caller's compiler sees
 * it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_quantize_args_init(tw_quantize_args *args, size_t size);

/** Fills types, sizes and pitches of a quantisation's description, and the order and the leading
 *  dimension of its scales; the other fields stay. `scale` must be set before.
 *  @param src rows by columns, with contiguous rows. @param dst likewise, of src's shape.
 *  @param scale the matrix of scales, f32, in either order; with TW_SCALE_ROW a vector of rows will
 *  do, with TW_SCALE_TENSOR any tensor of one element.
 *  @param[in,out] desc initialised. It is unchanged after a failure.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tensors do not fit together, or what is written may not
 *  be.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_quantize_desc_from_tensors(const tw_tensor *src, const tw_tensor *dst,
                                               const tw_tensor *scale, tw_quantize_desc *desc);

/** Plans a quantisation or dequantisation. tw_plan_info.workspace_bytes is what its runs need
 * beside the operands: 4 KB where the scale of the whole matrix is computed, else nothing.
 *  @param device not NULL. @param desc not NULL.
 *  @param[out] plan the caller's. @retval TW_ERROR_INVALID_ARGUMENT a type, scale, size, pitch or
 *  option cannot work. @retval TW_ERROR_UNSUPPORTED other types, or scales that are not f32.
 *  @retval TW_ERROR_OVERFLOW too many rows or columns, or an operand spans more than 2^60 bytes.
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_quantize_plan(tw_device *device, const tw_quantize_desc *desc, tw_plan **plan);

/** Answers whether tw_quantize_plan() could plan this description, without making a plan: see the
 *  beginning of this group. @param device not NULL. @param desc not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_quantize_plan(), and likewise all other failures.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_quantize_supported(tw_device *device, const tw_quantize_desc *desc);

/** Enqueues a quantisation or dequantisation: one kernel, or two where the scale of the whole
 *  matrix is computed. What lies between rows, and between lines of scales, is neither read nor
 *  written. The workspace is the run's until the run is done; what it holds before does not matter,
 *  and runs that may be in flight together need one each.
 *  @param plan from tw_quantize_plan(). @param stream of the same device. @param args not NULL.
 *  @retval TW_ERROR_INVALID_ARGUMENT a required address is 0, amax is given where the plan has no
 *  use for it, or rows lies outside the plan's.
 *  @retval TW_ERROR_MISALIGNED an address is no multiple of its element's size, or is a workspace's
 *  and no multiple of 256. @retval TW_ERROR_BUFFER_TOO_SMALL the workspace is too small.
 *  @retval TW_ERROR_OVERLAP the destination, the scales that are written, amax or the workspace
 *  shares bytes with any other operand.
 *  @repeats{yes: amax too}
 *  @threadsafety{any thread} @capture{allowed} @since 0.2 */
TW_API tw_status tw_quantize_run(tw_plan *plan, tw_stream *stream, const tw_quantize_args *args);

/** @} */
/** @} */

/** @defgroup table Precompiled kernels: what is embedded, for which targets
 *  Of this build, not of a device: all of it can be asked on a machine without a GPU.
 *  @{ */

/** One precompiled kernel for one target. */
typedef struct tw_kernel_entry {
  uint32_t struct_size;   /**< set by tw_kernel_entry_init() */
  uint32_t struct_mark;   /**< likewise */
  tw_op op;               /**< whose plans use it */
  uint32_t feature;       /**< the TW_FEATURE_ bit that it uses, and a device must have */
  const char *name;       /**< its symbol; lives for ever */
  const char *target;     /**< "sm_90a": machine code; "compute_90": PTX; lives for ever */
  uint32_t threads;       /**< of a block */
  uint32_t tile[3];       /**< rows, columns, k of a tile, elements; 0 where it has none */
  uint32_t stages;        /**< of the pipeline in shared memory; 0: chosen by the plan */
  uint32_t cluster[2];    /**< blocks along rows and columns; 0: chosen by the plan */
  tw_dtype dtypes[2];     /**< of inputs and output, where the kernel is bound to them; else 0 */
  int32_t driver_version; /**< of the oldest driver that loads it, 12090 for CUDA 12.9; 0: unknown.
                               Besides, a CUDA device needs 12040 */
  uint64_t packed_bytes;  /**< that its image, shared with other kernels, takes of the library */
  uint64_t image_bytes;   /**< that tw_kernel_image() writes */
} tw_kernel_entry;

/** Initialises a ::tw_kernel_entry, which other functions then fill in.
 *  @param[out] entry not NULL. @param size sizeof(tw_kernel_entry) as the caller's compiler sees
 * it.
 *  @retval TW_ERROR_STRUCT size belongs to no version of the struct.
 *  @threadsafety{any thread} @since 0.2 */
TW_API tw_status tw_kernel_entry_init(tw_kernel_entry *entry, size_t size);

/** One of the precompiled kernels. @param index from 0 to count - 1.
 *  @param[in,out] entry initialised; the rest is filled in. NULL where the count
 *  alone is asked for. @param[out] count kernels times targets; may be NULL.
 *  @retval TW_ERROR_NOT_FOUND entry is not NULL and there is no such index; count is set.
 *  @retval TW_ERROR_STRUCT struct_size is not that of a known version.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_kernels_list(int32_t index, tw_kernel_entry *entry, int32_t *count);

/** What ptxas gave a precompiled kernel: registers, shared and local memory, parameters. Needs no
 *  device; tw_kernel_get_info() asks the driver the same of a loaded one.
 *  @param name the kernel's symbol. @param target as in tw_kernel_entry.
 *  @param[in,out] info initialised; the rest is filled in.
 *  @retval TW_ERROR_NOT_FOUND no such kernel, or not for this target: the message says which.
 *  @retval TW_ERROR_UNSUPPORTED PTX has no registers before the driver compiles it.
 *  @threadsafety{any thread} @blocking{unpacks the image: milliseconds} @since 0.1 */
TW_API tw_status tw_kernels_info(const char *name, const char *target, tw_kernel_info *info);

/** The cubin (of machine code) or PTX text that holds a precompiled kernel, to be disassembled; the
 *  kernel shares it with others of its family. @param name the kernel's symbol.
 *  @param target as in tw_kernel_entry. @param[out] buffer may be NULL where capacity is 0.
 *  @param capacity bytes of buffer. @param[out] size bytes of the image; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL capacity is less than the image; nothing is written.
 *  @retval TW_ERROR_NOT_FOUND no such kernel, or not for this target.
 *  @threadsafety{any thread} @blocking{unpacks the image: milliseconds} @since 0.1 */
TW_API tw_status tw_kernel_image(const char *name, const char *target, void *buffer,
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
 * Layouts and pictures of them. tilewright.h includes this file; its conventions hold here too.
 */


#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup layout Layouts: CuTe's shape:stride algebra at run time
 *  A layout is a function from coordinates to indices: `(4,3):(1,8)`, shape:stride, has 4 times 3
 *  coordinates (i,j), and (i,j) has index i * 1 + j * 8. Each extent with its stride is a mode; a
 *  mode can have modes inside, `((2,3),4):((1,8),2)`, and then its coordinate can be one number or
 *  a tuple of them. One number for several modes counts through them with the leftmost fastest
 *  (colexicographically): of this layout 3, (3,0) and ((1,1),0) are one coordinate, with index 9.
 *  So every layout can also be seen as a function of one number, and as one mode.
 *
 *  In front there can be a swizzle and an offset: `Sw<3,3,3> o 0 o (64,64):(64,1)`. Strides can be
 *  scaled basis elements, `2@1` being 2 at element 1 of a tuple; then the layout gives coordinates,
 *  not indices: `(0,0) o (1024,512):(1@1,1@0)` at (2,3) is (3,2).
 *
 *  Layouts, tuples and tilers are values: no function changes one, and each belongs to the caller.
 *  Beside what each lists, functions return TW_ERROR_OVERFLOW where a number of the answer exceeds
 *  64 bits, TW_ERROR_CAPACITY where it has more leaves than TW_LAYOUT_MAX_LEAVES or is nested
 * deeper than TW_LAYOUT_MAX_DEPTH, and TW_ERROR_UNSUPPORTED for an operand of a kind that they do
 * not take, such as basis strides where indices are wanted. "Example:" lines below show texts of
 * the operands and of the answer; the tests run every one.
 *  @{ */

typedef struct tw_tuple tw_tuple;   /**< Nested integers: a shape, a coordinate, an order. */
typedef struct tw_tiler tw_tiler;   /**< How a layout is cut: a layout, or a tuple of tilers. */
typedef struct tw_linear tw_linear; /**< A linear layout over bits, as Triton has them. */

/** Most leaves that a layout can have, and its deepest nesting. */
enum { TW_LAYOUT_MAX_LEAVES = 32, TW_LAYOUT_MAX_DEPTH = 16 };

/** Reads a layout from its text: `shape:stride`, or `shape` alone for the compact column-major one.
 *  Strides may be integers or scaled basis elements such as `2@1`; `(0,0) o shape:stride` puts an
 *  origin in front of a coordinate tensor.
 *  @param text zero-terminated. @param[out] layout the caller's, for tw_layout_destroy().
 *  @retval TW_ERROR_PARSE the text is none; the message says where and what was expected.
 *  @retval TW_ERROR_CAPACITY too many leaves or too deep. @retval TW_ERROR_OVERFLOW too large.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_parse(const char *text, tw_layout **layout);

/** Makes a flat layout. @param rank 1 to TW_LAYOUT_MAX_LEAVES. @param shape rank extents, each at
 *  least 1. @param stride rank strides, or NULL for the compact column-major ones.
 *  @param[out] layout the caller's, for tw_layout_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_create(int32_t rank, const int64_t *shape, const int64_t *stride,
                                  tw_layout **layout);

/** Destroys a layout. @param layout may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_layout_destroy(tw_layout *layout);

/** Writes a layout's text, zero-terminated. @param layout not NULL. @param[out] buffer may be NULL
 *  where capacity is 0. @param capacity bytes of buffer. @param[out] length bytes that the whole
 *  text needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning of the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_format(const tw_layout *layout, char *buffer, size_t capacity,
                                  size_t *length);

/** Number of coordinates: the product of the shape.
 *  Example: size("((2,3),4):((1,8),2)") = "24" @param layout not NULL. @param[out] size it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_size(const tw_layout *layout, int64_t *size);

/** One more than the largest distance between two indices: sum of (extent - 1) * |stride|, plus 1.
 *  Example: cosize("(4,3):(1,100)") = "204"
 *  @param layout not NULL. @param[out] cosize it.
 *  @retval TW_ERROR_UNSUPPORTED the layout gives coordinates (basis strides), not integers.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_cosize(const tw_layout *layout, int64_t *cosize);

/** Number of modes at the top; 1 for a layout that is a single `extent:stride`.
 *  Example: rank("((2,3),4):((1,8),2)") = "2"
 *  @param layout not NULL. @param[out] rank it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_rank(const tw_layout *layout, int32_t *rank);

/** Depth of nesting: 0 for a single `extent:stride`, 1 for a flat tuple.
 *  Example: depth("((2,3),4):((1,8),2)") = "2"
 *  @param layout not NULL. @param[out] depth it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_depth(const tw_layout *layout, int32_t *depth);

/** Number of leaves, that is of integers in the shape.
 *  Example: leaves("((2,3),4):((1,8),2)") = "3" @param layout not NULL.
 *  @param[out] leaves it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_leaves(const tw_layout *layout, int32_t *leaves);

/** One mode of a layout as a layout.
 *  Example: mode("((2,3),4):((1,8),2)", 0) = "(2,3):(1,8)" @param layout not NULL. @param mode from
 * 0 to rank - 1.
 *  @param[out] out the caller's, for tw_layout_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_mode(const tw_layout *layout, int32_t mode, tw_layout **out);

/** Coordinate to index.
 *  Example: crd2idx("((2,3),4):((1,8),2)", 5, 3) = "23" @param layout not NULL. @param coord one
 * linear coordinate (count 1), one for each top mode (count = rank), or one for each leaf (count =
 * leaves).
 *  @param count numbers in coord. @param[out] index where a layout has integer strides.
 *  @retval TW_ERROR_UNSUPPORTED the layout gives coordinates: use tw_layout_crd2crd().
 *  @retval TW_ERROR_INVALID_ARGUMENT the count fits nothing, or a number is out of its extent.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_crd2idx(const tw_layout *layout, const int64_t *coord, int32_t count,
                                   int64_t *index);

/** Coordinate to coordinate, for a layout of basis strides such as a tensor map's.
 *  Example: crd2crd("(0,0) o (1024,512):(1@1,1@0)", 2, 3) = "(3,2)"
 *  @param layout not NULL. @param coord as in tw_layout_crd2idx(). @param count numbers in coord.
 *  @param[out] out one number for each basis element `@0`, `@1`, ...
 *  @param capacity numbers that out can hold. @param[out] written how many there are.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written says how many it takes.
 *  @retval TW_ERROR_INVALID_ARGUMENT as of tw_layout_crd2idx().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_crd2crd(const tw_layout *layout, const int64_t *coord, int32_t count,
                                   int64_t *out, int32_t capacity, int32_t *written);

/** Linear coordinate to flat coordinate, one number for each leaf.
 *  Example: idx2crd("((2,3),4):((1,8),2)", 13) = "(1,0,2)" @param layout not NULL.
 *  @param linear from 0 to size - 1. @param[out] coord the numbers. @param capacity numbers that
 *  coord can hold, at least leaves.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL capacity is less than leaves.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_idx2crd(const tw_layout *layout, int64_t linear, int64_t *coord,
                                   int32_t capacity);

/** Index back to the smallest linear coordinate that has it.
 *  Example: find("((2,3),4):((1,8),2)", 23) = "23" @param layout of integer strides.
 *  @param index any number. @param[out] linear the coordinate.
 *  @retval TW_ERROR_NOT_FOUND no coordinate has this index.
 *  @retval TW_ERROR_UNSUPPORTED the modes overlap too much to decide.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_find(const tw_layout *layout, int64_t index, int64_t *linear);

/** One tile of a tensor: CuTe's local_tile. Extents that the tile does not divide are rounded up to
 *  whole tiles.
 *  Example: local_tile("(6,8):(1,6)", "(2,4)", "(1,1)") = "26 + (2,4):(1,6)" @param layout of rank
 * at least `rank`. @param rank modes that are tiled, from the left. @param tile extents of the
 * tile, each at least 1. @param coord which tile, one for each tiled mode. @param[out] out the
 * tile's layout, the caller's. @param[out] offset the index of the tile's first element, to be
 * added to the layout's; for basis strides it is part of out and 0 here.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_local_tile(const tw_layout *layout, int32_t rank, const int64_t *tile,
                                      const int64_t *coord, tw_layout **out, int64_t *offset);
/** @name Tuples: shapes, coordinates, orders
 *  Nested integers as text or from an array. In coordinates and tilers `_` (TW_FREE) means "keep
 *  this mode".
 *  @{ */

/** "Keep this mode" among numbers: `_`. */
#define TW_FREE INT64_MIN

/** Reads a tuple from its text: `4`, `(2,(3,4))`, `(_,2)`.
 *  @param text zero-terminated. @param[out] tuple the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_PARSE the text is none; the message says where and what was expected.
 *  @retval TW_ERROR_CAPACITY too many numbers or too deep.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_parse(const char *text, tw_tuple **tuple);

/** Makes a flat tuple. @param count 1 to TW_LAYOUT_MAX_LEAVES. @param values count numbers.
 *  @param[out] tuple the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_create(int32_t count, const int64_t *values, tw_tuple **tuple);

/** Destroys a tuple. @param tuple may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_tuple_destroy(tw_tuple *tuple);

/** Writes a tuple's text, zero-terminated. @param tuple not NULL. @param[out] buffer may be NULL
 *  where capacity is 0. @param capacity bytes of buffer. @param[out] length bytes that the whole
 *  text needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning of the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_format(const tw_tuple *tuple, char *buffer, size_t capacity,
                                 size_t *length);

/** The numbers from left to right, without their nesting. @param tuple not NULL.
 *  @param[out] values the numbers. @param capacity numbers that values can hold.
 *  @param[out] written how many there are.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written says how many it takes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_values(const tw_tuple *tuple, int64_t *values, int32_t capacity,
                                 int32_t *written);

/** Product of the numbers. Example: product("(2,(3,4))") = "24"
 *  @param tuple not NULL. @param[out] product it.
 *  @retval TW_ERROR_OVERFLOW it exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_product(const tw_tuple *tuple, int64_t *product);

/** Do two tuples have the same nesting? Example: congruent("(2,(3,4))", "(1,(1,1))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_congruent(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Does b's nesting refine a's, having anything where a has a number?
 *  Example: weakly_congruent("(2,12)", "(2,(3,4))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_weakly_congruent(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Is every coordinate of shape a one of shape b? So it is where b refines a with equal sizes.
 *  Example: compatible("(2,12)", "(2,(3,4))") = "1"
 *  @param a not NULL. @param b not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_compatible(const tw_tuple *a, const tw_tuple *b, int32_t *yes);

/** Is every number of a coordinate below that of a shape? The predicate of partial tiles: a
 *  coordinate of a divided identity tensor against the tensor's shape.
 *  Example: elem_less("(3,(1,4))", "(4,(2,4))") = "0"
 *  @param coord not NULL. @param shape of the same nesting. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the nestings differ.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_elem_less(const tw_tuple *coord, const tw_tuple *shape, int32_t *yes);

/** Products of all numbers to the left: the compact column-major strides of a shape.
 *  Example: prefix_product("(2,(3,4))") = "(1,(2,6))"
 *  @param shape not NULL. @param[out] out the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_OVERFLOW a product exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_prefix_product(const tw_tuple *shape, tw_tuple **out);

/** Sum of the products of matching numbers: a coordinate times strides.
 *  Example: inner_product("(1,(2,3))", "(4,(5,6))") = "32"
 *  @param a not NULL. @param b of the same nesting. @param[out] product it.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the nestings differ.
 *  @retval TW_ERROR_OVERFLOW it exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_inner_product(const tw_tuple *a, const tw_tuple *b, int64_t *product);

/** Divides a shape: by an integer from its leftmost number on, by a shape number by number.
 *  Example: shape_div("(4,(3,2))", "6") = ERROR_NOT_A_LAYOUT
 *  Example: shape_div("(4,(3,2))", "12") = "(1,(1,2))"
 *  @param a not NULL. @param b not NULL. @param[out] out the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_NOT_A_LAYOUT of two numbers neither divides the other.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_shape_div(const tw_tuple *a, const tw_tuple *b, tw_tuple **out);

/** How many tiles cover a shape. Example: ceil_div("(84,168)", "(5,16)") = "(17,11)"
 *  @param shape not NULL. @param tile not NULL; modes that it lacks stay.
 *  @param[out] out the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or tile has more modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tuple_ceil_div(const tw_tuple *shape, const tw_tuple *tile, tw_tuple **out);
/** @} */

/** @name Tilers: how a layout is cut
 *  A tiler is a layout, which cuts another as a function of one number, or a tuple `<a,b,...>` of
 *  tilers, which cuts mode by mode. Among these an integer n is `n:1`, and `_` keeps its mode.
 *  @{ */

/** Reads a tiler from its text: `8:2`, `<8,(2,4):(4,1),_>`, `<4,<2,2>>`.
 *  @param text zero-terminated. @param[out] tiler the caller's, for tw_tiler_destroy().
 *  @retval TW_ERROR_PARSE the text is none; the message says where and what was expected.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_parse(const char *text, tw_tiler **tiler);

/** Makes `<extents[0],extents[1],...>`. @param rank 1 to TW_LAYOUT_MAX_LEAVES.
 *  @param extents rank numbers, each at least 1, or TW_FREE.
 *  @param[out] tiler the caller's, for tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_create(int32_t rank, const int64_t *extents, tw_tiler **tiler);

/** Makes a tiler of a layout. @param layout of integer strides, without swizzle or offset; copied.
 *  @param[out] tiler the caller's, for tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_from_layout(const tw_layout *layout, tw_tiler **tiler);

/** Makes `<entries[0],entries[1],...>`. @param rank 1 to TW_LAYOUT_MAX_LEAVES.
 *  @param entries rank tilers; copied. @param[out] tiler the caller's, for tw_tiler_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument or an entry is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_by_mode(int32_t rank, const tw_tiler *const *entries, tw_tiler **tiler);

/** Destroys a tiler. @param tiler may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_tiler_destroy(tw_tiler *tiler);

/** Writes a tiler's text, zero-terminated. @param tiler not NULL. @param[out] buffer may be NULL
 *  where capacity is 0. @param capacity bytes of buffer. @param[out] length bytes that the whole
 *  text needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning of the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_tiler_format(const tw_tiler *tiler, char *buffer, size_t capacity,
                                 size_t *length);
/** @} */

/** @name Layouts from shapes
 *  @{ */

/** The compact layout that counts from the left: column-major.
 *  Example: make_layout_left("(4,(2,3))") = "(4,(2,3)):(1,(4,8))"
 *  @param shape extents, each at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_left(const tw_tuple *shape, tw_layout **out);

/** The compact layout that counts from the right: row-major.
 *  Example: make_layout_right("(4,(2,3))") = "(4,(2,3)):(6,(3,1))"
 *  @param shape extents, each at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_right(const tw_tuple *shape, tw_layout **out);

/** A compact layout whose strides rise with the numbers of an order.
 *  Example: make_ordered_layout("(4,3,2)", "(2,0,1)") = "(4,3,2):(6,1,3)"
 *  @param shape extents, each at least 1. @param order of the shape's nesting, or coarser; modes
 *  of equal numbers share a stride. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_ordered(const tw_tuple *shape, const tw_tuple *order,
                                        tw_layout **out);

/** A compact layout whose modes follow one another as another layout's do; strides 0 stay.
 *  Example: make_layout_like("(2,16,2):(1,8,4)") = "(2,16,2):(1,4,2)"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_like(const tw_layout *layout, tw_layout **out);

/** The layout that gives back each coordinate: what predicates are made of, see
 *  tw_tuple_elem_less(). Example: make_identity_layout("(4,(2,3))") =
 *  "(4,(2,3)):(1@0,(1@0@1,1@1@1))"
 *  @param shape extents, each at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_identity(const tw_tuple *shape, tw_layout **out);

/** A thread-value layout: (thread, value) to the index in a tile, for threads that lie in a tile as
 *  one layout says, each with a block of values as another says.
 *  Example: make_layout_tv("(4,32):(32,1)", "(4,4):(4,1)") = "(16,128)
 *  ((32,4),(4,4)):((64,4),(16,1))"
 *  @param threads compact. @param values compact. @param[out] tiler the tile's shape, the caller's.
 *  @param[out] out the layout, the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT threads and values do not number the tile's elements one by one.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_make_tv(const tw_layout *threads, const tw_layout *values,
                                   tw_tuple **tiler, tw_layout **out);

/** A layout of as many of `size` coordinates as spread evenly over the modes of a shape.
 *  Example: domain_distribute("(9,32,2)", "8") = "8:9"
 *  @param shape extents, each at least 1. @param size at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_domain_distribute(const tw_tuple *shape, int64_t size, tw_layout **out);
/** @} */

/** @name Questions about a layout
 *  @{ */

/** The shape. Example: shape("((2,3),4):((1,8),2)") = "((2,3),4)"
 *  @param layout not NULL. @param[out] shape the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_shape(const tw_layout *layout, tw_tuple **shape);

/** The strides. Example: stride("((2,3),4):((1,8),2)") = "((1,8),2)"
 *  @param layout not NULL. @param[out] stride the caller's, for tw_tuple_destroy().
 *  @retval TW_ERROR_UNSUPPORTED the strides are basis elements: take them from the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_stride(const tw_layout *layout, tw_tuple **stride);

/** The swizzle Sw<bits,base,shift> and the offset in front of a layout, 0 where there is none.
 *  Example: swizzle("Sw<3,4,3> o 128 o (8,128):(128,1)") = "3 4 3 128"
 *  @param layout not NULL. @param[out] bits B, 0 without a swizzle. @param[out] base M.
 *  @param[out] shift S. @param[out] offset added before the swizzle.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_swizzle(const tw_layout *layout, int32_t *bits, int32_t *base,
                                   int32_t *shift, int64_t *offset);

/** Index of a coordinate in any nesting that the shape refines. A coordinate that is one number may
 *  lie past the end, where the last mode counts on, as in CuTe.
 *  Example: at("((2,3),4):((1,8),2)", "(5,(3))") = ERROR_INVALID_ARGUMENT
 *  Example: at("((2,3),4):((1,8),2)", "(5,3)") = "23"
 *  Example: at("(4,3):(1,8)", "13") = "25"
 *  @param layout not NULL. @param coord without `_`. @param[out] index of the coordinate.
 *  @retval TW_ERROR_UNSUPPORTED the layout gives coordinates: use tw_layout_at_coord().
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_at(const tw_layout *layout, const tw_tuple *coord, int64_t *index);

/** The same for a layout that gives coordinates.
 *  Example: at_coord("(0,0) o (1024,512):(1@1,1@0)", "(2,3)") = "(3,2)"
 *  @param layout not NULL. @param coord without `_`. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_at_coord(const tw_layout *layout, const tw_tuple *coord, tw_tuple **out);

/** Does no index belong to two coordinates? Example: is_injective("(4,4):(1,3)") = "0"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED the modes overlap too much to decide.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_injective(const tw_layout *layout, int32_t *yes);

/** Is no index left out between the smallest and the largest?
 *  Example: is_surjective("(4,4):(1,3)") = "1"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED the layout gives coordinates, or its swizzle moves indices into
 *  gaps or out of its range and it has more than 2^20 coordinates.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_surjective(const tw_layout *layout, int32_t *yes);

/** Are the indices size(layout) numbers one behind the other, in any order?
 *  Example: is_contiguous("(4,4):(4,1)") = "1"
 *  @param layout not NULL. @param[out] yes 1 or 0.
 *  @retval TW_ERROR_UNSUPPORTED as for tw_layout_is_surjective().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_is_contiguous(const tw_layout *layout, int32_t *yes);

/** The number of elements that every access to a layout may be aligned to and taken in, counted
 *  from an aligned base. Example: max_alignment("(3,(32,2)):(128,(4,1))") = "2"
 *  @param layout of integer strides. @param[out] elements the number.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is negative. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_alignment(const tw_layout *layout, int64_t *elements);

/** The longest vector whose elements lie one behind the other in two layouts, in the same order:
 *  how wide a copy between them can be. Example: max_common_vector("(8,4):(1,8)", "(8,4):(1,16)") =
 *  "8"
 *  @param a of integer strides. @param b of the same size. @param[out] elements the number.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_common_vector(const tw_layout *a, const tw_layout *b,
                                             int64_t *elements);
/** @} */

/** @name The same function with other modes
 *  These keep a swizzle, an offset or an origin in front as it is.
 *  @{ */

/** Joins modes that continue one another and drops modes of extent 1.
 *  Example: coalesce("(2,(1,6)):(1,(6,2))", NULL) = "12:1"
 *  Example: coalesce("(2,(1,6)):(1,(6,2))", "(1,1)") = "(2,6):(1,2)"
 *  @param layout not NULL. @param profile NULL for the whole; else it is done mode by mode: where
 *  the profile has a number, whichever. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the profile has too many modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_coalesce(const tw_layout *layout, const tw_tuple *profile,
                                    tw_layout **out);

/** Coalesces without the modes of stride 0. Example: filter("(2,4,8):(1,0,2)", NULL) = "16:1"
 *  @param layout not NULL. @param profile as for tw_layout_coalesce(), may be NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, or the profile has too many modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_filter(const tw_layout *layout, const tw_tuple *profile,
                                  tw_layout **out);

/** Gives modes of stride 0 the extent 1. Example: filter_zeros("(2,4,8):(1,0,2)") =
 *  "(2,1,8):(1,0,2)"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_filter_zeros(const tw_layout *layout, tw_layout **out);

/** Takes the nesting away. Example: flatten("((2,3),4):((1,8),2)") = "(2,3,4):(1,8,2)"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flatten(const tw_layout *layout, tw_layout **out);

/** Makes one mode of several. Example: group_modes("(2,3,4):(1,2,6)", 1, 3) = "(2,(3,4)):(1,(2,6))"
 *  @param layout not NULL. @param begin first mode. @param end behind the last.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there are no such modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_group_modes(const tw_layout *layout, int32_t begin, int32_t end,
                                       tw_layout **out);

/** Adds a mode behind. Example: append("(2,3):(1,2)", "4:8") = "(2,3,4):(1,2,8)"
 *  @param layout not NULL. @param mode any layout without swizzle, offset or origin; copied.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @retval TW_ERROR_CAPACITY too many leaves. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_append(const tw_layout *layout, const tw_layout *mode, tw_layout **out);

/** Adds a mode in front. Example: prepend("(2,3):(1,2)", "4:8") = "(4,2,3):(8,1,2)"
 *  @param layout not NULL. @param mode as for tw_layout_append(). @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @retval TW_ERROR_CAPACITY too many leaves. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_prepend(const tw_layout *layout, const tw_layout *mode, tw_layout **out);

/** Puts a layout in place of a mode. Example: replace("(2,3):(1,2)", 1, "(4,4):(8,2)") =
 *  "(2,(4,4)):(1,(8,2))"
 *  @param layout not NULL. @param index the mode. @param with as for tw_layout_append().
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such mode.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_replace(const tw_layout *layout, int32_t index, const tw_layout *with,
                                   tw_layout **out);

/** Some modes, in the order given. Example: select("(2,3,4):(1,2,6)", 2, 0) = "(4,2):(6,1)"
 *  @param layout not NULL. @param count how many, at least 1. @param modes their numbers.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such mode.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_select(const tw_layout *layout, int32_t count, const int32_t *modes,
                                  tw_layout **out);

/** Modes from one to another. Example: take("(2,3,4):(1,2,6)", 1, 3) = "(3,4):(2,6)"
 *  @param layout not NULL. @param begin first mode. @param end behind the last.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there are no such modes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_take(const tw_layout *layout, int32_t begin, int32_t end,
                                tw_layout **out);
/** @} */

/** @name Algebra
 *  Answers are those of CuTe, but for those of CuTe's that are no answers: an operation whose
 *  mathematical result is a layout returns it, any other is refused with TW_ERROR_NOT_A_LAYOUT and
 *  the reason.
 *  @{ */

/** Function composition: R(c) = A(B(c)), with B's shape refined where one mode of B takes several
 *  of A. A is taken as a function of one number, which beyond its end counts on in its last mode.
 *  Where B gives coordinates, each of their numbers indexes a mode of A.
 *  Example: composition("(6,2):(8,2)", "(4,3):(3,1)") = "((2,2),3):((24,2),8)"
 *  Example: composition("(8,8):(8,1)", "6:3") = "(3,2):(24,9)"
 *  Example: composition("(4,8):(8,1)", "(2,1,2,8):(1,16,1,1)") = ERROR_NOT_A_LAYOUT
 *  @param a may have a swizzle or an offset, which stay in front. @param b not NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT the function is not of the form of a layout.
 *  @retval TW_ERROR_OVERFLOW an index exceeds 64 bits. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_composition(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** Composition mode by mode; modes that the tiler lacks are dropped.
 *  Example: composition_tiler("(12,(4,8)):(59,(13,1))", "<3:4,8>") = "(3,(4,2)):(236,(13,1))"
 *  @param a as for tw_layout_composition(). @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT the function is not of the form of a layout.
 *  @retval TW_ERROR_INVALID_ARGUMENT the tiler has more modes. @threadsafety{any thread} @since
 *  0.1 */
TW_API tw_status tw_layout_composition_tiler(const tw_layout *a, const tw_tiler *tiler,
                                             tw_layout **out);

/** What a layout leaves out of 0 ... cosize - 1, in rising order: each of its indices added to each
 *  of the layout's gives another number.
 *  Example: complement("4:2", 24) = "(2,3):(1,8)"
 *  @param layout of integer strides, none negative. @param cosize at least 1.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT the layout's modes overlap.
 *  @retval TW_ERROR_INVALID_ARGUMENT cosize is below 1.
 *  @threadsafety{any thread} @since
 *  0.1 */
TW_API tw_status tw_layout_complement(const tw_layout *layout, int64_t cosize, tw_layout **out);

/** Index to coordinate: L(R(i)) = i for every i below size(R), which is as far as L's modes count
 *  0, 1, 2, ... Example: right_inverse("(4,8):(8,1)") = "(8,4):(4,1)"
 *  @param layout of integer strides, none negative; with a swizzle where that maps its indices onto
 *  themselves. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_right_inverse(const tw_layout *layout, tw_layout **out);

/** Index to coordinate also where there are gaps: R(L(i)) = i. Where several coordinates share an
 *  index, L(R(L(i))) = L(i). Example: left_inverse("(4,3,5):(1,12,37)") = ERROR_NOT_A_LAYOUT
 *  Example: left_inverse("(4,8):(1,6)") = "(6,8):(1,4)"
 *  @param layout of integer strides, none negative. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride is no multiple of the next smaller one.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_left_inverse(const tw_layout *layout, tw_layout **out);

/** Cuts a layout into tiles: A o (B, complement(B, size(A))). The first mode is one tile, the
 *  second steps from tile to tile; a last tile may reach past the end. Mode by mode for a tuple.
 *  Tiles and rest together reach every index of the layout. A tile that could not do that is
 *  refused: each stride of a tile must be a multiple of extent times stride of the tile's mode with
 *  the next smaller stride, as far as the gap would lie inside the layout. CuTe accepts such a tile
 *  and leaves indices out, 256 and 576 in the last example.
 *  Example: logical_divide("(4,2,3):(2,1,8)", "4:2") = "((2,2),(2,3)):((4,1),(2,8))"
 *  Example: logical_divide("(9,(4,8)):(59,(13,1))", "<3:3,(2,4):(1,8)>") =
 *  "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"
 *  Example: logical_divide("11:64", "(2,4):(5,1)") = ERROR_NOT_A_LAYOUT
 *  @param layout not NULL. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none, or it would leave indices out.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_logical_divide(const tw_layout *layout, const tw_tiler *tiler,
                                          tw_layout **out);

/** logical_divide with the tiles' modes first and together: ((tile, tile), (rest, rest)).
 *  Example: zipped_divide("(6,8):(1,6)", "<2,4>") = "((2,4),(3,2)):((1,6),(2,24))"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_zipped_divide(const tw_layout *layout, const tw_tiler *tiler,
                                         tw_layout **out);

/** zipped_divide with the rest's modes at the top: ((tile, tile), rest, rest).
 *  Example: tiled_divide("(6,8):(1,6)", "<2,4>") = "((2,4),3,2):((1,6),2,24)"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tiled_divide(const tw_layout *layout, const tw_tiler *tiler,
                                        tw_layout **out);

/** zipped_divide with all modes at the top: (tile, tile, rest, rest).
 *  Example: flat_divide("(6,8):(1,6)", "<2,4>") = "(2,4,3,2):(1,6,2,24)"
 *  @param layout not NULL. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_logical_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flat_divide(const tw_layout *layout, const tw_tiler *tiler,
                                       tw_layout **out);

/** Repeats a layout: (A, complement(A, size(A) * cosize(B)) o B). The first mode is A, the second
 *  steps from copy to copy in B's order. Mode by mode for a tuple.
 *  Example: logical_product("(2,2):(4,1)", "6:1") = "((2,2),(2,3)):((4,1),(2,8))"
 *  @param a of integer strides, none negative. @param tiler not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_logical_product(const tw_layout *a, const tw_tiler *tiler,
                                           tw_layout **out);

/** logical_product with A's modes first and together.
 *  Example: zipped_product("(2,5):(5,1)", "<3,4>") = "((2,5),(3,4)):((5,1),(1,5))"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_zipped_product(const tw_layout *a, const tw_tiler *tiler,
                                          tw_layout **out);

/** zipped_product with the copies' modes at the top.
 *  Example: tiled_product("(2,5):(5,1)", "(3,4):(1,3)") = "((2,5),3,4):((5,1),10,30)"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tiled_product(const tw_layout *a, const tw_tiler *tiler,
                                         tw_layout **out);

/** zipped_product with all modes at the top.
 *  Example: flat_product("(2,5):(5,1)", "(3,4):(1,3)") = "(2,5,3,4):(5,1,10,30)"
 *  @param a as for tw_layout_logical_product(). @param tiler not NULL.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_flat_product(const tw_layout *a, const tw_tiler *tiler, tw_layout **out);

/** logical_product with modes paired, A's first: a tiling of blocks.
 *  Example: blocked_product("(2,5):(5,1)", "(3,4):(1,3)") = "((2,3),(5,4)):((5,10),(1,30))"
 *  @param a as for tw_layout_logical_product(). @param b of integer strides.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_blocked_product(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** logical_product with modes paired, B's first: A's elements spread over the copies.
 *  Example: raked_product("(2,5):(5,1)", "(3,4):(1,3)") = "((3,2),(4,5)):((10,5),(30,1))"
 *  @param a as for tw_layout_logical_product(). @param b of integer strides.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_raked_product(const tw_layout *a, const tw_layout *b, tw_layout **out);

/** Repeats a block until it covers a shape.
 *  Example: tile_to_shape("Sw<3,3,3> o 0 o (8,64):(64,1)", "(128,64)", NULL) = "Sw<3,3,3> o 0 o
 *  ((8,16),(64,1)):((64,512),(1,0))"
 *  @param block may be swizzled. @param shape of at least the block's rank. @param order in which
 *  the copies follow one another, NULL for leftmost first. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tile_to_shape(const tw_layout *block, const tw_tuple *shape,
                                         const tw_tuple *order, tw_layout **out);

/** Coordinates whose indices are the same in two layouts, from 0 on without a gap: R with
 *  a(R(i)) = b(R(i)) = i.
 *  Example: max_common_layout("(4,16):(16,1)", "(4,16):(16,1)") = "(16,4):(4,1)"
 *  @param a of integer strides. @param b likewise. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none. @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_max_common_layout(const tw_layout *a, const tw_layout *b,
                                             tw_layout **out);

/** Coordinates that do not change the index: L(N(i)) = 0.
 *  Example: nullspace("(4,2,8):(1,0,4)") = "2:4"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_nullspace(const tw_layout *layout, tw_layout **out);
/** @} */

/** @name Parts of a layout
 *  A part begins somewhere. For a plain layout of integers that is `offset`, to be added to the
 *  part's indices (or to a pointer, in elements). A part of a swizzled layout, of one with an
 *  offset and of one that gives coordinates has it inside, and `offset` is 0.
 *  @{ */

/** Fixes the modes where a coordinate has a number and keeps those where it has `_`.
 *  Example: slice("(4,(2,3)):(1,(4,8))", "(2,(_,1))") = "10 + (2):(4)"
 *  @param layout not NULL. @param coord not NULL. @param[out] out the caller's.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_slice(const tw_layout *layout, const tw_tuple *coord, tw_layout **out,
                                 int64_t *offset);

/** Keeps the modes where a coordinate has a number: what a slice takes away.
 *  Example: dice("(4,(2,3)):(1,(4,8))", "(2,(_,1))") = "(4,3):(1,8)"
 *  @param layout not NULL. @param coord not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_dice(const tw_layout *layout, const tw_tuple *coord, tw_layout **out);

/** The same layout, from a coordinate on.
 *  Example: domain_offset("(8,8):(1,8)", "(2,3)") = "26 + (8,8):(1,8)"
 *  Example: domain_offset("Sw<3,2,3> o 0 o (2,32):(1,2)", "(0,14)") = "Sw<3,2,3> o 28 o
 *  (2,32):(1,2)"
 *  @param layout not NULL. @param coord without `_`. @param[out] out the caller's.
 *  @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the shape.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_domain_offset(const tw_layout *layout, const tw_tuple *coord,
                                         tw_layout **out, int64_t *offset);

/** One tile, by any tiler; tw_layout_local_tile() is the same for plain extents.
 *  Example: tile("(6,8):(1,6)", "<2,4>", "(1,1)") = "26 + (2,4):(1,6)"
 *  Example: tile("(6,8):(1,6)", "<2,4>", "(1,_)") = "2 + (2,4,2):(1,6,24)"
 *  @param layout not NULL. @param tiler not NULL. @param coord which tile; `_` keeps a mode of
 *  tiles, behind the tile's modes. @param[out] out the caller's. @param[out] offset of the part,
 *  elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT the coordinate does not fit the tiles.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_zipped_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_tile(const tw_layout *layout, const tw_tiler *tiler,
                                const tw_tuple *coord, tw_layout **out, int64_t *offset);

/** One thread's elements: its place among the threads, in every tile of the threads' shape.
 *  Example: local_partition("(32,16):(1,32)", "(2,8):(1,2)", 4) = "64 + (16,2):(2,256)"
 *  @param layout not NULL. @param threads from a place to a thread's number. @param thread its
 *  number.
 *  @param[out] out the caller's. @param[out] offset of the part, elements.
 *  @retval TW_ERROR_NOT_FOUND there is no such thread.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_zipped_divide().
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_local_partition(const tw_layout *layout, const tw_layout *threads,
                                           int64_t thread, tw_layout **out, int64_t *offset);
/** @} */

/** @name Swizzles, and elements of another size
 *  Sw<bits,base,shift> on a layout acts on indices, that is on elements: x ^ ((x & Y) >> shift), Y
 *  being `bits` bits from bit base + max(0, shift) on. The hardware's modes act on bytes: 32, 64
 *  and 128 bytes are Sw<1,4,3>, Sw<2,4,3> and Sw<3,4,3>. Recast from 8 bits to an element's for the
 *  layout's form: 128 bytes of bf16 are Sw<3,3,3>, ((column / 8) ^ (row % 8)) * 8 + column % 8.
 *  @{ */

/** Puts a swizzle in front of a layout.
 *  Example: add_swizzle("(8,64):(64,1)", 3, 3, 3) = "Sw<3,3,3> o 0 o (8,64):(64,1)"
 *  @param layout of integers, not swizzled yet. @param bits B, 0 or more. @param base M, 0 or more.
 *  @param shift S, |S| at least B; negative shifts left. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_add_swizzle(const tw_layout *layout, int32_t bits, int32_t base,
                                       int32_t shift, tw_layout **out);

/** A layout without its swizzle, and without the offset and the origin in front of it.
 *  Example: remove_swizzle("Sw<3,3,3> o 8 o (8,64):(64,1)") = "(8,64):(64,1)"
 *  @param layout not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_remove_swizzle(const tw_layout *layout, tw_layout **out);

/** A swizzle as a function. Example: swizzle_apply("Sw<3,4,3>", 144) = "128"
 *  @param bits B. @param base M. @param shift S. @param x any number. @param[out] out its image.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_swizzle_apply(int32_t bits, int32_t base, int32_t shift, int64_t x,
                                  int64_t *out);

/** A swizzle of elements of one size for elements of another, both in bits.
 *  Bits below the larger element's size drop out. Example: swizzle_recast("Sw<3,4,3>", 8, 16) =
 *  "Sw<3,3,3>" Example: swizzle_recast("Sw<3,0,3>", 8, 16) = "Sw<2,0,3>"
 *  @param[in,out] bits B. @param[in,out] base M. @param[in,out] shift S. @param from_bits of an
 *  element before. @param to_bits of an element after.
 *  @retval TW_ERROR_NOT_A_LAYOUT the sizes' ratio is no power of two.
 *  @retval TW_ERROR_INVALID_ARGUMENT the numbers make no swizzle, or a size is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_swizzle_recast(int32_t *bits, int32_t *base, int32_t *shift, int64_t from_bits,
                                   int64_t to_bits);

/** Joins n neighbouring elements into one. Example: upcast("(8,4):(4,1)", 2) = "(8,2):(2,1)"
 *  @param layout of integers. @param n at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT a stride or the offset does not fit groups of n.
 *  @retval TW_ERROR_INVALID_ARGUMENT n is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_upcast(const tw_layout *layout, int64_t n, tw_layout **out);

/** Takes each element apart into n. Example: downcast("(8,4):(4,1)", 2) = "(8,8):(8,1)"
 *  @param layout of integers. @param n at least 1. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT no mode has stride 1, where the parts would lie.
 *  @retval TW_ERROR_INVALID_ARGUMENT n is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_downcast(const tw_layout *layout, int64_t n, tw_layout **out);

/** The same bytes as elements of another size, swizzle included.
 *  Example: recast("Sw<3,4,3> o 0 o (8,128):(128,1)", 8, 16) = "Sw<3,3,3> o 0 o (8,64):(64,1)"
 *  @param layout of integers. @param from_bits of an element before. @param to_bits after.
 *  @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT as for tw_layout_upcast() and tw_layout_downcast().
 *  @retval TW_ERROR_INVALID_ARGUMENT a size is below 1.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_recast(const tw_layout *layout, int64_t from_bits, int64_t to_bits,
                                  tw_layout **out);
/** @} */

/** @name Who moves what
 *  @{ */

/** One thread's elements by a thread-value layout: CuTe's get_slice(thread).partition_S(tensor).
 *  Of an identity layout these are coordinates, for predicates.
 *  Example: partition_tv("(64,256):(256,1)", "(16,128)", "((32,4),(4,4)):((64,4),(16,1))", 33) =
 *  "1028 + ((4,4),4,2):((1,256),4096,128)"
 *  @param tensor not NULL. @param tile shape that tv numbers. @param tv from (thread, value) to the
 *  number of an element of the tile, as tw_layout_make_tv() makes it. @param thread its number.
 *  @param[out] out (values, tiles ...), the caller's. @param[out] offset of the part, elements.
 *  @retval TW_ERROR_INVALID_ARGUMENT there is no such thread, or tv has other than two modes.
 *  @retval TW_ERROR_NOT_A_LAYOUT the tiles cut the tensor's modes unevenly.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_partition_tv(const tw_layout *tensor, const tw_tuple *tile,
                                        const tw_layout *tv, int64_t thread, tw_layout **out,
                                        int64_t *offset);

/** The boxes that the TMA moves for a tile: CuTe's tma_partition. The example's tile (2,1) of 128 x
 *  128 bf16 goes in two boxes of 128 x 64, panels of the 128-byte swizzle.
 *  Example: partition_tma("(1024,512):(512,1)", "Sw<3,3,3> o 0 o (128,(64,2)):(64,(1,8192))",
 *  "(128,128)", "(2,1)", 1, 0) = "128,64 at (256,128) o 2:64@1 to (2):(8192)"
 *  @param tensor one mode a dimension, 1 to 5. A layout that gives coordinates gives the boxes'
 *  coordinates too, in its order; of any other they come in the order of its modes.
 *  @param smem the tile's modes in the tensor's order, stages behind; may be swizzled.
 *  @param tile extents. @param coord which tile. @param ctas CTAs of a cluster that share the tile,
 *  each moving an equal part of every box to all; 1 where nothing is shared. @param cta from 0.
 *  @param[out] box extents of one box by mode of the tensor; tensor's rank numbers.
 *  @param capacity numbers that box can hold. @param[out] boxes from the number of a box, in the
 *  order of shared memory, to the coordinate of its first element; the caller's.
 *  @param[out] slots from (box, stage ...) to the element of shared memory where it goes, before
 *  any swizzle; the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT no box moves this tile; the message says why.
 *  @retval TW_ERROR_INVALID_ARGUMENT extents do not match, or there is no such tile or CTA.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_partition_tma(const tw_layout *tensor, const tw_layout *smem,
                                         const tw_tuple *tile, const tw_tuple *coord, int64_t ctas,
                                         int64_t cta, int64_t *box, int32_t capacity,
                                         tw_layout **boxes, tw_layout **slots);

/** Passes through shared memory (32 banks of 4 bytes) that a warp needs for all its values.
 *  Example: bank_passes("(32,32):(32,1)", 32, "(32,1):(1,0)", 4) = "32 of 1"
 *  Example: bank_passes("Sw<3,3,3> o 0 o (8,64):(64,1)", 16, "((8,4),8):((1,64),8)", 16) = "4 of 4"
 *  @param layout of the elements, swizzled or not. @param element_bits bits of one, whole bytes.
 *  @param tv from (thread, value) to a coordinate of layout, of at most 32 threads.
 *  @param access_bytes 4, 8 or 16: what each thread takes at once.
 *  @param[out] passes it takes. @param[out] least that it would take without a conflict.
 *  @retval TW_ERROR_INVALID_ARGUMENT the values of one access are not one behind the other.
 *  @retval TW_ERROR_MISALIGNED an access is not aligned to its size.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_bank_passes(const tw_layout *layout, int32_t element_bits,
                                       const tw_layout *tv, int32_t access_bytes, int64_t *passes,
                                       int64_t *least);

/** The shared-memory layout that a tile of rows has by default: the widest swizzle of 128, 64 or 32
 *  bytes that a row is a multiple of, none below 8 rows; columns beyond it go into further panels.
 *  Example: default_shared(64, 128, 16) = "Sw<3,3,3> o 0 o (64,(64,2)):(64,(1,4096))"
 *  @param rows at least 1. @param columns at least 1. @param element_bits 4 to 128, a power of two.
 *  @param[out] swizzle_bytes 128, 64, 32, or 0. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_default_shared(int64_t rows, int64_t columns, int32_t element_bits,
                                          int32_t *swizzle_bytes, tw_layout **out);
/** @} */

/** @name Linear layouts: which element each register of each thread holds
 *  Triton's layouts. The bits of the register, lane, warp and block numbers each contribute a
 * basis, a coordinate of the tensor; the contributions of all set bits are joined by exclusive or.
 * As text: `register=[[0,1]] lane=[[1,0],[2,0]] warp=[] block=[] -> (4,2)`. Extents are powers of
 * two.
 *  @experimental{every function whose name begins with tw_linear_}
 *  @{ */

/** Reads a linear layout from its text. @param text zero-terminated.
 *  @param[out] linear the caller's, for tw_linear_destroy().
 *  @retval TW_ERROR_PARSE the text is none. @retval TW_ERROR_INVALID_ARGUMENT a basis lies outside
 *  the shape, or an extent is no power of two.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_parse(const char *text, tw_linear **linear);

/** Destroys a linear layout. @param linear may be NULL. @threadsafety{external} @since 0.1 */
TW_API void tw_linear_destroy(tw_linear *linear);

/** Writes a linear layout's text, zero-terminated. @param linear not NULL. @param[out] buffer may
 * be NULL where capacity is 0. @param capacity bytes of buffer. @param[out] length bytes that the
 * whole text needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning of the text.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_format(const tw_linear *linear, char *buffer, size_t capacity,
                                  size_t *length);

/** Triton's BlockedLayout on a shape: what reaches beyond it wraps to nothing, and where the
 *  shape is larger registers repeat. Operands below: shape, size_per_thread, threads_per_warp,
 *  warps_per_cta, order.
 *  Example: linear_blocked("(8,8)", "(1,4)", "(4,2)", "(2,1)", "(1,0)") =
 *  "register=[[0,1],[0,2]] lane=[[0,4],[1,0],[2,0]] warp=[[4,0]] block=[] -> (8,8)"
 *  @param rank 1 to 5. @param shape rank extents.
 *  @param size_per_thread rank numbers. @param threads_per_warp rank numbers.
 *  @param warps_per_cta rank numbers. @param order the dimensions, fastest first.
 *  @param[out] out the caller's, for tw_linear_destroy().
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL, no power of two, or order no permutation.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_blocked(int32_t rank, const int64_t *shape,
                                   const int64_t *size_per_thread, const int64_t *threads_per_warp,
                                   const int64_t *warps_per_cta, const int32_t *order,
                                   tw_linear **out);

/** Triton's SliceLayout: drops a dimension, and the registers that moved in it alone.
 *  Example: linear_slice("register=[[0,1],[1,0]] lane=[[2,0]] -> (4,2)", 0) =
 *  "register=[[1]] lane=[[0]] warp=[] block=[] -> (2)"
 *  @param parent of at least two dimensions. @param dim from 0. @param[out] out the caller's.
 *  @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or there is no such dimension.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_slice(const tw_linear *parent, int32_t dim, tw_linear **out);

/** Fits a linear layout to another shape, as tw_linear_blocked() does.
 *  Example: linear_resize("register=[[1]] lane=[[2]] -> (4)", "(8)") =
 *  "register=[[1],[4]] lane=[[2]] warp=[] block=[] -> (8)"
 *  @param linear not NULL. @param shape as many extents as it has dimensions. @param[out] out the
 *  caller's. @retval TW_ERROR_INVALID_ARGUMENT an argument is NULL or cannot work.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_resize(const tw_linear *linear, const tw_tuple *shape, tw_linear **out);

/** outer(inner(x)): inner's coordinates, bit by bit with the first dimension lowest, are outer's
 *  register, lane, warp and block bits.
 *  Example: linear_compose("register=[[2],[1]] -> (4)", "register=[[2]] lane=[[1]] -> (4)") =
 *  "register=[[1]] lane=[[2]] warp=[] block=[] -> (4)"
 *  @param outer not NULL. @param inner with as many bits of coordinates as outer has input bits.
 *  @param[out] out the caller's. @retval TW_ERROR_INVALID_ARGUMENT the numbers of bits differ.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_compose(const tw_linear *outer, const tw_linear *inner, tw_linear **out);

/** From an element back to (register, lane, warp, block); of several holders the first.
 *  Example: linear_inverse("register=[[2]] lane=[[1]] -> (4)") =
 *  "register=[[0,1,0,0],[1,0,0,0]] lane=[] warp=[] block=[] -> (2,2,1,1)"
 *  @param linear not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT an element is held by nobody.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_inverse(const tw_linear *linear, tw_linear **out);

/** The element that one register holds: numbers of register, lane, warp and block.
 *  Example: linear_at("register=[[0,1]] lane=[[1,0],[2,0]] -> (4,2)", 1, 3, 0, 0) = "(3,1)"
 *  @param linear not NULL. @param reg register number.
 *  @param lane lane number. @param warp warp number. @param block block number.
 *  @param[out] coord one number for each dimension. @param capacity numbers that coord can hold.
 *  @param[out] written how many there are.
 *  @retval TW_ERROR_INVALID_ARGUMENT a number exceeds its bits.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL written says how many it takes.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_at(const tw_linear *linear, int64_t reg, int64_t lane, int64_t warp,
                              int64_t block, int64_t *coord, int32_t capacity, int32_t *written);

/** From a layout whose extents are powers of two, swizzled or not. Modes are (registers),
 *  (threads, registers) or (threads, registers, blocks), threads splitting into 32 lanes and warps.
 *  Example: linear_from_layout("((4,8),(2,2)):((32,1),(16,8))", NULL) =
 *  "register=[[16],[8]] lane=[[32],[64],[1],[2],[4]] warp=[] block=[] -> (128)"
 *  @param layout without offset. @param shape that elements are numbered in, leftmost fastest; NULL
 *  for one dimension. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT the layout is not linear over bits; the message says where.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_from_layout(const tw_layout *layout, const tw_tuple *shape,
                                       tw_linear **out);

/** Back to a layout of (threads, registers) or (threads, registers, blocks), swizzled where need
 * be. Example: linear_to_layout("register=[[16],[8]] lane=[[32],[64],[1],[2],[4]] -> (128)") =
 *  "((4,8),(2,2)):((32,1),(16,8))"
 *  @param linear not NULL. @param[out] out the caller's.
 *  @retval TW_ERROR_NOT_A_LAYOUT there is none.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_to_layout(const tw_linear *linear, tw_layout **out);

/** Does a layout of row indices suit the gather4 instruction: first two register bases [1] and [2],
 *  all lane bases [0]? The example's answer is 16 instructions in each of 4 warps.
 *  Example: linear_gather4("register=[[1],[2],[16],[32],[64],[128]] lane=[[0]] warp=[[4],[8]] ->
 *  (256)") = "16 in 4"
 *  Example: linear_gather4("register=[[1],[2]] lane=[[4],[8]] -> (16)") = ERROR_UNSUPPORTED @param
 * linear of one dimension. @param[out] per_warp instructions that each issuing warp issues.
 * @param[out] warps how many issue; where all warps hold the same rows, one.
 *  @retval TW_ERROR_UNSUPPORTED it does not; the message says which basis is wrong and why.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_linear_gather4(const tw_linear *linear, int64_t *per_warp, int64_t *warps);
/** @} */

/** @name Pictures
 *  SVG texts: a grid of the first mode (rows) by the others (columns); at most 128 of each are
 * shown.
 *  @experimental{the drawing functions and the pictures that they write}
 *  @{ */

/** What the colours of a picture say. */
typedef int32_t tw_paint;
enum {
  TW_PAINT_NONE = 0,  /**< nothing */
  TW_PAINT_BANKS = 1, /**< the bank of shared memory (32 of 4 bytes) that an element begins in */
  TW_PAINT_INDEX = 2  /**< a scale from the smallest index to the largest */
};

/** Draws a layout: each coordinate's index, a swizzled layout's also without the swizzle.
 *  @param layout not NULL. @param paint what colours say. @param element_bits for TW_PAINT_BANKS.
 *  @param[out] buffer may be NULL where capacity is 0. @param capacity bytes of buffer.
 *  @param[out] length bytes that the picture needs with its zero; may be NULL.
 *  @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @retval TW_ERROR_INVALID_ARGUMENT paint is no TW_PAINT_ number, or element_bits are outside 1
 *  to 1024 where banks are painted.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw(const tw_layout *layout, tw_paint paint, int32_t element_bits,
                                char *buffer, size_t capacity, size_t *length);

/** Draws a thread-value layout: in each element of the tile the thread and value that hold it, of
 *  several pairs the first, coloured by thread. Elements that no pair holds are grey.
 *
 *  A tv of at most 2^20 pairs of thread and value can always be drawn. For a larger tv, each of the
 *  elements shown is searched for, and all searches of one picture together take at most 2^20
 *  steps. Modes that overlap, as (4,4):(3,5) do, take the most.
 *  @param tv from (thread, value) to the number of an element of the tile.
 *  @param tile its shape. @param[out] buffer may be NULL where capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes that the picture needs with its zero;
 *  may be NULL. @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @retval TW_ERROR_INVALID_ARGUMENT tv has other than two modes, or an extent of tile is below 1.
 *  @retval TW_ERROR_UNSUPPORTED tv has more than 2^20 pairs and the searches took more than 2^20
 *  steps. Nothing is drawn.
 *  @threadsafety{any thread} @since 0.1 */
TW_API tw_status tw_layout_draw_tv(const tw_layout *tv, const tw_tuple *tile, char *buffer,
                                   size_t capacity, size_t *length);

/** Draws the boxes of tw_layout_partition_tma() over the tensor's first two modes. The parts of
 *  boxes that lie outside of the tensor, before its first element too, are cut off. At most 4,096
 *  boxes are drawn; the picture says when there are more.
 *  @param tensor not NULL. @param box extents of one, tensor's rank numbers. @param boxes from the
 *  number of a box to its coordinate. @param[out] buffer may be NULL where capacity is 0.
 *  @param capacity bytes of buffer. @param[out] length bytes that the picture needs with its zero;
 *  may be NULL. @retval TW_ERROR_BUFFER_TOO_SMALL buffer holds the beginning.
 *  @retval TW_ERROR_INVALID_ARGUMENT boxes gives numbers, or an extent of box is below 1.
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
