package worker

import (
	"strings"
	"testing"
)

// TestOnePool: the coordinators of one database share a pool of connections, and those of another one do not; those of
// one namespace of Kubernetes are one.
func TestOnePool(t *testing.T) {
	var p pools
	for _, url := range []string{
		"mysql://ann:pw@127.0.0.1:1/db?namespace=a", "mysql://ann:pw@127.0.0.1:1/db?namespace=b", "mysql://ann:pw@127.0.0.1:2/db?namespace=a",
		"postgres://ann@127.0.0.1:1/db?namespace=a&accept=fsync", "postgres://ann@127.0.0.1:1/db?namespace=b", "postgres://bob@127.0.0.1:1/db?namespace=a",
		"kubernetes+http://127.0.0.1:1?namespace=a&in=x", "kubernetes+http://127.0.0.1:1?namespace=a&in=x", "kubernetes+http://127.0.0.1:1?namespace=b&in=x",
	} {
		c, err := open(t.Context(), url, nil, &p) // which contacts nobody
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.mysql) != 2 || len(p.postgres) != 2 || len(p.kubernetes) != 2 {
		t.Errorf("there are %d pools of MySQL, %d of PostgreSQL and %d coordinators of Kubernetes; want 2 of each", len(p.mysql), len(p.postgres), len(p.kubernetes))
	}
	for _, pool := range p.mysql {
		_ = pool.Close()
	}
	for _, pool := range p.postgres {
		pool.Close()
	}
}

// TestPlaceOf: what selects another namespace makes another place, and nothing else does.
func TestPlaceOf(t *testing.T) {
	place := func(url string) string {
		t.Helper()
		p, err := placeOf(url)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const url = "mysql://ann:secret@127.0.0.1:1/db?namespace=a&ttl=3s"
	want := place(url)
	if strings.Contains(want, "secret") {
		t.Errorf("the place of a namespace has the password in it: %s", want)
	}
	if got := place("mysql://ann:other@127.0.0.1:1/db?ttl=4s&namespace=a"); got != want {
		t.Errorf("the same namespace is at %s, and with other settings at %s", want, got)
	}
	for _, other := range []string{
		"postgres://ann:secret@127.0.0.1:1/db?namespace=a", "mysql://ann:secret@127.0.0.1:2/db?namespace=a",
		"mysql://ann:secret@127.0.0.1:1/other?namespace=a", "mysql://ann:secret@127.0.0.1:1/db?namespace=b",
	} {
		if place(other) == want {
			t.Errorf("%s and %s are at the same place, %s", url, other, want)
		}
	}
}
