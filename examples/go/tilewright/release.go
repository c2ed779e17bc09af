// SPDX-License-Identifier: Apache-2.0

package tilewright

// #include <stdlib.h>
import "C"

import (
	"runtime/cgo"
	"unsafe"
)

// What a managed tensor's deleter calls. It has a file of its own, since cgo takes no definitions of
// C beside an exported function.
//
//export tilewrightRelease
func tilewrightRelease(user unsafe.Pointer) {
	cell := (*cgo.Handle)(user)
	release := cell.Value().(func())
	cell.Delete()
	C.free(user)
	release()
}
