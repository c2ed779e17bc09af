// SPDX-License-Identifier: Apache-2.0
//! decode [cuda]: a decode step of an inference engine, in bf16: out = gelu(x up + bias) down + x,
//! where x are the embeddings of some tokens. Finally it stores the rows of out in slots of a
//! cache. Writes the bytes of the cache and of out to stdout. Without "cuda" it runs on the CPU
//! reference.

use std::error::Error;
use std::io::Write;
use std::mem::size_of_val;
use tilewright::{
    gemm_args, gemm_desc, op, rows_args, rows_desc, sys, Device, Element, Memory, Plan, Result,
    Stream,
};

const WORDS: usize = 32;
const HIDDEN: usize = 16;
const INNER: usize = 48;
const TOKENS: usize = 4;
const SLOTS: usize = 8;
const BF16: usize = 2; // bytes

/// Multiples of 1/8 from -1 to 1, which are exact in bf16, the upper half of an f32.
fn numbers(count: usize, seed: usize) -> Vec<u16> {
    let value = |i| ((7 * i + seed) % 17) as f32 / 8.0 - 1.0;
    (0..count)
        .map(|i| (value(i).to_bits() >> 16) as u16)
        .collect()
}

fn upload<T: Element>(stream: &Stream, from: &[T]) -> Result<Memory> {
    let mut to = Memory::new(stream.device(), size_of_val(from))?;
    stream.upload(&mut to, from)?;
    Ok(to)
}

fn rows_of(table_rows: usize) -> sys::tw_rows_desc {
    let mut desc = rows_desc();
    desc.dtype = sys::TW_DTYPE_BF16;
    desc.table_rows = table_rows as i64;
    desc.columns = HIDDEN as i64;
    desc.count = TOKENS as i64;
    desc
}

fn product(n: usize, k: usize) -> sys::tw_gemm_desc {
    let mut desc = gemm_desc(); // bf16 by default
    (desc.m, desc.n, desc.k) = (TOKENS as i64, n as i64, k as i64);
    desc
}

/// The bytes of the cache, followed by those of the output.
fn decode(device: &Device) -> Result<Vec<u8>> {
    let stream = Stream::new(device)?;
    let table = upload(&stream, &numbers(WORDS * HIDDEN, 0))?;
    let up = upload(&stream, &numbers(HIDDEN * INNER, 3))?;
    let bias = upload(&stream, &numbers(INNER, 5))?;
    let down = upload(&stream, &numbers(INNER * HIDDEN, 11))?;
    let tokens = upload(&stream, &[7i32, 18, 29, 7])?;
    let slots = upload(&stream, &[5i32, 0, 3, 6])?;
    let x = Memory::new(device, TOKENS * HIDDEN * BF16)?;
    let inner = Memory::new(device, TOKENS * INNER * BF16)?;
    let out = Memory::new(device, TOKENS * HIDDEN * BF16)?;
    let cache = upload(&stream, &[0u16; SLOTS * HIDDEN])?;

    let gather = Plan::<op::Gather>::new(device, &rows_of(WORDS))?;
    let scatter = Plan::<op::Scatter>::new(device, &rows_of(SLOTS))?;
    let mut wider = product(INNER, HIDDEN);
    wider.bias = sys::TW_PER_COLUMN;
    wider.activation = sys::TW_ACTIVATION_GELU;
    let widen = Plan::<op::Gemm>::new(device, &wider)?;
    let narrow = Plan::<op::Gemm>::new(device, &product(HIDDEN, INNER))?;

    let mut rows = rows_args();
    (rows.table, rows.index, rows.packed) = (table.address(), tokens.address(), x.address());
    let mut first = gemm_args();
    (first.a, first.b, first.d) = (x.address(), up.address(), inner.address());
    first.bias = bias.address();
    let mut second = gemm_args();
    (second.a, second.b, second.d) = (inner.address(), down.address(), out.address());
    (second.c, second.beta) = (x.address(), 1.0); // the residual
    let mut store = rows_args();
    (store.table, store.index, store.packed) = (cache.address(), slots.address(), out.address());
    // Every address belongs to a Memory that outlives the downloads below.
    unsafe {
        gather.run(&stream, &rows)?;
        widen.run(&stream, &first)?;
        narrow.run(&stream, &second)?;
        scatter.run(&stream, &store)?;
    }
    let mut bytes = vec![0u8; (SLOTS + TOKENS) * HIDDEN * BF16];
    let (kept, given) = bytes.split_at_mut(SLOTS * HIDDEN * BF16);
    stream.download(kept, &cache)?;
    stream.download(given, &out)?;
    Ok(bytes)
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let cuda = std::env::args()
        .nth(1)
        .map_or(false, |wanted| wanted == "cuda");
    let device = if cuda {
        Device::cuda(0)?
    } else {
        Device::host()?
    };
    std::io::stdout().write_all(&decode(&device)?)?;
    Ok(())
}
