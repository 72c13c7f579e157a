package wrongserver

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
)

var (
	errInvalid = errors.New("invalid")
	errAway    = errors.New("the server is away")
)

// fails is a call that fails.
func fails(context.Context) error { return errAway }

// hangs is a call that only its context ends.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestDo: if no server is the right one, a call that fails or hangs ends with the found product.
func TestDo(t *testing.T) {
	t.Parallel()
	postgres := drivertest.AnswersOnly(t, sslRequest, "N")
	redis := drivertest.Answers(t, "-ERR unknown command\r\n")
	mute := drivertest.Listen(t, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) })
	found := "invalid: expected Redis, found PostgreSQL at " + postgres + "; correct the address"
	for name, tt := range map[string]struct {
		addresses []string
		call      func(context.Context) error
		want      string
	}{
		"it fails":           {[]string{postgres}, fails, found},
		"it hangs":           {[]string{postgres}, hangs, found},
		"one may be right":   {[]string{postgres, mute}, fails, errAway.Error()},
		"one is right":       {[]string{postgres, redis}, fails, errAway.Error()},
		"nobody knows where": {nil, fails, errAway.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// On a busy machine, an answer may come too late for the first look.
			for began := time.Now(); ; {
				c := &Check{Product: Redis, Addresses: tt.addresses, Invalid: errInvalid}
				err := c.Do(t.Context(), tt.call)
				if err != nil && err.Error() == tt.want &&
					errors.Is(err, errInvalid) == (tt.want == found) {
					return
				}
				if time.Since(began) > time.Minute {
					t.Fatalf("%v; want %s", err, tt.want)
				}
			}
		})
	}
}

// TestDo_Right: after a call has succeeded, the servers are not asked any more.
func TestDo_Right(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	addr := drivertest.Listen(t, func(net.Conn) { asked <- struct{}{} })
	c := &Check{Product: Redis, Addresses: []string{addr}, Invalid: errInvalid}
	if err := c.Do(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	for len(asked) > 0 { // on a slow machine the call may have taken long enough
		<-asked
	}
	if err := c.Do(t.Context(), fails); !errors.Is(err, errAway) || len(asked) > 0 {
		t.Errorf("%v after %d questions, though a call has succeeded", err, len(asked))
	}
	c = &Check{Product: Redis, Addresses: []string{addr}, Invalid: errInvalid}
	if err := c.Do(t.Context(), fails); !errors.Is(err, errAway) || len(asked) == 0 {
		t.Errorf("%v after %d questions, though no call has succeeded", err, len(asked))
	}
}

// TestProductOf: each answer leads to the product that gives it, or to none.
func TestProductOf(t *testing.T) {
	t.Parallel()
	mysql := func(size int) string { // a greeting, whose first byte is its length
		rest := "\x0a8.0.36\x00" + strings.Repeat("\x01", size-8)
		return string([]byte{byte(size), byte(size >> 8), 0, 0}) + rest
	}
	for answer, want := range map[string]string{
		mysql('E'): "MySQL or MariaDB (8.0.36)", mysql(0x315): "MySQL or MariaDB (8.0.36)",
		mysql('E')[:20]:                        "",
		"E\x00\x00\x00\x60SFATAL\x00":          "PostgreSQL",
		"\x15\x03\x01\x00\x02\x02\x46":         "a server with TLS",
		"\x00\x00\x12\x04\x00\x00\x00\x00\x00": "an HTTP/2 server",
		"N":                                    "", "S": "", "-ERR": "Redis", "-": "", "- x": "",
		"HTTP/1.1 503 x": "", "HTTP/1.1": "",
	} {
		if got := productOf(preface, []byte(answer)).String(); got != want {
			t.Errorf("%q is %q; want %q", answer, got, want)
		}
	}
}

// FuzzProduct: for any answer, the name of the product is short and printable.
func FuzzProduct(f *testing.F) {
	for _, sent := range []string{nothing, getVersion, preface, sslRequest, srvr} {
		for _, answer := range []string{
			"", "S", "N", "SSH-2.0-x\r\n", "-ERR x", "HTTP/1.1 200 OK\r\nServer: x\r\n\r\n{}", "HTTP/",
			"HTTP/1.0 503 x", "\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x15\x03\x01",
			"\x06\x00\x00\x00\x0a8.0\x00\x00", "Zookeeper version: 3.8.0-1",
			"HTTP/1.1 200 OK\r\n\r\n{\"etcdserver\":\"3.6.0\"}",
		} {
			f.Add(sent, answer)
		}
	}
	f.Fuzz(func(t *testing.T, sent, answer string) {
		found := productOf(sent, []byte(answer))
		text := found.String()
		unfit := func(r rune) bool { return r < ' ' || r > '~' }
		if len(text) > 100 || strings.ContainsFunc(text, unfit) {
			t.Errorf("%q after %q is %q", answer, sent, text)
		}
		if found.product == "" && text != "" {
			t.Errorf("%q after %q is no product, and has the detail %q", answer, sent, text)
		}
	})
}
