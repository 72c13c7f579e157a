package core

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
)

var (
	_ sql.Scanner   = (*ID)(nil)
	_ driver.Valuer = ID(0)
)

// Value returns the ID as an int64, for a column of 64-bit integers. A negative ID
// is an error. It implements [driver.Valuer].
func (id ID) Value() (driver.Value, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	return int64(id), nil
}

// Scan reads a column: an int64, or a string or bytes as [ParseID] reads them. NULL
// is refused, for which sql.Null[core.ID] is right, and so are all other types: a
// floating-point column has lost digits already. After an error the ID is unchanged.
// It implements [sql.Scanner].
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		return id.set(fromInt64(v))
	case string:
		return id.set(parse(&base10, v))
	case []byte:
		return id.set(parse(&base10, v))
	case nil:
		return fmt.Errorf("%w: the column is NULL; for a column that may be NULL scan into "+
			"sql.Null[core.ID]", ErrInvalidID)
	}
	return fmt.Errorf("%w: the column is a %T; a 64-bit integer or a text of decimal digits is needed",
		ErrInvalidID, src)
}
