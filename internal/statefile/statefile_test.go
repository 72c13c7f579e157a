package statefile_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/statefile"
)

type content struct {
	Mark int64  `json:"mark"`
	Name string `json:"name"`
}

var format = statefile.Format{Name: "test-state", Version: 2}

func encoded(t *testing.T, f statefile.Format, c any) []byte {
	t.Helper()
	b, err := f.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What was written is read, also where something else follows; a part of it, or one with a bit that
// differs, is not.
func TestDecode(t *testing.T) {
	want := content{1234, "orders"}
	whole := append(encoded(t, format, want), "\n\n\n"...)
	var got content
	if err := format.Decode(whole, &got); err != nil || got != want {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
	size := len(whole) - 4
	for i := range size {
		got = content{}
		if err := format.Decode(whole[:i], &got); err == nil {
			t.Errorf("the first %d of %d bytes: %+v", i, size, got)
		}
		for bit := range 8 {
			whole[i] ^= 1 << bit
			switch err := format.Decode(whole, &got); {
			case err == nil:
				t.Errorf("bit %d of byte %d is flipped: %+v", bit, i, got)
			case errors.Is(err, statefile.ErrForeign), errors.Is(err, statefile.ErrVersion),
				errors.Is(err, statefile.ErrBlank):
				t.Errorf("bit %d of byte %d is flipped: %v; want that it is damaged", bit, i, err)
			}
			whole[i] ^= 1 << bit
		}
	}
}

// What is not damaged, and not of this format, is said to be so.
func TestDecodeOther(t *testing.T) {
	first := `{"mark":1,"name":"a"}`
	sum := sha256.Sum256([]byte(first))
	earlier := fmt.Sprintf("test-state v1 %d %x\n%s\n", len(first), sum, first)
	another := statefile.Format{Name: "another", Version: 2}
	later := statefile.Format{Name: format.Name, Version: 3}
	for text, want := range map[string]error{
		"":                                     statefile.ErrBlank,
		"\n\n\x00\x00":                         statefile.ErrBlank,
		"x":                                    statefile.ErrForeign,
		"precious\nprecious":                   statefile.ErrForeign,
		string(encoded(t, another, content{})): statefile.ErrForeign,
		string(encoded(t, later, content{})):   statefile.ErrVersion,
		earlier:                                statefile.ErrVersion,
	} {
		var c content
		if err := format.Decode([]byte(text), &c); !errors.Is(err, want) {
			t.Errorf("%q: %v; want %v", text, err, want)
		}
	}
	var c content
	if err := format.Decode(encoded(t, format, map[string]int{"mark": 1, "more": 2}),
		&c); err == nil || !strings.Contains(err.Error(), "more") {
		t.Errorf("a field that the content does not have: %v", err)
	}
}
