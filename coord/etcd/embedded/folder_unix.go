//go:build unix

package embedded

import (
	"errors"
	"syscall"
)

func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func notAFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
