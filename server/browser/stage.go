package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
	"github.com/unalike-id/unalike/server"
)

// stage is a server in troubles that are made.
type stage struct {
	orders, users *coordtest.Fake
	store         *segmenttest.Fake
	generator     *core.Generator // of orders
	server        *server.Server
	front         *httptest.Server
	config        server.Config
	set           kept
	listed        *listed
	end           func() // ends Run
	closers       []func()
}

// kept is a set that servers one after the other serve.
type kept struct{ *segment.Set }

// Close leaves the set open for the next server.
func (kept) Close(context.Context) error { return nil }

// listed is a coordinator whose worker IDs have the holders that a test wants.
type listed struct {
	coord.Coordinator
	slots atomic.Pointer[[]coord.Slot]
	known chan struct{} // closed: the holders are known
}

// List returns the holders, once they are known.
func (l *listed) List(ctx context.Context) ([]coord.Slot, error) {
	select {
	case <-l.known:
		return *l.slots.Load(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// names are of those who hold worker IDs, and of tags.
type names struct {
	holders, tags []string
	unknown       bool // who holds worker IDs, until the test closes listed.known
}

// plain are names as they are.
func plain(workers int) names {
	n := names{tags: []string{"invoices", "orders/eu", "orders/us", "tickets"}}
	for i := range workers {
		n.holders = append(n.holders, fmt.Sprintf("ids-%c%d-%05x:1", 'a'+rune(i%6), i/6, 7919*i+4099))
	}
	return n
}

// newStage starts a server with two generators and a store.
func newStage(n names, change func(*server.Config)) (*stage, error) {
	s := &stage{
		orders: coordtest.NewFake(coordtest.FakeConfig{}),
		users:  coordtest.NewFake(coordtest.FakeConfig{}),
	}
	quiet := slog.New(slog.DiscardHandler)
	s.config = server.Config{
		Generators: map[string]*core.Generator{}, Namespaces: map[string]string{
			"orders": "etcd:/orders",
			"users":  "etcd:/users",
		},
		Leaf: server.Leaf{Enabled: true}, Build: "v0.1.0", Logger: quiet,
	}
	ctx := context.Background()
	s.listed = &listed{Coordinator: s.orders.Client(), known: make(chan struct{})}
	if !n.unknown {
		close(s.listed.known)
	}
	for name, c := range map[string]coord.Coordinator{
		"orders": s.listed, "users": s.users.Client(),
	} {
		g, err := core.New(ctx, c,
			core.Config{Logger: quiet, Lease: coord.LeaseConfig{
				TTL:     3 * time.Second,
				Horizon: 4 * time.Second, RenewEvery: 300 * time.Millisecond,
			}})
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, func() { _ = g.Close(context.Background()) })
		s.config.Generators[name] = g
		if name == "orders" {
			s.generator = g
		}
	}
	if change != nil {
		change(&s.config)
	}
	var tags []segment.Tag
	for i, tag := range n.tags {
		tags = append(tags, segment.Tag{Name: tag, Next: 1, Step: 1000 * int64(i+1), Description: tag})
	}
	s.store = segmenttest.NewFake(tags...)
	set, err := segment.NewSet(ctx, s.store, segment.Config{Logger: quiet})
	if err != nil {
		return nil, err
	}
	s.set = kept{set}
	s.config.Numbers = func(context.Context) (server.Numbers, error) { return s.set, nil }
	s.closers = append(s.closers, func() { _ = set.Close(context.Background()) })
	return s, s.serve("127.0.0.1:0", n)
}

// serve starts the server at an address.
func (s *stage) serve(address string, n names) (err error) {
	if s.server, err = server.New(s.config); err != nil {
		return err
	}
	s.list(n)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { s.server.Run(ctx); close(ended) }()
	s.end = func() { cancel(); <-ended }
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s.front = &httptest.Server{Listener: l, Config: &http.Server{Handler: s.server}}
	s.front.Start()
	return nil
}

// list sets who holds worker IDs.
func (s *stage) list(n names) {
	var slots []coord.Slot
	now := time.Now() //nolint:forbidigo // holders that the page is told of
	for i, holder := range n.holders {
		held := now.Add(-time.Duration(i) * 17 * time.Minute)
		slots = append(slots, coord.Slot{
			WorkerID: i, State: coord.SlotHeld, Holder: holder,
			Identity: "ids-" + fmt.Sprint(i), Since: held, Renewed: now, Until: now.Add(30 * time.Second),
		})
	}
	s.listed.slots.Store(&slots)
}

// stop ends the server.
func (s *stage) stop() {
	s.server.Drain()
	s.front.CloseClientConnections()
	s.front.Close()
	s.end()
}

// ask sends a request, whatever the answer is.
func (s *stage) ask(ctx context.Context, path string) {
	s.server.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet,
		path, http.NoBody))
}

// load asks for IDs and numbers until ctx ends: for so many at a time.
func (s *stage) load(ctx context.Context, count int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		for _, path := range []string{
			"/v1/generators/orders/ids", "/v1/generators/users/ids",
			"/v1/sequences/invoices/numbers", "/v1/sequences/orders%2Feu/numbers",
		} {
			n := max(1, count/(1+i%7))
			if strings.HasSuffix(path, "numbers") {
				n = 1 + i%3
			}
			s.ask(ctx, fmt.Sprintf("%s?count=%d", path, n))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// errAway is that of a store that is away.
var errAway = errors.New("dial tcp 10.0.0.7:3306: connect: connection refused")

// storeAway has the store answer nothing any more.
func (s *stage) storeAway() {
	s.store.Intercept(func(context.Context, string, string, func() error) error { return errAway })
}

func (s *stage) close() {
	s.stop()
	for _, end := range s.closers {
		end()
	}
}
