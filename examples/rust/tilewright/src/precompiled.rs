// SPDX-License-Identifier: Apache-2.0
use crate::error::check;
use crate::{initialised, sys, Result};
use std::ffi::CStr;

/// A precompiled kernel for one target. Needs no GPU.
#[derive(Clone, Copy)]
pub struct Precompiled {
    entry: sys::tw_embedded_kernel,
}
// Its pointers refer to static texts.
unsafe impl Send for Precompiled {}
unsafe impl Sync for Precompiled {}

/// Every precompiled kernel for each target.
pub fn precompiled() -> Result<Vec<Precompiled>> {
    let mut count = 0;
    check(unsafe { sys::tw_embedded_kernel_get(0, std::ptr::null_mut(), &mut count) })?;
    (0..count)
        .map(|index| {
            let mut entry: sys::tw_embedded_kernel = initialised();
            check(unsafe { sys::tw_embedded_kernel_get(index, &mut entry, std::ptr::null_mut()) })?;
            Ok(Precompiled { entry })
        })
        .collect()
}

impl Precompiled {
    /// The kernel's table entry: family, tile, stages, sizes.
    pub fn entry(&self) -> &sys::tw_embedded_kernel {
        &self.entry
    }

    /// Its symbol.
    pub fn name(&self) -> &'static str {
        unsafe { CStr::from_ptr(self.entry.name) }.to_str().unwrap_or("")
    }

    /// "sm_90a" for machine code, "compute_90" for PTX.
    pub fn target(&self) -> &'static str {
        unsafe { CStr::from_ptr(self.entry.target) }.to_str().unwrap_or("")
    }

    /// The resources that ptxas assigned. For PTX this is an error, because only a driver's
    /// compiler assigns them.
    pub fn info(&self) -> Result<sys::tw_kernel_info> {
        let mut info: sys::tw_kernel_info = initialised();
        check(unsafe { sys::tw_embedded_kernel_info(self.entry.name, self.entry.target, &mut info) })?;
        Ok(info)
    }

    /// The cubin or PTX text with the kernel, for a disassembler.
    pub fn image(&self) -> Result<Vec<u8>> {
        let (name, target, mut size) = (self.entry.name, self.entry.target, 0);
        check(unsafe { sys::tw_embedded_kernel_image(name, target, std::ptr::null_mut(), 0, &mut size) })?;
        let mut image = vec![0u8; size];
        check(unsafe {
            sys::tw_embedded_kernel_image(name, target, image.as_mut_ptr().cast(), image.len(), &mut size)
        })?;
        Ok(image)
    }
}
