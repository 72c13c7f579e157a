package core

import "testing"

// BenchmarkID measures the forms of an ID, written into memory that is there already
// and read back.
func BenchmarkID(b *testing.B) {
	id, buf := ID(1541815603606036480), make([]byte, 0, 32)
	decimal, text62, text32 := id.String(), id.Base62(), id.Base32()
	data := []byte(`"` + decimal + `"`)
	layout := DefaultLayout()
	var failed error
	for _, bb := range []struct {
		name string
		f    func()
	}{
		{"append=decimal", func() { _, failed = id.AppendText(buf) }},
		{"append=base62", func() { id.AppendBase62(buf) }},
		{"append=base32", func() { id.AppendBase32(buf) }},
		{"parse=decimal", func() { _, failed = ParseID(decimal) }},
		{"parse=base62", func() { _, failed = ParseBase62(text62) }},
		{"parse=base32", func() { _, failed = ParseBase32(text32) }},
		{"parse=json", func() { var v ID; failed = v.UnmarshalJSON(data) }},
		{"decompose", func() { layout.Decompose(id) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bb.f()
			}
			if failed != nil {
				b.Error(failed)
			}
		})
	}
}
