package zk

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// FuzzNames: names of nodes stand for what they were made from, and for nothing else.
func FuzzNames(f *testing.F) {
	for _, s := range []string{
		"", ".", "..", "a.b", "a/b", "%2F", "☃", "\x00\xff", "0000000007", "7",
		"-000000007", "9999999999",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := escape(s)
		if back, err := url.PathUnescape(name); err != nil || back != s ||
			strings.Trim(name, "%-_.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" ||
			strings.HasPrefix(name, ".") {
			t.Errorf("%q becomes %q, and then %q, %v", s, name, back, err)
		}
		id, err := workerOf("/owners", s)
		switch {
		case err != nil && !errors.Is(err, coord.ErrInvalid):
			t.Errorf("%q: %v", s, err)
		case err == nil && (digits(id) != s || id < 0):
			t.Errorf("%q is read as worker ID %d", s, id)
		}
	})
}

// FuzzURL: a URL is refused as invalid, or gives options that are allowed.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"zk://h/?namespace=ns",
		"zk://u:p@h1:1,[::1]/apps?namespace=ns&ttl=20s&horizon=40s&renew=4s&skew=2s",
		"zk://h/a/../b?namespace=ns",
		"zk://h/apps/?namespace=ns", "zk://h//a?namespace=ns", "zk://u%3A:p@h?namespace=n",
		"zk://h,h:2181?namespace=n", "zk:///?namespace=n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := driver.ParseURL(s)
		if err != nil {
			return
		}
		namespace, opts, err := parse(u)
		var c coord.AdminCoordinator
		if err == nil {
			c, err = New(u.Hosts, namespace, opts)
		}
		if err != nil {
			if c, err := open(t.Context(), u); !errors.Is(err, coord.ErrInvalid) || c != nil {
				t.Errorf("%q: %v, %v", s, c, err)
			}
			return
		}
		_ = c.Close()
		if driver.CheckNamespace(namespace) != nil || opts.SkewBound < 0 ||
			(opts.User == "") != (opts.Password == "") || strings.HasSuffix(opts.Chroot, "/") {
			t.Errorf("%q is read as %q, %+v", s, namespace, opts)
		}
	})
}
