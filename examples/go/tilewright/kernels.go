// SPDX-License-Identifier: Apache-2.0

package tilewright

/*
#include <stdlib.h>
#include <tilewright/tilewright.h>
*/
import "C"

import "unsafe"

// Kernel is a precompiled kernel for one target.
type Kernel struct {
	Op           Op
	Name, Target string // target: "sm_90a" is machine code, "compute_90" PTX
	Feature      uint32 // TW_FEATURE_ bit that a device must have
	Threads      int
	Tile         [3]int // rows, columns and k of a tile in elements; 0: none
	Stages       int    // 0: chosen by the plan
	Cluster      [2]int // 0: chosen by the plan
	PackedBytes  uint64 // bytes of its image in the library; the image has other kernels, too
	ImageBytes   uint64
}

// KernelInfo holds the resources that ptxas assigned to a kernel.
type KernelInfo struct {
	Registers, StaticSmemBytes, LocalBytes, MaxThreads, ParamCount, ParamBytes int
}

// Kernels lists every precompiled kernel for each target. It needs no GPU.
func Kernels() ([]Kernel, error) {
	var count C.int32_t
	if err := check(func() C.tw_status { return C.tw_embedded_kernel_get(0, nil, &count) }); err != nil {
		return nil, err
	}
	out := make([]Kernel, count)
	for i := range out {
		e := initialised[C.tw_embedded_kernel]()
		err := check(func() C.tw_status { return C.tw_embedded_kernel_get(C.int32_t(i), &e, nil) })
		if err != nil {
			return nil, err
		}
		out[i] = Kernel{Op: Op(e.op), Name: C.GoString(e.name), Target: C.GoString(e.target),
			Feature: uint32(e.feature), Threads: int(e.threads), Stages: int(e.stages),
			Tile:        [3]int{int(e.tile[0]), int(e.tile[1]), int(e.tile[2])},
			Cluster:     [2]int{int(e.cluster[0]), int(e.cluster[1])},
			PackedBytes: uint64(e.packed_bytes), ImageBytes: uint64(e.image_bytes)}
	}
	return out, nil
}

// named passes the kernel's two names to a call.
func (k Kernel) named(call func(name, target *C.char) C.tw_status) error {
	for argument, text := range map[string]string{"name": k.Name, "target": k.Target} {
		if err := whole(argument, text); err != nil {
			return err
		}
	}
	name, target := C.CString(k.Name), C.CString(k.Target)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(target))
	return check(func() C.tw_status { return call(name, target) })
}

// Info returns the resources of machine code. For PTX it fails: only a driver assigns them.
func (k Kernel) Info() (KernelInfo, error) {
	info := initialised[C.tw_kernel_info]()
	err := k.named(func(name, target *C.char) C.tw_status {
		return C.tw_embedded_kernel_info(name, target, &info)
	})
	return KernelInfo{int(info.registers), int(info.static_smem_bytes), int(info.local_bytes),
		int(info.max_threads), int(info.param_count), int(info.param_bytes)}, err
}

// Image returns the cubin or PTX text with the kernel, for a disassembler.
func (k Kernel) Image() ([]byte, error) {
	var size C.size_t
	err := k.named(func(name, target *C.char) C.tw_status {
		return C.tw_embedded_kernel_image(name, target, nil, 0, &size)
	})
	if err != nil || size == 0 {
		return nil, err
	}
	image := make([]byte, size)
	err = k.named(func(name, target *C.char) C.tw_status {
		return C.tw_embedded_kernel_image(name, target, unsafe.Pointer(&image[0]), size, &size)
	})
	return image, err
}
