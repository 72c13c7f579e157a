package core

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

// checkIDError checks that err is an invalid ID and contains want.
func checkIDError(t *testing.T, err error, want string) {
	t.Helper()
	if !errors.Is(err, ErrInvalidID) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v\nwant ErrInvalidID with %q", err, want)
	}
}

func TestParseIDErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", `"" in decimal: it is empty`},
		{"-1", `"-1" in decimal: it starts with the sign '-'; IDs have none`},
		{"+1", `it starts with the sign '+'`},
		{"1-", `it has '-' at byte 1; allowed are digits 0 to 9`},
		{"00", `it has leading zeros; remove them`},
		{"007", `it has leading zeros`},
		{" 7", `it has white space, ' ' at byte 0; remove it`},
		{"7\n", `it has white space, '\n' at byte 1`},
		{"7\u00a0", `it has white space, '\u00a0' at byte 1`},
		{"0x7", `it has 'x' at byte 1; allowed are digits 0 to 9`},
		{"ff", `it has 'f' at byte 0`},
		{"1e3", `it has 'e' at byte 1`},
		{"1.5", `it has '.' at byte 1`},
		{"1_000", `it has '_' at byte 1`},
		{"NaN", `it has 'N' at byte 0`},
		{"٣", `it has '٣' at byte 0, a digit of another script`},
		{"1２", `it has '２' at byte 1, a digit of another script`},
		{"1\xff", `byte 1 is 0xff, which is not UTF-8`},
		{"9223372036854775808", `it is larger than 2^63 - 1`},
		{"18446744073709551617", `it is larger than 2^63 - 1`},
		{"99999999999999999999999999", `it is larger than 2^63 - 1`},
		{strings.Repeat("9", 1000), `"999999999999999999999999999999999999999999999999"... (1000 bytes) in decimal: it is larger`},
	} {
		id, err := ParseID(tt.text)
		checkIDError(t, err, tt.want)
		if id != 0 {
			t.Errorf("ParseID(%q) = %d beside the error", tt.text, id)
		}
	}
}

func TestParseBase62Errors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", `"" in base62: it is empty`},
		{"AzL8n0Y58m", `it has 10 characters instead of 11`},
		{"AzL8n0Y58m77", `it has 12 characters instead of 11`},
		{"AzL8n0Y58m8", `it is larger than 2^63 - 1`},
		{"LygHa16AHYF", `it is larger than 2^63 - 1`}, // 2^64 - 1
		{"zzzzzzzzzzz", `it is larger than 2^63 - 1`},
		{"-0000000001", `it starts with the sign '-'`},
		{"000000000 1", `it has white space, ' ' at byte 9`},
		{"0000000000_", `it has '_' at byte 10; allowed are letters and digits 0-9, A-Z and a-z`},
		{"000000000é", `it has 'é' at byte 9`},
		{"00000000٣", `it has '٣' at byte 8, a digit of another script`},
	} {
		_, err := ParseBase62(tt.text)
		checkIDError(t, err, tt.want)
	}
}

func TestParseBase32Errors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", `"" in base32: it is empty`},
		{"7ZZZZZZZZZZZ", `it has 12 characters instead of 13`},
		{"07ZZZZZZZZZZZZ", `it has 14 characters instead of 13`},
		{"8000000000000", `it is larger than 2^63 - 1`},
		{"ZZZZZZZZZZZZZ", `it is larger than 2^63 - 1`},
		{"7zzzzzzzzzzzz", `it has the lower-case letter 'z' at byte 1; allowed are digits 0 to 9 and upper-case letters without I, L, O and U`},
		{"0000000000Ab0", `it has the lower-case letter 'b' at byte 11`},
		{"00000000000O0", `it has 'O' at byte 11; allowed are digits 0 to 9 and upper-case letters without I, L, O and U`},
		{"000000-000000", `it has '-' at byte 6`},
		{"+000000000000", `it starts with the sign '+'`},
		{"000000000000\t", `it has white space`},
	} {
		_, err := ParseBase32(tt.text)
		checkIDError(t, err, tt.want)
	}
}

func TestUnmarshalJSON(t *testing.T) {
	for _, tt := range []struct {
		json string
		want ID
		err  string // part of the error; empty: valid
	}{
		{`"0"`, 0, ""},
		{`"9223372036854775807"`, math.MaxInt64, ""},
		{`0`, 0, ""},
		{`9007199254740991`, 1<<53 - 1, ""},
		{`9007199254740992`, 0, `the JSON number 9007199254740992 is 2^53 or more and may have been rounded; write it as a string, "9007199254740992"`},
		{`9223372036854775808`, 0, "it is larger than 2^63 - 1"},
		{`null`, 0, "the JSON value is null; for a value that may be missing use a *core.ID"},
		{`true`, 0, "the JSON value is a boolean; an ID is a string of digits or a whole number below 2^53"},
		{`[1]`, 0, "the JSON value is an array"},
		{`{"id":1}`, 0, "the JSON value is an object"},
		{`1.0`, 0, "it has '.' at byte 1"},
		{`1e3`, 0, "it has 'e' at byte 1"},
		{`-1`, 0, "it starts with the sign '-'"},
		{`""`, 0, "it is empty"},
		{`"-1"`, 0, "it starts with the sign '-'"},
		{`"007"`, 0, "it has leading zeros"},
		{`" 7"`, 0, "it has white space"},
		{`"\"7\""`, 0, `it has '\\' at byte 0`},
		{`"\u0037"`, 0, `it has '\\' at byte 0`},
		{`"9223372036854775808"`, 0, "it is larger than 2^63 - 1"},
	} {
		t.Run(tt.json, func(t *testing.T) {
			const before = 77
			got := ID(before)
			err := json.Unmarshal([]byte(tt.json), &got)
			if tt.err == "" {
				if err != nil || got != tt.want {
					t.Errorf("got %d, %v; want %d", got, err, tt.want)
				}
				return
			}
			checkIDError(t, err, tt.err)
			if got != before {
				t.Errorf("the error changed the ID to %d", got)
			}
		})
	}
	var id ID
	checkIDError(t, id.UnmarshalJSON(nil), "it is empty")
	var m map[ID]*ID
	if err := json.Unmarshal([]byte(`{"5":null}`), &m); err != nil || m[5] != nil || len(m) != 1 {
		t.Errorf("map %v, %v", m, err)
	}
}

func TestScanErrors(t *testing.T) {
	for _, tt := range []struct {
		src  any
		want string
	}{
		{nil, "the column is NULL; for a column that may be NULL scan into sql.Null[core.ID]"},
		{1.5, "the column is a float64; a 64-bit integer or a text of decimal digits is needed"},
		{true, "the column is a bool"},
		{time.Time{}, "the column is a time.Time"},
		{int64(-1), "it is negative, -1; IDs are 0 to 9223372036854775807"},
		{"7 ", "it has white space"},
		{[]byte("x"), "it has 'x' at byte 0"},
		{[]byte{}, "it is empty"},
	} {
		id := ID(77)
		checkIDError(t, id.Scan(tt.src), tt.want)
		if id != 77 {
			t.Errorf("Scan(%v) changed the ID to %d", tt.src, id)
		}
	}
	for _, src := range []any{int64(12), "12", []byte("12")} {
		var id ID
		if err := id.Scan(src); err != nil || id != 12 {
			t.Errorf("Scan(%v) = %d, %v", src, id, err)
		}
	}
}

// TestNullColumn does what the error about NULL recommends.
func TestNullColumn(t *testing.T) {
	var id sql.Null[ID]
	if err := id.Scan(nil); err != nil || id.Valid {
		t.Errorf("NULL was read as %v, %v", id, err)
	}
	if err := id.Scan(int64(12)); err != nil || !id.Valid || id.V != 12 {
		t.Errorf("12 was read as %v, %v", id, err)
	}
	if v, err := id.Value(); err != nil || v != int64(12) {
		t.Errorf("12 was written as %v (%T), %v", v, v, err)
	}
}

func TestUnmarshalBinaryErrors(t *testing.T) {
	for _, tt := range []struct {
		data []byte
		want string
	}{
		{nil, "the binary form has 0 bytes instead of 8"},
		{make([]byte, 7), "has 7 bytes instead of 8"},
		{make([]byte, 9), "has 9 bytes instead of 8"},
		{[]byte{0x80, 0, 0, 0, 0, 0, 0, 1}, "the binary form 8000000000000001 has its highest bit set"},
	} {
		id := ID(77)
		checkIDError(t, id.UnmarshalBinary(tt.data), tt.want)
		if id != 77 {
			t.Errorf("the error changed the ID to %d", id)
		}
	}
}
