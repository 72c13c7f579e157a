package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/metrics"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/server"
)

// A program mounts the server as any other http.Handler.
func ExampleNew() {
	ctx := context.Background()
	c := coordtest.NewFake(coordtest.FakeConfig{}).Client() // in a program: coord.Open
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)
	s, err := server.New(server.Config{Generators: map[string]*core.Generator{"orders": g}})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := httptest.NewRecorder()
	request := httptest.NewRequest("GET", "http://localhost/v1/generators/orders/ids", nil)
	s.ServeHTTP(answer, request)
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output: 200 application/json
}

// A service shows tokens' bearers alone what it has: IDs, the numbers of a store, and metrics.
func ExampleServer_Run() {
	serve := func(ctx context.Context, ids *core.Generator, store segment.Store) error {
		var meter server.Meter
		meter, err := metrics.RegisterServer(prometheus.DefaultRegisterer)
		if err != nil {
			return err
		}
		s, err := server.New(server.Config{
			Generators: map[string]*core.Generator{"orders": ids},
			Numbers: func(ctx context.Context) (server.Numbers, error) {
				return segment.NewSet(ctx, store, segment.Config{})
			},
			Tokens: []server.TokenFile{
				{Path: "/etc/ids/token", Generate: true},
				{Path: "/etc/ids/operators", Operate: true},
			},
			Leaf:  server.Leaf{Enabled: true},
			Meter: meter,
		})
		if err != nil {
			return err
		}
		go s.Run(ctx) // reads the files of tokens again, and keeps the numbers open
		return http.ListenAndServe("localhost:8080", s)
	}
	_ = serve
}
