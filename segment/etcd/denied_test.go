package etcd

import (
	"errors"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/segment"
)

// TestDenied: a user that may is let in, and what is wrong with others is said.
func TestDenied(t *testing.T) {
	t.Parallel()
	const password = "secret"
	server := etcdtest.Start(t)
	etcdtest.Protect(t, server, "/unalike/segments/ns/", password)
	open := func(user string) segment.Store {
		t.Helper()
		s, err := segment.Open(within(t), "etcd://"+user+server.Endpoint+"/ns", segment.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	if err := open("holder:secret@").(segment.Creator).Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	wantTake(t, open("holder:secret@"), "a", 10, 1)
	for user, says := range map[string]string{
		"holder:wrong@": "refuses the user name or the password", "nobody:secret@": "refuses the user name or the password",
		"": "wants a user and a password", "stranger:secret@": "may not read and write keys under ",
	} {
		_, err := open(user).Take(within(t), "a", 10)
		if !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), password) {
			t.Errorf("as %q: %v; want an error that says %q", user, err, says)
		}
	}
}
