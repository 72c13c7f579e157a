package main

import "syscall"

// brokenPipe is the error of a write whose reader has gone: ERROR_NO_DATA, "the pipe
// is being closed", which package syscall does not name.
const brokenPipe = syscall.Errno(232)

// ignoreBrokenPipe does nothing: there is no signal for it on Windows.
func ignoreBrokenPipe() {}
