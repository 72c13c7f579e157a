package worker

import "testing"

// TestOnePool: the coordinators of one database share a pool of connections, and those of another one do not.
func TestOnePool(t *testing.T) {
	var p pools
	for _, url := range []string{
		"mysql://ann:pw@127.0.0.1:1/db?namespace=a", "mysql://ann:pw@127.0.0.1:1/db?namespace=b", "mysql://ann:pw@127.0.0.1:2/db?namespace=a",
		"postgres://ann@127.0.0.1:1/db?namespace=a&accept=fsync", "postgres://ann@127.0.0.1:1/db?namespace=b", "postgres://bob@127.0.0.1:1/db?namespace=a",
	} {
		c, err := open(t.Context(), url, nil, &p) // which contacts nobody
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.mysql) != 2 || len(p.postgres) != 2 {
		t.Errorf("there are %d pools of MySQL and %d of PostgreSQL; want 2 of each", len(p.mysql), len(p.postgres))
	}
	for _, pool := range p.mysql {
		_ = pool.Close()
	}
	for _, pool := range p.postgres {
		pool.Close()
	}
}
