// Package metrics shows generators and sequences to Prometheus.
//
//	m, err := metrics.New(prometheus.DefaultRegisterer, metrics.Options{})
//	if err != nil {
//		return err
//	}
//	cfg, err := config.Load("unalike.yaml")
//	cfg.OnCall = m.OnCall("orders") // the latency of calls to the coordinator
//	ids, err := cfg.Open(ctx)
//	if err != nil {
//		return err
//	}
//	err = m.Generator("orders", ids, metrics.Info{Coordinator: "etcd"})
//
// Health is read when Prometheus asks, so metrics cost nothing per ID. When a generator is
// closed its series disappear with the next scrape.
//
// The labels are generator, stripe, tag and a few fixed words. None has as many values as
// there are IDs, identities or error texts.
//
// deploy/prometheus has alerts for these metrics, deploy/grafana a board.
package metrics
