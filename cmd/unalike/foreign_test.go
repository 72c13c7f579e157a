package main

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// foreignAnswers are what servers say that are not the one which is asked.
var foreignAnswers = map[string]string{
	"HTTP":  "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
	"SSH":   "SSH-2.0-OpenSSH_9.6\r\n",
	"Redis": "-ERR unknown command\r\n", "hangs up": "",
}

// secureURLs are those of serverURLs with TLS.
var secureURLs = []string{
	"etcds://ADDRESS/x", "rediss://:secret@ADDRESS/0?namespace=x",
	"postgress://u:secret@ADDRESS/db?namespace=x", "mysqls://u:secret@ADDRESS/db?namespace=x",
}

// storeURLs are those of stores of segments.
var storeURLs = []string{
	"etcd://ADDRESS/x", "postgres://u:secret@ADDRESS/db",
	"mysql://u:secret@ADDRESS/db",
}

// TestForeignPort: where something else listens, every command asks the same question,
// whatever the back end.
func TestForeignPort(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	defer all.Wait() // they wait all the time, side by side
	for name, answer := range foreignAnswers {
		addr := drivertest.Answers(t, answer)
		asks := func(question, url, command string) {
			command += " " + strings.Replace(url, "ADDRESS", addr, 1)
			all.Go(func() {
				// What is wrong shows when a connection is made: on a busy machine, that takes a while.
				for limit := time.Second; ; limit *= 5 {
					got := callWithin(t, limit, strings.Fields(command+" --timeout "+limit.String())...)
					if strings.Contains(got.stderr, "secret") {
						t.Errorf("%s, %s: the password was printed:\n%s", name, command, got.stderr)
					}
					if got.code == exitFailure && strings.Contains(got.stderr, question) &&
						strings.Contains(got.stderr, addr) {
						return
					}
					if limit > 20*time.Second {
						t.Errorf("%s, %s: %+v\nwant a failure that asks %q", name, command, got, question)
						return
					}
				}
			})
		}
		for _, url := range serverURLs {
			asks("is it the port of a", url, "workers --coordinator")
			asks("is it the port of a", url, "generate --coordinator")
		}
		for _, url := range secureURLs {
			asks("for clients, with TLS?", url, "workers --coordinator")
		}
		for _, url := range storeURLs {
			asks("is it the port of a", url, "segments --store")
			asks("is it the port of a", url, "generate --segment orders --store")
		}
	}
}
