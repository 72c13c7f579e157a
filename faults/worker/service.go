package worker

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/server"
)

// clientTime is how long a client waits for IDs before that is a failure. Ending a process takes no
// longer.
const clientTime = 2 * time.Second

// listen serves the generator until ctx ends, and ends as 'unalike serve' does: what is under way
// is answered.
func (g *instance) listen(ctx context.Context, gen *core.Generator) error {
	s, err := server.New(server.Config{
		Generators: map[string]server.Generator{server.DefaultName: gen},
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	address, err := g.bind(ctx)
	if err != nil {
		return err
	}
	front := &http.Server{Handler: s, Protocols: new(http.Protocols), ReadHeaderTimeout: closeTime}
	front.Protocols.SetHTTP1(true)
	front.Protocols.SetUnencryptedHTTP2(true)
	ended := make(chan error, 1)
	go func() { ended <- front.Serve(address) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	err = front.Shutdown(closing)
	if errors.Is(err, context.DeadlineExceeded) { // a client is away, or frozen
		err = front.Close()
	}
	if why := <-ended; !errors.Is(why, http.ErrServerClosed) {
		err = errors.Join(err, why)
	}
	return err
}

// bind listens at the address, which the process before may still have.
func (g *instance) bind(ctx context.Context) (l net.Listener, err error) {
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	for {
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", g.Listen); err == nil || ctx.Err() != nil {
			return l, err
		}
		wait(ctx, startEvery)
	}
}
