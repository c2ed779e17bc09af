// SPDX-License-Identifier: Apache-2.0
// Made by examples/bindings.py from tilewright.h.

package tilewright

// #include <tilewright/tilewright.h>
import "C"

import (
	"strconv"
	"unsafe"
)

// Status is a tw_status: what a call came to; Error carries one.
type Status int32

// Every TW_ERROR_ there is.
const (
	ErrNoDriver          Status = C.TW_ERROR_NO_DRIVER
	ErrDriverTooOld      Status = C.TW_ERROR_DRIVER_TOO_OLD
	ErrNoDevice          Status = C.TW_ERROR_NO_DEVICE
	ErrUnsupportedDevice Status = C.TW_ERROR_UNSUPPORTED_DEVICE
	ErrNoKernelImage     Status = C.TW_ERROR_NO_KERNEL_IMAGE
	ErrNotBuilt          Status = C.TW_ERROR_NOT_BUILT
	ErrInvalidArgument   Status = C.TW_ERROR_INVALID_ARGUMENT
	ErrStruct            Status = C.TW_ERROR_STRUCT
	ErrParse             Status = C.TW_ERROR_PARSE
	ErrOverflow          Status = C.TW_ERROR_OVERFLOW
	ErrCapacity          Status = C.TW_ERROR_CAPACITY
	ErrRule              Status = C.TW_ERROR_RULE
	ErrMisaligned        Status = C.TW_ERROR_MISALIGNED
	ErrOverlap           Status = C.TW_ERROR_OVERLAP
	ErrWrongDevice       Status = C.TW_ERROR_WRONG_DEVICE
	ErrInvalidImage      Status = C.TW_ERROR_INVALID_IMAGE
	ErrNotFound          Status = C.TW_ERROR_NOT_FOUND
	ErrBufferTooSmall    Status = C.TW_ERROR_BUFFER_TOO_SMALL
	ErrNotALayout        Status = C.TW_ERROR_NOT_A_LAYOUT
	ErrUnsupported       Status = C.TW_ERROR_UNSUPPORTED
	ErrNotReady          Status = C.TW_ERROR_NOT_READY
	ErrDeviceClosed      Status = C.TW_ERROR_DEVICE_CLOSED
	ErrForked            Status = C.TW_ERROR_FORKED
	ErrCapture           Status = C.TW_ERROR_CAPTURE
	ErrShutdown          Status = C.TW_ERROR_SHUTDOWN
	ErrOutOfMemory       Status = C.TW_ERROR_OUT_OF_MEMORY
	ErrDeviceLost        Status = C.TW_ERROR_DEVICE_LOST
	ErrDriver            Status = C.TW_ERROR_DRIVER
	ErrInternal          Status = C.TW_ERROR_INTERNAL
)

// DType is a tw_dtype: the type of a tensor's elements.
type DType int32

// Every TW_DTYPE_ there is.
const (
	U8            DType = C.TW_DTYPE_U8
	I8            DType = C.TW_DTYPE_I8
	U16           DType = C.TW_DTYPE_U16
	I16           DType = C.TW_DTYPE_I16
	U32           DType = C.TW_DTYPE_U32
	I32           DType = C.TW_DTYPE_I32
	U64           DType = C.TW_DTYPE_U64
	I64           DType = C.TW_DTYPE_I64
	B128          DType = C.TW_DTYPE_B128
	F16           DType = C.TW_DTYPE_F16
	BF16          DType = C.TW_DTYPE_BF16
	F32           DType = C.TW_DTYPE_F32
	F64           DType = C.TW_DTYPE_F64
	TF32          DType = C.TW_DTYPE_TF32
	F8E4M3        DType = C.TW_DTYPE_F8E4M3
	F8E5M2        DType = C.TW_DTYPE_F8E5M2
	F32FTZ        DType = C.TW_DTYPE_F32_FTZ
	TF32FTZ       DType = C.TW_DTYPE_TF32_FTZ
	U4X16Align8B  DType = C.TW_DTYPE_U4X16_ALIGN8B
	U4X16Align16B DType = C.TW_DTYPE_U4X16_ALIGN16B
	U6X16Align16B DType = C.TW_DTYPE_U6X16_ALIGN16B
)

// Op is a tw_op: whose plans a kernel serves.
type Op int32

// Every TW_OP_ there is.
const (
	OpCopy        Op = C.TW_OP_COPY
	OpPrefetch    Op = C.TW_OP_PREFETCH
	OpGather      Op = C.TW_OP_GATHER
	OpScatter     Op = C.TW_OP_SCATTER
	OpGemm        Op = C.TW_OP_GEMM
	OpElementwise Op = C.TW_OP_ELEMENTWISE
	OpRagged      Op = C.TW_OP_RAGGED
	OpCopies      Op = C.TW_OP_COPIES
	OpRoute       Op = C.TW_OP_ROUTE
	OpGrouped     Op = C.TW_OP_GROUPED
	OpQuantize    Op = C.TW_OP_QUANTIZE
)

// Per is a tw_per: where a vector has an element.
type Per int32

// Every TW_PER_ there is.
const (
	PerNone   Per = C.TW_PER_NONE
	PerTensor Per = C.TW_PER_TENSOR
	PerRow    Per = C.TW_PER_ROW
	PerColumn Per = C.TW_PER_COLUMN
)

// Activation is a tw_activation: a function applied to each element.
type Activation int32

// Every TW_ACTIVATION_ there is.
const (
	ActivationNone     Activation = C.TW_ACTIVATION_NONE
	ActivationRelu     Activation = C.TW_ACTIVATION_RELU
	ActivationGelu     Activation = C.TW_ACTIVATION_GELU
	ActivationGeluTanh Activation = C.TW_ACTIVATION_GELU_TANH
	ActivationSilu     Activation = C.TW_ACTIVATION_SILU
)

// String is the operation's name in C's functions: of OpCopies "copies".
func (o Op) String() string {
	switch o {
	case OpCopy:
		return "copy"
	case OpPrefetch:
		return "prefetch"
	case OpGather:
		return "gather"
	case OpScatter:
		return "scatter"
	case OpGemm:
		return "gemm"
	case OpElementwise:
		return "elementwise"
	case OpRagged:
		return "ragged"
	case OpCopies:
		return "copies"
	case OpRoute:
		return "route"
	case OpGrouped:
		return "grouped"
	case OpQuantize:
		return "quantize"
	}
	return "Op(" + strconv.Itoa(int(o)) + ")"
}

// initialise calls the init function of the struct that a pointer is to.
func initialise(pointer any) C.tw_status {
	switch to := pointer.(type) {
	case *C.tw_error_info:
		return C.tw_error_info_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_device_info:
		return C.tw_device_info_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_tensor:
		return C.tw_tensor_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_tensor_map_desc:
		return C.tw_tensor_map_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_rule_violation:
		return C.tw_rule_violation_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_tile_desc:
		return C.tw_tile_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_kernel_info:
		return C.tw_kernel_info_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_launch_desc:
		return C.tw_launch_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_plan_info:
		return C.tw_plan_info_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_copy_desc:
		return C.tw_copy_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_copy_args:
		return C.tw_copy_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_copies_desc:
		return C.tw_copies_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_copies_args:
		return C.tw_copies_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_prefetch_desc:
		return C.tw_prefetch_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_prefetch_args:
		return C.tw_prefetch_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_rows_desc:
		return C.tw_rows_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_rows_args:
		return C.tw_rows_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_ragged_desc:
		return C.tw_ragged_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_ragged_args:
		return C.tw_ragged_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_route_desc:
		return C.tw_route_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_route_args:
		return C.tw_route_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_elementwise_desc:
		return C.tw_elementwise_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_elementwise_args:
		return C.tw_elementwise_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_gemm_desc:
		return C.tw_gemm_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_gemm_args:
		return C.tw_gemm_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_gemm_candidate:
		return C.tw_gemm_candidate_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_gemm_tune_desc:
		return C.tw_gemm_tune_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_grouped_desc:
		return C.tw_grouped_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_grouped_args:
		return C.tw_grouped_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_quantize_desc:
		return C.tw_quantize_desc_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_quantize_args:
		return C.tw_quantize_args_init(to, C.size_t(unsafe.Sizeof(*to)))
	case *C.tw_embedded_kernel:
		return C.tw_embedded_kernel_init(to, C.size_t(unsafe.Sizeof(*to)))
	}
	return C.TW_ERROR_STRUCT
}
