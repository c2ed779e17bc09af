// SPDX-License-Identifier: Apache-2.0
//! tilewright, safely: owners that free by `Drop`, failures as `Result`, and threads as the library
//! documents them.
//!
//! - Every object keeps its [`Device`] open: the device closes when the last of them is gone.
//! - All types are `Send` and `Sync`, because the library lets any thread call any function on any
//!   handle; what it wants for itself alone (destroying, and changing a tensor map) takes `&mut
//!   self` or ownership here. So does writing to a [`Memory`].
//! - An [`Error`] is read on the thread that made the failing call, before anything else is called.
//! - Dropping a plan, a map or a stream whose work is still in flight is safe. Memory is not: what a
//!   run reads and writes must live until the run is done, which is why `run` is `unsafe`.
//!
//! The structs of the C API are used as they are: [`copy_desc`], [`gemm_args`] and the like return
//! them with their defaults; what stands in `struct_size` is not heeded. Whatever is missing here is
//! in [`sys`], with `as_raw()`.

pub use tilewright_sys as sys;

mod dlpack;
mod error;
mod objects;
mod plans;
mod precompiled;

pub use dlpack::{register_tensor, tensor, tensor_from_dlpack, BorrowedTensor, DlpackTensor};
pub use error::{Error, Result};
pub use objects::{Device, Element, Event, Layout, Memory, RegisteredMemory, Stream, TensorMap};
pub use plans::{op, Operation, Plan};
pub use precompiled::{precompiled, Precompiled};

use std::ffi::CStr;
use std::mem::{size_of, MaybeUninit};
use std::os::raw::c_char;

/// A zero-terminated string of the library's.
fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

/// The library's version, "0.1.0".
pub fn version() -> String {
    text(unsafe { sys::tw_version_string() })
}

/// A struct from one of the library's `_init` functions.
fn initialised<T: Copy>(init: unsafe extern "C" fn(*mut T) -> sys::tw_status) -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    // Integers and floats alone: all zeros is a value, and init() fails for NULL only.
    unsafe {
        init(value.as_mut_ptr());
        value.assume_init()
    }
}

/// A struct that a call fills, its `struct_size` set.
///
/// # Safety
/// `T` must be a struct of the C API that begins with `struct_size` and for which zeros are a value.
unsafe fn sized<T: Copy>() -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    value.as_mut_ptr().cast::<u32>().write(size_of::<T>() as u32);
    value.assume_init()
}

/// A struct for C to read, which reads as many bytes as it says that it has: not the caller's word.
///
/// # Safety
/// `T` must be a struct of the C API that begins with `struct_size`.
unsafe fn resized<T: Copy>(mut value: T) -> T {
    (&mut value as *mut T).cast::<u32>().write(size_of::<T>() as u32);
    value
}

/// A text that a call writes: first its length is asked for.
fn written(
    call: impl Fn(*mut c_char, usize, *mut usize) -> sys::tw_status,
) -> Result<String> {
    let mut length = 0;
    error::check(call(std::ptr::null_mut(), 0, &mut length))?;
    let mut buffer = vec![0u8; length];
    error::check(call(buffer.as_mut_ptr().cast(), length, &mut length))?;
    buffer.truncate(length - 1);
    Ok(String::from_utf8_lossy(&buffer).into_owned())
}

macro_rules! defaults {
    ($($name:ident: $type:ident = $init:ident;)*) => {$(
        #[doc = concat!("`", stringify!($type), "` with its defaults.")]
        pub fn $name() -> sys::$type {
            initialised(sys::$init)
        }
    )*};
}
defaults! {
    copy_desc: tw_copy_desc = tw_copy_desc_init;
    copy_args: tw_copy_args = tw_copy_args_init;
    prefetch_desc: tw_prefetch_desc = tw_prefetch_desc_init;
    prefetch_args: tw_prefetch_args = tw_prefetch_args_init;
    rows_desc: tw_rows_desc = tw_rows_desc_init;
    rows_args: tw_rows_args = tw_rows_args_init;
    elementwise_desc: tw_elementwise_desc = tw_elementwise_desc_init;
    elementwise_args: tw_elementwise_args = tw_elementwise_args_init;
    copies_desc: tw_copies_desc = tw_copies_desc_init;
    copies_args: tw_copies_args = tw_copies_args_init;
    ragged_desc: tw_ragged_desc = tw_ragged_desc_init;
    ragged_args: tw_ragged_args = tw_ragged_args_init;
    gemm_desc: tw_gemm_desc = tw_gemm_desc_init;
    gemm_args: tw_gemm_args = tw_gemm_args_init;
    tensor_map_desc: tw_tensor_map_desc = tw_tensor_map_desc_init;
}
