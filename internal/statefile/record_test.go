package statefile

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// fileWith returns a file with the records of two sequences, and the newer one of them.
func fileWith(t *testing.T, sequence uint64) ([]byte, record) {
	t.Helper()
	r := record{
		Sequence: sequence, Written: 1767323055000000, Window: 3000000, PID: 4711,
		Home:    origin{Home{Machine: "machine-1", Boot: "boot-1"}, 2049, 1234567},
		Content: []byte(`{"mark":60003002}`),
	}
	older := r
	older.Sequence--
	file := bytes.Repeat([]byte("\n"), 2*recordSize)
	for _, r := range []record{older, r} {
		text, err := fileFormat.Encode(r)
		if err != nil {
			t.Fatal(err)
		}
		copy(file[r.Sequence%2*recordSize:], text)
	}
	return file, r
}

// TestNewest_Golden: a record of version 0.1.0 is read, and written as it was.
func TestNewest_Golden(t *testing.T) {
	t.Parallel()
	file, want := fileWith(t, 4)
	text := bytes.TrimRight(file[:recordSize], "\n")
	copy(file, goldentest.Same(t, "unalike.state", string(text)+"\n"))
	if got, err := newest(file); err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("it is read as %+v, %v; want %+v", got, err, want)
	}
}

// TestNewest_Damaged: of a file that was truncated at any byte, or in which any bit of a record
// differs, newest returns the newer record or none. It does not take such a file for one of another
// program or version.
func TestNewest_Damaged(t *testing.T) {
	t.Parallel()
	for _, sequence := range []uint64{4, 5} {
		file, want := fileWith(t, sequence)
		end := len(bytes.TrimRight(file, "\n")) + 1
		check := func(b []byte, usable bool, damage string, at int) {
			t.Helper()
			got, err := newest(b)
			if (err == nil) != usable || errors.Is(err, ErrForeign) || errors.Is(err, ErrVersion) ||
				err == nil && !reflect.DeepEqual(*got, want) {
				safetytest.Unless(t, err).Errorf("%d, %s %d: %+v, %v", sequence, damage, at, got, err)
			}
		}
		for at := range file {
			if at%recordSize > end%recordSize { // the record has ended
				continue
			}
			check(file[:at], at >= end, "truncated at", at)
			for bit := 0; bit < 8 && at%recordSize < end%recordSize; bit++ {
				file[at] ^= 1 << bit
				check(file, false, "flipped is a bit of byte", at)
				file[at] ^= 1 << bit
			}
		}
	}
}
