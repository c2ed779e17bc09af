// SPDX-License-Identifier: Apache-2.0

// copythengemm [host|cuda|auto] copies a window out of a bf16 matrix, multiplies it by another
// matrix, and checks every element of the result with a loop in float64.
package main

import (
	"errors"
	"fmt"
	"math"
	"os"

	"tilewright.example/tilewright"
)

// The whole matrix, the window's first element, and D (m x n) = window (m x k) times B (k x n). The
// rows of the product's operands begin at multiples of 16 bytes, as TMA requires.
const (
	rows, columns         = 320, 264
	firstRow, firstColumn = 41, 27
	m, n, k               = 201, 119, 137
	lda, ldb, ldd         = 144, 120, 120
)

// numbers generates multiples of 1/64 from -1 to 1 in a fixed order; they are exact in bf16.
type numbers uint64

func (s *numbers) matrix(elements int) []uint16 {
	out := make([]uint16, elements)
	for i := range out {
		*s = *s*6364136223846793005 + 1442695040888963407
		value := float32(uint64(*s)>>33%129)/64 - 1
		out[i] = uint16(math.Float32bits(value) >> 16)
	}
	return out
}

func fromBF16(bits uint16) float64 {
	return float64(math.Float32frombits(uint32(bits) << 16))
}

// multiply copies the window, multiplies, and returns D, row-major with a pitch of ldd.
func multiply(device *tilewright.Device, whole, b []uint16) ([]float32, error) {
	stream, err := device.NewStream()
	if err != nil {
		return nil, err
	}
	defer stream.Close()

	// The whole matrix, A (the window), B, D.
	var memory [4]*tilewright.Memory
	for i, bytes := range []int{len(whole) * 2, m * lda * 2, len(b) * 2, m * ldd * 4} {
		if memory[i], err = device.Alloc(bytes); err != nil {
			return nil, err
		}
		defer memory[i].Close()
	}
	if err = tilewright.Upload(stream, memory[0], whole); err != nil {
		return nil, err
	}
	if err = tilewright.Upload(stream, memory[2], b); err != nil {
		return nil, err
	}

	copyPlan, err := device.PlanCopy(tilewright.CopyDesc{DType: tilewright.BF16,
		Shape: []int64{m, k}, SrcStride: []int64{columns, 1}, DstStride: []int64{lda, 1}})
	if err != nil {
		return nil, err
	}
	defer copyPlan.Close()
	window := memory[0].Address + (firstRow*columns+firstColumn)*2
	if err = copyPlan.RunCopy(stream, memory[1].Address, window); err != nil {
		return nil, err
	}
	gemmPlan, err := device.PlanGemm(tilewright.GemmDesc{ADType: tilewright.BF16,
		DDType: tilewright.F32, A: tilewright.Matrix{Rows: m, Columns: k, Pitch: lda},
		B: tilewright.Matrix{Rows: k, Columns: n, Pitch: ldb}, DPitch: ldd})
	if err != nil {
		return nil, err
	}
	defer gemmPlan.Close()
	args := tilewright.NewGemmArgs(memory[3].Address, memory[1].Address, memory[2].Address)
	if err = gemmPlan.RunGemm(stream, args); err != nil {
		return nil, err
	}
	for _, plan := range []*tilewright.Plan{copyPlan, gemmPlan} {
		kernel, err := plan.Kernel()
		if err != nil {
			return nil, err
		}
		fmt.Println("kernel ", kernel)
	}
	d := make([]float32, m*ldd)
	return d, tilewright.Download(stream, d, memory[3])
}

// compare counts the wrong elements and finds the largest error.
func compare(whole, b []uint16, d []float32) (wrong int, largest float64) {
	for i := 0; i < m; i++ {
		for j := 0; j < n; j++ {
			sum := 0.0
			for l := 0; l < k; l++ {
				a := fromBF16(whole[(firstRow+i)*columns+firstColumn+l])
				sum += a * fromBF16(b[l*ldb+j])
			}
			// Each of the 137 products is a multiple of 1/4096 of at most 1: the sum is exact in f32.
			miss := math.Abs(float64(d[i*ldd+j]) - sum)
			largest = math.Max(largest, miss)
			if miss != 0 {
				wrong++
			}
		}
	}
	return wrong, largest
}

// openWanted opens "host", "cuda" or "auto". Only "auto" falls back to the host device if there is
// no usable GPU, and says so.
func openWanted(wanted string) (*tilewright.Device, error) {
	if wanted == "host" {
		return tilewright.OpenHost()
	}
	device, err := tilewright.OpenCUDA(0)
	var failure *tilewright.Error
	if errors.As(err, &failure) && wanted == "auto" {
		switch failure.Status {
		case tilewright.ErrNoDriver, tilewright.ErrDriverTooOld, tilewright.ErrNoDevice,
			tilewright.ErrUnsupportedDevice, tilewright.ErrNotBuilt:
			fmt.Println("no GPU, using the host device:", failure.Message)
			return tilewright.OpenHost()
		}
	}
	return device, err
}

func run(wanted string) (int, error) {
	device, err := openWanted(wanted)
	if err != nil {
		return 1, err
	}
	defer device.Close()
	name, err := device.Name()
	if err != nil {
		return 1, err
	}
	fmt.Println("device ", name)
	seed := numbers(1)
	whole := seed.matrix(rows * columns)
	b := seed.matrix(k * ldb)
	d, err := multiply(device, whole, b)
	if err != nil {
		return 1, err
	}
	wrong, largest := compare(whole, b, d)
	fmt.Printf("result  %d x %d: %d wrong, largest error %g\n", m, n, wrong, largest)
	if wrong != 0 {
		return 1, nil
	}
	return 0, nil
}

func main() {
	wanted := "auto"
	if len(os.Args) > 1 {
		wanted = os.Args[1]
	}
	if wanted != "host" && wanted != "cuda" && wanted != "auto" {
		fmt.Fprintf(os.Stderr, "%s: expected host, cuda or auto\n", wanted)
		os.Exit(2)
	}
	fmt.Println("tilewright", tilewright.Version())
	code, err := run(wanted)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}
