package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/lifetime"
)

const (
	// dialTime is how long a look at whether anybody is there takes at most. Together with
	// quietTime, it is less than the second within which a wait is told of.
	dialTime = 200 * time.Millisecond
	// dialPause is the pause between two such looks.
	dialPause = 250 * time.Millisecond
)

// addresses returns where the servers of p are; nil where it is not known, or there are
// none.
func (p place) addresses() []string {
	u, err := driver.ParseURL(p.rawURL)
	if err != nil {
		return nil // what is wrong with a URL is said when it is opened
	}
	port := drivers.Port(u.Scheme)
	if len(u.Hosts) == 0 || port == "" {
		return nil
	}
	all, err := u.Addresses(port)
	if err != nil {
		return nil
	}
	return all
}

// awaitPresence looks whether anybody is there, because some drivers go on for long
// where nobody is. It fails if all servers refuse connections, or with --wait goes on
// until one does not, the command's timeout has passed, or ctx ends. Check says what is wrong with
// the URL itself.
func (a *app) awaitPresence(ctx context.Context, p place, check func() error) error {
	servers := p.addresses()
	if len(servers) == 0 || !a.refused(ctx, servers) {
		return nil
	}
	if err := check(); err != nil {
		return err
	}
	where := strings.Join(servers, ", ")
	if !a.wait {
		return fmt.Errorf("%s: nobody is there: connection refused by %s; check the address and that it "+
			"is up, or wait for it with --wait", p.from, where)
	}
	a.complain("unalike: waiting for %s to accept connections, at most %v ...\n", where, a.answer)
	for end := time.Now().Add(a.answer); ; {
		if !lifetime.Sleep(ctx, dialPause) {
			return context.Cause(ctx)
		}
		switch {
		case !a.refused(ctx, servers):
			a.complain("unalike: %s accepts connections\n", where)
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%s: nobody is there: connection refused by %s for %v; --timeout makes "+
				"that longer", p.from, where, a.answer)
		}
	}
}

// refused reports whether all servers refuse connections.
func (w waits) refused(ctx context.Context, servers []string) bool {
	ctx, cancel := context.WithTimeout(ctx, w.dial)
	defer cancel()
	errs := make([]error, len(servers))
	var all sync.WaitGroup
	for i, address := range servers {
		all.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err == nil {
				_ = conn.Close() // it was only to look
				cancel()         // one is enough
			}
			errs[i] = err
		})
	}
	all.Wait()
	for _, err := range errs {
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return false
		}
	}
	return true
}
