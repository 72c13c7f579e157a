//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// brokenPipe is the error of a write whose reader has gone.
const brokenPipe = syscall.EPIPE

// ignoreBrokenPipe makes such a write an error instead of the end of the process.
func ignoreBrokenPipe() { signal.Ignore(syscall.SIGPIPE) }
