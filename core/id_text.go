package core

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
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

// binarySize is the length of the binary form.
const binarySize = 8

// AppendBinary appends the ID as 8 bytes to b, most significant first, so that
// bytes sort as numbers do. A negative ID is an error, and b is returned as it was.
// It implements [encoding.BinaryAppender].
func (id ID) AppendBinary(b []byte) ([]byte, error) {
	if err := id.check(); err != nil {
		return b, err
	}
	return binary.BigEndian.AppendUint64(b, uint64(id)), nil
}

// MarshalBinary returns the ID as 8 bytes, most significant first. A negative ID is
// an error. It implements [encoding.BinaryMarshaler].
func (id ID) MarshalBinary() ([]byte, error) {
	b, err := id.AppendBinary(make([]byte, 0, binarySize))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// UnmarshalBinary reads what [ID.MarshalBinary] writes: exactly 8 bytes of which the
// highest bit is 0. After an error the ID is unchanged. It implements
// [encoding.BinaryUnmarshaler].
func (id *ID) UnmarshalBinary(data []byte) error {
	if len(data) != binarySize {
		return fmt.Errorf("%w: the binary form has %d bytes instead of %d", ErrInvalidID, len(data),
			binarySize)
	}
	v := binary.BigEndian.Uint64(data)
	if v > math.MaxInt64 {
		return fmt.Errorf("%w: the binary form %x has its highest bit set, which makes it negative; "+
			"check that the bytes are big-endian", ErrInvalidID, data)
	}
	*id = ID(v)
	return nil
}

// set stores a parsed ID unless there was an error, which it returns.
func (id *ID) set(v ID, err error) error {
	if err != nil {
		return err
	}
	*id = v
	return nil
}
