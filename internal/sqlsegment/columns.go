package sqlsegment

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// whole is a type of whole numbers, as databases write it.
var whole = regexp.MustCompile(
	`^(tinyint|smallint|mediumint|integer|int|bigint|decimal|numeric)(?:\((\d+)(?:,0)?\))?( ` +
		`unsigned)?(?: zerofill)?$`)

// boundOf is the largest number that a column of a type can hold, and that fits in int64.
func boundOf(name string) (int64, error) {
	m := whole.FindStringSubmatch(strings.ToLower(name))
	if m == nil {
		return 0, invalid("it is of type %q; a type of whole numbers is needed, such as bigint", name)
	}
	bits := map[string]int{
		"tinyint": 7, "smallint": 15, "mediumint": 23, "integer": 31,
		"int": 31,
	}[m[1]]
	switch {
	case bits > 0 && m[3] != "":
		return 1<<(bits+1) - 1, nil
	case bits > 0:
		return 1<<bits - 1, nil
	case m[1] == "bigint":
		return math.MaxInt64, nil
	}
	digits, err := strconv.Atoi(m[2])
	if err != nil || digits > 18 {
		return math.MaxInt64, nil //nolint:nilerr // numeric without digits has no bound
	}
	return int64(math.Pow10(digits)) - 1, nil
}

// holds notes which numbers a column can hold.
func (s *Store) holds(column, kind string) error {
	bound, err := boundOf(kind)
	switch {
	case err != nil:
		return fmt.Errorf("column %s of table %v: %w", column, s.table, err)
	case column == "max_id":
		s.bound.Store(bound)
	default:
		s.stepMost.Store(bound)
	}
	return nil
}
