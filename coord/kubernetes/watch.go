package kubernetes

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

// watchTime is how long one watch lasts before another one is begun.
const watchTime = 5 * time.Minute

// Watch implements [protocol.Session]. Each holder watches its own object. What a watch shows
// decides nothing.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	if !v.Owned {
		return true
	}
	ctx, stop := s.During(ctx)
	defer stop()
	for {
		gone, err := s.watch(ctx, v.Slot)
		switch {
		case gone:
			return true
		case codeOf(err) == http.StatusForbidden:
			s.log.Warn("leases are not watched: a loss is noticed when the lease is renewed",
				"namespace", s.namespace, "error", err)
			return false
		case !lifetime.Sleep(ctx, pause):
			return false
		}
	}
}

// watch reports whether a slot's object says, when it was written since, that its token holds it no
// longer. It returns without that when the watch ends.
func (s *store) watch(
	ctx context.Context, slot protocol.Entry[protocol.Slot],
) (gone bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, watchTime)
	defer cancel()
	resp, err := s.send(ctx, request{verb: "watch", query: url.Values{
		"watch":         {"true"},
		"fieldSelector": {"metadata.name=" + s.objectName(slot.Record.Worker)},
	}})
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	for d := json.NewDecoder(resp.Body); ; {
		var event struct {
			Type   string
			Object lease
		}
		if err := d.Decode(&event); err != nil {
			return false, err
		}
		switch event.Type {
		case "ADDED", "MODIFIED", "DELETED":
		default:
			return false, nil // an error, or a list of somebody who does not watch
		}
		o := objectOf(&event.Object)
		older := o.damage == nil && o.Writes < slot.Version
		held := o.Token == slot.Record.Token && s.owned(o, s.Time().Low)
		if event.Type == "DELETED" || !older && !held {
			return true, nil
		}
	}
}

// WatchFree implements [protocol.FreeWatcher]. The end of a lease is no event: only its release is.
func (s *session) WatchFree(ctx context.Context, share coord.Range) bool {
	ctx, stop := s.During(ctx)
	defer stop()
	resp, err := s.send(ctx, request{verb: "watch", query: url.Values{"watch": {"true"}}})
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	a, err := s.list(ctx) // no event reports what is not there
	if err != nil {
		return false
	}
	for n := range share.Count {
		if a.slots[share.First+n] == nil {
			return true
		}
	}
	for d := json.NewDecoder(resp.Body); ; {
		var event struct {
			Type   string
			Object lease
		}
		if d.Decode(&event) != nil {
			return false
		}
		n := numberOf(event.Object.Metadata.Name, s.objectName(-1)+".") - share.First
		switch {
		case event.Type == "ERROR":
			return false
		case n < 0 || n >= share.Count:
		case event.Type == "DELETED" || !s.owned(objectOf(&event.Object), s.Time().Low):
			return true
		}
	}
}
