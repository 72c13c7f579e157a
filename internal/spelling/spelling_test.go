package spelling_test

import (
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
