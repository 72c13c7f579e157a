package redis

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivertest"
)

// FuzzReply: whatever a server, or something in front of it, replies to the script, it is an answer
// or an error.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`["","a-b","a-b","redis_version:7.0.15\r\n","1700000000000000","7","12","3","1",` +
		`"meta","1 {}","3","x","l:0","0000000000000001"]`))
	for _, r := range []string{
		`null`, `[]`, `["slot","","","","1","0","0","-1","0"]`,
		`["","","","","1","0","0","x","0"]`, `["","","","","1.5","0","0","0","0","l:0"]`,
	} {
		f.Add([]byte(r))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var reply []string
		if json.Unmarshal(text, &reply) != nil {
			return
		}
		a, err := answerOf(reply)
		if err != nil {
			if !errors.Is(err, errReply) {
				t.Error(err)
			}
			return
		}
		s := &store{}
		if _, err := s.view(a, 3); err != nil && !errors.Is(err, coord.ErrInvalid) {
			t.Error(err)
		}
		if ends := a.ends(3); ends != 0 && ends <= a.now {
			t.Errorf("%s: a lease that has ended ends at %d", text, ends)
		}
	})
}

// TestUnknownReply: what the error says of a reply that the script does not make.
func TestUnknownReply(t *testing.T) {
	const says = "is something between here and Redis that changes replies?"
	if _, err := answerOf([]string{"OK"}); !errors.Is(err, errReply) ||
		!bytes.Contains([]byte(err.Error()), []byte(says)) {
		t.Errorf("%v; want an error that says %q", err, says)
	}
}

// TestServerRefused: what a server says of itself decides.
func TestServerRefused(t *testing.T) {
	s := &store{}
	drivertest.WantInvalid(t, "an old server",
		s.checkServer(&answer{info: "# Server\r\nredis_version:6.2.14\r\n"}), "6.2.14; at least 7.0")
	drivertest.WantInvalid(t, "one without a lineage", s.explain(errors.New("NOLINEAGE")),
		"run_id and master_replid")
}

// FuzzURL: a URL of each kind is refused as invalid, or gives options that are allowed.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"redis://h/0?namespace=ns", "rediss://:p@[::1]/3?namespace=ns&ttl=15s&skew=1s",
		"redis://a,b?namespace=ns",
		"redis-sentinel://u:p@h/m/1?namespace=ns&sentinel_user=u&sentinel_password=p",
		"redis-cluster://a,b?namespace=ns", "redis://h/0?namespace=a/b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := driver.ParseURL(s)
		if err != nil || u.Has("ca") || u.Has("cert") || u.Has("key") { // those are files
			return
		}
		for _, k := range []kind{single, sentinel, cluster} {
			got, err := k.parse(false, u)
			if err != nil {
				if c, err := open(k, false, u); !errors.Is(err, coord.ErrInvalid) || c != nil {
					t.Errorf("%q: %v, %v", s, c, err)
				}
				continue
			}
			if _, err = got.options.resolve(); err != nil || len(got.addrs) != len(u.Hosts) || got.db < 0 ||
				(got.master == "") != (k.scheme != sentinel.scheme) {
				t.Errorf("%q is read as %+v, %v", s, got, err)
			}
			for _, a := range got.addrs {
				if _, port, err := net.SplitHostPort(a); err != nil || port == "" {
					t.Errorf("%q has the address %q", s, a)
				}
			}
		}
	})
}
