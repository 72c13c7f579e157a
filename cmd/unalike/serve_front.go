package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/internal/admission"
	"github.com/unalike-id/unalike/internal/tlsfiles"
	"github.com/unalike-id/unalike/server"
)

const (
	// reloadEvery is how often certificates are read again.
	reloadEvery = 2 * time.Second

	headerTime  = 5 * time.Second
	requestTime = 15 * time.Second
	maxHeader   = 8 << 10  // a token has 4 KiB at most
	maxReceive  = 64 << 10 // of bodies that have not been read, for each connection of HTTP/2
)

// front is where callers come in, and operators where they have an address of their own.
type front struct {
	main, admin *door // admin is nil where there is none
	set         *serveSettings
	log         *slog.Logger
	tls         atomic.Pointer[tls.Config] // nil: none
	hurry       context.CancelFunc         // ends what requests wait for
}

// door is an address with its HTTP server.
type door struct {
	*admission.Listener
	http *http.Server
}

// newFront listens.
func newFront(ctx context.Context, set *serveSettings, h *server.Server,
	log *slog.Logger,
) (*front, error) {
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
	room, admins := set.MaxConnections, 0
	if set.AdminListen != "" {
		admins = room/8 + 1
	}
	if all := roomFor(room+admins, descriptors()); all < room+admins {
		admins = all * admins / (room + admins)
		room = all - admins
	}
	if room < set.MaxConnections {
		log.Warn("the limit on open files allows fewer connections", "max_connections",
			set.MaxConnections, "allowed", room)
	}
	var err error
	if f.main, err = f.open(waits, set.Listen, h, room, h.Refused); err != nil {
		hurry()
		return nil, fmt.Errorf("listening: %w; --listen or the key listen names another address", err)
	}
	if set.AdminListen == "" {
		return f, nil
	}
	if f.admin, err = f.open(waits, set.AdminListen, h.Admin(), max(admins, 1),
		h.Refused); err != nil {
		return nil, errors.Join(fmt.Errorf("admin_listen: %w", err), f.close())
	}
	return f, nil
}

// open listens at an address: host:port, or unix:PATH.
func (f *front) open(waits context.Context, address string, h http.Handler, room int,
	refused func(string),
) (*door, error) {
	network, where := "tcp", address
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		network, where = "unix", path
		removeStale(path)
	}
	l, err := (&net.ListenConfig{}).Listen(waits, network, where)
	if err != nil {
		return nil, err
	}
	d := &door{Listener: admission.Listen(l, admission.Config{
		Room: room, Age: f.set.MaxConnectionAge, Tokens: f.set.tokensOnly(),
		Closed: func() { refused("connections") },
	})}
	d.http = &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: requestTime,
		// An idle connection gives way when there is need for its room. With a timeout, net/http keeps
		// the memory of each HTTP/2 connection that was cut off for as long.
		IdleTimeout: -1, MaxHeaderBytes: maxHeader,
		WriteTimeout: requestTime + max(f.set.MaxWait, server.DefaultMaxWait),
		Protocols:    new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          f.set.MaxStreams,
			MaxReceiveBufferPerConnection: maxReceive, MaxReceiveBufferPerStream: maxReceive,
		},
		ErrorLog:    slog.NewLogLogger(f.log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return waits },
		ConnContext: admission.WithConn,
	}
	d.http.Protocols.SetHTTP1(true)
	d.http.Protocols.SetHTTP2(true)
	d.http.Protocols.SetUnencryptedHTTP2(true)
	return d, nil
}

// removeStale removes a socket that nobody listens at any more.
func removeStale(path string) {
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
		return
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		_ = os.Remove(path) // if not, listening fails and says why
	}
}

// loopback reports whether callers can reach the server from this machine alone.
func (f *front) loopback() bool {
	tcp, ok := f.main.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// addr returns the URL.
func (f *front) addr() string { return f.urlOf(f.main) }

// urlOf returns the URL of a door.
func (f *front) urlOf(d *door) string {
	switch {
	case d.Addr().Network() == "unix":
		return "unix:" + d.Addr().String()
	case f.overTLS(d):
		return "https://" + d.Addr().String()
	}
	return "http://" + d.Addr().String()
}

// overTLS reports whether a listener speaks TLS: not one of this machine's own sockets.
func (f *front) overTLS(l net.Listener) bool {
	return f.tls.Load() != nil && l.Addr().Network() != "unix"
}

// doors are those that are open.
func (f *front) doors() []*door {
	if f.admin == nil {
		return []*door{f.main}
	}
	return []*door{f.main, f.admin}
}

// connections returns how many there are.
func (f *front) connections() (n int64) {
	for _, d := range f.doors() {
		n += int64(d.Count())
	}
	return n
}

// serve answers until shutdown.
func (f *front) serve() error {
	ended := make(chan error, 2)
	for _, d := range f.doors() {
		go func() { ended <- f.serveDoor(d) }()
	}
	var errs []error
	for range f.doors() {
		err := <-ended
		if errs = append(errs, err); err != nil {
			return errors.Join(errs...)
		}
	}
	return nil
}

// serveDoor answers at one address.
func (f *front) serveDoor(d *door) error {
	var l net.Listener = d
	if f.overTLS(d) {
		l = tls.NewListener(d, &tls.Config{
			MinVersion:         tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.tlsOf(d), nil },
		})
	}
	if err := d.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listening on %s: %w", f.urlOf(d), err)
	}
	return nil
}

// tlsOf returns what a door has of TLS: operators and probes need no certificate.
func (f *front) tlsOf(d *door) *tls.Config {
	c := f.tls.Load()
	if d == f.admin {
		c = c.Clone()
		c.ClientAuth, c.ClientCAs = tls.NoClientCert, nil
	}
	return c
}

// shutdown lets requests that are under way end until ctx does, and then cuts them off. Those that
// wait for a coordinator are answered before that. Operators are answered until everything else has
// ended.
func (f *front) shutdown(ctx context.Context) error {
	defer f.hurry()
	defer time.AfterFunc(endTime/2, f.hurry).Stop()
	var errs []error
	for _, d := range f.doors() {
		if err := d.http.Shutdown(ctx); err != nil {
			errs = append(errs, err, d.http.Close())
		}
	}
	return errors.Join(errs...)
}

func (f *front) close() error { f.hurry(); return f.main.Close() }

// reload reads certificates again from time to time, and tokens as well when asked to. Certificates
// that cannot be read leave the old ones.
func (f *front) reload(ctx context.Context, h *server.Server, asked <-chan os.Signal) {
	logged := "" // the last error
	for {
		now := false
		select {
		case <-ctx.Done():
			return
		case <-asked:
			logged, now = "", true
		case <-time.After(reloadEvery):
		}
		err := f.readCertificates()
		if err != nil && err.Error() != logged {
			f.log.Warn("certificates cannot be read; the last ones stay", "error", err)
		}
		logged = fmt.Sprint(err)
		if now && errors.Join(err, h.Reload()) == nil {
			f.log.Info("tokens and certificates were read again")
		}
	}
}

// readCertificates reads the certificates again, if there are any.
func (f *front) readCertificates() error {
	if f.tls.Load() == nil {
		return nil
	}
	c, err := f.set.TLS.read()
	if err == nil {
		f.tls.Store(c)
	}
	return err
}

// certificateEnd returns when the certificate ends, in Unix seconds.
func (f *front) certificateEnd() int64 { return f.tls.Load().Certificates[0].Leaf.NotAfter.Unix() }

// tlsFiles names the files of TLS.
type tlsFiles struct {
	Cert     string `yaml:"cert"`
	Key      string `yaml:"key"`
	ClientCA string `yaml:"client_ca"`
}

// read reads the files. The errors name them and show nothing of what is in them.
func (t tlsFiles) read() (*tls.Config, error) {
	c, err := (&tlsfiles.Files{CA: t.ClientCA, Cert: t.Cert, Key: t.Key}).Server()
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	c.NextProtos = []string{"h2", "http/1.1"}
	return c, nil
}
