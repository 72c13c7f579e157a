package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
)

const (
	knownID    = "1541815603606036480"
	knownParts = knownID + "  2022-06-28T16:07:40.105Z  worker 378  sequence 0  age "
)

func TestDecodeForms(t *testing.T) {
	for _, tt := range []struct{ name, text, format string }{
		{"decimal", knownID, ""},
		{"base62", "1ptWyK4WgZU", ""},
		{"base32", "1ASD13XH1F800", ""},
		{"JSON string", `"` + knownID + `"`, ""},
		{"JSON object", `{"id":"` + knownID + `","other":1}`, ""},
		{"decimal named", knownID, "decimal"},
		{"base62 named", "1ptWyK4WgZU", "base62"},
		{"base32 named", "1ASD13XH1F800", "base32"},
		{"JSON named", `"` + knownID + `"`, "json"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"decode", "--layout", "twitter"}
			if tt.format != "" {
				args = append(args, "--format", tt.format)
			}
			want := func(got result) {
				t.Helper()
				if got.code != exitOK || got.stderr != "" || !strings.HasPrefix(got.out, knownParts) || strings.Count(got.out, "\n") != 1 {
					t.Errorf("%+v", got)
				}
			}
			want(call(t, nil, "", append(args, tt.text)...))
			want(call(t, nil, "\n"+tt.text+"\r\n\n", append(args, "-")...))
			want(call(t, nil, tt.text, append(args, "-")...))
		})
	}
}

// TestRecognize is about texts that could be several things.
func TestRecognize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want core.ID
	}{
		{"0", 0},
		{"12345678901", 12345678901},     // 11 digits
		{"1234567890123", 1234567890123}, // 13 digits
		{"00000000010", 62},              // base62
		{"0000000000010", 32},            // base32
	} {
		if got, err := recognize(tt.text); err != nil || got != tt.want {
			t.Errorf("%q was read as %d, %v; want %d", tt.text, got, err, tt.want)
		}
	}
	if got, err := readID("12345678901", formatBase62); err != nil || got.Base62() != "12345678901" {
		t.Errorf("digits in base62 were read as %d, %v", got, err)
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"0x7", `unalike: core: invalid ID: "0x7" in decimal: it has 'x' at byte 1; allowed are digits 0 to 9; base62 would have 11 characters and base32 13`},
		{"007", `it has leading zeros; remove them; base62 would have`},
		{"", `it is empty`},
		{" 7", `it has white space`},
		{"9223372036854775808", `it is larger than 2^63 - 1`},
		{"zzzzzzzzzzz", `"zzzzzzzzzzz" in base62: it is larger`},
		{"1asd13xh1f800", `"1asd13xh1f800" in base32: it has the lower-case letter 'a' at byte 1`},
		{`"7`, `"\"7" in JSON: unexpected end of JSON input`},
		{`"7x"`, `in JSON: core: invalid ID: "7x" in decimal: it has 'x' at byte 1`},
		{`{"id":null}`, `in JSON: the object has no "id"`},
		{`{"id":9007199254740993}`, `write it as a string`},
		{`{}`, `in JSON: the object has no "id"`},
	} {
		t.Run(tt.text, func(t *testing.T) {
			got := call(t, nil, "", "decode", "--", tt.text)
			if got.code != exitFailure || got.out != "" || !strings.Contains(got.stderr, tt.want) || !strings.HasSuffix(got.stderr, "unalike: 1 of 1 could not be decoded\n") {
				t.Errorf("%+v\nwant %q", got, tt.want)
			}
		})
	}
	got := call(t, nil, "5\nx\n6\n", "decode", "1", "y", "-")
	if got.code != exitFailure || strings.Count(got.out, "\n") != 3 {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{`unalike: core: invalid ID: "y"`, `unalike: line 2: core: invalid ID: "x"`, "unalike: 2 of 5 could not be decoded\n"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr %q lacks %q", got.stderr, want)
		}
	}
}

func TestDecodeOtherLayout(t *testing.T) {
	got := call(t, nil, "", "decode", "--layout", "javascript", knownID)
	if got.code != exitFailure || !strings.Contains(got.stderr, knownID+" has more bits than layout 41/5/7/1ms/2024-01-01T00:00:00Z, whose largest ID is 9007199254740991; name the ID's own layout with --layout") {
		t.Errorf("%+v", got)
	}
}

func TestDecodeFuture(t *testing.T) {
	got := call(t, nil, "", "decode", "9223372036854775807")
	if got.code != exitOK || !strings.Contains(got.out, "2093-09-06T15:47:35.551Z  worker 1023  sequence 4095  in the future by ") {
		t.Errorf("%+v", got)
	}
	for _, tt := range []struct {
		args   []string
		time   string
		future bool
	}{
		{[]string{"--layout", "twitter", knownID}, "2022-06-28T16:07:40.105Z", false},
		{[]string{"9223372036854775807"}, "2093-09-06T15:47:35.551Z", true},
		{[]string{"--layout", "62/0/1/1h0m0s/1970-01-01T00:00:00Z", "9223372036854775807"}, "294247-01-10T04:00:54.775Z", true},
	} {
		got := call(t, nil, "", append([]string{"decode", "--json"}, tt.args...)...)
		var o struct {
			ID         core.ID
			Time       string
			Base62     string
			Base32     string
			Layout     string
			Future     bool
			AgeSeconds float64 `json:"age_seconds"`
		}
		if err := json.Unmarshal([]byte(got.out), &o); err != nil || got.code != exitOK {
			t.Fatalf("%+v, %v", got, err)
		}
		if o.Time != tt.time || o.Future != tt.future || (o.AgeSeconds < 0) != tt.future || o.Base62 != o.ID.Base62() || o.Base32 != o.ID.Base32() {
			t.Errorf("%+v", o)
		}
	}
}

func TestDescribeAge(t *testing.T) {
	for milli, want := range map[int64]string{
		0:                    "age 0s",
		1:                    "age 1ms",
		59_999:               "age 59.999s",
		60_000:               "age 1m0s",
		3_661_500:            "age 1h1m1s",
		86_400_000:           "age 1 days 0s",
		-1500:                "in the future by 1.5s",
		-400 * 365 * 86400e3: "in the future by 146000 days 0s",
	} {
		if got := string(appendAge(nil, milli)); got != want {
			t.Errorf("describeAge(%d) = %q, want %q", milli, got, want)
		}
	}
}

func TestLayoutCommand(t *testing.T) {
	got := call(t, nil, "", "layout")
	for _, want := range []string{
		"\n0" + strings.Repeat("t", 41) + strings.Repeat("w", 10) + strings.Repeat("s", 12) + "\n",
		"\nworker IDs        1,024, 0 to 1023\n",
		"\nIDs per worker    4,096 in 1ms, 4,096,000 a second\n",
		"\nIDs of the fleet  4,194,304,000 a second\n",
		"\nexpires           2093-09-06T15:47:35.552Z, in ",
		"\nfingerprint       41/10/12/1ms/2024-01-01T00:00:00Z\n",
	} {
		if got.code != exitOK || !strings.Contains(got.out, want) {
			t.Errorf("%+v lacks %q", got, want)
		}
	}
}

func TestDescribeLayout(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		layout string
		want   []string
	}{
		{"javascript", []string{strings.Repeat("0", 11) + strings.Repeat("t", 41), "128,000 a second", "largest ID        9007199254740991\n", "in 67 years"}},
		{"31/31/1/1m0s/1970-03-01T00:00:00Z", []string{"about 0.033 a second", "2,147,483,648, 0 to 2147483647", "about 71582788.267 a second"}},
		{"1/0/1/1ms/2024-01-01T00:00:00Z", []string{"1, 0 to 0\n", "which is past"}},
		{"31/0/31/1ms/2025-12-31T00:00:00Z", []string{"in 23 days"}},
		{"62/0/1/1h0m0s/1970-01-01T00:00:00Z", []string{"294247-01-10T04:00:54.775Z, in "}},
	} {
		l, err := core.ParseLayout(tt.layout)
		if err != nil {
			t.Fatal(err)
		}
		got := describeLayout(l, now)
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%s", tt.layout, want, got)
			}
		}
	}
}
