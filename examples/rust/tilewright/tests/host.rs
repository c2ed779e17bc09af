// SPDX-License-Identifier: Apache-2.0
//! The safe crate on the host device: threads, errors, and what is dropped while it is in use.

use tilewright::{copy_args, copy_desc, op, sys, Device, Event, Layout, Memory, Plan, Stream, TensorMap};

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
    desc.global_strides[0] = 129; // no multiple of 16
    desc.box_dim[..2].copy_from_slice(&[8, 8]);
    let error = TensorMap::new(&device, &desc).err().unwrap();
    assert_eq!(error.status, sys::TW_ERROR_RULE);
    assert_eq!(error.argument.as_deref(), Some("global_strides"));
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
                let src = Memory::new(device, ELEMENTS * 4).unwrap();
                let dst = Memory::new(device, ELEMENTS * 4).unwrap();
                let numbers: Vec<u32> = (0..ELEMENTS as u32).map(|i| i * 8 + thread).collect();
                let mut back = vec![0u32; ELEMENTS];
                for _ in 0..20 {
                    stream.upload(&src, &numbers).unwrap();
                    let mut args = copy_args();
                    args.src = src.address();
                    args.dst = dst.address();
                    unsafe { plan.run(&stream, &args) }.unwrap();
                    stream.download(&mut back, &dst).unwrap();
                    assert_eq!(back, numbers);
                    // A failure of this thread's own, whose message is this thread's.
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
    let src = Memory::new(&device, elements * 4).unwrap();
    let dst = Memory::new(&device, elements * 4).unwrap();
    let done = Event::new(&device).unwrap();
    {
        let stream = Stream::new(&device).unwrap();
        stream.upload(&src, &vec![7u32; elements]).unwrap();
        let plan = copy_plan(&device, elements as i64);
        let mut args = copy_args();
        args.src = src.address();
        args.dst = dst.address();
        for _ in 0..10 {
            unsafe { plan.run(&stream, &args) }.unwrap();
        }
        done.record(&stream).unwrap();
        // The plan goes first, then the stream, both before the work is done.
    }
    done.synchronize().unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut back = vec![0u32; elements];
    stream.download(&mut back, &dst).unwrap();
    assert!(back.iter().all(|&x| x == 7));
}

#[test]
fn the_device_stays_open_for_what_was_made_of_it() {
    let device = Device::host().unwrap();
    let stream = Stream::new(&device).unwrap();
    let memory = Memory::new(&device, 64).unwrap();
    drop(device);
    stream.upload(&memory, &[1u8; 64]).unwrap();
}

#[test]
fn layouts_and_plans_say_what_they_are() {
    let layout = Layout::parse("((2,3),4):((1,8),2)").unwrap();
    assert_eq!(layout.format().unwrap(), "((2,3),4):((1,8),2)");
    let device = Device::host().unwrap();
    let plan = copy_plan(&device, 8);
    assert!(plan.explain().unwrap().contains(&plan.kernel().unwrap()));
}
