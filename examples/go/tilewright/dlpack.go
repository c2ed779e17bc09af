// SPDX-License-Identifier: Apache-2.0

package tilewright

/*
#include <stdlib.h>
#include <tilewright/tilewright.h>

// The position of the deleter in DLPack's two forms of managed tensors.
typedef struct unversioned {
	unsigned char tensor[48];
	void *context;
	void (*deleter)(struct unversioned *);
} unversioned;
typedef struct versioned {
	uint32_t version[2];
	void *context;
	void (*deleter)(struct versioned *);
} versioned;

static void delete_managed(void *managed, tw_dlpack_form form) {
	unversioned *plain = managed;
	versioned *newer = managed;
	if (form == TW_DLPACK_VERSIONED && newer->deleter) newer->deleter(newer);
	if (form == TW_DLPACK_TENSOR && plain->deleter) plain->deleter(plain);
}

static tw_status to_dlpack(const tw_tensor *tensor, tw_dlpack_form form, void *user, void **managed) {
	void tilewrightRelease(void *); // release.go
	return tw_tensor_to_dlpack(tensor, form, tilewrightRelease, user, managed);
}
*/
import "C"

import (
	"math"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// DLPackForm is one of DLPack's two forms of managed tensors.
type DLPackForm int32

// The forms.
const (
	DLPackTensor    DLPackForm = C.TW_DLPACK_TENSOR    // DLTensor, DLManagedTensor
	DLPackVersioned DLPackForm = C.TW_DLPACK_VERSIONED // DLManagedTensorVersioned 1.x
)

// Tensor describes a tensor in host or GPU memory. It owns nothing.
type Tensor struct {
	DType         DType
	OnGPU         bool
	Ordinal       int // the GPU's number
	ReadOnly      bool
	Address       uint64
	Shape, Stride []int64 // elements, outermost first; nil strides: row-major
}

// FromDLPack reads a DLPack tensor in C memory. The owner of the managed tensor still calls its
// deleter, after the work on its memory is done.
func FromDLPack(dlpack unsafe.Pointer, form DLPackForm) (Tensor, error) {
	from := initialised[C.tw_tensor]()
	err := check(func() C.tw_status {
		return C.tw_tensor_from_dlpack(dlpack, C.tw_dlpack_form(form), &from)
	})
	if err != nil {
		return Tensor{}, err
	}
	out := Tensor{DType: DType(from.dtype), OnGPU: from.device_kind == C.TW_DEVICE_CUDA,
		Ordinal: int(from.ordinal), ReadOnly: from.flags&C.TW_TENSOR_READ_ONLY != 0,
		Address: uint64(from.address)}
	for i := 0; i < int(from.rank); i++ {
		out.Shape = append(out.Shape, int64(from.shape[i]))
		out.Stride = append(out.Stride, int64(from.stride[i]))
	}
	return out, nil
}

// Borrowed is another owner's tensor, registered for use by a device until Close.
type Borrowed struct {
	Tensor
	memory *Registered
}

// BorrowDLPack reads a DLPack tensor in C memory and registers that memory with the device, which
// the host device requires. The owner of the managed tensor still calls its deleter, after Close.
func (d *Device) BorrowDLPack(dlpack unsafe.Pointer, form DLPackForm) (*Borrowed, error) {
	tensor, err := FromDLPack(dlpack, form)
	if err != nil {
		return nil, err
	}
	address, bytes := tensor.extent()
	memory, err := d.Register(address, bytes)
	if err != nil {
		return nil, err
	}
	return &Borrowed{tensor, memory}, nil
}

// Close unregisters the memory.
func (b *Borrowed) Close() { b.memory.Close() }

// extent returns the address of the lowest byte, and the size in bytes up to the highest. The
// strides of t are never nil, because FromDLPack fills them.
func (t Tensor) extent() (uint64, int) {
	low, high := int64(0), int64(0) // in elements
	for i, extent := range t.Shape {
		if extent == 0 {
			return t.Address, 0
		}
		if reach := (extent - 1) * t.Stride[i]; reach < 0 {
			low += reach
		} else {
			high += reach
		}
	}
	size := int64(C.tw_dtype_size(C.tw_dtype(t.DType)))
	return t.Address + uint64(low*size), int((high - low + 1) * size)
}

func (t Tensor) c() (C.tw_tensor, error) {
	out := initialised[C.tw_tensor]()
	if len(t.Shape) > len(out.shape) || t.Stride != nil && len(t.Stride) != len(t.Shape) {
		return out, refused("shape", len(t.Shape), len(out.shape),
			"a tensor has at most %d extents, and either one stride per extent or none", len(out.shape))
	}
	if int(int32(t.Ordinal)) != t.Ordinal {
		return out, refused("ordinal", t.Ordinal, math.MaxInt32, "%d is no GPU's number", t.Ordinal)
	}
	out.dtype, out.rank = C.tw_dtype(t.DType), C.int32_t(len(t.Shape))
	out.ordinal, out.address = C.int32_t(t.Ordinal), C.uint64_t(t.Address)
	if t.OnGPU {
		out.device_kind = C.TW_DEVICE_CUDA
	}
	if t.ReadOnly {
		out.flags = C.TW_TENSOR_READ_ONLY
	}
	// As in the library, an extent of 0 counts as 1. It refuses negative and too large extents.
	packed := int64(1)
	for i := len(t.Shape) - 1; i >= 0; i-- {
		out.shape[i], out.stride[i] = C.int64_t(t.Shape[i]), C.int64_t(packed)
		if t.Stride != nil {
			out.stride[i] = C.int64_t(t.Stride[i])
		}
		if t.Shape[i] != 0 {
			packed *= t.Shape[i]
		}
	}
	return out, nil
}

// Managed is a managed DLPack tensor that no consumer has taken yet.
type Managed struct {
	pointer unsafe.Pointer
	form    DLPackForm
}

// ToDLPack creates a managed tensor for another library. The memory must live until release is
// called, which happens in the deleter, on any thread. What release refers to stays alive until
// then. release may be nil.
func ToDLPack(tensor Tensor, form DLPackForm, release func()) (*Managed, error) {
	from, err := tensor.c()
	if err != nil {
		return nil, err
	}
	if release == nil {
		release = func() {}
	}
	// C must not hold a Go pointer: it holds a C allocation with the number of a cgo.Handle.
	cell := (*cgo.Handle)(C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0)))))
	*cell = cgo.NewHandle(release)
	var pointer unsafe.Pointer
	err = check(func() C.tw_status {
		return C.to_dlpack(&from, C.tw_dlpack_form(form), unsafe.Pointer(cell), &pointer)
	})
	if err != nil {
		cell.Delete()
		C.free(unsafe.Pointer(cell))
		return nil, err
	}
	m := &Managed{pointer, form}
	runtime.SetFinalizer(m, (*Managed).Close)
	return m, nil
}

// Tensor describes the managed tensor.
func (m *Managed) Tensor() (Tensor, error) {
	tensor, err := FromDLPack(m.pointer, m.form)
	runtime.KeepAlive(m)
	return tensor, err
}

// Pointer returns the DLManagedTensor or DLManagedTensorVersioned, which m still owns. It dangles
// after the collector frees m: call runtime.KeepAlive(m) after the last use of the pointer.
func (m *Managed) Pointer() unsafe.Pointer { return m.pointer }

// Release passes ownership of the pointer to the caller: the consumer must call its deleter.
func (m *Managed) Release() unsafe.Pointer {
	pointer := m.pointer
	m.pointer = nil
	runtime.SetFinalizer(m, nil)
	return pointer
}

// Close calls the deleter, unless the tensor was released.
func (m *Managed) Close() {
	if pointer := m.Release(); pointer != nil {
		C.delete_managed(pointer, C.tw_dlpack_form(m.form))
	}
}
