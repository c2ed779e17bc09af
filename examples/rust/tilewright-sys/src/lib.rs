// SPDX-License-Identifier: Apache-2.0
//! Unsafe bindings of tilewright.h: every type, constant and function. The crate `tilewright` is a
//! safe layer over them. `examples/bindings.py` generates `bindings.rs`. The tests of this crate
//! compare every struct's layout with what the script computed, and the library's own tests compare
//! that with a C compiler.
#![allow(non_camel_case_types)]

mod bindings;
pub use bindings::*;
