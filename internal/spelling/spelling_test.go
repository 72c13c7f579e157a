package spelling_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/spelling"
)

func TestWord(t *testing.T) {
	known := []string{"etcd", "etcds", "redis", "rediss", "zk", "state", "store"}
	for s, want := range map[string]string{
		"stroe": "store", "sotre": "store", "sate": "state",
		"etdc": "etcd", "etcd3": "etcd", "redi": "redis", "etcds": "etcds", "mongo": "", "": "", "x": "",
		strings.Repeat("redis", 9): "",
	} {
		if got := spelling.Word(s, known, 2); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestUnknownKey(t *testing.T) {
	for key, want := range map[string]string{
		"wait-max":      `unknown key "wait-max"; known are max_wait, ttl`,
		"Max-wiat":      `unknown key "Max-wiat"; did you mean max_wait? Known are max_wait, ttl`,
		"redis://u:p@h": "unknown key not shown, as it may contain a password; known are max_wait, ttl",
	} {
		if got := spelling.UnknownKey(key, []string{"max_wait", "ttl"}); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

func TestSimilar(t *testing.T) {
	for name, others := range map[string]struct{ similar, different string }{
		"shop": {
			"shpo sho shopp chop Shop SHOP shops s-hop s_h.op",
			"shop shop2 store shopping backshop spho-x",
		},
		"orders":        {"order Orders orders_ ordres orderz", "orders-2 others"},
		"orders-prod":   {"order-prod ordres-prdo orders_prod ordersprod", "orders-test orders"},
		"shard-1":       {"Shard-1 shard1 shards-1 shrad-1", "shard-2 shard-10 shard"},
		"eu":            {"EU e-u", "us de eua"},
		"customers-eu1": {"costumers-eu1 customer-eu1", "customers-eu2"},
	} {
		got := spelling.Similar(name, strings.Fields(others.similar+" "+others.different))
		if want := strings.Fields(others.similar); !slices.Equal(got, want) {
			t.Errorf("similar to %q: %q, want %q", name, got, want)
		}
	}
}
