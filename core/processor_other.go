//go:build !gc || purego

package core

import "unsafe"

// processor returns a number that goroutines which run at the same time seldom share: a
// hash of where the caller's stack is. A stack has 2 KiB or more.
func processor() uint {
	var here byte
	return uint(mix(uint64(uintptr(unsafe.Pointer(&here)) >> 11)))
}
