// SPDX-License-Identifier: Apache-2.0
use crate::error::{check, created};
use crate::{initialised, resized, sys, text, written, Device, Result, Stream};
use std::marker::PhantomData;

/// An operation: its description, its arguments, and the functions that take them.
///
/// # Safety
/// `PLAN` must create plans that `RUN` can run, and `SUPPORTED` must answer like `PLAN`.
pub unsafe trait Operation {
    type Desc: sys::Struct;
    type Args: sys::Struct;
    const PLAN: unsafe extern "C" fn(
        *mut sys::tw_device,
        *const Self::Desc,
        *mut *mut sys::tw_plan,
    ) -> sys::tw_status;
    const SUPPORTED: unsafe extern "C" fn(
        *mut sys::tw_device,
        *const Self::Desc,
    ) -> sys::tw_status;
    const RUN: unsafe extern "C" fn(
        *mut sys::tw_plan,
        *mut sys::tw_stream,
        *const Self::Args,
    ) -> sys::tw_status;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident: $desc:ident, $args:ident, $plan:ident, $supported:ident,
        $run:ident;)*) => {
        /// The operations, as types for [`Plan`]: `Plan::<op::Gemm>::new(...)`.
        pub mod op {
            use super::*;
            $(
                $(#[$doc])*
                pub enum $name {}
                unsafe impl Operation for $name {
                    type Desc = sys::$desc;
                    type Args = sys::$args;
                    const PLAN: unsafe extern "C" fn(
                        *mut sys::tw_device,
                        *const Self::Desc,
                        *mut *mut sys::tw_plan,
                    ) -> sys::tw_status = sys::$plan;
                    const SUPPORTED: unsafe extern "C" fn(
                        *mut sys::tw_device,
                        *const Self::Desc,
                    ) -> sys::tw_status = sys::$supported;
                    const RUN: unsafe extern "C" fn(
                        *mut sys::tw_plan,
                        *mut sys::tw_stream,
                        *const Self::Args,
                    ) -> sys::tw_status = sys::$run;
                }
            )*
        }
    };
}
operations! {
    /// dst[i...] = src[i...].
    Copy: tw_copy_desc, tw_copy_args, tw_copy_plan, tw_copy_supported, tw_copy_run;
    /// Prefetches memory into the L2 cache.
    Prefetch: tw_prefetch_desc, tw_prefetch_args, tw_prefetch_plan, tw_prefetch_supported,
        tw_prefetch_run;
    /// dst[i...] = alpha a[i...] + beta b[i...], converted, and optionally reduced into dst.
    Elementwise: tw_elementwise_desc, tw_elementwise_args, tw_elementwise_plan,
        tw_elementwise_supported, tw_elementwise_run;
    /// packed[i] = table[index[i]].
    Gather: tw_rows_desc, tw_rows_args, tw_gather_plan, tw_gather_supported, tw_gather_run;
    /// table[index[i]] = packed[i].
    Scatter: tw_rows_desc, tw_rows_args, tw_scatter_plan, tw_scatter_supported, tw_scatter_run;
    /// dst[i][...] = src[i][...] for each pair of addresses i.
    Copies: tw_copies_desc, tw_copies_args, tw_copies_plan, tw_copies_supported, tw_copies_run;
    /// Packed sequences to padded ones, and back.
    Ragged: tw_ragged_desc, tw_ragged_args, tw_ragged_plan, tw_ragged_supported, tw_ragged_run;
    /// Selects the experts of each token, and sorts the (token, expert) pairs by expert.
    Route: tw_route_desc, tw_route_args, tw_route_plan, tw_route_supported, tw_route_run;
    /// Groups of rows, each multiplied by its own weight matrix.
    Grouped: tw_grouped_desc, tw_grouped_args, tw_grouped_plan, tw_grouped_supported,
        tw_grouped_run;
    /// Quantizes a matrix to 8 bits with scales, or dequantizes it.
    Quantize: tw_quantize_desc, tw_quantize_args, tw_quantize_plan, tw_quantize_supported,
        tw_quantize_run;
    /// D = alpha A B + beta C.
    Gemm: tw_gemm_desc, tw_gemm_args, tw_gemm_plan, tw_gemm_supported, tw_gemm_run;
}

/// An operation, planned once and run many times, from any number of threads.
pub struct Plan<Op: Operation> {
    handle: *mut sys::tw_plan,
    _device: Device,
    _op: PhantomData<fn(Op)>,
}
// "any thread": plans are immutable.
unsafe impl<Op: Operation> Send for Plan<Op> {}
unsafe impl<Op: Operation> Sync for Plan<Op> {}

impl<Op: Operation> Plan<Op> {
    pub fn new(device: &Device, desc: &Op::Desc) -> Result<Self> {
        let desc = resized(*desc);
        let handle = created(|out| unsafe { Op::PLAN(device.as_raw(), &desc, out) })?;
        Ok(Plan {
            handle,
            _device: device.clone(),
            _op: PhantomData,
        })
    }

    /// Whether [`Plan::new`] would succeed, with the same error if not. Creates no plan.
    pub fn supported(device: &Device, desc: &Op::Desc) -> Result<()> {
        let desc = resized(*desc);
        check(unsafe { Op::SUPPORTED(device.as_raw(), &desc) })
    }

    pub fn as_raw(&self) -> *mut sys::tw_plan {
        self.handle
    }

    /// Enqueues a run.
    ///
    /// # Safety
    /// The addresses in `args` must refer to memory of the device that stays allocated until the
    /// run is done, and that nothing else writes to meanwhile.
    pub unsafe fn run(&self, stream: &Stream, args: &Op::Args) -> Result<()> {
        check(Op::RUN(self.handle, stream.as_raw(), &resized(*args)))
    }

    pub fn info(&self) -> Result<sys::tw_plan_info> {
        let mut info = initialised();
        check(unsafe { sys::tw_plan_get_info(self.handle, &mut info) })?;
        Ok(info)
    }

    /// The kernel's symbol.
    pub fn kernel(&self) -> Result<String> {
        Ok(text(self.info()?.kernel))
    }

    /// A description of what a run will do.
    pub fn explain(&self) -> Result<String> {
        written(|buffer, capacity, length| unsafe {
            sys::tw_plan_explain(self.handle, buffer, capacity, length)
        })
    }
}

impl<Op: Operation> Drop for Plan<Op> {
    fn drop(&mut self) {
        unsafe { sys::tw_plan_destroy(self.handle) }
    }
}
