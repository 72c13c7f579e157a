package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
)

// decoded is an ID taken apart, in JSON.
type decoded struct {
	idObject
	Base62     string  `json:"base62"`
	Base32     string  `json:"base32"`
	Layout     string  `json:"layout"`
	Future     bool    `json:"future"`
	AgeSeconds float64 `json:"age_seconds"`
}

// TestJSONIsThatOfPackageJSON: what is put together by hand is what package json writes.
func TestJSONIsThatOfPackageJSON(t *testing.T) {
	wide := core.DefaultLayout()
	wide.Unit, wide.TimeBits, wide.WorkerBits = time.Minute, 45, 6 // beyond the year 9999
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range []core.Layout{core.DefaultLayout(), core.TwitterLayout(), wide} {
		for range 2000 {
			id := core.ID(r.Int64N(int64(l.MaxID())) >> r.IntN(40))
			for _, explain := range []bool{false, true} {
				o := idObject{ID: id}
				if explain {
					o.partsObject = newParts(l.Decompose(id))
				}
				got, err := printer{format: formatJSON, layout: l, explain: explain}.appendObject(nil, id)
				if err != nil {
					t.Fatal(err)
				}
				same(t, o, got)
			}
			parts, age := l.Decompose(id), r.Int64N(1<<40)-1<<39
			d := decoder{decodeOptions: &decodeOptions{layout: layoutValue{Layout: l}}}
			same(t, decoded{
				idObject: idObject{ID: id, partsObject: newParts(parts)},
				Base62:   id.Base62(), Base32: id.Base32(), Layout: l.String(),
				Future: age < 0, AgeSeconds: float64(age) / 1000,
			}, d.appendObject(nil, id, parts, age))
		}
	}
}

func same(t *testing.T, v any, got []byte) {
	t.Helper()
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(want, '\n'), got) {
		t.Fatalf("%s\nwant\n%s", got, want)
	}
}

// BenchmarkWrite compares the formats of generate.
func BenchmarkWrite(b *testing.B) {
	for _, f := range formats() {
		b.Run(f, func(b *testing.B) {
			p := printer{format: f, layout: core.DefaultLayout()}
			var text []byte
			for i := range b.N {
				text, _ = p.appendLine(text[:0], core.ID(1541815603606036480)+core.ID(i))
			}
		})
	}
}

// BenchmarkDecode is one ID of decode -.
func BenchmarkDecode(b *testing.B) {
	for name, flag := range map[string]string{"plain": "", "json": "--json"} {
		b.Run(name, func(b *testing.B) {
			lines := strings.Repeat("132815152742404096\n", b.N)
			a := &app{streams: streams{in: strings.NewReader(lines), out: io.Discard, err: io.Discard}}
			if err := a.decode([]string{"-"}, &decodeOptions{layout: layoutValue{Layout: core.DefaultLayout()}, format: choiceValue{value: formatAuto}, json: flag != ""}); err != nil {
				b.Fatal(err)
			}
		})
	}
}
