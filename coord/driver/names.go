package driver

import (
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/invalid"
)

// CheckNamespace tells whether s can name a namespace: 1 to 128 bytes of
// printable UTF-8 without spaces and without any of / { } : * \, and not "." or
// "..". The error wraps [coord.ErrInvalid].
func CheckNamespace(s string) error {
	if err := drivers.CheckName(coord.ErrInvalid, "namespace", s, false); err != nil {
		return err
	}
	if i := strings.IndexAny(s, `/{}:*\ `); i >= 0 {
		return invalid.Errorf("namespace %q contains %q; none of / { } : * \\ and no space is allowed", s,
			s[i])
	}
	if s == "." || s == ".." {
		return invalid.Errorf("namespace %q is reserved; choose another name", s)
	}
	return nil
}
