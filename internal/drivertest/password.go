package drivertest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// ChangedPassword changes the password of a user whose coordinator reads it from a file: the server
// wants the new one first, and the coordinator goes on when the file has it. The URL's end is
// password_file=FILE, which follows what is given. Change sets the password of the user at the
// server, and ends the user's connections.
func ChangedPassword(t *testing.T, url string, change func(password string)) {
	t.Helper()
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
	awaitResult(t, "the new password is wanted, and not known", func() bool { return renew() != nil })
	WantInvalid(t, "Renew with the old password", renew())
	write("second: p@ss'word")
	awaitResult(t, "the new password is known", func() bool { return renew() == nil })
}

// awaitResult calls do until it returns true, for 20 s at most: the first calls may meet
// connections that have just been closed.
func awaitResult(t *testing.T, what string, do func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !do(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}
