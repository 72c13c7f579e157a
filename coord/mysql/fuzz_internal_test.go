package mysql

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/sqldb/mysqldb"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
)

// FuzzURL: a URL is refused as invalid, or gives options that are allowed.
func FuzzURL(f *testing.F) {
	sqltest.URLSeeds(f, mysqldb.Scheme)
	f.Fuzz(func(t *testing.T, s string) {
		if target, ok := sqltest.URL(t, mysqldb.Scheme, open, s); ok && len(target.Addrs) > 1 {
			t.Errorf("%q has %d hosts", s, len(target.Addrs))
		}
	})
}

// FuzzNumber: a position is refused, or is a number that does not depend on white space, and
// grows with what is added.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{
		"", "0-1-17", "0-1-17,1-2-3", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-17:19",
		"3e11fa47-71ca-11e1-9e33-c80aa9429562:5,\n 4e11fa47-71ca-11e1-9e33-c80aa9429562:1-2",
		"x", "0-1-x", "uuid:1-x", "uuid:", "uuid:5-3", "0-1--4",
		"0-1-9223372036854775807,1-1-9223372036854775807", "uuid:-1-4",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := (&mysqldb.DB{}).Number(s)
		if err != nil {
			return
		}
		if n < 0 {
			t.Errorf("%q: %d", s, n)
		}
		if more, err := (&mysqldb.DB{}).Number(s + ",7-1-1"); err == nil && more != n+1 {
			t.Errorf("%q: %d, and with one more %d", s, n, more)
		}
		if spaced, err := (&mysqldb.DB{}).Number(strings.ReplaceAll(s, ",", " ,\n")); err != nil ||
			spaced != n {
			t.Errorf("%q: %d, and with white space %d, %v", s, n, spaced, err)
		}
	})
}
