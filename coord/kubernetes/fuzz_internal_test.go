package kubernetes

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/protocol"
)

// FuzzContent: an annotation is refused, or says what is written for it again; and where a window
// ends is what the record says.
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
		{Format: format, UID: "u", Stamp: "s", Writes: 3, Change: 2, Floor: 5, Token: "t", Ends: 9, Record: []byte(record)},
		{Format: format, Done: 4, Change: 5, Mend: true, Count: 64, Claim: 7},
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
		o := &object{name: "n", uid: c.UID, text: again}
		if o.content, o.damage = contentOf(again); o.damage != nil || o.Writes != c.Writes || o.Ends != c.Ends || o.Token != c.Token {
			t.Fatalf("%q becomes %q: %v", rest, again, o.damage)
		}
		if e, err := slotEntry(o, 3); err == nil && e.There() && e.Record.NotAfter != o.notAfter() {
			t.Errorf("%s ends at %d, and is taken to end at %d", o.Record, e.Record.NotAfter, o.notAfter())
		}
	})
}
