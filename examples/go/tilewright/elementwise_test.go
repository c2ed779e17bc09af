// SPDX-License-Identifier: Apache-2.0

package tilewright

import (
	"errors"
	"math"
	"reflect"
	"runtime"
	"testing"
)

// filled allocates memory with these numbers.
func filled[T Number](t *testing.T, s *Stream, numbers []T, bytes int) *Memory {
	memory, err := s.device.Alloc(bytes)
	if err == nil {
		err = Upload(s, memory, numbers)
	}
	if err != nil {
		t.Fatal(err)
	}
	return memory
}

func TestElementwise(t *testing.T) {
	device := host(t)
	stream, err := device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	a := filled(t, stream, []float32{1, 2, 3, 4}, 16)
	b := filled(t, stream, []float32{10, 20, 30, 40}, 16)
	dst := filled(t, stream, []float32{0, 0, 0, 0}, 16)
	one := []int64{1}
	plan, err := device.PlanElementwise(ElementwiseDesc{ADType: F32, BDType: F32, DstDType: F32,
		Shape: []int64{4}, AStride: one, BStride: one, DstStride: one})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.RunElementwise(stream, dst.Address, a.Address, b.Address, 2, 0.5); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, 4)
	if err := Download(stream, out, dst); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(a) // the run knows only its address
	runtime.KeepAlive(b)
	if !reflect.DeepEqual(out, []float32{7, 14, 21, 28}) {
		t.Fatal(out)
	}
}

func TestElementwiseGated(t *testing.T) {
	device := host(t)
	stream, err := device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	a := filled(t, stream, []float32{-1, 2, -3, 4}, 16)
	b := filled(t, stream, []float32{10, 20, 30, 40}, 16)
	dst := filled(t, stream, []float32{0, 0, 0, 0}, 16)
	factor := filled(t, stream, []float32{0.5}, 4)
	one := []int64{1}
	plan, err := device.PlanElementwise(ElementwiseDesc{ADType: F32, BDType: F32, DstDType: F32,
		Shape: []int64{4}, AStride: one, BStride: one, DstStride: one,
		Activation: ActivationRelu, Multiply: true, DeviceScalars: true})
	if err != nil {
		t.Fatal(err)
	}
	err = plan.RunElementwiseScaled(stream, dst.Address, a.Address, b.Address, factor.Address, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, 4)
	if err := Download(stream, out, dst); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	runtime.KeepAlive(factor)
	if !reflect.DeepEqual(out, []float32{0, 20, 0, 80}) {
		t.Fatal(out)
	}
}

// bf16 converts small integers: bf16 is the upper half of an f32.
func bf16(numbers ...float32) []uint16 {
	out := make([]uint16, len(numbers))
	for i, number := range numbers {
		out[i] = uint16(math.Float32bits(number) >> 16)
	}
	return out
}

func TestGemmWithBiasAndC(t *testing.T) {
	device := host(t)
	stream, err := device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	a := filled(t, stream, bf16(1, 2, 3, 4), 8)
	b := filled(t, stream, bf16(1, 0, 0, 1), 8)
	c := filled(t, stream, []float32{1, 1, -100, 1}, 16)
	bias := filled(t, stream, []float32{10, 20}, 8)
	d := filled(t, stream, make([]float32, 4), 16)
	plan, err := device.PlanGemm(GemmDesc{ADType: BF16, DDType: F32, A: Matrix{2, 2, 0},
		B: Matrix{2, 2, 0}, Bias: PerColumn, Activation: ActivationRelu})
	if err != nil {
		t.Fatal(err)
	}
	args := NewGemmArgs(d.Address, a.Address, b.Address)
	args.C, args.Beta = c.Address, 2
	var failure *Error
	if err := plan.RunGemm(stream, args); !errors.As(err, &failure) || failure.Argument != "bias" {
		t.Fatal(err)
	}
	args.Bias = bias.Address
	if err := plan.RunGemm(stream, args); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, 4)
	if err := Download(stream, out, d); err != nil {
		t.Fatal(err)
	}
	for _, memory := range []*Memory{a, b, c, bias} {
		runtime.KeepAlive(memory)
	}
	if !reflect.DeepEqual(out, []float32{13, 24, 0, 26}) {
		t.Fatal(out)
	}
}

func TestRagged(t *testing.T) {
	device := host(t)
	stream, err := device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	packed := filled(t, stream, []int32{1, 2, 3, 4, 5, 6}, 24)
	offsets := filled(t, stream, []int32{0, 1, 3}, 12)
	padded := filled(t, stream, make([]int32, 8), 32)
	plan, err := device.PlanRagged(RaggedDesc{DType: I32, Batch: 2, Tokens: 3, Rows: 2, Columns: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.RunRagged(stream, packed.Address, offsets.Address, padded.Address); err != nil {
		t.Fatal(err)
	}
	out := make([]int32, 8)
	if err := Download(stream, out, padded); err != nil {
		t.Fatal(err)
	}
	runtime.KeepAlive(packed)
	runtime.KeepAlive(offsets)
	if !reflect.DeepEqual(out, []int32{1, 2, 0, 0, 3, 4, 5, 6}) {
		t.Fatal(out)
	}
}
