// SPDX-License-Identifier: Apache-2.0

package main

// The few calls of tilewright that the program makes, in Go's words.
//
// Two things about cgo shape this file. tw_last_error() is the calling thread's, and Go may move a
// goroutine between any two calls of C: check() locks the thread around the failing call and the
// message. And C may keep no Go memory after a call has returned, while the library's copies go on
// until the stream reaches them: upload and download go through a buffer of C's and wait.

/*
#cgo pkg-config: --static tilewright
#include <stdlib.h>
#include <tilewright/tilewright.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Error is a failed call.
type Error struct {
	Status  C.tw_status
	Message string
}

func (e *Error) Error() string {
	return C.GoString(C.tw_status_name(e.Status)) + ": " + e.Message
}

// check makes one call of the library and, where it fails, fetches its message on the same thread.
func check(call func() C.tw_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if status := call(); status != C.TW_OK {
		return &Error{status, C.GoString(C.tw_last_error())}
	}
	return nil
}

func version() string { return C.GoString(C.tw_version_string()) }

// Device is an open device; Close frees what Alloc gave, too.
type Device struct{ handle *C.tw_device }

func openDevice(kind C.tw_device_kind) (*Device, error) {
	d := &Device{}
	err := check(func() C.tw_status { return C.tw_device_create(kind, 0, &d.handle) })
	return d, err
}

func (d *Device) Close() { C.tw_device_destroy(d.handle) }

func (d *Device) Name() (string, error) {
	var info C.tw_device_info
	info.struct_size = C.uint32_t(unsafe.Sizeof(info))
	err := check(func() C.tw_status { return C.tw_device_get_info(d.handle, &info) })
	return C.GoString(&info.name[0]), err
}

// Alloc gives device memory; it lives until the device is closed.
func (d *Device) Alloc(bytes int) (uint64, error) {
	var address C.uint64_t
	err := check(func() C.tw_status { return C.tw_malloc(d.handle, C.uint64_t(bytes), &address) })
	return uint64(address), err
}

// Stream is a queue of work.
type Stream struct{ handle *C.tw_stream }

func (d *Device) NewStream() (*Stream, error) {
	s := &Stream{}
	err := check(func() C.tw_status { return C.tw_stream_create(d.handle, &s.handle) })
	return s, err
}

func (s *Stream) Close() { C.tw_stream_destroy(s.handle) }

func (s *Stream) Synchronize() error {
	return check(func() C.tw_status { return C.tw_stream_synchronize(s.handle) })
}

// staged lends work a buffer of C's heap until the stream is done.
func (s *Stream) staged(bytes int, work func(unsafe.Pointer) error) error {
	buffer := C.malloc(C.size_t(bytes))
	if buffer == nil {
		return fmt.Errorf("no memory for %d bytes", bytes)
	}
	err := work(buffer)
	if waited := s.Synchronize(); err == nil {
		err = waited
	}
	C.free(buffer)
	return err
}

func (s *Stream) Upload(dst uint64, src []uint16) error {
	bytes := len(src) * 2
	return s.staged(bytes, func(buffer unsafe.Pointer) error {
		copy(unsafe.Slice((*uint16)(buffer), len(src)), src)
		return check(func() C.tw_status {
			return C.tw_memcpy_to_device(s.handle, C.uint64_t(dst), buffer, C.uint64_t(bytes))
		})
	})
}

func (s *Stream) Download(dst []float32, src uint64) error {
	bytes := len(dst) * 4
	return s.staged(bytes, func(buffer unsafe.Pointer) error {
		err := check(func() C.tw_status {
			return C.tw_memcpy_to_host(s.handle, buffer, C.uint64_t(src), C.uint64_t(bytes))
		})
		if err == nil {
			err = s.Synchronize()
		}
		copy(dst, unsafe.Slice((*float32)(buffer), len(dst)))
		return err
	})
}

// Plan is an operation that was made once and can be run many times.
type Plan struct{ handle *C.tw_plan }

func (p *Plan) Close() { C.tw_plan_destroy(p.handle) }

func (p *Plan) Kernel() (string, error) {
	var info C.tw_plan_info
	info.struct_size = C.uint32_t(unsafe.Sizeof(info))
	err := check(func() C.tw_status { return C.tw_plan_get_info(p.handle, &info) })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, tile %d x %d x %d", C.GoString(info.kernel), info.tile[0],
		info.tile[1], info.tile[2]), nil
}

// Matrix says how a bf16 matrix lies in memory: rows, columns, and elements between rows.
type Matrix struct{ rows, columns, pitch int }

// PlanCopy plans a copy of src's rows and columns from one pitch to another.
func (d *Device) PlanCopy(src Matrix, dstPitch int) (*Plan, error) {
	var desc C.tw_copy_desc
	p := &Plan{}
	err := check(func() C.tw_status { return C.tw_copy_desc_init(&desc) })
	if err != nil {
		return p, err
	}
	desc.dtype = C.TW_DTYPE_BF16
	desc.rank = 2
	desc.shape[0], desc.shape[1] = C.int64_t(src.rows), C.int64_t(src.columns)
	desc.src_stride[0], desc.src_stride[1] = C.int64_t(src.pitch), 1
	desc.dst_stride[0], desc.dst_stride[1] = C.int64_t(dstPitch), 1
	err = check(func() C.tw_status { return C.tw_copy_plan(d.handle, &desc, &p.handle) })
	return p, err
}

func (p *Plan) RunCopy(s *Stream, dst, src uint64) error {
	var args C.tw_copy_args
	return check(func() C.tw_status {
		if status := C.tw_copy_args_init(&args); status != C.TW_OK {
			return status
		}
		args.src, args.dst = C.uint64_t(src), C.uint64_t(dst)
		return C.tw_copy_run(p.handle, s.handle, &args)
	})
}

// PlanGemm plans D = A B with D in f32, dPitch elements between its rows.
func (d *Device) PlanGemm(a, b Matrix, dPitch int) (*Plan, error) {
	var desc C.tw_gemm_desc
	p := &Plan{}
	err := check(func() C.tw_status { return C.tw_gemm_desc_init(&desc) })
	if err != nil {
		return p, err
	}
	desc.ab_dtype, desc.d_dtype = C.TW_DTYPE_BF16, C.TW_DTYPE_F32
	desc.m, desc.n, desc.k = C.int64_t(a.rows), C.int64_t(b.columns), C.int64_t(a.columns)
	desc.lda, desc.ldb = C.int64_t(a.pitch), C.int64_t(b.pitch)
	desc.ldc, desc.ldd = C.int64_t(dPitch), C.int64_t(dPitch)
	err = check(func() C.tw_status { return C.tw_gemm_plan(d.handle, &desc, &p.handle) })
	return p, err
}

func (p *Plan) RunGemm(s *Stream, dst, a, b uint64) error {
	var args C.tw_gemm_args
	return check(func() C.tw_status {
		if status := C.tw_gemm_args_init(&args); status != C.TW_OK {
			return status
		}
		args.a, args.b, args.d = C.uint64_t(a), C.uint64_t(b), C.uint64_t(dst)
		return C.tw_gemm_run(p.handle, s.handle, &args)
	})
}

// openWanted opens "host", "cuda" or "auto", which takes the host's device only where there is no
// usable GPU, and says so.
func openWanted(wanted string) (*Device, error) {
	if wanted == "host" {
		return openDevice(C.TW_DEVICE_HOST)
	}
	device, err := openDevice(C.TW_DEVICE_CUDA)
	if failure, ok := err.(*Error); ok && wanted == "auto" {
		switch failure.Status {
		case C.TW_ERROR_NO_DRIVER, C.TW_ERROR_DRIVER_TOO_OLD, C.TW_ERROR_NO_DEVICE,
			C.TW_ERROR_UNSUPPORTED_DEVICE, C.TW_ERROR_NOT_BUILT:
			fmt.Println("no GPU, so the host device:", failure.Message)
			return openDevice(C.TW_DEVICE_HOST)
		}
	}
	return device, err
}
