package worker

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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
		Generators: map[string]*core.Generator{server.DefaultName: gen},
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	front := &httptest.Server{Config: &http.Server{Handler: s}}
	if front.Listener, err = net.Listen("tcp", g.Listen); err != nil {
		return err
	}
	front.Start()
	<-ctx.Done()
	s.Drain()
	defer time.AfterFunc(closeTime, front.CloseClientConnections).Stop() // one is away, or frozen
	front.Close()
	return nil
}
