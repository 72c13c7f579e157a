package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/server"
)

const (
	// reloadEvery is how often tokens and certificates are read again.
	reloadEvery = 2 * time.Second

	headerTime  = 5 * time.Second
	requestTime = 15 * time.Second
	idleTime    = 2 * time.Minute
	maxHeader   = 16 << 10
	maxStreams  = 250
)

// front is the listener with its HTTP server.
type front struct {
	listener net.Listener
	http     *http.Server
	set      *serveSettings
	log      *slog.Logger
	tls      atomic.Pointer[tls.Config] // nil: none
	hurry    context.CancelFunc         // ends what requests wait for
}

// newFront listens.
func newFront(ctx context.Context, set *serveSettings, h http.Handler, log *slog.Logger) (*front, error) {
	f := &front{set: set, log: log}
	if set.TLS.Cert != "" {
		c, err := set.TLS.read()
		if err != nil {
			return nil, err
		}
		f.tls.Store(c)
	}
	waits, hurry := context.WithCancel(context.WithoutCancel(ctx))
	f.hurry = hurry
	var err error
	if f.listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", set.Listen); err != nil {
		hurry()
		return nil, fmt.Errorf("listening: %w; --listen or the key listen names another address", err)
	}
	f.http = &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		WriteTimeout: requestTime + max(set.MaxWait, server.DefaultMaxWait),
		Protocols:    new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelInfo),
		BaseContext: func(net.Listener) context.Context { return waits },
	}
	f.http.Protocols.SetHTTP1(true)
	f.http.Protocols.SetHTTP2(true)
	f.http.Protocols.SetUnencryptedHTTP2(true)
	return f, nil
}

func (f *front) loopback() bool { return isLoopback(f.listener.Addr()) }

// addr returns the URL.
func (f *front) addr() string {
	if f.tls.Load() != nil {
		return "https://" + f.listener.Addr().String()
	}
	return "http://" + f.listener.Addr().String()
}

// serve answers until shutdown. The error is nil after that.
func (f *front) serve() error {
	l := f.listener
	if f.tls.Load() != nil {
		l = tls.NewListener(l, &tls.Config{
			MinVersion:         tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.tls.Load(), nil },
		})
	}
	if err := f.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shutdown lets requests that are under way end until ctx does, and then cuts them off. Those that wait for a coordinator
// are answered before that.
func (f *front) shutdown(ctx context.Context) error {
	defer f.hurry()
	defer time.AfterFunc(endTime/2, f.hurry).Stop()
	err := f.http.Shutdown(ctx)
	if err != nil {
		return errors.Join(err, f.http.Close())
	}
	return nil
}

func (f *front) close() error { f.hurry(); return f.listener.Close() }

// reload reads tokens and certificates again from time to time. What cannot be read leaves the old ones.
func (f *front) reload(ctx context.Context, tokens *server.Tokens) {
	last := map[string]string{} // what the log has of each
	tell := func(what string, err error) {
		said := ""
		if err != nil {
			said = err.Error()
		}
		if said != last[what] && said != "" {
			f.log.Warn(what+" cannot be read again, the old ones stay", "error", err)
		}
		last[what] = said
	}
	for pauseFor(ctx, reloadEvery) {
		if tokens != nil {
			changed, err := tokens.Reload()
			if tell("tokens", err); changed {
				f.log.Info("tokens have changed")
			}
		}
		if f.tls.Load() != nil {
			c, err := f.set.TLS.read()
			if tell("certificates", err); err == nil {
				f.tls.Store(c)
			}
		}
	}
}

// tlsFiles names the files of TLS.
type tlsFiles struct {
	Cert     string `yaml:"cert"`
	Key      string `yaml:"key"`
	ClientCA string `yaml:"client_ca"`
}

// read reads the files. The errors name them and show nothing of what is in them.
func (t tlsFiles) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("tls: certificate %s with key %s: %w", t.Cert, t.Key, err)
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
	if t.ClientCA == "" {
		return c, nil
	}
	text, err := os.ReadFile(t.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("tls: client_ca: %w", err)
	}
	c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("tls: client_ca: %s has no certificate in PEM form", t.ClientCA)
	}
	return c, nil
}

// tasks are goroutines that end together.
type tasks struct {
	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func newTasks(ctx context.Context) *tasks {
	g := &tasks{}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

func (g *tasks) run(f func(context.Context)) { g.all.Go(func() { f(g.ctx) }) }

func (g *tasks) wait() { g.all.Wait(); g.cancel() }

// end ends them and waits for that.
func (g *tasks) end() { g.cancel(); g.all.Wait() }
