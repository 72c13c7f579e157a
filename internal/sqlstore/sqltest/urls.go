package sqltest

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/internal/sqlstore"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
)

// BadURLs checks that errors name what is wrong, and no password.
func BadURLs(t *testing.T, scheme string) {
	junk, expired := drivertest.BadFiles(t)
	all := map[string]string{}
	pair := "&cert=" + expired.Cert + "&key=" + expired.Key
	for url, says := range map[string]string{
		":///db?namespace=ns":                     "no host",
		"://u:secret@/db?namespace=ns":            "no host",
		"://u:secret@h/?namespace=ns":             "there is no database, or more than one; write",
		"://u:secret@h/a/b?namespace=ns":          "more than one",
		"://u:secret@h/db":                        "no namespace",
		"://u:secret@h/db?namespace=a/b":          "namespace",
		"://h/db?namespace=ns":                    "there is no user; write",
		"://:secret@h/db?namespace=ns":            "there is no user; write",
		"://u:secret@h/db?namespace=ns&socket=/x": "there are a host and a socket; give one of them",
		"://u:secret@h/db?namespace=ns&prefix=A": "it is 1 to 31 lower case letters, digits and " +
			"underscores, and does not begin with a digit",
		"://u:secret@h/db?namespace=ns&colour=red":            "known are accept, ca",
		"://u:secret@h/db?namespace=ns&ttl=10":                "unit",
		"://u:secret@h/db?namespace=ns&ttl=100ms":             "at least 1s",
		"://u:secret@h/db?namespace=ns&horizon=25h":           "at most 24h0m0s",
		"://u:secret@h/db?namespace=ns&skew=-1s":              "skew",
		"://u:secret@h/db?namespace=ns&skew=5m":               "SkewBound",
		"://u:secret@h/db?namespace=ns&ca=" + junk:            scheme + "s://",
		"s://u:secret@h/db?namespace=ns&ca=" + junk:           "no certificate",
		"s://u:secret@h/db?namespace=ns&ca=/nosuchfile":       "nosuchfile",
		"s://u:secret@h/db?namespace=ns&cert=" + expired.Cert: "belong together",
		"s://u:secret@/db?namespace=ns&socket=/x":             "a socket has no TLS; write",
		"://user:sec%ret@h/db?namespace=ns":                   "%25",
		"s://u:secret@h/db?namespace=ns" + pair:               "is valid from",
		"://u:sec@ret@h/db?namespace=ns":                      "%40",
	} {
		all[scheme+url] = says
	}
	for _, bad := range []string{"1st_", "a-b", "a%20b", "x%22", strings.Repeat("a", 32)} {
		all[scheme+"://u:secret@h/db?namespace=ns&prefix="+bad] = "Prefix"
	}
	drivertest.BadURLs(t, all)
}

// Opened checks that what a URL says holds. The URL has a database that anything may be done in.
func Opened(t *testing.T, url string) {
	t.Helper()
	drivertest.Opened(t, url+"&prefix=url_&namespace="+newName())
}

// WrongPassword checks that what is wrong is said, for good, and not the password.
func WrongPassword(t *testing.T, url, user string) {
	t.Helper()
	c, err := drivertest.Open(t, url)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Acquire(drivertest.Within(t), drivertest.Request(1))
	drivertest.WantInvalid(t, "Acquire with a wrong password", err, user)
	if err != nil && strings.Contains(err.Error(), "s3cret") {
		t.Errorf("the error has the password: %v", err)
	}
}

// TLS is for a server whose certificate is signed by an authority, and its URL without options.
func TLS(t *testing.T, ca *certtest.Authority, secure, accept string) {
	open := func(options string) error {
		url := secure + "?namespace=" + newName() + "&accept=" + accept + options
		c, err := drivertest.Open(t, url)
		if err == nil {
			_, err = c.Acquire(drivertest.Within(t), drivertest.Request(1))
		}
		return err
	}
	if err := open("&ca=" + ca.Path); err != nil {
		t.Error(err)
	}
	if err := open(""); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("without the authority: %v; want an error that says so", err)
	}
}

// URLSeeds are what a fuzz test of URLs begins with.
func URLSeeds(f *testing.F, s sqldb.Scheme) {
	f.Helper()
	for _, rest := range []string{
		"://u:p@h/db?namespace=ns",
		"s://u:p@h:1/db?namespace=ns&ttl=20s&horizon=40s&renew=4s&skew=2s&prefix=a_",
		"://u@[::1]/db?namespace=ns", "://u@[::1]:7/db?namespace=ns",
		"://u:p@h1:1,h2/db?namespace=ns", "://u%40:p%2F@h/d%20b?namespace=ns",
		"://u@/db?namespace=ns&socket=/run/s", "://u@h/db?namespace=ns&accept=x", "://h/db?namespace=ns",
		"://u:'%5C@h'%5C/d'b?namespace=n", "://u@h/a/b?namespace=n", "://u@h/db",
		"://u@h/db?namespace=ns&prefix=A",
	} {
		f.Add(s.Name + rest)
	}
}

// URL checks that a text is refused as invalid, or is read as options that are allowed. It
// returns what it is read as.
func URL(t *testing.T, s sqldb.Scheme, open driver.Opener[coord.Coordinator],
	text string,
) (target sqlstore.Target, ok bool) {
	u, err := driver.ParseURL(text)
	if err != nil || u.Has("ca") || u.Has("cert") || u.Has("key") { // those are files
		return target, false
	}
	target, err = sqlstore.Parse(s, u)
	c, openErr := open(t.Context(), u)
	if openErr == nil {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	} else if !errors.Is(openErr, coord.ErrInvalid) {
		t.Errorf("%q: %v", text, openErr)
	}
	if err != nil {
		if openErr == nil {
			t.Errorf("%q is opened, and read with %v", text, err)
		}
		return target, false
	}
	if driver.CheckNamespace(target.Namespace) != nil || target.Options.SkewBound < 0 ||
		target.User == "" && !u.Has("user_file") || target.Database == "" ||
		(len(target.Addrs) > 0) == (target.Socket != "") ||
		(target.TLS != nil) != s.Secure(u.Scheme) {
		t.Errorf("%q is read as %+v", text, target)
	}
	for _, a := range target.Addrs {
		if _, port, err := net.SplitHostPort(a); err != nil || port == "" {
			t.Errorf("%q has the address %q", text, a)
		}
	}
	return target, openErr == nil
}
