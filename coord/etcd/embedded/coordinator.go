package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/internal/protocol"
)

// DefaultNamespace is the namespace of a URL that names none.
const DefaultNamespace = "default"

// Options are the settings of [New] beyond folder and namespace. Fields and defaults
// are those of [etcd.Options]. The zero Options works.
type Options etcd.Options

const (
	// A connection to a host that hangs is found out by pings; the server refuses
	// more than one in 5 s.
	pingEvery   = 10 * time.Second
	pingTimeout = 3 * time.Second
)

// coordinator leases worker IDs of one namespace in the etcd of a folder, which runs in this
// process or in another one.
type coordinator struct {
	protocol.Full // of package etcd

	folder folder
	place  string
	client *clientv3.Client
	log    *slog.Logger

	secret secret               // shown to the server with each call
	host   atomic.Pointer[post] // where the server is; nil: not known

	// These are New's, then follow's, then Close's.
	server *server // nil: it runs elsewhere
	stuck  error   // why no server can run in this process any more; nil: one can

	trouble atomic.Pointer[error] // what follow has met, if it is not nil

	end      context.CancelFunc // ends following
	followed chan struct{}      // closed when following has ended
	closing  sync.Once
	closed   error // what closing said
}

// New returns a coordinator for a namespace of the etcd in the folder dir. It makes
// the folder if need be, starts the server there unless another process, or another
// coordinator of this process, runs it already, and returns when the server answers.
// It ends with ctx, and after 30 s at the latest; then the error names the process
// that has the folder.
//
// dir may be relative. Errors wrap [coord.ErrInvalid] if the namespace, an option or
// the folder is wrong: it holds something else, or cannot be written.
//
// The coordinator has a method Client, which returns the client with which it talks to that etcd,
// a *clientv3.Client, until it is closed.
func New(ctx context.Context, dir, namespace string, o Options) (coord.AdminCoordinator, error) {
	c, err := newCoordinator(ctx, dir, namespace, o)
	if err != nil {
		return nil, err // not a nil *coordinator in an interface that is not nil
	}
	return c, nil
}

// newCoordinator is New.
func newCoordinator(ctx context.Context, dir, namespace string, o Options) (*coordinator, error) {
	f, err := newFolder(dir)
	if err != nil {
		return nil, err
	}
	opts := etcd.Options(o)
	opts.OneMachine = true
	c := &coordinator{
		folder: f, place: drivers.JoinPlace("embed", f.path, namespace),
		log: logs.Or(opts.Logger), followed: make(chan struct{}),
	}
	if c.client, err = clientv3.New(clientv3.Config{
		Endpoints:            []string{nowhere},
		DialKeepAliveTime:    pingEvery,
		DialKeepAliveTimeout: pingTimeout,
		DialOptions:          c.secret.dialOptions(),
		Logger:               zap.NewNop(), // what goes wrong is in the errors
	}); err != nil {
		return nil, fmt.Errorf("embed: %w", err)
	}
	made, err := etcd.New(c.client, namespace, opts)
	if err != nil {
		return nil, errors.Join(err, c.client.Close())
	}
	c.Full = made.(protocol.Full)
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), c.Full.Close(), c.client.Close())
	}
	start := func() {
		if err = f.prepare(); err == nil {
			err = c.start(ctx)
		}
	}
	told := logs.Waiting(c.log, start, "waiting for the embedded etcd to start", "folder", f.path,
		"at_most", startTime)
	if err != nil {
		return nil, errors.Join(err, c.Full.Close(), c.client.Close(), c.server.stop())
	}
	if told {
		c.log.Warn("the embedded etcd has started", "folder", f.path)
	}
	life, end := context.WithCancel(context.Background())
	c.end = end
	go func() {
		defer close(c.followed)
		c.follow(life)
	}()
	return c, nil
}

// Describe implements [coord.AdminCoordinator].
func (c *coordinator) Describe() coord.Description {
	d := c.Full.Describe()
	d.Place = c.place
	return d
}

// Acquire implements [coord.Coordinator].
func (c *coordinator) Acquire(ctx context.Context, req coord.Request) (coord.Grant, error) {
	g, err := c.Full.Acquire(ctx, req)
	return g, c.explain(err)
}

// Renew implements [coord.Coordinator].
func (c *coordinator) Renew(ctx context.Context, g coord.Grant, until int64) (coord.Grant, error) {
	r, err := c.Full.Renew(ctx, g, until)
	return r, c.explain(err)
}

// Resume implements [coord.Resumer].
func (c *coordinator) Resume(ctx context.Context, g coord.Grant, token string,
	until int64,
) (coord.Grant, error) {
	r, err := c.Full.Resume(ctx, g, token, until)
	return r, c.explain(err)
}

// Release implements [coord.Coordinator].
func (c *coordinator) Release(ctx context.Context, g coord.Grant, last int64) error {
	return c.explain(c.Full.Release(ctx, g, last))
}

// Close ends what this coordinator has under way. It releases no worker ID. If the
// server runs here it ends, and another process that uses the folder starts it again.
func (c *coordinator) Close() error {
	c.closing.Do(func() {
		c.closed = errors.Join(c.Full.Close(), c.client.Close())
		c.end()
		<-c.followed
		c.closed = errors.Join(c.closed, c.server.stop(), c.stuck)
	})
	return c.closed
}

// answers are the errors that a server gave: they say all there is to say.
var answers = []error{
	coord.ErrNoWorkerID, coord.ErrLeaseLost, coord.ErrQuarantined, coord.ErrLayoutMismatch,
	coord.ErrClockSkew, coord.ErrClosed, coord.ErrInvalid, context.Canceled,
}

// explain adds to an error which process did not answer, so that somebody can look
// after it.
func (c *coordinator) explain(err error) error {
	if err == nil {
		return nil
	}
	for _, answer := range answers {
		if errors.Is(err, answer) {
			return err
		}
	}
	if trouble := c.trouble.Load(); trouble != nil && *trouble != nil {
		return fmt.Errorf("embed: folder %s, whose etcd does not run: %w (%w)", c.folder.path, *trouble,
			err)
	}
	if p := c.host.Load(); p != nil {
		return fmt.Errorf("embed: folder %s, whose etcd runs in %s: %w", c.folder.path, p.process(), err)
	}
	return fmt.Errorf("embed: folder %s, whose etcd does not run now: %w", c.folder.path, err)
}
