package core

import (
	"encoding"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
)

// ErrInvalidID is wrapped by every error about a text, bytes or a value that are
// not an ID.
var ErrInvalidID = errors.New("core: invalid ID")

// ID is a unique 64-bit identifier: time in its upper bits, then a worker ID, then
// a sequence number, as a [Layout] divides them. An ID is never negative, and IDs
// sort by time as numbers, as 8 bytes, in base62 and in base32; as decimal text
// only while they have the same number of digits.
//
// Its text form is decimal, for [encoding.TextMarshaler] as in a URL or a map key.
// JSON has it as a string of decimal digits, because many readers of JSON hold
// numbers in floating point and lose the last bits of an ID. A database gets an
// int64. ID is a value; all its methods but those that read into it are safe for
// concurrent use, and none of them blocks.
type ID int64

// What an ID can do is stated here, so that losing one of them does not compile.
var (
	_ fmt.Stringer               = ID(0)
	_ encoding.TextMarshaler     = ID(0)
	_ encoding.TextAppender      = ID(0)
	_ encoding.TextUnmarshaler   = (*ID)(nil)
	_ encoding.BinaryUnmarshaler = (*ID)(nil)
	_ gob.GobEncoder             = ID(0)
	_ gob.GobDecoder             = (*ID)(nil)
	_ fmt.Formatter              = ID(0)
	_ json.Marshaler             = ID(0)
	_ json.Unmarshaler           = (*ID)(nil)
	_ slog.LogValuer             = ID(0)
)

// Int64 returns the ID as a number.
func (id ID) Int64() int64 { return int64(id) }

// String returns the ID in decimal, without leading zeros. [ParseID] reads it.
func (id ID) String() string { return strconv.FormatInt(int64(id), 10) }

// LogValue returns the ID as a string, so that no reader of a structured log rounds
// it. It implements [slog.LogValuer].
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }

// ParseID returns the ID that s has in decimal. It reads what [ID.String] prints and
// nothing else: no sign, no leading zeros, no white space, no other digits, nothing
// above 2^63 - 1. Errors wrap [ErrInvalidID] and name what is wrong and where.
func ParseID(s string) (ID, error) { return parse(&base10, s) }

// fromInt64 returns v as an ID unless it is negative.
func fromInt64(v int64) (ID, error) {
	if v < 0 {
		return 0, fmt.Errorf("%w: it is negative, %d; IDs are 0 to %d", ErrInvalidID, v,
			int64(math.MaxInt64))
	}
	return ID(v), nil
}

// check refuses to hand a negative ID to anybody: no generator makes one, so it is
// a mistake of the program that should not reach a database or a peer.
func (id ID) check() error {
	_, err := fromInt64(int64(id))
	return err
}
