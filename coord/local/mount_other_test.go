//go:build !linux

package local

import "errors"

func mount(string) error { return errors.ErrUnsupported }

func unmount(string) {}
