package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/settings"
)

// FuzzParse: what is read of a file is printed as a file that says the same, and what is
// refused leaves nothing.
func FuzzParse(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v.key + ": " + v.value + "\n"))
	}
	for _, s := range []string{
		"coordinator: etcd://u:${P}@h/n\nttl: &x 1s\nhorizon: *x\n---\n", "ttl: 10", "ttl: 1s\nttl: 2s",
		"lease: {ttl: 1s}", "- ttl", "ttl: !!str 1s", "ttl: NaN",
		"identity: \"\\u0001\"", "rollback_tolerance: 0s\nlead: 0s\nspread_below: 0", "worker_ids: 0-",
		"{ttl: 1s, stripes: 2}", "\xff", "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		switch {
		case err != nil && (!errors.Is(err, coord.ErrInvalid) || c.String() != "" ||
			!strings.HasPrefix(err.Error(), "config: ")):
			t.Errorf("%v with %v", err, c)
		case err != nil:
			return
		case c.Lease.TTL < 0 || c.Lease.Horizon < 0 || c.Lease.RenewEvery < 0 || c.Lead < 0 ||
			c.Stripes < 0 || c.SpreadBelow < 0 || c.Lease.WorkerIDs.First < 0 ||
			c.Lease.WorkerIDs.Count < 0:
			t.Errorf("%v", c)
		}
		if c.Layout != (core.Layout{}) && c.Layout.Validate() != nil {
			t.Errorf("layout %v", c.Layout)
		}
		var again strings.Builder
		for _, s := range c.table() {
			if v := s.get(); v != "" {
				fmt.Fprintf(&again, "%s: %q\n", s.key, v)
			}
		}
		if again.Len() == 0 {
			return
		}
		if back, err := Parse([]byte(again.String())); err != nil || back.String() != c.String() {
			t.Errorf("%q is read as %v, which is written\n%s, and then %v, %v", data, c, &again, back, err)
		}
	})
}

// FuzzEnvironment: a variable says what the key of a file says, and an error shows no part of
// what may be a password.
func FuzzEnvironment(f *testing.F) {
	for i, v := range values {
		f.Add(uint8(i), v.value)
		f.Add(uint8(i), v.value+" ")
	}
	for i, s := range []string{
		"static://?worker=x", "1e400s", "-5ms", "512-", "9223372036854775808",
		"\x00", "0", ".3ns",
	} {
		f.Add(uint8(i), s)
	}
	f.Fuzz(func(t *testing.T, which uint8, value string) {
		table := new(Config).table()
		s := table[int(which)%len(table)]
		if value == "" || strings.Contains(value, "${") {
			return
		}
		env := map[string]string{settings.EnvName(s.key): value}
		c, err := Config{}.WithEnv(lookupIn(env))
		if err != nil {
			if !errors.Is(err, coord.ErrInvalid) || c.String() != "" ||
				!strings.HasPrefix(err.Error(), "config: "+settings.EnvName(s.key)+": "+s.key) {
				t.Errorf("%s=%q: %v, %v", s.key, value, c, err)
			}
			return
		}
		s, _ = c.find(s.key)
		if shown := s.get(); shown != "" {
			env[settings.EnvName(s.key)] = shown
			back, err := Config{}.WithEnv(lookupIn(env))
			if again, _ := back.find(s.key); err != nil || again.get() != shown {
				t.Errorf("%s=%q is shown as %q, and then as %q, %v", s.key, value, shown, again.get(), err)
			}
		}
	})
}

// FuzzPassword: any text can be the password that a variable holds, and no error shows it.
func FuzzPassword(f *testing.F) {
	for _, s := range []string{"", "secret", "s3cr@t/?#%&+ ,[]:", "${P}", "ä\x00\xff", "%41"} {
		f.Add(s, "redis://u:${P}@h/0")
		f.Add(s, "redis://${P}@h")
		f.Add(s, "redis://h/${P}")
		f.Add(s, "redis://u:${P@h")
	}
	f.Fuzz(func(t *testing.T, password, url string) {
		c, err := Parse(fmt.Appendf(nil, "coordinator: %q", url))
		if err != nil || !strings.Contains(url, "${P}") || strings.Count(url, "${") != 1 {
			return
		}
		full, err := c.WithEnv(lookupIn(map[string]string{"P": password}))
		if err != nil {
			if password != "" || !errors.Is(err, coord.ErrInvalid) {
				t.Errorf("%q in %q: %v", password, url, err)
			}
			return
		}
		u, err := driver.ParseURL(full.Coordinator)
		if err != nil {
			t.Fatalf("%q in %q: %v", password, url, err)
		}
		inURL, _ := u.User.Password()
		if !strings.Contains(inURL+"\n"+u.User.Username(), password) {
			t.Errorf("%q in %q becomes user %q and password %q", password, url, u.User.Username(), inURL)
		}
	})
}
