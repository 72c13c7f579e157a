package core

import (
	"fmt"
	"strconv"
)

// maxJSONNumber is the first integer that a reader with 64-bit floating point can
// confuse with its neighbour.
const maxJSONNumber = 1 << 53

// MarshalJSON returns the ID as a JSON string of decimal digits. A negative ID is an
// error. It implements [json.Marshaler].
func (id ID) MarshalJSON() ([]byte, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, 22), '"')
	return append(strconv.AppendInt(b, int64(id), 10), '"'), nil
}

// UnmarshalJSON reads a string of decimal digits as [ParseID] does, or a bare
// integer below 2^53. A larger bare integer is refused: whoever wrote or relayed it
// may have rounded it already. So are null, for which a field of type *ID is right,
// and every other kind of JSON value. After an error the ID is unchanged. It
// implements [json.Unmarshaler].
func (id *ID) UnmarshalJSON(data []byte) error {
	if len(data) >= 2 && data[0] == '"' && data[len(data)-1] == '"' {
		return id.set(parse(&base10, data[1:len(data)-1]))
	}
	v, err := parse(&base10, data)
	switch {
	case err != nil:
		return jsonError(data, err)
	case v >= maxJSONNumber:
		return fmt.Errorf("%w: the JSON number %d is 2^53 or more and may have been rounded; write it "+
			"as a string, %q", ErrInvalidID, v, v)
	}
	*id = v
	return nil
}

// jsonError says what kind of JSON value data is, if it cannot be an ID.
func jsonError(data []byte, cause error) error {
	if len(data) == 0 {
		return cause
	}
	kind := ""
	switch data[0] {
	case 'n':
		kind = "null; for a value that may be missing use a *core.ID"
	case 't', 'f':
		kind = "a boolean"
	case '[':
		kind = "an array"
	case '{':
		kind = "an object"
	default:
		return cause
	}
	return fmt.Errorf("%w: the JSON value is %s; an ID is a string of digits or a whole "+
		"number below 2^53", ErrInvalidID, kind)
}
