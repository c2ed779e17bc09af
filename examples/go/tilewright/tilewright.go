// SPDX-License-Identifier: Apache-2.0

// Package tilewright is a Go interface to the tilewright library.
//
// Objects are released by Close, or by the garbage collector if Close is not called; closing twice has no
// effect. Every object keeps its Device open. Like the library's functions, all methods may be called from
// any number of goroutines at once, also on the same object. Close must not overlap another use of the
// same object.
//
// Two properties of cgo shape this package. First, tw_last_error() belongs to the calling thread, and Go
// may move a goroutine to another thread between two calls of C: check locks the thread around the failing
// call and the call that fetches its message. Second, C must not keep Go memory after a call returns, while
// the library's copies are asynchronous: Upload and Download go through a C buffer and wait.
package tilewright

/*
#cgo pkg-config: --static tilewright
#include <stdlib.h>
#include <tilewright/tilewright.h>
*/
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

// Error is a failed call, with the details of tw_last_error() and tw_last_error_info().
type Error struct {
	Status       Status
	Message      string // what was wrong, with the numbers, and what would work
	Argument     string // name of the argument or field, or ""
	Rule         string // stable id of the broken rule, or ""
	Index        int    // element of the argument, or -1
	Got, Limit   int64
	DriverResult int // the CUresult if a driver call failed
}

func (e *Error) Error() string {
	text := C.GoString(C.tw_status_name(C.tw_status(e.Status)))
	if e.Rule != "" {
		text += " (" + e.Rule + ")"
	}
	return text + ": " + e.Message
}

// initialised returns a C struct with its defaults. If its init function fails, because the library
// is older than the struct's first version, the call that takes the struct fails, too.
func initialised[T any]() (out T) {
	initialise(&out)
	return out
}

// check makes one call of the library and, if it fails, fetches the error on the same thread.
func check(call func() C.tw_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := call()
	if status == C.TW_OK {
		return nil
	}
	failure := &Error{Status: Status(status), Message: C.GoString(C.tw_last_error())}
	info := initialised[C.tw_error_info]()
	if C.tw_last_error_info(&info) == C.TW_OK {
		failure.Argument, failure.Rule = C.GoString(info.argument), C.GoString(info.rule)
		failure.Index, failure.DriverResult = int(info.index), int(info.driver_result)
		failure.Got, failure.Limit = int64(info.got), int64(info.limit)
	}
	return failure
}

// refused is an error found by this package, in the form of the library's errors.
func refused(argument string, got, limit int, format string, numbers ...any) error {
	return &Error{Status: ErrInvalidArgument, Message: fmt.Sprintf(format, numbers...),
		Argument: argument, Index: -1, Got: int64(got), Limit: int64(limit)}
}

// whole refuses a text with a zero byte, which C would read as a shorter text.
func whole(argument, text string) error {
	if at := strings.IndexByte(text, 0); at >= 0 {
		return refused(argument, at, len(text), "%q has a zero at byte %d", text, at)
	}
	return nil
}

// Version returns the library's version, such as "0.2.0".
func Version() string { return C.GoString(C.tw_version_string()) }

// text fetches a text, after a first call that asks for its length.
func text(call func(buffer *C.char, capacity C.size_t, length *C.size_t) C.tw_status) (string, error) {
	var length C.size_t
	if err := check(func() C.tw_status { return call(nil, 0, &length) }); err != nil {
		return "", err
	}
	buffer := make([]byte, length)
	err := check(func() C.tw_status {
		return call((*C.char)(unsafe.Pointer(&buffer[0])), length, &length)
	})
	return string(buffer[:length-1]), err
}

// Device is a GPU or the CPU reference.
type Device struct {
	handle *C.tw_device
	// The collector may finalize Memory of this device while another goroutine closes the device.
	closing sync.RWMutex
}

// OpenHost opens the CPU reference.
func OpenHost() (*Device, error) { return open(C.TW_DEVICE_HOST, 0) }

// OpenCUDA opens a GPU by its ordinal, on its primary context.
func OpenCUDA(ordinal int) (*Device, error) { return open(C.TW_DEVICE_CUDA, ordinal) }

func open(kind C.tw_device_kind, ordinal int) (*Device, error) {
	if int(int32(ordinal)) != ordinal {
		return nil, refused("ordinal", ordinal, math.MaxInt32, "%d is no device's number", ordinal)
	}
	d := &Device{}
	err := check(func() C.tw_status {
		return C.tw_device_create(kind, C.int32_t(ordinal), &d.handle)
	})
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(d, (*Device).Close)
	return d, nil
}

// Close waits for the device's streams and frees its memory.
func (d *Device) Close() {
	d.closing.Lock()
	defer d.closing.Unlock()
	C.tw_device_destroy(d.handle)
	d.handle = nil
	runtime.SetFinalizer(d, nil)
}

// Name returns the device's name; the CPU reference is called "host".
func (d *Device) Name() (string, error) {
	info := initialised[C.tw_device_info]()
	err := check(func() C.tw_status { return C.tw_device_get_info(d.handle, &info) })
	runtime.KeepAlive(d)
	return C.GoString(&info.name[0]), err
}

// Memory is device memory that the library allocated.
type Memory struct {
	device  *Device
	Address uint64
	Bytes   int
}

// Alloc allocates device memory.
func (d *Device) Alloc(bytes int) (*Memory, error) {
	if bytes < 0 {
		return nil, refused("bytes", bytes, math.MaxInt, "%d bytes", bytes)
	}
	var address C.uint64_t
	err := check(func() C.tw_status { return C.tw_malloc(d.handle, C.uint64_t(bytes), &address) })
	if err != nil {
		return nil, err
	}
	m := &Memory{d, uint64(address), bytes}
	runtime.SetFinalizer(m, (*Memory).Close)
	return m, nil
}

// Close frees the memory. No work in flight may still use it.
func (m *Memory) Close() {
	m.device.closing.RLock()
	defer m.device.closing.RUnlock()
	if m.device.handle != nil { // a closed device has freed it already
		C.tw_free(m.device.handle, C.uint64_t(m.Address))
	}
	m.Address = 0
	runtime.SetFinalizer(m, nil)
}

// Registered is memory that Alloc did not allocate, registered for a device's operands until Close.
// The host device accepts operands only in registered memory and in memory of Alloc; a GPU accepts
// any.
type Registered struct {
	device  *Device
	address uint64
}

// Register registers memory of another owner: C memory, or Go memory that does not move.
func (d *Device) Register(address uint64, bytes int) (*Registered, error) {
	if bytes < 0 {
		return nil, refused("bytes", bytes, math.MaxInt, "%d bytes", bytes)
	}
	err := check(func() C.tw_status {
		return C.tw_memory_register(d.handle, C.uint64_t(address), C.uint64_t(bytes))
	})
	if err != nil {
		return nil, err
	}
	r := &Registered{d, address}
	runtime.SetFinalizer(r, (*Registered).Close)
	return r, nil
}

// Close ends the registration. Work in flight may still use the memory.
func (r *Registered) Close() {
	r.device.closing.RLock()
	defer r.device.closing.RUnlock()
	if r.device.handle != nil { // a closed device has dropped it already
		C.tw_memory_unregister(r.device.handle, C.uint64_t(r.address))
	}
	r.address = 0
	runtime.SetFinalizer(r, nil)
}

// Stream is a queue of work.
type Stream struct {
	device *Device
	handle *C.tw_stream
}

// NewStream creates a stream.
func (d *Device) NewStream() (*Stream, error) {
	s := &Stream{device: d}
	if err := check(func() C.tw_status { return C.tw_stream_create(d.handle, &s.handle) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(s, (*Stream).Close)
	return s, nil
}

// Close destroys the stream. Its work continues.
func (s *Stream) Close() {
	C.tw_stream_destroy(s.handle)
	s.handle = nil
	runtime.SetFinalizer(s, nil)
}

// Synchronize waits until all enqueued work is done.
func (s *Stream) Synchronize() error {
	err := check(func() C.tw_status { return C.tw_stream_synchronize(s.handle) })
	runtime.KeepAlive(s)
	return err
}

// Number is an element type of Upload and Download.
type Number interface {
	~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// staged makes a copy through a buffer of `bytes` bytes on the C heap: it calls enqueue with the
// buffer, waits for the stream, and then calls fetch, which may be nil.
func (s *Stream) staged(bytes int, memory *Memory, enqueue func(unsafe.Pointer) C.tw_status,
	fetch func(unsafe.Pointer)) error {
	if memory.device != s.device {
		return &Error{Status: ErrWrongDevice, Argument: "memory", Index: -1,
			Message: "the memory was allocated on another Device than the stream's"}
	}
	if bytes > memory.Bytes {
		return refused("memory", bytes, memory.Bytes, "%d bytes do not fit memory of %d bytes", bytes, memory.Bytes)
	}
	// C.malloc of cgo aborts the process if there is no memory; C.calloc returns nil.
	buffer := C.calloc(C.size_t(bytes)+1, 1)
	if buffer == nil {
		return &Error{Status: ErrOutOfMemory, Argument: "bytes", Index: -1, Got: int64(bytes),
			Message: fmt.Sprintf("there is no memory for a buffer of %d bytes", bytes)}
	}
	defer runtime.KeepAlive(memory)
	err := check(func() C.tw_status { return enqueue(buffer) })
	if err == nil {
		if err = s.Synchronize(); err != nil {
			return err // the stream may still use the buffer: leak it
		}
		if fetch != nil {
			fetch(buffer)
		}
	}
	C.free(buffer)
	return err
}

// Upload copies to the start of memory of the stream's device, and waits.
func Upload[T Number](s *Stream, to *Memory, from []T) error {
	var one T
	bytes := len(from) * int(unsafe.Sizeof(one))
	return s.staged(bytes, to, func(buffer unsafe.Pointer) C.tw_status {
		copy(unsafe.Slice((*T)(buffer), len(from)), from)
		return C.tw_memcpy_to_device(s.handle, C.uint64_t(to.Address), buffer, C.uint64_t(bytes))
	}, nil)
}

// Download waits for the stream's work and copies from the start of memory of the stream's device.
// A failure leaves `to` unchanged.
func Download[T Number](s *Stream, to []T, from *Memory) error {
	var one T
	bytes := len(to) * int(unsafe.Sizeof(one))
	return s.staged(bytes, from, func(buffer unsafe.Pointer) C.tw_status {
		return C.tw_memcpy_to_host(s.handle, buffer, C.uint64_t(from.Address), C.uint64_t(bytes))
	}, func(buffer unsafe.Pointer) { copy(to, unsafe.Slice((*T)(buffer), len(to))) })
}

// Layout is a layout of CuTe's algebra.
type Layout struct{ handle *C.tw_layout }

// ParseLayout parses a layout, such as "((2,3),4):((1,8),2)".
func ParseLayout(source string) (*Layout, error) {
	if err := whole("text", source); err != nil {
		return nil, err
	}
	l := &Layout{}
	zeroed := C.CString(source)
	defer C.free(unsafe.Pointer(zeroed))
	if err := check(func() C.tw_status { return C.tw_layout_parse(zeroed, &l.handle) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(l, (*Layout).Close)
	return l, nil
}

// Close frees the layout.
func (l *Layout) Close() {
	C.tw_layout_destroy(l.handle)
	l.handle = nil
	runtime.SetFinalizer(l, nil)
}

// Text formats the layout.
func (l *Layout) Text() (string, error) {
	out, err := text(func(buffer *C.char, capacity C.size_t, length *C.size_t) C.tw_status {
		return C.tw_layout_format(l.handle, buffer, capacity, length)
	})
	runtime.KeepAlive(l)
	return out, err
}
