package pgtest

import (
	"os/user"
	"strconv"
	"testing"
)

// other is a user who is not root.
func other(tb testing.TB) (uid, gid uint32) {
	tb.Helper()
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			id, err1 := strconv.ParseUint(u.Uid, 10, 32)
			group, err2 := strconv.ParseUint(u.Gid, 10, 32)
			if err1 == nil && err2 == nil {
				return uint32(id), uint32(group)
			}
		}
	}
	tb.Fatal("neither postgres nor nobody is a user of this machine, and PostgreSQL does not " +
		"run as root")
	return 0, 0
}
