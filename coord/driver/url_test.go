package driver

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// wantInvalid checks the exact text of an error that wraps coord.ErrInvalid.
func wantInvalid(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s is accepted; want %s", what, text)
		return
	}
	if !errors.Is(err, coord.ErrInvalid) || err.Error() != text {
		t.Errorf("%s: error is\n\t%v\nwant, being coord.ErrInvalid,\n\t%s", what, err, text)
	}
}

func TestParseURL(t *testing.T) {
	for _, tt := range []struct {
		url            string
		scheme, user   string
		hosts          []string
		path, password string
		options        map[string]string
	}{
		{url: "static://?worker=7", scheme: "static", options: map[string]string{"worker": "7"}},
		{
			url: "ETCD://h1:2379,h2:2379/ns?ttl=15s", scheme: "etcd", hosts: []string{"h1:2379", "h2:2379"},
			path: "/ns", options: map[string]string{"ttl": "15s"},
		},
		{
			url: "redis://user:pass@h:6379/0?namespace=n", scheme: "redis", user: "user", password: "pass",
			hosts: []string{"h:6379"}, path: "/0", options: map[string]string{"namespace": "n"},
		},
		{url: "redis://:p%40ss%3A%25@h", scheme: "redis", password: "p@ss:%", hosts: []string{"h"}},
		{
			url: "zk://[::1]:2181,[fe80::1]/ch%20root", scheme: "zk",
			hosts: []string{"[::1]:2181", "[fe80::1]"}, path: "/ch root",
		},
		{
			url: "embed:///dir/b?namespace=n", scheme: "embed", path: "/dir/b",
			options: map[string]string{"namespace": "n"},
		},
		{
			url: "x://h:65535/?a=", scheme: "x", hosts: []string{"h:65535"}, path: "/",
			options: map[string]string{"a": ""},
		},
		{
			url: "static://?state=/home/a@b/c", scheme: "static",
			options: map[string]string{"state": "/home/a@b/c"},
		},
		{
			url: "x://h/a%40b?c=d%40e", scheme: "x", hosts: []string{"h"}, path: "/a@b",
			options: map[string]string{"c": "d@e"},
		},
		{
			url: "x://h?a=%2F%3F%26", scheme: "x", hosts: []string{"h"},
			options: map[string]string{"a": "/?&"},
		},
	} {
		u, err := ParseURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		user, password := "", ""
		if u.User != nil {
			user = u.User.Username()
			password, _ = u.User.Password()
		}
		if u.Scheme != tt.scheme || user != tt.user || password != tt.password ||
			!slices.Equal(u.Hosts, tt.hosts) || u.Path != tt.path {
			t.Errorf("%s: parsed as %+v", tt.url, u)
		}
		for name, want := range tt.options {
			if !u.Has(name) || u.Option(name) != want {
				t.Errorf("%s: option %s is %q; want %q", tt.url, name, u.Option(name), want)
			}
		}
		if u.Has("none") || u.Option("none") != "" {
			t.Errorf("%s has an option that was not given", tt.url)
		}
	}
}

// TestBadURL has every wrong form that is wrong for all drivers.
func TestBadURL(t *testing.T) {
	const form = "unalike: invalid URL: it has the form scheme://hosts/path?options, for example " +
		"static://?worker=7"
	for _, tt := range []struct{ url, want string }{
		{"", form},
		{"static", form},
		{"://h", form},
		{"localhost:2379", form},
		{"static:?worker=7", form},
		{"redis:u:geheim@h://", form},
		{"3d://h", form},
		{"etcd://a,,b", `unalike: invalid etcd URL: host 2 of the list is empty`},
		{"etcd://a:1,b:1,a:1", `unalike: invalid etcd URL: host "a:1" is listed twice`},
		{"etcd://h:0", `unalike: invalid etcd URL: host "h:0" has port "0"; a port is a number ` +
			`from 1 to 65535`},
		{"etcd://h:70000", `unalike: invalid etcd URL: host "h:70000" has port "70000"; a port is a ` +
			`number from 1 to 65535`},
		{
			"etcd://h:http",
			`unalike: invalid etcd URL: host 1 of the list, "h", has a port that is not a ` +
				`number; a port is a number from 1 to 65535, and a user and password end in @`,
		},
		{"etcd://h:+80", `unalike: invalid etcd URL: host 1 of the list, "h", has a port that is not a ` +
			`number; a port is a number from 1 to 65535, and a user and password end in @`},
		{"etcd://:2379", `unalike: invalid etcd URL: host 1 of the list has no name`},
		{"etcd://a b", `unalike: invalid etcd URL: host 1 of the list, "a b", contains a space ` +
			`or a bracket`},
		{"etcd://a\x00", `unalike: invalid etcd URL: host 1 of the list, "a\x00", contains a character ` +
			`that cannot be printed`},
		{"etcd://a\xff", `unalike: invalid etcd URL: host 1 of the list, "a\xff", contains a character ` +
			`that cannot be printed`},
		{
			"etcd://a]",
			`unalike: invalid etcd URL: host 1 of the list, "a]", contains a space or a bracket`,
		},
		{
			"etcd://::1",
			`unalike: invalid etcd URL: host 1 of the list, ":...", has several colons; write ` +
				`an IPv6 address as [address]:port`,
		},
		{
			"etcd://fe80::1:2379",
			`unalike: invalid etcd URL: host 1 of the list, "fe80:...", has several ` +
				`colons; write an IPv6 address as [address]:port`,
		},
		{
			"etcd://[::1",
			`unalike: invalid etcd URL: host 1 of the list begins with a bracket and is not ` +
				`an IPv6 address in brackets`,
		},
		{
			"etcd://[::1]2379",
			`unalike: invalid etcd URL: host "[::1]" has text after the bracket; a port ` +
				`is written [address]:port`,
		},
		{"etcd://[::1]:", `unalike: invalid etcd URL: host 1 of the list, "::1", has a port ` +
			`that is not a ` +
			`number; a port is a number from 1 to 65535, and a user and password end in @`},
		{"etcd://h,u:geheim", `unalike: invalid etcd URL: host 2 of the list, "u", has a port ` +
			`that is not ` +
			`a number; a port is a number from 1 to 65535, and a user and password end in @`},
		{
			"redis://u:ge/heim@h/0",
			`unalike: invalid redis URL: there is an unescaped @ after the hosts; ` +
				`write %40, and in a password / as %2F and ? as %3F`,
		},
		{"etcd://h/a%zz", `unalike: invalid etcd URL: the path is not escaped correctly; a % is ` +
			`written %25`},
		{"etcd://h?a=%zz", `unalike: invalid etcd URL: the options after the question mark are not ` +
			`escaped correctly`},
		{"etcd://h?a=1;b=2", `unalike: invalid etcd URL: the options after the question mark are not ` +
			`escaped correctly`},
		{"etcd://h?ttl=1s&ttl=2s", `unalike: invalid etcd URL: option "ttl" is given 2 times; ` +
			`give it once`},
		{"redis://u:ge@heim@h", `unalike: invalid redis URL: the user information contains an ` +
			`unescaped @ ` +
			`or space; write %40 or %20`},
		{"redis://u:geheim%@h", `unalike: invalid redis URL: the user information is not escaped ` +
			`correctly; write % as %25`},
	} {
		_, err := ParseURL(tt.url)
		wantInvalid(t, tt.url, err, tt.want)
	}
}

// TestPasswordIsNeverPrinted: whatever is wrong with a URL, neither its error nor
// its text has the password in it.
func TestPasswordIsNeverPrinted(t *testing.T) {
	const secret = "geheim"
	for _, password := range []string{
		secret, secret + "%", secret + "%zz", secret + "@", "@" + secret, secret + "/x", "/" + secret,
		secret + "?x", "?" + secret,
		secret + "#", secret + " x", secret + ":", secret + ",", "," + secret, secret + "[", "]" + secret,
		secret + "\x00", "%00" + secret,
	} {
		for _, rest := range []string{
			"@h:1/0?a=b", "@h:0", "@a,,b", "@", "", "@h/%zz", "@h?%zz",
			"@h?a=1&a=2", "@[::1", "@h h", "@h?b=%",
		} {
			for _, user := range []string{"u:", ":", "u%zz:"} {
				if rest == "" && password == "@"+secret {
					continue // it is the host's name then
				}
				raw := "redis://" + user + password + rest
				u, err := ParseURL(raw)
				if err != nil {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("%s: the error has the password: %v", raw, err)
					}
					continue
				}
				for what, text := range map[string]string{
					"String":       u.String(),
					"CheckOptions": errorText(u.CheckOptions()),
				} {
					if strings.Contains(text, secret) {
						t.Errorf("%s: %s has the password: %s", raw, what, text)
					}
				}
			}
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestURLString(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"static://?worker=7", "static://?worker=7"},
		{
			"redis://user:secret@h:1/0?skew=2s&ca=1&pasword=secret",
			"redis://user:xxxxx@h:1/0?ca=1&pasword=xxxxx&skew=2s",
		},
		{"redis://:secret@h", "redis://:xxxxx@h"},
		{
			"redis-sentinel://h/m?sentinel_password=secret&skew=1s",
			"redis-sentinel://h/m?sentinel_password=xxxxx&skew=1s",
		},
		{"redis://secret@h1,h2", "redis://xxxxx@h1,h2"},
		{"x://h", "x://h"},
		{"x://a%40b%3Ac:secret@h/d%2Fe%3Ff%40g%25h", "x://a%40b%3Ac:xxxxx@h/d/e%3Ff%40g%25h"},
	} {
		u, err := ParseURL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
		} else if got := u.String(); got != tt.want {
			t.Errorf("%s is printed as %s; want %s", tt.url, got, tt.want)
		} else if again, err := ParseURL(u.Text()); err != nil || !reflect.DeepEqual(again, u) {
			t.Errorf("the text of %s is %s, which is %+v, %v", tt.url, u.Text(), again, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	u, err := ParseURL("etcd://a,b:1,[::1],[::1]:2")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := u.Addresses("2379"); err != nil ||
		!slices.Equal(got, []string{"a:2379", "b:1", "[::1]:2379", "[::1]:2"}) {
		t.Errorf("%v, %v", got, err)
	}
	_, err = u.Addresses("2")
	wantInvalid(t, "one host twice", err,
		`unalike: invalid etcd URL: host "[::1]:2" is listed twice, once without its port`)
}

func TestCheckOptions(t *testing.T) {
	u, err := ParseURL("etcd://h?namespace=n&ttl=15s")
	if err != nil {
		t.Fatal(err)
	}
	if err := u.CheckOptions("namespace"); err != nil {
		t.Error(err)
	}
	wantInvalid(t, "an unknown option", u.CheckOptions("prefix", "db"),
		`unalike: invalid etcd URL: unknown option "namespace"; known are db, horizon, prefix, `+
			`renew, ttl`)
	wantInvalid(t, "a state file", u.With("state", "/x").CheckOptions("namespace"),
		`unalike: invalid etcd URL: option state is for generators (unalike.Open, unalike.Start, `+
			`package config); with core.New, set core.Config.StateFile`)
}

func TestURLLease(t *testing.T) {
	u, err := ParseURL("x://h?ttl=15s&horizon=1m&renew=500ms")
	if err != nil {
		t.Fatal(err)
	}
	l, err := u.Lease()
	if want := (coord.LeaseConfig{
		TTL: 15 * time.Second, Horizon: time.Minute,
		RenewEvery: 500 * time.Millisecond,
	}); err != nil || l != want {
		t.Errorf("Lease is %+v, %v; want %+v", l, err, want)
	}
	for _, name := range []string{"ttl", "horizon", "renew"} {
		for _, value := range []string{
			"10", "0s", "-1s", "1e3s", "NaN", "Inf", "1d", "", "300000000h",
			"%201s",
		} {
			u, err := ParseURL("x://h?" + name + "=" + value)
			if err != nil {
				t.Fatal(err)
			}
			_, err = u.Lease()
			wantInvalid(t, name+"="+value, err,
				`unalike: invalid x URL: option `+name+` is "`+u.Option(name)+
					`"; it is a positive duration with a unit, for example 15s`)
		}
	}
}

// FuzzParseURL: what is printed of a URL is a URL that says the same, but for what is secret.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{
		"redis://user:pass@h1:1,[::1]:2/path?a=b", "static://?worker=7",
		"redis://:s%40cret@h/a%2Fb%3F%40?c_password=x", "x://@h", "x:////", "etcd://u@h?=",
		"zk://a%3Ab:c@h/%25", "etcd://a,,b", "etcd://h:0", "etcd://h?a=1&a=2", "x://h%", "://h", "x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURL(s)
		if err != nil {
			if !errors.Is(err, coord.ErrInvalid) || u != nil {
				t.Fatalf("%q: %v beside %v", s, u, err)
			}
			return
		}
		again, err := ParseURL(u.String())
		if err != nil {
			t.Fatalf("%q is printed as %q, which cannot be read: %v", s, u, err)
		}
		if again.Scheme != u.Scheme || !slices.Equal(again.Hosts, u.Hosts) || again.Path != u.Path ||
			again.String() != u.String() {
			t.Errorf("%q is printed as %q, which is %q", s, u, again)
		}
		if same, err := ParseURL(u.Text()); err != nil || !reflect.DeepEqual(same, u) {
			t.Errorf("the text of %q is %q, which is %+v, %v", s, u.Text(), same, err)
		}
		if lease, err := u.Lease(); err == nil &&
			(lease.TTL < 0 || lease.Horizon < 0 || lease.RenewEvery < 0) {
			t.Errorf("%q: lease times %+v", s, lease)
		}
	})
}

// FuzzPassword: wherever the password of a URL lies and whatever is wrong with the rest,
// nothing that is printed has it.
func FuzzPassword(f *testing.F) {
	for _, seed := range [][4]string{
		{"u", "", "", "h:1/0?a=b"},
		{"", "@", "", ""},
		{"u", "%", "%zz", "a,,b"},
		{"%zz", "/", "?", "[::1"},
		{"u", ",", "]", "h?ttl=x"},
		{"u", "#", " ", "h/%zz"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, user, before, after, rest string) {
		const secret = "geheimnis"
		if strings.Contains(rest+user+before+after, secret) || strings.ContainsAny(user, ":/?@") {
			return // it is no password there, or the user's name is not where it ends
		}
		raw := "redis://" + user + ":" + before + secret + after + "@" + rest
		u, err := ParseURL(raw)
		shown := errorText(err)
		if err == nil {
			_, leaseErr := u.Lease()
			shown = u.String() + errorText(u.CheckOptions()) + errorText(leaseErr)
		}
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown as %s", raw, shown)
		}
	})
}
