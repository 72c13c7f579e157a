//go:build !linux

package worker

import (
	"errors"
	"syscall"
)

func apart() *syscall.SysProcAttr { return nil }

func pretend(string) error { return errOther }

var errOther = errors.New("worker: only on Linux a process can be given another run of the system")

// CannotPretend says why the machine of a [Spec] cannot be given; nil: it can.
func CannotPretend() error { return errOther }
