package kubernetes

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/protocol"
)

// FuzzContent: an annotation is refused, or says what is written for it again.
func FuzzContent(f *testing.F) {
	slot := protocol.Slot{
		Version: protocol.Version, Worker: 3, Token: "t", Identity: `"notAfter":7`, Holder: "h", Generation: 2, NotBefore: 10, NotAfter: 20,
		LastTick: 1 << 41, Fingerprint: "f", TTL: 15_000,
	}
	record, err := protocol.Encode(slot)
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range []content{
		{Format: format, Stamp: "s", Writes: 3, Seen: 2, Floor: 5, Token: "t", Ends: 9, Record: []byte(record)},
		{Format: format, UID: "u"},
		{},
	} {
		text, err := c.text()
		if err != nil {
			f.Fatal(err)
		}
		_, rest, _ := strings.Cut(text, " ")
		f.Add(rest)
	}
	f.Add("{")
	f.Add("")
	f.Fuzz(func(t *testing.T, rest string) {
		c, err := contentOf(checksum(rest) + " " + rest)
		if err != nil {
			return
		}
		again, err := c.text()
		if err != nil {
			t.Fatal(err)
		}
		if o := newObject("n", c.UID, again); o.damage != nil || o.Writes != c.Writes || o.Ends != c.Ends || o.Token != c.Token {
			t.Fatalf("%q becomes %q: %v", rest, again, o.damage)
		}
	})
}
