package zk_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// TestOpen: a URL leads to a grant below its chroot.
func TestOpen(t *testing.T) {
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	o.create(t, "/apps")
	drivertest.Opened(t, "zk://ann:s%40cret@"+server.Addr+"/apps?namespace="+rand.Text())
	if names, _, err := o.Children("/apps"); err != nil || len(names) != 1 || names[0] != "unalike" {
		t.Errorf("below the chroot are %v, %v", names, err)
	}
}

// TestBadURL: errors name what is wrong, and no password.
func TestBadURL(t *testing.T) {
	drivertest.BadURLs(t, map[string]string{
		"zookeeper://h/?namespace=ns": "unknown scheme",
		"zk:///apps?namespace=ns": "there is no host; write " +
			"zk://host1:2181,host2:2181/chroot?namespace=name",
		"zk://h":                           "no namespace",
		"zk://h/?namespace=a/b":            "namespace",
		"zk://h,h:2181/?namespace=ns":      "twice",
		"zk://h/apps/?namespace=ns":        "empty names",
		"zk://h//apps?namespace=ns":        "empty names",
		"zk://h/a/../b?namespace=ns":       "absolute path",
		"zk://h/a%01?namespace=ns":         "control characters",
		"zk://h/?namespace=ns&colour=red":  "known are horizon, namespace",
		"zk://h/?namespace=ns&ttl=10":      "unit",
		"zk://h/?namespace=ns&ttl=1.0005s": "whole milliseconds",
		"zk://h/?namespace=ns&ttl=600h":    "at most 596h",
		"zk://h/?namespace=ns&ttl=100ms":   "at least 1s",
		"zk://h/?namespace=ns&horizon=25h": "at most 24h0m0s",
		"zk://h/?namespace=ns&skew=-1s":    "skew",
		"zk://h/?namespace=ns&skew=5m":     "SkewBound",
		"zk://user@h/?namespace=ns": "a user and a password belong together; write " +
			"user:password@, or user@ and option password_file, or neither",
		"zk://:secret@h/?namespace=ns":        "password",
		"zk://u%3Aser:secret@h/?namespace=ns": "colon",
	})
}

// TestBadOptions: what New refuses.
func TestBadOptions(t *testing.T) {
	for says, tc := range map[string]struct {
		servers   []string
		namespace string
		options   zk.Options
	}{
		"at least one": {nil, "ns", zk.Options{}},
		"a space":      {[]string{"h i"}, "ns", zk.Options{}},
		"host:port":    {[]string{"h/i"}, "ns", zk.Options{}},
		"host 2":       {[]string{"h", "a:b:c"}, "ns", zk.Options{}},
		"port":         {[]string{"h:nosuchport"}, "ns", zk.Options{}},
		"SkewBound":    {[]string{"h"}, "ns", zk.Options{SkewBound: -1}},
		"RenewEvery is 20s": {
			[]string{"h"},
			"ns",
			zk.Options{Lease: coord.LeaseConfig{RenewEvery: 20 * time.Second}},
		},
	} {
		c, err := zk.New(tc.servers, tc.namespace, tc.options)
		drivertest.WantInvalid(t, "New", err, says)
		if c != nil {
			t.Errorf("%+v: a coordinator with the error %v", tc, err)
		}
	}
	for _, server := range []string{"h", "h:2181", "10.0.0.1", "[::1]:2181", "[::1]", "::1"} {
		c, err := zk.New([]string{server}, "ns", zk.Options{})
		if err != nil {
			t.Errorf("server %s: %v", server, err)
			continue
		}
		c.Close()
	}
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	drivertest.Place(t, "zk://ann:secret@h,i/apps?namespace=orders",
		"zk://h,i/apps?namespace=payments", "zk://h,i?namespace=orders", "zk://h/apps?namespace=orders")
}

// create makes an empty node that anybody may use.
func (o operator) create(tb testing.TB, path string) {
	tb.Helper()
	if _, err := o.Create(path, nil, 0, worldACL()); err != nil {
		tb.Fatal(err)
	}
}
