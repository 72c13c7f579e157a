package benchmarks

import (
	"encoding/json"
	"testing"

	"github.com/unalike-id/unalike/core"
)

// BenchmarkCodec writes and reads the forms of an ID.
func BenchmarkCodec(b *testing.B) {
	const id = core.ID(381_554_190_813_061_119)
	var (
		decimal, base62, base32 = id.String(), id.Base62(), id.Base32()
		layout                  = core.DefaultLayout()
		text                    = make([]byte, 0, 32)
		err                     error
		into                    core.ID
	)
	quoted, err := json.Marshal(id)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range []struct {
		form string
		run  func()
	}{
		{"String", func() { _ = id.String() }},
		{"AppendText", func() { text, err = id.AppendText(text[:0]) }},
		{"ParseID", func() { into, err = core.ParseID(decimal) }},
		{"Base62", func() { _ = id.Base62() }},
		{"ParseBase62", func() { into, err = core.ParseBase62(base62) }},
		{"Base32", func() { _ = id.Base32() }},
		{"ParseBase32", func() { into, err = core.ParseBase32(base32) }},
		{"MarshalJSON", func() { text, err = id.MarshalJSON() }},
		{"UnmarshalJSON", func() { err = into.UnmarshalJSON(quoted) }},
		{"Scan", func() { err = into.Scan(int64(id)) }},
		{"Decompose", func() { _ = layout.Decompose(id) }},
	} {
		b.Run("form="+f.form, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f.run()
			}
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
