package core

import (
	"cmp"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// edgeIDs are IDs at which something carries or ends.
var edgeIDs = []ID{
	0, 1, 9, 10, 31, 32, 61, 62, 4095, 4096, 1<<31 - 1, 1 << 31, 1<<53 - 1, 1 << 53, 1<<62 - 1,
	1 << 62,
	math.MaxInt64 - 1, math.MaxInt64,
}

// TestGolden compares with vectors that were computed apart from this package.
func TestGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/ids_golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if strings.HasPrefix(line, "#") || len(f) == 0 {
			continue
		}
		if len(f) != 8 {
			t.Fatalf("%q has %d fields, want 8", line, len(f))
		}
		count++
		checkGolden(t, f)
	}
	if count < 40 {
		t.Errorf("only %d vectors", count)
	}
}

func checkGolden(t *testing.T, f []string) {
	t.Helper()
	var want Parts
	var timeErr error
	layout, layoutErr := ParseLayout(f[0])
	want.Time, timeErr = time.Parse(time.RFC3339Nano, f[1])
	_, numberErr := fmt.Sscan(f[2]+" "+f[3], &want.WorkerID, &want.Sequence)
	id, composeErr := layout.Compose(want.Time, want.WorkerID, want.Sequence)
	binary := id.Bytes()
	if err := errors.Join(layoutErr, timeErr, numberErr, composeErr); err != nil {
		t.Fatalf("%v: %v", f, err)
	}
	got := []string{id.String(), id.Base62(), id.Base32(), hex.EncodeToString(binary[:])}
	if parts := layout.Decompose(id); parts != want || !slices.Equal(got, f[4:]) {
		t.Errorf("%v: got %v of %v", f, got, parts)
	}
	checkRoundTrips(t, id)
}

// checkRoundTrips writes and reads id in every form.
func checkRoundTrips(t *testing.T, id ID) {
	t.Helper()
	for name, f := range map[string]func(*ID) error{
		"decimal": func(got *ID) (err error) { *got, err = ParseID(id.String()); return err },
		"base62":  func(got *ID) (err error) { *got, err = ParseBase62(id.Base62()); return err },
		"base32":  func(got *ID) (err error) { *got, err = ParseBase32(id.Base32()); return err },
		"text":    func(got *ID) error { return reread(id.MarshalText, got.UnmarshalText) },
		"bytes": func(got *ID) (err error) {
			b := id.Bytes()
			*got, err = FromBytes(b[:])
			return err
		},
		"gob":  func(got *ID) error { return reread(id.GobEncode, got.GobDecode) },
		"json": func(got *ID) error { return reread(id.MarshalJSON, got.UnmarshalJSON) },
		"sql": func(got *ID) error {
			if id == 0 {
				return nil // TestSQL
			}
			return reread(id.Value, func(v driver.Value) error { return got.Scan(v) })
		},
	} {
		var got ID
		if err := f(&got); err != nil || got != id {
			t.Errorf("%s: %d became %d, %v", name, id, got, err)
		}
	}
}

func reread[T any](write func() (T, error), read func(T) error) error {
	data, err := write()
	if err != nil {
		return err
	}
	return read(data)
}

// TestSortsAsText holds every form that promises it to the order of the numbers.
func TestSortsAsText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ids := slices.Clone(edgeIDs)
	for range 5000 {
		ids = append(ids, ID(rng.Int64()>>rng.IntN(63)))
	}
	slices.Sort(ids)
	binary := func(id ID) string {
		b := id.Bytes()
		return string(b[:])
	}
	for name, form := range map[string]func(ID) string{
		"base62": ID.Base62, "base32": ID.Base32,
		"binary": binary,
	} {
		for i := range ids[1:] {
			a, b := ids[i], ids[i+1]
			if got, want := strings.Compare(form(a), form(b)), cmp.Compare(a, b); got != want {
				t.Fatalf("%s: %d and %d compare as %d, want %d", name, a, b, got, want)
			}
		}
	}
}

// TestNegative holds that a negative ID leaves the program nowhere.
func TestNegative(t *testing.T) {
	for _, id := range []ID{-1, math.MinInt64} {
		value, err := id.Value()
		if value != nil {
			t.Errorf("Value() = %v", value)
		}
		checkIDError(t, err, "it is negative")
		for name, f := range map[string]func() ([]byte, error){
			"MarshalText": id.MarshalText,
			"MarshalJSON": id.MarshalJSON,
			"AppendText":  func() ([]byte, error) { return id.AppendText([]byte("kept")) },
		} {
			b, err := f()
			checkIDError(t, err, "it is negative")
			if len(b) != 0 && string(b) != "kept" {
				t.Errorf("%s of %d returned %q", name, id, b)
			}
		}
		for text, parse := range map[string]func(string) (ID, error){
			id.Base62(): ParseBase62,
			id.Base32(): ParseBase32,
		} {
			if got, err := parse(text); err == nil {
				t.Errorf("%q of %d reads as %d", text, id, got)
			}
		}
		if got := DefaultLayout().Decompose(id); got != (Parts{}) {
			t.Errorf("Decompose(%d) = %v", id, got)
		}
	}
}

// TestFormat: verbs of numbers print the number, and those of texts the text.
func TestFormat(t *testing.T) {
	for verb, want := range map[string]string{
		"%d": "255", "%x": "ff", "%#X": "0XFF", "%v": "255", "%s": "255", "%q": `"255"`,
		"%6d|":  "   255|",
		"%-6s|": "255   |", "%06d": "000255", "%+v": "255", "%t": "%!t(int64=255)",
	} {
		if got := fmt.Sprintf(verb, ID(255)); got != want {
			t.Errorf("%s prints %q; want %q", verb, got, want)
		}
	}
}

// TestSQL: all whole numbers that drivers return are read, and an ID that was never set is not
// written.
func TestSQL(t *testing.T) {
	for _, src := range []any{
		int64(7), uint64(7), 7, uint(7), int32(7), uint32(7), int16(7), uint8(7), "7", []byte("7"),
	} {
		var id ID
		if err := id.Scan(src); err != nil || id != 7 {
			t.Errorf("Scan of a %T: %d, %v", src, id, err)
		}
	}
	_, err := ID(0).Value()
	checkIDError(t, err, "it is 0, as a variable that was not set")
	if got := Int64s([]ID{1, 2}); !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("Int64s: %v", got)
	}
}

func TestLogValue(t *testing.T) {
	var b strings.Builder
	slog.New(slog.NewJSONHandler(&b, nil)).Info("made", "id", ID(math.MaxInt64))
	if !strings.Contains(b.String(), `"id":"9223372036854775807"`) {
		t.Error(b.String())
	}
}

// TestIDAllocations holds the append forms and all readers to no allocation, and
// the others to the one that their result needs.
func TestIDAllocations(t *testing.T) {
	id, buf := ID(math.MaxInt64), make([]byte, 0, 64)
	text, data := []byte(id.String()), []byte(strconv.Quote(id.String()))
	var out ID
	for name, tt := range map[string]struct {
		want float64
		f    func() error
	}{
		"AppendText":    {0, func() error { return second(id.AppendText(buf)) }},
		"Bytes":         {0, func() error { id.Bytes(); return nil }},
		"AppendBase62":  {0, func() error { id.AppendBase62(buf); return nil }},
		"AppendBase32":  {0, func() error { id.AppendBase32(buf); return nil }},
		"UnmarshalText": {0, func() error { return out.UnmarshalText(text) }},
		"UnmarshalJSON": {0, func() error { return out.UnmarshalJSON(data) }},
		"ParseBase62":   {0, func() error { return second(ParseBase62("AzL8n0Y58m7")) }},
		"Decompose":     {0, func() error { DefaultLayout().Decompose(id); return nil }},
		"Scan":          {0, func() error { return out.Scan(int64(5)) }},
		"MarshalJSON":   {1, func() error { return second(id.MarshalJSON()) }},
	} {
		var err error
		if got := testing.AllocsPerRun(100, func() { err = tt.f() }); got > tt.want || err != nil {
			t.Errorf("%s allocates %v times, want %v; %v", name, got, tt.want, err)
		}
	}
}
