package coord

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/clock"
)

// wantInvalid checks the exact text of an error that wraps ErrInvalid.
func wantInvalid(t *testing.T, what string, err error, text string) {
	t.Helper()
	if !errors.Is(err, ErrInvalid) || err.Error() != text {
		t.Errorf("%s: error is\n\t%v\nwant, being ErrInvalid,\n\t%s", what, err, text)
	}
}

func TestRangeWithin(t *testing.T) {
	for _, tt := range []struct {
		in, want Range
		err      string
	}{
		{in: Range{}, want: Range{Count: 16}},
		{in: Range{First: 15}, want: Range{First: 15, Count: 1}},
		{in: Range{First: 4, Count: 12}, want: Range{First: 4, Count: 12}},
		{in: Range{First: -1}, err: `WorkerIDs.First is -1; the layout has worker IDs 0 to 15`},
		{in: Range{First: 16}, err: `WorkerIDs.First is 16; the layout has worker IDs 0 to 15`},
		{
			in:  Range{First: 4, Count: 13},
			err: `WorkerIDs.Count is 13; from 4 on the layout has 12 worker IDs`,
		},
		{in: Range{Count: -1}, err: `WorkerIDs.Count is -1; from 0 on the layout has 16 worker IDs`},
		{
			in:  Range{First: 1, Count: math.MaxInt},
			err: `WorkerIDs.Count is 9223372036854775807; from 1 on the layout has 15 worker IDs`,
		},
	} {
		got, err := tt.in.Within(16)
		if tt.err != "" {
			if math.MaxInt > math.MaxInt32 || tt.in.Count != math.MaxInt {
				wantInvalid(t, tt.in.String(), err, "unalike: invalid: "+tt.err)
			}
		} else if err != nil || got != tt.want {
			t.Errorf("%+v: %+v, %v; want %+v", tt.in, got, err, tt.want)
		}
	}
	for r, want := range map[Range]string{
		{}: "0-", {First: 3}: "3-", {First: 3, Count: 4}: "3-6",
		{First: 3, Count: 1}: "3-3",
	} {
		if r.String() != want {
			t.Errorf("%#v is printed as %s; want %s", r, r, want)
		}
	}
}

func TestRequestValidate(t *testing.T) {
	good := Request{
		Token: "t", Fingerprint: "f", Scale: clock.Scale{Unit: 1000}, LastTick: 1,
		Workers: Range{Count: 4}, Capacity: 4,
		TTL: 1, Now: -5, Until: 9,
	}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want  string
		spoil func(*Request)
	}{
		{`Request.Token is empty; 1 to 128 bytes are allowed`, func(r *Request) { r.Token = "" }},
		{
			`Request.Token "a\n" contains the unprintable character U+000A`,
			func(r *Request) { r.Token = "a\n" },
		},
		{
			`Request.Identity is 129 bytes long; at most 128 are allowed`,
			func(r *Request) { r.Identity = strings.Repeat("x", 129) },
		},
		{
			`Request.Fingerprint is empty; it is the layout as core.Layout.String prints it`,
			func(r *Request) { r.Fingerprint = "" },
		},
		{`Request.Fingerprint "\xff" is not valid UTF-8`, func(r *Request) { r.Fingerprint = "\xff" }},
		{
			`Request.Scale.Unit is 0 microseconds; it must be positive`,
			func(r *Request) { r.Scale.Unit = 0 },
		},
		{`Request.LastTick is 0; it must be positive`, func(r *Request) { r.LastTick = 0 }},
		{`Request.TTL is -1ns; it must be positive`, func(r *Request) { r.TTL = -1 }},
		{`Request.Ahead is -1 ticks; it must not be negative`, func(r *Request) { r.Ahead = -1 }},
		{`Request.Workers.Count is 0; it must be positive`, func(r *Request) { r.Workers.Count = 0 }},
		{
			`WorkerIDs.Count is 5; from 0 on the layout has 4 worker IDs`,
			func(r *Request) { r.Workers.Count = 5 },
		},
		{
			`WorkerIDs.First is 4; the layout has worker IDs 0 to 3`,
			func(r *Request) { r.Workers.First = 4 },
		},
	} {
		r := good
		tt.spoil(&r)
		wantInvalid(t, tt.want, r.Validate(), "unalike: invalid: "+tt.want)
	}
}
