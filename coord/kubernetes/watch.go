package kubernetes

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// watchTime is how long one watch lasts before another one is begun.
	watchTime = 5 * time.Minute
	// watchPause is how long it takes until another watch is begun after one has failed.
	watchPause = time.Second
)

// Watch implements [protocol.Session]. Each holder watches its own object. What a watch shows
// decides nothing.
func (s *session) Watch(ctx context.Context, v *protocol.View) bool {
	if !v.Owned {
		return true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.life, cancel)
	defer stop()
	slot := v.Slot.Record
	writes := v.Slot.Version
	for n := 0; ; n++ {
		gone, err := s.watch(ctx, s.objectName(slot.Worker), slot.Token, writes)
		switch {
		case gone:
			return true
		case codeOf(err) == http.StatusForbidden:
			s.log.Warn("leases are not watched: a loss is noticed when the lease is renewed", "namespace", s.namespace, "error", err)
			return false
		case wait(ctx, watchPause+time.Duration(n%3)*watchPause, context.Canceled) != nil:
			return false
		}
	}
}

// watch reports whether an object says, after so many writes, that a token holds it no longer.
// It returns without that when the watch ends.
func (s *store) watch(ctx context.Context, name, token string, writes int64) (gone bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, watchTime+longest)
	defer cancel()
	late := time.AfterFunc(longest, cancel) // the answer begins at once, if there is one
	var u use
	resp, err := s.send(ctx, request{verb: "watch", method: http.MethodGet, query: url.Values{
		"watch": {"true"}, "fieldSelector": {"metadata.name=" + name}, "timeoutSeconds": {strconv.Itoa(int(watchTime.Seconds()))},
	}}, false, &u)
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	late.Stop()
	if resp.StatusCode != http.StatusOK {
		refused := s.refusal(request{verb: "watch"}, resp)
		u.answered(refused.code < http.StatusInternalServerError)
		return false, refused
	}
	u.answered(true)
	d := json.NewDecoder(resp.Body)
	for {
		var event struct {
			Type   string `json:"type"`
			Object lease  `json:"object"`
		}
		if err := d.Decode(&event); err != nil {
			return false, err
		}
		o := objectOf(event.Object)
		switch {
		case event.Type == "DELETED":
			return true, nil
		case event.Type != "ADDED" && event.Type != "MODIFIED":
			return false, nil
		case o.damage == nil && o.Writes < writes: // it is older than what is known
		case o.damage != nil || o.Token != token || s.over(o.Ends, s.Time()):
			return true, nil
		}
	}
}
