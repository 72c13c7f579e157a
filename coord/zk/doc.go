// Package zk leases worker IDs in a ZooKeeper ensemble.
package zk
