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
	for text, format := range map[string]string{
		knownID:                              formatDecimal,
		"1ptWyK4WgZU":                        formatBase62,
		"1ASD13XH1F800":                      formatBase32,
		`"` + knownID + `"`:                  formatJSON,
		`{"id":"` + knownID + `","other":1}`: formatJSON,
	} {
		args := []string{"decode", "--layout", "twitter"}
		for _, got := range []result{
			call(t, nil, "", append(args, text)...),
			call(t, nil, "", append(args, "--format", format, text)...),
			call(t, nil, "\n"+text+"\r\n\n", append(args, "-")...),
			call(t, nil, text, append(args, "-")...),
			call(t, map[string]string{"UNALIKE_LAYOUT": "twitter"}, "", "decode", text),
		} {
			if got.code != exitOK || got.stderr != "" || !strings.HasPrefix(got.out, knownParts) ||
				strings.Count(got.out, "\n") != 1 {
				t.Errorf("%s: %+v", text, got)
			}
		}
	}
}

// TestRecognize is about texts that could be several things.
func TestRecognize(t *testing.T) {
	for text, want := range map[string]core.ID{
		"0":             0,
		"12345678901":   12345678901,   // 11 digits
		"1234567890123": 1234567890123, // 13 digits
		"00000000010":   62,            // base62
		"0000000000010": 32,            // base32
	} {
		if got, err := recognize(text); err != nil || got != want {
			t.Errorf("%q was read as %d, %v; want %d", text, got, err, want)
		}
	}
	if got, err := readID("12345678901", formatBase62); err != nil || got.Base62() != "12345678901" {
		t.Errorf("digits in base62 were read as %d, %v", got, err)
	}
	checkLines(t, nil, []line{
		{
			"decode 3CQ9G6DtmEh", exitFailure,
			"3CQ9G6DtmEh would be an ID of 2044-04-17T02:14:01.409Z, in the future: name its form " +
				"with --format",
		},
		{"decode --format base62 3CQ9G6DtmEh", exitOK, "in the future by "},
		{
			"decode 9223372036854775807", exitOK,
			"2093-09-06T15:47:35.551Z  worker 1023  sequence 4095  in the future by ",
		},
		{"decode --layout javascript " + knownID, exitFailure, knownID + " has more bits than layout " +
			"41/5/7/1ms/2024-01-01T00:00:00Z, whose largest ID is 9007199254740991; name the " +
			"ID's own layout"},
	})
}

func TestDecodeErrors(t *testing.T) {
	for text, want := range map[string]string{
		"0x7": `unalike: core: invalid ID: "0x7" in decimal: it has 'x' at byte 1; allowed are ` +
			`digits 0 to 9; ` +
			"base62 would have 11 characters and base32 13",
		"": "it is empty",
		"1asd13xh1f800": `"1asd13xh1f800" in base32: it has the lower-case letter ` +
			`'a' at byte 1`,
		`"7`:          `"\"7" in JSON: unexpected end of JSON input`,
		`{"id":null}`: `in JSON: the object has no "id"`,
	} {
		got := call(t, nil, "", "decode", "--", text)
		if got.code != exitFailure || got.out != "" || !strings.Contains(got.stderr, want) {
			t.Errorf("%q: %+v\nwant %q", text, got, want)
		}
	}
	got := call(t, nil, "5\nx\n6\n", "decode", "1", "y", "-")
	for _, want := range []string{
		`ID: "y"`, `unalike: line 2: core: invalid ID: "x"`, "unalike: 2 of 5 could not be decoded\n",
	} {
		if wantCall(t, got, exitFailure, "", want); strings.Count(got.out, "\n") != 3 {
			t.Errorf("%+v", got)
		}
	}
}

func TestDecodeJSON(t *testing.T) {
	for args, want := range map[string]string{
		"--layout twitter " + knownID:                                     "2022-06-28T16:07:40.105Z",
		"--layout 62/0/1/1h0m0s/1970-01-01T00:00:00Z 9223372036854775807": "294247-01-10T04:00:54.775Z",
	} {
		got := call(t, nil, "", strings.Fields("decode --json "+args)...)
		var o struct {
			Time       string
			Future     bool
			AgeSeconds float64 `json:"age_seconds"`
		}
		if err := json.Unmarshal([]byte(got.out), &o); err != nil || got.code != exitOK {
			t.Fatalf("%+v, %v", got, err)
		}
		if future := !strings.HasPrefix(want, "2022"); o.Time != want || o.Future != future ||
			(o.AgeSeconds < 0) != future {
			t.Errorf("%s: %+v", args, o)
		}
	}
	checkLines(t, nil, []line{{
		"decode --json --layout twitter " + knownID, exitOK,
		`{"id":"` + knownID +
			`","time":"2022-06-28T16:07:40.105Z","worker_id":378,"sequence":0,"base62":"1ptWyK4WgZU",` +
			`"base32":"1ASD13XH1F800","layout":"41/10/12/1ms/2010-11-04T01:42:54.657Z","future":false,` +
			`"age_seconds":`,
	}})
}

func TestDescribeAge(t *testing.T) {
	for milli, want := range map[int64]string{
		59_999:               "age 59.999s",
		60_000:               "age 1m0s",
		86_400_000:           "age 1 days 0s",
		-1500:                "in the future by 1.5s",
		-400 * 365 * 86400e3: "in the future by 146000 days 0s",
	} {
		if got := string(appendAge(nil, milli)); got != want {
			t.Errorf("describeAge(%d) = %q, want %q", milli, got, want)
		}
	}
}

func TestDescribeLayout(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for layout, wants := range map[string][]string{
		"default": {
			"0" + strings.Repeat("t", 41) + strings.Repeat("w", 10) + strings.Repeat("s", 12) + "\n",
			"\nworker IDs        1,024, 0 to 1023\n",
			"\nIDs per worker    4,096 in 1ms, 4,096,000 a second\n",
			"\nIDs of the fleet  4,194,304,000 a second\n",
			"\nexpires           2093-09-06T15:47:35.552Z, in 67 years",
			"\nfingerprint       41/10/12/1ms/2024-01-01T00:00:00Z\n",
		},
		"javascript": {
			strings.Repeat("0", 11) + strings.Repeat("t", 41),
			"128,000 a second",
		},
		"31/31/1/1m0s/1970-03-01T00:00:00Z": {
			"about 0.033 a second", "0 to 2147483647",
			"about 71582788.267 a",
		},
		"31/0/31/1ms/2025-12-31T00:00:00Z": {"in 23 days"},
	} {
		l, err := core.ParseLayout(layout)
		if err != nil {
			t.Fatal(err)
		}
		got := describeLayout(l, now)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q:\n%s", layout, want, got)
			}
		}
	}
	checkLines(t, nil, []line{{"layout", exitOK, "\nworker IDs        1,024, 0 to 1023\n"}})
}
