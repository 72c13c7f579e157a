package journal

import (
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/core"
)

// BenchmarkAdd adds consecutive IDs in batches; "alone" is the worst case, where none follows
// another.
func BenchmarkAdd(b *testing.B) {
	for _, c := range []struct {
		name  string
		batch int
		step  core.ID
	}{{"alone", 1, 2}, {"1", 1, 1}, {"64", 64, 1}, {"4096", 4096, 1}} {
		b.Run(c.name, func(b *testing.B) {
			w, err := Create(filepath.Join(b.TempDir(), "journal"), header())
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			ids, next := make([]core.ID, c.batch), core.ID(0)
			for b.Loop() {
				for i := range ids {
					ids[i] = next
					next += c.step
				}
				if err := w.Add(ids); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*c.batch), "ns/ID")
		})
	}
}
