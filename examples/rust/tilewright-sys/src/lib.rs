// SPDX-License-Identifier: Apache-2.0
//! tilewright.h as it is: every type, constant and function, none of them safe. The crate
//! `tilewright` is a safe layer over it. `bindings.rs` is made by `examples/bindings.py`; its tests
//! hold every struct's layout against what the script computed, and the library's own tests hold
//! those numbers against a C compiler.
#![allow(non_camel_case_types)]

mod bindings;
pub use bindings::*;
