package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// figures are those of all generators.
func figures() measures {
	m := measures{}
	for i, g := range append([]generator{stripes}, generators...) {
		m["Latency/gen="+g.name] = map[string][]float64{"p99.9-ns": {20_000}}
		for _, n := range []int{1, 2, 4, 8} {
			ns := float64(10 + i)
			m[g.next(n)] = map[string][]float64{"ns/op": {ns}, "ids/s": {1e9 / ns}}
		}
	}
	return m
}

// drawn draws the charts and returns the texts on each.
func drawn(t *testing.T, m measures) map[string]string {
	t.Helper()
	folder := t.TempDir()
	if err := drawAll(m, folder); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for _, name := range []string{"next.svg", "scaling.svg", "latency.svg"} {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		d := xml.NewDecoder(f)
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if text, ok := token.(xml.CharData); ok {
				texts[name] += string(text) + "\n"
			}
			if e, ok := token.(xml.StartElement); ok {
				for _, a := range e.Attr {
					if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
						t.Errorf("%s: %s has %s=%q", name, e.Name.Local, a.Name.Local, a.Value)
					}
				}
			}
		}
	}
	return texts
}

func TestCharts(t *testing.T) {
	all := drawn(t, figures())
	for _, g := range generators {
		for name, text := range all {
			if !strings.Contains(text, "\n"+g.label[0]+"\n") {
				t.Errorf("%s is not on %s", g.name, name)
			}
		}
	}
	if !strings.Contains(all["scaling.svg"], "unalike, a worker ID\n") {
		t.Error("stripes are not on scaling.svg")
	}
}

// TestChartsWithoutPeer: what was not measured is not on the charts, and all others are.
func TestChartsWithoutPeer(t *testing.T) {
	m := figures()
	for name := range m {
		if strings.Contains(name, "gen=xid") {
			delete(m, name)
		}
	}
	delete(m, "Next/layout=41-4-18/gen=bwmarrin/goroutines=8") // has one point less
	for name, text := range drawn(t, m) {
		if strings.Contains(text, "\nxid\n") || !strings.Contains(text, "\nbwmarrin/snowflake\n") {
			t.Errorf("%s has\n%s", name, text)
		}
	}
	drawn(t, measures{})
}

func TestSpread(t *testing.T) {
	const bottom = 100
	for _, labels := range [][]label{
		{{10, 1}, {50, 1}},
		{{10, 1}, {11, 1}, {12, 2}, {90, 1}},
		{{95, 1}, {96, 1}, {97, 1}},
		{{20, 1}, {99, 2}, {99, 1}},
	} {
		before := append([]label(nil), labels...)
		spread(labels, bottom)
		for i := range labels {
			if labels[i].at > bottom {
				t.Errorf("%v became %v: below the bottom", before, labels)
			}
			if i == 0 {
				continue
			}
			above := labels[i-1]
			if labels[i].at-above.at < rowHigh*float64(labels[i].rows+above.rows)/2 {
				t.Errorf("%v became %v: one covers another", before, labels)
			}
		}
	}
	apart := []label{{10, 1}, {50, 1}}
	if spread(apart, bottom); apart[0].at != 10 || apart[1].at != 50 {
		t.Errorf("labels that are apart were moved: %v", apart)
	}
}

func TestSteps(t *testing.T) {
	for most, want := range map[float64]int{1: 6, 1.9: 10, 2: 5, 9: 10, 44: 9, 100: 6, 141: 8} {
		if got := len(steps(most)); got != want {
			t.Errorf("%g has %d marks, want %d: %v", most, got, want, steps(most))
		}
	}
}
