package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
)

// fakeAPI keeps Leases as an API server does, in this process, and in the time of a test.
type fakeAPI struct {
	clock *clocktest.Shifted

	mu     sync.Mutex
	leases map[string]lease
	cache  map[string]lease // what lists are of; nil: of what is stored
	made   int
	counts map[string]int // requests, by verb

	takes  time.Duration             // a request
	before func()                    // it is made
	edit   func(l *lease, made bool) // one that is written
	refuse func(r *http.Request) int // with this status; 0: it does not
	why    string
}

func newFakeAPI() *fakeAPI {
	start := clocktest.NewShifted(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return &fakeAPI{clock: start, leases: map[string]lease{}, counts: map[string]int{}}
}

// open is a coordinator of a process of its own.
func (f *fakeAPI) open(t *testing.T) protocol.Full {
	t.Helper()
	return f.openBy(t, f)
}

// openBy is open for a process with a network between.
func (f *fakeAPI) openBy(t *testing.T, network http.RoundTripper) protocol.Full {
	t.Helper()
	o := Options{In: "shop", Clock: f.clock, Logger: slog.New(slog.DiscardHandler)}
	c, err := New(&http.Client{Transport: network}, "http://h", "orders", o)
	return drivertest.Closing(t, c, err).(protocol.Full)
}

// request is drivertest.Request by the clock of the API server.
func (f *fakeAPI) request(n int) coord.Request {
	req := drivertest.Request(n)
	req.Now = drivertest.Scale().Tick(f.clock.UnixMicro())
	req.OpenBy, req.Until = req.Now, req.Now+10_000
	return req
}

// hand is a store by which a test changes objects.
func (f *fakeAPI) hand(t *testing.T) *store {
	t.Helper()
	return hand(t, &http.Client{Transport: f}, "http://h", "orders", "shop")
}

// RoundTrip implements [http.RoundTripper].
func (f *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(f.takes)
	if f.before != nil {
		f.before()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, name, _ := strings.Cut(r.URL.Path, "/leases")
	name = strings.TrimPrefix(name, "/")
	verb := strings.ToLower(r.Method)
	if r.URL.Query().Get("watch") != "" {
		verb = "watch"
	}
	f.counts[verb]++
	if f.refuse != nil {
		if code := f.refuse(r); code > 0 {
			return f.failed(r, code, http.StatusText(code), f.why)
		}
	}
	switch {
	case verb == "watch":
		return f.watch(r)
	case r.Method == http.MethodGet && name == "":
		list := leaseList{Kind: "LeaseList"}
		listed := f.leases
		if f.cache != nil {
			listed = f.cache
		}
		for _, name := range slices.Sorted(maps.Keys(listed)) {
			list.Items = append(list.Items, listed[name])
		}
		return f.replied(r, http.StatusOK, list)
	case r.Method == http.MethodPost:
		return f.create(r, body)
	}
	l, ok := f.leases[name]
	if !ok {
		return f.failed(r, http.StatusNotFound, "NotFound", name)
	}
	if r.Method == http.MethodPatch {
		if !applies(&l, body) {
			return f.failed(r, http.StatusUnprocessableEntity, "Invalid", name)
		}
		return f.store(r, http.StatusOK, l)
	}
	return f.replied(r, http.StatusOK, l)
}

// store stores a Lease. The caller holds mu.
func (f *fakeAPI) store(r *http.Request, code int, l lease) (*http.Response, error) {
	if f.edit != nil {
		f.edit(&l, code == http.StatusCreated)
	}
	f.leases[l.Metadata.Name] = l
	return f.replied(r, code, l)
}

func (f *fakeAPI) create(r *http.Request, body []byte) (*http.Response, error) {
	var l lease
	if err := json.Unmarshal(body, &l); err != nil {
		return nil, err
	}
	if _, is := f.leases[l.Metadata.Name]; is {
		return f.failed(r, http.StatusConflict, "AlreadyExists", l.Metadata.Name)
	}
	f.made++
	l.Metadata.UID = "uid-" + strconv.Itoa(f.made)
	return f.store(r, http.StatusCreated, l)
}

// applies makes a patch as this driver makes them, unless a test fails.
func applies(l *lease, body []byte) bool {
	var ops []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(body, &ops); err != nil {
		return false
	}
	in := maps.Clone(l.Metadata.Annotations)
	l.Metadata.Annotations = in
	for _, o := range ops {
		var text string
		_ = json.Unmarshal(o.Value, &text)
		name, isNote := strings.CutPrefix(o.Path, "/metadata/annotations/")
		name = strings.ReplaceAll(name, "~1", "/")
		have, there := in[name]
		switch {
		case o.Path == "/spec":
			_ = json.Unmarshal(o.Value, &l.Spec)
		case o.Path == "/metadata/uid" && text != l.Metadata.UID:
			return false
		case !isNote:
		case o.Op == "test" && there == (string(o.Value) == "null"), o.Op == "test" &&
			have != text, in == nil:
			return false
		case o.Op == "remove":
			delete(in, name)
		case o.Op == "add":
			in[name] = text
		}
	}
	return true
}

// watch is a watch of which nothing is heard until its time is over.
func (f *fakeAPI) watch(r *http.Request) (*http.Response, error) {
	body, end := io.Pipe()
	ctx, cancel := context.WithTimeout(r.Context(), watchTime)
	context.AfterFunc(ctx, func() { cancel(); _ = end.Close() })
	return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
}

func (f *fakeAPI) replied(r *http.Request, code int, what any) (*http.Response, error) {
	b, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Date": {f.clock.Time().Format(http.TimeFormat)}},
		Body: io.NopCloser(bytes.NewReader(b)), Request: r,
	}, nil
}

func (f *fakeAPI) failed(r *http.Request, code int, reason,
	message string,
) (*http.Response, error) {
	return f.replied(r, code, map[string]string{
		"kind": "Status", "reason": reason, "message": fmt.Sprintf("%s: %s", reason, message),
	})
}

// copied has an object deleted and applied again.
func (f *fakeAPI) copied(name string) {
	l := f.leases[name]
	l.Metadata.UID += "-again"
	f.leases[name] = l
}

// edited changes what an object says, as 'kubectl edit' does.
func (f *fakeAPI) edited(name string) {
	l := f.leases[name]
	text := strings.Replace(l.Metadata.Annotations[annotation], `"writes":`, `"writes":1`, 1)
	l.Metadata.Annotations = maps.Clone(l.Metadata.Annotations)
	l.Metadata.Annotations[annotation] = text
	f.leases[name] = l
}
