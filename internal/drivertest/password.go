package drivertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// ChangedPassword changes the password of a user whose coordinator reads it from a file: the server
// wants the new one first, and the coordinator goes on when the file has it. The URL's end is
// password_file=FILE, which follows what is given. Change sets the password of the user at the
// server, and ends the user's connections.
func ChangedPassword(t *testing.T, url string, change func(password string)) {
	file := filepath.Join(t.TempDir(), "password")
	write := func(password string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	change("first")
	c, err := Open(t, url+"password_file="+filepath.ToSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	g := MustAcquire(t, c, Request(1))
	renew := func() error {
		next, err := c.Renew(Within(t), g, g.NotAfter+1)
		if err == nil {
			g = next
		}
		return err
	}
	change("second: p@ss'word")
	// The first calls may meet connections that have just been closed.
	streamtest.Eventually(t, "the new password is wanted", func() bool { return renew() != nil })
	WantInvalid(t, "Renew with the old password", renew())
	write("second: p@ss'word")
	streamtest.Eventually(t, "the new password is known", func() bool { return renew() == nil })
}
