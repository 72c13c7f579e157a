package redis

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
)

// sentinels connects for a client that asks Sentinels where the master is. Closing that client
// waits until none is asked any more: as long as connecting may take where one does not answer. So
// its connections to Sentinels end with life.
type sentinels struct {
	addrs []string
	tls   *tls.Config // nil: none
	life  context.Context
}

// dial makes a connection to a Sentinel or to a master.
func (s *sentinels) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	connect := new(net.Dialer).DialContext
	if s.tls != nil {
		connect = (&tls.Dialer{Config: s.tls}).DialContext
	}
	conn, err := connect(ctx, network, addr)
	if err != nil || !slices.Contains(s.addrs, addr) {
		return conn, err
	}
	return &asked{conn, context.AfterFunc(s.life, func() { _ = conn.Close() })}, nil
}

// asked is a connection to a Sentinel.
type asked struct {
	net.Conn
	forget func() bool
}

// Close implements [net.Conn].
func (a *asked) Close() error {
	if !a.forget() {
		return nil // it was closed
	}
	return a.Conn.Close()
}
