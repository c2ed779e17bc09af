// SPDX-License-Identifier: Apache-2.0

package tilewright

// #include <stdlib.h>
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// tilewrightRelease runs in the deleter of a managed tensor. It has its own file, because cgo
// allows no C definitions in a file with an exported function.
//
//export tilewrightRelease
func tilewrightRelease(user unsafe.Pointer) {
	cell := (*cgo.Handle)(user)
	release := cell.Value().(func())
	cell.Delete()
	C.free(user)
	release()
}
