// SPDX-License-Identifier: Apache-2.0
//! copy-then-gemm [host|cuda|auto]: copies a window out of a bf16 matrix, multiplies it by another
//! matrix, and checks every element of the result with a loop in f64.

use std::mem::size_of;
use std::process::ExitCode;
use tilewright::{
    copy_args, copy_desc, gemm_args, gemm_desc, op, sys, Device, Memory, Plan, Result, Stream,
};

// The whole matrix, the window's first element, and D (M x N) = window (M x K) times B (K x N).
const ROWS: usize = 320;
const COLUMNS: usize = 264;
const FIRST_ROW: usize = 41;
const FIRST_COLUMN: usize = 27;
const M: usize = 201;
const N: usize = 119;
const K: usize = 137;
// The rows of the product's operands begin at multiples of 16 bytes, as TMA requires.
const LDA: usize = 144;
const LDB: usize = 120;
const LDD: usize = 120;

/// Generates multiples of 1/64 from -1 to 1 in a fixed order; they are exact in bf16.
struct Numbers(u64);

impl Numbers {
    fn next_bf16(&mut self) -> u16 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let value = ((self.0 >> 33) % 129) as f32 / 64.0 - 1.0;
        (value.to_bits() >> 16) as u16
    }

    fn matrix(&mut self, elements: usize) -> Vec<u16> {
        (0..elements).map(|_| self.next_bf16()).collect()
    }
}

fn from_bf16(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

/// Opens the requested device. `auto` falls back to the host device if there is no usable GPU.
fn open(wanted: &str) -> Result<Device> {
    if wanted == "host" {
        return Device::host();
    }
    let no_gpu = [
        sys::TW_ERROR_NO_DRIVER,
        sys::TW_ERROR_DRIVER_TOO_OLD,
        sys::TW_ERROR_NO_DEVICE,
        sys::TW_ERROR_UNSUPPORTED_DEVICE,
        sys::TW_ERROR_NOT_BUILT,
    ];
    match Device::cuda(0) {
        Err(error) if wanted == "auto" && no_gpu.contains(&error.status) => {
            println!("no GPU, using the host device: {}", error.message);
            Device::host()
        }
        opened => opened,
    }
}

/// Copies the window, multiplies, and returns D, row-major with a pitch of LDD.
fn multiply(device: &Device, whole: &[u16], b: &[u16]) -> Result<Vec<f32>> {
    let stream = Stream::new(device)?;
    let mut whole_memory = Memory::new(device, whole.len() * 2)?;
    let a_memory = Memory::new(device, M * LDA * 2)?;
    let mut b_memory = Memory::new(device, b.len() * 2)?;
    let d_memory = Memory::new(device, M * LDD * size_of::<f32>())?;
    stream.upload(&mut whole_memory, whole)?;
    stream.upload(&mut b_memory, b)?;

    let mut desc = copy_desc();
    desc.dtype = sys::TW_DTYPE_BF16;
    desc.rank = 2;
    desc.shape[..2].copy_from_slice(&[M as i64, K as i64]);
    desc.src_stride[..2].copy_from_slice(&[COLUMNS as i64, 1]);
    desc.dst_stride[..2].copy_from_slice(&[LDA as i64, 1]);
    let copy = Plan::<op::Copy>::new(device, &desc)?;
    let mut args = copy_args();
    args.src = whole_memory.address() + ((FIRST_ROW * COLUMNS + FIRST_COLUMN) * 2) as u64;
    args.dst = a_memory.address();
    // Every address below belongs to a Memory that outlives the download.
    unsafe { copy.run(&stream, &args)? };
    println!("copy    {}", copy.kernel()?);

    let mut desc = gemm_desc();
    desc.a_dtype = sys::TW_DTYPE_BF16;
    desc.d_dtype = sys::TW_DTYPE_F32;
    (desc.m, desc.n, desc.k) = (M as i64, N as i64, K as i64);
    (desc.lda, desc.ldb, desc.ldd) = (LDA as i64, LDB as i64, LDD as i64);
    desc.ldc = desc.ldd;
    let gemm = Plan::<op::Gemm>::new(device, &desc)?;
    let mut args = gemm_args();
    args.a = a_memory.address();
    args.b = b_memory.address();
    args.d = d_memory.address();
    unsafe { gemm.run(&stream, &args)? };
    println!("gemm    {}", gemm.kernel()?);

    let mut d = vec![0f32; M * LDD];
    stream.download(&mut d, &d_memory)?;
    Ok(d)
}

/// The number of wrong elements, and the largest error.
fn compare(whole: &[u16], b: &[u16], d: &[f32]) -> (usize, f64) {
    let mut wrong = 0;
    let mut largest = 0f64;
    for i in 0..M {
        for j in 0..N {
            let mut sum = 0f64;
            for k in 0..K {
                let a = from_bf16(whole[(FIRST_ROW + i) * COLUMNS + FIRST_COLUMN + k]);
                sum += a * from_bf16(b[k * LDB + j]);
            }
            let error = (f64::from(d[i * LDD + j]) - sum).abs();
            largest = largest.max(error);
            // Each of the 137 products is a multiple of 1/4096 of at most 1: the sum is exact in f32.
            wrong += usize::from(error != 0.0);
        }
    }
    (wrong, largest)
}

fn run(wanted: &str) -> Result<bool> {
    let device = open(wanted)?;
    println!("device  {}", device.name()?);
    let mut numbers = Numbers(1);
    let whole = numbers.matrix(ROWS * COLUMNS);
    let b = numbers.matrix(K * LDB);
    let d = multiply(&device, &whole, &b)?;
    let (wrong, largest) = compare(&whole, &b, &d);
    println!(
        "result  {} x {}: {} wrong, largest error {:e}",
        M, N, wrong, largest
    );
    Ok(wrong == 0)
}

fn main() -> ExitCode {
    let wanted = std::env::args().nth(1).unwrap_or_else(|| "auto".into());
    if !["host", "cuda", "auto"].contains(&wanted.as_str()) {
        eprintln!("{}: expected host, cuda or auto", wanted);
        return ExitCode::from(2);
    }
    println!("tilewright {}", tilewright::version());
    match run(&wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}", error);
            ExitCode::FAILURE
        }
    }
}
