package kubernetes

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// TestSilent: a server takes requests and never answers. No call lasts for ever, whether its
// context has an end or not, and nothing stays behind.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newClient(nil)
		client.Transport.(*http.Transport).DialContext = func(context.Context, string,
			string,
		) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far); _ = far.Close() }()
			return near, nil
		}
		c, err := build(&api{client: client, own: true}, "http://silent", "orders", Options{In: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		call := func(ctx context.Context) error {
			_, err := c.Acquire(ctx, drivertest.Request(4))
			return err
		}
		began := time.Now()
		if err := call(context.Background()); err == nil || time.Since(began) != longest {
			t.Errorf("without a deadline: %v after %v", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began = time.Now()
		if err := call(ctx); err == nil || time.Since(began) != 2*time.Second {
			t.Errorf("with 2s: %v after %v", err, time.Since(began))
		}
		ended := make(chan error)
		go func() { ended <- call(context.Background()) }()
		synctest.Wait()
		began = time.Now()
		if err := errors.Join(c.Close(), <-ended); err == nil || time.Since(began) != 0 {
			t.Errorf("Close, and the call under way: %v after %v", err, time.Since(began))
		}
	})
}
