// Package kubernetes leases worker IDs by the Lease objects of a Kubernetes cluster: a plain
// Deployment and a Role is all that is needed. See package coord for the rules.
//
//	import _ "github.com/unalike-id/unalike/coord/kubernetes"
//
//	ids, err := unalike.Open(ctx, "kubernetes://?namespace=orders", unalike.Config{})
//
// The URL is one of these:
//
//	kubernetes://?namespace=orders
//	kubernetes+http://127.0.0.1:8001?namespace=orders&in=shop
//
// The first is for a pod, which knows its API server and has the token of its service account. Each
// connection reads the cluster's ca.crt and each request the token, so both may rotate. The second
// is for 'kubectl proxy'. Or with a client of your own, such as one of client-go's:
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
// Acquire makes three, and five when a worker ID is granted for the first time; Renew makes two. A
// call of the API server ends after 20 s, also if its context has no deadline. A client that is
// made here speaks HTTP/1.1, and gives up the connection to a server that does not answer or cannot
// work, so that the next call may come to another; one that was passed to [New] stays as it is.
//
// # Rights
//
// A Role with the verbs get, list, watch, create and patch on leases of coordination.k8s.io.
// Without watch it goes on, and a loss is noticed with the next renewal.
//
// # What is stored
//
//   - unalike.<name>: a Lease for the namespace.
//   - unalike.<name>.<worker ID>: one for each worker ID that was ever granted or retired.
//   - unalike.<name>.used-<n>: one for each 64 worker IDs. Its annotation unalike/used-<worker ID>
//     marks a worker ID that was granted, and has the uid of the worker ID's Lease. Its annotation
//     unalike/uid has its own uid.
//
// Where a name is not allowed in Kubernetes, it is a hash, and the annotation unalike/name has the
// name. People see the spec with 'kubectl get leases', and find the Leases by the label
// unalike/namespace; neither decides anything. What counts is in the annotation unalike/record: the
// record, a checksum, and a value that is random with every write. Leases are never deleted, and
// nobody owns them. A list shows all Leases of the Kubernetes namespace, because a label can be
// lost: give the generators another one where there are thousands that are not theirs.
//
// # One object at a time
//
// Kubernetes changes one object at a time, so that these rules take the place of transactions:
//
//   - A write is a JSON Patch that tests the uid and the whole annotation. There is no PUT,
//     which would make a deleted object again. One that is refused is done all the same if the
//     Lease has what was to be written: a proxy may have sent it twice.
//   - Whoever has written a slot reads the namespace's record before he uses what he was granted:
//     if its floor was raised meanwhile, that counts. A slot is read before the record.
//   - A Lease is made when its worker ID is first granted, and marked then, unless there is a mark.
//     It is read once more before the grant is used: who deletes it from then on leaves the mark.
//     Whoever lists a Lease that is its own, or is retired, and has no mark makes the mark.
//   - A worker ID that is marked and whose Lease is gone, or has another uid, was lost. So were
//     marks that are gone or have another uid than they say.
//   - A record that is new, or settles a loss, does not say its own uid. Whoever lists it makes the
//     marks say what is there, and then has the record say its uid. A record with another uid was
//     put back.
//   - A namespace's record that is gone is made from what slots tell, with the floor of a loss.
//     Each slot has the floor that the record had when it was written, and all have that of a
//     namespace that was closed.
//   - A lease's end is judged by the API server's clock, the header Date, and the bound.
//   - What is refused with status 403 is not tried again for 10 s. If no Lease can be made, those
//     that are free are leased.
package kubernetes
