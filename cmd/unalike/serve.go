package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/lifetime"
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

// checkServe reads all that serve reads before it starts.
func (a *app) checkServe(set *serveSettings) error {
	tokens, err := set.tokenFiles()
	if err != nil {
		return err
	}
	s, err := server.New(server.Config{Tokens: tokens, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if err := s.Reload(); err != nil {
		return err
	}
	if set.TLS.Cert != "" {
		if _, err := set.TLS.read(); err != nil {
			return err
		}
	}
	for name, g := range set.generators {
		url := g.Coordinator
		if u, err := driver.ParseURL(url); err == nil && g.StateFile != "" {
			url = u.With("state", g.StateFile).Text()
		}
		if err := driver.Check(url, g.Lease); err != nil {
			return fmt.Errorf("generator %s: coordinator: %w", name, err)
		}
		if err := (server.Config{Leaf: set.leaf()}).CheckGenerator(name, g.Layout); err != nil {
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
	metrics    prometheus.Registerer
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
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s := &service{
		a: a, log: log, set: set, generators: map[string]*core.Generator{},
		metrics: reg, hangUp: make(chan os.Signal, 1),
	}
	signal.Notify(s.hangUp, syscall.SIGHUP) //mutant:serve-hang-up
	defer signal.Stop(s.hangUp)
	defer s.close(ctx)
	meter, err := metrics.RegisterServer(reg)
	if err != nil {
		return err
	}
	tokens, err := set.tokenFiles()
	if err != nil {
		return err
	}
	cfg := server.Config{
		Generators: s.generators, Namespaces: map[string]string{}, Tokens: tokens,
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
	}
	if set.Store != "" {
		cfg.Numbers = s.openNumbers
	}
	if s.server, err = server.New(cfg); err != nil {
		return err
	}
	front, err := newFront(ctx, set, s.server, s.log)
	if err != nil {
		return err
	}
	if err := showProcess(reg, meter, front); err != nil {
		return errors.Join(err, front.close())
	}
	return s.run(ctx, o, front)
}

// showProcess shows what is the process's and not a generator's.
func showProcess(reg prometheus.Registerer, meter server.Meter, f *front) error {
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
	var certificate error
	if f.tls.Load() != nil {
		certificate = meter.Gauge("certificate_expires_timestamp_seconds",
			"When the certificate ends.", f.certificateEnd)
	}
	return errors.Join(certificate,
		meter.Gauge("connections", "Connections that are open.", f.connections))
}

// start starts a generator, which leases its worker IDs in the background, and returns what its
// namespace is shown as.
func (s *service) start(ctx context.Context, name string,
	cfg config.Config,
) (place string, err error) {
	cfg.Logger = s.log.With("generator", name)
	g, err := cfg.Start(ctx)
	if err != nil {
		return "", fmt.Errorf("generator %s: %w", name, err)
	}
	s.generators[name] = g
	return placeOf(cfg.Coordinator), metrics.Register(s.metrics, name, g)
}

// placeOf returns the name of a coordinator's namespace with all that it depends on but the hosts:
// a namespace of Redis is one of a numbered database, and one of MySQL is one of a database.
func placeOf(rawURL string) string {
	u, err := driver.ParseURL(rawURL)
	if err != nil {
		return ""
	}
	place := u.Scheme + ":" + u.Path
	if u.Has("namespace") {
		place += "?namespace=" + u.Option("namespace")
	}
	return place
}

// run answers until ctx ends.
func (s *service) run(ctx context.Context, o *serveOptions, front *front) error {
	// they serve to the end of the drain
	background, stop := context.WithCancel(context.WithoutCancel(ctx)) //mutant:serve-drain
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { s.server.Run(background) })
	running.Go(func() { front.reload(background, s.server, s.hangUp) })
	running.Go(func() { s.tellReady(background) })
	if !front.loopback() && len(s.set.Tokens) == 0 && s.set.TLS.ClientCA == "" {
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
		if !lifetime.Sleep(ctx, readyEvery) {
			return
		}
	}
}

// openNumbers opens the tags of the store.
func (s *service) openNumbers(ctx context.Context) (server.Numbers, error) {
	bounded, cancel := context.WithTimeout(ctx, s.a.answer)
	defer cancel()
	cfg := s.set.texts
	cfg.Store = s.set.Store
	all, err := cfg.StartSegments(bounded, segment.Config{Logger: s.log})
	if err != nil {
		if u, bad := driver.ParseURL(cfg.Store); bad == nil { // it was checked
			err = fmt.Errorf("%s://%s%s: %w", u.Scheme, strings.Join(u.Hosts, ","), u.Path, err)
		}
		return nil, err
	}
	if err := metrics.RegisterSegments(s.metrics, all.Health); err != nil {
		return nil, errors.Join(err, all.Close(bounded))
	}
	return all, nil
}

// close gives all worker IDs back.
func (s *service) close(ctx context.Context) {
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	var closing sync.WaitGroup
	for _, g := range s.generators {
		closing.Go(func() { warnOf(s.log, g.Close(tidy), "giving a worker ID back failed") })
	}
	closing.Wait()
}
