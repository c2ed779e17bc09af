// SPDX-License-Identifier: Apache-2.0
//! A safe layer over the few calls that the program makes: owners that free by Drop, errors that
//! carry the library's message. Objects borrow their device, so the compiler sees to the order of
//! destruction. A result is read on the thread that made the call, as tw_last_error() wants it: Rust
//! moves no function between threads while it runs.

use crate::ffi::*;
use std::ffi::CStr;
use std::fmt;
use std::mem::{size_of, size_of_val, MaybeUninit};
use std::os::raw::c_char;

pub struct Error {
    pub status: tw_status,
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = text(unsafe { tw_status_name(self.status) });
        write!(f, "{}: {}", name, self.message)
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// A zero-terminated string of the library's.
fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }
        .to_string_lossy()
        .into_owned()
}

fn check(status: tw_status) -> Result<()> {
    if status == TW_OK {
        return Ok(());
    }
    let message = text(unsafe { tw_last_error() });
    Err(Error { status, message })
}

/// A handle from a call that writes it to its last argument.
fn created<T>(call: impl FnOnce(*mut *mut T) -> tw_status) -> Result<*mut T> {
    let mut handle = std::ptr::null_mut();
    check(call(&mut handle))?;
    Ok(handle)
}

/// A struct from one of the library's `_init` functions.
fn initialised<T>(init: unsafe extern "C" fn(*mut T) -> tw_status) -> T {
    let mut value = MaybeUninit::<T>::zeroed();
    // Integers and floats alone: all zeros is a value, and init() fails for NULL only.
    unsafe {
        init(value.as_mut_ptr());
        value.assume_init()
    }
}

pub fn version() -> String {
    text(unsafe { tw_version_string() })
}

pub fn copy_desc() -> tw_copy_desc {
    initialised(tw_copy_desc_init)
}
pub fn copy_args() -> tw_copy_args {
    initialised(tw_copy_args_init)
}
pub fn gemm_desc() -> tw_gemm_desc {
    initialised(tw_gemm_desc_init)
}
pub fn gemm_args() -> tw_gemm_args {
    initialised(tw_gemm_args_init)
}

pub struct Device(*mut tw_device);

impl Device {
    pub fn open(kind: tw_device_kind) -> Result<Device> {
        created(|out| unsafe { tw_device_create(kind, 0, out) }).map(Device)
    }

    pub fn name(&self) -> Result<String> {
        let mut info: tw_device_info = unsafe { MaybeUninit::zeroed().assume_init() };
        info.struct_size = size_of::<tw_device_info>() as u32;
        check(unsafe { tw_device_get_info(self.0, &mut info) })?;
        Ok(text(info.name.as_ptr()))
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        unsafe { tw_device_destroy(self.0) }
    }
}

/// Device memory.
pub struct Memory<'d> {
    device: &'d Device,
    pub address: u64,
}

impl<'d> Memory<'d> {
    pub fn new(device: &'d Device, bytes: usize) -> Result<Memory<'d>> {
        let mut address = 0;
        check(unsafe { tw_malloc(device.0, bytes as u64, &mut address) })?;
        Ok(Memory { device, address })
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        unsafe { tw_free(self.device.0, self.address) };
    }
}

pub struct Stream<'d> {
    handle: *mut tw_stream,
    _device: &'d Device,
}

impl<'d> Stream<'d> {
    pub fn new(device: &'d Device) -> Result<Stream<'d>> {
        let handle = created(|out| unsafe { tw_stream_create(device.0, out) })?;
        Ok(Stream {
            handle,
            _device: device,
        })
    }

    /// Copies and waits, so that the borrow may end.
    pub fn upload(&self, dst: &Memory<'_>, src: &[u16]) -> Result<()> {
        let bytes = size_of_val(src) as u64;
        check(unsafe {
            tw_memcpy_to_device(self.handle, dst.address, src.as_ptr().cast(), bytes)
        })?;
        self.synchronize()
    }

    /// Waits for the stream's work and copies.
    pub fn download(&self, dst: &mut [f32], src: &Memory<'_>) -> Result<()> {
        let bytes = size_of_val(dst) as u64;
        let pointer = dst.as_mut_ptr().cast();
        check(unsafe { tw_memcpy_to_host(self.handle, pointer, src.address, bytes) })?;
        self.synchronize()
    }

    pub fn synchronize(&self) -> Result<()> {
        check(unsafe { tw_stream_synchronize(self.handle) })
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        unsafe { tw_stream_destroy(self.handle) }
    }
}

/// A plan of either operation; `Args` says of which.
pub struct Plan<'d, Args> {
    handle: *mut tw_plan,
    run: unsafe extern "C" fn(*mut tw_plan, *mut tw_stream, *const Args) -> tw_status,
    _device: &'d Device,
}

impl<'d> Plan<'d, tw_copy_args> {
    pub fn copy(device: &'d Device, desc: &tw_copy_desc) -> Result<Self> {
        let handle = created(|out| unsafe { tw_copy_plan(device.0, desc, out) })?;
        Ok(Plan {
            handle,
            run: tw_copy_run,
            _device: device,
        })
    }
}

impl<'d> Plan<'d, tw_gemm_args> {
    pub fn gemm(device: &'d Device, desc: &tw_gemm_desc) -> Result<Self> {
        let handle = created(|out| unsafe { tw_gemm_plan(device.0, desc, out) })?;
        Ok(Plan {
            handle,
            run: tw_gemm_run,
            _device: device,
        })
    }
}

impl<Args> Plan<'_, Args> {
    /// Enqueues a run.
    ///
    /// # Safety
    /// The addresses in `args` must be device memory that stays allocated until the run is done.
    pub unsafe fn run(&self, stream: &Stream<'_>, args: &Args) -> Result<()> {
        check((self.run)(self.handle, stream.handle, args))
    }

    pub fn kernel(&self) -> Result<String> {
        let mut info: tw_plan_info = unsafe { MaybeUninit::zeroed().assume_init() };
        info.struct_size = size_of::<tw_plan_info>() as u32;
        check(unsafe { tw_plan_get_info(self.handle, &mut info) })?;
        let [rows, columns, k] = info.tile;
        Ok(format!(
            "{}, tile {} x {} x {}",
            text(info.kernel),
            rows,
            columns,
            k
        ))
    }
}

impl<Args> Drop for Plan<'_, Args> {
    fn drop(&mut self) {
        unsafe { tw_plan_destroy(self.handle) }
    }
}
