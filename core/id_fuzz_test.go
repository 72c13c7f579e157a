package core

import (
	"math"
	"testing"
	"time"
)

// FuzzParse: whatever a reader takes, the writer of that form gives back.
func FuzzParse(f *testing.F) {
	for _, id := range edgeIDs {
		f.Add(id.String())
		f.Add(id.Base62())
		f.Add(id.Base32())
	}
	for _, s := range []string{"", "-1", "+1", "007", " 7", "0x7", "1e3", "٣", "LygHa16AHYF", "8000000000000", "7zzzzzzzzzzzz", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, form := range map[string]struct {
			parse func(string) (ID, error)
			write func(ID) string
		}{
			"decimal": {ParseID, ID.String},
			"base62":  {ParseBase62, ID.Base62},
			"base32":  {ParseBase32, ID.Base32},
		} {
			id, err := form.parse(s)
			if err != nil {
				if id != 0 || err.Error() == "" {
					t.Errorf("%s of %q: %d beside error %v", name, s, id, err)
				}
				continue
			}
			if id < 0 || form.write(id) != s {
				t.Errorf("%s: %q was read as %d, which is written %q", name, s, id, form.write(id))
			}
		}
	})
}

// FuzzUnmarshalJSON: what is read is written as a string of the same digits.
func FuzzUnmarshalJSON(f *testing.F) {
	for _, s := range []string{`"1"`, `1`, `9007199254740992`, `null`, `"`, `""`, `[`, `{}`, `1.5`, `-0`, `"\u0031"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var id ID
		if id.UnmarshalJSON(data) != nil {
			if id != 0 {
				t.Errorf("%q: ID %d beside the error", data, id)
			}
			return
		}
		out, err := id.MarshalJSON()
		if err != nil || (string(out) != string(data) && string(out) != `"`+string(data)+`"`) {
			t.Errorf("%q was written as %q, %v", data, out, err)
		}
	})
}

// FuzzIDForms: every ID survives every form.
func FuzzIDForms(f *testing.F) {
	for _, id := range edgeIDs {
		f.Add(int64(id))
	}
	f.Fuzz(func(t *testing.T, v int64) {
		if v >= 0 {
			checkRoundTrips(t, ID(v))
		}
	})
}

// FuzzLayout: Compose undoes Decompose, and a fingerprint reads as its layout.
func FuzzLayout(f *testing.F) {
	f.Add(uint8(41), uint8(10), uint8(12), int64(1), int64(1704067200000), int64(math.MaxInt64))
	f.Add(uint8(62), uint8(0), uint8(1), int64(3600000), int64(0), int64(math.MaxInt64))
	f.Add(uint8(1), uint8(31), uint8(31), int64(10), int64(253402300799999), int64(1))
	f.Fuzz(func(t *testing.T, timeBits, workerBits, sequenceBits uint8, unit, epoch, value int64) {
		l := Layout{
			Epoch: time.UnixMilli(epoch).UTC(), Unit: time.Duration(unit) * time.Millisecond,
			TimeBits: timeBits, WorkerBits: workerBits, SequenceBits: sequenceBits,
		}
		if l.Validate() != nil {
			if _, err := ParseLayout(l.String()); err == nil {
				t.Errorf("%v is not valid but can be read", l)
			}
			return
		}
		if got, err := ParseLayout(l.String()); err != nil || got != l {
			t.Errorf("%v reads as %v, %v", l, got, err)
		}
		id := ID(value) & l.MaxID()
		p := l.Decompose(id)
		if !p.Time.Before(l.Expires()) {
			return // saturated: the time is not the tick's
		}
		if got, err := l.Compose(p.Time, p.WorkerID, p.Sequence); err != nil || got != id {
			t.Errorf("%v: %d has parts %v, which make %d, %v", l, id, p, got, err)
		}
	})
}
