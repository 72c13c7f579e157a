package zk

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// Numbers of tickets end at 2^31 - 1. Tickets of any number, and of none, begin at some
// worker ID of the share.
func TestTicketNumber(t *testing.T) {
	share := coord.Range{First: 10, Count: 1024}
	for suffix, want := range map[string]int{
		"0000000000": 10, "0000000001": 11, "0000001023": 1033, "0000001024": 10, "2147483646": 10 + (1<<31-2)%1024,
		"2147483647": -1, "-2147483648": -1, "-000000001": -1, "": -1, "9999999999": -1, // anywhere
	} {
		n := ticketNumber(suffix)
		free := protocol.FreeFrom(share, nil, max(n, 0), 2)
		if (n >= 0) != (want >= 0) || len(free) != 2 || want >= 0 && free[0] != want {
			t.Errorf("%q is ticket %d, which begins at %v; want %d", suffix, n, free, want)
		}
	}
}

// Names of nodes are fit for ZooKeeper, and different for different texts.
func TestEscape(t *testing.T) {
	seen := map[string]string{}
	for text, want := range map[string]string{
		"orders": "orders", "a.b-c_D9": "a.b-c_D9", ".": "%2E", "..": "%2E.", "a/b": "a%2Fb", "%2F": "%252F",
		"☃": "%E2%98%83", "\U0001F600": "%F0%9F%98%80", "a b": "a%20b", "\ufffd": "%EF%BF%BD",
	} {
		got := escape(text)
		if got != want {
			t.Errorf("%q becomes %q; want %q", text, got, want)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q both become %q", text, other, got)
		}
		seen[got] = text
	}
}

// Only names that the driver writes are worker IDs.
func TestWorkerOf(t *testing.T) {
	if id, err := workerOf("/owners", "0000000007"); id != 7 || err != nil {
		t.Errorf("0000000007 is %d, %v", id, err)
	}
	for _, name := range []string{"7", "", "00000000007", "-000000007", "000000000x", "9999999999", "+000000007"} {
		if id, err := workerOf("/owners", name); err == nil || !strings.Contains(err.Error(), "/owners/"+name) {
			t.Errorf("%q is %d, %v; want an error that names the node", name, id, err)
		}
	}
}
