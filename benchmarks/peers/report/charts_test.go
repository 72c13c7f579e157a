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
	for i, g := range generators {
		m["Latency/gen="+g.name] = map[string][]float64{"p99.9-ns": {20_000}}
		for _, n := range []int{1, 8} {
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
			if !strings.Contains(text, "\n"+g.label+"\n") {
				t.Errorf("%s is not on %s", g.name, name)
			}
		}
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
	for name, text := range drawn(t, m) {
		if strings.Contains(text, "\nxid\n") || !strings.Contains(text, "\nbwmarrin/snowflake\n") {
			t.Errorf("%s has\n%s", name, text)
		}
	}
	drawn(t, measures{})
}
