package core

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"
)

var (
	_ sql.Scanner   = (*ID)(nil)
	_ driver.Valuer = ID(0)
)

// Value returns the ID as an int64, for a column of 64-bit integers. A negative ID is an error, and
// so is 0, which a variable has that was never set, and for which MySQL puts the next
// AUTO_INCREMENT; for NULL use sql.Null[core.ID]. It implements [driver.Valuer].
func (id ID) Value() (driver.Value, error) {
	if id == 0 {
		return nil, fmt.Errorf("%w: it is 0, as a variable that was not set; for NULL use "+
			"sql.Null[core.ID]", ErrInvalidID)
	}
	if err := id.check(); err != nil {
		return nil, err
	}
	return int64(id), nil
}

// Scan reads a column: an integer of any type that drivers return, or a string or bytes as
// [ParseID] reads them. NULL is refused, for which sql.Null[core.ID] is right, and so are all other
// types: a floating-point column has lost digits already. After an error the ID is unchanged. It
// implements [sql.Scanner].
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return id.set(parse(&base10, v))
	case []byte:
		return id.set(parse(&base10, v))
	case nil:
		return fmt.Errorf("%w: the column is NULL; for a column that may be NULL scan into "+
			"sql.Null[core.ID]", ErrInvalidID)
	}
	switch v := reflect.ValueOf(src); {
	case v.CanInt():
		return id.set(fromInt64(v.Int()))
	case v.CanUint() && v.Uint() <= math.MaxInt64:
		return id.set(ID(v.Uint()), nil)
	case v.CanUint():
		return fmt.Errorf("%w: the column has %d; IDs are 0 to %d", ErrInvalidID, src,
			int64(math.MaxInt64))
	}
	return fmt.Errorf("%w: the column is a %T; a 64-bit integer or a text of decimal digits is needed",
		ErrInvalidID, src)
}

// Int64s returns IDs as numbers, for a driver that does not know what to do with a []ID: pgx in the
// modes for poolers, where it does not ask the server for types.
func Int64s(ids []ID) []int64 {
	all := make([]int64, len(ids))
	for i, id := range ids {
		all[i] = int64(id)
	}
	return all
}
