// Package redis leases worker IDs in Redis.
package redis
