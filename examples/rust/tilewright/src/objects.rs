// SPDX-License-Identifier: Apache-2.0
use crate::error::{check, created, Error};
use crate::{initialised, resized, sys, text, written, Result};
use std::ffi::CString;
use std::mem::size_of_val;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A type that owns one handle and destroys it.
macro_rules! owner {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* }, $raw:ident, $destroy:ident) => {
        $(#[$doc])*
        pub struct $name {
            pub(crate) handle: *mut sys::$raw,
            $(pub(crate) $field: $type,)*
        }
        // "any thread": see the crate's beginning.
        unsafe impl Send for $name {}
        unsafe impl Sync for $name {}
        impl Drop for $name {
            fn drop(&mut self) {
                unsafe { sys::$destroy(self.handle) }
            }
        }
        impl $name {
            /// The handle, still owned here, for calls of [`sys`].
            pub fn as_raw(&self) -> *mut sys::$raw {
                self.handle
            }
        }
    };
}
owner!(Opened {}, tw_device, tw_device_destroy);

/// A GPU, or the CPU reference. Clones are the same device.
#[derive(Clone)]
pub struct Device(pub(crate) Arc<Opened>);

impl Device {
    /// The CPU reference.
    pub fn host() -> Result<Device> {
        Device::open(sys::TW_DEVICE_HOST, 0)
    }

    /// A GPU by number, on its primary context.
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
    /// The context must be live, and outlive the device and all that is made of it.
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

/// Numbers without padding and with every bit pattern a value: what memory can be copied to.
///
/// # Safety
/// Only such types may implement it.
pub unsafe trait Element: Copy {}
macro_rules! elements { ($($type:ty),*) => {$(unsafe impl Element for $type {})*}; }
elements!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

/// Device memory of the library's own.
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

/// Memory that the library did not give, in which operands of a device may lie while this lives. The
/// host device takes operands in such memory and in [`Memory`] alone; a CUDA device takes any.
pub struct RegisteredMemory {
    device: Device,
    address: u64,
}

impl RegisteredMemory {
    /// The memory stays its owner's. It may be given back once this is dropped and the runs that use
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
    /// The stream must be live, of the device's context, and outlive this. No capture of it may begin
    /// while `upload` or `download` runs, which a `wait` of another `Stream` of it can do too.
    pub unsafe fn from_raw(device: &Device, stream: *mut sys::CUstream_st) -> Result<Stream> {
        let handle = created(|out| sys::tw_stream_create_from(device.as_raw(), stream, out))?;
        let device = device.clone();
        Ok(Stream { handle, device, copying: Mutex::new(()) })
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Held by copies that borrow host memory, and by `wait`: an event of a captured stream would
    /// make this one part of the capture, and a copy that follows part of its graph.
    fn alone(&self) -> MutexGuard<'_, ()> {
        self.copying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before a copy that borrows host memory: the memory must be of the stream's device, and the
    /// stream must not be captured, since a graph's copy would come after the borrow.
    fn ready_to_copy(&self, memory: &Memory, argument: &str) -> Result<()> {
        if !Arc::ptr_eq(&self.device.0, &memory.device.0) {
            let message = format!("{argument} was allocated on another Device than the stream is of");
            return Err(Error::refused(sys::TW_ERROR_WRONG_DEVICE, argument, message));
        }
        self.synchronize()
    }

    /// Copies to the beginning of `dst`, after the stream's earlier work, and waits, so that the
    /// borrows may end. Memory of another device and a stream that is being captured are errors.
    ///
    /// # Panics
    /// When `src` is larger than `dst`.
    pub fn upload<T: Element>(&self, dst: &mut Memory, src: &[T]) -> Result<()> {
        assert!(size_of_val(src) <= dst.bytes, "more than the memory holds");
        let _alone = self.alone();
        self.ready_to_copy(dst, "dst")?;
        let bytes = size_of_val(src) as u64;
        check(unsafe {
            sys::tw_memcpy_to_device(self.handle, dst.address, src.as_ptr().cast(), bytes)
        })?;
        self.synchronize()
    }

    /// Waits for the stream's work, and copies from the beginning of `src`. Errors as of `upload`.
    ///
    /// # Panics
    /// When `dst` is larger than `src`.
    pub fn download<T: Element>(&self, dst: &mut [T], src: &Memory) -> Result<()> {
        assert!(size_of_val(dst) <= src.bytes, "more than the memory holds");
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

    /// Makes later work wait for the event. Returns at once, but for an `upload` or `download` that
    /// another thread is in.
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
    /// A layout of CuTe's algebra; belongs to no device.
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
    /// A descriptor that the TMA reads.
    TensorMap { _device: Device }, tw_tensor_map, tw_tensor_map_destroy
);

impl TensorMap {
    pub fn new(device: &Device, desc: &sys::tw_tensor_map_desc) -> Result<TensorMap> {
        let desc = resized(*desc);
        let handle =
            created(|out| unsafe { sys::tw_tensor_map_create(device.as_raw(), &desc, out) })?;
        Ok(TensorMap { handle, _device: device.clone() })
    }

    /// Points it at another address; nobody else may be using it meanwhile.
    pub fn rebind(&mut self, address: u64) -> Result<()> {
        check(unsafe { sys::tw_tensor_map_rebind(self.handle, address) })
    }

    /// The 128 bytes.
    pub fn bytes(&self) -> Result<[u8; 128]> {
        let mut bytes = [0; 128];
        check(unsafe { sys::tw_tensor_map_bytes(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}
