// Package embedded runs a real etcd inside the user's process.
package embedded
