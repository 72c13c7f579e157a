//go:build unix

package main

import "syscall"

// descriptors returns how many files the process may have open; 0: it is not known.
func descriptors() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return 0
	}
	return int(min(uint64(l.Cur), 1<<30))
}
