// SPDX-License-Identifier: Apache-2.0

package tilewright

/*
#include <tilewright/tilewright.h>
*/
import "C"

import (
	"fmt"
	"math"
	"runtime"
)

// Plan is an operation that is planned once and can be run many times, from any goroutine.
type Plan struct {
	device *Device
	handle *C.tw_plan
}

func (d *Device) newPlan(make func(out **C.tw_plan) C.tw_status) (*Plan, error) {
	// A separate variable: C must not get a pointer into a struct with other Go pointers.
	var handle *C.tw_plan
	if err := check(func() C.tw_status { return make(&handle) }); err != nil {
		return nil, err
	}
	p := &Plan{d, handle}
	runtime.SetFinalizer(p, (*Plan).Close)
	return p, nil
}

// Close destroys the plan. Runs in flight continue.
func (p *Plan) Close() {
	C.tw_plan_destroy(p.handle)
	p.handle = nil
	runtime.SetFinalizer(p, nil)
}

// Kernel returns the name of the kernel and its tile.
func (p *Plan) Kernel() (string, error) {
	info := initialised[C.tw_plan_info]()
	err := check(func() C.tw_status { return C.tw_plan_get_info(p.handle, &info) })
	runtime.KeepAlive(p)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, tile %d x %d x %d", C.GoString(info.kernel), info.tile[0],
		info.tile[1], info.tile[2]), nil
}

// Explain describes what a run will do.
func (p *Plan) Explain() (string, error) {
	out, err := text(func(buffer *C.char, capacity C.size_t, length *C.size_t) C.tw_status {
		return C.tw_plan_explain(p.handle, buffer, capacity, length)
	})
	runtime.KeepAlive(p)
	return out, err
}

// enqueue makes one run. The memory that it refers to must live until the run is done.
func (p *Plan) enqueue(s *Stream, call func() C.tw_status) error {
	err := check(call)
	runtime.KeepAlive(p)
	runtime.KeepAlive(s)
	return err
}

// All sizes of a description must be set. A size of 0, which is also the zero value, means an empty
// operation: it is planned and run like any other, and touches nothing.

// CopyDesc describes dst[i...] = src[i...]. Extents and strides are in elements, outermost first.
type CopyDesc struct {
	DType                       DType
	Shape, SrcStride, DstStride []int64
	SrcAlignment, DstAlignment  int // promised, in bytes; 0: none
}

// PlanCopy plans a copy.
func (d *Device) PlanCopy(from CopyDesc) (*Plan, error) {
	rank := len(from.Shape)
	if rank > C.TW_MAX_RANK || len(from.SrcStride) != rank || len(from.DstStride) != rank {
		return nil, refused("shape", rank, C.TW_MAX_RANK,
			"a copy has 1 to %d extents, and source and destination have one stride per extent", C.TW_MAX_RANK)
	}
	if err := alignments(from.SrcAlignment, from.DstAlignment, "SrcAlignment", "DstAlignment"); err != nil {
		return nil, err
	}
	return d.newPlan(func(out **C.tw_plan) C.tw_status {
		desc := initialised[C.tw_copy_desc]()
		desc.dtype = C.tw_dtype(from.DType)
		desc.rank = C.int32_t(rank)
		desc.src_alignment = C.uint32_t(from.SrcAlignment)
		desc.dst_alignment = C.uint32_t(from.DstAlignment)
		for i := range from.Shape {
			desc.shape[i] = C.int64_t(from.Shape[i])
			desc.src_stride[i] = C.int64_t(from.SrcStride[i])
			desc.dst_stride[i] = C.int64_t(from.DstStride[i])
		}
		return C.tw_copy_plan(d.handle, &desc, out)
	})
}

// RunCopy enqueues a run of a copy.
func (p *Plan) RunCopy(s *Stream, dst, src uint64) error {
	args := initialised[C.tw_copy_args]()
	return p.enqueue(s, func() C.tw_status {
		args.src, args.dst = C.uint64_t(src), C.uint64_t(dst)
		return C.tw_copy_run(p.handle, s.handle, &args)
	})
}

// RowsDesc describes a gather or a scatter of rows by index.
type RowsDesc struct {
	DType, IndexDType               DType // I32 or I64; 0 is I32
	TableRows, TablePitch           int64 // pitch 0: packed
	Column, Columns, Count          int64
	PackedPitch                     int64
	TableAlignment, PackedAlignment int
}

// alignments refuses values that do not fit C's 32 bits.
func alignments(first, second int, names ...string) error {
	for i, alignment := range []int{first, second} {
		if alignment < 0 || int64(alignment) > math.MaxUint32 {
			return refused(names[i], alignment, math.MaxUint32, "an alignment of %d bytes", alignment)
		}
	}
	return nil
}

func (d *Device) planRows(from RowsDesc, scatter bool) (*Plan, error) {
	err := alignments(from.TableAlignment, from.PackedAlignment, "TableAlignment", "PackedAlignment")
	if err != nil {
		return nil, err
	}
	return d.newPlan(func(out **C.tw_plan) C.tw_status {
		desc := initialised[C.tw_rows_desc]()
		desc.dtype = C.tw_dtype(from.DType)
		if from.IndexDType != 0 {
			desc.index_dtype = C.tw_dtype(from.IndexDType)
		}
		desc.table_rows, desc.table_pitch = C.int64_t(from.TableRows), C.int64_t(from.TablePitch)
		desc.column, desc.columns = C.int64_t(from.Column), C.int64_t(from.Columns)
		desc.count, desc.packed_pitch = C.int64_t(from.Count), C.int64_t(from.PackedPitch)
		desc.table_alignment = C.uint32_t(from.TableAlignment)
		desc.packed_alignment = C.uint32_t(from.PackedAlignment)
		if scatter {
			return C.tw_scatter_plan(d.handle, &desc, out)
		}
		return C.tw_gather_plan(d.handle, &desc, out)
	})
}

// PlanGather plans packed[i] = table[index[i]].
func (d *Device) PlanGather(from RowsDesc) (*Plan, error) { return d.planRows(from, false) }

// PlanScatter plans table[index[i]] = packed[i].
func (d *Device) PlanScatter(from RowsDesc) (*Plan, error) { return d.planRows(from, true) }

// RunRows enqueues a gather or a scatter of count rows (-1: the plan's count).
func (p *Plan) RunRows(s *Stream, table, index, packed uint64, count int64, scatter bool) error {
	args := initialised[C.tw_rows_args]()
	return p.enqueue(s, func() C.tw_status {
		args.table, args.index = C.uint64_t(table), C.uint64_t(index)
		args.packed, args.count = C.uint64_t(packed), C.int64_t(count)
		if scatter {
			return C.tw_scatter_run(p.handle, s.handle, &args)
		}
		return C.tw_gather_run(p.handle, s.handle, &args)
	})
}

// Matrix describes a row-major matrix: rows, columns, and elements between rows (0: columns).
type Matrix struct{ Rows, Columns, Pitch int64 }

// GemmDesc describes D = act(alpha A B + beta C + bias) of row-major matrices. C has D's layout.
type GemmDesc struct {
	ADType, BDType DType // BDType 0: as A
	CDType, DDType DType // CDType 0: as D; DDType 0: as A
	A, B           Matrix
	DPitch         int64 // elements between rows of C and of D; 0: packed
	Bias           Per   // PerNone, PerRow or PerColumn
	BiasDType      DType // 0: as D; only with Bias
	Activation     Activation
}

// PlanGemm plans a matrix product.
func (d *Device) PlanGemm(from GemmDesc) (*Plan, error) {
	if from.A.Columns != from.B.Rows {
		return nil, refused("B.Rows", int(from.B.Rows), int(from.A.Columns), "A has %d columns and B %d rows",
			from.A.Columns, from.B.Rows)
	}
	return d.newPlan(func(out **C.tw_plan) C.tw_status {
		desc := initialised[C.tw_gemm_desc]()
		desc.a_dtype, desc.b_dtype = C.tw_dtype(from.ADType), C.tw_dtype(from.BDType)
		desc.c_dtype, desc.d_dtype = C.tw_dtype(from.CDType), C.tw_dtype(from.DDType)
		desc.m, desc.n = C.int64_t(from.A.Rows), C.int64_t(from.B.Columns)
		desc.k = C.int64_t(from.A.Columns)
		desc.lda, desc.ldb = C.int64_t(from.A.Pitch), C.int64_t(from.B.Pitch)
		desc.ldc, desc.ldd = C.int64_t(from.DPitch), C.int64_t(from.DPitch)
		desc.bias, desc.bias_dtype = C.tw_per(from.Bias), C.tw_dtype(from.BiasDType)
		desc.activation = C.tw_activation(from.Activation)
		return C.tw_gemm_plan(d.handle, &desc, out)
	})
}

// GemmArgs holds the addresses and factors of a run. NewGemmArgs sets the default factors.
type GemmArgs struct {
	D, A, B, C  uint64 // C 0: only if Beta is 0
	Bias        uint64 // 0: only if the plan has no bias
	Alpha, Beta float32
}

// NewGemmArgs returns the arguments of D = A B.
func NewGemmArgs(d, a, b uint64) GemmArgs { return GemmArgs{D: d, A: a, B: b, Alpha: 1} }

// RunGemm enqueues a run of a matrix product.
func (p *Plan) RunGemm(s *Stream, from GemmArgs) error {
	args := initialised[C.tw_gemm_args]()
	return p.enqueue(s, func() C.tw_status {
		args.a, args.b, args.c = C.uint64_t(from.A), C.uint64_t(from.B), C.uint64_t(from.C)
		args.d, args.bias = C.uint64_t(from.D), C.uint64_t(from.Bias)
		args.alpha, args.beta = C.float(from.Alpha), C.float(from.Beta)
		return C.tw_gemm_run(p.handle, s.handle, &args)
	})
}
