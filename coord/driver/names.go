package driver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivers"
)

// CheckNamespace tells whether s can name a namespace: 1 to 128 bytes of
// printable UTF-8 without spaces and without any of / { } : * \, and not "." or
// "..". The error wraps [coord.ErrInvalid].
func CheckNamespace(s string) error {
	if err := drivers.CheckName(coord.ErrInvalid, "namespace", s, false); err != nil {
		return err
	}
	if i := strings.IndexAny(s, `/{}:*\ `); i >= 0 {
		return fmt.Errorf("%w: namespace %q contains %q; none of / { } : * \\ and no space is allowed",
			coord.ErrInvalid, s, s[i])
	}
	if s == "." || s == ".." {
		return fmt.Errorf("%w: namespace %q is reserved; choose another name", coord.ErrInvalid, s)
	}
	return nil
}

// CheckResume reports whether a grant can be resumed with a token. Errors wrap
// [coord.ErrInvalid].
func CheckResume(g coord.Grant, token string) error {
	if err := drivers.CheckName(coord.ErrInvalid, "Resume: token", token, false); err != nil {
		return err
	}
	if token == g.Token {
		return fmt.Errorf("%w: Resume: the token is that of the grant; it must be a new one",
			coord.ErrInvalid)
	}
	return nil
}

// JoinPlace makes the Place of a [coord.Description] from a kind of back end and what selects a
// namespace in it. The order of the parts counts. If one is empty that must not be, leave the text
// out.
func JoinPlace(kind string, parts ...string) string {
	for _, p := range parts {
		kind += " " + strconv.Quote(p)
	}
	return kind
}
