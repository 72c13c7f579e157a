package zk

import "github.com/unalike-id/unalike/internal/protocol"

// Coordinator leases worker IDs of one namespace in a ZooKeeper ensemble. It is safe
// for concurrent use, and one serves any number of generators. Make it with [New], or
// with coord.Open. Its methods are those of coord.Coordinator, LeaseRuler, Notifier,
// Lister, Inspector, Admin, Lowerer and Resumer.
//
// Acquire opens a connection and makes three round trips on it, however many worker IDs are
// held; more only if others take the same ones at the same moment, or if the namespace is
// new. Renew makes one: the session, which is the lease, is kept alive by the connection.
// Release ends the connection of the grant. Close ends all of them, but releases no worker
// ID: sessions that hold one end on the servers after their TTL.
type Coordinator struct{ *protocol.Coordinator }
