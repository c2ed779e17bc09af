// SPDX-License-Identifier: Apache-2.0

// decode [cuda] is a decode step of an inference engine, in bf16: out = gelu(x up + bias) down + x,
// where x are the embeddings of some tokens. Finally it stores the rows of out in slots of a cache.
// It writes the bytes of the cache and of out to stdout. Without "cuda" it runs on the CPU
// reference.
package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"unsafe"

	tw "tilewright.example/tilewright"
)

const words, hidden, inner, tokens, slots = 32, 16, 48, 4, 8

// numbers generates multiples of 1/8 from -1 to 1, exact in bf16, the upper half of an f32.
func numbers(count, seed int) []uint16 {
	out := make([]uint16, count)
	for i := range out {
		value := float32((7*i+seed)%17-8) / 8
		out[i] = uint16(math.Float32bits(value) >> 16)
	}
	return out
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

// room allocates device memory for bf16 numbers.
func room(device *tw.Device, count int) *tw.Memory { return must(device.Alloc(count * 2)) }

func upload[T tw.Number](device *tw.Device, stream *tw.Stream, from []T) *tw.Memory {
	memory := must(device.Alloc(len(from) * int(unsafe.Sizeof(from[0]))))
	check(tw.Upload(stream, memory, from))
	return memory
}

// decode returns the rows of the cache and of the output.
func decode(device *tw.Device) (kept, given []uint16) {
	stream := must(device.NewStream())
	table := upload(device, stream, numbers(words*hidden, 0))
	up := upload(device, stream, numbers(hidden*inner, 3))
	bias := upload(device, stream, numbers(inner, 5))
	down := upload(device, stream, numbers(inner*hidden, 11))
	token := upload(device, stream, []int32{7, 18, 29, 7})
	slot := upload(device, stream, []int32{5, 0, 3, 6})
	cache := upload(device, stream, make([]uint16, slots*hidden))
	x, between := room(device, tokens*hidden), room(device, tokens*inner)
	out := room(device, tokens*hidden)

	rows := tw.RowsDesc{DType: tw.BF16, TableRows: words, Columns: hidden, Count: tokens}
	gather := must(device.PlanGather(rows))
	rows.TableRows = slots
	scatter := must(device.PlanScatter(rows))
	widen := must(device.PlanGemm(tw.GemmDesc{ADType: tw.BF16,
		A: tw.Matrix{Rows: tokens, Columns: hidden}, B: tw.Matrix{Rows: hidden, Columns: inner},
		Bias: tw.PerColumn, Activation: tw.ActivationGelu}))
	narrow := must(device.PlanGemm(tw.GemmDesc{ADType: tw.BF16,
		A: tw.Matrix{Rows: tokens, Columns: inner}, B: tw.Matrix{Rows: inner, Columns: hidden}}))

	check(gather.RunRows(stream, table.Address, token.Address, x.Address, -1, false))
	first := tw.NewGemmArgs(between.Address, x.Address, up.Address)
	first.Bias = bias.Address
	check(widen.RunGemm(stream, first))
	second := tw.NewGemmArgs(out.Address, between.Address, down.Address)
	second.C, second.Beta = x.Address, 1 // the residual
	check(narrow.RunGemm(stream, second))
	check(scatter.RunRows(stream, cache.Address, slot.Address, out.Address, -1, true))

	kept, given = make([]uint16, slots*hidden), make([]uint16, tokens*hidden)
	check(tw.Download(stream, kept, cache))
	check(tw.Download(stream, given, out))
	// An address does not keep its memory alive: it must not be collected before the runs are done.
	runtime.KeepAlive([]*tw.Memory{table, up, bias, down, token, slot, x, between})
	return kept, given
}

func main() {
	open := tw.OpenHost
	if len(os.Args) > 1 && os.Args[1] == "cuda" {
		open = func() (*tw.Device, error) { return tw.OpenCUDA(0) }
	}
	device := must(open())
	defer device.Close()
	kept, given := decode(device)
	for _, number := range append(kept, given...) {
		must(os.Stdout.Write([]byte{byte(number), byte(number >> 8)}))
	}
}
