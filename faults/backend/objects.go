package backend

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// Objects is a back end that keeps each worker ID in an object of its own, with which somebody who has all rights can
// do anything, as with kubectl.
type Objects interface {
	// Object returns the name of the object of a worker ID of [Namespace]; -1: that of the namespace itself.
	Object(workerID int) string
	// All returns the names of all objects.
	All(tb testing.TB) []string
	// Delete deletes objects.
	Delete(tb testing.TB, names ...string)
	// Backup returns objects as 'kubectl get' prints them.
	Backup(tb testing.TB, names ...string) [][]byte
	// Apply makes objects of a backup, or changes those that there are to be as the backup says.
	Apply(tb testing.TB, objects [][]byte)
	// Edit changes what is stored in an object, as 'kubectl edit' does, and returns what was.
	Edit(tb testing.TB, name string, change func(string) string) (before string)
	// Anew deletes the Kubernetes namespace with all that is in it, and makes it again.
	Anew(tb testing.TB)
}

// recordAnnotation has what is stored in an object.
const recordAnnotation = "unalike/record"

// leaseObject is a Lease, as far as it matters here.
type leaseObject struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
}

// Object implements Objects.
func (b *kubernetes) Object(workerID int) string {
	if workerID < 0 {
		return "unalike." + Namespace
	}
	return "unalike." + Namespace + "." + strconv.Itoa(workerID)
}

// All implements Objects.
func (b *kubernetes) All(tb testing.TB) (names []string) {
	tb.Helper()
	for _, o := range b.list(tb) {
		names = append(names, o.Metadata.Name)
	}
	return names
}

func (b *kubernetes) list(tb testing.TB) []leaseObject {
	tb.Helper()
	var all struct{ Items []leaseObject }
	b.ask(tb, http.MethodGet, b.leases(), "", nil, &all)
	return all.Items
}

// Delete implements Objects.
func (b *kubernetes) Delete(tb testing.TB, names ...string) {
	tb.Helper()
	for _, name := range names {
		b.ask(tb, http.MethodDelete, b.leases()+"/"+name, "", nil, nil)
	}
}

// Backup implements Objects.
func (b *kubernetes) Backup(tb testing.TB, names ...string) (objects [][]byte) {
	tb.Helper()
	for _, name := range names {
		var o map[string]any
		b.ask(tb, http.MethodGet, b.leases()+"/"+name, "", nil, &o)
		if meta, ok := o["metadata"].(map[string]any); ok {
			for _, own := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
				delete(meta, own)
			}
		}
		objects = append(objects, encode(tb, o))
	}
	return objects
}

// Apply implements Objects.
func (b *kubernetes) Apply(tb testing.TB, objects [][]byte) {
	tb.Helper()
	for _, o := range objects {
		code, answer := b.api.Do(http.MethodPost, b.leases(), "application/json", o)
		switch code {
		case http.StatusCreated:
		case http.StatusConflict: // a holder was faster
			var l leaseObject
			if err := json.Unmarshal(o, &l); err != nil {
				tb.Fatal(err)
			}
			b.ask(tb, http.MethodPatch, b.leases()+"/"+l.Metadata.Name, "application/merge-patch+json", o, nil)
		default:
			tb.Fatalf("POST of %s: status %d: %s", o, code, answer)
		}
	}
}

// Edit implements Objects. Somebody else may write between.
func (b *kubernetes) Edit(tb testing.TB, name string, change func(string) string) (before string) {
	tb.Helper()
	for {
		var o leaseObject
		b.ask(tb, http.MethodGet, b.leases()+"/"+name, "", nil, &o)
		before = o.Metadata.Annotations[recordAnnotation]
		if b.replace(tb, name, before, change(before)) {
			return before
		}
	}
}

// replace changes what is stored in an object, and reports whether it was still what it should be.
func (b *kubernetes) replace(tb testing.TB, name, before, after string) bool {
	tb.Helper()
	at := "/metadata/annotations/" + strings.ReplaceAll(recordAnnotation, "/", "~1")
	patch := encode(tb, []map[string]string{{"op": "test", "path": at, "value": before}, {"op": "replace", "path": at, "value": after}})
	code, answer := b.api.Do(http.MethodPatch, b.leases()+"/"+name, "application/json-patch+json", patch)
	switch code {
	case http.StatusOK:
	case http.StatusUnprocessableEntity, http.StatusConflict:
		return false
	default:
		tb.Fatalf("PATCH of %s: status %d: %s", name, code, answer)
	}
	return true
}

// Anew implements Objects. No controller of the cluster runs that would do it.
func (b *kubernetes) Anew(tb testing.TB) {
	tb.Helper()
	at := "/api/v1/namespaces/" + b.in
	namespace := func(more string) []byte {
		return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}%s}`, b.in, more)
	}
	b.ask(tb, http.MethodDelete, at, "", nil, nil)
	b.ask(tb, http.MethodDelete, b.leases(), "", nil, nil)
	b.ask(tb, http.MethodPut, at+"/finalize", "application/json", namespace(`,"spec":{"finalizers":[]}`), nil)
	b.ask(tb, http.MethodPost, "/api/v1/namespaces", "application/json", namespace(""), nil)
}

// Ends of leases: one that is over, and that of a worker ID that is retired.
const (
	longAgo = "1"
	forever = "9223372036854775807"
)

// EndSessions implements SessionEnder: the end of each lease, which is a field, becomes one long ago.
func (b *kubernetes) EndSessions(tb testing.TB) (ended int) {
	tb.Helper()
	for _, o := range b.list(tb) {
		before := b.Edit(tb, o.Metadata.Name, func(text string) string { return over(tb, text) })
		if over(tb, before) != before {
			ended++
		}
	}
	return ended
}

// over returns what is stored for a worker ID when its lease is over. If it is, or there is none, that is the same.
func over(tb testing.TB, text string) string {
	tb.Helper()
	_, content, _ := strings.Cut(text, " ")
	var fields map[string]json.RawMessage
	var writes int64
	err := json.Unmarshal([]byte(content), &fields)
	if err == nil {
		err = json.Unmarshal(fields["writes"], &writes)
	}
	if err != nil {
		tb.Fatalf("%v: %s", err, text)
	}
	if ends := string(fields["ends"]); ends == "" || ends == longAgo || ends == forever {
		return text
	}
	fields["ends"], fields["writes"], fields["stamp"] = []byte(longAgo), encode(tb, writes+1), encode(tb, rand.Text())
	return sealed(encode(tb, fields))
}

// sealed returns what is stored for a content: its checksum comes first.
func sealed(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8]) + " " + string(content)
}

// leases is the path of all objects.
func (b *kubernetes) leases() string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + b.in + "/leases"
}

// ask makes a request at the API server, and not through the proxy, which must succeed.
func (b *kubernetes) ask(tb testing.TB, method, path, content string, body []byte, out any) {
	tb.Helper()
	code, answer := b.api.Do(method, path, content, body)
	if code < http.StatusOK || code >= http.StatusMultipleChoices {
		tb.Fatalf("%s %s: status %d: %s", method, path, code, answer)
	}
	if out == nil {
		return
	}
	if err := json.NewDecoder(bytes.NewReader(answer)).Decode(out); err != nil {
		tb.Fatalf("%s %s: %v: %s", method, path, err, answer)
	}
}

// encode returns a value as JSON.
func encode(tb testing.TB, v any) []byte {
	tb.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}
