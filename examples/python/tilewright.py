# SPDX-License-Identifier: Apache-2.0
"""tilewright for Python: this file (ctypes) and the shared library, nothing else.

    import tilewright as tw
    device = tw.Device("host")                      # or tw.Device("cuda", 0)
    with device.stream() as stream:
        plan = device.gemm(a, b, out=d).run(stream) # a, b, d: anything with __dlpack__ or a buffer
        stream.synchronize()

Operands are tensors of other libraries, used in place: objects with `__dlpack__` (torch, numpy, jax,
cupy) or the buffer protocol (numpy, array, bytes, memoryview). A plan keeps its operands alive, so it must
live until its runs are done: until stream.synchronize(), or the caller's own wait.

Failures raise Error, with the details of tw_last_error_info(). The whole C API is available:
`tw.lib.tw_...` with the header's types, `tw.struct("gemm_desc")` for its structs, `tw.OK` for TW_OK.
The library is loaded from $TILEWRIGHT_LIBRARY, else libtilewright.so next to this file, else the system's.
"""
import ctypes
import ctypes.util
import math
import os
import pathlib
import re
import sys
import sysconfig

# --- Made by bindings.py. A word each: NAME=VALUE; STRUCT{TYPE NAME...; RESULT NAME(TYPES).
_CONSTANTS = """
VERSION_MAJOR=0 VERSION_MINOR=2 VERSION_PATCH=0 UNSET=-9223372036854775807
UNDERSCORE=-9223372036854775808 OK=0 ERROR_NO_DRIVER=1 ERROR_DRIVER_TOO_OLD=2 ERROR_NO_DEVICE=3
ERROR_UNSUPPORTED_DEVICE=4 ERROR_NO_KERNEL_IMAGE=5 ERROR_NOT_BUILT=6 ERROR_INVALID_ARGUMENT=100
ERROR_STRUCT=101 ERROR_PARSE=102 ERROR_OVERFLOW=103 ERROR_CAPACITY=104 ERROR_RULE=105
ERROR_MISALIGNED=106 ERROR_OVERLAP=107 ERROR_WRONG_DEVICE=108 ERROR_INVALID_IMAGE=109
ERROR_NOT_FOUND=110 ERROR_BUFFER_TOO_SMALL=111 ERROR_NOT_A_LAYOUT=112 ERROR_UNSUPPORTED=200
ERROR_NOT_READY=300 ERROR_DEVICE_CLOSED=301 ERROR_FORKED=302 ERROR_CAPTURE=303 ERROR_SHUTDOWN=304
ERROR_OUT_OF_MEMORY=400 ERROR_DEVICE_LOST=401 ERROR_DRIVER=402 ERROR_INTERNAL=500 LOG_ERROR=1
LOG_WARNING=2 LOG_INFO=3 LOG_DEBUG=4 DTYPE_U8=1 DTYPE_I8=2 DTYPE_U16=3 DTYPE_I16=4 DTYPE_U32=5
DTYPE_I32=6 DTYPE_U64=7 DTYPE_I64=8 DTYPE_B128=9 DTYPE_F16=20 DTYPE_BF16=21 DTYPE_F32=22
DTYPE_F64=23 DTYPE_TF32=24 DTYPE_F8E4M3=25 DTYPE_F8E5M2=26 DTYPE_F32_FTZ=40 DTYPE_TF32_FTZ=41
DTYPE_U4X16_ALIGN8B=42 DTYPE_U4X16_ALIGN16B=43 DTYPE_U6X16_ALIGN16B=44 DEVICE_HOST=1 DEVICE_CUDA=2
FEATURE_HOST=1 FEATURE_TMA=2 FEATURE_MMA=4 FEATURE_WGMMA=8 FEATURE_GATHER4=16 FEATURE_SCATTER4=32
FEATURE_TCGEN05=64 TENSOR_READ_ONLY=1 DLPACK_TENSOR=1 DLPACK_VERSIONED=2 ARCH_SM_90=90
ARCH_SM_100=100 ARCH_SM_103=103 ARCH_SM_110=110 ARCH_SM_120=120 INTERLEAVE_NONE=0 INTERLEAVE_16B=1
INTERLEAVE_32B=2 SWIZZLE_NONE=0 SWIZZLE_32B=1 SWIZZLE_64B=2 SWIZZLE_128B=3 SWIZZLE_128B_ATOM_32B=4
SWIZZLE_128B_ATOM_32B_FLIP_8B=5 SWIZZLE_128B_ATOM_64B=6 L2_PROMOTION_NONE=0 L2_PROMOTION_64B=1
L2_PROMOTION_128B=2 L2_PROMOTION_256B=3 OOB_FILL_ZERO=0 OOB_FILL_NAN=1 TENSOR_MAP_TILED=0
TENSOR_MAP_IM2COL=1 TENSOR_MAP_IM2COL_WIDE=2 LAUNCH_PROGRAMMATIC=1 OP_COPY=1 OP_PREFETCH=2
OP_GATHER=3 OP_SCATTER=4 OP_GEMM=5 OP_ELEMENTWISE=6 OP_RAGGED=20 OP_COPIES=21 OP_ROUTE=22
OP_GROUPED=23 OP_QUANTIZE=24 MAX_RANK=8 CACHE_NORMAL=0 CACHE_EVICT_FIRST=1 CACHE_EVICT_LAST=2
REDUCE_NONE=0 REDUCE_ADD=1 REDUCE_MIN=2 REDUCE_MAX=3 REDUCE_AND=4 REDUCE_OR=5 REDUCE_XOR=6
REDUCE_INC=7 REDUCE_DEC=8 ACTIVATION_NONE=0 ACTIVATION_RELU=1 ACTIVATION_GELU=2
ACTIVATION_GELU_TANH=3 ACTIVATION_SILU=4 COPY_PADDING_WRITABLE=1 SCATTER_LAST_WINS=1
SCATTER_DETERMINISTIC=2 ROWS_WEIGHTS=4 ROWS_ACCUMULATE_F32=8 RAGGED_PAD=0 RAGGED_UNPAD=1
ROUTE_SOFTMAX=0 ROUTE_SIGMOID=1 ROUTE_SOFTMAX_CHOSEN=2 ROUTE_GROUP_BEST=0 ROUTE_GROUP_TOP2=1
ROUTE_RENORMALIZE=1 ROUTE_GIVEN_IDS=2 COMBINE_ADD=0 COMBINE_MULTIPLY=1 ELEMENTWISE_SATURATE=1
ELEMENTWISE_DEVICE_SCALARS=2 ROW_MAJOR=0 COLUMN_MAJOR=1 GEMM_BATCH_POINTERS=1
GEMM_BATCH_INVARIANT=2 GEMM_PROGRAMMATIC=4 GEMM_A_CONSTANT=8 GEMM_B_CONSTANT=16 GEMM_DEVICE_M=32
GEMM_DEVICE_SCALARS=64 GEMM_STAGING_COPY=128 GEMM_D_PADDING_WRITABLE=256 GEMM_AMAX=512
GEMM_FAST_ACCUMULATE=1024 PER_NONE=0 PER_TENSOR=1 PER_ROW=2 PER_COLUMN=3 GATE_NONE=0 GATE_HALVES=1
GATE_INTERLEAVED=2 SCALE_NONE=0 SCALE_TENSOR=1 SCALE_ROW=2 SCALE_1X128=3 SCALE_128X128=4
SCALE_K32_UE8M0=20 SCALE_K16_UE4M3=21 GEMM_CALIBRATION_BYTES=402653184 GROUPING_ONE=0
GROUPING_ENDS=1 GROUPING_OFFSETS=2 GROUPING_PSUM=3 GROUPING_ROW_GROUPS=4 GROUPING_MASKED=5
GROUPING_K_RANGES=6 GROUPING_BLOCKS=20 GROUPED_COMBINE_STORE=0 GROUPED_COMBINE_SUM=1
GROUPED_COMBINE_ADD_ATOMIC=2 GROUPED_COMBINE_ADD=3 GROUPED_GATHER=1 GROUPED_SCATTER=2
GROUPED_BATCH_INVARIANT=4 GROUPED_PROGRAMMATIC=8 GROUPED_ROW_WEIGHT_BY_INDEX=16
GROUPED_ZERO_OTHER_ROWS=32 GROUPED_INVERSE=64 GROUPED_FAST_ACCUMULATE=128 QUANTIZE_POWERS_OF_TWO=1
QUANTIZE_GIVEN_SCALE=2 LAYOUT_MAX_LEAVES=32 LAYOUT_MAX_DEPTH=16 PAINT_NONE=0 PAINT_BANKS=1
PAINT_INDEX=2
"""
_ENUMERATIONS = """
tw_status tw_log_level tw_dtype tw_device_kind tw_dlpack_form tw_arch tw_interleave tw_swizzle
tw_l2_promotion tw_oob_fill tw_tensor_map_kind tw_op tw_cache_priority tw_reduction tw_activation
tw_ragged_direction tw_route_score tw_route_group_score tw_combine tw_order tw_per tw_gate
tw_scale_kind tw_grouping tw_grouped_combine tw_paint
"""
_STRUCTS = """
tw_error_info u32:struct_size u32:struct_mark tw_status:status i32:driver_result i32:index
  u32:reserved char*:argument char*:rule i64:got i64:limit
tw_device_info u32:struct_size u32:struct_mark tw_device_kind:kind i32:ordinal i32:compute_major
  i32:compute_minor i32:driver_version i32:sm_count i32:max_dynamic_smem_bytes u32:features
  u64:total_memory_bytes u64:l2_bytes char:name:128
tw_tensor u32:struct_size u32:struct_mark tw_dtype:dtype tw_device_kind:device_kind i32:ordinal
  i32:rank u32:flags u32:reserved u64:address i64:shape:8 i64:stride:8
tw_tensor_map_desc u32:struct_size u32:struct_mark tw_dtype:dtype i32:rank tw_interleave:interleave
  tw_swizzle:swizzle tw_l2_promotion:l2_promotion tw_oob_fill:oob_fill tw_tensor_map_kind:kind
  i32:wide_mode u64:global_address u64:global_dim:5 u64:global_stride_bytes:5 u32:box_dim:5
  u32:element_strides:5 u32:channels_per_pixel u32:pixels_per_column i32:lower_corner:3
  i32:upper_corner:3
tw_rule_violation u32:struct_size u32:struct_mark i32:index u32:reserved char*:rule char*:argument
  i64:got i64:limit char:message:472
tw_tile_desc u32:struct_size u32:struct_mark tw_dtype:dtype i32:rank tw_swizzle:swizzle
  tw_l2_promotion:l2_promotion tw_oob_fill:oob_fill i32:multicast u32:free_start u32:reserved
  u64:global_address i64:shape:8 i64:stride:8 i64:tile:8
tw_kernel_info u32:struct_size u32:struct_mark i32:registers i32:static_smem_bytes i32:local_bytes
  i32:max_threads i32:binary_version i32:param_count i32:param_bytes
tw_launch_desc u32:struct_size u32:struct_mark u32:flags u32:grid:3 u32:block:3 u32:cluster:3
  u32:dynamic_smem_bytes
tw_plan_info u32:struct_size u32:struct_mark tw_op:op u32:reserved char*:kernel u32:grid:3
  u32:block:3 u32:cluster:3 u32:tile:3 u32:stages u32:dynamic_smem_bytes u64:boxes_loaded
  u64:boxes_stored u64:boxes_prefetched u64:bytes_read u64:bytes_written u64:flops
  u64:workspace_bytes
tw_copy_desc u32:struct_size u32:struct_mark tw_dtype:dtype i32:rank u32:src_alignment
  u32:dst_alignment u32:max_sms u32:flags tw_cache_priority:src_cache tw_cache_priority:dst_cache
  tw_oob_fill:fill u32:reserved i64:shape:8 i64:src_stride:8 i64:dst_stride:8 i64:src_shape:8
  i64:src_start:8
tw_copy_args u32:struct_size u32:struct_mark u64:src u64:dst
tw_copies_desc u32:struct_size u32:struct_mark tw_dtype:dtype i32:rank u32:src_alignment
  u32:dst_alignment u32:max_sms u32:reserved i64:shape:8 i64:src_stride:8 i64:dst_stride:8
  i64:count
tw_copies_args u32:struct_size u32:struct_mark u64:src u64:dst i64:count u64:invalid_count
tw_prefetch_desc u32:struct_size u32:struct_mark tw_dtype:dtype i32:rank u32:alignment u32:max_sms
  tw_cache_priority:cache u32:reserved i64:rows i64:columns i64:pitch i64:budget i64:shape:8
  i64:stride:8
tw_prefetch_args u32:struct_size u32:struct_mark u64:src
tw_rows_desc u32:struct_size u32:struct_mark tw_dtype:dtype tw_dtype:index_dtype
  tw_dtype:packed_dtype tw_reduction:reduction u32:table_alignment u32:packed_alignment u32:max_sms
  u32:flags i64:table_rows i64:table_columns i64:table_pitch i64:column i64:columns i64:count
  i64:packed_pitch i64:group
tw_rows_args u32:struct_size u32:struct_mark u64:table u64:index u64:packed i64:count u64:weights
  u64:device_count u64:invalid_count u64:workspace u64:workspace_bytes
tw_ragged_desc u32:struct_size u32:struct_mark tw_dtype:dtype tw_dtype:offset_dtype
  tw_ragged_direction:direction u32:packed_alignment u32:padded_alignment u32:max_sms
  tw_oob_fill:fill u32:reserved i64:batch i64:tokens i64:rows i64:columns i64:packed_columns
  i64:packed_pitch i64:padded_pitch i64:padded_batch_pitch
tw_ragged_args u32:struct_size u32:struct_mark u64:packed u64:offsets u64:padded i64:batch
  i64:tokens i64:row i64:column u64:invalid_count
tw_route_desc u32:struct_size u32:struct_mark tw_dtype:dtype tw_dtype:id_dtype
  tw_dtype:offset_dtype tw_route_score:score tw_route_group_score:group_score u32:flags f32:scale
  u32:max_sms i64:tokens i64:experts i64:top_k i64:local_experts i64:groups i64:top_groups
  i64:logits_pitch
tw_route_args u32:struct_size u32:struct_mark i64:tokens u64:logits u64:bias u64:given_ids
  u64:given_weights u64:expert_map u64:ids u64:weights u64:counts u64:offsets u64:order
  u64:order_tokens u64:inverse u64:invalid_count u64:workspace u64:workspace_bytes
tw_elementwise_desc u32:struct_size u32:struct_mark tw_dtype:a_dtype tw_dtype:b_dtype
  tw_dtype:dst_dtype i32:rank u32:a_alignment u32:b_alignment u32:dst_alignment
  tw_reduction:reduction u32:flags u32:max_sms tw_cache_priority:src_cache
  tw_cache_priority:dst_cache tw_combine:combine tw_activation:activation i64:shape:8
  i64:a_stride:8 i64:b_stride:8 i64:dst_stride:8
tw_elementwise_args u32:struct_size u32:struct_mark f32:alpha f32:beta u64:a u64:b u64:dst
  u64:device_alpha u64:device_beta
tw_gemm_desc u32:struct_size u32:struct_mark tw_dtype:a_dtype tw_dtype:b_dtype tw_dtype:c_dtype
  tw_dtype:d_dtype tw_dtype:accumulator_dtype tw_dtype:bias_dtype tw_order:a_order tw_order:b_order
  tw_order:d_order u32:flags u32:a_alignment u32:b_alignment u32:c_alignment u32:d_alignment
  u32:max_sms tw_per:bias tw_activation:activation tw_gate:gate tw_per:d_factor
  tw_scale_kind:a_scale tw_scale_kind:b_scale tw_order:a_scale_order tw_order:b_scale_order
  u32:reserved i64:m i64:n i64:k i64:min_m i64:lda i64:ldb i64:ldc i64:ldd i64:batch_count
  i64:a_batch_stride i64:b_batch_stride i64:c_batch_stride i64:d_batch_stride i64:a_scale_ld
  i64:b_scale_ld i64:a_scale_batch_stride i64:b_scale_batch_stride tw_scale_kind:d_quantize
  tw_order:d_block_scale_order i64:d_block_scale_ld i64:d_block_scale_batch_stride
tw_gemm_args u32:struct_size u32:struct_mark f32:alpha f32:beta f32:d_factor_value u32:reserved
  u64:a u64:b u64:c u64:d i64:m u64:workspace u64:workspace_bytes u64:device_m u64:device_alpha
  u64:device_beta u64:invalid_count u64:bias u64:d_factor u64:amax u64:a_scale u64:b_scale
  u64:d_block_scale
tw_gemm_candidate u32:struct_size u32:struct_mark u32:split u32:reserved char*:kernel i64:m_first
  i64:m_last f64:microseconds f64:waves char:text:104
tw_gemm_tune_desc u32:struct_size u32:struct_mark i32:candidates i32:rounds u64:scratch_d u64:flush
  u64:flush_bytes
tw_grouped_desc u32:struct_size u32:struct_mark tw_dtype:a_dtype tw_dtype:d_dtype
  tw_dtype:bias_dtype tw_dtype:index_dtype tw_dtype:row_index_dtype tw_order:b_order
  tw_grouping:grouping tw_grouped_combine:combine tw_activation:activation tw_gate:gate
  f32:gate_limit f32:gate_offset f32:gate_slope u32:flags u32:a_alignment u32:b_alignment
  u32:d_alignment u32:max_sms i64:m i64:n i64:k i64:group_count i64:weight_count i64:lda i64:ldb
  i64:ldd i64:b_stride i64:d_stride i64:bias_stride i64:group_rows i64:row_alignment i64:a_count
  i64:d_count i64:a_divisor i64:d_divisor i64:expected_rows tw_dtype:b_dtype tw_scale_kind:a_scale
  tw_scale_kind:b_scale tw_order:a_scale_order tw_order:b_scale_order u32:reserved i64:a_scale_ld
  i64:b_scale_ld i64:a_scale_stride i64:b_scale_stride
tw_grouped_args u32:struct_size u32:struct_mark f32:alpha f32:beta i64:m i64:k i64:a_count
  i64:d_count u64:a u64:b u64:d u64:bias u64:groups u64:group_map u64:group_alpha u64:a_rows
  u64:d_rows u64:row_weights u64:inverse u64:invalid_count u64:workspace u64:workspace_bytes
  u64:a_scale u64:b_scale
tw_quantize_desc u32:struct_size u32:struct_mark tw_dtype:src_dtype tw_dtype:dst_dtype
  tw_scale_kind:scale tw_order:scale_order u32:flags u32:max_sms tw_cache_priority:src_cache
  tw_cache_priority:dst_cache i64:rows i64:columns i64:src_pitch i64:dst_pitch i64:scale_ld
tw_quantize_args u32:struct_size u32:struct_mark i64:rows u64:src u64:dst u64:scale u64:amax
  u64:workspace u64:workspace_bytes
tw_embedded_kernel u32:struct_size u32:struct_mark tw_op:op u32:feature char*:name char*:target
  u32:threads u32:tile:3 u32:stages u32:cluster:2 tw_dtype:dtypes:2 i32:driver_version
  u64:packed_bytes u64:image_bytes
"""
_FUNCTIONS = """
tw_status:tw_error_info_init(tw_error_info*,size) u32:tw_version() char*:tw_version_string()
char*:tw_status_name(tw_status) char*:tw_status_text(tw_status) char*:tw_last_error()
tw_status:tw_last_error_info(tw_error_info*)
tw_status:tw_log_set(tw_log_callback,void*,tw_log_level) i32:tw_dtype_size(tw_dtype)
char*:tw_dtype_name(tw_dtype) tw_status:tw_device_info_init(tw_device_info*,size)
tw_status:tw_device_count(tw_device_kind,i32*)
tw_status:tw_device_create(tw_device_kind,i32,tw_device**)
tw_status:tw_device_create_from_context(CUctx_st*,tw_device**)
tw_status:tw_device_get_cuda_context(tw_device*,CUctx_st**)
tw_status:tw_device_log_set(tw_device*,tw_log_callback,void*,tw_log_level)
void:tw_device_destroy(tw_device*) tw_status:tw_device_get_info(tw_device*,tw_device_info*)
tw_status:tw_malloc(tw_device*,u64,u64*) tw_status:tw_free(tw_device*,u64)
tw_status:tw_malloc_host(tw_device*,u64,void**) tw_status:tw_free_host(tw_device*,void*)
tw_status:tw_memory_register(tw_device*,u64,u64) tw_status:tw_memory_unregister(tw_device*,u64)
tw_status:tw_stream_create(tw_device*,tw_stream**)
tw_status:tw_stream_create_from(tw_device*,CUstream_st*,tw_stream**)
tw_status:tw_stream_get_cuda(tw_stream*,CUstream_st**) void:tw_stream_destroy(tw_stream*)
tw_status:tw_stream_synchronize(tw_stream*) tw_status:tw_stream_query(tw_stream*)
tw_status:tw_stream_wait_event(tw_stream*,tw_event*)
tw_status:tw_memcpy_to_device(tw_stream*,u64,void*,u64)
tw_status:tw_memcpy_to_host(tw_stream*,void*,u64,u64)
tw_status:tw_memcpy_on_device(tw_stream*,u64,u64,u64)
tw_status:tw_memcpy_between_devices(tw_stream*,tw_device*,u64,tw_device*,u64,u64)
tw_status:tw_memset(tw_stream*,u64,i32,u64) tw_status:tw_event_create(tw_device*,tw_event**)
tw_status:tw_event_create_from(tw_device*,CUevent_st*,tw_event**)
tw_status:tw_event_get_cuda(tw_event*,CUevent_st**) void:tw_event_destroy(tw_event*)
tw_status:tw_event_record(tw_event*,tw_stream*) tw_status:tw_event_synchronize(tw_event*)
tw_status:tw_event_query(tw_event*) tw_status:tw_event_elapsed(tw_event*,tw_event*,f32*)
tw_status:tw_stream_begin_capture(tw_stream*)
tw_status:tw_stream_end_capture(tw_stream*,tw_graph**) tw_status:tw_graph_instantiate(tw_graph*)
tw_status:tw_graph_launch(tw_graph*,tw_stream*) tw_status:tw_graph_update(tw_graph*,tw_graph*)
void:tw_graph_destroy(tw_graph*) tw_status:tw_tensor_init(tw_tensor*,size)
tw_status:tw_tensor_from_dlpack(void*,tw_dlpack_form,tw_tensor*)
tw_status:tw_tensor_to_dlpack(tw_tensor*,tw_dlpack_form,tw_release_callback,void*,void**)
tw_status:tw_rule_violation_init(tw_rule_violation*,size)
tw_status:tw_tensor_map_desc_init(tw_tensor_map_desc*,size)
tw_status:tw_tensor_map_check(tw_tensor_map_desc*,tw_arch,tw_rule_violation*,i32,i32*)
tw_status:tw_tensor_map_propose(tw_tensor_map_desc*,tw_arch,tw_tensor_map_desc*)
tw_status:tw_tensor_map_encode(tw_tensor_map_desc*,tw_arch,void*)
tw_status:tw_tensor_map_decode(void*,tw_tensor_map_desc*)
tw_status:tw_tensor_map_create(tw_device*,tw_tensor_map_desc*,tw_tensor_map**)
tw_status:tw_tile_desc_init(tw_tile_desc*,size)
tw_status:tw_tile_desc_from_tensor(tw_tensor*,tw_tile_desc*)
tw_status:tw_tensor_map_create_tile(tw_device*,tw_tile_desc*,tw_layout*,tw_tensor_map**)
tw_status:tw_tensor_map_boxes(tw_tensor_map*,i32*)
tw_status:tw_tensor_map_box(tw_tensor_map*,i64*,i32,i32*,u64*)
tw_status:tw_tensor_map_rebind(tw_tensor_map*,u64)
tw_status:tw_tensor_map_resize(tw_tensor_map*,i32,u64) void:tw_tensor_map_destroy(tw_tensor_map*)
tw_status:tw_tensor_map_bytes(tw_tensor_map*,void*)
tw_status:tw_tensor_map_get_desc(tw_tensor_map*,tw_tensor_map_desc*)
tw_status:tw_tensor_map_coordinates(tw_tensor_map*,tw_layout**)
tw_status:tw_tensor_map_explain(tw_tensor_map*,char*,size,size*)
tw_status:tw_tensor_map_draw(tw_tensor_map*,char*,size,size*)
tw_status:tw_kernel_info_init(tw_kernel_info*,size)
tw_status:tw_module_load(tw_device*,void*,size,tw_module**) void:tw_module_destroy(tw_module*)
tw_status:tw_kernel_get(tw_module*,char*,tw_kernel**) void:tw_kernel_destroy(tw_kernel*)
tw_status:tw_kernel_get_info(tw_kernel*,tw_kernel_info*)
tw_status:tw_kernel_occupancy(tw_kernel*,tw_launch_desc*,i32*,i32*)
tw_status:tw_launch_desc_init(tw_launch_desc*,size)
tw_status:tw_launch(tw_stream*,tw_kernel*,tw_launch_desc*,u32,u32*,void*)
tw_status:tw_plan_info_init(tw_plan_info*,size) tw_status:tw_plan_get_info(tw_plan*,tw_plan_info*)
tw_status:tw_plan_explain(tw_plan*,char*,size,size*) void:tw_plan_destroy(tw_plan*)
tw_status:tw_copy_desc_init(tw_copy_desc*,size) tw_status:tw_copy_args_init(tw_copy_args*,size)
tw_status:tw_copy_desc_from_tensors(tw_tensor*,tw_tensor*,tw_copy_desc*)
tw_status:tw_copy_plan(tw_device*,tw_copy_desc*,tw_plan**)
tw_status:tw_copy_supported(tw_device*,tw_copy_desc*)
tw_status:tw_copy_run(tw_plan*,tw_stream*,tw_copy_args*)
tw_status:tw_copies_desc_init(tw_copies_desc*,size)
tw_status:tw_copies_args_init(tw_copies_args*,size)
tw_status:tw_copies_desc_from_tensors(tw_tensor*,tw_tensor*,tw_copies_desc*)
tw_status:tw_copies_plan(tw_device*,tw_copies_desc*,tw_plan**)
tw_status:tw_copies_supported(tw_device*,tw_copies_desc*)
tw_status:tw_copies_run(tw_plan*,tw_stream*,tw_copies_args*)
tw_status:tw_prefetch_desc_init(tw_prefetch_desc*,size)
tw_status:tw_prefetch_args_init(tw_prefetch_args*,size)
tw_status:tw_prefetch_desc_from_tensors(tw_tensor*,tw_prefetch_desc*)
tw_status:tw_prefetch_plan(tw_device*,tw_prefetch_desc*,tw_plan**)
tw_status:tw_prefetch_supported(tw_device*,tw_prefetch_desc*)
tw_status:tw_prefetch_run(tw_plan*,tw_stream*,tw_prefetch_args*)
tw_status:tw_rows_desc_init(tw_rows_desc*,size) tw_status:tw_rows_args_init(tw_rows_args*,size)
tw_status:tw_rows_desc_from_tensors(tw_tensor*,tw_tensor*,tw_tensor*,tw_rows_desc*)
tw_status:tw_gather_plan(tw_device*,tw_rows_desc*,tw_plan**)
tw_status:tw_gather_supported(tw_device*,tw_rows_desc*)
tw_status:tw_gather_run(tw_plan*,tw_stream*,tw_rows_args*)
tw_status:tw_scatter_plan(tw_device*,tw_rows_desc*,tw_plan**)
tw_status:tw_scatter_supported(tw_device*,tw_rows_desc*)
tw_status:tw_scatter_run(tw_plan*,tw_stream*,tw_rows_args*)
tw_status:tw_ragged_desc_init(tw_ragged_desc*,size)
tw_status:tw_ragged_args_init(tw_ragged_args*,size)
tw_status:tw_ragged_desc_from_tensors(tw_tensor*,tw_tensor*,tw_tensor*,tw_ragged_desc*)
tw_status:tw_ragged_plan(tw_device*,tw_ragged_desc*,tw_plan**)
tw_status:tw_ragged_supported(tw_device*,tw_ragged_desc*)
tw_status:tw_ragged_run(tw_plan*,tw_stream*,tw_ragged_args*)
tw_status:tw_route_desc_init(tw_route_desc*,size) tw_status:tw_route_args_init(tw_route_args*,size)
tw_status:tw_route_desc_from_tensors(tw_tensor*,tw_tensor*,tw_route_desc*)
tw_status:tw_route_plan(tw_device*,tw_route_desc*,tw_plan**)
tw_status:tw_route_supported(tw_device*,tw_route_desc*)
tw_status:tw_route_run(tw_plan*,tw_stream*,tw_route_args*)
tw_status:tw_elementwise_desc_init(tw_elementwise_desc*,size)
tw_status:tw_elementwise_args_init(tw_elementwise_args*,size)
tw_status:tw_elementwise_desc_from_tensors(tw_tensor*,tw_tensor*,tw_tensor*,tw_elementwise_desc*)
tw_status:tw_elementwise_plan(tw_device*,tw_elementwise_desc*,tw_plan**)
tw_status:tw_elementwise_supported(tw_device*,tw_elementwise_desc*)
tw_status:tw_elementwise_run(tw_plan*,tw_stream*,tw_elementwise_args*)
tw_status:tw_gemm_desc_init(tw_gemm_desc*,size) tw_status:tw_gemm_args_init(tw_gemm_args*,size)
tw_status:tw_gemm_desc_from_tensors(tw_tensor*,tw_tensor*,tw_tensor*,tw_tensor*,tw_gemm_desc*)
tw_status:tw_gemm_plan(tw_device*,tw_gemm_desc*,tw_plan**)
tw_status:tw_gemm_supported(tw_device*,tw_gemm_desc*)
tw_status:tw_gemm_run(tw_plan*,tw_stream*,tw_gemm_args*)
tw_status:tw_gemm_candidate_init(tw_gemm_candidate*,size)
tw_status:tw_gemm_candidates(tw_device*,tw_gemm_desc*,tw_gemm_candidate*,i32,i32*)
tw_status:tw_gemm_plan_candidate(tw_device*,tw_gemm_desc*,char*,tw_plan**)
tw_status:tw_gemm_ranges(tw_plan*,tw_gemm_candidate*,i32,i32*)
tw_status:tw_gemm_tuning_create(tw_gemm_tuning**) void:tw_gemm_tuning_destroy(tw_gemm_tuning*)
tw_status:tw_gemm_tuning_load(tw_gemm_tuning*,char*)
tw_status:tw_gemm_tuning_format(tw_gemm_tuning*,char*,size,size*)
tw_status:tw_gemm_tune_desc_init(tw_gemm_tune_desc*,size)
tw_status:tw_gemm_tune(tw_gemm_tuning*,tw_stream*,tw_gemm_desc*,tw_gemm_args*,tw_gemm_tune_desc*,tw_gemm_candidate*)
tw_status:tw_gemm_calibrate(tw_gemm_tuning*,tw_stream*,u64,u64)
tw_status:tw_gemm_plan_tuned(tw_device*,tw_gemm_desc*,tw_gemm_tuning*,tw_plan**)
tw_status:tw_grouped_desc_init(tw_grouped_desc*,size)
tw_status:tw_grouped_args_init(tw_grouped_args*,size)
tw_status:tw_grouped_desc_from_tensors(tw_tensor*,tw_tensor*,tw_tensor*,tw_grouped_desc*)
tw_status:tw_grouped_plan(tw_device*,tw_grouped_desc*,tw_plan**)
tw_status:tw_grouped_supported(tw_device*,tw_grouped_desc*)
tw_status:tw_grouped_candidates(tw_device*,tw_grouped_desc*,tw_gemm_candidate*,i32,i32*)
tw_status:tw_grouped_plan_candidate(tw_device*,tw_grouped_desc*,char*,tw_plan**)
tw_status:tw_grouped_run(tw_plan*,tw_stream*,tw_grouped_args*)
tw_status:tw_quantize_desc_init(tw_quantize_desc*,size)
tw_status:tw_quantize_args_init(tw_quantize_args*,size)
tw_status:tw_quantize_desc_from_tensors(tw_tensor*,tw_tensor*,tw_tensor*,tw_quantize_desc*)
tw_status:tw_quantize_plan(tw_device*,tw_quantize_desc*,tw_plan**)
tw_status:tw_quantize_supported(tw_device*,tw_quantize_desc*)
tw_status:tw_quantize_run(tw_plan*,tw_stream*,tw_quantize_args*)
tw_status:tw_embedded_kernel_init(tw_embedded_kernel*,size)
tw_status:tw_embedded_kernel_get(i32,tw_embedded_kernel*,i32*)
tw_status:tw_embedded_kernel_info(char*,char*,tw_kernel_info*)
tw_status:tw_embedded_kernel_image(char*,char*,void*,size,size*)
tw_status:tw_layout_parse(char*,tw_layout**) tw_status:tw_layout_create(i32,i64*,i64*,tw_layout**)
void:tw_layout_destroy(tw_layout*) tw_status:tw_layout_format(tw_layout*,char*,size,size*)
tw_status:tw_layout_size(tw_layout*,i64*) tw_status:tw_layout_cosize(tw_layout*,i64*)
tw_status:tw_layout_rank(tw_layout*,i32*) tw_status:tw_layout_depth(tw_layout*,i32*)
tw_status:tw_layout_leaves(tw_layout*,i32*) tw_status:tw_layout_mode(tw_layout*,i32,tw_layout**)
tw_status:tw_layout_crd2idx(tw_layout*,i64*,i32,i64*)
tw_status:tw_layout_crd2crd(tw_layout*,i64*,i32,i64*,i32,i32*)
tw_status:tw_layout_idx2crd(tw_layout*,i64,i64*,i32) tw_status:tw_layout_find(tw_layout*,i64,i64*)
tw_status:tw_layout_local_tile(tw_layout*,i32,i64*,i64*,tw_layout**,i64*)
tw_status:tw_tuple_parse(char*,tw_tuple**) tw_status:tw_tuple_create(i32,i64*,tw_tuple**)
void:tw_tuple_destroy(tw_tuple*) tw_status:tw_tuple_format(tw_tuple*,char*,size,size*)
tw_status:tw_tuple_values(tw_tuple*,i64*,i32,i32*) tw_status:tw_tuple_product(tw_tuple*,i64*)
tw_status:tw_tuple_congruent(tw_tuple*,tw_tuple*,i32*)
tw_status:tw_tuple_weakly_congruent(tw_tuple*,tw_tuple*,i32*)
tw_status:tw_tuple_compatible(tw_tuple*,tw_tuple*,i32*)
tw_status:tw_tuple_elem_less(tw_tuple*,tw_tuple*,i32*)
tw_status:tw_tuple_prefix_product(tw_tuple*,tw_tuple**)
tw_status:tw_tuple_inner_product(tw_tuple*,tw_tuple*,i64*)
tw_status:tw_tuple_shape_div(tw_tuple*,tw_tuple*,tw_tuple**)
tw_status:tw_tuple_ceil_div(tw_tuple*,tw_tuple*,tw_tuple**)
tw_status:tw_tiler_parse(char*,tw_tiler**) tw_status:tw_tiler_create(i32,i64*,tw_tiler**)
tw_status:tw_tiler_from_layout(tw_layout*,tw_tiler**)
tw_status:tw_tiler_by_mode(i32,tw_tiler**,tw_tiler**) void:tw_tiler_destroy(tw_tiler*)
tw_status:tw_tiler_format(tw_tiler*,char*,size,size*)
tw_status:tw_layout_make_left(tw_tuple*,tw_layout**)
tw_status:tw_layout_make_right(tw_tuple*,tw_layout**)
tw_status:tw_layout_make_ordered(tw_tuple*,tw_tuple*,tw_layout**)
tw_status:tw_layout_make_like(tw_layout*,tw_layout**)
tw_status:tw_layout_make_identity(tw_tuple*,tw_layout**)
tw_status:tw_layout_make_tv(tw_layout*,tw_layout*,tw_tuple**,tw_layout**)
tw_status:tw_layout_domain_distribute(tw_tuple*,i64,tw_layout**)
tw_status:tw_layout_shape(tw_layout*,tw_tuple**) tw_status:tw_layout_stride(tw_layout*,tw_tuple**)
tw_status:tw_layout_swizzle(tw_layout*,i32*,i32*,i32*,i64*)
tw_status:tw_layout_at(tw_layout*,tw_tuple*,i64*)
tw_status:tw_layout_at_coord(tw_layout*,tw_tuple*,tw_tuple**)
tw_status:tw_layout_is_injective(tw_layout*,i32*)
tw_status:tw_layout_is_surjective(tw_layout*,i32*)
tw_status:tw_layout_is_contiguous(tw_layout*,i32*)
tw_status:tw_layout_max_alignment(tw_layout*,i64*)
tw_status:tw_layout_max_common_vector(tw_layout*,tw_layout*,i64*)
tw_status:tw_layout_coalesce(tw_layout*,tw_tuple*,tw_layout**)
tw_status:tw_layout_filter(tw_layout*,tw_tuple*,tw_layout**)
tw_status:tw_layout_filter_zeros(tw_layout*,tw_layout**)
tw_status:tw_layout_flatten(tw_layout*,tw_layout**)
tw_status:tw_layout_group_modes(tw_layout*,i32,i32,tw_layout**)
tw_status:tw_layout_append(tw_layout*,tw_layout*,tw_layout**)
tw_status:tw_layout_prepend(tw_layout*,tw_layout*,tw_layout**)
tw_status:tw_layout_replace(tw_layout*,i32,tw_layout*,tw_layout**)
tw_status:tw_layout_select(tw_layout*,i32,i32*,tw_layout**)
tw_status:tw_layout_take(tw_layout*,i32,i32,tw_layout**)
tw_status:tw_layout_composition(tw_layout*,tw_layout*,tw_layout**)
tw_status:tw_layout_composition_tiler(tw_layout*,tw_tiler*,tw_layout**)
tw_status:tw_layout_complement(tw_layout*,i64,tw_layout**)
tw_status:tw_layout_right_inverse(tw_layout*,tw_layout**)
tw_status:tw_layout_left_inverse(tw_layout*,tw_layout**)
tw_status:tw_layout_logical_divide(tw_layout*,tw_tiler*,tw_layout**)
tw_status:tw_layout_zipped_divide(tw_layout*,tw_tiler*,tw_layout**)
tw_status:tw_layout_tiled_divide(tw_layout*,tw_tiler*,tw_layout**)
tw_status:tw_layout_flat_divide(tw_layout*,tw_tiler*,tw_layout**)
tw_status:tw_layout_logical_product(tw_layout*,tw_tiler*,tw_layout**)
tw_status:tw_layout_zipped_product(tw_layout*,tw_tiler*,tw_layout**)
tw_status:tw_layout_tiled_product(tw_layout*,tw_tiler*,tw_layout**)
tw_status:tw_layout_flat_product(tw_layout*,tw_tiler*,tw_layout**)
tw_status:tw_layout_blocked_product(tw_layout*,tw_layout*,tw_layout**)
tw_status:tw_layout_raked_product(tw_layout*,tw_layout*,tw_layout**)
tw_status:tw_layout_tile_to_shape(tw_layout*,tw_tuple*,tw_tuple*,tw_layout**)
tw_status:tw_layout_max_common_layout(tw_layout*,tw_layout*,tw_layout**)
tw_status:tw_layout_nullspace(tw_layout*,tw_layout**)
tw_status:tw_layout_slice(tw_layout*,tw_tuple*,tw_layout**,i64*)
tw_status:tw_layout_dice(tw_layout*,tw_tuple*,tw_layout**)
tw_status:tw_layout_domain_offset(tw_layout*,tw_tuple*,tw_layout**,i64*)
tw_status:tw_layout_tile(tw_layout*,tw_tiler*,tw_tuple*,tw_layout**,i64*)
tw_status:tw_layout_local_partition(tw_layout*,tw_layout*,i64,tw_layout**,i64*)
tw_status:tw_layout_add_swizzle(tw_layout*,i32,i32,i32,tw_layout**)
tw_status:tw_layout_remove_swizzle(tw_layout*,tw_layout**)
tw_status:tw_swizzle_apply(i32,i32,i32,i64,i64*)
tw_status:tw_swizzle_recast(i32*,i32*,i32*,i64,i64)
tw_status:tw_layout_upcast(tw_layout*,i64,tw_layout**)
tw_status:tw_layout_downcast(tw_layout*,i64,tw_layout**)
tw_status:tw_layout_recast(tw_layout*,i64,i64,tw_layout**)
tw_status:tw_layout_partition_tv(tw_layout*,tw_tuple*,tw_layout*,i64,tw_layout**,i64*)
tw_status:tw_layout_partition_tma(tw_layout*,tw_layout*,tw_tuple*,tw_tuple*,i64,i64,i64*,i32,tw_layout**,tw_layout**)
tw_status:tw_layout_bank_passes(tw_layout*,i32,tw_layout*,i32,i64*,i64*)
tw_status:tw_layout_default_shared(i64,i64,i32,i32*,tw_layout**)
tw_status:tw_linear_parse(char*,tw_linear**) void:tw_linear_destroy(tw_linear*)
tw_status:tw_linear_format(tw_linear*,char*,size,size*)
tw_status:tw_linear_blocked(i32,i64*,i64*,i64*,i64*,i32*,tw_linear**)
tw_status:tw_linear_slice(tw_linear*,i32,tw_linear**)
tw_status:tw_linear_resize(tw_linear*,tw_tuple*,tw_linear**)
tw_status:tw_linear_compose(tw_linear*,tw_linear*,tw_linear**)
tw_status:tw_linear_inverse(tw_linear*,tw_linear**)
tw_status:tw_linear_at(tw_linear*,i64,i64,i64,i64,i64*,i32,i32*)
tw_status:tw_linear_from_layout(tw_layout*,tw_tuple*,tw_linear**)
tw_status:tw_linear_to_layout(tw_linear*,tw_layout**)
tw_status:tw_linear_gather4(tw_linear*,i64*,i64*)
tw_status:tw_layout_draw(tw_layout*,tw_paint,i32,char*,size,size*)
tw_status:tw_layout_draw_tv(tw_layout*,tw_tuple*,char*,size,size*)
tw_status:tw_layout_draw_boxes(tw_layout*,i64*,tw_layout*,char*,size,size*)
"""
# --- End of what bindings.py makes.

_SCALARS = {"void": None, "char": ctypes.c_char, "i32": ctypes.c_int32, "u32": ctypes.c_uint32,
            "i64": ctypes.c_int64, "u64": ctypes.c_uint64, "size": ctypes.c_size_t,
            "f32": ctypes.c_float, "f64": ctypes.c_double, "u8": ctypes.c_uint8,
            "u16": ctypes.c_uint16}
_SCALARS.update(dict.fromkeys(_ENUMERATIONS.split(), ctypes.c_int32))
LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_char_p)
ReleaseCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_SCALARS.update(tw_log_callback=LogCallback, tw_release_callback=ReleaseCallback)
_structs = {}
globals().update((name, int(value)) for name, value in
                 (word.split("=") for word in _CONSTANTS.split()))


def _type(text):
    """A ctypes type. Handles and memory are plain addresses; pointers to numbers stay typed."""
    base = text.rstrip("*")
    stars = len(text) - len(base)
    if stars == 0:
        return _SCALARS[base]
    if base == "char" and stars == 1:
        return ctypes.c_char_p
    if base in _structs and stars == 1:
        return ctypes.POINTER(_structs[base])
    if stars == 1:
        return ctypes.POINTER(_SCALARS[base]) if _SCALARS.get(base) else ctypes.c_void_p
    return ctypes.POINTER(ctypes.c_void_p)


def _make_structs():
    for line in re.split(r"\n(?! )", _STRUCTS.strip()):
        name, *words = line.split()
        fields = []
        for word in words:
            kind, field, *count = word.split(":")
            fields.append((field, _type(kind) * int(count[0]) if count else _type(kind)))
        # __slots__: otherwise a misspelled field would be stored as an attribute and never read.
        _structs[name] = type(name, (ctypes.Structure,), {"__slots__": (), "_fields_": fields})


def _load():
    # A wheel has its libraries in a folder next to this file, or where machine code is installed.
    here = pathlib.Path(__file__).resolve().parent
    wheel = ".tilewright.mesonpy.libs"
    places = [here, here / wheel, pathlib.Path(sysconfig.get_path("platlib")) / wheel]
    beside = [str(place / "libtilewright.so") for place in places if (place / "libtilewright.so").exists()]
    path = os.environ.get("TILEWRIGHT_LIBRARY") or (beside[0] if beside else None)
    return ctypes.CDLL(path or ctypes.util.find_library("tilewright") or "libtilewright.so")


class _Functions:
    """The library's functions with their types, each looked up at its first use: with an older
    library that lacks some of them, the others still work."""

    def __init__(self, library):
        self._library = library
        self._known = {name: (result, kinds) for result, name, kinds in
                       re.findall(r"(\S+):(tw_\w+)\((\S*)\)", _FUNCTIONS)}

    def __getattr__(self, name):
        if name not in self._known:
            raise AttributeError(f"the C API has no function {name!r}")
        result, kinds = self._known[name]
        function = getattr(self._library, name)
        function.restype = _type(result)
        function.argtypes = [_type(kind) for kind in kinds.split(",") if kind]
        setattr(self, name, function)
        return function


_make_structs()
lib = _Functions(_load())


def struct(name, **fields):
    """A struct of the C API with its defaults, `struct("gemm_desc", m=8)`; sequences fill arrays."""
    if "tw_" + name not in _structs:
        raise ValueError(f"the C API has no struct tw_{name}; it has {', '.join(n[3:] for n in _structs)}")
    value = _structs["tw_" + name]()
    check(_initialise(value))
    return _fill(value, fields)


def _initialise(value):
    """Calls the struct's init function, which sets the defaults and the mark."""
    return getattr(lib, type(value).__name__ + "_init")(value, ctypes.sizeof(value))


def _fill(value, fields):
    """Sets fields of a struct, with checks that ctypes lacks: it would accept unknown names,
    truncate integers, and turn floats that are too large into infinity."""
    for field, new in fields.items():
        if field not in dict(value._fields_):
            known = ", ".join(name for name, _ in value._fields_)
            raise TypeError(f"{type(value).__name__} has no field {field!r}: it has {known}")
        if isinstance(new, (tuple, list)):
            getattr(value, field)[:len(new)] = new
            kept = getattr(value, field)[:len(new)]
        else:
            setattr(value, field, new)
            new, kept = [new], [getattr(value, field)]
        if any(number != wanted and (isinstance(number, int) or
                                     isinstance(number, float) and math.isinf(number))
               for wanted, number in zip(new, kept)):
            raise OverflowError(f"{field} of {type(value).__name__} cannot hold {new}")
    return value


class Error(Exception):
    """A failed call: `status`, its `name`, and the fields of tw_error_info that apply."""

    def __init__(self, status):
        self.status, self.name = status, lib.tw_status_name(status).decode()
        super().__init__(f"{self.name}: {lib.tw_last_error().decode(errors='replace')}")
        info = _structs["tw_error_info"]()
        _initialise(info)
        lib.tw_last_error_info(info)
        self.argument, self.rule = (text and text.decode() for text in (info.argument, info.rule))
        self.index, self.got, self.limit = info.index, info.got, info.limit
        self.driver_result = info.driver_result


def check(status):
    """Raises Error on failure. Must be called right after the library's call, on the same thread."""
    if status != 0:
        raise Error(status)


def _zeroed(text):
    """A text for C, which must not contain a zero byte."""
    if "\0" in text:
        raise ValueError(f"the text {text!r} has a zero at position {text.index(chr(0))}")
    return text.encode()


def version():
    return lib.tw_version_string().decode()


class Handle:
    """Owns a handle of the C API; close(), `with` or the garbage collector destroys it."""
    _destroy = None

    def __init__(self, create, *arguments):
        self.handle = ctypes.c_void_p()
        check(create(*arguments, ctypes.byref(self.handle)))

    def close(self):
        handle, self.handle = getattr(self, "handle", None), None
        if handle:
            getattr(lib, self._destroy)(handle)

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _text(self, function):
        length = ctypes.c_size_t()
        check(function(self.handle, None, 0, length))
        buffer = ctypes.create_string_buffer(length.value)
        check(function(self.handle, buffer, length.value, None))
        return buffer.value.decode()


# --- Tensors of other libraries -------------------------------------------------------------

_api = ctypes.pythonapi
_api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_api.PyCapsule_GetPointer.restype = ctypes.c_void_p
# The kind of number for a letter of the struct module; the size comes from the element size.
_FORMATS = {**dict.fromkeys("bhilqn", "I"), **dict.fromkeys("BHILQN?", "U"), **dict.fromkeys("efd", "F")}


def _element_type(view):
    """The TW_DTYPE_ of a buffer's elements. The format may begin with a letter for the byte order."""
    order, letter = ("", *view.format)[-2:] if len(view.format) in (1, 2) else ("", "")
    dtype = globals().get(f"DTYPE_{_FORMATS.get(letter)}{8 * view.itemsize}")
    if order not in ("", "@", "=", "<" if sys.byteorder == "little" else ">"):
        dtype = None
    if dtype is None:
        raise TypeError(f"elements of format {view.format!r} have no counterpart here: integers of 1 to 8 "
                        "bytes and floats of 2, 4 and 8 in this machine's byte order have; copy to such "
                        "elements, or view their bytes as such")
    return dtype


def _from_buffer(view, writable):
    if any(s % view.itemsize for s in view.strides):
        raise ValueError(f"strides of {view.strides} bytes are no multiples of an element's {view.itemsize}")
    out = struct("tensor", dtype=_element_type(view), rank=view.ndim,
                 flags=int(view.readonly), shape=view.shape,
                 stride=[s // view.itemsize for s in view.strides])
    # ctypes gives no address of a read-only buffer, so that the address is read from Py_buffer.
    raw = (ctypes.c_ssize_t * 16)()  # Py_buffer begins with the address
    _api.PyObject_GetBuffer(ctypes.py_object(view), raw, 0x1c if view.readonly else 0x1d)
    out.address = raw[0] & 0xFFFFFFFFFFFFFFFF
    _api.PyBuffer_Release(raw)
    return _writable(out, writable)


def _writable(out, wanted):
    if wanted and out.flags & TENSOR_READ_ONLY:
        raise ValueError("the memory to be written is read-only")
    return out


def _dlpack(source):
    """The DLPack capsule, in the form of DLPack 1.0 if possible, which can mark memory as
    read-only."""
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:  # does not know the argument
        return source.__dlpack__()


def tensor(source, writable=False):
    """(a tw_tensor, what keeps its memory alive) for an object with __dlpack__ or the buffer
    protocol, or a Typed."""
    if isinstance(source, Typed):
        return source.tensor(writable)
    if isinstance(source, _structs["tw_tensor"]):
        return _writable(source, writable), source
    if not hasattr(source, "__dlpack__"):
        view = memoryview(source)
        return _from_buffer(view, writable), view
    try:
        capsule = _dlpack(source)
    except (BufferError, RuntimeError, ValueError) as refused:
        try:  # NumPy's read-only arrays, which DLPack before 1.0 cannot express
            view = memoryview(source)
        except TypeError:
            raise refused from None
        return _from_buffer(view, writable), view
    out = struct("tensor")
    for form, name in ((1, b"dltensor"), (2, b"dltensor_versioned")):
        if _api.PyCapsule_IsValid(capsule, name):
            address = _api.PyCapsule_GetPointer(capsule, name)
            check(lib.tw_tensor_from_dlpack(address, form, out))
            break
    else:
        raise TypeError(f"{source.__class__.__name__}.__dlpack__() gave {capsule!r}, no DLPack tensor")
    # The capsule's own destructor calls the deleter.
    return _writable(out, writable), (source, capsule)


class Typed:
    """A row-major tensor in memory whose owner does not know the element type: `Typed(array("H",
    bits), DTYPE_BF16, (4, 8))`. The memory must be contiguous, with elements of the same size."""

    def __init__(self, source, dtype, shape):
        self.source, self.dtype, self.shape = source, dtype, tuple(shape)

    def tensor(self, writable):
        out, keep = tensor(self.source, writable)
        if lib.tw_dtype_size(out.dtype) != lib.tw_dtype_size(self.dtype):
            raise ValueError(f"elements of {lib.tw_dtype_size(out.dtype)} bytes cannot be "
                             f"{lib.tw_dtype_name(self.dtype).decode()}")
        packed = _packed_strides(out.shape[:out.rank])
        if list(out.stride[:out.rank]) != packed or math.prod(out.shape[:out.rank]) != math.prod(self.shape):
            raise ValueError(f"memory of shape {tuple(out.shape[:out.rank])} and strides "
                             f"{tuple(out.stride[:out.rank])} is no row-major tensor of {self.shape}")
        kept = {name: getattr(out, name) for name in ("device_kind", "ordinal", "flags", "address")}
        return struct("tensor", dtype=self.dtype, rank=len(self.shape), shape=self.shape,
                      stride=_packed_strides(self.shape), **kept), keep


def _packed_strides(shape):
    """The strides of a row-major tensor; an extent of 0 counts as 1."""
    return [math.prod(max(extent, 1) for extent in shape[i + 1:]) for i in range(len(shape))]


def _extent(t):
    """The address of a tensor's lowest byte, and its size in bytes up to the highest."""
    shape, stride = t.shape[:t.rank], t.stride[:t.rank]
    size = lib.tw_dtype_size(t.dtype)
    if 0 in shape:
        return t.address, 0
    reach = [(n - 1) * s for n, s in zip(shape, stride)]
    low = sum(min(r, 0) for r in reach) * size
    return t.address + low, sum(map(abs, reach)) * size + size


class Registered:
    """Registered memory of a tensor, which a host device may use until close() or the garbage
    collector ends the registration. Keeps the tensor's owner alive."""

    def __init__(self, device, t, keep):
        self.device = None
        self.address, size = _extent(t)
        check(lib.tw_memory_register(device.handle, self.address, size))
        self.device, self.keep = device, keep

    def close(self):
        device, self.device, self.keep = self.device, None, None
        if device and device.handle:  # a closed device has dropped it already
            lib.tw_memory_unregister(device.handle, self.address)

    __del__ = close


def kernels():
    """(name, target, tw_embedded_kernel) of every embedded kernel for each target."""
    count = ctypes.c_int32()
    check(lib.tw_embedded_kernel_get(0, None, count))
    for index in range(count.value):
        entry = struct("embedded_kernel")
        check(lib.tw_embedded_kernel_get(index, entry, None))
        yield entry.name.decode(), entry.target.decode(), entry


def kernel_image(name, target):
    """The cubin or PTX text with this precompiled kernel, as bytes."""
    size = ctypes.c_size_t()
    check(lib.tw_embedded_kernel_image(_zeroed(name), _zeroed(target), None, 0, size))
    buffer = ctypes.create_string_buffer(size.value)
    check(lib.tw_embedded_kernel_image(_zeroed(name), _zeroed(target), buffer, size, size))
    return buffer.raw


# --- Objects --------------------------------------------------------------------------------


class Device(Handle):
    _destroy = "tw_device_destroy"

    def __init__(self, kind="host", ordinal=0):
        if kind not in ("host", "cuda"):
            raise ValueError(f"a device is 'host' or 'cuda', not {kind!r}")
        if ctypes.c_int32(ordinal).value != ordinal:
            raise ValueError(f"{ordinal} is no device's number")
        self.kind, self.ordinal = {"host": DEVICE_HOST, "cuda": DEVICE_CUDA}[kind], ordinal
        super().__init__(lib.tw_device_create, self.kind, ordinal)

    def info(self):
        out = struct("device_info")
        check(lib.tw_device_get_info(self.handle, out))
        return out

    def stream(self, cuda_stream=None):
        """A new stream, or a wrapper of the caller's CUDA stream (torch:
        current_stream().cuda_stream)."""
        return Stream(self, cuda_stream)

    def _here(self, source, writable=False):
        """An operand, which must lie in this device's memory."""
        out, keep = tensor(source, writable)
        theirs, ours = ("the CPU" if kind == DEVICE_HOST else f"GPU {ordinal}"
                        for kind, ordinal in ((out.device_kind, out.ordinal), (self.kind, self.ordinal)))
        if theirs != ours:
            raise ValueError(f"the tensor is in memory of {theirs} and the device is {ours}")
        return out, Registered(self, out, keep) if self.kind == DEVICE_HOST else keep

    def register(self, source):
        """Registers the caller's memory, for addresses that are passed to Plan.run(). The host
        device accepts operands only in memory that it knows. The registration lasts as long as the
        returned object."""
        return self._here(source)[1]

    def copy(self, src, dst):
        """dst[...] = src[...], of equal shapes and any strides."""
        (s, keep), (d, kept) = self._here(src), self._here(dst, True)
        if list(s.shape) != list(d.shape) or s.rank != d.rank or s.dtype != d.dtype:
            raise ValueError("src and dst differ in shape or element type")
        rank = max(s.rank, 1)
        desc = struct("copy_desc", dtype=s.dtype, rank=rank, shape=(s.shape[:s.rank] or [1]),
                      src_stride=(s.stride[:s.rank] or [1]), dst_stride=(d.stride[:d.rank] or [1]))
        return Plan(self, "copy", desc, (keep, kept), src=s.address, dst=d.address)

    def elementwise(self, a, out, b=None, alpha=1.0, beta=1.0, saturate=False, multiply=False,
                    activation=ACTIVATION_NONE):
        """out = act(alpha a + beta b), or act(alpha a) without b, or act(alpha a) b with multiply;
        converted to the type of out. alpha and beta are numbers, or single f32 in device memory
        that are read when the plan runs. act is an ACTIVATION_ value."""
        (ta, k0), (td, k2) = self._here(a), self._here(out, True)
        (tb, k1) = self._here(b) if b is not None else (None, None)
        if any(list(t.shape) != list(td.shape) or t.rank != td.rank for t in (ta, tb) if t):
            raise ValueError("the operands differ in shape")
        keep, numbers = [k0, k1, k2], {}
        for name, factor in (("alpha", alpha), ("beta", beta)):
            if isinstance(factor, (int, float)):
                numbers[name] = factor
                continue
            t, kept = self._here(factor)
            if t.dtype != DTYPE_F32 or any(extent != 1 for extent in t.shape[:t.rank]):
                raise ValueError(f"{name} in the device's memory is one f32")
            numbers["device_" + name] = t.address
            keep.append(kept)
        flags = ELEMENTWISE_SATURATE * saturate
        flags |= ELEMENTWISE_DEVICE_SCALARS * any(name.startswith("device") for name in numbers)
        desc = struct("elementwise_desc", a_dtype=ta.dtype, b_dtype=tb.dtype if tb else 0,
                      dst_dtype=td.dtype, rank=max(td.rank, 1), flags=flags,
                      combine=COMBINE_MULTIPLY if multiply else COMBINE_ADD, activation=activation,
                      shape=(td.shape[:td.rank] or [1]), a_stride=(ta.stride[:td.rank] or [1]),
                      b_stride=(tb.stride[:td.rank] or [1]) if tb else [],
                      dst_stride=(td.stride[:td.rank] or [1]))
        return Plan(self, "elementwise", desc, keep, a=ta.address, b=tb.address if tb else 0,
                    dst=td.address, **numbers)

    def _rows(self, op, table, index, packed):
        (t, k0), (i, k1) = self._here(table, op == "scatter"), self._here(index)
        p, k2 = self._here(packed, op == "gather")
        if t.rank != 2 or p.rank != 2 or i.rank != 1 or i.shape[0] > 1 and i.stride[0] != 1:
            raise ValueError("table and packed rows are matrices, the index a contiguous vector")
        if p.shape[0] != i.shape[0] or p.shape[1] != t.shape[1] or p.dtype != t.dtype:
            raise ValueError("the packed matrix has not a row of the table's form for each index")
        names = ("table", "out") if op == "gather" else ("out", "packed")
        desc = struct("rows_desc", dtype=t.dtype, index_dtype=i.dtype, table_rows=t.shape[0],
                      table_pitch=_leading(t, 1, 0, names[0]), columns=t.shape[1], count=i.shape[0],
                      packed_pitch=_leading(p, 1, 0, names[1]))
        return Plan(self, op, desc, (k0, k1, k2), "rows_args", table=t.address, index=i.address,
                    packed=p.address)

    def gather(self, table, index, out):
        """out[i] = table[index[i]]"""
        return self._rows("gather", table, index, out)

    def scatter(self, packed, index, out):
        """out[index[i]] = packed[i]"""
        return self._rows("scatter", out, index, packed)

    def gemm(self, a, b, out, alpha=1.0, beta=0.0, c=None, bias=None, activation=ACTIVATION_NONE,
             a_scale=None, b_scale=None):
        """out = activation(alpha a b + beta c + bias), where each matrix has one contiguous
        dimension. Without c, c is out. bias has an element per column. f32 scales dequantize 8-bit
        a and b. They have one element for the whole matrix, one per row of a and column of b, or
        one per 128 of k: a_scale (m x k / 128), b_scale (k / 128 x n or k / 128 x n / 128), in
        either order."""
        (ta, k0), (tb, k1), (td, k2) = self._here(a), self._here(b), self._here(out, True)
        tc, k3 = self._here(c) if c is not None else (td, None)
        shape = list(td.shape[:2])
        if {ta.rank, tb.rank, tc.rank, td.rank} != {2} or ta.shape[1] != tb.shape[0] \
                or shape != [ta.shape[0], tb.shape[1]] or shape != list(tc.shape[:2]):
            raise ValueError("a (m x k), b (k x n), c and out (m x n)")
        orders = [_order(*each) for each in ((ta, "a"), (tb, "b"), (td, "out"), (tc, "c"))]
        if orders[2][0] != orders[3][0]:
            raise ValueError("c and out have different orders: both have contiguous rows, or columns")
        fields, operands = {}, {"a": ta.address, "b": tb.address, "d": td.address}
        if beta or c is not None:
            operands["c"] = tc.address
        k4 = None
        if bias is not None:
            vector, k4 = self._here(bias)
            if list(vector.shape[:vector.rank]) != shape[1:] or shape[1] > 1 and vector.stride[0] != 1:
                raise ValueError(f"bias is a contiguous vector of {shape[1]} elements")
            fields, operands["bias"] = {"bias": PER_COLUMN, "bias_dtype": vector.dtype}, vector.address
        k5 = []
        for name, scales in (("a_scale", a_scale), ("b_scale", b_scale)):
            if scales is not None:
                t, keep = self._here(scales)
                lines = ta.shape[0] if name == "a_scale" else tb.shape[1]
                fields.update(_scales(t, name, lines))
                operands[name] = t.address
                k5.append(keep)
        desc = struct("gemm_desc", a_dtype=ta.dtype, b_dtype=tb.dtype, c_dtype=tc.dtype, d_dtype=td.dtype,
                      m=ta.shape[0], n=tb.shape[1], k=ta.shape[1], a_order=orders[0][0],
                      b_order=orders[1][0], d_order=orders[2][0], lda=orders[0][1], ldb=orders[1][1],
                      ldc=orders[3][1], ldd=orders[2][1], activation=activation, **fields)
        return Plan(self, "gemm", desc, (k0, k1, k2, k3, k4, k5), alpha=alpha, beta=beta, **operands)

    def grouped(self, a, b, ends, out, alpha=1.0, bias=None, activation=ACTIVATION_NONE, a_scale=None, b_scale=None):
        """out[r] = activation(alpha a[r] b[g] + bias[g]) for each row r of group g. Group g ends
        before row ends[g] and begins where group g - 1 ends. b has a matrix (k x n) per group, and
        bias a row. Rows after the last end are not written. The ends are read when the plan runs.
        f32 scales dequantize 8-bit operands: one for a and one per group for b, one per row of a
        and one per column of each b (groups x n), or one per 128 of k: a_scale (rows x k / 128),
        b_scale (groups x k / 128 x n or groups x k / 128 x n / 128), in either order of the last two.
        run() may pass `workspace`, an address that is a multiple of 256, and `workspace_bytes` as
        reported by info(). On a GPU a large k requires them, and other products may be faster with
        them."""
        (ta, k0), (tb, k1), (te, k2), (td, k3) = (self._here(a), self._here(b), self._here(ends),
                                                  self._here(out, True))
        if te.rank != 1 or te.shape[0] > 1 and te.stride[0] != 1 or tb.rank != 3 or te.shape[0] != tb.shape[0]:
            raise ValueError("b (groups x k x n) and ends, a contiguous vector with an element for each group")
        operands, k4 = {"a": ta.address, "b": tb.address, "groups": te.address, "d": td.address}, None
        desc = struct("grouped_desc", grouping=GROUPING_ENDS, index_dtype=te.dtype, activation=activation)
        check(lib.tw_grouped_desc_from_tensors(ta, tb, td, desc))
        if bias is not None:
            rows, k4 = self._here(bias)
            if list(rows.shape[:rows.rank]) != [tb.shape[0], tb.shape[2]]:
                raise ValueError(f"bias is a matrix of {tb.shape[0]} x {tb.shape[2]}")
            _fill(desc, {"bias_dtype": rows.dtype, "bias_stride": _leading(rows, 1, 0, "bias")})
            operands["bias"] = rows.address
        k5 = []
        if a_scale is not None:
            scales, keep = self._here(a_scale)
            _fill(desc, _scales(scales, "a_scale", ta.shape[0]))
            operands["a_scale"] = scales.address
            k5.append(keep)
        if b_scale is not None:
            scales, keep = self._here(b_scale)
            if scales.rank == 0 or scales.shape[0] != tb.shape[0]:
                raise ValueError(f"b_scale has scales for each of the {tb.shape[0]} groups")
            own = struct("tensor", dtype=scales.dtype, rank=scales.rank - 1, shape=scales.shape[1:scales.rank],
                         stride=scales.stride[1:scales.rank])
            _fill(desc, {**_scales(own, "b_scale", tb.shape[2]), "b_scale_stride": scales.stride[0]})
            operands["b_scale"] = scales.address
            k5.append(keep)
        return Plan(self, "grouped", desc, (k0, k1, k2, k3, k4, k5), alpha=alpha, **operands)

    def quantize(self, src, out, scale, kind=SCALE_1X128, flags=0, amax=None):
        """Quantizes src (bf16, f16 or f32) to an 8-bit out (f8e4m3, f8e5m2 or i8) and writes f32
        scales that undo it, in either order: one per 128 elements of a row, or as `kind` says. If
        src is 8-bit: out = src times the scales. With SCALE_TENSOR, unless flags have
        QUANTIZE_GIVEN_SCALE, run() needs `workspace`, an address that is a multiple of 256, and
        `workspace_bytes` as reported by info(). amax, an f32, is raised to the largest finite
        magnitude."""
        (ts, k0), (td, k1) = self._here(src), self._here(out, True)
        reads = lib.tw_dtype_size(ts.dtype) == 1 or flags & QUANTIZE_GIVEN_SCALE
        (tf, k2), k3, operands = self._here(scale, not reads), None, {}
        if amax is not None:
            word, k3 = self._here(amax, True)
            operands["amax"] = word.address
        desc = struct("quantize_desc", scale=kind, flags=flags)
        check(lib.tw_quantize_desc_from_tensors(ts, td, tf, desc))
        return Plan(self, "quantize", desc, (k0, k1, k2, k3), src=ts.address, dst=td.address, scale=tf.address,
                    **operands)


def _leading(t, fast, slow, name):
    """Elements between the lines of a matrix whose dimension `fast` is contiguous. 0, which means
    packed in C, if there is at most one line or lines are empty."""
    if t.shape[slow] <= 1 or t.shape[fast] == 0:
        packed = t.shape[slow] == 0 or t.shape[fast] <= 1 or t.stride[fast] == 1
        leading = 0
    else:
        packed = (t.shape[fast] == 1 or t.stride[fast] == 1) and t.stride[slow] >= t.shape[fast]
        leading = t.stride[slow]
    if not packed:
        raise ValueError(f"{name} of shape {tuple(t.shape[:2])} has the strides {tuple(t.stride[:2])}: "
                         f"stride {fast} must be 1 and stride {slow} at least {t.shape[fast]}")
    return leading


def _order(t, name):
    """(TW_ROW_MAJOR or TW_COLUMN_MAJOR, leading dimension) of a matrix."""
    by_columns = t.shape[1] > 1 and t.stride[1] != 1 and 0 not in t.shape[:2]
    if by_columns and (t.shape[0] == 1 or t.stride[0] == 1):
        return COLUMN_MAJOR, _leading(t, 0, 1, name)
    return ROW_MAJOR, _leading(t, 1, 0, name)


def _scales(t, name, lines):
    """The gemm_desc fields for the scales of a matrix with `lines` rows (a) or columns (b)."""
    shape = list(t.shape[:t.rank])
    if t.dtype != DTYPE_F32 or t.rank > 2:
        raise ValueError(f"{name} has f32 elements in two dimensions at most")
    if t.rank < 2:
        if math.prod(shape) == 1:
            return {name: SCALE_TENSOR}
        if shape != [lines] or t.stride[0] != 1:
            raise ValueError(f"{name} is a contiguous vector of {lines} elements")
        return {name: SCALE_ROW}
    own = shape[0] if name == "a_scale" else shape[1]
    if own not in (lines, -(-lines // 128)):
        raise ValueError(f"{name} of shape {tuple(shape)} has scales for {lines} lines or for each 128 of them")
    order, leading = _order(t, name)
    return {name: SCALE_1X128 if own == lines else SCALE_128X128, name + "_order": order, name + "_ld": leading}


class Stream(Handle):
    _destroy = "tw_stream_destroy"

    def __init__(self, device, cuda_stream=None):
        self.device = device
        if cuda_stream is None:
            super().__init__(lib.tw_stream_create, device.handle)
        else:
            super().__init__(lib.tw_stream_create_from, device.handle, cuda_stream)

    def synchronize(self):
        check(lib.tw_stream_synchronize(self.handle))


class Plan(Handle):
    """An operation, planned once and run many times. run() may pass other addresses."""
    _destroy = "tw_plan_destroy"

    def __init__(self, device, op, desc, operands, args=None, **fields):
        super().__init__(getattr(lib, f"tw_{op}_plan"), device.handle, desc)
        self.device, self.op, self.operands = device, op, operands
        self.args = struct(args or f"{op}_args", **fields)

    def run(self, stream, **fields):
        # A copy: the fields of this run must affect neither later runs nor other threads.
        args = _fill(type(self.args).from_buffer_copy(self.args), fields)
        check(getattr(lib, f"tw_{self.op}_run")(self.handle, stream.handle, args))
        return self

    def info(self):
        out = struct("plan_info")
        check(lib.tw_plan_get_info(self.handle, out))
        return out

    def explain(self):
        return self._text(lib.tw_plan_explain)


class Layout(Handle):
    _destroy = "tw_layout_destroy"

    def __init__(self, text):
        super().__init__(lib.tw_layout_parse, _zeroed(text))

    def __str__(self):
        return self._text(lib.tw_layout_format)
