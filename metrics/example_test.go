package metrics_test

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/metrics"
)

// A program shows its generator to Prometheus.
func Example() {
	ctx := context.Background()
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry, metrics.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := coordtest.NewFake(coordtest.FakeConfig{}).Client() // in a program: coord.Open
	g, err := core.New(ctx, c, core.Config{OnCall: m.OnCall("orders")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)
	if err := m.Generator("orders", g, metrics.Info{Coordinator: "fake"}); err != nil {
		fmt.Println(err)
		return
	}
	all, err := registry.Gather()
	for _, family := range all {
		if family.GetName() == "unalike_ready" {
			fmt.Println(family.GetName(), family.GetMetric()[0].GetGauge().GetValue(), err)
		}
	}
	// Output: unalike_ready 1 <nil>
}
