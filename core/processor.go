//go:build gc && !purego

package core

import _ "unsafe" // for go:linkname

// processor returns the number of the processor of Go's scheduler that the caller runs on,
// from 0 on. It may be another one by the time of the return: callers use it to keep out
// of each other's way, and for nothing that has to be right.
func processor() uint {
	n := procPin()
	procUnpin()
	return uint(n)
}

// The runtime keeps these two for those who link to them.

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
