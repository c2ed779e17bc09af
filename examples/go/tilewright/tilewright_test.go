// SPDX-License-Identifier: Apache-2.0

package tilewright

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func host(t *testing.T) *Device {
	device, err := OpenHost()
	if err != nil {
		t.Fatal(err)
	}
	return device
}

func TestErrorsCarryTheRule(t *testing.T) {
	_, err := ParseLayout("(2,3")
	var failure *Error
	if !errors.As(err, &failure) || failure.Status != ErrParse || failure.Message == "" {
		t.Fatalf("%v", err)
	}
	device := host(t)
	defer device.Close()
	_, err = device.PlanCopy(CopyDesc{DType: 9999, Shape: []int64{8}, SrcStride: []int64{1},
		DstStride: []int64{1}})
	if !errors.As(err, &failure) || failure.Argument != "dtype" || failure.Got != 9999 {
		t.Fatalf("%+v", failure)
	}
	if failure.Rule == "" || !strings.Contains(err.Error(), failure.Rule) {
		t.Fatalf("no rule in %q", err)
	}
}

func TestWhatIsRefusedHere(t *testing.T) {
	device, other := host(t), host(t)
	defer device.Close()
	defer other.Close()
	stream, err := device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := device.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := other.Alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	one := []int64{1}
	rank9 := make([]int64, 9)
	huge := &Memory{device, memory.Address, 1 << 62} // pretends to be larger than it is
	for _, c := range []struct {
		argument string
		status   Status
		call     func() error
	}{
		{"text", ErrInvalidArgument, func() error { _, err := ParseLayout("(2,3)\x00junk"); return err }},
		{"ordinal", ErrInvalidArgument, func() error { _, err := OpenCUDA(1 << 32); return err }},
		{"ordinal", ErrInvalidArgument, func() error { _, err := OpenCUDA(-1 << 32); return err }},
		{"bytes", ErrInvalidArgument, func() error { _, err := device.Alloc(-1); return err }},
		{"bytes", ErrOutOfMemory, func() error { return stream.staged(1<<60, huge, nil, nil) }},
		{"memory", ErrInvalidArgument, func() error { return Upload(stream, memory, make([]uint8, 9)) }},
		{"memory", ErrInvalidArgument, func() error { return Download(stream, make([]uint8, 9), memory) }},
		{"memory", ErrWrongDevice, func() error { return Upload(stream, theirs, make([]uint8, 8)) }},
		{"memory", ErrWrongDevice, func() error { return Download(stream, make([]uint8, 8), theirs) }},
		{"SrcAlignment", ErrInvalidArgument, func() error {
			_, err := device.PlanCopy(CopyDesc{U8, one, one, one, 1<<32 + 3, 0})
			return err
		}},
		{"DstAlignment", ErrInvalidArgument, func() error {
			_, err := device.PlanCopy(CopyDesc{U8, one, one, one, 0, -1})
			return err
		}},
		{"PackedAlignment", ErrInvalidArgument, func() error {
			_, err := device.PlanGather(RowsDesc{DType: U8, TableRows: 1, Columns: 1, Count: 1,
				PackedAlignment: 1<<32 + 16})
			return err
		}},
		{"shape", ErrInvalidArgument, func() error {
			_, err := device.PlanCopy(CopyDesc{DType: U8, Shape: rank9, SrcStride: rank9, DstStride: rank9})
			return err
		}},
		{"B.Rows", ErrInvalidArgument, func() error {
			_, err := device.PlanGemm(GemmDesc{ADType: F16, DDType: F32, A: Matrix{8, 8, 0}, B: Matrix{7, 8, 0}})
			return err
		}},
	} {
		var failure *Error
		if err := c.call(); !errors.As(err, &failure) || failure.Argument != c.argument ||
			failure.Status != c.status || failure.Message == "" {
			t.Errorf("%s: %v", c.argument, err)
		}
	}
}

// A failed download writes nothing.
func TestDownloadOfNothing(t *testing.T) {
	device := host(t)
	stream, err := device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := device.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	to := bytes.Repeat([]byte{7}, 64)
	device.Close()
	var failure *Error
	if err := Download(stream, to, memory); !errors.As(err, &failure) || failure.Status != ErrDeviceClosed {
		t.Fatal(err)
	}
	if !bytes.Equal(to, bytes.Repeat([]byte{7}, 64)) {
		t.Fatal(to)
	}
}

// The collector's goroutine closes dropped objects while this one closes the device.
func TestTheDeviceClosesMeanwhile(t *testing.T) {
	for round := 0; round < 200; round++ {
		device := host(t)
		for k := 0; k < 1000; k++ {
			if _, err := device.Alloc(64); err != nil {
				t.Fatal(err)
			}
			if k%100 != 0 {
				continue
			}
			if _, err := device.NewStream(); err != nil {
				t.Fatal(err)
			}
			_, err := device.PlanCopy(CopyDesc{DType: U8, Shape: []int64{8}, SrcStride: []int64{1},
				DstStride: []int64{1}})
			if err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		device.Close()
	}
}

func TestCloseIsDoneOnce(t *testing.T) {
	layout, err := ParseLayout("(2,3):(1,2)")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := layout.Text(); err != nil || text != "(2,3):(1,2)" {
		t.Fatal(text, err)
	}
	layout.Close()
	layout.Close()
	device := host(t)
	memory, err := device.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	device.Close()
	memory.Close() // after its device, which has freed it
	device.Close()
}

// copies runs a copy many times and checks every result.
func copies(device *Device, plan *Plan, seed int32, elements, times int) error {
	stream, err := device.NewStream()
	if err != nil {
		return err
	}
	src, err := device.Alloc(elements * 4)
	if err != nil {
		return err
	}
	dst, err := device.Alloc(elements * 4)
	if err != nil {
		return err
	}
	in, out := make([]int32, elements), make([]int32, elements)
	for k := 0; k < times; k++ {
		for i := range in {
			in[i] = seed + int32(i*times+k)
		}
		if err := Upload(stream, src, in); err != nil {
			return err
		}
		if err := plan.RunCopy(stream, dst.Address, src.Address); err != nil {
			return err
		}
		if err := Download(stream, out, dst); err != nil {
			return err
		}
		runtime.KeepAlive(src)
		for i := range in {
			if in[i] != out[i] {
				return fmt.Errorf("element %d is %d, not %d", i, out[i], in[i])
			}
		}
		// A failure whose message must be this goroutine's own.
		text := fmt.Sprintf("(%d,", seed)
		if _, err := ParseLayout(text); err == nil || !strings.Contains(err.Error(), text) {
			return fmt.Errorf("%q gave %v", text, err)
		}
	}
	return nil // nothing is closed: the collector does it
}

func TestGoroutinesShareAPlan(t *testing.T) {
	const elements = 1000
	device := host(t)
	plan, err := device.PlanCopy(CopyDesc{DType: I32, Shape: []int64{elements},
		SrcStride: []int64{1}, DstStride: []int64{1}})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for g := int32(0); g < 16; g++ {
		g := g
		group.Add(1)
		go func() {
			defer group.Done()
			if err := copies(device, plan, g*1000003, elements, 20); err != nil {
				t.Error(err)
			}
			runtime.GC()
		}()
	}
	group.Wait()
}

// The collector finalizes objects in any order, with work in flight.
func TestFinalizers(t *testing.T) {
	for round := 0; round < 20; round++ {
		func() {
			device := host(t)
			plan, err := device.PlanCopy(CopyDesc{DType: U8, Shape: []int64{1 << 20},
				SrcStride: []int64{1}, DstStride: []int64{1}})
			if err != nil {
				t.Fatal(err)
			}
			memory, err := device.Alloc(2 << 20)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := device.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			for k := 0; k < 5; k++ {
				if err := plan.RunCopy(stream, memory.Address+1<<20, memory.Address); err != nil {
					t.Fatal(err)
				}
			}
			if round%2 == 0 {
				if err := stream.Synchronize(); err != nil {
					t.Fatal(err)
				}
			} else { // the device waits for its streams before it frees the memory
				device.Close()
			}
			runtime.KeepAlive(memory) // until the last run is enqueued; freeing waits for the runs
		}()
		runtime.GC()
	}
}
