// Package wrongserver finds out whether another product listens where a driver expects its own.
//
// A client cannot tell such a server from one that is down: many products close a connection that
// they do not understand, or wait for more. This package sends requests that each product answers
// in its own way, and needs such an answer to name a product. Everything else is temporary, also an
// answer that a right server gives while it starts, or a proxy without a server behind it.
package wrongserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/tlsfiles"
)

const (
	// quietTime is how long a call may take before the servers are asked.
	quietTime = 250 * time.Millisecond
	// greetingTime is the time for a server to speak first, answerTime that to connect and to answer.
	greetingTime = 250 * time.Millisecond
	answerTime   = time.Second
	// leastPause and mostPause bound the time between two rounds of questions.
	leastPause = time.Second
	mostPause  = time.Minute
)

// Check is the product that a driver expects at its addresses. It is safe for concurrent use, and
// must not be copied after its first use. A nil Check expects nothing.
type Check struct {
	Product   string          // one of the constants
	Addresses []string        // host:port; none: nothing is checked
	TLS       *tlsfiles.Files // of connections that begin with TLS; nil: they do not
	Later     bool            // they have TLS after a greeting
	Invalid   error           // wrapped by the error, which trying again cannot cure

	mu      sync.Mutex
	right   bool      // a server has answered as it should: nothing is checked any more
	looking bool      // a round is in progress
	next    time.Time // of the next round
	pause   time.Duration
}

// Error says that other products listen at all addresses.
type Error struct {
	kind     error
	expected string
	found    []string
}

// Error names the expected product, and the one at each address.
func (e *Error) Error() string { return fmt.Sprintf("%v: %s", e.kind, says(e.expected, e.found)) }

// Says is what an error says of another product at an address.
func Says(expected, found, address string) string {
	return says(expected, []string{at(found, address)})
}

func says(expected string, found []string) string {
	return "expected " + expected + ", " + strings.Join(found, ", ") + "; correct the address"
}

func at(found, address string) string { return "found " + found + " at " + address }

// Unwrap returns the error that says that trying again cannot help.
func (e *Error) Unwrap() error { return e.kind }

// Do makes a call to the servers. If the call fails or takes long, and another product answers at
// every address, Do ends the call and returns an [*Error]. After a server has been the right one,
// Do only makes the call.
func (c *Check) Do(ctx context.Context, call func(context.Context) error) error {
	if c == nil || !c.begin() {
		return call(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed, looked := make(chan struct{}), make(chan error, 1)
	go func() {
		err := c.lookUntil(ctx, failed)
		if err != nil {
			cancel() // which ends the call
		}
		looked <- err
	}()
	err := call(ctx)
	if err == nil || errors.Is(err, c.Invalid) { // which the server has answered
		c.know()
		cancel()
	}
	close(failed)
	if wrong := <-looked; wrong != nil && err != nil { //mutant:wrong-server
		return wrong
	}
	return err
}

// lookUntil asks the servers again and again while a call lasts, and once more when it has failed.
func (c *Check) lookUntil(ctx context.Context, failed <-chan struct{}) error {
	defer c.end()
	last := false
	for wait := quietTime; ; wait *= 2 {
		select {
		case <-time.After(wait):
		case <-failed:
			last = true
		case <-ctx.Done():
			return nil
		}
		if err := c.look(ctx); err != nil || last || c.known() {
			return err
		}
	}
}

// begin reports whether it is time to ask the servers. If so, the caller must call end.
func (c *Check) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.right || c.looking || len(c.Addresses) == 0 || lifetime.Now().Before(c.next) {
		return false
	}
	c.looking = true
	return true
}

// end doubles the pause before the next round.
func (c *Check) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pause = min(max(2*c.pause, leastPause), mostPause)
	c.looking, c.next = false, lifetime.Now().Add(c.pause)
}

// known reports whether a server has been the right one.
func (c *Check) known() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.right
}

// know ends the checks, because a server is the right one.
func (c *Check) know() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.right = true
}

// look asks all servers at the same time. It returns an error if each of them is another product.
func (c *Check) look(ctx context.Context) error {
	all := make([]found, len(c.Addresses))
	var asked sync.WaitGroup
	for i, address := range c.Addresses {
		asked.Go(func() { all[i] = c.ask(ctx, address) })
	}
	asked.Wait()
	var which []string
	for i, f := range all {
		if f.product == "" {
			return nil
		}
		if c.expects(f.product) {
			c.know()
			return nil
		}
		which = append(which, at(f.String(), c.Addresses[i]))
	}
	expected := c.Product
	if c.TLS != nil || c.Later {
		expected += " with TLS"
	}
	return &Error{c.Invalid, expected, which}
}

// expects reports whether a product may be the one that is expected. One that is reached over HTTP
// may be behind another server of HTTP: its driver sees by the answers to its own requests.
func (c *Check) expects(product string) bool {
	switch c.Product {
	case Etcd:
		return product == Etcd || product == http2
	case Kubernetes:
		return product == Kubernetes || product == http1 || product == Etcd
	}
	return product == c.Product
}

// ask returns the product at an address. It first waits for a greeting: MySQL blocks a host that
// often answers its greeting with something else.
func (c *Check) ask(ctx context.Context, address string) found {
	config, err := c.config()
	if err != nil {
		return found{}
	}
	if f := c.send(ctx, address, config, nothing); f.product != "" {
		return f
	}
	texts := []string{getVersion, sslRequest, srvr}
	if c.Product == Etcd {
		texts = append(texts, preface)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var asked sync.WaitGroup
	answers := make(chan found, 2*len(texts)+1)
	send := func(config *tls.Config, text string) {
		asked.Go(func() { answers <- c.send(ctx, address, config, text) })
	}
	for _, text := range texts {
		send(config, text)
		if c.TLS != nil {
			send(nil, text)
		}
	}
	if c.TLS == nil {
		send(anyServer, nothing)
	}
	go func() { asked.Wait(); close(answers) }()
	first := found{}
	for f := range answers {
		if f.product != "" && first.product == "" {
			first = f
			cancel() // one is enough
		}
	}
	return first
}

// config reads the settings of TLS; nil: connections do not begin with it.
func (c *Check) config() (*tls.Config, error) {
	if c.TLS == nil {
		return nil, nil
	}
	return c.TLS.Client()
}

// anyServer are settings with which a handshake shows only whether a server has TLS.
var anyServer = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // nothing is sent

// send sends a text on a new connection, with TLS unless config is nil, and returns the product.
func (c *Check) send(ctx context.Context, address string, config *tls.Config, text string) found {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	plain, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return found{}
	}
	defer plain.Close()
	defer context.AfterFunc(ctx, func() { _ = plain.Close() })()
	if config == nil {
		answer := exchange(plain, text)
		f := c.counts(text, productOf(text, answer))
		switch {
		case c.Later && text == sslRequest && string(answer) == "N":
			return withoutTLS(f)
		case c.TLS == nil:
			return f
		case f.product == "", f.product == http1, f.product == ofTLS:
			return found{} // some servers with TLS answer so to a client without
		}
		return withoutTLS(f)
	}
	seen, named := &recorder{Conn: plain}, config.Clone()
	if host, _, err := net.SplitHostPort(address); err == nil && named.ServerName == "" {
		named.ServerName = host
	}
	if text == preface {
		named.NextProtos = []string{"h2"}
	}
	conn := tls.Client(seen, named)
	err = conn.HandshakeContext(ctx)
	switch {
	case config == anyServer && seen.tls():
		return found{ofTLS, ""}
	case config == anyServer:
		return found{}
	case err == nil:
		return c.counts(text, productOf(text, exchange(conn, text)))
	case text == preface && strings.Contains(err.Error(), "no application protocol"):
		return found{http1, "without HTTP/2"}
	}
	return seen.product()
}

// counts drops an answer of HTTP/1.1 where etcd is expected: a proxy in front of etcd gives the
// same.
func (c *Check) counts(text string, f found) found {
	if c.Product == Etcd && f.product == http1 && text == getVersion {
		return found{}
	}
	return f
}

// withoutTLS adds to a product that its server has no TLS.
func withoutTLS(f found) found { return found{f.String() + " without TLS", ""} }

// longest is how much of an answer is read.
const longest = 4 << 10

// exchange sends a text and reads the first part of the answer, or all of an answer of HTTP.
func exchange(conn net.Conn, text string) []byte {
	wait := answerTime
	if text == nothing {
		wait = greetingTime
	}
	if conn.SetDeadline(lifetime.Now().Add(wait)) != nil {
		return nil
	}
	if text != nothing {
		if _, err := conn.Write([]byte(text)); err != nil {
			return nil
		}
	}
	b := make([]byte, longest)
	for n := 0; ; {
		m, err := conn.Read(b[n:])
		n += m
		if err != nil || n == len(b) || !bytes.HasPrefix(b[:n], []byte("HTTP/")) {
			return b[:n]
		}
	}
}

// recorder keeps the first bytes that a connection receives.
type recorder struct {
	net.Conn
	got []byte
}

// Read implements [net.Conn].
func (r *recorder) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.got = append(r.got, b[:min(n, longest-len(r.got))]...)
	return n, err
}

// tls reports whether it was a record of TLS: of a handshake, or an alert.
func (r *recorder) tls() bool {
	return bytes.HasPrefix(r.got, []byte("\x16\x03")) || bytes.HasPrefix(r.got, []byte("\x15\x03"))
}

// product returns the product that has answered a handshake of TLS with something else.
func (r *recorder) product() found {
	for _, sent := range []string{nothing, getVersion} {
		if f := productOf(sent, r.got); f.product != "" && f.product != ofTLS {
			return withoutTLS(f)
		}
	}
	return found{}
}
