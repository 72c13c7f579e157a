package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/metrics"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/server"
)

const (
	defaultListen = "127.0.0.1:8080"
	defaultDrain  = 5 * time.Second
	// endTime bounds how long requests that are under way may take at the end.
	endTime = 10 * time.Second
	// listEvery is how often worker IDs are counted, and storeEvery how often a store is tried.
	listEvery  = time.Minute
	storeEvery = time.Second
)

// serveOptions are the flags of serve.
type serveOptions struct {
	namespaceOptions
	listen, store string
	drain         time.Duration
}

// serveCommand returns the command that answers over HTTP.
func (a *app) serveCommand() *cobra.Command {
	o := serveOptions{drain: defaultDrain}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Answer requests for IDs over HTTP",
		Long: `serve hands out IDs over HTTP, for programs in any language:

  curl 'http://127.0.0.1:8080/v1/generators/default/ids?count=3'

The same address answers gRPC, gRPC-Web and Connect: the service unalike.v1.IDService.

Without --config it serves one generator, named default, of the coordinator that
'unalike generate' would use. The file of --config has the settings of that generator, or
several of them under the key generators, and beside those: listen, store, tokens, leaf,
tls, hosts, max_count, max_wait.

It listens before its generators are ready, and says so on /readyz. Once it listens it
prints the address. On the first SIGTERM or interrupt it says on /readyz that it is not
ready, goes on for --drain so that a balancer sees it, finishes what is under way, and
gives its worker IDs back; its exit code is 0 then. A second signal ends it at once.`,
		Example: `  unalike serve
  unalike serve --listen 127.0.0.1:9000 --coordinator etcd://localhost/orders
  unalike serve --config serve.yaml`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.drain < 0 {
				return usageError{fmt.Errorf("--drain is %v; it is 0s or a duration above that", o.drain)}
			}
			for _, f := range [][2]string{{"coordinator", "a URL"}, {"store", "a URL"}, {"config", "a file"}, {"listen", "an address"}} {
				if err := checkGiven(c, f[0], f[1]); err != nil {
					return err
				}
			}
			set, err := a.serveSettings(c, &o)
			if err != nil {
				return err
			}
			return a.serve(c.Context(), &o, set)
		},
	}
	c.Flags().StringVar(&o.listen, "listen", "", "`ADDRESS` to listen on: host:port (default: that of the file, else "+defaultListen+")")
	c.Flags().StringVar(&o.coordinator, "coordinator", "", "`URL` of the coordinator (default: $"+envCoordinator+", else an etcd of this user on this machine)")
	addConfigFlag(c, &o.config)
	addLayoutFlag(c, &o.layout)
	addStoreFlag(c, &o.store, "that of the file, else none")
	c.Flags().DurationVar(&o.drain, "drain", o.drain, "how long to go on after a signal, so that balancers see that it ends")
	completeCoordinator(c)
	return c
}

// service is what a run of serve has open.
type service struct {
	a          *app
	log        *slog.Logger
	set        *serveSettings
	metrics    *metrics.Metrics
	server     *server.Server
	generators map[string]*config.Generator
	failed     context.CancelCauseFunc // ends the run with an error
}

// serve opens everything, answers until a signal, and closes everything.
func (a *app) serve(ctx context.Context, o *serveOptions, set *serveSettings) (err error) {
	ctx, stop := untilSignal(ctx)
	defer stop()
	ctx, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	s := &service{a: a, log: a.logger(), set: set, generators: map[string]*config.Generator{}, failed: failed}
	defer s.close(ctx)
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.metrics, err = metrics.New(reg, metrics.Options{}); err != nil {
		return err
	}
	tokens, err := set.readTokens()
	if err != nil {
		return err
	}
	cfg := server.Config{
		Generators: map[string]server.Generator{}, Namespaces: map[string]string{}, Tokens: tokens, Hosts: set.Hosts, Leaf: set.leaf(), MaxCount: set.MaxCount, MaxWait: set.MaxWait,
		Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{}), Logger: s.log,
	}
	for name, g := range set.generators {
		if cfg.Namespaces[name], err = s.start(ctx, name, g); err != nil {
			return err
		}
		cfg.Generators[name] = s.generators[name]
	}
	if s.server, err = server.New(cfg); err != nil {
		return err
	}
	front, err := newFront(ctx, set, s.server, s.log)
	if err != nil {
		return err
	}
	return s.run(ctx, o, front, tokens)
}

// start starts a generator, which leases its worker IDs in the background, and returns what its
// namespace is shown as.
func (s *service) start(ctx context.Context, name string, cfg config.Config) (place string, err error) {
	cfg.Logger = s.log.With("generator", name)
	cfg.OnCall = s.metrics.OnCall(name)
	g, err := cfg.Start(ctx)
	if err != nil {
		return "", fmt.Errorf("generator %s: %w", name, err)
	}
	s.generators[name] = g
	scheme, namespace, place := namespaceOf(cfg.Coordinator)
	if err := s.metrics.Generator(name, g, metrics.Info{Coordinator: scheme, Namespace: namespace}); err != nil {
		return "", err
	}
	return place, nil
}

// namespaceOf returns the scheme of a coordinator's URL, the name of the namespace, and the name with all that it depends
// on but the hosts: a namespace of Redis is one of a numbered database, and one of MySQL is one of a database.
func namespaceOf(rawURL string) (scheme, namespace, place string) {
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return "", "", ""
	}
	scheme, namespace, place = u.Scheme, strings.TrimPrefix(u.Path, "/"), u.Scheme+":"+u.Path
	if u.Has("namespace") {
		namespace = u.Option("namespace")
		place += "?namespace=" + namespace
	}
	return scheme, namespace, place
}

// run answers until ctx ends.
func (s *service) run(ctx context.Context, o *serveOptions, front *front, tokens *server.Tokens) error {
	background := newTasks(ctx)
	defer background.end()
	for name, g := range s.generators {
		background.run(func(ctx context.Context) { s.countWorkerIDs(ctx, name, g) })
	}
	background.run(s.readNamespaces)
	if s.set.Store != "" {
		s.server.Sequences(nil)
		s.metrics.Store(s.server.CheckStore)
		background.run(s.serveStore)
	}
	background.run(func(ctx context.Context) { front.reload(ctx, tokens) })
	if !front.loopback() && tokens == nil && s.set.TLS.ClientCA == "" {
		s.log.Warn("everybody who reaches this address may have IDs and see everything; set tokens or tls.client_ca", "address", front.addr())
	}
	if err := s.a.write([]byte("listening on " + front.addr() + "\n")); err != nil {
		return errors.Join(err, front.close())
	}
	ended := make(chan error, 1)
	go func() { ended <- front.serve() }()
	select {
	case err := <-ended:
		return fmt.Errorf("listening on %s: %w", front.addr(), err)
	case <-ctx.Done():
	}
	s.server.Drain()
	if _, signal := causeOf(ctx); signal {
		s.log.Info("stopping", "drain", o.drain)
		timer := time.NewTimer(o.drain)
		<-timer.C
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	err := errors.Join(front.shutdown(end), <-ended)
	if _, signal := causeOf(ctx); !signal {
		return errors.Join(context.Cause(ctx), err)
	}
	if err != nil {
		s.log.Warn("requests were cut off", "error", err)
	}
	return nil
}

// serveStore opens the store of the tags, again and again until that succeeds, and keeps it until ctx ends.
func (s *service) serveStore(ctx context.Context) {
	told := "" // it is said once, and again when the reason changes
	for {
		err := s.holdStore(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, segment.ErrInvalidConfig):
			s.failed(fmt.Errorf("store: %w", err))
			return
		}
		if why := fmt.Sprint(err); why != told {
			told = why
			s.log.Warn("the store cannot be reached, trying again", "error", err)
		}
		if !pauseFor(ctx, storeEvery) {
			return
		}
	}
}

// holdStore opens the store and serves its tags until ctx ends.
func (s *service) holdStore(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, s.a.answer)
	defer cancel()
	store, err := segment.Open(bounded, s.set.Store, segment.OpenOptions{Logger: s.log})
	if err != nil {
		return err
	}
	defer func() { warnOf(s.log, store.Close(), "closing the store failed") }()
	set, err := segment.NewSet(bounded, store, segment.Config{Logger: s.log})
	if err != nil {
		return err
	}
	defer func() {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		warnOf(s.log, set.Close(tidy), "giving unused numbers back failed")
	}()
	if err := s.metrics.Set(set); err != nil {
		return err
	}
	s.server.Sequences(set)
	<-ctx.Done()
	return nil
}

// readNamespaces reads the nonces of all namespaces, until that has succeeded and then once a minute.
func (s *service) readNamespaces(ctx context.Context) {
	for pause := storeEvery; ; {
		if s.server.ReadNamespaces(ctx) == nil {
			pause = listEvery
		}
		if !pauseFor(ctx, pause) {
			return
		}
	}
}

// countWorkerIDs counts the worker IDs of a namespace once a minute, for metrics.
func (s *service) countWorkerIDs(ctx context.Context, name string, g *config.Generator) {
	lister, ok := g.Coordinator().(coord.Admin)
	if !ok {
		return
	}
	share, err := s.set.generators[name].Lease.WorkerIDs.Within(s.set.generators[name].Layout.Workers())
	if err != nil {
		return // then the generator has not started either
	}
	held, cancel := context.WithTimeout(ctx, listEvery)
	_ = g.Ready(held) // the first count is to have its own worker ID, unless that takes long
	cancel()
	for {
		bounded, cancel := context.WithTimeout(ctx, s.a.answer)
		slots, err := lister.List(bounded)
		cancel()
		if err == nil {
			s.metrics.WorkerIDs(name, countSlots(slots, share, time.Now()))
		}
		if !pauseFor(ctx, listEvery) {
			return
		}
	}
}

// countSlots counts the worker IDs of a share by their state.
func countSlots(slots []coord.Slot, share coord.Range, now time.Time) map[string]int {
	n := map[string]int{"held": 0, "retired": 0, "opens_later": 0, "free": share.Count}
	for _, slot := range slots {
		state := slot.State.String()
		switch {
		case slot.WorkerID < share.First || slot.WorkerID-share.First >= share.Count:
			continue
		case slot.State == coord.SlotFree && slot.Until.After(now):
			state = "opens_later"
		case slot.State == coord.SlotFree:
			continue
		}
		n[state]++
		n["free"]--
	}
	return n
}

// pauseFor waits and reports whether ctx has not ended.
func pauseFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// close gives all worker IDs back.
func (s *service) close(ctx context.Context) {
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	closing := newTasks(tidy)
	for _, g := range s.generators {
		closing.run(func(ctx context.Context) { warnOf(s.log, g.Close(ctx), "giving a worker ID back failed") })
	}
	closing.wait()
}

// isLoopback reports whether an address can be reached from this machine alone.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// makeFolder makes the folder of the default coordinator.
func makeFolder(p place) error {
	if p.folder == "" {
		return nil
	}
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return fmt.Errorf("%s: the folder of its data cannot be made: %w", p.from, err)
	}
	return nil
}
