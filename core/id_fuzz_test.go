package core

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
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
	for _, s := range []string{
		"", "-1", "+1", "007", " 7", "0x7", "1e3", "٣", "LygHa16AHYF",
		"8000000000000", "7zzzzzzzzzzzz", "\xff",
	} {
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
				if id != 0 ||
					!errors.Is(err, ErrInvalidID) || !strings.Contains(err.Error(), " in "+name+": ") ||
					len(err.Error()) > 400 {
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

// FuzzTextReaders: a text, a column of text and a column of bytes are read as ParseID reads
// them, and after an error the ID is what it was.
func FuzzTextReaders(f *testing.F) {
	for _, s := range []string{
		"", "0", "9223372036854775807", "9223372036854775808", "-1", "007",
		"1e3", "1.0", "\x00",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, wantErr := ParseID(s)
		for name, read := range map[string]func(*ID) error{
			"UnmarshalText": func(id *ID) error { return id.UnmarshalText([]byte(s)) },
			"Scan(string)":  func(id *ID) error { return id.Scan(s) },
			"Scan([]byte)":  func(id *ID) error { return id.Scan([]byte(s)) },
		} {
			id := ID(77)
			err := read(&id)
			switch {
			case (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error():
				t.Errorf("%s of %q: %v; ParseID: %v", name, s, err, wantErr)
			case err == nil && id != want || err != nil && id != 77:
				t.Errorf("%s of %q: %d, %v", name, s, id, err)
			}
		}
	})
}

// FuzzUnmarshalBinary: bytes that are read are written again, or a text is.
func FuzzUnmarshalBinary(f *testing.F) {
	for _, b := range [][]byte{
		nil, make([]byte, 7), make([]byte, 8), make([]byte, 9), []byte("12345678"), []byte("123456789"),
		bytes.Repeat([]byte{0xff}, 8),
		{0x7f, 255, 255, 255, 255, 255, 255, 255},
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		id := ID(77)
		if err := id.UnmarshalBinary(data); err != nil {
			if id != 77 || !errors.Is(err, ErrInvalidID) {
				t.Errorf("%x: ID %d beside error %v", data, id, err)
			}
			return
		}
		if out := id.Bytes(); !bytes.Equal(out[:], data) && id.String() != string(data) {
			t.Errorf("%x is %d, which is written %x", data, id, out)
		}
	})
}

// FuzzParseLayout: a text that is read is the fingerprint of its layout, or a name.
func FuzzParseLayout(f *testing.F) {
	for _, name := range LayoutNames() {
		f.Add(name)
	}
	for _, s := range []string{
		"", "41/10/12/1ms/2024-01-01T00:00:00Z", "41/10/12/1ms/2010-11-04T01:42:54.657Z",
		"41/10/12/1ms/2024-01-01T00:00:00+00:00",
		"041/10/12/1ms/2024-01-01T00:00:00Z", "41/10/12/1000us/2024-01-01T00:00:00Z",
		"63/0/1/1ms/1970-01-01T00:00:00Z", "1/31/31/1h0m0s/9999-12-31T23:59:59Z",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLayout(s)
		if err != nil {
			if !errors.Is(err, ErrInvalidLayout) || l != (Layout{}) {
				t.Errorf("%q: %v beside error %v", s, l, err)
			}
			return
		}
		if l.Validate() != nil || l.String() != s && !slices.Contains(LayoutNames(), s) {
			t.Errorf("%q is read as %v, %v", s, l, l.Validate())
		}
		var again Layout
		if text, err := l.MarshalText(); err != nil || again.UnmarshalText(text) != nil || again != l {
			t.Errorf("%q is %v, which becomes %q, %v, and then %v", s, l, text, err, again)
		}
	})
}

// FuzzUnmarshalJSON: what is read is written as a string of the same digits.
func FuzzUnmarshalJSON(f *testing.F) {
	for _, s := range []string{
		`"1"`, `1`, `9007199254740992`, `null`, `"`, `""`, `[`, `{}`, `1.5`,
		`-0`, `"\u0031"`,
	} {
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
