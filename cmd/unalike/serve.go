package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/metrics"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/server"
)

const (
	// envListen names the address where the flag does not.
	envListen     = "UNALIKE_LISTEN"
	defaultListen = "127.0.0.1:8080"
	defaultDrain  = 5 * time.Second
	// endTime bounds how long requests that are under way may take at the end.
	endTime = 10 * time.Second
	// listEvery is how often worker IDs are counted, and listSoon while the service is not ready: they
	// may be the reason. StoreEvery is how often a store is tried.
	listEvery  = time.Minute
	listSoon   = 5 * time.Second
	storeEvery = time.Second
	// readyEvery is how often it is looked whether the log has to say that it is ready, or not.
	readyEvery = 250 * time.Millisecond
)

// serveOptions are the flags of serve.
type serveOptions struct {
	namespaceOptions
	listen, store       string
	logFormat, logLevel string
	drain               time.Duration
	check               bool
}

// serveCommand returns the command that answers over HTTP.
func (a *app) serveCommand() *cobra.Command {
	o := serveOptions{drain: defaultDrain, logFormat: "text", logLevel: "info"}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Answer requests for IDs over HTTP",
		Long: `serve hands out IDs over HTTP, for programs in any language:

  curl 'http://127.0.0.1:8080/v1/generators/default/ids?count=3'

The same address answers gRPC, gRPC-Web and Connect: the service unalike.v1.IDService.
In a browser it shows operators whether all is well, and if not what is wrong.

Without --config it serves one generator, named default, of the coordinator that
'unalike generate' would use. The file of --config has the settings of that generator, or
several of them under the key generators, and beside those: listen, admin_listen, store,
tokens, leaf, tls, hosts, ready, access_log, and the bounds that begin with max_.
--check reads the file, tokens and certificates, and ends.

It listens before its generators are ready, and says so on /readyz. Once it listens it
prints the address. SIGHUP has it read tokens and certificates again. On the first SIGTERM
or interrupt it says on /readyz that it is not ready, goes on for --drain so that a
balancer sees it, finishes what is under way, and gives its worker IDs back; its exit code
is 0 then. A second signal ends it at once.`,
		Example: `  unalike serve
  unalike serve --listen 127.0.0.1:9000 --coordinator etcd://localhost/orders
  unalike serve --config serve.yaml`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.drain < 0 {
				return usageError{fmt.Errorf("--drain is %v; it is 0s or a duration above that", o.drain)}
			}
			set, err := a.serveSettings(c, &o)
			if err != nil {
				return err
			}
			if o.check {
				return a.checkServe(set)
			}
			log, err := a.serveLog(o.logFormat, o.logLevel)
			if err != nil {
				return usageError{err}
			}
			return a.serve(c.Context(), &o, set, log)
		},
	}
	c.Flags().StringVar(&o.listen, "listen", "",
		"`ADDRESS` to listen on: host:port (default: that of the file, else "+defaultListen+")")
	c.Flags().StringVar(&o.coordinator, "coordinator", "", "`URL` of the coordinator (default: $"+
		envCoordinator+", else an etcd of this user on this machine)")
	addConfigFlag(c, &o.config)
	addLayoutFlag(c, &o.layout)
	addStoreFlag(c, &o.store, "that of the file, else none")
	c.Flags().DurationVar(&o.drain, "drain", o.drain,
		"how long to go on after a signal, so that balancers see that it ends")
	c.Flags().BoolVar(&o.check, "check", false,
		"read the file, tokens and certificates, say what is wrong, and end")
	c.Flags().StringVar(&o.logFormat, "log-format", o.logFormat, "`FORMAT` of the log: text or json")
	c.Flags().StringVar(&o.logLevel, "log-level", o.logLevel,
		"least `LEVEL` of the log: debug, info, warn or error")
	completeCoordinators(c, ofCoordinator)
	return c
}

// serveLog returns the log of serve, which says by itself when it starts, is ready, and stops.
func (a *app) serveLog(format, level string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("--log-level is %.40q; debug, info, warn and error are known", level)
	}
	if format != "text" && format != "json" {
		return nil, fmt.Errorf("--log-format is %.40q; text and json are known", format)
	}
	return a.newLog(least, format == "json"), nil
}

// checkServe reads all that serve reads before it starts. Options in URLs are their drivers' and
// are not looked at.
func (a *app) checkServe(set *serveSettings) error {
	if _, err := set.readTokens(); err != nil {
		return err
	}
	if set.TLS.Cert != "" {
		if _, err := set.TLS.read(); err != nil {
			return err
		}
	}
	for name, g := range set.generators {
		if scheme, _, _ := namespaceOf(g.Coordinator); !slices.Contains(coord.Schemes(), scheme) {
			return fmt.Errorf("generator %s: coordinator: scheme %q is not known; known are %s", name,
				scheme, strings.Join(coord.Schemes(), ", "))
		}
		if err := set.leaf().Check(name, g.Layout); err != nil {
			return err
		}
	}
	return a.write([]byte("the settings are right\n"))
}

// service is what a run of serve has open.
type service struct {
	a          *app
	log        *slog.Logger
	set        *serveSettings
	metrics    *metrics.Metrics
	server     *server.Server
	generators map[string]*core.Generator
	hangUp     chan os.Signal // SIGHUP, from before the first worker ID on
}

// serve opens everything, answers until a signal, and closes everything.
func (a *app) serve(ctx context.Context, o *serveOptions, set *serveSettings,
	log *slog.Logger,
) (err error) {
	limitMemory()
	ctx, stop := untilSignal(ctx)
	defer stop()
	s := &service{
		a: a, log: log, set: set, generators: map[string]*core.Generator{},
		hangUp: make(chan os.Signal, 1),
	}
	signal.Notify(s.hangUp, syscall.SIGHUP) //mutant:serve-hang-up
	defer signal.Stop(s.hangUp)
	defer s.close(ctx)
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.metrics, err = metrics.New(reg, metrics.Options{}); err != nil {
		return err
	}
	meter, err := metrics.NewService(reg)
	if err != nil {
		return err
	}
	tokens, err := set.readTokens()
	if err != nil && tokens == nil {
		return err
	}
	warnOf(s.log, err, "tokens cannot be read; retrying")
	cfg := server.Config{
		Generators: map[string]server.Generator{}, Namespaces: map[string]string{}, Tokens: tokens,
		Hosts: set.Hosts, Leaf: set.leaf(), MaxCount: set.MaxCount, MaxWait: set.MaxWait,
		MaxReplyBytes: set.MaxReplyBytes, MaxWatches: set.MaxWatches, AnyReady: set.Ready == "any",
		AdminApart: set.AdminListen != "",
		Metrics:    promhttp.HandlerFor(reg, promhttp.HandlerOpts{}), Meter: meter,
		AccessLog: set.AccessLog, Logger: s.log,
		Build: buildVersion(),
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
	s.showProcess(reg, front)
	return s.run(ctx, o, front, tokens)
}

// showProcess shows what is the process's and not a generator's.
func (s *service) showProcess(reg prometheus.Registerer, f *front) {
	version, settings := buildInfo()
	revision := ""
	if i := slices.IndexFunc(settings, func(b debug.BuildSetting) bool {
		return b.Key == "vcs.revision"
	}); i >= 0 {
		revision = settings[i].Value
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "unalike_build_info", Help: "1, with what the program was built from.",
		ConstLabels: prometheus.Labels{
			"version": version, "revision": revision,
			"goversion": runtime.Version(),
		},
	})
	build.Set(1)
	reg.MustRegister(build)
	gauge := func(name, help string, value func() float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
	}
	gauge("unalike_http_requests_in_flight", "Requests that are being answered.", func() float64 {
		return float64(s.server.InFlight())
	})
	gauge("unalike_http_reply_bytes", "Memory of the large replies under way.", func() float64 {
		return float64(s.server.ReplyBytes())
	})
	gauge("unalike_connections", "Connections that are open.", func() float64 {
		return float64(f.connections())
	})
	gauge("unalike_last_reload_timestamp_seconds",
		"When tokens and certificates were last read without an error.", func() float64 {
			return float64(f.reloaded.Load())
		})
	if _, ok := f.certificateEnd(); ok {
		gauge("unalike_certificate_expires_timestamp_seconds", "When the certificate ends.",
			func() float64 {
				end, _ := f.certificateEnd()
				return float64(end.Unix())
			})
	}
}

// start starts a generator, which leases its worker IDs in the background, and returns what its
// namespace is shown as.
func (s *service) start(ctx context.Context, name string,
	cfg config.Config,
) (place string, err error) {
	cfg.Logger = s.log.With("generator", name)
	cfg.OnCall = s.metrics.OnCall(name)
	g, err := cfg.Start(ctx)
	if err != nil {
		return "", fmt.Errorf("generator %s: %w", name, err)
	}
	s.generators[name] = g
	scheme, namespace, place := namespaceOf(cfg.Coordinator)
	if err := s.metrics.Generator(name, g,
		metrics.Info{Coordinator: scheme, Namespace: namespace}); err != nil {
		return "", err
	}
	return place, nil
}

// namespaceOf returns the scheme of a coordinator's URL, the name of the namespace, and the name
// with all that it depends on but the hosts: a namespace of Redis is one of a numbered database,
// and one of MySQL is one of a database.
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
func (s *service) run(ctx context.Context, o *serveOptions, front *front,
	tokens *server.Tokens,
) error {
	// they serve to the end of the drain
	background := newTasks(context.WithoutCancel(ctx)) //mutant:serve-drain
	defer background.end()
	for name, g := range s.generators {
		background.run(func(ctx context.Context) { s.countWorkerIDs(ctx, name, g) })
	}
	background.run(s.readNamespaces)
	background.run(s.sample)
	if s.set.Store != "" {
		s.server.StoreFails(nil)
		s.metrics.Store(s.server.CheckStore)
		background.run(s.serveStore)
	}
	background.run(func(ctx context.Context) { front.reload(ctx, tokens, s.hangUp) })
	background.run(s.tellReady)
	if !front.loopback() && tokens == nil && s.set.TLS.ClientCA == "" {
		s.log.Warn("everybody who reaches this address may have IDs and see everything; set tokens or "+
			"tls.client_ca", "address", front.addr())
	}
	if err := s.a.write([]byte("listening on " + front.addr() + "\n")); err != nil {
		return errors.Join(err, front.close())
	}
	s.log.Info("listening", "address", front.addr(), "version", buildVersion())
	if front.admin != nil {
		s.log.Info("listening for operators", "address", front.urlOf(front.admin))
	}
	tellSupervisor(s.log, "READY=1")
	ended := make(chan error, 1)
	go func() { ended <- front.serve() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	tellSupervisor(s.log, "STOPPING=1")
	s.server.Drain() //mutant:drain
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

// tellReady logs when the server becomes ready, and when it is not any more.
func (s *service) tellReady(ctx context.Context) {
	was := false
	for {
		err := s.server.Ready()
		switch ready := err == nil; {
		case ready == was:
		case ready:
			s.log.Info("ready")
		default:
			s.log.Info("not ready", "why", err)
		}
		was = err == nil
		if !pauseFor(ctx, readyEvery) {
			return
		}
	}
}

// serveStore opens the store of the tags, again and again until that succeeds, and keeps it until
// ctx ends. No error of a store ends the service, whose generators may be well.
func (s *service) serveStore(ctx context.Context) {
	told := "" // it is said once, and again when the reason changes
	place := "the store"
	if u, err := driver.ParseURL(s.set.Store); err == nil { // it was checked
		place = u.Scheme + "://" + strings.Join(u.Hosts, ",") + u.Path
	}
	for {
		err := s.holdStore(ctx)
		if ctx.Err() != nil {
			return
		}
		err = fmt.Errorf("%s: %w", place, err)
		s.server.StoreFails(err)
		if why := err.Error(); why != told {
			told = why
			s.log.Warn("store is not open; retrying", "error", err)
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
	texts, err := s.set.texts.NewTexts(store, segment.Config{Logger: s.log})
	if err != nil {
		return err
	}
	set, err := segment.NewSet(bounded, store, s.set.texts.Numbers(segment.Config{Logger: s.log}))
	if err != nil {
		return err
	}
	defer func() {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer cancel()
		warnOf(s.log, errors.Join(texts.Close(tidy), set.Close(tidy)),
			"giving unused numbers back failed")
	}()
	all := &config.Segments{Set: set, Texts: texts}
	if err := s.metrics.Set(all); err != nil {
		return err
	}
	s.server.Sequences(all)
	<-ctx.Done()
	return nil
}

// readNamespaces reads the nonces of all namespaces, until that has succeeded and then once a
// minute.
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

// sample takes the figures that the page has of the last minute.
func (s *service) sample(ctx context.Context) {
	for pauseFor(ctx, time.Second) {
		s.server.Sample()
	}
}

// countWorkerIDs lists the worker IDs of a namespace, for metrics and the page: at once, every 5 s
// while its generator is not ready, as soon as that is, and then once a minute.
func (s *service) countWorkerIDs(ctx context.Context, name string, g *core.Generator) {
	lister, ok := g.Coordinator().(coord.Admin)
	if !ok {
		return
	}
	share, err := s.set.generators[name].Lease.WorkerIDs.Within(
		s.set.generators[name].Layout.Workers())
	if err != nil {
		return // then the generator has not started either
	}
	for ready := false; ; {
		bounded, cancel := context.WithTimeout(ctx, s.a.answer)
		slots, err := lister.List(bounded)
		cancel()
		if err == nil {
			counts := countSlots(slots, share, time.Now())
			s.metrics.WorkerIDs(name, counts)
			s.server.WorkerIDs(name, slots, counts["free"], share.Count)
		}
		soon, cancel := context.WithTimeout(ctx, listSoon)
		was := ready
		ready = g.Ready(soon) == nil
		cancel()
		if was && ready && !pauseFor(ctx, listEvery) || ctx.Err() != nil {
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
		closing.run(func(ctx context.Context) {
			warnOf(s.log, g.Close(ctx), "giving a worker ID back failed")
		})
	}
	closing.wait()
}

// isLoopback reports whether an address can be reached from this machine alone.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
