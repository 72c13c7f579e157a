package core

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// AppendText appends the ID in decimal to b. A negative ID is an error, and b is
// returned as it was. It implements [encoding.TextAppender].
func (id ID) AppendText(b []byte) ([]byte, error) {
	if err := id.check(); err != nil {
		return b, err
	}
	return strconv.AppendInt(b, int64(id), 10), nil
}

// MarshalText returns the ID in decimal. A negative ID is an error. It implements
// [encoding.TextMarshaler].
func (id ID) MarshalText() ([]byte, error) {
	b, err := id.AppendText(make([]byte, 0, 20))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// UnmarshalText reads what [ParseID] reads. After an error the ID is unchanged. It
// implements [encoding.TextUnmarshaler].
func (id *ID) UnmarshalText(text []byte) error {
	return id.set(parse(&base10, text))
}

// Bytes returns the ID as 8 bytes, most significant first, so that bytes sort as numbers do.
// [FromBytes] reads them.
func (id ID) Bytes() [8]byte {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(id))
	return b
}

// FromBytes reads what [ID.Bytes] returns: 8 bytes of which the highest bit is 0. Errors wrap
// [ErrInvalidID].
func FromBytes(b []byte) (ID, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("%w: there are %d bytes; 8 are needed", ErrInvalidID, len(b))
	}
	v := binary.BigEndian.Uint64(b)
	if v > math.MaxInt64 {
		return 0, fmt.Errorf("%w: the bytes %x have their highest bit set, which makes the ID negative; "+
			"check that they are big-endian", ErrInvalidID, b)
	}
	return ID(v), nil
}

// UnmarshalBinary reads what a store has that knows only bytes, such as Redis: decimal text, as
// [ParseID] reads it, or 8 bytes, as [FromBytes] does. 8 digits could be either and are refused.
// After an error the ID is unchanged. It implements [encoding.BinaryUnmarshaler].
//
// There is no MarshalBinary: stores prefer it, and people who look into them could not read the
// IDs.
func (id *ID) UnmarshalBinary(data []byte) error {
	if len(data) != 8 {
		return id.set(parse(&base10, data))
	}
	if strings.Trim(string(data), "0123456789") == "" {
		return fmt.Errorf("%w: %q can be a text or 8 bytes; use ParseID or FromBytes", ErrInvalidID, data)
	}
	return id.set(FromBytes(data))
}

// GobEncode returns the ID as 8 bytes. It implements [encoding/gob.GobEncoder].
func (id ID) GobEncode() ([]byte, error) {
	b := id.Bytes()
	return b[:], id.check()
}

// GobDecode reads what [ID.GobEncode] returns. It implements [encoding/gob.GobDecoder].
func (id *ID) GobDecode(data []byte) error { return id.set(FromBytes(data)) }

// Format prints the ID for package fmt: %d, %x, %o, %b and the like print the number, and %s and %q
// its decimal text. It implements [fmt.Formatter].
func (id ID) Format(s fmt.State, verb rune) {
	var value any = int64(id)
	if verb == 's' || verb == 'q' {
		value = id.String()
	}
	_, _ = fmt.Fprintf(s, fmt.FormatString(s, verb), value)
}

// set stores a parsed ID unless there was an error, which it returns.
func (id *ID) set(v ID, err error) error {
	if err != nil {
		return err
	}
	*id = v
	return nil
}
