// SPDX-License-Identifier: Apache-2.0
// Made by examples/bindings.py from capi/tilewright.h, which documents every name.
use std::os::raw::{c_char, c_void};

pub type tw_status = i32;
pub type tw_log_level = i32;
pub type tw_dtype = i32;
pub type tw_device_kind = i32;
pub type tw_dlpack_form = i32;
pub type tw_arch = i32;
pub type tw_interleave = i32;
pub type tw_swizzle = i32;
pub type tw_l2_promotion = i32;
pub type tw_oob_fill = i32;
pub type tw_tensor_map_kind = i32;
pub type tw_op = i32;
pub type tw_cache_priority = i32;
pub type tw_reduction = i32;
pub type tw_activation = i32;
pub type tw_ragged_direction = i32;
pub type tw_route_score = i32;
pub type tw_route_group_score = i32;
pub type tw_combine = i32;
pub type tw_order = i32;
pub type tw_per = i32;
pub type tw_gate = i32;
pub type tw_scale_kind = i32;
pub type tw_grouping = i32;
pub type tw_grouped_combine = i32;
pub type tw_paint = i32;

pub const TW_VERSION_MAJOR: u32 = 0;
pub const TW_VERSION_MINOR: u32 = 2;
pub const TW_VERSION_PATCH: u32 = 0;
pub const TW_UNSET: i64 = i64::MIN + 1;
pub const TW_UNDERSCORE: i64 = i64::MIN;
pub const TW_OK: tw_status = 0;
pub const TW_ERROR_NO_DRIVER: tw_status = 1;
pub const TW_ERROR_DRIVER_TOO_OLD: tw_status = 2;
pub const TW_ERROR_NO_DEVICE: tw_status = 3;
pub const TW_ERROR_UNSUPPORTED_DEVICE: tw_status = 4;
pub const TW_ERROR_NO_KERNEL_IMAGE: tw_status = 5;
pub const TW_ERROR_NOT_BUILT: tw_status = 6;
pub const TW_ERROR_INVALID_ARGUMENT: tw_status = 100;
pub const TW_ERROR_STRUCT: tw_status = 101;
pub const TW_ERROR_PARSE: tw_status = 102;
pub const TW_ERROR_OVERFLOW: tw_status = 103;
pub const TW_ERROR_CAPACITY: tw_status = 104;
pub const TW_ERROR_RULE: tw_status = 105;
pub const TW_ERROR_MISALIGNED: tw_status = 106;
pub const TW_ERROR_OVERLAP: tw_status = 107;
pub const TW_ERROR_WRONG_DEVICE: tw_status = 108;
pub const TW_ERROR_INVALID_IMAGE: tw_status = 109;
pub const TW_ERROR_NOT_FOUND: tw_status = 110;
pub const TW_ERROR_BUFFER_TOO_SMALL: tw_status = 111;
pub const TW_ERROR_NOT_A_LAYOUT: tw_status = 112;
pub const TW_ERROR_UNSUPPORTED: tw_status = 200;
pub const TW_ERROR_NOT_READY: tw_status = 300;
pub const TW_ERROR_DEVICE_CLOSED: tw_status = 301;
pub const TW_ERROR_FORKED: tw_status = 302;
pub const TW_ERROR_CAPTURE: tw_status = 303;
pub const TW_ERROR_SHUTDOWN: tw_status = 304;
pub const TW_ERROR_OUT_OF_MEMORY: tw_status = 400;
pub const TW_ERROR_DEVICE_LOST: tw_status = 401;
pub const TW_ERROR_DRIVER: tw_status = 402;
pub const TW_ERROR_INTERNAL: tw_status = 500;
pub const TW_LOG_ERROR: tw_log_level = 1;
pub const TW_LOG_WARNING: tw_log_level = 2;
pub const TW_LOG_INFO: tw_log_level = 3;
pub const TW_LOG_DEBUG: tw_log_level = 4;
pub const TW_DTYPE_U8: tw_dtype = 1;
pub const TW_DTYPE_I8: tw_dtype = 2;
pub const TW_DTYPE_U16: tw_dtype = 3;
pub const TW_DTYPE_I16: tw_dtype = 4;
pub const TW_DTYPE_U32: tw_dtype = 5;
pub const TW_DTYPE_I32: tw_dtype = 6;
pub const TW_DTYPE_U64: tw_dtype = 7;
pub const TW_DTYPE_I64: tw_dtype = 8;
pub const TW_DTYPE_B128: tw_dtype = 9;
pub const TW_DTYPE_F16: tw_dtype = 20;
pub const TW_DTYPE_BF16: tw_dtype = 21;
pub const TW_DTYPE_F32: tw_dtype = 22;
pub const TW_DTYPE_F64: tw_dtype = 23;
pub const TW_DTYPE_TF32: tw_dtype = 24;
pub const TW_DTYPE_F8E4M3: tw_dtype = 25;
pub const TW_DTYPE_F8E5M2: tw_dtype = 26;
pub const TW_DTYPE_F32_FTZ: tw_dtype = 40;
pub const TW_DTYPE_TF32_FTZ: tw_dtype = 41;
pub const TW_DTYPE_U4X16_ALIGN8B: tw_dtype = 42;
pub const TW_DTYPE_U4X16_ALIGN16B: tw_dtype = 43;
pub const TW_DTYPE_U6X16_ALIGN16B: tw_dtype = 44;
pub const TW_DEVICE_HOST: tw_device_kind = 1;
pub const TW_DEVICE_CUDA: tw_device_kind = 2;
pub const TW_FEATURE_HOST: tw_device_kind = 1;
pub const TW_FEATURE_TMA: tw_device_kind = 2;
pub const TW_FEATURE_MMA: tw_device_kind = 4;
pub const TW_FEATURE_WGMMA: tw_device_kind = 8;
pub const TW_FEATURE_GATHER4: tw_device_kind = 16;
pub const TW_FEATURE_SCATTER4: tw_device_kind = 32;
pub const TW_FEATURE_TCGEN05: tw_device_kind = 64;
pub const TW_TENSOR_READ_ONLY: i32 = 1;
pub const TW_DLPACK_TENSOR: tw_dlpack_form = 1;
pub const TW_DLPACK_VERSIONED: tw_dlpack_form = 2;
pub const TW_ARCH_SM_90: tw_arch = 90;
pub const TW_ARCH_SM_100: tw_arch = 100;
pub const TW_ARCH_SM_103: tw_arch = 103;
pub const TW_ARCH_SM_110: tw_arch = 110;
pub const TW_ARCH_SM_120: tw_arch = 120;
pub const TW_INTERLEAVE_NONE: tw_interleave = 0;
pub const TW_INTERLEAVE_16B: tw_interleave = 1;
pub const TW_INTERLEAVE_32B: tw_interleave = 2;
pub const TW_SWIZZLE_NONE: tw_swizzle = 0;
pub const TW_SWIZZLE_32B: tw_swizzle = 1;
pub const TW_SWIZZLE_64B: tw_swizzle = 2;
pub const TW_SWIZZLE_128B: tw_swizzle = 3;
pub const TW_SWIZZLE_128B_ATOM_32B: tw_swizzle = 4;
pub const TW_SWIZZLE_128B_ATOM_32B_FLIP_8B: tw_swizzle = 5;
pub const TW_SWIZZLE_128B_ATOM_64B: tw_swizzle = 6;
pub const TW_L2_PROMOTION_NONE: tw_l2_promotion = 0;
pub const TW_L2_PROMOTION_64B: tw_l2_promotion = 1;
pub const TW_L2_PROMOTION_128B: tw_l2_promotion = 2;
pub const TW_L2_PROMOTION_256B: tw_l2_promotion = 3;
pub const TW_OOB_FILL_ZERO: tw_oob_fill = 0;
pub const TW_OOB_FILL_NAN: tw_oob_fill = 1;
pub const TW_TENSOR_MAP_TILED: tw_tensor_map_kind = 0;
pub const TW_TENSOR_MAP_IM2COL: tw_tensor_map_kind = 1;
pub const TW_TENSOR_MAP_IM2COL_WIDE: tw_tensor_map_kind = 2;
pub const TW_LAUNCH_PROGRAMMATIC: i32 = 1;
pub const TW_OP_COPY: tw_op = 1;
pub const TW_OP_PREFETCH: tw_op = 2;
pub const TW_OP_GATHER: tw_op = 3;
pub const TW_OP_SCATTER: tw_op = 4;
pub const TW_OP_GEMM: tw_op = 5;
pub const TW_OP_ELEMENTWISE: tw_op = 6;
pub const TW_OP_RAGGED: tw_op = 20;
pub const TW_OP_COPIES: tw_op = 21;
pub const TW_OP_ROUTE: tw_op = 22;
pub const TW_OP_GROUPED: tw_op = 23;
pub const TW_OP_QUANTIZE: tw_op = 24;
pub const TW_MAX_RANK: i32 = 8;
pub const TW_CACHE_NORMAL: tw_cache_priority = 0;
pub const TW_CACHE_EVICT_FIRST: tw_cache_priority = 1;
pub const TW_CACHE_EVICT_LAST: tw_cache_priority = 2;
pub const TW_REDUCE_NONE: tw_reduction = 0;
pub const TW_REDUCE_ADD: tw_reduction = 1;
pub const TW_REDUCE_MIN: tw_reduction = 2;
pub const TW_REDUCE_MAX: tw_reduction = 3;
pub const TW_REDUCE_AND: tw_reduction = 4;
pub const TW_REDUCE_OR: tw_reduction = 5;
pub const TW_REDUCE_XOR: tw_reduction = 6;
pub const TW_REDUCE_INC: tw_reduction = 7;
pub const TW_REDUCE_DEC: tw_reduction = 8;
pub const TW_ACTIVATION_NONE: tw_activation = 0;
pub const TW_ACTIVATION_RELU: tw_activation = 1;
pub const TW_ACTIVATION_GELU: tw_activation = 2;
pub const TW_ACTIVATION_GELU_TANH: tw_activation = 3;
pub const TW_ACTIVATION_SILU: tw_activation = 4;
pub const TW_COPY_PADDING_WRITABLE: tw_activation = 1;
pub const TW_SCATTER_LAST_WINS: i32 = 1;
pub const TW_SCATTER_DETERMINISTIC: i32 = 2;
pub const TW_ROWS_WEIGHTS: i32 = 4;
pub const TW_ROWS_ACCUMULATE_F32: i32 = 8;
pub const TW_RAGGED_PAD: tw_ragged_direction = 0;
pub const TW_RAGGED_UNPAD: tw_ragged_direction = 1;
pub const TW_ROUTE_SOFTMAX: tw_route_score = 0;
pub const TW_ROUTE_SIGMOID: tw_route_score = 1;
pub const TW_ROUTE_SOFTMAX_CHOSEN: tw_route_score = 2;
pub const TW_ROUTE_GROUP_BEST: tw_route_group_score = 0;
pub const TW_ROUTE_GROUP_TOP2: tw_route_group_score = 1;
pub const TW_ROUTE_RENORMALIZE: tw_route_group_score = 1;
pub const TW_ROUTE_GIVEN_IDS: tw_route_group_score = 2;
pub const TW_COMBINE_ADD: tw_combine = 0;
pub const TW_COMBINE_MULTIPLY: tw_combine = 1;
pub const TW_ELEMENTWISE_SATURATE: tw_combine = 1;
pub const TW_ELEMENTWISE_DEVICE_SCALARS: tw_combine = 2;
pub const TW_ROW_MAJOR: tw_order = 0;
pub const TW_COLUMN_MAJOR: tw_order = 1;
pub const TW_GEMM_BATCH_POINTERS: tw_order = 1;
pub const TW_GEMM_BATCH_INVARIANT: tw_order = 2;
pub const TW_GEMM_PROGRAMMATIC: tw_order = 4;
pub const TW_GEMM_A_CONSTANT: tw_order = 8;
pub const TW_GEMM_B_CONSTANT: tw_order = 16;
pub const TW_GEMM_DEVICE_M: tw_order = 32;
pub const TW_GEMM_DEVICE_SCALARS: tw_order = 64;
pub const TW_GEMM_STAGING_COPY: tw_order = 128;
pub const TW_GEMM_D_PADDING_WRITABLE: tw_order = 256;
pub const TW_GEMM_AMAX: tw_order = 512;
pub const TW_GEMM_FAST_ACCUMULATE: tw_order = 1024;
pub const TW_PER_NONE: tw_per = 0;
pub const TW_PER_TENSOR: tw_per = 1;
pub const TW_PER_ROW: tw_per = 2;
pub const TW_PER_COLUMN: tw_per = 3;
pub const TW_GATE_NONE: tw_gate = 0;
pub const TW_GATE_HALVES: tw_gate = 1;
pub const TW_GATE_INTERLEAVED: tw_gate = 2;
pub const TW_SCALE_NONE: tw_scale_kind = 0;
pub const TW_SCALE_TENSOR: tw_scale_kind = 1;
pub const TW_SCALE_ROW: tw_scale_kind = 2;
pub const TW_SCALE_1X128: tw_scale_kind = 3;
pub const TW_SCALE_128X128: tw_scale_kind = 4;
pub const TW_SCALE_K32_UE8M0: tw_scale_kind = 20;
pub const TW_SCALE_K16_UE4M3: tw_scale_kind = 21;
pub const TW_GEMM_CALIBRATION_BYTES: i32 = 402653184;
pub const TW_GROUPING_ONE: tw_grouping = 0;
pub const TW_GROUPING_ENDS: tw_grouping = 1;
pub const TW_GROUPING_OFFSETS: tw_grouping = 2;
pub const TW_GROUPING_PSUM: tw_grouping = 3;
pub const TW_GROUPING_ROW_GROUPS: tw_grouping = 4;
pub const TW_GROUPING_MASKED: tw_grouping = 5;
pub const TW_GROUPING_K_RANGES: tw_grouping = 6;
pub const TW_GROUPING_BLOCKS: tw_grouping = 20;
pub const TW_GROUPED_COMBINE_STORE: tw_grouped_combine = 0;
pub const TW_GROUPED_COMBINE_SUM: tw_grouped_combine = 1;
pub const TW_GROUPED_COMBINE_ADD_ATOMIC: tw_grouped_combine = 2;
pub const TW_GROUPED_COMBINE_ADD: tw_grouped_combine = 3;
pub const TW_GROUPED_GATHER: tw_grouped_combine = 1;
pub const TW_GROUPED_SCATTER: tw_grouped_combine = 2;
pub const TW_GROUPED_BATCH_INVARIANT: tw_grouped_combine = 4;
pub const TW_GROUPED_PROGRAMMATIC: tw_grouped_combine = 8;
pub const TW_GROUPED_ROW_WEIGHT_BY_INDEX: tw_grouped_combine = 16;
pub const TW_GROUPED_ZERO_OTHER_ROWS: tw_grouped_combine = 32;
pub const TW_GROUPED_INVERSE: tw_grouped_combine = 64;
pub const TW_GROUPED_FAST_ACCUMULATE: tw_grouped_combine = 128;
pub const TW_QUANTIZE_POWERS_OF_TWO: i32 = 1;
pub const TW_QUANTIZE_GIVEN_SCALE: i32 = 2;
pub const TW_LAYOUT_MAX_LEAVES: i32 = 32;
pub const TW_LAYOUT_MAX_DEPTH: i32 = 16;
pub const TW_PAINT_NONE: tw_paint = 0;
pub const TW_PAINT_BANKS: tw_paint = 1;
pub const TW_PAINT_INDEX: tw_paint = 2;

/// A type of which only pointers exist, neither Send nor Sync by itself.
macro_rules! opaque {
    ($($name:ident),* $(,)?) => {$(
        #[repr(C)]
        pub struct $name {
            _data: [u8; 0],
            _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
        }
    )*};
}
opaque!(
    tw_device,
    tw_stream,
    tw_event,
    tw_graph,
    tw_layout,
    tw_tensor_map,
    tw_module,
    tw_kernel,
    tw_plan,
    tw_gemm_tuning,
    tw_tuple,
    tw_tiler,
    tw_linear,
    CUstream_st,
    CUctx_st,
    CUevent_st,
);

pub type tw_log_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, level: tw_log_level, message: *const c_char)>;
pub type tw_release_callback =
    Option<unsafe extern "C" fn(user: *mut c_void)>;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_error_info {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub status: tw_status,
    pub driver_result: i32,
    pub index: i32,
    pub reserved: u32,
    pub argument: *const c_char,
    pub rule: *const c_char,
    pub got: i64,
    pub limit: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_device_info {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub kind: tw_device_kind,
    pub ordinal: i32,
    pub compute_major: i32,
    pub compute_minor: i32,
    pub driver_version: i32,
    pub sm_count: i32,
    pub max_dynamic_smem_bytes: i32,
    pub features: u32,
    pub total_memory_bytes: u64,
    pub l2_bytes: u64,
    pub name: [c_char; 128],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_tensor {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub dtype: tw_dtype,
    pub device_kind: tw_device_kind,
    pub ordinal: i32,
    pub rank: i32,
    pub flags: u32,
    pub reserved: u32,
    pub address: u64,
    pub shape: [i64; 8],
    pub stride: [i64; 8],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_tensor_map_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub dtype: tw_dtype,
    pub rank: i32,
    pub interleave: tw_interleave,
    pub swizzle: tw_swizzle,
    pub l2_promotion: tw_l2_promotion,
    pub oob_fill: tw_oob_fill,
    pub kind: tw_tensor_map_kind,
    pub wide_mode: i32,
    pub global_address: u64,
    pub global_dim: [u64; 5],
    pub global_stride_bytes: [u64; 5],
    pub box_dim: [u32; 5],
    pub element_strides: [u32; 5],
    pub channels_per_pixel: u32,
    pub pixels_per_column: u32,
    pub lower_corner: [i32; 3],
    pub upper_corner: [i32; 3],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_rule_violation {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub index: i32,
    pub reserved: u32,
    pub rule: *const c_char,
    pub argument: *const c_char,
    pub got: i64,
    pub limit: i64,
    pub message: [c_char; 472],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_tile_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub dtype: tw_dtype,
    pub rank: i32,
    pub swizzle: tw_swizzle,
    pub l2_promotion: tw_l2_promotion,
    pub oob_fill: tw_oob_fill,
    pub multicast: i32,
    pub free_start: u32,
    pub reserved: u32,
    pub global_address: u64,
    pub shape: [i64; 8],
    pub stride: [i64; 8],
    pub tile: [i64; 8],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_kernel_info {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub registers: i32,
    pub static_smem_bytes: i32,
    pub local_bytes: i32,
    pub max_threads: i32,
    pub binary_version: i32,
    pub param_count: i32,
    pub param_bytes: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_launch_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub flags: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub dynamic_smem_bytes: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_plan_info {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub op: tw_op,
    pub reserved: u32,
    pub kernel: *const c_char,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub tile: [u32; 3],
    pub stages: u32,
    pub dynamic_smem_bytes: u32,
    pub boxes_loaded: u64,
    pub boxes_stored: u64,
    pub boxes_prefetched: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub flops: u64,
    pub workspace_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_copy_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub dtype: tw_dtype,
    pub rank: i32,
    pub src_alignment: u32,
    pub dst_alignment: u32,
    pub max_sms: u32,
    pub flags: u32,
    pub src_cache: tw_cache_priority,
    pub dst_cache: tw_cache_priority,
    pub fill: tw_oob_fill,
    pub reserved: u32,
    pub shape: [i64; 8],
    pub src_stride: [i64; 8],
    pub dst_stride: [i64; 8],
    pub src_shape: [i64; 8],
    pub src_start: [i64; 8],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_copy_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub src: u64,
    pub dst: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_copies_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub dtype: tw_dtype,
    pub rank: i32,
    pub src_alignment: u32,
    pub dst_alignment: u32,
    pub max_sms: u32,
    pub reserved: u32,
    pub shape: [i64; 8],
    pub src_stride: [i64; 8],
    pub dst_stride: [i64; 8],
    pub count: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_copies_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub src: u64,
    pub dst: u64,
    pub count: i64,
    pub invalid_count: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_prefetch_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub dtype: tw_dtype,
    pub rank: i32,
    pub alignment: u32,
    pub max_sms: u32,
    pub cache: tw_cache_priority,
    pub reserved: u32,
    pub rows: i64,
    pub columns: i64,
    pub pitch: i64,
    pub budget: i64,
    pub shape: [i64; 8],
    pub stride: [i64; 8],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_prefetch_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub src: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_rows_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub dtype: tw_dtype,
    pub index_dtype: tw_dtype,
    pub packed_dtype: tw_dtype,
    pub reduction: tw_reduction,
    pub table_alignment: u32,
    pub packed_alignment: u32,
    pub max_sms: u32,
    pub flags: u32,
    pub table_rows: i64,
    pub table_columns: i64,
    pub table_pitch: i64,
    pub column: i64,
    pub columns: i64,
    pub count: i64,
    pub packed_pitch: i64,
    pub group: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_rows_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub table: u64,
    pub index: u64,
    pub packed: u64,
    pub count: i64,
    pub weights: u64,
    pub device_count: u64,
    pub invalid_count: u64,
    pub workspace: u64,
    pub workspace_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_ragged_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub dtype: tw_dtype,
    pub offset_dtype: tw_dtype,
    pub direction: tw_ragged_direction,
    pub packed_alignment: u32,
    pub padded_alignment: u32,
    pub max_sms: u32,
    pub fill: tw_oob_fill,
    pub reserved: u32,
    pub batch: i64,
    pub tokens: i64,
    pub rows: i64,
    pub columns: i64,
    pub packed_columns: i64,
    pub packed_pitch: i64,
    pub padded_pitch: i64,
    pub padded_batch_pitch: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_ragged_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub packed: u64,
    pub offsets: u64,
    pub padded: u64,
    pub batch: i64,
    pub tokens: i64,
    pub row: i64,
    pub column: i64,
    pub invalid_count: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_route_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub dtype: tw_dtype,
    pub id_dtype: tw_dtype,
    pub offset_dtype: tw_dtype,
    pub score: tw_route_score,
    pub group_score: tw_route_group_score,
    pub flags: u32,
    pub scale: f32,
    pub max_sms: u32,
    pub tokens: i64,
    pub experts: i64,
    pub top_k: i64,
    pub local_experts: i64,
    pub groups: i64,
    pub top_groups: i64,
    pub logits_pitch: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_route_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub tokens: i64,
    pub logits: u64,
    pub bias: u64,
    pub given_ids: u64,
    pub given_weights: u64,
    pub expert_map: u64,
    pub ids: u64,
    pub weights: u64,
    pub counts: u64,
    pub offsets: u64,
    pub order: u64,
    pub order_tokens: u64,
    pub inverse: u64,
    pub invalid_count: u64,
    pub workspace: u64,
    pub workspace_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_elementwise_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub a_dtype: tw_dtype,
    pub b_dtype: tw_dtype,
    pub dst_dtype: tw_dtype,
    pub rank: i32,
    pub a_alignment: u32,
    pub b_alignment: u32,
    pub dst_alignment: u32,
    pub reduction: tw_reduction,
    pub flags: u32,
    pub max_sms: u32,
    pub src_cache: tw_cache_priority,
    pub dst_cache: tw_cache_priority,
    pub combine: tw_combine,
    pub activation: tw_activation,
    pub shape: [i64; 8],
    pub a_stride: [i64; 8],
    pub b_stride: [i64; 8],
    pub dst_stride: [i64; 8],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_elementwise_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub alpha: f32,
    pub beta: f32,
    pub a: u64,
    pub b: u64,
    pub dst: u64,
    pub device_alpha: u64,
    pub device_beta: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_gemm_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub a_dtype: tw_dtype,
    pub b_dtype: tw_dtype,
    pub c_dtype: tw_dtype,
    pub d_dtype: tw_dtype,
    pub accumulator_dtype: tw_dtype,
    pub bias_dtype: tw_dtype,
    pub a_order: tw_order,
    pub b_order: tw_order,
    pub d_order: tw_order,
    pub flags: u32,
    pub a_alignment: u32,
    pub b_alignment: u32,
    pub c_alignment: u32,
    pub d_alignment: u32,
    pub max_sms: u32,
    pub bias: tw_per,
    pub activation: tw_activation,
    pub gate: tw_gate,
    pub d_factor: tw_per,
    pub a_scale: tw_scale_kind,
    pub b_scale: tw_scale_kind,
    pub a_scale_order: tw_order,
    pub b_scale_order: tw_order,
    pub reserved: u32,
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub min_m: i64,
    pub lda: i64,
    pub ldb: i64,
    pub ldc: i64,
    pub ldd: i64,
    pub batch_count: i64,
    pub a_batch_stride: i64,
    pub b_batch_stride: i64,
    pub c_batch_stride: i64,
    pub d_batch_stride: i64,
    pub a_scale_ld: i64,
    pub b_scale_ld: i64,
    pub a_scale_batch_stride: i64,
    pub b_scale_batch_stride: i64,
    pub d_quantize: tw_scale_kind,
    pub d_block_scale_order: tw_order,
    pub d_block_scale_ld: i64,
    pub d_block_scale_batch_stride: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_gemm_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub alpha: f32,
    pub beta: f32,
    pub d_factor_value: f32,
    pub reserved: u32,
    pub a: u64,
    pub b: u64,
    pub c: u64,
    pub d: u64,
    pub m: i64,
    pub workspace: u64,
    pub workspace_bytes: u64,
    pub device_m: u64,
    pub device_alpha: u64,
    pub device_beta: u64,
    pub invalid_count: u64,
    pub bias: u64,
    pub d_factor: u64,
    pub amax: u64,
    pub a_scale: u64,
    pub b_scale: u64,
    pub d_block_scale: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_gemm_candidate {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub split: u32,
    pub reserved: u32,
    pub kernel: *const c_char,
    pub m_first: i64,
    pub m_last: i64,
    pub microseconds: f64,
    pub waves: f64,
    pub text: [c_char; 104],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_gemm_tune_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub candidates: i32,
    pub rounds: i32,
    pub scratch_d: u64,
    pub flush: u64,
    pub flush_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_grouped_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub a_dtype: tw_dtype,
    pub d_dtype: tw_dtype,
    pub bias_dtype: tw_dtype,
    pub index_dtype: tw_dtype,
    pub row_index_dtype: tw_dtype,
    pub b_order: tw_order,
    pub grouping: tw_grouping,
    pub combine: tw_grouped_combine,
    pub activation: tw_activation,
    pub gate: tw_gate,
    pub gate_limit: f32,
    pub gate_offset: f32,
    pub gate_slope: f32,
    pub flags: u32,
    pub a_alignment: u32,
    pub b_alignment: u32,
    pub d_alignment: u32,
    pub max_sms: u32,
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub group_count: i64,
    pub weight_count: i64,
    pub lda: i64,
    pub ldb: i64,
    pub ldd: i64,
    pub b_stride: i64,
    pub d_stride: i64,
    pub bias_stride: i64,
    pub group_rows: i64,
    pub row_alignment: i64,
    pub a_count: i64,
    pub d_count: i64,
    pub a_divisor: i64,
    pub d_divisor: i64,
    pub expected_rows: i64,
    pub b_dtype: tw_dtype,
    pub a_scale: tw_scale_kind,
    pub b_scale: tw_scale_kind,
    pub a_scale_order: tw_order,
    pub b_scale_order: tw_order,
    pub reserved: u32,
    pub a_scale_ld: i64,
    pub b_scale_ld: i64,
    pub a_scale_stride: i64,
    pub b_scale_stride: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_grouped_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub alpha: f32,
    pub beta: f32,
    pub m: i64,
    pub k: i64,
    pub a_count: i64,
    pub d_count: i64,
    pub a: u64,
    pub b: u64,
    pub d: u64,
    pub bias: u64,
    pub groups: u64,
    pub group_map: u64,
    pub group_alpha: u64,
    pub a_rows: u64,
    pub d_rows: u64,
    pub row_weights: u64,
    pub inverse: u64,
    pub invalid_count: u64,
    pub workspace: u64,
    pub workspace_bytes: u64,
    pub a_scale: u64,
    pub b_scale: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_quantize_desc {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub src_dtype: tw_dtype,
    pub dst_dtype: tw_dtype,
    pub scale: tw_scale_kind,
    pub scale_order: tw_order,
    pub flags: u32,
    pub max_sms: u32,
    pub src_cache: tw_cache_priority,
    pub dst_cache: tw_cache_priority,
    pub rows: i64,
    pub columns: i64,
    pub src_pitch: i64,
    pub dst_pitch: i64,
    pub scale_ld: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_quantize_args {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub rows: i64,
    pub src: u64,
    pub dst: u64,
    pub scale: u64,
    pub amax: u64,
    pub workspace: u64,
    pub workspace_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tw_embedded_kernel {
    pub struct_size: u32,
    pub struct_mark: u32,
    pub op: tw_op,
    pub feature: u32,
    pub name: *const c_char,
    pub target: *const c_char,
    pub threads: u32,
    pub tile: [u32; 3],
    pub stages: u32,
    pub cluster: [u32; 2],
    pub dtypes: [tw_dtype; 2],
    pub driver_version: i32,
    pub packed_bytes: u64,
    pub image_bytes: u64,
}

extern "C" {
    pub fn tw_error_info_init(info: *mut tw_error_info, size: usize) -> tw_status;
    pub fn tw_version() -> u32;
    pub fn tw_version_string() -> *const c_char;
    pub fn tw_status_name(status: tw_status) -> *const c_char;
    pub fn tw_status_text(status: tw_status) -> *const c_char;
    pub fn tw_last_error() -> *const c_char;
    pub fn tw_last_error_info(info: *mut tw_error_info) -> tw_status;
    pub fn tw_log_set(
        callback: tw_log_callback,
        user: *mut c_void,
        level: tw_log_level,
    ) -> tw_status;
    pub fn tw_dtype_size(dtype: tw_dtype) -> i32;
    pub fn tw_dtype_name(dtype: tw_dtype) -> *const c_char;
    pub fn tw_device_info_init(info: *mut tw_device_info, size: usize) -> tw_status;
    pub fn tw_device_count(kind: tw_device_kind, count: *mut i32) -> tw_status;
    pub fn tw_device_create(
        kind: tw_device_kind,
        ordinal: i32,
        device: *mut *mut tw_device,
    ) -> tw_status;
    pub fn tw_device_create_from_context(
        context: *mut CUctx_st,
        device: *mut *mut tw_device,
    ) -> tw_status;
    pub fn tw_device_get_cuda_context(
        device: *mut tw_device,
        context: *mut *mut CUctx_st,
    ) -> tw_status;
    pub fn tw_device_log_set(
        device: *mut tw_device,
        callback: tw_log_callback,
        user: *mut c_void,
        level: tw_log_level,
    ) -> tw_status;
    pub fn tw_device_destroy(device: *mut tw_device);
    pub fn tw_device_get_info(device: *mut tw_device, info: *mut tw_device_info) -> tw_status;
    pub fn tw_malloc(device: *mut tw_device, bytes: u64, address: *mut u64) -> tw_status;
    pub fn tw_free(device: *mut tw_device, address: u64) -> tw_status;
    pub fn tw_malloc_host(
        device: *mut tw_device,
        bytes: u64,
        memory: *mut *mut c_void,
    ) -> tw_status;
    pub fn tw_free_host(device: *mut tw_device, memory: *mut c_void) -> tw_status;
    pub fn tw_memory_register(device: *mut tw_device, address: u64, bytes: u64) -> tw_status;
    pub fn tw_memory_unregister(device: *mut tw_device, address: u64) -> tw_status;
    pub fn tw_stream_create(device: *mut tw_device, stream: *mut *mut tw_stream) -> tw_status;
    pub fn tw_stream_create_from(
        device: *mut tw_device,
        cuda_stream: *mut CUstream_st,
        stream: *mut *mut tw_stream,
    ) -> tw_status;
    pub fn tw_stream_get_cuda(
        stream: *mut tw_stream,
        cuda_stream: *mut *mut CUstream_st,
    ) -> tw_status;
    pub fn tw_stream_destroy(stream: *mut tw_stream);
    pub fn tw_stream_synchronize(stream: *mut tw_stream) -> tw_status;
    pub fn tw_stream_query(stream: *mut tw_stream) -> tw_status;
    pub fn tw_stream_wait_event(stream: *mut tw_stream, event: *mut tw_event) -> tw_status;
    pub fn tw_memcpy_to_device(
        stream: *mut tw_stream,
        dst: u64,
        src: *const c_void,
        bytes: u64,
    ) -> tw_status;
    pub fn tw_memcpy_to_host(
        stream: *mut tw_stream,
        dst: *mut c_void,
        src: u64,
        bytes: u64,
    ) -> tw_status;
    pub fn tw_memcpy_on_device(stream: *mut tw_stream, dst: u64, src: u64, bytes: u64) -> tw_status;
    pub fn tw_memcpy_between_devices(
        stream: *mut tw_stream,
        dst_device: *mut tw_device,
        dst: u64,
        src_device: *mut tw_device,
        src: u64,
        bytes: u64,
    ) -> tw_status;
    pub fn tw_memset(stream: *mut tw_stream, dst: u64, value: i32, bytes: u64) -> tw_status;
    pub fn tw_event_create(device: *mut tw_device, event: *mut *mut tw_event) -> tw_status;
    pub fn tw_event_create_from(
        device: *mut tw_device,
        cuda_event: *mut CUevent_st,
        event: *mut *mut tw_event,
    ) -> tw_status;
    pub fn tw_event_get_cuda(event: *mut tw_event, cuda_event: *mut *mut CUevent_st) -> tw_status;
    pub fn tw_event_destroy(event: *mut tw_event);
    pub fn tw_event_record(event: *mut tw_event, stream: *mut tw_stream) -> tw_status;
    pub fn tw_event_synchronize(event: *mut tw_event) -> tw_status;
    pub fn tw_event_query(event: *mut tw_event) -> tw_status;
    pub fn tw_event_elapsed(
        start: *mut tw_event,
        end: *mut tw_event,
        milliseconds: *mut f32,
    ) -> tw_status;
    pub fn tw_stream_begin_capture(stream: *mut tw_stream) -> tw_status;
    pub fn tw_stream_end_capture(stream: *mut tw_stream, graph: *mut *mut tw_graph) -> tw_status;
    pub fn tw_graph_instantiate(graph: *mut tw_graph) -> tw_status;
    pub fn tw_graph_launch(graph: *mut tw_graph, stream: *mut tw_stream) -> tw_status;
    pub fn tw_graph_update(graph: *mut tw_graph, captured: *mut tw_graph) -> tw_status;
    pub fn tw_graph_destroy(graph: *mut tw_graph);
    pub fn tw_tensor_init(tensor: *mut tw_tensor, size: usize) -> tw_status;
    pub fn tw_tensor_from_dlpack(
        dlpack: *const c_void,
        form: tw_dlpack_form,
        tensor: *mut tw_tensor,
    ) -> tw_status;
    pub fn tw_tensor_to_dlpack(
        tensor: *const tw_tensor,
        form: tw_dlpack_form,
        release: tw_release_callback,
        user: *mut c_void,
        managed: *mut *mut c_void,
    ) -> tw_status;
    pub fn tw_rule_violation_init(violation: *mut tw_rule_violation, size: usize) -> tw_status;
    pub fn tw_tensor_map_desc_init(desc: *mut tw_tensor_map_desc, size: usize) -> tw_status;
    pub fn tw_tensor_map_check(
        desc: *const tw_tensor_map_desc,
        arch: tw_arch,
        violations: *mut tw_rule_violation,
        capacity: i32,
        count: *mut i32,
    ) -> tw_status;
    pub fn tw_tensor_map_propose(
        desc: *const tw_tensor_map_desc,
        arch: tw_arch,
        proposed: *mut tw_tensor_map_desc,
    ) -> tw_status;
    pub fn tw_tensor_map_encode(
        desc: *const tw_tensor_map_desc,
        arch: tw_arch,
        bytes: *mut c_void,
    ) -> tw_status;
    pub fn tw_tensor_map_decode(bytes: *const c_void, desc: *mut tw_tensor_map_desc) -> tw_status;
    pub fn tw_tensor_map_create(
        device: *mut tw_device,
        desc: *const tw_tensor_map_desc,
        map: *mut *mut tw_tensor_map,
    ) -> tw_status;
    pub fn tw_tile_desc_init(desc: *mut tw_tile_desc, size: usize) -> tw_status;
    pub fn tw_tile_desc_from_tensor(tensor: *const tw_tensor, desc: *mut tw_tile_desc) -> tw_status;
    pub fn tw_tensor_map_create_tile(
        device: *mut tw_device,
        desc: *const tw_tile_desc,
        shared: *const tw_layout,
        map: *mut *mut tw_tensor_map,
    ) -> tw_status;
    pub fn tw_tensor_map_boxes(map: *const tw_tensor_map, boxes: *mut i32) -> tw_status;
    pub fn tw_tensor_map_box(
        map: *const tw_tensor_map,
        start: *const i64,
        index: i32,
        coord: *mut i32,
        shared_offset: *mut u64,
    ) -> tw_status;
    pub fn tw_tensor_map_rebind(map: *mut tw_tensor_map, global_address: u64) -> tw_status;
    pub fn tw_tensor_map_resize(map: *mut tw_tensor_map, dimension: i32, extent: u64) -> tw_status;
    pub fn tw_tensor_map_destroy(map: *mut tw_tensor_map);
    pub fn tw_tensor_map_bytes(map: *const tw_tensor_map, bytes: *mut c_void) -> tw_status;
    pub fn tw_tensor_map_get_desc(
        map: *const tw_tensor_map,
        desc: *mut tw_tensor_map_desc,
    ) -> tw_status;
    pub fn tw_tensor_map_coordinates(
        map: *const tw_tensor_map,
        layout: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_tensor_map_explain(
        map: *const tw_tensor_map,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_tensor_map_draw(
        map: *const tw_tensor_map,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_kernel_info_init(info: *mut tw_kernel_info, size: usize) -> tw_status;
    pub fn tw_module_load(
        device: *mut tw_device,
        image: *const c_void,
        size: usize,
        module: *mut *mut tw_module,
    ) -> tw_status;
    pub fn tw_module_destroy(module: *mut tw_module);
    pub fn tw_kernel_get(
        module: *mut tw_module,
        name: *const c_char,
        kernel: *mut *mut tw_kernel,
    ) -> tw_status;
    pub fn tw_kernel_destroy(kernel: *mut tw_kernel);
    pub fn tw_kernel_get_info(kernel: *mut tw_kernel, info: *mut tw_kernel_info) -> tw_status;
    pub fn tw_kernel_occupancy(
        kernel: *mut tw_kernel,
        desc: *const tw_launch_desc,
        blocks_per_sm: *mut i32,
        clusters: *mut i32,
    ) -> tw_status;
    pub fn tw_launch_desc_init(desc: *mut tw_launch_desc, size: usize) -> tw_status;
    pub fn tw_launch(
        stream: *mut tw_stream,
        kernel: *mut tw_kernel,
        desc: *const tw_launch_desc,
        param_count: u32,
        param_sizes: *const u32,
        params: *const c_void,
    ) -> tw_status;
    pub fn tw_plan_info_init(info: *mut tw_plan_info, size: usize) -> tw_status;
    pub fn tw_plan_get_info(plan: *const tw_plan, info: *mut tw_plan_info) -> tw_status;
    pub fn tw_plan_explain(
        plan: *const tw_plan,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_plan_destroy(plan: *mut tw_plan);
    pub fn tw_copy_desc_init(desc: *mut tw_copy_desc, size: usize) -> tw_status;
    pub fn tw_copy_args_init(args: *mut tw_copy_args, size: usize) -> tw_status;
    pub fn tw_copy_desc_from_tensors(
        src: *const tw_tensor,
        dst: *const tw_tensor,
        desc: *mut tw_copy_desc,
    ) -> tw_status;
    pub fn tw_copy_plan(
        device: *mut tw_device,
        desc: *const tw_copy_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_copy_supported(device: *mut tw_device, desc: *const tw_copy_desc) -> tw_status;
    pub fn tw_copy_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_copy_args,
    ) -> tw_status;
    pub fn tw_copies_desc_init(desc: *mut tw_copies_desc, size: usize) -> tw_status;
    pub fn tw_copies_args_init(args: *mut tw_copies_args, size: usize) -> tw_status;
    pub fn tw_copies_desc_from_tensors(
        src: *const tw_tensor,
        dst: *const tw_tensor,
        desc: *mut tw_copies_desc,
    ) -> tw_status;
    pub fn tw_copies_plan(
        device: *mut tw_device,
        desc: *const tw_copies_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_copies_supported(device: *mut tw_device, desc: *const tw_copies_desc) -> tw_status;
    pub fn tw_copies_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_copies_args,
    ) -> tw_status;
    pub fn tw_prefetch_desc_init(desc: *mut tw_prefetch_desc, size: usize) -> tw_status;
    pub fn tw_prefetch_args_init(args: *mut tw_prefetch_args, size: usize) -> tw_status;
    pub fn tw_prefetch_desc_from_tensors(
        src: *const tw_tensor,
        desc: *mut tw_prefetch_desc,
    ) -> tw_status;
    pub fn tw_prefetch_plan(
        device: *mut tw_device,
        desc: *const tw_prefetch_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_prefetch_supported(
        device: *mut tw_device,
        desc: *const tw_prefetch_desc,
    ) -> tw_status;
    pub fn tw_prefetch_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_prefetch_args,
    ) -> tw_status;
    pub fn tw_rows_desc_init(desc: *mut tw_rows_desc, size: usize) -> tw_status;
    pub fn tw_rows_args_init(args: *mut tw_rows_args, size: usize) -> tw_status;
    pub fn tw_rows_desc_from_tensors(
        table: *const tw_tensor,
        index: *const tw_tensor,
        packed: *const tw_tensor,
        desc: *mut tw_rows_desc,
    ) -> tw_status;
    pub fn tw_gather_plan(
        device: *mut tw_device,
        desc: *const tw_rows_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_gather_supported(device: *mut tw_device, desc: *const tw_rows_desc) -> tw_status;
    pub fn tw_gather_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_rows_args,
    ) -> tw_status;
    pub fn tw_scatter_plan(
        device: *mut tw_device,
        desc: *const tw_rows_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_scatter_supported(device: *mut tw_device, desc: *const tw_rows_desc) -> tw_status;
    pub fn tw_scatter_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_rows_args,
    ) -> tw_status;
    pub fn tw_ragged_desc_init(desc: *mut tw_ragged_desc, size: usize) -> tw_status;
    pub fn tw_ragged_args_init(args: *mut tw_ragged_args, size: usize) -> tw_status;
    pub fn tw_ragged_desc_from_tensors(
        packed: *const tw_tensor,
        offsets: *const tw_tensor,
        padded: *const tw_tensor,
        desc: *mut tw_ragged_desc,
    ) -> tw_status;
    pub fn tw_ragged_plan(
        device: *mut tw_device,
        desc: *const tw_ragged_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_ragged_supported(device: *mut tw_device, desc: *const tw_ragged_desc) -> tw_status;
    pub fn tw_ragged_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_ragged_args,
    ) -> tw_status;
    pub fn tw_route_desc_init(desc: *mut tw_route_desc, size: usize) -> tw_status;
    pub fn tw_route_args_init(args: *mut tw_route_args, size: usize) -> tw_status;
    pub fn tw_route_desc_from_tensors(
        logits: *const tw_tensor,
        ids: *const tw_tensor,
        desc: *mut tw_route_desc,
    ) -> tw_status;
    pub fn tw_route_plan(
        device: *mut tw_device,
        desc: *const tw_route_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_route_supported(device: *mut tw_device, desc: *const tw_route_desc) -> tw_status;
    pub fn tw_route_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_route_args,
    ) -> tw_status;
    pub fn tw_elementwise_desc_init(desc: *mut tw_elementwise_desc, size: usize) -> tw_status;
    pub fn tw_elementwise_args_init(args: *mut tw_elementwise_args, size: usize) -> tw_status;
    pub fn tw_elementwise_desc_from_tensors(
        a: *const tw_tensor,
        b: *const tw_tensor,
        dst: *const tw_tensor,
        desc: *mut tw_elementwise_desc,
    ) -> tw_status;
    pub fn tw_elementwise_plan(
        device: *mut tw_device,
        desc: *const tw_elementwise_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_elementwise_supported(
        device: *mut tw_device,
        desc: *const tw_elementwise_desc,
    ) -> tw_status;
    pub fn tw_elementwise_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_elementwise_args,
    ) -> tw_status;
    pub fn tw_gemm_desc_init(desc: *mut tw_gemm_desc, size: usize) -> tw_status;
    pub fn tw_gemm_args_init(args: *mut tw_gemm_args, size: usize) -> tw_status;
    pub fn tw_gemm_desc_from_tensors(
        a: *const tw_tensor,
        b: *const tw_tensor,
        c: *const tw_tensor,
        d: *const tw_tensor,
        desc: *mut tw_gemm_desc,
    ) -> tw_status;
    pub fn tw_gemm_plan(
        device: *mut tw_device,
        desc: *const tw_gemm_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_gemm_supported(device: *mut tw_device, desc: *const tw_gemm_desc) -> tw_status;
    pub fn tw_gemm_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_gemm_args,
    ) -> tw_status;
    pub fn tw_gemm_candidate_init(candidate: *mut tw_gemm_candidate, size: usize) -> tw_status;
    pub fn tw_gemm_candidates(
        device: *mut tw_device,
        desc: *const tw_gemm_desc,
        candidates: *mut tw_gemm_candidate,
        capacity: i32,
        count: *mut i32,
    ) -> tw_status;
    pub fn tw_gemm_plan_candidate(
        device: *mut tw_device,
        desc: *const tw_gemm_desc,
        candidate: *const c_char,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_gemm_ranges(
        plan: *const tw_plan,
        candidates: *mut tw_gemm_candidate,
        capacity: i32,
        count: *mut i32,
    ) -> tw_status;
    pub fn tw_gemm_tuning_create(tuning: *mut *mut tw_gemm_tuning) -> tw_status;
    pub fn tw_gemm_tuning_destroy(tuning: *mut tw_gemm_tuning);
    pub fn tw_gemm_tuning_load(tuning: *mut tw_gemm_tuning, text: *const c_char) -> tw_status;
    pub fn tw_gemm_tuning_format(
        tuning: *const tw_gemm_tuning,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_gemm_tune_desc_init(desc: *mut tw_gemm_tune_desc, size: usize) -> tw_status;
    pub fn tw_gemm_tune(
        tuning: *mut tw_gemm_tuning,
        stream: *mut tw_stream,
        desc: *const tw_gemm_desc,
        args: *const tw_gemm_args,
        how: *const tw_gemm_tune_desc,
        best: *mut tw_gemm_candidate,
    ) -> tw_status;
    pub fn tw_gemm_calibrate(
        tuning: *mut tw_gemm_tuning,
        stream: *mut tw_stream,
        scratch: u64,
        scratch_bytes: u64,
    ) -> tw_status;
    pub fn tw_gemm_plan_tuned(
        device: *mut tw_device,
        desc: *const tw_gemm_desc,
        tuning: *const tw_gemm_tuning,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_grouped_desc_init(desc: *mut tw_grouped_desc, size: usize) -> tw_status;
    pub fn tw_grouped_args_init(args: *mut tw_grouped_args, size: usize) -> tw_status;
    pub fn tw_grouped_desc_from_tensors(
        a: *const tw_tensor,
        b: *const tw_tensor,
        d: *const tw_tensor,
        desc: *mut tw_grouped_desc,
    ) -> tw_status;
    pub fn tw_grouped_plan(
        device: *mut tw_device,
        desc: *const tw_grouped_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_grouped_supported(device: *mut tw_device, desc: *const tw_grouped_desc) -> tw_status;
    pub fn tw_grouped_candidates(
        device: *mut tw_device,
        desc: *const tw_grouped_desc,
        candidates: *mut tw_gemm_candidate,
        capacity: i32,
        count: *mut i32,
    ) -> tw_status;
    pub fn tw_grouped_plan_candidate(
        device: *mut tw_device,
        desc: *const tw_grouped_desc,
        candidate: *const c_char,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_grouped_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_grouped_args,
    ) -> tw_status;
    pub fn tw_quantize_desc_init(desc: *mut tw_quantize_desc, size: usize) -> tw_status;
    pub fn tw_quantize_args_init(args: *mut tw_quantize_args, size: usize) -> tw_status;
    pub fn tw_quantize_desc_from_tensors(
        src: *const tw_tensor,
        dst: *const tw_tensor,
        scale: *const tw_tensor,
        desc: *mut tw_quantize_desc,
    ) -> tw_status;
    pub fn tw_quantize_plan(
        device: *mut tw_device,
        desc: *const tw_quantize_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_quantize_supported(
        device: *mut tw_device,
        desc: *const tw_quantize_desc,
    ) -> tw_status;
    pub fn tw_quantize_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_quantize_args,
    ) -> tw_status;
    pub fn tw_embedded_kernel_init(entry: *mut tw_embedded_kernel, size: usize) -> tw_status;
    pub fn tw_embedded_kernel_get(
        index: i32,
        entry: *mut tw_embedded_kernel,
        count: *mut i32,
    ) -> tw_status;
    pub fn tw_embedded_kernel_info(
        name: *const c_char,
        target: *const c_char,
        info: *mut tw_kernel_info,
    ) -> tw_status;
    pub fn tw_embedded_kernel_image(
        name: *const c_char,
        target: *const c_char,
        buffer: *mut c_void,
        capacity: usize,
        size: *mut usize,
    ) -> tw_status;
    pub fn tw_layout_parse(text: *const c_char, layout: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_create(
        rank: i32,
        shape: *const i64,
        stride: *const i64,
        layout: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_destroy(layout: *mut tw_layout);
    pub fn tw_layout_format(
        layout: *const tw_layout,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_layout_size(layout: *const tw_layout, size: *mut i64) -> tw_status;
    pub fn tw_layout_cosize(layout: *const tw_layout, cosize: *mut i64) -> tw_status;
    pub fn tw_layout_rank(layout: *const tw_layout, rank: *mut i32) -> tw_status;
    pub fn tw_layout_depth(layout: *const tw_layout, depth: *mut i32) -> tw_status;
    pub fn tw_layout_leaves(layout: *const tw_layout, leaves: *mut i32) -> tw_status;
    pub fn tw_layout_mode(
        layout: *const tw_layout,
        mode: i32,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_crd2idx(
        layout: *const tw_layout,
        coord: *const i64,
        count: i32,
        index: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_crd2crd(
        layout: *const tw_layout,
        coord: *const i64,
        count: i32,
        out: *mut i64,
        capacity: i32,
        written: *mut i32,
    ) -> tw_status;
    pub fn tw_layout_idx2crd(
        layout: *const tw_layout,
        linear: i64,
        coord: *mut i64,
        capacity: i32,
    ) -> tw_status;
    pub fn tw_layout_find(layout: *const tw_layout, index: i64, linear: *mut i64) -> tw_status;
    pub fn tw_layout_local_tile(
        layout: *const tw_layout,
        rank: i32,
        tile: *const i64,
        coord: *const i64,
        out: *mut *mut tw_layout,
        offset: *mut i64,
    ) -> tw_status;
    pub fn tw_tuple_parse(text: *const c_char, tuple: *mut *mut tw_tuple) -> tw_status;
    pub fn tw_tuple_create(count: i32, values: *const i64, tuple: *mut *mut tw_tuple) -> tw_status;
    pub fn tw_tuple_destroy(tuple: *mut tw_tuple);
    pub fn tw_tuple_format(
        tuple: *const tw_tuple,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_tuple_values(
        tuple: *const tw_tuple,
        values: *mut i64,
        capacity: i32,
        written: *mut i32,
    ) -> tw_status;
    pub fn tw_tuple_product(tuple: *const tw_tuple, product: *mut i64) -> tw_status;
    pub fn tw_tuple_congruent(a: *const tw_tuple, b: *const tw_tuple, yes: *mut i32) -> tw_status;
    pub fn tw_tuple_weakly_congruent(
        a: *const tw_tuple,
        b: *const tw_tuple,
        yes: *mut i32,
    ) -> tw_status;
    pub fn tw_tuple_compatible(a: *const tw_tuple, b: *const tw_tuple, yes: *mut i32) -> tw_status;
    pub fn tw_tuple_elem_less(
        coord: *const tw_tuple,
        shape: *const tw_tuple,
        yes: *mut i32,
    ) -> tw_status;
    pub fn tw_tuple_prefix_product(shape: *const tw_tuple, out: *mut *mut tw_tuple) -> tw_status;
    pub fn tw_tuple_inner_product(
        a: *const tw_tuple,
        b: *const tw_tuple,
        product: *mut i64,
    ) -> tw_status;
    pub fn tw_tuple_shape_div(
        a: *const tw_tuple,
        b: *const tw_tuple,
        out: *mut *mut tw_tuple,
    ) -> tw_status;
    pub fn tw_tuple_ceil_div(
        shape: *const tw_tuple,
        tile: *const tw_tuple,
        out: *mut *mut tw_tuple,
    ) -> tw_status;
    pub fn tw_tiler_parse(text: *const c_char, tiler: *mut *mut tw_tiler) -> tw_status;
    pub fn tw_tiler_create(rank: i32, extents: *const i64, tiler: *mut *mut tw_tiler) -> tw_status;
    pub fn tw_tiler_from_layout(layout: *const tw_layout, tiler: *mut *mut tw_tiler) -> tw_status;
    pub fn tw_tiler_by_mode(
        rank: i32,
        entries: *const *const tw_tiler,
        tiler: *mut *mut tw_tiler,
    ) -> tw_status;
    pub fn tw_tiler_destroy(tiler: *mut tw_tiler);
    pub fn tw_tiler_format(
        tiler: *const tw_tiler,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_layout_make_left(shape: *const tw_tuple, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_make_right(shape: *const tw_tuple, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_make_ordered(
        shape: *const tw_tuple,
        order: *const tw_tuple,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_make_like(layout: *const tw_layout, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_make_identity(shape: *const tw_tuple, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_make_tv(
        threads: *const tw_layout,
        values: *const tw_layout,
        tile: *mut *mut tw_tuple,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_domain_distribute(
        shape: *const tw_tuple,
        size: i64,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_shape(layout: *const tw_layout, shape: *mut *mut tw_tuple) -> tw_status;
    pub fn tw_layout_stride(layout: *const tw_layout, stride: *mut *mut tw_tuple) -> tw_status;
    pub fn tw_layout_swizzle(
        layout: *const tw_layout,
        bits: *mut i32,
        base: *mut i32,
        shift: *mut i32,
        offset: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_at(
        layout: *const tw_layout,
        coord: *const tw_tuple,
        index: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_at_coord(
        layout: *const tw_layout,
        coord: *const tw_tuple,
        out: *mut *mut tw_tuple,
    ) -> tw_status;
    pub fn tw_layout_is_injective(layout: *const tw_layout, yes: *mut i32) -> tw_status;
    pub fn tw_layout_is_surjective(layout: *const tw_layout, yes: *mut i32) -> tw_status;
    pub fn tw_layout_is_contiguous(layout: *const tw_layout, yes: *mut i32) -> tw_status;
    pub fn tw_layout_max_alignment(layout: *const tw_layout, elements: *mut i64) -> tw_status;
    pub fn tw_layout_max_common_vector(
        a: *const tw_layout,
        b: *const tw_layout,
        elements: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_coalesce(
        layout: *const tw_layout,
        profile: *const tw_tuple,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_filter(
        layout: *const tw_layout,
        profile: *const tw_tuple,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_filter_zeros(layout: *const tw_layout, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_flatten(layout: *const tw_layout, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_group_modes(
        layout: *const tw_layout,
        begin: i32,
        end: i32,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_append(
        layout: *const tw_layout,
        mode: *const tw_layout,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_prepend(
        layout: *const tw_layout,
        mode: *const tw_layout,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_replace(
        layout: *const tw_layout,
        index: i32,
        with: *const tw_layout,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_select(
        layout: *const tw_layout,
        count: i32,
        modes: *const i32,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_take(
        layout: *const tw_layout,
        begin: i32,
        end: i32,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_composition(
        a: *const tw_layout,
        b: *const tw_layout,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_composition_tiler(
        a: *const tw_layout,
        tiler: *const tw_tiler,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_complement(
        layout: *const tw_layout,
        cosize: i64,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_right_inverse(layout: *const tw_layout, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_left_inverse(layout: *const tw_layout, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_logical_divide(
        layout: *const tw_layout,
        tiler: *const tw_tiler,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_zipped_divide(
        layout: *const tw_layout,
        tiler: *const tw_tiler,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_tiled_divide(
        layout: *const tw_layout,
        tiler: *const tw_tiler,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_flat_divide(
        layout: *const tw_layout,
        tiler: *const tw_tiler,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_logical_product(
        a: *const tw_layout,
        tiler: *const tw_tiler,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_zipped_product(
        a: *const tw_layout,
        tiler: *const tw_tiler,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_tiled_product(
        a: *const tw_layout,
        tiler: *const tw_tiler,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_flat_product(
        a: *const tw_layout,
        tiler: *const tw_tiler,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_blocked_product(
        a: *const tw_layout,
        b: *const tw_layout,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_raked_product(
        a: *const tw_layout,
        b: *const tw_layout,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_tile_to_shape(
        block: *const tw_layout,
        shape: *const tw_tuple,
        order: *const tw_tuple,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_max_common_layout(
        a: *const tw_layout,
        b: *const tw_layout,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_nullspace(layout: *const tw_layout, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_layout_slice(
        layout: *const tw_layout,
        coord: *const tw_tuple,
        out: *mut *mut tw_layout,
        offset: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_dice(
        layout: *const tw_layout,
        coord: *const tw_tuple,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_domain_offset(
        layout: *const tw_layout,
        coord: *const tw_tuple,
        out: *mut *mut tw_layout,
        offset: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_tile(
        layout: *const tw_layout,
        tiler: *const tw_tiler,
        coord: *const tw_tuple,
        out: *mut *mut tw_layout,
        offset: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_local_partition(
        layout: *const tw_layout,
        threads: *const tw_layout,
        thread: i64,
        out: *mut *mut tw_layout,
        offset: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_add_swizzle(
        layout: *const tw_layout,
        bits: i32,
        base: i32,
        shift: i32,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_remove_swizzle(
        layout: *const tw_layout,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_swizzle_apply(bits: i32, base: i32, shift: i32, x: i64, out: *mut i64) -> tw_status;
    pub fn tw_swizzle_recast(
        bits: *mut i32,
        base: *mut i32,
        shift: *mut i32,
        from_bits: i64,
        to_bits: i64,
    ) -> tw_status;
    pub fn tw_layout_upcast(
        layout: *const tw_layout,
        n: i64,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_downcast(
        layout: *const tw_layout,
        n: i64,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_recast(
        layout: *const tw_layout,
        from_bits: i64,
        to_bits: i64,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_partition_tv(
        tensor: *const tw_layout,
        tile: *const tw_tuple,
        tv: *const tw_layout,
        thread: i64,
        out: *mut *mut tw_layout,
        offset: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_partition_tma(
        tensor: *const tw_layout,
        smem: *const tw_layout,
        tile: *const tw_tuple,
        coord: *const tw_tuple,
        ctas: i64,
        cta: i64,
        r#box: *mut i64,
        capacity: i32,
        boxes: *mut *mut tw_layout,
        slots: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_layout_bank_passes(
        layout: *const tw_layout,
        element_bits: i32,
        tv: *const tw_layout,
        access_bytes: i32,
        passes: *mut i64,
        least: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_default_shared(
        rows: i64,
        columns: i64,
        element_bits: i32,
        swizzle_bytes: *mut i32,
        out: *mut *mut tw_layout,
    ) -> tw_status;
    pub fn tw_linear_parse(text: *const c_char, linear: *mut *mut tw_linear) -> tw_status;
    pub fn tw_linear_destroy(linear: *mut tw_linear);
    pub fn tw_linear_format(
        linear: *const tw_linear,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_linear_blocked(
        rank: i32,
        shape: *const i64,
        size_per_thread: *const i64,
        threads_per_warp: *const i64,
        warps_per_cta: *const i64,
        order: *const i32,
        out: *mut *mut tw_linear,
    ) -> tw_status;
    pub fn tw_linear_slice(
        parent: *const tw_linear,
        dim: i32,
        out: *mut *mut tw_linear,
    ) -> tw_status;
    pub fn tw_linear_resize(
        linear: *const tw_linear,
        shape: *const tw_tuple,
        out: *mut *mut tw_linear,
    ) -> tw_status;
    pub fn tw_linear_compose(
        outer: *const tw_linear,
        inner: *const tw_linear,
        out: *mut *mut tw_linear,
    ) -> tw_status;
    pub fn tw_linear_inverse(linear: *const tw_linear, out: *mut *mut tw_linear) -> tw_status;
    pub fn tw_linear_at(
        linear: *const tw_linear,
        reg: i64,
        lane: i64,
        warp: i64,
        block: i64,
        coord: *mut i64,
        capacity: i32,
        written: *mut i32,
    ) -> tw_status;
    pub fn tw_linear_from_layout(
        layout: *const tw_layout,
        shape: *const tw_tuple,
        out: *mut *mut tw_linear,
    ) -> tw_status;
    pub fn tw_linear_to_layout(linear: *const tw_linear, out: *mut *mut tw_layout) -> tw_status;
    pub fn tw_linear_gather4(
        linear: *const tw_linear,
        per_warp: *mut i64,
        warps: *mut i64,
    ) -> tw_status;
    pub fn tw_layout_draw(
        layout: *const tw_layout,
        paint: tw_paint,
        element_bits: i32,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_layout_draw_tv(
        tv: *const tw_layout,
        tile: *const tw_tuple,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
    pub fn tw_layout_draw_boxes(
        tensor: *const tw_layout,
        r#box: *const i64,
        boxes: *const tw_layout,
        buffer: *mut c_char,
        capacity: usize,
        length: *mut usize,
    ) -> tw_status;
}

/// A struct of the C API: integers, floats and pointers to C's memory, the first of them its size.
///
/// # Safety
/// Only such structs may implement it, with their own init function.
pub unsafe trait Struct: Copy {
    const INIT: unsafe extern "C" fn(value: *mut Self, size: usize) -> tw_status;
}

macro_rules! structs {
    ($($name:ident: $init:ident,)*) => {$(
        unsafe impl Struct for $name {
            const INIT: unsafe extern "C" fn(value: *mut Self, size: usize) -> tw_status = $init;
        }
    )*};
}
structs! {
    tw_error_info: tw_error_info_init,
    tw_device_info: tw_device_info_init,
    tw_tensor: tw_tensor_init,
    tw_tensor_map_desc: tw_tensor_map_desc_init,
    tw_rule_violation: tw_rule_violation_init,
    tw_tile_desc: tw_tile_desc_init,
    tw_kernel_info: tw_kernel_info_init,
    tw_launch_desc: tw_launch_desc_init,
    tw_plan_info: tw_plan_info_init,
    tw_copy_desc: tw_copy_desc_init,
    tw_copy_args: tw_copy_args_init,
    tw_copies_desc: tw_copies_desc_init,
    tw_copies_args: tw_copies_args_init,
    tw_prefetch_desc: tw_prefetch_desc_init,
    tw_prefetch_args: tw_prefetch_args_init,
    tw_rows_desc: tw_rows_desc_init,
    tw_rows_args: tw_rows_args_init,
    tw_ragged_desc: tw_ragged_desc_init,
    tw_ragged_args: tw_ragged_args_init,
    tw_route_desc: tw_route_desc_init,
    tw_route_args: tw_route_args_init,
    tw_elementwise_desc: tw_elementwise_desc_init,
    tw_elementwise_args: tw_elementwise_args_init,
    tw_gemm_desc: tw_gemm_desc_init,
    tw_gemm_args: tw_gemm_args_init,
    tw_gemm_candidate: tw_gemm_candidate_init,
    tw_gemm_tune_desc: tw_gemm_tune_desc_init,
    tw_grouped_desc: tw_grouped_desc_init,
    tw_grouped_args: tw_grouped_args_init,
    tw_quantize_desc: tw_quantize_desc_init,
    tw_quantize_args: tw_quantize_args_init,
    tw_embedded_kernel: tw_embedded_kernel_init,
}

/// Every struct's size, alignment and offsets are the C compiler's.
#[cfg(test)]
mod layouts {
    use std::mem::{align_of, size_of, MaybeUninit};
    use std::ptr::addr_of;

    macro_rules! layout {
        ($name:ident, $size:expr, $align:expr, $($field:ident: $offset:expr),*) => {
            #[test]
            fn $name() {
                assert_eq!(size_of::<super::$name>(), $size);
                assert_eq!(align_of::<super::$name>(), $align);
                let value = MaybeUninit::<super::$name>::uninit();
                let start = value.as_ptr();
                $(assert_eq!(
                    unsafe { addr_of!((*start).$field) } as usize - start as usize,
                    $offset,
                    stringify!($field)
                );)*
            }
        };
    }

    layout!(
        tw_error_info, 56, 8, struct_size: 0, struct_mark: 4, status: 8, driver_result: 12,
        index: 16, reserved: 20, argument: 24, rule: 32, got: 40, limit: 48
    );

    layout!(
        tw_device_info, 184, 8, struct_size: 0, struct_mark: 4, kind: 8, ordinal: 12,
        compute_major: 16, compute_minor: 20, driver_version: 24, sm_count: 28,
        max_dynamic_smem_bytes: 32, features: 36, total_memory_bytes: 40, l2_bytes: 48, name: 56
    );

    layout!(
        tw_tensor, 168, 8, struct_size: 0, struct_mark: 4, dtype: 8, device_kind: 12, ordinal:
        16, rank: 20, flags: 24, reserved: 28, address: 32, shape: 40, stride: 104
    );

    layout!(
        tw_tensor_map_desc, 200, 8, struct_size: 0, struct_mark: 4, dtype: 8, rank: 12,
        interleave: 16, swizzle: 20, l2_promotion: 24, oob_fill: 28, kind: 32, wide_mode: 36,
        global_address: 40, global_dim: 48, global_stride_bytes: 88, box_dim: 128,
        element_strides: 148, channels_per_pixel: 168, pixels_per_column: 172, lower_corner:
        176, upper_corner: 188
    );

    layout!(
        tw_rule_violation, 520, 8, struct_size: 0, struct_mark: 4, index: 8, reserved: 12, rule:
        16, argument: 24, got: 32, limit: 40, message: 48
    );

    layout!(
        tw_tile_desc, 240, 8, struct_size: 0, struct_mark: 4, dtype: 8, rank: 12, swizzle: 16,
        l2_promotion: 20, oob_fill: 24, multicast: 28, free_start: 32, reserved: 36,
        global_address: 40, shape: 48, stride: 112, tile: 176
    );

    layout!(
        tw_kernel_info, 36, 4, struct_size: 0, struct_mark: 4, registers: 8, static_smem_bytes:
        12, local_bytes: 16, max_threads: 20, binary_version: 24, param_count: 28, param_bytes:
        32
    );

    layout!(
        tw_launch_desc, 52, 4, struct_size: 0, struct_mark: 4, flags: 8, grid: 12, block: 24,
        cluster: 36, dynamic_smem_bytes: 48
    );

    layout!(
        tw_plan_info, 136, 8, struct_size: 0, struct_mark: 4, op: 8, reserved: 12, kernel: 16,
        grid: 24, block: 36, cluster: 48, tile: 60, stages: 72, dynamic_smem_bytes: 76,
        boxes_loaded: 80, boxes_stored: 88, boxes_prefetched: 96, bytes_read: 104,
        bytes_written: 112, flops: 120, workspace_bytes: 128
    );

    layout!(
        tw_copy_desc, 368, 8, struct_size: 0, struct_mark: 4, dtype: 8, rank: 12, src_alignment:
        16, dst_alignment: 20, max_sms: 24, flags: 28, src_cache: 32, dst_cache: 36, fill: 40,
        reserved: 44, shape: 48, src_stride: 112, dst_stride: 176, src_shape: 240, src_start:
        304
    );

    layout!(
        tw_copy_args, 24, 8, struct_size: 0, struct_mark: 4, src: 8, dst: 16
    );

    layout!(
        tw_copies_desc, 232, 8, struct_size: 0, struct_mark: 4, dtype: 8, rank: 12,
        src_alignment: 16, dst_alignment: 20, max_sms: 24, reserved: 28, shape: 32, src_stride:
        96, dst_stride: 160, count: 224
    );

    layout!(
        tw_copies_args, 40, 8, struct_size: 0, struct_mark: 4, src: 8, dst: 16, count: 24,
        invalid_count: 32
    );

    layout!(
        tw_prefetch_desc, 192, 8, struct_size: 0, struct_mark: 4, dtype: 8, rank: 12, alignment:
        16, max_sms: 20, cache: 24, reserved: 28, rows: 32, columns: 40, pitch: 48, budget: 56,
        shape: 64, stride: 128
    );

    layout!(
        tw_prefetch_args, 16, 8, struct_size: 0, struct_mark: 4, src: 8
    );

    layout!(
        tw_rows_desc, 104, 8, struct_size: 0, struct_mark: 4, dtype: 8, index_dtype: 12,
        packed_dtype: 16, reduction: 20, table_alignment: 24, packed_alignment: 28, max_sms: 32,
        flags: 36, table_rows: 40, table_columns: 48, table_pitch: 56, column: 64, columns: 72,
        count: 80, packed_pitch: 88, group: 96
    );

    layout!(
        tw_rows_args, 80, 8, struct_size: 0, struct_mark: 4, table: 8, index: 16, packed: 24,
        count: 32, weights: 40, device_count: 48, invalid_count: 56, workspace: 64,
        workspace_bytes: 72
    );

    layout!(
        tw_ragged_desc, 104, 8, struct_size: 0, struct_mark: 4, dtype: 8, offset_dtype: 12,
        direction: 16, packed_alignment: 20, padded_alignment: 24, max_sms: 28, fill: 32,
        reserved: 36, batch: 40, tokens: 48, rows: 56, columns: 64, packed_columns: 72,
        packed_pitch: 80, padded_pitch: 88, padded_batch_pitch: 96
    );

    layout!(
        tw_ragged_args, 72, 8, struct_size: 0, struct_mark: 4, packed: 8, offsets: 16, padded:
        24, batch: 32, tokens: 40, row: 48, column: 56, invalid_count: 64
    );

    layout!(
        tw_route_desc, 96, 8, struct_size: 0, struct_mark: 4, dtype: 8, id_dtype: 12,
        offset_dtype: 16, score: 20, group_score: 24, flags: 28, scale: 32, max_sms: 36, tokens:
        40, experts: 48, top_k: 56, local_experts: 64, groups: 72, top_groups: 80, logits_pitch:
        88
    );

    layout!(
        tw_route_args, 136, 8, struct_size: 0, struct_mark: 4, tokens: 8, logits: 16, bias: 24,
        given_ids: 32, given_weights: 40, expert_map: 48, ids: 56, weights: 64, counts: 72,
        offsets: 80, order: 88, order_tokens: 96, inverse: 104, invalid_count: 112, workspace:
        120, workspace_bytes: 128
    );

    layout!(
        tw_elementwise_desc, 320, 8, struct_size: 0, struct_mark: 4, a_dtype: 8, b_dtype: 12,
        dst_dtype: 16, rank: 20, a_alignment: 24, b_alignment: 28, dst_alignment: 32, reduction:
        36, flags: 40, max_sms: 44, src_cache: 48, dst_cache: 52, combine: 56, activation: 60,
        shape: 64, a_stride: 128, b_stride: 192, dst_stride: 256
    );

    layout!(
        tw_elementwise_args, 56, 8, struct_size: 0, struct_mark: 4, alpha: 8, beta: 12, a: 16,
        b: 24, dst: 32, device_alpha: 40, device_beta: 48
    );

    layout!(
        tw_gemm_desc, 264, 8, struct_size: 0, struct_mark: 4, a_dtype: 8, b_dtype: 12, c_dtype:
        16, d_dtype: 20, accumulator_dtype: 24, bias_dtype: 28, a_order: 32, b_order: 36,
        d_order: 40, flags: 44, a_alignment: 48, b_alignment: 52, c_alignment: 56, d_alignment:
        60, max_sms: 64, bias: 68, activation: 72, gate: 76, d_factor: 80, a_scale: 84, b_scale:
        88, a_scale_order: 92, b_scale_order: 96, reserved: 100, m: 104, n: 112, k: 120, min_m:
        128, lda: 136, ldb: 144, ldc: 152, ldd: 160, batch_count: 168, a_batch_stride: 176,
        b_batch_stride: 184, c_batch_stride: 192, d_batch_stride: 200, a_scale_ld: 208,
        b_scale_ld: 216, a_scale_batch_stride: 224, b_scale_batch_stride: 232, d_quantize: 240,
        d_block_scale_order: 244, d_block_scale_ld: 248, d_block_scale_batch_stride: 256
    );

    layout!(
        tw_gemm_args, 160, 8, struct_size: 0, struct_mark: 4, alpha: 8, beta: 12,
        d_factor_value: 16, reserved: 20, a: 24, b: 32, c: 40, d: 48, m: 56, workspace: 64,
        workspace_bytes: 72, device_m: 80, device_alpha: 88, device_beta: 96, invalid_count:
        104, bias: 112, d_factor: 120, amax: 128, a_scale: 136, b_scale: 144, d_block_scale: 152
    );

    layout!(
        tw_gemm_candidate, 160, 8, struct_size: 0, struct_mark: 4, split: 8, reserved: 12,
        kernel: 16, m_first: 24, m_last: 32, microseconds: 40, waves: 48, text: 56
    );

    layout!(
        tw_gemm_tune_desc, 40, 8, struct_size: 0, struct_mark: 4, candidates: 8, rounds: 12,
        scratch_d: 16, flush: 24, flush_bytes: 32
    );

    layout!(
        tw_grouped_desc, 280, 8, struct_size: 0, struct_mark: 4, a_dtype: 8, d_dtype: 12,
        bias_dtype: 16, index_dtype: 20, row_index_dtype: 24, b_order: 28, grouping: 32,
        combine: 36, activation: 40, gate: 44, gate_limit: 48, gate_offset: 52, gate_slope: 56,
        flags: 60, a_alignment: 64, b_alignment: 68, d_alignment: 72, max_sms: 76, m: 80, n: 88,
        k: 96, group_count: 104, weight_count: 112, lda: 120, ldb: 128, ldd: 136, b_stride: 144,
        d_stride: 152, bias_stride: 160, group_rows: 168, row_alignment: 176, a_count: 184,
        d_count: 192, a_divisor: 200, d_divisor: 208, expected_rows: 216, b_dtype: 224, a_scale:
        228, b_scale: 232, a_scale_order: 236, b_scale_order: 240, reserved: 244, a_scale_ld:
        248, b_scale_ld: 256, a_scale_stride: 264, b_scale_stride: 272
    );

    layout!(
        tw_grouped_args, 176, 8, struct_size: 0, struct_mark: 4, alpha: 8, beta: 12, m: 16, k:
        24, a_count: 32, d_count: 40, a: 48, b: 56, d: 64, bias: 72, groups: 80, group_map: 88,
        group_alpha: 96, a_rows: 104, d_rows: 112, row_weights: 120, inverse: 128,
        invalid_count: 136, workspace: 144, workspace_bytes: 152, a_scale: 160, b_scale: 168
    );

    layout!(
        tw_quantize_desc, 80, 8, struct_size: 0, struct_mark: 4, src_dtype: 8, dst_dtype: 12,
        scale: 16, scale_order: 20, flags: 24, max_sms: 28, src_cache: 32, dst_cache: 36, rows:
        40, columns: 48, src_pitch: 56, dst_pitch: 64, scale_ld: 72
    );

    layout!(
        tw_quantize_args, 64, 8, struct_size: 0, struct_mark: 4, rows: 8, src: 16, dst: 24,
        scale: 32, amax: 40, workspace: 48, workspace_bytes: 56
    );

    layout!(
        tw_embedded_kernel, 88, 8, struct_size: 0, struct_mark: 4, op: 8, feature: 12, name: 16,
        target: 24, threads: 32, tile: 36, stages: 48, cluster: 52, dtypes: 60, driver_version:
        68, packed_bytes: 72, image_bytes: 80
    );
}
