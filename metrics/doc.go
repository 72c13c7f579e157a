// Package metrics shows generators, tags and servers to Prometheus.
//
//	ids, err := unalike.Open(ctx, "file:orders.ids", unalike.Config{})
//	if err != nil {
//		return err
//	}
//	err = metrics.Register(prometheus.DefaultRegisterer, "orders", ids)
//
// Health is read when Prometheus asks, so metrics cost nothing per ID. When a generator is
// closed its series disappear with the next scrape.
//
// The labels are generator, stripe, tag, the place of a namespace and a few fixed words. None has
// as many values as there are IDs, identities or error texts.
//
// deploy/prometheus has alerts for these metrics, deploy/grafana a board.
package metrics
