// SPDX-License-Identifier: Apache-2.0
//! A safe layer over tilewright: owners that release by `Drop`, failures as `Result`, and thread safety as
//! the library documents it.
//!
//! - Every object keeps its [`Device`] open: the device closes when the last of them is dropped.
//! - All types are `Send` and `Sync`, because the library allows any thread to call any function on any
//!   handle. What requires exclusive access (destroying, changing a tensor map, writing to a [`Memory`])
//!   takes `&mut self` or ownership here.
//! - An [`Error`] is read on the thread of the failing call, before any other call.
//! - A plan, a map or a stream may be dropped while its work is in flight. Memory may not: what a run
//!   reads and writes must live until the run is done, which is why `run` is `unsafe`.
//!
//! The structs of the C API are used directly. Functions such as [`copy_desc`] and [`gemm_args`] return them
//! with their defaults; sizes that must be set are `TW_UNSET`. A struct that does not come from such a
//! function is refused, and its `struct_size` is ignored. What this crate lacks is in [`sys`], with
//! `as_raw()`.

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

/// Copies a zero-terminated string of the library.
fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

/// The library's version, such as "0.2.0".
pub fn version() -> String {
    text(unsafe { sys::tw_version_string() })
}

/// A struct with the defaults of its init function. If that fails, because the library is older
/// than the struct's first version, the call that takes the struct fails, too.
fn initialised<T: sys::Struct>() -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    // All-zero bytes are a valid value of every such struct.
    unsafe {
        T::INIT(value.as_mut_ptr(), size_of::<T>());
        value.assume_init()
    }
}

/// A copy with the true struct_size: C reads that many bytes, and callers can change the field.
fn resized<T: sys::Struct>(mut value: T) -> T {
    // Every such struct begins with its size.
    unsafe { (&mut value as *mut T).cast::<u32>().write(size_of::<T>() as u32) };
    value
}

/// Fetches a text, after a first call that asks for its length.
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
