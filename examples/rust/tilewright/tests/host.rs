// SPDX-License-Identifier: Apache-2.0
//! The safe crate on the host device: threads, errors, and objects dropped while in use.

use std::sync::atomic::{AtomicU8, Ordering};
use tilewright::{copy_args, copy_desc, op, register_tensor, sys, tensor, BorrowedTensor, Device};
use tilewright::{DlpackTensor, Event, Layout, Memory, Plan, RegisteredMemory, Stream, TensorMap};

fn is_send_and_sync<T: Send + Sync>() {}

#[test]
fn handles_go_to_other_threads() {
    is_send_and_sync::<Device>();
    is_send_and_sync::<Memory>();
    is_send_and_sync::<Stream>();
    is_send_and_sync::<Event>();
    is_send_and_sync::<Layout>();
    is_send_and_sync::<TensorMap>();
    is_send_and_sync::<Plan<op::Gemm>>();
    is_send_and_sync::<tilewright::Error>();
}

fn copy_plan(device: &Device, elements: i64) -> Plan<op::Copy> {
    let mut desc = copy_desc();
    desc.dtype = sys::TW_DTYPE_U32;
    desc.rank = 1;
    desc.shape[0] = elements;
    desc.src_stride[0] = 1;
    desc.dst_stride[0] = 1;
    Plan::new(device, &desc).unwrap()
}

#[test]
fn an_error_carries_the_rule_and_its_numbers() {
    let device = Device::host().unwrap();
    let mut desc = tilewright::tensor_map_desc();
    desc.global_address = 4096;
    desc.global_dim[..2].copy_from_slice(&[64, 64]);
    desc.global_stride_bytes[0] = 129; // not a multiple of 16
    desc.box_dim[..2].copy_from_slice(&[8, 8]);
    let error = TensorMap::new(&device, &desc).err().unwrap();
    assert_eq!(error.status, sys::TW_ERROR_RULE);
    assert_eq!(error.argument.as_deref(), Some("global_stride_bytes"));
    assert!(error.rule.is_some());
    assert_eq!((error.index, error.got), (0, 129));
    assert!(error.to_string().starts_with("TW_ERROR_RULE: "), "{}", error);
}

#[test]
fn one_plan_from_many_threads() {
    const ELEMENTS: usize = 1000;
    let device = Device::host().unwrap();
    let plan = copy_plan(&device, ELEMENTS as i64);
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let (device, plan) = (&device, &plan);
            scope.spawn(move || {
                let stream = Stream::new(device).unwrap();
                let mut src = Memory::new(device, ELEMENTS * 4).unwrap();
                let dst = Memory::new(device, ELEMENTS * 4).unwrap();
                let numbers: Vec<u32> = (0..ELEMENTS as u32).map(|i| i * 8 + thread).collect();
                let mut back = vec![0u32; ELEMENTS];
                for _ in 0..20 {
                    stream.upload(&mut src, &numbers).unwrap();
                    let mut args = copy_args();
                    args.src = src.address();
                    args.dst = dst.address();
                    unsafe { plan.run(&stream, &args) }.unwrap();
                    stream.download(&mut back, &dst).unwrap();
                    assert_eq!(back, numbers);
                    // A failure of this thread, whose message must be this thread's own.
                    let broken = format!("(2,{}", thread);
                    let error = Layout::parse(&broken).err().unwrap();
                    assert!(error.message.contains(&broken), "{}", error);
                }
            });
        }
    });
}

#[test]
fn dropping_with_work_in_flight() {
    let device = Device::host().unwrap();
    let elements = 1 << 20;
    let mut src = Memory::new(&device, elements * 4).unwrap();
    let dst = Memory::new(&device, elements * 4).unwrap();
    let done = Event::new(&device).unwrap();
    {
        let stream = Stream::new(&device).unwrap();
        stream.upload(&mut src, &vec![7u32; elements]).unwrap();
        let plan = copy_plan(&device, elements as i64);
        let mut args = copy_args();
        args.src = src.address();
        args.dst = dst.address();
        for _ in 0..10 {
            unsafe { plan.run(&stream, &args) }.unwrap();
        }
        done.record(&stream).unwrap();
        // Drops the plan, then the stream, both before the work is done.
    }
    done.synchronize().unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut back = vec![0u32; elements];
    stream.download(&mut back, &dst).unwrap();
    assert!(back.iter().all(|&x| x == 7));
}

#[test]
fn memory_of_others_is_known_while_it_is_registered() {
    let device = Device::host().unwrap();
    let stream = Stream::new(&device).unwrap();
    let plan = copy_plan(&device, 4);
    let (src, mut dst) = ([1u32, 2, 3, 4], [0u32; 4]);
    let mut args = copy_args();
    (args.src, args.dst) = (src.as_ptr() as u64, dst.as_mut_ptr() as u64);
    let refused = |argument| {
        let error = unsafe { plan.run(&stream, &args) }.err().unwrap();
        let expected = (sys::TW_ERROR_INVALID_ARGUMENT, Some(argument));
        assert_eq!((error.status, error.argument.as_deref()), expected);
    };
    {
        let _src = RegisteredMemory::new(&device, args.src, 16).unwrap();
        refused("dst");
        let t = tensor(&device, args.dst + 12, sys::TW_DTYPE_U32, &[4], Some(&[-1])).unwrap();
        let _dst = register_tensor(&device, &t).unwrap();
        unsafe { plan.run(&stream, &args) }.unwrap();
        stream.synchronize().unwrap();
    }
    assert_eq!(dst, src);
    refused("src");
    let t = tensor(&device, args.dst, sys::TW_DTYPE_U32, &[4], None).unwrap();
    let managed = DlpackTensor::new(&t, sys::TW_DLPACK_VERSIONED, ()).unwrap();
    let borrowed =
        unsafe { BorrowedTensor::new(&device, managed.as_ptr(), sys::TW_DLPACK_VERSIONED) }.unwrap();
    assert_eq!(borrowed.tensor().address, args.dst);
    let status = |bytes| unsafe { sys::tw_memset(stream.as_raw(), args.dst, 5, bytes) };
    assert_eq!((status(16), status(17)), (sys::TW_OK, sys::TW_ERROR_INVALID_ARGUMENT));
    drop(borrowed);
    assert_eq!(status(16), sys::TW_ERROR_INVALID_ARGUMENT);
    stream.synchronize().unwrap();
}

#[test]
fn the_device_stays_open_for_what_was_made_of_it() {
    let device = Device::host().unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut memory = Memory::new(&device, 64).unwrap();
    drop(device);
    stream.upload(&mut memory, &[1u8; 64]).unwrap();
}

/// Memory that two threads share cannot be written.
#[test]
fn an_upload_wants_the_memory_for_itself() {
    let _: fn(&Stream, &mut Memory, &[u8]) -> tilewright::Result<()> = Stream::upload::<u8>;
    let _: fn(&Stream, &mut [u8], &Memory) -> tilewright::Result<()> = Stream::download::<u8>;
}

#[test]
fn memory_of_another_device_is_refused() {
    let (ours, theirs) = (Device::host().unwrap(), Device::host().unwrap());
    let stream = Stream::new(&ours).unwrap();
    let mut memory = Memory::new(&theirs, 8).unwrap();
    let error = stream.upload(&mut memory, &[1u8; 8]).err().unwrap();
    assert_eq!((error.status, error.argument.as_deref()), (sys::TW_ERROR_WRONG_DEVICE, Some("dst")));
    let error = stream.download(&mut [0u8; 8], &memory).err().unwrap();
    assert_eq!((error.status, error.argument.as_deref()), (sys::TW_ERROR_WRONG_DEVICE, Some("src")));
    let mut memory = Memory::new(&ours.clone(), 8).unwrap(); // the same device
    stream.upload(&mut memory, &[1u8; 8]).unwrap();
}

/// struct_size is a public field, and C reads that many bytes: the crate must not trust it.
#[test]
fn struct_size_is_not_heeded() {
    let device = Device::host().unwrap();
    let stream = Stream::new(&device).unwrap();
    for size in [0, 5, 1 << 30, u32::MAX] {
        let mut desc = copy_desc();
        desc.dtype = sys::TW_DTYPE_U32;
        (desc.rank, desc.shape[0], desc.src_stride[0], desc.dst_stride[0]) = (1, 8, 1, 1);
        desc.struct_size = size;
        let plan = Plan::<op::Copy>::new(&device, &desc).unwrap();
        let mut src = Memory::new(&device, 32).unwrap();
        let dst = Memory::new(&device, 32).unwrap();
        stream.upload(&mut src, &[7u32; 8]).unwrap();
        let mut args = copy_args();
        (args.struct_size, args.src, args.dst) = (size, src.address(), dst.address());
        unsafe { plan.run(&stream, &args) }.unwrap();
        let mut back = [0u32; 8];
        stream.download(&mut back, &dst).unwrap();
        assert_eq!(back, [7; 8]);

        let mut desc = tilewright::tensor_map_desc();
        desc.global_address = 4096;
        desc.global_dim[..2].copy_from_slice(&[64, 64]);
        desc.global_stride_bytes[0] = 128;
        desc.box_dim[..2].copy_from_slice(&[8, 8]);
        desc.struct_size = size;
        TensorMap::new(&device, &desc).unwrap();
    }
}

/// Zeros are not a description, and a size that was not set is not an empty copy.
#[test]
fn what_was_not_set_is_refused() {
    let device = Device::host().unwrap();
    let zeros: sys::tw_copy_desc = unsafe { std::mem::zeroed() };
    let error = Plan::<op::Copy>::new(&device, &zeros).err().unwrap();
    assert_eq!(error.status, sys::TW_ERROR_STRUCT);
    assert!(error.message.contains("tw_copy_desc_init"), "{}", error);
    let mut desc = tilewright::rows_desc();
    (desc.dtype, desc.table_rows, desc.columns) = (sys::TW_DTYPE_F32, 4, 4);
    assert_eq!(desc.count, sys::TW_UNSET);
    let error = Plan::<op::Gather>::new(&device, &desc).err().unwrap();
    assert_eq!((error.argument.as_deref(), error.got), (Some("count"), sys::TW_UNSET));
    let asked = Plan::<op::Gather>::supported(&device, &desc).unwrap_err();
    assert_eq!((asked.status, asked.message), (error.status, error.message));
    desc.count = 0;
    Plan::<op::Gather>::new(&device, &desc).unwrap();
    Plan::<op::Gather>::supported(&device, &desc).unwrap();
}

#[test]
fn a_zero_within_a_text_is_an_error() {
    let error = Layout::parse("(2,3)\0junk").err().unwrap();
    assert_eq!((error.status, error.argument.as_deref()), (sys::TW_ERROR_PARSE, Some("text")));
    assert!(error.message.contains("byte 5"), "{}", error);
}

#[test]
fn layouts_and_plans_say_what_they_are() {
    let layout = Layout::parse("((2,3),4):((1,8),2)").unwrap();
    assert_eq!(layout.format().unwrap(), "((2,3),4):((1,8),2)");
    let device = Device::host().unwrap();
    let plan = copy_plan(&device, 8);
    assert!(plan.explain().unwrap().contains(&plan.kernel().unwrap()));
}

/// `wait` must not run between upload's check for a capture and its copy: the copy, with its
/// borrow, would become part of a graph.
#[test]
fn a_wait_does_not_come_into_an_upload() {
    const BYTES: usize = 64 << 20;
    let device = Device::host().unwrap();
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let (busy, event) = (Event::new(&device).unwrap(), Event::new(&device).unwrap());
    let large = Memory::new(&device, BYTES).unwrap();
    let mut small = Memory::new(&device, 1).unwrap();
    // On the host device an address is a pointer.
    let byte = unsafe { &*(small.address() as *const AtomicU8) };
    let waited = (1..=5u8).any(|round| {
        // The upload first waits for the stream's earlier work, which waits for a long operation.
        for _ in 0..60 {
            let status = unsafe { sys::tw_memset(other.as_raw(), large.address(), 0, BYTES as u64) };
            assert_eq!(status, sys::TW_OK);
        }
        busy.record(&other).unwrap();
        stream.wait(&busy).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(30));
                stream.wait(&event).unwrap();
                byte.load(Ordering::Relaxed) == round
            });
            stream.upload(&mut small, &[round]).unwrap();
            waiting.join().unwrap()
        })
    });
    assert!(waited);
}
