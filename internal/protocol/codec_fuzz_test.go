package protocol

import (
	"strings"
	"testing"
)

// FuzzDecode: what is read of a record of any kind is written again, byte for byte, and
// nothing that is read of one makes the arithmetic stumble.
func FuzzDecode(f *testing.F) {
	slot := Slot{
		Version: Version, Worker: 3, Token: "t", Identity: "pod-a", Holder: "h",
		Generation: 1, NotAfter: 10, LastTick: 1 << 41, Fingerprint: "x", TTL: 15_000,
	}
	later := aMeta()
	later.Version, later.unknown = MetaVersion+1, `,"zone":{"b":1,"a":[2,3]},"anew":null`
	for _, r := range []Record{
		aMeta(), later, slot, slot.Withdrawn(aMeta(), 3, 7), PointerTo(3),
		MarkOf(slot),
	} {
		s, err := Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(s))
		f.Add([]byte(s[:len(s)/2]))
		f.Add([]byte(strings.ReplaceAll(s, ",", ", ")))
	}
	for _, s := range []string{
		"", "null", "[]", "{}", `{"version":1}`, `{"version":2,"minReader":3}`,
		`{"Version":1,"worker":3}`, `{"version":1,"worker":3,"worker":4}`, "\xff",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := Decode[Meta](b); sameBytes(t, b, m, err) {
			m.Inspected()
			_ = m.Quarantined("ns", 0).Error()
			m.WindowLimit(1_704_067_205_000_000, testLimits)
		}
		if s, err := Decode[Slot](b); sameBytes(t, b, s, err) {
			s.Listed(aMeta(), true)
			next, from, _ := s.Extended(s.Grant(nil), s.NotBefore, s.LastTick, 1)
			if next.Check() != nil || from < 0 {
				t.Errorf("%s, extended, is %+v from %d: %v", b, next, from, next.Check())
			}
			if next := s.Trimmed(s.Grant(nil), s.NotBefore); next.Check() != nil {
				t.Errorf("%s, released, is %+v: %v", b, next, next.Check())
			}
		}
		p, err := Decode[Pointer](b)
		sameBytes(t, b, p, err)
		m, err := Decode[Mark](b)
		sameBytes(t, b, m, err)
	})
}

// sameBytes checks what was read of b, and reports whether anything was.
func sameBytes[R Record](t *testing.T, b []byte, r R, err error) bool {
	t.Helper()
	if err != nil {
		if text := err.Error(); text == "" {
			t.Errorf("%q: %v", b, err)
		}
		return false
	}
	if s, err := Encode(r); err != nil || s != string(b) || r.Check() != nil {
		t.Errorf("%q is read as %+v, which is written %q, %v, %v", b, r, s, err, r.Check())
	}
	return true
}
