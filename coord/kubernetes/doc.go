// Package kubernetes leases worker IDs by the Lease objects of a Kubernetes cluster: a plain
// Deployment and a Role is all that is needed. See package coord for the rules.
//
//	import _ "github.com/unalike-id/unalike/coord/kubernetes"
//
//	c, err := coord.Open(ctx, "kubernetes://?namespace=orders", coord.OpenOptions{})
//	if err != nil {
//		return err
//	}
//	defer c.Close() // after the generator
//	g, err := core.New(ctx, c, core.Config{})
//
// The URL is one of these:
//
//	kubernetes://?namespace=orders
//	kubernetes+http://127.0.0.1:8001?namespace=orders&in=shop
//
// The first is for a pod, which knows its API server and has the token of its service account;
// that may rotate. The second is for 'kubectl proxy'. Or with a client of your own, such as one
// of client-go's:
//
//	client, err := rest.HTTPClientFor(config)
//	c, err := kubernetes.New(client, config.Host, "orders", kubernetes.Options{})
//
// # The URL
//
// Open contacts nobody. Options:
//
//	namespace             its name
//	in                    the Kubernetes namespace that has the objects; that of the pod
//	role                  the Role that errors about missing rights name; unalike
//	ttl, horizon, renew   times of the lease, see coord.LeaseConfig
//	skew                  how far a clock may be from the API server's, 1s
//
// # Requests
//
// Each ends after 10 s at the most, also if its context has no deadline. One that changes nothing is
// given up after 3 s and made again, three times. Of several API servers behind an address, one that is out of order or leaves requests without an
// answer loses its connection; a client that was passed to New keeps it, because others use it.
//
// # Rights
//
// A Role with the verbs get, list, watch, create and patch on leases of coordination.k8s.io.
// Without watch it goes on, and a loss is noticed with the next renewal.
//
// # What is stored
//
// One Lease for the namespace, unalike.<name>, and one for each worker ID, unalike.<name>.<worker
// ID>, with the label unalike/namespace. Where a name is not allowed in Kubernetes, it is a
// hash, and the annotation unalike/name has the name. The spec is what people see with
// 'kubectl get leases'; nothing is decided by it. What counts is in the annotation
// unalike/record: the record, a checksum, the object's own uid, and a value that is random with
// every write. Objects are never deleted, and nobody owns them.
//
// # One object at a time
//
// Kubernetes changes one object at a time, so that these rules take the place of transactions:
//
//   - A write is a JSON Patch that tests the uid and the whole annotation. There is no PUT,
//     which would make a deleted object again.
//   - The floor stands in every slot too, and the higher of the two counts. A change of
//     the namespace's record has a number and is done when every slot has that number; whoever finds
//     one that is not finishes it first. A raiser may die half way.
//   - A slot is read before the namespace's record, or both in one list. No read that decides
//     names a version, so that the API server makes sure to have the newest.
//   - Slots are made empty, some at a time, and the namespace's record counts them before the
//     first is granted. One that is counted and not there, or has the content of another object,
//     was lost. What is made never has a window.
//   - A namespace's record that is gone is made from what its slots tell, with the floor of a
//     loss.
//   - A lease's end is judged by the API server's clock, the header Date, and the bound.
//   - A grant whose outcome is not known is settled by a write of the same slot.
package kubernetes
