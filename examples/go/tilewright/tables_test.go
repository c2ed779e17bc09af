// SPDX-License-Identifier: Apache-2.0

package tilewright

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"
)

func TestDLPackOutAndBack(t *testing.T) {
	device := host(t)
	defer device.Close()
	memory, err := device.Alloc(24)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []DLPackForm{DLPackTensor, DLPackVersioned} {
		released := 0
		managed, err := ToDLPack(Tensor{DType: F32, Address: memory.Address, Shape: []int64{2, 3}}, form,
			func() { released++; runtime.KeepAlive(memory) })
		if err != nil {
			t.Fatal(err)
		}
		back, err := managed.Tensor()
		if err != nil {
			t.Fatal(err)
		}
		if back.DType != F32 || back.OnGPU || back.Address != memory.Address || len(back.Shape) != 2 ||
			back.Shape[1] != 3 || back.Stride[0] != 3 || back.Stride[1] != 1 {
			t.Fatalf("%+v", back)
		}
		if released != 0 {
			t.Fatal("released before anybody was done with it")
		}
		managed.Close()
		managed.Close()
		if released != 1 {
			t.Fatalf("released %d times", released)
		}
	}
}

// The strides must equal those that the library computes for DLPack tensors without strides.
func TestDLPackStridesLeftOut(t *testing.T) {
	for _, c := range []struct{ shape, stride []int64 }{
		{[]int64{2, 0, 3}, []int64{3, 3, 1}}, {[]int64{0, 0, 0}, []int64{1, 1, 1}},
		{[]int64{4, 1, 5}, []int64{5, 5, 1}}} {
		managed, err := ToDLPack(Tensor{DType: F32, Address: 4096, Shape: c.shape}, DLPackVersioned, nil)
		if err != nil {
			t.Fatal(err)
		}
		back, err := managed.Tensor()
		if err != nil || len(back.Stride) != 3 {
			t.Fatal(back, err)
		}
		for i, stride := range c.stride {
			if back.Stride[i] != stride {
				t.Errorf("strides of %v are %v", c.shape, back.Stride)
			}
		}
		managed.Close()
	}
}

func TestDLPackGivenAway(t *testing.T) {
	done := make(chan bool, 1)
	managed, err := ToDLPack(Tensor{DType: I32, Address: 4096, Shape: []int64{4}, Stride: []int64{2}},
		DLPackVersioned, func() { done <- true })
	if err != nil {
		t.Fatal(err)
	}
	consumer := &Managed{managed.Release(), DLPackVersioned}
	managed.Close() // released: nothing to do
	if len(done) != 0 {
		t.Fatal("the giver freed it")
	}
	if back, err := consumer.Tensor(); err != nil || back.Stride[0] != 2 {
		t.Fatal(back, err)
	}
	go consumer.Close()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody was told")
	}
}

var lent = [2][4]int32{{1, 2, 3, 4}} // package variables do not move

// The host device accepts operands in registered memory until Close.
func TestBorrowedMemory(t *testing.T) {
	device := host(t)
	stream, err := device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := device.PlanCopy(CopyDesc{DType: I32, Shape: []int64{4}, SrcStride: []int64{1},
		DstStride: []int64{-1}})
	if err != nil {
		t.Fatal(err)
	}
	src, dst := &lent[0], &lent[1]
	from, to := uint64(uintptr(unsafe.Pointer(&src[0]))), uint64(uintptr(unsafe.Pointer(&dst[3])))
	known, err := device.Register(from, 16)
	if err != nil {
		t.Fatal(err)
	}
	var failed *Error
	if err = plan.RunCopy(stream, to, from); !errors.As(err, &failed) || failed.Argument != "dst" {
		t.Fatal(err)
	}
	managed, err := ToDLPack(Tensor{DType: I32, Address: to, Shape: []int64{4}, Stride: []int64{-1}},
		DLPackTensor, nil)
	if err != nil {
		t.Fatal(err)
	}
	borrowed, err := device.BorrowDLPack(managed.Pointer(), DLPackTensor)
	if err != nil {
		t.Fatal(err)
	}
	if err = plan.RunCopy(stream, to, from); err != nil {
		t.Fatal(err)
	}
	if err = stream.Synchronize(); err != nil || dst[0] != 4 || dst[3] != 1 {
		t.Fatal(err, dst)
	}
	borrowed.Close()
	if err = plan.RunCopy(stream, to, from); !errors.As(err, &failed) || failed.Argument != "dst" {
		t.Fatal(err)
	}
	managed.Close()
	known.Close()
	known.Close() // no effect
	if _, err = device.Register(from, -1); err == nil {
		t.Fatal("a negative size")
	}
}

// The collector releases a tensor that was read and then dropped.
func TestDLPackForgotten(t *testing.T) {
	released := make(chan bool, 20)
	for round := 0; round < cap(released); round++ {
		managed, err := ToDLPack(Tensor{DType: F32, Address: 4096, Shape: []int64{2, 3}}, DLPackVersioned,
			func() { released <- true })
		if err != nil {
			t.Fatal(err)
		}
		if back, err := managed.Tensor(); err != nil || back.Address != 4096 || back.Stride[0] != 3 {
			t.Fatal(back, err)
		}
	}
	// one may still be in a register
	for count, deadline := 0, time.After(10*time.Second); count < cap(released)-1; {
		runtime.GC()
		select {
		case <-released:
			count++
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Fatalf("%d were released", count)
		}
	}
}

func TestDLPackRefusals(t *testing.T) {
	var failure *Error
	_, err := ToDLPack(Tensor{DType: 9999, Shape: []int64{1}}, DLPackTensor, nil)
	if !errors.As(err, &failure) || failure.Argument != "dtype" || failure.Got != 9999 {
		t.Fatal(err)
	}
	if _, err = ToDLPack(Tensor{DType: F32, Shape: make([]int64, 9)}, DLPackTensor, nil); err == nil {
		t.Fatal("nine dimensions")
	}
	_, err = ToDLPack(Tensor{DType: F32, OnGPU: true, Ordinal: 1 << 32, Shape: []int64{1}}, DLPackTensor, nil)
	if !errors.As(err, &failure) || failure.Argument != "ordinal" || failure.Got != 1<<32 {
		t.Fatal(err)
	}
	if _, err = FromDLPack(nil, DLPackTensor); !errors.As(err, &failure) || failure.Argument != "dlpack" {
		t.Fatal(err)
	}
}

// The list is empty in a library without kernels.
func TestKernels(t *testing.T) {
	kernels, err := Kernels()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, kernel := range kernels {
		if strings.HasPrefix(kernel.Op.String(), "Op(") {
			t.Errorf("%s serves plans of %v, which has no name", kernel.Name, kernel.Op)
		}
		if seen[kernel.Target] {
			continue
		}
		seen[kernel.Target] = true
		image, err := kernel.Image()
		if err != nil || uint64(len(image)) != kernel.ImageBytes {
			t.Fatal(kernel, len(image), err)
		}
		info, err := kernel.Info()
		if strings.HasPrefix(kernel.Target, "compute_") {
			if err == nil || !bytes.Contains(image, []byte(".entry "+kernel.Name)) {
				t.Fatal(kernel, info)
			}
		} else if err != nil || info.Registers <= 0 || !bytes.HasPrefix(image, []byte("\x7fELF")) {
			t.Fatal(kernel, info, err)
		}
	}
	if OpCopies.String() != "copies" || Op(99).String() != "Op(99)" {
		t.Error(OpCopies, Op(99))
	}
	var failure *Error
	for name, status := range map[string]Status{"none": ErrNotFound, "none\x00": ErrInvalidArgument} {
		_, err := (Kernel{Name: name, Target: "sm_90a"}).Image()
		if !errors.As(err, &failure) || failure.Status != status {
			t.Fatal(err)
		}
	}
}
