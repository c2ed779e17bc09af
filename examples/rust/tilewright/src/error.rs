// SPDX-License-Identifier: Apache-2.0
use crate::{initialised, sys, text};
use std::fmt;

/// A failed call: its status, the library's message, and the details that apply.
#[derive(Clone, Debug)]
pub struct Error {
    pub status: sys::tw_status,
    /// What was wrong, with the numbers, and what would work.
    pub message: String,
    /// The argument or field that was wrong.
    pub argument: Option<String>,
    /// Stable id of the broken rule, such as `global_stride_multiple`.
    pub rule: Option<String>,
    /// Element of the argument, or -1.
    pub index: i32,
    pub got: i64,
    pub limit: i64,
    /// The CUresult if a driver call failed, else 0.
    pub driver_result: i32,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error that this crate detects itself, with the same details as the library's errors.
    pub(crate) fn refused(status: sys::tw_status, argument: &str, message: String) -> Error {
        Error {
            status,
            message,
            argument: Some(argument.into()),
            rule: None,
            index: -1,
            got: 0,
            limit: 0,
            driver_result: 0,
        }
    }

    /// The calling thread's last failure.
    fn last(status: sys::tw_status) -> Error {
        let message = text(unsafe { sys::tw_last_error() });
        let mut info = initialised::<sys::tw_error_info>();
        unsafe { sys::tw_last_error_info(&mut info) };
        let named = |pointer: *const std::os::raw::c_char| (!pointer.is_null()).then(|| text(pointer));
        Error {
            status,
            message,
            argument: named(info.argument),
            rule: named(info.rule),
            index: info.index,
            got: info.got,
            limit: info.limit,
            driver_result: info.driver_result,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = text(unsafe { sys::tw_status_name(self.status) });
        write!(f, "{}: {}", name, self.message)
    }
}

impl std::error::Error for Error {}

pub(crate) fn check(status: sys::tw_status) -> Result<()> {
    if status == sys::TW_OK {
        Ok(())
    } else {
        Err(Error::last(status))
    }
}

/// Returns the handle that a call writes to its last argument.
pub(crate) fn created<T>(call: impl FnOnce(*mut *mut T) -> sys::tw_status) -> Result<*mut T> {
    let mut handle = std::ptr::null_mut();
    check(call(&mut handle))?;
    Ok(handle)
}
