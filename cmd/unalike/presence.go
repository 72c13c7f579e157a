package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/unalike-id/unalike/coord"
)

const (
	// dialTime is how long a look takes at whether anybody is there.
	dialTime = 800 * time.Millisecond
	// dialPause is the pause between two such looks.
	dialPause = 250 * time.Millisecond
)

// ports are those of the schemes whose URLs need not name one.
var ports = map[string]string{
	"etcd": "2379", "etcds": "2379", "zk": "2181", "redis": "6379", "rediss": "6379",
	"redis-cluster": "6379", "rediss-cluster": "6379", "redis-sentinel": "26379", "rediss-sentinel": "26379",
	"postgres": "5432", "postgress": "5432", "mysql": "3306", "mysqls": "3306",
}

// addresses returns where the servers of p are; nil where it is not known, or there are
// none.
func (p place) addresses() []string {
	u, err := coord.ParseURL(p.rawURL)
	if err != nil || len(u.Hosts) == 0 || ports[u.Scheme] == "" {
		return nil // what is wrong with a URL is said when it is opened
	}
	all, err := u.Addresses(ports[u.Scheme])
	if err != nil {
		return nil
	}
	return all
}

// awaitPresence looks whether anybody is there, because some drivers go on for long
// where nobody is. It fails if all servers refuse connections, or with --wait goes on
// until one does not, the command's timeout has passed, or ctx ends.
func (a *app) awaitPresence(ctx context.Context, p place) error {
	servers := p.addresses()
	if len(servers) == 0 || !refused(ctx, servers) {
		return nil
	}
	if err := p.checkURL(); err != nil {
		return err
	}
	where := strings.Join(servers, ", ")
	if !a.wait {
		return fmt.Errorf("%s: nobody is there: connection refused by %s; check the address and that it is up, or wait for it with --wait", p.from, where)
	}
	a.complain("unalike: waiting for %s to accept connections, at most %v ...\n", where, a.answer)
	for end := time.Now().Add(a.answer); ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(dialPause):
		}
		switch {
		case !refused(ctx, servers):
			a.complain("unalike: %s accepts connections\n", where)
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%s: nobody is there: connection refused by %s for %v; --timeout makes that longer", p.from, where, a.answer)
		}
	}
}

// checkURL returns what is wrong with the URL itself, which is to be said first.
func (p place) checkURL() error {
	ended, cancel := context.WithCancel(context.Background())
	cancel() // nobody is asked
	c, err := p.open(ended, slog.New(slog.DiscardHandler))
	if err == nil {
		err = c.Close()
	}
	if errors.Is(err, coord.ErrInvalid) {
		return err
	}
	return nil
}

// refused reports whether all servers refuse connections.
func refused(ctx context.Context, servers []string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
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
