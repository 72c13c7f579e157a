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
	c := coordtest.NewFake(coordtest.FakeConfig{}).Client() // in a program: coord.Open
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)
	if err := metrics.Register(registry, "orders", g); err != nil {
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
