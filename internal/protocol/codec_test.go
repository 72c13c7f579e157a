package protocol

import (
	"strings"
	"testing"
)

// TestBadRecords: what is wrong with a stored slot is named.
func TestBadRecords(t *testing.T) {
	good, err := Encode(Slot{
		Version: Version, Worker: 3, Token: "t", Generation: 1, NotBefore: 5,
		NotAfter: 9, LastTick: 10, Fingerprint: "x", TTL: 15_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ old, new, want string }{
		{good, ``, `the value is not a JSON object, perhaps truncated: unexpected end of JSON input`},
		{good, good[:len(good)/2], `the value is not a JSON object, perhaps truncated`},
		{good, `7`, `the value is not a JSON object, perhaps truncated`},
		{`"version":1`, `"version":2`, `the value has version 2 and this program reads version 1`},
		{`"version":1`, `"version":"1"`, `the value has version "1" and this program reads version 1`},
		{`"generation":1,`, ``, `the field "generation" is missing`},
		{`"generation":1,`, `"generation":1,"colour":"red",`, `unknown field "colour"`},
		{
			`"generation":1,`, `"generation":1,"generation":1,`,
			`a field is given twice, out of order, or in a form that this driver does not write`,
		},
		{
			`"generation":1,`, `"generation":1, `,
			`a field is given twice, out of order, or in a form that this driver does not write`,
		},
		{`"generation":1`, `"generation":0`, `generation is 0; it starts at 1`},
		{
			`"generation":1`, `"generation":-1`,
			`cannot unmarshal number -1 into Go struct field Slot.generation`,
		},
		{`"notBefore":5`, `"notBefore":-1`, `notBefore is -1; a tick is 0 or more`},
		{
			`"notAfter":9`, `"notAfter":4`,
			`notAfter is 4 and notBefore is 5; a window does not end before it begins`,
		},
		{`"notAfter":9`, `"notAfter":11`, `notAfter is 11; the layout ends at tick 10`},
		{`"opened":0`, `"opened":10`, `opened is 10; it is between 0 and notAfter, which is 9`},
		{`"ttl":15000`, `"ttl":0`, `ttl is 0 ms; it is 1 or more`},
		{`"retired":false`, `"retired":true`, `it is retired and has a token; one of them is wrong`},
	} {
		bad := strings.Replace(good, tc.old, tc.new, 1)
		if bad == good {
			t.Fatalf("%q does not occur in %s", tc.old, good)
		}
		if s, err := Decode[Slot]([]byte(bad)); err == nil || !strings.Contains(err.Error(), tc.want) ||
			s != (Slot{}) {
			t.Errorf("%s: %+v, %v; want an error that says %q", bad, s, err, tc.want)
		}
	}
}
