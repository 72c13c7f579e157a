package mysqldb

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Number is how many transactions there are in sets of GTIDs. MariaDB
// writes 0-1-17,1-1-3; MySQL uuid:1-17:19,uuid:1-3:tag:1-5. Without a binary log there are none.
func (d *DB) Number(s string) (n int64, err error) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		id, intervals, isMySQL := strings.Cut(part, ":")
		if !isMySQL {
			intervals = "1-" + id[strings.LastIndexByte(id, '-')+1:]
		}
		for interval := range strings.SplitSeq(intervals, ":") {
			if tag.MatchString(interval) && isMySQL {
				continue
			}
			seq, err := length(interval)
			if n += seq; err != nil || n < 0 {
				return 0, fmt.Errorf("the server's GTID position is %q, which this driver does not understand",
					s)
			}
		}
	}
	return n, nil
}

// tag is the name of some of a server's transactions, before their intervals.
var tag = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,31}$`)

// length is how many numbers there are from 1 to 17 in 1-17, and 1 in 19.
func length(interval string) (int64, error) {
	from, to, isRange := strings.Cut(interval, "-")
	if !isRange {
		to = from
	}
	a, errA := strconv.ParseInt(from, 10, 64)
	b, errB := strconv.ParseInt(to, 10, 64)
	if errA != nil || errB != nil || a < 1 || b < a-1 {
		return 0, fmt.Errorf("%q is no interval", interval)
	}
	return b - a + 1, nil
}
