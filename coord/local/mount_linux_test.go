package local

import "syscall"

func mount(dir string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k") }

func unmount(dir string) { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }
