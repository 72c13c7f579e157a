package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
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
