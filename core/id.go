package core

import "errors"

// ErrInvalidID is wrapped by every error about a text, a value or bytes that are
// not an ID.
var ErrInvalidID = errors.New("core: invalid ID")

// ID is a unique, time-ordered 64-bit identifier. It is never negative.
type ID int64

// Int64 returns the ID as a number.
func (id ID) Int64() int64 { return int64(id) }
