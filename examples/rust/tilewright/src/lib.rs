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
//! them with their defaults, and sizes that must be set as `TW_UNSET`; what stands in `struct_size` is
//! not heeded, and a struct that did not come from such a function is refused. Whatever is missing here is
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

/// The library's version, "0.2.0".
pub fn version() -> String {
    text(unsafe { sys::tw_version_string() })
}

/// A struct with its defaults: what its own init function sets. Where that refuses, which is for a
/// library older than the first version of the struct, the call that takes the struct refuses too.
fn initialised<T: sys::Struct>() -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    // Zeros are a value of every such struct.
    unsafe {
        T::INIT(value.as_mut_ptr(), size_of::<T>());
        value.assume_init()
    }
}

/// A struct for C to read, which reads as many bytes as it says that it has: not the caller's word.
fn resized<T: sys::Struct>(mut value: T) -> T {
    // Every such struct begins with its size.
    unsafe { (&mut value as *mut T).cast::<u32>().write(size_of::<T>() as u32) };
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
    ($($name:ident: $type:ident;)*) => {$(
        #[doc = concat!("`", stringify!($type), "` with its defaults.")]
        pub fn $name() -> sys::$type {
            initialised()
        }
    )*};
}
defaults! {
    copy_desc: tw_copy_desc;
    copy_args: tw_copy_args;
    prefetch_desc: tw_prefetch_desc;
    prefetch_args: tw_prefetch_args;
    rows_desc: tw_rows_desc;
    rows_args: tw_rows_args;
    elementwise_desc: tw_elementwise_desc;
    elementwise_args: tw_elementwise_args;
    copies_desc: tw_copies_desc;
    copies_args: tw_copies_args;
    ragged_desc: tw_ragged_desc;
    ragged_args: tw_ragged_args;
    route_desc: tw_route_desc;
    route_args: tw_route_args;
    grouped_desc: tw_grouped_desc;
    grouped_args: tw_grouped_args;
    quantize_desc: tw_quantize_desc;
    quantize_args: tw_quantize_args;
    gemm_desc: tw_gemm_desc;
    gemm_args: tw_gemm_args;
    tensor_map_desc: tw_tensor_map_desc;
    tile_desc: tw_tile_desc;
}
