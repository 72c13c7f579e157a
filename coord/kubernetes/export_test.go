package kubernetes

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/protocol"
)

// hand is a store by which a test changes objects.
func hand(tb testing.TB, client *http.Client, baseURL, namespace, in string) *store {
	tb.Helper()
	o, err := (&Options{In: in}).resolve()
	if err != nil {
		tb.Fatal(err)
	}
	return newStore(&api{client: client, in: in, role: o.Role, leases: baseURL + "/apis/coordination.k8s.io/v1/namespaces/" + in + "/leases"}, namespace, o)
}

// Expire ends the lease of a worker ID, as a long silence of its holder would.
func Expire(tb testing.TB, client *http.Client, baseURL, namespace, in string, worker int) {
	tb.Helper()
	s := hand(tb, client, baseURL, namespace, in)
	for {
		o, _, err := s.get(context.Background(), s.objectName(worker))
		if err != nil || o == nil || o.damage != nil {
			tb.Fatalf("the slot of worker ID %d: %+v, %v", worker, o, err)
		}
		c := o.next()
		c.Ends = 1
		if now, err := s.write(context.Background(), o, c, nil); err != nil {
			tb.Fatal(err)
		} else if now != nil {
			return
		}
	}
}

// Backup returns what puts all objects of a namespace back to what they are now, with their
// uids, as a cluster's store does that is restored.
func Backup(tb testing.TB, client *http.Client, baseURL, namespace, in string) (restore func()) {
	tb.Helper()
	s, ctx := hand(tb, client, baseURL, namespace, in), context.Background()
	before, err := s.list(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	back := func(now, then *object) {
		tb.Helper()
		if now == nil {
			return
		}
		if then == nil {
			Delete(tb, client, baseURL, in, now.name)
			return
		}
		SetText(tb, client, baseURL, in, now.name, then.text)
	}
	return func() {
		now, err := s.list(ctx)
		if err != nil {
			tb.Fatal(err)
		}
		for id, o := range now.slots {
			back(o, before.slots[id])
		}
		back(now.meta, before.meta)
	}
}

// anything is an answer that is not looked at.
type anything map[string]any

func (anything) check(request) error { return nil }

// Delete deletes an object.
func Delete(tb testing.TB, client *http.Client, baseURL, in, name string) {
	tb.Helper()
	s := hand(tb, client, baseURL, "any", in)
	var out anything
	if _, err := s.call(context.Background(), request{method: http.MethodDelete, name: name}, &out); err != nil {
		tb.Fatal(err)
	}
}

// SetText changes what is stored, as 'kubectl edit' does.
func SetText(tb testing.TB, client *http.Client, baseURL, in, name, text string) {
	tb.Helper()
	change(tb, client, baseURL, in, name, operation{"replace", inPatch, text})
}

// Unlabel takes away all labels.
func Unlabel(tb testing.TB, client *http.Client, baseURL, in, name string) {
	tb.Helper()
	change(tb, client, baseURL, in, name, operation{"remove", "/metadata/labels", nil})
}

// change is a JSON Patch by somebody else.
func change(tb testing.TB, client *http.Client, baseURL, in, name string, op operation) {
	tb.Helper()
	s := hand(tb, client, baseURL, "any", in)
	body, err := json.Marshal([]operation{op})
	if err != nil {
		tb.Fatal(err)
	}
	var l lease
	if _, err := s.call(context.Background(), request{method: http.MethodPatch, name: name, content: patchType, body: body}, &l); err != nil {
		tb.Fatal(err)
	}
}

// Text is what is stored.
func Text(tb testing.TB, client *http.Client, baseURL, in, name string) string {
	tb.Helper()
	o, _, err := hand(tb, client, baseURL, "any", in).get(context.Background(), name)
	if err != nil || o == nil {
		tb.Fatalf("%s: %v, %v", name, o, err)
	}
	return o.text
}

// SlotName is the object of a worker ID, and with -1 that of the namespace.
func SlotName(namespace string, worker int) string {
	return (&store{key: keyOf(namespace)}).objectName(worker)
}

// MarksName is the object that has the marks.
func MarksName(namespace string) string { return (&store{key: keyOf(namespace)}).marksName(0) }

// Behind says what objects of a namespace do not agree; empty: nothing.
func Behind(tb testing.TB, client *http.Client, baseURL, namespace, in string) string {
	tb.Helper()
	a, err := hand(tb, client, baseURL, namespace, in).list(context.Background())
	if err != nil || a.meta == nil {
		tb.Fatalf("%+v, %v", a, err)
	}
	if !a.settled() {
		return "the marks were not compared with the slots"
	}
	return a.missing()
}

// OpenPod is coord.Open in a pod, whose service account is in a folder.
func OpenPod(tb testing.TB, text, folder, server string) *Coordinator {
	tb.Helper()
	u, err := driver.ParseURL(text)
	if err != nil {
		tb.Fatal(err)
	}
	at, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	c, err := openURL(u, folder, func(name string) string {
		return map[string]string{"KUBERNETES_SERVICE_HOST": at.Hostname(), "KUBERNETES_SERVICE_PORT": at.Port()}[name]
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Spoil makes the token that a coordinator remembers one that is over.
func Spoil(c *Coordinator) {
	c.token.mu.Lock()
	defer c.token.mu.Unlock()
	c.token.value = "over"
}

// Begun makes the object of a worker ID, as somebody does who dies before it is marked.
func Begun(tb testing.TB, client *http.Client, baseURL, namespace, in string, worker int) {
	tb.Helper()
	s, ctx := hand(tb, client, baseURL, namespace, in), context.Background()
	slot := protocol.Slot{Version: protocol.Version, Worker: worker, Generation: 1, LastTick: 100, Fingerprint: "f", TTL: 1000}
	record, err := protocol.Encode(slot)
	if err != nil {
		tb.Fatal(err)
	}
	c := (&object{}).next()
	c.Record = []byte(record)
	if o, err := s.create(ctx, worker, c, nil); err != nil || o == nil {
		tb.Fatalf("the slot of worker ID %d: %+v, %v", worker, o, err)
	}
}
