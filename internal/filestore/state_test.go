package filestore

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestBitFlips: a file of which any bit is another one, or that is cut anywhere, is refused, and
// not written over.
func TestBitFlips(t *testing.T) {
	path := newPath(t)
	s := newStore(path)
	must(t, s, 0)
	must(t, s, 1)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			if d, err := decode(bad); err == nil {
				t.Fatalf("bit %d of byte %d is another one, and read is %+v", bit, i, d)
			}
		}
		if d, err := decode(good[:i]); err == nil {
			t.Fatalf("cut after %d bytes, read is %+v", i, d)
		}
	}
	for _, bad := range [][]byte{{}, good[:40], []byte("worker=7\n"), bytes.Repeat([]byte("x"), 100)} {
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := bump(t.Context(), s)
		wantError(t, err, coord.ErrInvalid, path, "restore it, or move it away (mv "+path)
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, bad) {
			t.Errorf("%q was refused, and is %q now, %v", bad, now, err)
		}
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, s, 2) // service is back
}

// TestUnfit: what is whole, and not what this program can use, is refused.
func TestUnfit(t *testing.T) {
	for want, change := range map[string]func(*State){
		"update this program": func(d *State) { d.Meta.Record.MinReader, d.Meta.Record.Version = 99, 99 },
		"are missing": func(d *State) {
			d.Meta, d.Slots = protocol.Entry[protocol.Meta]{},
				map[int]protocol.Entry[protocol.Slot]{3: {Made: 1}}
		},
	} {
		d := newState("n")
		d.Meta = protocol.Entry[protocol.Meta]{
			Record: protocol.NewMeta(coord.Space{
				Fingerprint: "f", Scale: clock.Scale{Unit: 1}, LastTick: 9,
				Capacity: 1,
			}), Made: 1,
		}
		change(d)
		b, err := format.Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		_, err = decode(b)
		wantError(t, err, err, want)
	}
}

// FuzzDecode: whatever a file says is refused, or written again as it was.
func FuzzDecode(f *testing.F) {
	d := newState("n")
	d.Number = 7
	good, _ := format.Encode(d)
	f.Add(good)
	f.Add([]byte(`{"version":1,"namespace":"n"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decode(b)
		if err != nil {
			return
		}
		if again, err := format.Encode(d); err != nil || len(again) == 0 {
			t.Errorf("%q: %v", b, err)
		}
	})
}

// TestBoot: after another start of the machine leases are over and windows stand. On another
// machine, or on one that cannot tell, a file is refused until an operator raises the floor.
func TestBoot(t *testing.T) {
	b := &bootClock{since: time.Hour}
	on := func(path, machine, boot string) *Store {
		return New(Options{
			Path: path, Namespace: "n", Clock: clock.System(),
			Leases: b.on(machine, boot),
		})
	}
	for name, tt := range map[string]struct {
		machine, machine2 string
		elsewhere         bool
	}{
		"the same machine": {"m", "m", false},
		"another machine":  {"m", "m2", true},
		"no machine ID":    {"", "", true},
		"lost machine ID":  {"m", "", true},
		"not told before":  {"", "m", true},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			first := on(path, tt.machine, "1")
			must(t, first, 0)
			s, _ := first.Open("a", time.Minute, 0)
			v, err := s.Look(t.Context(), 3, "a")
			if err != nil {
				t.Fatal(err)
			}
			slot := protocol.Slot{
				Version: protocol.Version, Worker: 3, Token: "a", Generation: 1,
				NotAfter: 500, LastTick: 1000, Fingerprint: "f", TTL: 60_000,
			}
			if out, err := s.Commit(t.Context(),
				protocol.Change{Before: v, Slot: &slot, Owner: protocol.OwnerTaken, Token: "a"}); err != nil ||
				!out.Done {
				t.Fatal(out, err)
			}
			if tt.machine == "" { // another container of this machine
				s, _ := on(path, "other", "1").Open("b", time.Minute, 0)
				v, err := s.Look(t.Context(), 3, "b")
				if err != nil || !v.Owned {
					t.Errorf("in another container: %+v, %v", v, err)
				}
			}
			v, _ = s.Look(t.Context(), 3, "a")
			next := on(path, tt.machine2, "2")
			s2, _ := next.Open("b", time.Minute, 0)
			now, err := s2.Look(t.Context(), 3, "b")
			if tt.elsewhere {
				wantError(t, err, coord.ErrInvalid, path, "'unalike quarantine --coordinator file://"+path+
					"' takes it over")
				op, _ := next.Open("", time.Minute, 0)
				// He does not go on with a grant of the other machine's.
				_, err = op.Commit(t.Context(),
					protocol.Change{Before: v, Slot: &slot, Owner: protocol.OwnerForever})
				wantError(t, err, coord.ErrInvalid, "takes it over")
				if l, err := op.List(t.Context(), true); err != nil || len(l.Slots) != 1 {
					t.Errorf("an operator sees %+v, %v", l, err)
				}
				must(t, next, 1)
				if _, err := bump(t.Context(), first); err != nil { // an operator may go back
					t.Error(err)
				}
				if _, err := s2.Look(t.Context(), 3, "b"); err == nil {
					safetytest.Of(t).Error("two machines use one file")
				}
				must(t, next, 3)
				now, err = s2.Look(t.Context(), 3, "b")
			}
			if err != nil || now.Owned || now.Slot.Record != slot {
				t.Errorf("after another start: %+v, %v", now, err)
			}
		})
	}
}

// TestSameVersions: an older file that was put back has the versions of records that were written
// since once more. A change that took one of them to be stored is refused.
func TestSameVersions(t *testing.T) {
	path := newPath(t)
	s := newStore(path)
	must(t, s, 0)
	older, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	must(t, s, 1)
	op, _ := s.Open("", time.Minute, 0)
	before, err := op.Survey(t.Context(), protocol.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, older, 0o600); err != nil {
		t.Fatal(err)
	}
	meta := before.Meta.Record
	meta.Floor = 7
	if out, err := op.Commit(t.Context(),
		protocol.Change{Before: &protocol.View{}, Meta: &meta}); err != nil || out.Done {
		t.Fatalf("a change that took nothing to be stored: %+v, %v", out, err)
	}
	now, err := op.Survey(t.Context(), protocol.Ask{})
	if err != nil {
		t.Fatal(err)
	}
	other, _ := s.Open("", time.Minute, 0) // another one makes the second version anew
	if out, err := other.Commit(t.Context(), protocol.Change{
		Before: &protocol.View{Meta: now.Meta},
		Meta:   &meta,
	}); err != nil || !out.Done || out.Now.Meta.Version != before.Meta.Version {
		t.Fatalf("%+v, %v; want version %d once more", out, err, before.Meta.Version)
	}
	if out, err := op.Commit(t.Context(), protocol.Change{
		Before: &protocol.View{Meta: before.Meta},
		Meta:   &meta,
	}); err != nil || out.Done {
		t.Errorf("a change that took another value of version %d to be stored: %+v, %v",
			before.Meta.Version, out, err)
	}
}

// TestTimedLeases: this system tells what they need, or says that it does not.
func TestTimedLeases(t *testing.T) {
	l, err := TimedLeases("")
	if err != nil {
		wantError(t, err, coord.ErrInvalid, "use static:// or a server")
		return
	}
	began := l.Now()
	if later := l.Now(); began <= 0 || later < began || later-began > time.Minute.Microseconds() {
		t.Errorf("it is %d us since the start, and then %d", began, later)
	}
}
