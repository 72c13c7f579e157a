package kubernetes

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// hand is a store by which a test changes objects.
func hand(tb testing.TB, client *http.Client, baseURL, namespace, in string) *store {
	tb.Helper()
	o, err := (&Options{In: in}).resolve()
	if err != nil {
		tb.Fatal(err)
	}
	leases := baseURL + "/apis/coordination.k8s.io/v1/namespaces/" + in + "/leases"
	return newStore(&api{client: client, in: in, role: o.Role, leases: leases}, namespace, o)
}

// Expire ends the lease of a worker ID, as a long silence of its holder would.
func Expire(tb testing.TB, client *http.Client, baseURL, namespace, in string, worker int) {
	tb.Helper()
	s := hand(tb, client, baseURL, namespace, in)
	o, err := s.get(context.Background(), s.objectName(worker))
	if err != nil || o == nil {
		tb.Fatalf("the slot of worker ID %d: %+v, %v", worker, o, err)
	}
	c := o.next()
	c.Ends = 1
	if _, done, err := s.write(context.Background(), o, c); !done {
		tb.Fatal(err)
	}
}

// SlotName is the object of a worker ID, and with -1 that of the namespace.
func SlotName(namespace string, worker int) string {
	return (&store{key: keyOf(namespace)}).objectName(worker)
}

// OpenPod is coord.Open in a pod, whose service account is in a folder.
func OpenPod(folder, server string) (coord.AdminCoordinator, error) {
	u, err := driver.ParseURL("kubernetes://?namespace=orders")
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	return openURL(context.Background(), u, folder, func(name string) string {
		return map[string]string{
			"KUBERNETES_SERVICE_HOST": at.Hostname(),
			"KUBERNETES_SERVICE_PORT": at.Port(),
		}[name]
	})
}
