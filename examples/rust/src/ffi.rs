// SPDX-License-Identifier: Apache-2.0
//! tilewright.h by hand: what this program needs of it. The asserts at the end are compiled: a field
//! left out or of the wrong width does not build.
#![allow(non_camel_case_types)]

use std::mem::size_of;
use std::os::raw::{c_char, c_float, c_void};

pub type tw_status = i32;
pub const TW_OK: tw_status = 0;
pub const TW_ERROR_NO_DRIVER: tw_status = 1;
pub const TW_ERROR_DRIVER_TOO_OLD: tw_status = 2;
pub const TW_ERROR_NO_DEVICE: tw_status = 3;
pub const TW_ERROR_UNSUPPORTED_DEVICE: tw_status = 4;
pub const TW_ERROR_NOT_BUILT: tw_status = 6;

pub type tw_device_kind = i32;
pub const TW_DEVICE_HOST: tw_device_kind = 1;
pub const TW_DEVICE_CUDA: tw_device_kind = 2;

pub type tw_dtype = i32;
pub const TW_DTYPE_BF16: tw_dtype = 21;
pub const TW_DTYPE_F32: tw_dtype = 22;

/// A type of which only pointers exist, neither Send nor Sync by itself.
macro_rules! opaque {
    ($($name:ident),*) => {$(
        #[repr(C)]
        pub struct $name {
            _data: [u8; 0],
            _marker: std::marker::PhantomData<(*mut u8, std::marker::PhantomPinned)>,
        }
    )*};
}
opaque!(tw_device, tw_stream, tw_plan);

#[repr(C)]
pub struct tw_device_info {
    pub struct_size: u32,
    pub kind: tw_device_kind,
    pub ordinal: i32,
    pub compute_major: i32,
    pub compute_minor: i32,
    pub driver_version: i32,
    pub sm_count: i32,
    pub max_dynamic_smem_bytes: i32,
    pub total_memory_bytes: u64,
    pub l2_bytes: u64,
    pub features: u32,
    pub name: [c_char; 108],
}

#[repr(C)]
pub struct tw_plan_info {
    pub struct_size: u32,
    pub op: i32,
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
pub struct tw_copy_desc {
    pub struct_size: u32,
    pub dtype: tw_dtype,
    pub rank: i32,
    pub src_alignment: u32,
    pub dst_alignment: u32,
    pub max_sms: u32,
    pub shape: [i64; 8],
    pub src_stride: [i64; 8],
    pub dst_stride: [i64; 8],
}

#[repr(C)]
pub struct tw_copy_args {
    pub struct_size: u32,
    pub reserved: u32,
    pub src: u64,
    pub dst: u64,
}

#[repr(C)]
pub struct tw_gemm_desc {
    pub struct_size: u32,
    pub ab_dtype: tw_dtype,
    pub d_dtype: tw_dtype,
    pub a_order: i32,
    pub b_order: i32,
    pub d_order: i32,
    pub m: i64,
    pub n: i64,
    pub k: i64,
    pub lda: i64,
    pub ldb: i64,
    pub ldc: i64,
    pub ldd: i64,
    pub a_alignment: u32,
    pub b_alignment: u32,
    pub c_alignment: u32,
    pub d_alignment: u32,
    pub max_sms: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct tw_gemm_args {
    pub struct_size: u32,
    pub alpha: c_float,
    pub beta: c_float,
    pub reserved: u32,
    pub a: u64,
    pub b: u64,
    pub c: u64,
    pub d: u64,
    pub m: i64,
}

extern "C" {
    pub fn tw_version_string() -> *const c_char;
    pub fn tw_status_name(status: tw_status) -> *const c_char;
    pub fn tw_last_error() -> *const c_char;

    pub fn tw_device_create(
        kind: tw_device_kind,
        ordinal: i32,
        device: *mut *mut tw_device,
    ) -> tw_status;
    pub fn tw_device_destroy(device: *mut tw_device);
    pub fn tw_device_get_info(device: *mut tw_device, info: *mut tw_device_info) -> tw_status;

    pub fn tw_malloc(device: *mut tw_device, bytes: u64, address: *mut u64) -> tw_status;
    pub fn tw_free(device: *mut tw_device, address: u64) -> tw_status;
    pub fn tw_stream_create(device: *mut tw_device, stream: *mut *mut tw_stream) -> tw_status;
    pub fn tw_stream_destroy(stream: *mut tw_stream);
    pub fn tw_stream_synchronize(stream: *mut tw_stream) -> tw_status;
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

    pub fn tw_copy_desc_init(desc: *mut tw_copy_desc) -> tw_status;
    pub fn tw_copy_args_init(args: *mut tw_copy_args) -> tw_status;
    pub fn tw_gemm_desc_init(desc: *mut tw_gemm_desc) -> tw_status;
    pub fn tw_gemm_args_init(args: *mut tw_gemm_args) -> tw_status;
    pub fn tw_copy_plan(
        device: *mut tw_device,
        desc: *const tw_copy_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_copy_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_copy_args,
    ) -> tw_status;
    pub fn tw_gemm_plan(
        device: *mut tw_device,
        desc: *const tw_gemm_desc,
        plan: *mut *mut tw_plan,
    ) -> tw_status;
    pub fn tw_gemm_run(
        plan: *mut tw_plan,
        stream: *mut tw_stream,
        args: *const tw_gemm_args,
    ) -> tw_status;
    pub fn tw_plan_get_info(plan: *const tw_plan, info: *mut tw_plan_info) -> tw_status;
    pub fn tw_plan_destroy(plan: *mut tw_plan);
}

// The sizes that a C compiler gives the same structs on a 64-bit machine.
const _: () = assert!(size_of::<tw_device_info>() == 160);
const _: () = assert!(size_of::<tw_plan_info>() == 128);
const _: () = assert!(size_of::<tw_copy_desc>() == 216);
const _: () = assert!(size_of::<tw_copy_args>() == 24);
const _: () = assert!(size_of::<tw_gemm_desc>() == 104);
const _: () = assert!(size_of::<tw_gemm_args>() == 56);
