// SPDX-License-Identifier: Apache-2.0

package tilewright

/*
#include <tilewright/tilewright.h>
*/
import "C"

// ElementwiseDesc describes dst[i...] = act(alpha a[i...] + beta b[i...]), or with Multiply
// act(alpha a[i...]) b[i...], converted to DstDType. Extents and strides are in elements, outermost
// first.
type ElementwiseDesc struct {
	ADType, BDType, DstDType           DType // BDType 0: there is no b
	Shape, AStride, BStride, DstStride []int64
	Activation                         Activation
	Saturate                           bool // clamp to the largest finite number
	Multiply                           bool // multiply by b; there is no beta
	DeviceScalars                      bool // runs pass device addresses of alpha and beta
}

// PlanElementwise plans a conversion, an activation, or the sum or product of two tensors.
func (d *Device) PlanElementwise(from ElementwiseDesc) (*Plan, error) {
	rank := len(from.Shape)
	if rank > C.TW_MAX_RANK || len(from.AStride) != rank || len(from.DstStride) != rank ||
		from.BDType != 0 && len(from.BStride) != rank {
		return nil, refused("shape", rank, C.TW_MAX_RANK,
			"an operation has 1 to %d extents, and each operand one stride per extent", C.TW_MAX_RANK)
	}
	return d.newPlan(func(out **C.tw_plan) C.tw_status {
		desc := initialised[C.tw_elementwise_desc]()
		desc.a_dtype, desc.b_dtype = C.tw_dtype(from.ADType), C.tw_dtype(from.BDType)
		desc.dst_dtype, desc.rank = C.tw_dtype(from.DstDType), C.int32_t(rank)
		desc.activation = C.tw_activation(from.Activation)
		if from.Saturate {
			desc.flags |= C.TW_ELEMENTWISE_SATURATE
		}
		if from.DeviceScalars {
			desc.flags |= C.TW_ELEMENTWISE_DEVICE_SCALARS
		}
		if from.Multiply {
			desc.combine = C.TW_COMBINE_MULTIPLY
		}
		for i := range from.Shape {
			desc.shape[i] = C.int64_t(from.Shape[i])
			desc.a_stride[i] = C.int64_t(from.AStride[i])
			desc.dst_stride[i] = C.int64_t(from.DstStride[i])
			if from.BDType != 0 {
				desc.b_stride[i] = C.int64_t(from.BStride[i])
			}
		}
		return C.tw_elementwise_plan(d.handle, &desc, out)
	})
}

// RunElementwise enqueues a run. If the plan has no b, pass b = 0 and beta = 1.
func (p *Plan) RunElementwise(s *Stream, dst, a, b uint64, alpha, beta float32) error {
	args := initialised[C.tw_elementwise_args]()
	return p.enqueue(s, func() C.tw_status {
		args.a, args.b, args.dst = C.uint64_t(a), C.uint64_t(b), C.uint64_t(dst)
		args.alpha, args.beta = C.float(alpha), C.float(beta)
		return C.tw_elementwise_run(p.handle, s.handle, &args)
	})
}

// RunElementwiseScaled enqueues a run of a plan with DeviceScalars: alpha and beta are device
// addresses of f32 numbers, which are read when the run executes. Address 0 stands for a factor of
// 1.
func (p *Plan) RunElementwiseScaled(s *Stream, dst, a, b, alpha, beta uint64) error {
	args := initialised[C.tw_elementwise_args]()
	return p.enqueue(s, func() C.tw_status {
		args.a, args.b, args.dst = C.uint64_t(a), C.uint64_t(b), C.uint64_t(dst)
		args.device_alpha, args.device_beta = C.uint64_t(alpha), C.uint64_t(beta)
		return C.tw_elementwise_run(p.handle, s.handle, &args)
	})
}

// RaggedDesc describes a copy between packed and padded sequences.
type RaggedDesc struct {
	DType, OffsetDType           DType // I32 or I64; 0 is I32
	Unpad                        bool  // from the padded to the packed operand
	Batch, Tokens, Rows, Columns int64
}

// PlanRagged plans a ragged copy.
func (d *Device) PlanRagged(from RaggedDesc) (*Plan, error) {
	return d.newPlan(func(out **C.tw_plan) C.tw_status {
		desc := initialised[C.tw_ragged_desc]()
		desc.dtype = C.tw_dtype(from.DType)
		if from.OffsetDType != 0 {
			desc.offset_dtype = C.tw_dtype(from.OffsetDType)
		}
		if from.Unpad {
			desc.direction = C.TW_RAGGED_UNPAD
		}
		desc.batch, desc.tokens = C.int64_t(from.Batch), C.int64_t(from.Tokens)
		desc.rows, desc.columns = C.int64_t(from.Rows), C.int64_t(from.Columns)
		return C.tw_ragged_plan(d.handle, &desc, out)
	})
}

// RunRagged enqueues a run.
func (p *Plan) RunRagged(s *Stream, packed, offsets, padded uint64) error {
	args := initialised[C.tw_ragged_args]()
	return p.enqueue(s, func() C.tw_status {
		args.packed, args.offsets = C.uint64_t(packed), C.uint64_t(offsets)
		args.padded = C.uint64_t(padded)
		return C.tw_ragged_run(p.handle, s.handle, &args)
	})
}
