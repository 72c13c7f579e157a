package redis

import (
	"errors"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestServerRefused: what a server says of itself decides. There is one version to test
// with, so the scripts are told what others would say.
func TestServerRefused(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	c, err := New(client, "ns", Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for old, tc := range map[string]struct{ says, want string }{
		"call('INFO', 'server')":      {`'redis_version:6.2.14\r\n'`, "6.2.14; at least 7.0"},
		"call('INFO', 'replication')": {`'role:master\r\n'`, "run_id and master_replid"},
	} {
		if strings.Count(namespaceSource, old) != 1 {
			t.Fatalf("the scripts have %q %d times", old, strings.Count(namespaceSource, old))
		}
		told := newScript(preamble, strings.Replace(namespaceSource, old, tc.says, 1), listSource)
		_, err := c.do(t.Context(), operation{what: "list"}, told)
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("a server that says %s: %v; want an error that says %q", tc.says, err, tc.want)
		}
	}
}

// TestUnknownReply: a reply that no script of this driver makes is an error, whatever
// it is.
func TestUnknownReply(t *testing.T) {
	c := &Coordinator{namespace: "ns"}
	for _, r := range []reply{nil, {}, {int64(1)}, {"WHAT"}, {"FULL"}, {"FULL", "1", "2", "3"}, {"LAYOUT", int64(1)}, {"SKEW"}, {"QUARANTINED", int64(1)}, {"LOST"}, {"DAMAGED", "meta"}, {"FOREIGN"}, {"DENIED"}, {"VERSION"}, {"EVICTS"}, {"SCALE", "1"}, {"AHEAD"}, {"SPENT"}, {"RANGE"}, {"BEYOND"}, {"OTHER"}, {"QUARANTINED", int64(1), int64(0), int64(0)}, {"BEYOND", int64(1), int64(-1), int64(1000)}} {
		if err := c.refusal(r); !errors.Is(err, errReply) {
			t.Errorf("%v: %v; want %v", r, err, errReply)
		}
	}
	if want := "is something between here and Redis that changes replies?"; !strings.Contains(errReply.Error(), want) {
		t.Errorf("%v lacks %q", errReply, want)
	}
	if at, err := floorOf(reply{"OK", int64(1), int64(0), int64(0)}, nil); !errors.Is(err, errReply) {
		t.Errorf("a floor in ticks of no length: %v, %v", at, err)
	}
	if _, err := (reply{"OK", []any{"x"}}).list(1); !errors.Is(err, errReply) {
		t.Errorf("a list of texts: %v", err)
	}
}
