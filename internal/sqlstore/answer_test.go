package sqlstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// TestBadAnswer: errors name the row that is wrong. Those about what is stored are final.
func TestBadAnswer(t *testing.T) {
	moment := []string{"m", "0", "1700000000000000", "0", "0", "3", "77", "here"}
	namespace := []string{"n", "0", "5", "1", "9", "0", encoded(t, protocol.NewMeta(layout)), "here"}
	slot := encoded(t, protocol.Slot{
		Version: protocol.Version, Worker: 1, Token: "t", Generation: 3,
		NotAfter: 10, LastTick: 1 << 41, TTL: 15_000, Fingerprint: "test",
	})
	for _, tc := range []struct {
		says  string
		rows  [][]string
		final bool
	}{
		{"the answer has 3 columns; it must have 8", [][]string{{"m", "0", "1"}}, false},
		{
			`parsing "x": invalid syntax`,
			[][]string{{"m", "0", "x", "0", "0", "1", "77", "here"}},
			false,
		},
		{"the answer does not tell the server's time", [][]string{namespace}, false},
		{
			"the tables unalike_* have format 4 and this program reads format 3",
			[][]string{{"m", "0", "1", "0", "0", "4", "77", "here"}},
			true,
		},
		{
			`the row of worker ID 2 of namespace "ns" in unalike_slots is damaged: it has the slot of ` +
				`worker ID 1`,
			[][]string{moment, namespace, {"s", "2", "5", "2", "8", "0", slot, ""}},
			true,
		},
		{
			`the row of worker ID 1 of namespace "ns" in unalike_slots is damaged: `,
			[][]string{moment, namespace, {"s", "1", "5", "2", "8", "0", "{", ""}},
			true,
		},
		{
			`it is not overwritten: restore it from a backup`,
			[][]string{moment, {"n", "0", "5", "1", "9", "0", "{", "here"}},
			true,
		},
	} {
		o, err := Options{Prefix: DefaultPrefix}.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewStore(scripted{tc.rows}, Dialect{}, "ns", o).Open("", 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s.Look(t.Context(), 1, ""); err == nil || !strings.Contains(err.Error(), tc.says) ||
			errors.Is(err, coord.ErrInvalid) != tc.final {
			t.Errorf("Look: %+v, %v; want an error that says %q, final %t", v, err, tc.says, tc.final)
		}
		s.End()
	}
}

// recorded notes whether transactions write, and answers as scripted does.
type recorded struct {
	scripted
	writes *[]bool
}

func (r recorded) Transact(ctx context.Context, write bool, all []Statement) ([][]string, error) {
	*r.writes = append(*r.writes, write)
	return r.scripted.Transact(ctx, write, all)
}

// TestPeekWritesNothing: whoever waits for a worker ID reads in transactions that read alone.
func TestPeekWritesNothing(t *testing.T) {
	o, err := Options{Prefix: DefaultPrefix}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	var writes []bool
	moment := []string{"m", "0", "1700000000000000", "0", "0", "3", "77", "here"}
	db := recorded{scripted{[][]string{moment}}, &writes}
	s, err := NewStore(db, Dialect{}, "ns", o).Open("t", 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.End()
	ask := protocol.Ask{Share: coord.Range{Count: 2}, Peek: true}
	if _, err := s.Survey(t.Context(), ask); err != nil || len(writes) != 1 || writes[0] {
		t.Errorf("a peek: %v; transactions that write: %v", err, writes)
	}
}
