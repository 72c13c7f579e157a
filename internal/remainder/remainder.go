// Package remainder carries the part of a lost grant that its holder may still use.
package remainder

import "errors"

// Error is a [coord.ErrLeaseLost] after which the holder may stamp on in windows that begin at or
// above After and end at or below Until: the back end lost the grant, and it grants nothing of
// those ticks again. Package protocol alone returns it. A driver that makes its own grants cannot
// rule out that it granted some of the ticks before it noticed the loss.
//
// [coord.ErrLeaseLost]: https://pkg.go.dev/github.com/unalike-id/unalike/coord#ErrLeaseLost
type Error struct {
	After, Until int64 // ticks
	Lost         error // wraps coord.ErrLeaseLost
}

// Error returns the text of Lost.
func (e *Error) Error() string { return e.Lost.Error() }

// Unwrap returns Lost.
func (e *Error) Unwrap() error { return e.Lost }

// Usable reports whether a window of the lost grant that begins and ends at the given ticks may
// still be used after err.
func Usable(err error, notBefore, notAfter int64) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return false
	}
	begins := notBefore >= e.After //mutant:remainder-after
	ends := notAfter <= e.Until    //mutant:remainder-until
	return begins && ends
}
