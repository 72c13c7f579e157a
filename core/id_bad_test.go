package core

import (
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

func TestParseErrors(t *testing.T) {
	for form, f := range map[string]struct {
		parse func(string) (ID, error)
		want  map[string]string // by text
	}{
		"decimal": {ParseID, map[string]string{
			"":                           `"" in decimal: it is empty`,
			"-1":                         `"-1" in decimal: it starts with the sign '-'; IDs have none`,
			"+1":                         `it starts with the sign '+'`,
			"1-":                         `it has '-' at byte 1; allowed are digits 0 to 9`,
			"00":                         `it has leading zeros; remove them`,
			"007":                        `it has leading zeros`,
			"7 8":                        `it has white space, ' ' at byte 1; remove it`,
			"7\n":                        `it has white space, '\n' at byte 1`,
			"7\u00a0":                    `it has white space, '\u00a0' at byte 1`,
			"0x7":                        `it has 'x' at byte 1; allowed are digits 0 to 9`,
			"٣":                          `it has '٣' at byte 0, a digit of another script`,
			"1２":                         `it has '２' at byte 1, a digit of another script`,
			"1\xff":                      `byte 1 is 0xff, which is not UTF-8`,
			"9223372036854775808":        `it is larger than 2^63 - 1`,
			"99999999999999999999999999": `it is larger than 2^63 - 1`,
			strings.Repeat("9", 1000): `"` + strings.Repeat("9", 48) +
				`"... (1000 bytes) in decimal: it is larger`,
		}},
		"base62": {ParseBase62, map[string]string{
			"":             `"" in base62: it is empty`,
			"AzL8n0Y58m":   `it has 10 characters instead of 11`,
			"AzL8n0Y58m77": `it has 12 characters instead of 11`,
			"AzL8n0Y58m8":  `it is larger than 2^63 - 1`,
			"LygHa16AHYF":  `it is larger than 2^63 - 1`, // 2^64 - 1
			"zzzzzzzzzzz":  `it is larger than 2^63 - 1`,
			"-0000000001":  `it starts with the sign '-'`,
			"0000000000_":  `it has '_' at byte 10; allowed are letters and digits 0-9, A-Z and a-z`,
			"000000000é":   `it has 'é' at byte 9`,
		}},
		"base32": {ParseBase32, map[string]string{
			"7ZZZZZZZZZZZ":   `it has 12 characters instead of 13`,
			"07ZZZZZZZZZZZZ": `it has 14 characters instead of 13`,
			"8000000000000":  `it is larger than 2^63 - 1`,
			"ZZZZZZZZZZZZZ":  `it is larger than 2^63 - 1`,
			"7zzzzzzzzzzzz": `it has the lower-case letter 'z' at byte 1; ` +
				`allowed are digits 0 to 9 and upper-case letters without I, L, O and U`,
			"00000000000O0": `it has 'O' at byte 11; allowed are digits 0 to 9 and upper-case letters ` +
				`without`,
			"000000000000\t": `it has white space`,
		}},
	} {
		for text, want := range f.want {
			id, err := f.parse(text)
			checkIDError(t, err, want)
			if id != 0 {
				t.Errorf("%q in %s is %d beside the error", text, form, id)
			}
		}
	}
}

func TestReadErrors(t *testing.T) {
	scan := func(src any) func(*ID) error { return func(id *ID) error { return id.Scan(src) } }
	fromJSON := func(s string) func(*ID) error {
		return func(id *ID) error { return json.Unmarshal([]byte(s), id) }
	}
	binary := func(b ...byte) func(*ID) error {
		return func(id *ID) error { return id.UnmarshalBinary(b) }
	}
	for _, tt := range []struct {
		read func(*ID) error
		want string
	}{
		{fromJSON(`9007199254740992`), `the JSON number 9007199254740992 is 2^53 or more and may have ` +
			`been rounded; write it as a string, "9007199254740992"`},
		{fromJSON(`9223372036854775808`), "it is larger than 2^63 - 1"},
		{fromJSON(`null`), "the JSON value is null; for a value that may be missing use a *core.ID"},
		{fromJSON(`true`), "the JSON value is a boolean; an ID is a string of digits or a whole " +
			"number below 2^53"},
		{fromJSON(`[1]`), "the JSON value is an array"},
		{fromJSON(`{"id":1}`), "the JSON value is an object"},
		{fromJSON(`1.0`), "it has '.' at byte 1"},
		{fromJSON(`-1`), "it starts with the sign '-'"},
		{fromJSON(`"\u0037"`), `it has '\\' at byte 0`},
		{func(id *ID) error { return id.UnmarshalJSON(nil) }, "it is empty"},
		{scan(nil), "the column is NULL; for a column that may be NULL scan into sql.Null[core.ID]"},
		{scan(1.5), "the column is a float64; a 64-bit integer or a text of decimal digits is needed"},
		{scan(time.Time{}), "the column is a time.Time"},
		{scan(int64(-1)), "it is negative, -1; IDs are 0 to 9223372036854775807"},
		{scan(uint64(math.MaxUint64)), "the column has 18446744073709551615; IDs are 0 to"},
		{binary(), "it is empty"},
		{binary(0, 0, 0, 0, 0, 0, 0, 0, 0), "it has '\\x00' at byte 0"},
		{binary(0x80, 0, 0, 0, 0, 0, 0, 1), "the bytes 8000000000000001 have their highest bit set"},
		{binary([]byte("12345678")...), `"12345678" can be a text or 8 bytes`},
	} {
		id := ID(77)
		checkIDError(t, tt.read(&id), tt.want)
		if id != 77 {
			t.Errorf("%s: the error changed the ID to %d", tt.want, id)
		}
	}
}

func TestNumbersInJSON(t *testing.T) {
	var ids []*ID
	err := json.Unmarshal([]byte(`[0, 9007199254740991, null]`), &ids)
	if err != nil || *ids[0] != 0 || *ids[1] != 1<<53-1 || ids[2] != nil {
		t.Errorf("%v, %v", ids, err)
	}
}
