// SPDX-License-Identifier: Apache-2.0
use crate::error::{check, Error};
use crate::{initialised, resized, sys, Device, RegisteredMemory, Result};
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The strides of a row-major tensor as in `tw_tensor_from_dlpack`: an extent of 0 counts as 1.
fn packed(shape: &[i64], stride: &mut [i64]) -> Result<()> {
    let mut inner = 1i64;
    for (i, &extent) in shape.iter().enumerate().rev() {
        stride[i] = inner;
        let refused = |status, why| {
            let message = format!("extent {} of dimension {} {}", extent, i, why);
            let error = Error::refused(status, "shape", message);
            Err(Error { index: i as i32, got: extent, ..error })
        };
        if extent < 0 {
            return refused(sys::TW_ERROR_INVALID_ARGUMENT, "is negative");
        }
        match inner.checked_mul(extent.max(1)) {
            Some(product) => inner = product,
            None => {
                let why = "times the extents inside it exceeds 2^63 - 1";
                return refused(sys::TW_ERROR_OVERFLOW, why);
            }
        }
    }
    Ok(())
}

/// Describes a tensor in a device's memory. Strides are in elements, outermost first. Without
/// strides it is row-major, and the product of its extents must be less than 2^63.
///
/// # Panics
/// With more than 8 extents, or if the number of strides differs from the number of extents.
pub fn tensor(
    device: &Device,
    address: u64,
    dtype: sys::tw_dtype,
    shape: &[i64],
    stride: Option<&[i64]>,
) -> Result<sys::tw_tensor> {
    let mut out = initialised::<sys::tw_tensor>();
    let info = device.info()?;
    out.dtype = dtype;
    out.device_kind = info.kind;
    out.ordinal = info.ordinal;
    out.rank = shape.len() as i32;
    out.address = address;
    out.shape[..shape.len()].copy_from_slice(shape);
    match stride {
        Some(stride) => out.stride[..shape.len()].copy_from_slice(stride),
        None => packed(shape, &mut out.stride)?,
    }
    Ok(out)
}

/// Reads a DLPack tensor without taking ownership. The owner of the managed tensor still calls its
/// deleter, after the work on its memory is done.
///
/// # Safety
/// `dlpack` must be NULL or point to a tensor of this form.
pub unsafe fn tensor_from_dlpack(
    dlpack: *const c_void,
    form: sys::tw_dlpack_form,
) -> Result<sys::tw_tensor> {
    let mut out: sys::tw_tensor = initialised();
    check(sys::tw_tensor_from_dlpack(dlpack, form, &mut out))?;
    Ok(out)
}

/// Registers the memory that a tensor's elements span, until the returned value is dropped.
pub fn register_tensor(device: &Device, tensor: &sys::tw_tensor) -> Result<RegisteredMemory> {
    let (shape, stride) = (&tensor.shape[..tensor.rank as usize], &tensor.stride);
    if shape.contains(&0) {
        return RegisteredMemory::new(device, tensor.address, 0);
    }
    let (mut low, mut high) = (0i64, 0i64); // in elements
    for (extent, stride) in shape.iter().zip(stride) {
        let reach = (extent - 1).wrapping_mul(*stride);
        let end = if reach < 0 { &mut low } else { &mut high };
        *end = end.wrapping_add(reach);
    }
    let size = i64::from(unsafe { sys::tw_dtype_size(tensor.dtype) });
    let address = tensor.address.wrapping_add(low.wrapping_mul(size) as u64);
    let elements = high.wrapping_sub(low).wrapping_add(1);
    RegisteredMemory::new(device, address, elements.wrapping_mul(size) as u64)
}

/// Another owner's tensor, registered for use by a device while this value lives. It owns nothing.
pub struct BorrowedTensor {
    tensor: sys::tw_tensor,
    _memory: RegisteredMemory,
}

impl BorrowedTensor {
    /// Reads a DLPack tensor and registers its memory with the device. The owner of the managed
    /// tensor still calls its deleter, after this value is dropped and the work on the memory is
    /// done.
    ///
    /// # Safety
    /// `dlpack` must be NULL or point to a tensor of this form, whose memory outlives this value.
    pub unsafe fn new(
        device: &Device,
        dlpack: *const c_void,
        form: sys::tw_dlpack_form,
    ) -> Result<BorrowedTensor> {
        let tensor = tensor_from_dlpack(dlpack, form)?;
        let _memory = register_tensor(device, &tensor)?;
        Ok(BorrowedTensor { tensor, _memory })
    }

    pub fn tensor(&self) -> &sys::tw_tensor {
        &self.tensor
    }
}

/// The position of the deleter in DLPack's two forms of managed tensors.
#[repr(C)]
struct Unversioned {
    tensor: [u64; 6],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Unversioned)>,
}
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
}

/// A managed DLPack tensor without a consumer. When dropped it calls its own deleter.
pub struct DlpackTensor {
    managed: *mut c_void,
    form: sys::tw_dlpack_form,
}
// The deleter may be called on any thread, and what it frees is Send.
unsafe impl Send for DlpackTensor {}

unsafe extern "C" fn release<Owner>(user: *mut c_void) {
    let owner = Box::from_raw(user.cast::<Owner>());
    // The callers are C, which no panic may cross; the panic's message has been printed. The
    // payload may panic when it is dropped, and is therefore leaked.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(owner))) {
        std::mem::forget(payload);
    }
}

impl DlpackTensor {
    /// Creates a managed tensor for another library. `owner` keeps the memory alive; it is dropped
    /// when the consumer calls the deleter, on any thread. A panic in its `drop` is caught there.
    pub fn new<Owner: Send + 'static>(
        tensor: &sys::tw_tensor,
        form: sys::tw_dlpack_form,
        owner: Owner,
    ) -> Result<DlpackTensor> {
        let tensor = resized(*tensor);
        let user = Box::into_raw(Box::new(owner));
        let mut managed = std::ptr::null_mut();
        let status = unsafe {
            sys::tw_tensor_to_dlpack(&tensor, form, Some(release::<Owner>), user.cast(), &mut managed)
        };
        if let Err(error) = check(status) {
            drop(unsafe { Box::from_raw(user) });
            return Err(error);
        }
        Ok(DlpackTensor { managed, form })
    }

    /// The DLManagedTensor or DLManagedTensorVersioned, still owned by this value.
    pub fn as_ptr(&self) -> *mut c_void {
        self.managed
    }

    /// Passes ownership to the caller: the consumer must call the deleter.
    pub fn into_raw(self) -> *mut c_void {
        let managed = self.managed;
        std::mem::forget(self);
        managed
    }

    /// Takes ownership of a managed tensor, such as one from another library's `into_raw`.
    ///
    /// # Safety
    /// `managed` must be a managed tensor of this form that nobody else will free, and whose deleter
    /// may be called on any thread.
    pub unsafe fn from_raw(managed: *mut c_void, form: sys::tw_dlpack_form) -> DlpackTensor {
        DlpackTensor { managed, form }
    }
}

impl Drop for DlpackTensor {
    fn drop(&mut self) {
        unsafe {
            if self.form == sys::TW_DLPACK_VERSIONED {
                let managed = self.managed.cast::<Versioned>();
                if let Some(deleter) = (*managed).deleter {
                    deleter(managed);
                }
            } else {
                let managed = self.managed.cast::<Unversioned>();
                if let Some(deleter) = (*managed).deleter {
                    deleter(managed);
                }
            }
        }
    }
}
