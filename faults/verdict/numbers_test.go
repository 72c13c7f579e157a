package verdict

import (
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/faults/journal"
)

// numbers returns a journal of plain numbers.
func numbers(process int, all ...core.ID) book {
	return book{header: journal.Header{Generator: fmt.Sprint("p", process), PID: 100 + process, Layout: layout(), Numbers: true}, ids: all}
}

// TestNumbers: processes have numbers side by side, which is no fault, and a number that comes twice or too late is one.
func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		name       string
		books      []book
		duplicates uint64
		kind       string // of the only findings; empty: none
	}{
		{"side by side", []book{numbers(1, run(1, 10)...), numbers(2, run(11, 200)...), numbers(1, run(211, 3)...)}, 0, ""},
		{"far apart", []book{numbers(1, append(run(5, 3), run(1<<40, 20)...)...), numbers(2, run(1, 4)...)}, 0, ""},
		{"twice", []book{numbers(1, run(1, 10)...), numbers(2, run(10, 5)...)}, 1, Duplicate},
		{"a range twice", []book{numbers(1, run(100, 300)...), numbers(2, run(50, 100)...), numbers(3, run(1, 20)...)}, 50, Duplicate},
		{"back by itself", []book{numbers(1, append(run(500, 3), run(100, 3)...)...)}, 0, Order},
		{"negative", []book{numbers(1, -5)}, 0, Range},
	} {
		for name, check := range checkers {
			v, err := check(write(t, tt.books))
			if err != nil || v.Duplicates != tt.duplicates || len(v.Found) != min(1, len(tt.kind)) || tt.kind != "" && v.Found[tt.kind] == 0 {
				t.Errorf("%s, %s: %+v, %v", tt.name, name, v, err)
			}
		}
	}
}
