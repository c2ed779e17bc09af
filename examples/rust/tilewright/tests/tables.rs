// SPDX-License-Identifier: Apache-2.0
//! DLPack and the table of precompiled kernels through the safe crate.

use std::collections::HashSet;
use std::sync::Arc;
use tilewright::{precompiled, sys, tensor, tensor_from_dlpack, Device, DlpackTensor, Memory};

#[test]
fn a_tensor_goes_out_and_comes_back() {
    let device = Device::host().unwrap();
    for form in [sys::TW_DLPACK_TENSOR, sys::TW_DLPACK_VERSIONED] {
        let memory = Memory::new(&device, 24).unwrap();
        let address = memory.address();
        let out = tensor(&device, address, sys::TW_DTYPE_F32, &[2, 3], None).unwrap();
        let managed = DlpackTensor::new(&out, form, memory).unwrap();
        let back = unsafe { tensor_from_dlpack(managed.as_ptr(), form) }.unwrap();
        assert_eq!((back.address, back.dtype, back.rank), (address, sys::TW_DTYPE_F32, 2));
        assert_eq!((back.shape[1], back.stride[0], back.stride[1]), (3, 3, 1));
    }
}

/// The strides must equal those that the library computes for DLPack tensors without strides.
#[test]
fn strides_that_are_left_out() {
    let device = Device::host().unwrap();
    let packed = |shape: &[i64]| tensor(&device, 4096, sys::TW_DTYPE_F32, shape, None);
    for (shape, stride) in [([2, 0, 3], [3, 3, 1]), ([0, 0, 0], [1, 1, 1]), ([4, 1, 5], [5, 5, 1])] {
        assert_eq!(packed(&shape).unwrap().stride[..3], stride);
    }
    assert_eq!(packed(&[1 << 31, 1 << 31]).unwrap().stride[0], 1 << 31);
    let error = packed(&[2, 1 << 31, 1 << 32]).err().unwrap();
    assert_eq!((error.status, error.argument.as_deref()), (sys::TW_ERROR_OVERFLOW, Some("shape")));
    let error = packed(&[2, -3]).err().unwrap();
    assert_eq!((error.status, error.index, error.got), (sys::TW_ERROR_INVALID_ARGUMENT, 1, -3));
    let whole = tensor(&device, 4096, sys::TW_DTYPE_F32, &[1 << 40, 1 << 40], Some(&[0, 0])).unwrap();
    assert_eq!(whole.stride[..2], [0, 0]);
}

#[test]
fn the_owner_lives_until_the_deleter_is_called() {
    let device = Device::host().unwrap();
    let owner = Arc::new(vec![7.0f32; 6]);
    let address = owner.as_ptr() as u64;
    let strides: &[i64] = &[1, 2];
    let out = tensor(&device, address, sys::TW_DTYPE_F32, &[2, 3], Some(strides)).unwrap();
    let form = sys::TW_DLPACK_VERSIONED;
    drop(DlpackTensor::new(&out, form, owner.clone()).unwrap());
    assert_eq!(Arc::strong_count(&owner), 1);
    let raw = DlpackTensor::new(&out, form, owner.clone()).unwrap().into_raw();
    assert_eq!(Arc::strong_count(&owner), 2);
    let consumer = unsafe { DlpackTensor::from_raw(raw, form) };
    let back = unsafe { tensor_from_dlpack(consumer.as_ptr(), form) }.unwrap();
    assert_eq!(back.stride[1], 2);
    std::thread::spawn(move || drop(consumer)).join().unwrap();
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn what_cannot_be_made_takes_its_owner_along() {
    let device = Device::host().unwrap();
    let owner = Arc::new(0);
    let out = tensor(&device, 4096, 9999, &[1], None).unwrap();
    let error = DlpackTensor::new(&out, sys::TW_DLPACK_TENSOR, owner.clone()).err().unwrap();
    assert_eq!((error.argument.as_deref(), error.got), (Some("dtype"), 9999));
    assert_eq!(Arc::strong_count(&owner), 1);
    let none = unsafe { tensor_from_dlpack(std::ptr::null(), sys::TW_DLPACK_TENSOR) };
    assert_eq!(none.err().unwrap().argument.as_deref(), Some("dlpack"));
}

/// The deleter's callers may be C++, which no panic may reach.
#[test]
fn a_panic_of_the_owner_ends_with_it() {
    struct Owner {
        _alive: Arc<()>,
    }
    impl Drop for Owner {
        fn drop(&mut self) {
            panic!("this panic belongs to the test");
        }
    }
    let device = Device::host().unwrap();
    let alive = Arc::new(());
    let mut out = tensor(&device, 4096, sys::TW_DTYPE_F32, &[1], None).unwrap();
    for size in [out.struct_size, u32::MAX] {
        out.struct_size = size; // ignored
        let owner = Owner { _alive: alive.clone() };
        drop(DlpackTensor::new(&out, sys::TW_DLPACK_TENSOR, owner).unwrap());
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}

/// The list is empty in a library without kernels.
#[test]
fn every_target_has_its_images() {
    let mut seen = HashSet::new();
    for kernel in precompiled().unwrap() {
        if !seen.insert(kernel.target()) {
            continue;
        }
        let image = kernel.image().unwrap();
        assert_eq!(image.len() as u64, kernel.entry().image_bytes);
        if kernel.target().starts_with("compute_") {
            let text = String::from_utf8_lossy(&image);
            assert!(text.contains(&format!(".entry {}", kernel.name())));
            assert_eq!(kernel.info().err().unwrap().status, sys::TW_ERROR_UNSUPPORTED);
        } else {
            assert!(image.starts_with(b"\x7fELF"));
            assert!(kernel.info().unwrap().registers > 0);
        }
    }
}
