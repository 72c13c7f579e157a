// Package etcd leases worker IDs in an etcd cluster.
package etcd
