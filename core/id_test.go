package core

import (
	"bytes"
	"cmp"
	"errors"
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
var edgeIDs = []ID{0, 1, 9, 10, 31, 32, 61, 62, 4095, 4096, 1<<31 - 1, 1 << 31, 1<<53 - 1, 1 << 53, 1<<62 - 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}

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
	layout, err := ParseLayout(f[0])
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, f[1])
	if err != nil {
		t.Fatal(err)
	}
	worker, sequence := atoi(t, f[2]), atoi(t, f[3])
	id, err := layout.Compose(at, worker, sequence)
	if err != nil {
		t.Fatalf("Compose(%v): %v", f, err)
	}
	binary, err := id.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{id.String(), id.Base62(), id.Base32(), bytesToHex(binary)}
	if !slices.Equal(got, f[4:]) {
		t.Errorf("%v: got %v", f, got)
	}
	if parts, want := layout.Decompose(id), (Parts{Time: at, WorkerID: worker, Sequence: sequence}); parts != want {
		t.Errorf("Decompose(%d) = %v, want %v", id, parts, want)
	}
	checkRoundTrips(t, id)
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func bytesToHex(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteString(strconv.FormatUint(uint64(c)+0x100, 16)[1:])
	}
	return s.String()
}

// checkRoundTrips writes and reads id in every form.
func checkRoundTrips(t *testing.T, id ID) {
	t.Helper()
	for name, f := range map[string]func() (ID, error){
		"decimal": func() (ID, error) { return ParseID(id.String()) },
		"base62":  func() (ID, error) { return ParseBase62(id.Base62()) },
		"base32":  func() (ID, error) { return ParseBase32(id.Base32()) },
		"text":    func() (ID, error) { return roundTrip(id.MarshalText, (*ID).UnmarshalText) },
		"binary":  func() (ID, error) { return roundTrip(id.MarshalBinary, (*ID).UnmarshalBinary) },
		"json":    func() (ID, error) { return roundTrip(id.MarshalJSON, (*ID).UnmarshalJSON) },
		"sql": func() (got ID, err error) {
			v, err := id.Value()
			if err != nil {
				return 0, err
			}
			return got, got.Scan(v)
		},
	} {
		if got, err := f(); err != nil || got != id {
			t.Errorf("%s: %d became %d, %v", name, id, got, err)
		}
	}
}

func roundTrip(write func() ([]byte, error), read func(*ID, []byte) error) (id ID, err error) {
	data, err := write()
	if err != nil {
		return 0, err
	}
	err = read(&id, data)
	return id, err
}

func TestRoundTripsAtEdges(t *testing.T) {
	for _, id := range edgeIDs {
		checkRoundTrips(t, id)
	}
}

// TestSortsAsText holds every form that promises it to the order of the numbers.
func TestSortsAsText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	ids := slices.Clone(edgeIDs)
	for range 5000 {
		ids = append(ids, ID(rng.Int64()>>rng.IntN(63)))
	}
	slices.Sort(ids)
	for name, form := range map[string]func(ID) string{
		"base62": ID.Base62,
		"base32": ID.Base32,
		"binary": func(id ID) string {
			b, err := id.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		},
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
		prefix := []byte("kept")
		for name, f := range map[string]func() ([]byte, error){
			"MarshalText":   id.MarshalText,
			"MarshalBinary": id.MarshalBinary,
			"MarshalJSON":   id.MarshalJSON,
			"AppendText":    func() ([]byte, error) { return id.AppendText(prefix) },
			"AppendBinary":  func() ([]byte, error) { return id.AppendBinary(prefix) },
			"Value": func() ([]byte, error) {
				v, err := id.Value()
				if v != nil {
					t.Errorf("Value() = %v", v)
				}
				return nil, err
			},
		} {
			b, err := f()
			if !errors.Is(err, ErrInvalidID) || !strings.Contains(err.Error(), "it is negative") {
				t.Errorf("%s of %d: error %v", name, id, err)
			}
			if len(b) != 0 && !bytes.Equal(b, prefix) {
				t.Errorf("%s of %d returned %q", name, id, b)
			}
		}
		if got, err := ParseBase62(id.Base62()); err == nil {
			t.Errorf("base62 of %d reads as %d", id, got)
		}
		if got, err := ParseBase32(id.Base32()); err == nil {
			t.Errorf("base32 of %d reads as %d", id, got)
		}
		if got := DefaultLayout().Decompose(id); got != (Parts{}) {
			t.Errorf("Decompose(%d) = %v", id, got)
		}
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
	var failed error
	keep := func(err error) {
		if err != nil {
			failed = err
		}
	}
	for name, tt := range map[string]struct {
		want float64
		f    func()
	}{
		"AppendText":    {0, func() { _, err := id.AppendText(buf); keep(err) }},
		"AppendBinary":  {0, func() { _, err := id.AppendBinary(buf); keep(err) }},
		"AppendBase62":  {0, func() { id.AppendBase62(buf) }},
		"AppendBase32":  {0, func() { id.AppendBase32(buf) }},
		"UnmarshalText": {0, func() { keep(out.UnmarshalText(text)) }},
		"UnmarshalJSON": {0, func() { keep(out.UnmarshalJSON(data)) }},
		"ParseBase62":   {0, func() { _, err := ParseBase62("AzL8n0Y58m7"); keep(err) }},
		"Decompose":     {0, func() { DefaultLayout().Decompose(id) }},
		"Scan":          {0, func() { keep(out.Scan(int64(5))) }},
		"MarshalJSON":   {1, func() { _, err := id.MarshalJSON(); keep(err) }},
		"MarshalText":   {1, func() { _, err := id.MarshalText(); keep(err) }},
	} {
		if got := testing.AllocsPerRun(100, tt.f); got > tt.want {
			t.Errorf("%s allocates %v times, want %v", name, got, tt.want)
		}
	}
	if failed != nil {
		t.Error(failed)
	}
}
