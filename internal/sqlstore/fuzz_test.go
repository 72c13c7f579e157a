package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// scripted answers every transaction with the same rows, without a server.
type scripted struct{ rows [][]string }

func (s scripted) Transact(ctx context.Context, _ bool, _ []Statement) ([][]string, error) {
	return s.rows, ctx.Err()
}
func (scripted) Rest()                          {}
func (scripted) Class(error) sqldb.Class        { return sqldb.Unknown }
func (scripted) Number(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

var layout = coord.Space{
	Fingerprint: "test", Scale: clock.Scale{Unit: 1000}, LastTick: 1 << 41,
	Capacity: 4,
}

// encoded is what is stored for a record.
func encoded(tb testing.TB, r protocol.Record) string {
	tb.Helper()
	s, err := protocol.Encode(r)
	if err != nil {
		tb.Fatal(err)
	}
	return string(s)
}

// FuzzAnswer: whatever rows a server, or something in front of it, answers with, a call
// returns what is in them or an error.
func FuzzAnswer(f *testing.F) {
	meta := encoded(f, protocol.NewMeta(layout))
	slot := encoded(f, protocol.Slot{
		Version: protocol.Version, Worker: 1, Token: "t", Generation: 3,
		NotAfter: 10, LastTick: 1 << 41, TTL: 15_000, Fingerprint: "test",
	})
	moment := []string{"m", "0", "1700000000000000", "0", "0", "3", "77", "here"}
	add := func(rows ...[]string) {
		text, err := json.Marshal(rows)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	namespace := []string{"n", "0", "5", "1", "9", "0", meta, "here"}
	count := []string{"c", "4", "1", "7", "0", "0", "", ""}
	add(moment)
	add(moment, namespace, count, []string{"s", "1", "5", "2", "8", "1800000000000000", slot, "held"})
	add(moment, namespace, count, []string{"t", "1", "0", "0", "0", "0", "", ""},
		[]string{"l", "1", "5", "2", "8", "0", slot, ""},
		[]string{"h", "1", "5", "2", "0", "1800000000000000", "", "held"},
		[]string{"d", "0", "12", "0", "0", "0", "", ""})
	add(moment, namespace, []string{"s", "1", "5", "2", "8", "0", "{", ""},
		[]string{"s", "2", "5", "2", "8", "0", slot, ""})
	add(moment, []string{"n", "", "", "", "", "", "", ""},
		[]string{"r", "0", "0", "0", "0", "0", "", "fsync"})
	add(moment[:3], namespace)
	tables := []string{"p", "0", "1", "3", "0", "0", "{}", "*"}
	add(moment, tables, []string{"p", "0", "1", "0", "9", "0", meta, "ns"})
	add(moment, tables, []string{"p", "0", "1", "0", "9", "0", "{", "ns"})
	add([]string{"m", "0", "1700000000000000", "0", "0", "", "77", "here"})
	add([]string{"m", "0", "1700000000000000", "0", "0", "4", "77", "here"})
	add([]string{"m", "0", "1700000000000000", "0", "0", "3", "x", "here"})
	f.Fuzz(func(t *testing.T, text []byte) {
		var rows [][]string
		if json.Unmarshal(text, &rows) != nil {
			return
		}
		answered(t, rows)
	})
}

// answered makes every call with an answer.
func answered(t *testing.T, rows [][]string) {
	o, err := Options{Prefix: DefaultPrefix}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewStore(scripted{rows}, Dialect{Series: func(int) string {
		return ""
	}, Risks: []sqldb.Risk{{Name: "fsync"}}}, "ns", o).Open("t", time.Second, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.End()
	refused := func(what string, err error) {
		t.Helper()
		if err != nil && strings.Contains(err.Error(), "%!") {
			t.Errorf("%s of %q: %v", what, rows, err)
		}
	}
	sv, err := s.Survey(t.Context(),
		protocol.Ask{
			Token: "t", Identity: "i",
			New:   func(protocol.Span) protocol.Meta { return protocol.NewMeta(layout) },
			Again: func(_ protocol.Span, known protocol.Meta) protocol.Meta { return known },
		})
	refused("a survey", err)
	if err == nil && (!slices.IsSorted(sv.Owned) || sv.Meta.There() && sv.Meta.Record.Check() != nil ||
		len(sv.Holders)+sv.Retired != len(sv.Owned)) {
		t.Errorf("%q is read as %+v", rows, sv)
	}
	v, err := s.Look(t.Context(), 1, "t")
	refused("a look", err)
	if err == nil && v.Slot.There() && v.Slot.Record.Check() != nil {
		t.Errorf("%q is read as %+v", rows, v)
	}
	probes, err := s.Probe(t.Context(), []int{0, 1})
	refused("a probe", err)
	if err == nil && (len(probes) != 2 || probes[1].Err == nil && probes[1].Slot.There() &&
		probes[1].Slot.Record.Worker != 1) {
		t.Errorf("%q is read as %+v", rows, probes)
	}
	if v == nil {
		v = &protocol.View{}
	}
	for _, owner := range []protocol.Owner{
		protocol.OwnerStays, protocol.OwnerTaken,
		protocol.OwnerFreed, protocol.OwnerForever,
	} {
		out, err := s.Commit(t.Context(),
			protocol.Change{Before: v, Slot: &protocol.Slot{
				Version: protocol.Version, Worker: 1, Token: "t",
				Identity: "i", TTL: 1000,
			}, Owner: owner, Token: "t"})
		refused("a change", err)
		if err == nil && out.Done {
			t.Errorf("%q is taken for a change that was done, with a stamp that nobody knows", rows)
		}
	}
	s.Leases(t.Context(), []protocol.Holder{{Worker: 1}})
	l, err := s.List(t.Context(), true)
	refused("a list", err)
	if err != nil && errors.Is(err, coord.ErrInvalid) && l != nil {
		t.Errorf("%q: a list and %v", rows, err)
	}
}

// FuzzText: text in a statement is within its literal, whatever it is.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "it's", `\`, "\x00", "größe", "$1", "$$", "$2"} {
		f.Add(s, int64(7))
	}
	f.Fuzz(func(t *testing.T, s string, n int64) {
		hex := func(text string) string { return fmt.Sprintf("x'%x'", text) }
		got := Statement{SQL: "a $1 $.x $2 $3", Args: []any{s, n}}.Text(hex)
		if want := fmt.Sprintf("a x'%x' $.x %d $3", s, n); got != want {
			t.Errorf("%q and %d: %s; want %s", s, n, got, want)
		}
	})
}
