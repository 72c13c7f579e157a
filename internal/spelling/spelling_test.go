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
