package verdict

import (
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

// client returns a journal of IDs that came from servers.
func client(process int, all ...core.ID) book {
	return book{header: journal.Header{Generator: fmt.Sprint("c", process), PID: 100 + process, Layout: layout(), Served: true}, ids: all}
}

// TestServed: clients have IDs of one tick side by side, which is no fault. One that comes twice, or too late, is one.
func TestServed(t *testing.T) {
	for _, tt := range []struct {
		name       string
		books      []book
		duplicates uint64
		kind       string // of the only findings; empty: none
	}{
		{"side by side", []book{client(1, run(1, 10)...), client(2, run(11, 20)...), client(1, run(31, 3)...)}, 0, ""},
		{"twice", []book{client(1, run(1, 10)...), client(2, run(10, 5)...)}, 1, Duplicate},
		{"back by itself", []book{client(1, id(5, 2, 0), id(4, 2, 0))}, 0, Order},
		{"negative", []book{client(1, -5)}, 0, Range},
	} {
		for name, check := range checkers {
			v, err := check(write(t, tt.books))
			if err != nil || v.Duplicates != tt.duplicates || len(v.Found) != min(1, len(tt.kind)) || tt.kind != "" && v.Found[tt.kind] == 0 {
				t.Errorf("%s, %s: %+v, %v", tt.name, name, v, err)
			}
		}
	}
}
