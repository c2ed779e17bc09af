// SPDX-License-Identifier: Apache-2.0
use crate::error::{check, created, Error};
use crate::{initialised, resized, sys, text, written, Result};
use std::ffi::CString;
use std::mem::size_of_val;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Defines a type that owns one handle and destroys it.
macro_rules! owner {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* }, $raw:ident, $destroy:ident) => {
        $(#[$doc])*
        pub struct $name {
            pub(crate) handle: *mut sys::$raw,
            $(pub(crate) $field: $type,)*
        }
        // "any thread": see the crate's documentation.
        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}
        impl Drop for $name {
            fn drop(&mut self) {
                unsafe { sys::$destroy(self.handle) }
            }
        }
        impl $name {
            /// The handle, still owned by this value, for calls of [`sys`].
            pub fn as_raw(&self) -> *mut sys::$raw {
                self.handle
            }
        }
    };
}
owner!(Opened {}, tw_device, tw_device_destroy);

/// A GPU or the CPU reference. Clones refer to the same device.
#[derive(Clone)]
pub struct Device(pub(crate) Arc<Opened>);

impl Device {
    /// The CPU reference.
    pub fn host() -> Result<Device> {
        Device::open(sys::TW_DEVICE_HOST, 0)
    }

    /// A GPU by its ordinal, on its primary context.
    pub fn cuda(ordinal: i32) -> Result<Device> {
        Device::open(sys::TW_DEVICE_CUDA, ordinal)
    }

    pub fn open(kind: sys::tw_device_kind, ordinal: i32) -> Result<Device> {
        let handle = created(|out| unsafe { sys::tw_device_create(kind, ordinal, out) })?;
        Ok(Device(Arc::new(Opened { handle })))
    }

    /// A GPU on the caller's own context.
    ///
    /// # Safety
    /// The context must be live, and outlive the device and everything created from it.
    pub unsafe fn from_context(context: *mut sys::CUctx_st) -> Result<Device> {
        let handle = created(|out| sys::tw_device_create_from_context(context, out))?;
        Ok(Device(Arc::new(Opened { handle })))
    }

    pub fn as_raw(&self) -> *mut sys::tw_device {
        self.0.as_raw()
    }

    pub fn info(&self) -> Result<sys::tw_device_info> {
        let mut info = initialised();
        check(unsafe { sys::tw_device_get_info(self.as_raw(), &mut info) })?;
        Ok(info)
    }

    pub fn name(&self) -> Result<String> {
        Ok(text(self.info()?.name.as_ptr()))
    }
}

/// Element types that memory can be copied to: no padding, and every bit pattern is a valid value.
///
/// # Safety
/// Only such types may implement this trait.
pub unsafe trait Element: Copy {}
macro_rules! elements { ($($type:ty),*) => {$(unsafe impl Element for $type {})*}; }
elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// Device memory that the library allocated.
pub struct Memory {
    device: Device,
    address: u64,
    bytes: usize,
}

impl Memory {
    pub fn new(device: &Device, bytes: usize) -> Result<Memory> {
        let mut address = 0;
        check(unsafe { sys::tw_malloc(device.as_raw(), bytes as u64, &mut address) })?;
        let device = device.clone();
        Ok(Memory { device, address, bytes })
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        unsafe { sys::tw_free(self.device.as_raw(), self.address) };
    }
}

/// Memory of another owner, registered for a device's operands while this value lives. The host
/// device accepts operands only in registered memory and in [`Memory`]; a CUDA device accepts any.
pub struct RegisteredMemory {
    device: Device,
    address: u64,
}

impl RegisteredMemory {
    /// Registers memory, which its owner may free after this value is dropped and the runs that use
    /// it are done.
    pub fn new(device: &Device, address: u64, bytes: u64) -> Result<RegisteredMemory> {
        check(unsafe { sys::tw_memory_register(device.as_raw(), address, bytes) })?;
        let device = device.clone();
        Ok(RegisteredMemory { device, address })
    }
}

impl Drop for RegisteredMemory {
    fn drop(&mut self) {
        unsafe { sys::tw_memory_unregister(self.device.as_raw(), self.address) };
    }
}

owner!(
    /// A queue of work.
    Stream { device: Device, copying: Mutex<()> }, tw_stream, tw_stream_destroy
);

impl Stream {
    pub fn new(device: &Device) -> Result<Stream> {
        let handle = created(|out| unsafe { sys::tw_stream_create(device.as_raw(), out) })?;
        let device = device.clone();
        Ok(Stream { handle, device, copying: Mutex::new(()) })
    }

    /// Wraps the caller's own stream.
    ///
    /// # Safety
    /// The stream must be live, belong to the device's context, and outlive this value. No capture
    /// of it may begin while `upload` or `download` runs; a `wait` by another `Stream` of the same
    /// CUDA stream can begin one.
    pub unsafe fn from_raw(device: &Device, stream: *mut sys::CUstream_st) -> Result<Stream> {
        let handle = created(|out| sys::tw_stream_create_from(device.as_raw(), stream, out))?;
        let device = device.clone();
        Ok(Stream { handle, device, copying: Mutex::new(()) })
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A lock for copies that borrow host memory, and for `wait`: waiting for an event of a
    /// capturing stream adds this stream to the capture, and a following copy would become part of
    /// the graph.
    fn alone(&self) -> MutexGuard<'_, ()> {
        self.copying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks before a copy that borrows host memory: the memory must belong to the stream's
    /// device, and the stream must not be capturing, because a graph would copy after the borrow
    /// ended.
    fn ready_to_copy(&self, memory: &Memory, argument: &str) -> Result<()> {
        if !Arc::ptr_eq(&self.device.0, &memory.device.0) {
            let message = format!("{argument} was allocated on another Device than the stream's");
            return Err(Error::refused(sys::TW_ERROR_WRONG_DEVICE, argument, message));
        }
        self.synchronize()
    }

    /// Copies to the start of `dst`, after the stream's earlier work, and waits, so that the
    /// borrows may end. Memory of another device is an error, and so is a capturing stream.
    ///
    /// # Panics
    /// If `src` is larger than `dst`.
    pub fn upload<T: Element>(&self, dst: &mut Memory, src: &[T]) -> Result<()> {
        assert!(size_of_val(src) <= dst.bytes, "larger than the memory");
        let _alone = self.alone();
        self.ready_to_copy(dst, "dst")?;
        let bytes = size_of_val(src) as u64;
        check(unsafe {
            sys::tw_memcpy_to_device(self.handle, dst.address, src.as_ptr().cast(), bytes)
        })?;
        self.synchronize()
    }

    /// Waits for the stream's work, and copies from the start of `src`. Errors as of `upload`.
    ///
    /// # Panics
    /// If `dst` is larger than `src`.
    pub fn download<T: Element>(&self, dst: &mut [T], src: &Memory) -> Result<()> {
        assert!(size_of_val(dst) <= src.bytes, "larger than the memory");
        let _alone = self.alone();
        self.ready_to_copy(src, "src")?;
        let bytes = size_of_val(dst) as u64;
        check(unsafe {
            sys::tw_memcpy_to_host(self.handle, dst.as_mut_ptr().cast(), src.address, bytes)
        })?;
        self.synchronize()
    }

    pub fn synchronize(&self) -> Result<()> {
        check(unsafe { sys::tw_stream_synchronize(self.handle) })
    }

    /// Makes later work wait for the event. Waits for an `upload` or `download` of another thread.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let _alone = self.alone();
        check(unsafe { sys::tw_stream_wait_event(self.handle, event.handle) })
    }
}

owner!(
    /// A point in a stream's work.
    Event { _device: Device }, tw_event, tw_event_destroy
);

impl Event {
    pub fn new(device: &Device) -> Result<Event> {
        let handle = created(|out| unsafe { sys::tw_event_create(device.as_raw(), out) })?;
        Ok(Event { handle, _device: device.clone() })
    }

    pub fn record(&self, stream: &Stream) -> Result<()> {
        check(unsafe { sys::tw_event_record(self.handle, stream.handle) })
    }

    pub fn synchronize(&self) -> Result<()> {
        check(unsafe { sys::tw_event_synchronize(self.handle) })
    }
}

owner!(
    /// A layout of CuTe's algebra. It belongs to no device.
    Layout {}, tw_layout, tw_layout_destroy
);

impl Layout {
    pub fn parse(text: &str) -> Result<Layout> {
        let text = CString::new(text).map_err(|zero| {
            let at = zero.nul_position();
            Error::refused(sys::TW_ERROR_PARSE, "text", format!("the text has a zero at byte {at}"))
        })?;
        let handle = created(|out| unsafe { sys::tw_layout_parse(text.as_ptr(), out) })?;
        Ok(Layout { handle })
    }

    pub fn format(&self) -> Result<String> {
        written(|buffer, capacity, length| unsafe {
            sys::tw_layout_format(self.handle, buffer, capacity, length)
        })
    }
}

owner!(
    /// A TMA descriptor.
    TensorMap { _device: Device }, tw_tensor_map, tw_tensor_map_destroy
);

impl TensorMap {
    pub fn new(device: &Device, desc: &sys::tw_tensor_map_desc) -> Result<TensorMap> {
        let desc = resized(*desc);
        let handle =
            created(|out| unsafe { sys::tw_tensor_map_create(device.as_raw(), &desc, out) })?;
        Ok(TensorMap { handle, _device: device.clone() })
    }

    /// Points it at another address. Nothing else may use the map meanwhile.
    pub fn rebind(&mut self, address: u64) -> Result<()> {
        check(unsafe { sys::tw_tensor_map_rebind(self.handle, address) })
    }

    /// The descriptor's 128 bytes.
    pub fn bytes(&self) -> Result<[u8; 128]> {
        let mut bytes = [0; 128];
        check(unsafe { sys::tw_tensor_map_bytes(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}
