package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
)

// fakeAPI keeps Leases as an API server does, in this process, and in the time of a test.
type fakeAPI struct {
	clock *clocktest.Shifted

	mu     sync.Mutex
	leases map[string]lease
	cache  map[string]lease // what lists are of; nil: of what is stored
	uids   int
	writes int
	counts map[string]int // requests, by verb
}

func newFakeAPI() *fakeAPI {
	return &fakeAPI{clock: clocktest.NewShifted(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), leases: map[string]lease{}, counts: map[string]int{}}
}

// RoundTrip implements [http.RoundTripper].
func (f *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
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
			want := r.URL.Query().Get("labelSelector")
			if l := listed[name]; want == "" || labelNamespace+"="+l.Metadata.Labels[labelNamespace] == want {
				list.Items = append(list.Items, l)
			}
		}
		return f.replied(r, http.StatusOK, list)
	case r.Method == http.MethodPost:
		return f.create(r, body)
	}
	l, ok := f.leases[name]
	if !ok {
		return f.failed(r, http.StatusNotFound, "NotFound")
	}
	if r.Method == http.MethodPatch {
		if !applies(&l, body) {
			return f.failed(r, http.StatusUnprocessableEntity, "Invalid")
		}
		f.store(&l)
	}
	return f.replied(r, http.StatusOK, l)
}

// store stores an object. The caller holds mu.
func (f *fakeAPI) store(l *lease) {
	f.writes++
	l.Metadata.Version = strconv.Itoa(f.writes)
	f.leases[l.Metadata.Name] = *l
}

func (f *fakeAPI) create(r *http.Request, body []byte) (*http.Response, error) {
	var l lease
	if err := json.Unmarshal(body, &l); err != nil {
		return nil, err
	}
	if _, is := f.leases[l.Metadata.Name]; is {
		return f.failed(r, http.StatusConflict, "AlreadyExists")
	}
	f.uids++
	l.Metadata.UID = "uid-" + strconv.Itoa(f.uids)
	f.store(&l)
	return f.replied(r, http.StatusCreated, l)
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
	l.Metadata.Annotations, l.Metadata.Labels = maps.Clone(l.Metadata.Annotations), maps.Clone(l.Metadata.Labels)
	for _, o := range ops {
		var text string
		_ = json.Unmarshal(o.Value, &text)
		in, name := l.Metadata.Annotations, ""
		switch at := strings.Split(o.Path, "/"); {
		case o.Path == "/spec":
			_ = json.Unmarshal(o.Value, &l.Spec)
			continue
		case o.Path == "/metadata/labels":
			l.Metadata.Labels = nil
			_ = json.Unmarshal(o.Value, &l.Metadata.Labels)
			continue
		case o.Path == "/metadata/managedFields":
			continue
		case o.Path == "/metadata/uid":
			if text != l.Metadata.UID {
				return false
			}
			continue
		case at[2] == "labels":
			in = l.Metadata.Labels
			fallthrough
		default:
			name = strings.ReplaceAll(at[3], "~1", "/")
		}
		have, there := in[name]
		switch {
		case o.Op == "test" && (string(o.Value) == "null" && there || string(o.Value) != "null" && (!there || have != text)), in == nil, o.Op == "remove" && !there:
			return false
		case o.Op == "remove":
			delete(in, name)
		case o.Op != "test":
			in[name] = text
		}
	}
	return true
}

// watch is a watch of which nothing is heard until its time is over.
func (f *fakeAPI) watch(r *http.Request) (*http.Response, error) {
	seconds, err := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), time.Duration(seconds)*time.Second)
	return &http.Response{StatusCode: http.StatusOK, Body: until{ctx, cancel}, Request: r}, nil
}

// until is a body that ends with a context.
type until struct {
	ctx    context.Context //nolint:containedctx // it is all that it has
	cancel context.CancelFunc
}

func (u until) Read([]byte) (int, error) { <-u.ctx.Done(); return 0, io.EOF }
func (u until) Close() error             { u.cancel(); return nil }

func (f *fakeAPI) replied(r *http.Request, code int, what any) (*http.Response, error) {
	b, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: code, Header: http.Header{"Date": {f.clock.Time().Format(http.TimeFormat)}}, Body: io.NopCloser(bytes.NewReader(b)), Request: r,
	}, nil
}

func (f *fakeAPI) failed(r *http.Request, code int, reason string) (*http.Response, error) {
	return f.replied(r, code, map[string]string{"kind": "Status", "reason": reason, "message": fmt.Sprintf("%s is %s", r.URL.Path, reason)})
}
