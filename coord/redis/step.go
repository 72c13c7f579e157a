package redis

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
)

//go:embed step.lua
var stepSource string

// stepHash is the name of stepSource, which a server runs for everything.
var stepHash = goredis.NewScript(stepSource).Hash()

// request is one step: something is written if all is as it should be, and then something is read.
type request struct {
	Write *write   `json:"write,omitempty"`
	Get   []string `json:"get"`             // fields that are read
	Match string   `json:"match,omitempty"` // pattern of Lua for other fields that are read
	Token string   `json:"token,omitempty"` // whose worker ID is read
	Info  bool     `json:"info,omitempty"`  // what the server says of itself is read
	// Durable says that the server keeps what it has confirmed when it restarts.
	Durable bool `json:"durable,omitempty"`

	id string // the worker ID whose lease is read and written; empty: none
}

// write is what is written, and what has to be so before.
type write struct {
	Meta    string `json:"meta"`             // what is stored; empty: nothing
	ID      string `json:"id,omitempty"`     // the worker ID; empty: the namespace alone
	Slot    string `json:"slot"`             // what is stored of it; empty: nothing
	Owned   bool   `json:"owned"`            // it has an owner mark
	Token   string `json:"token,omitempty"`  // which leads nowhere
	Unused  bool   `json:"unused,omitempty"` // nothing but the namespace is stored
	Opens   int64  `json:"opens"`            // from when on a window may end as late as this one
	Settles string `json:"settles,omitempty"`
	// Deadline is until when a lineage may be settled, by the server's clock, in microseconds since
	// 1970.
	Deadline int64 `json:"deadline"`

	Set map[string]string `json:"set"`
	Del []string          `json:"del,omitempty"` // fields that are deleted if they lead to ID
	// Lease is how long the owner mark lasts, in milliseconds; nil: it stays; 0: it is deleted;
	// -1: for ever.
	Lease  *int64 `json:"lease,omitempty"`
	Holder string `json:"holder,omitempty"` // what it tells an operator
}

// What keeps a write from being done: another slot, or another server. What else there is need not
// be told apart.
const refusedSlot, refusedLineage = "slot", "lineage"

// answer is what is stored, and the server's clock.
type answer struct {
	protocol.Position
	refused string // why nothing was written; empty: it was, if anything was to be
	now     int64
	origin  string
	fields  int64 // how many there are
	worker  int64 // that the token holds; -1: none
	owned   int64 // 1: the worker ID of the request has an owner mark
	values  map[string]string
	info    string
}

var errReply = errors.New("the script's reply is not one that this program knows; is something " +
	"between here and Redis that changes replies?")

// do makes a step.
func (s *store) do(ctx context.Context, r request) (*answer, error) {
	keys := []any{keyOf(s.namespace)}
	if r.id != "" {
		keys = append(keys, leaseOf(s.namespace, r.id))
	}
	r.Durable = s.durable
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sent := lifetime.Now()
	reply, err := s.call(ctx, func(ctx context.Context, c goredis.UniversalClient) ([]string, error) {
		return run(ctx, c, keys, text)
	})
	if err != nil {
		return nil, s.explain(err)
	}
	a, err := answerOf(reply)
	if err != nil {
		return nil, err
	}
	a.Wrote = r.Write != nil && a.refused == ""
	s.Note(a.Server, sent)
	return a, nil
}

// answerOf reads the script's reply.
func answerOf(reply []string) (*answer, error) {
	const first = 9 // of the fields
	if len(reply) < first || (len(reply)-first)%2 != 0 {
		return nil, fmt.Errorf("%w (%d parts)", errReply, len(reply))
	}
	a := &answer{refused: reply[0], origin: reply[2], info: reply[3], values: map[string]string{}}
	for i, to := range []*int64{&a.now, &a.Number, &a.fields, &a.worker, &a.owned} {
		n, err := strconv.ParseInt(reply[4+i], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w (%w)", errReply, err)
		}
		*to = n
	}
	a.Lineage, a.Server = reply[1], protocol.Span{Low: a.now, High: a.now}
	for i := first; i < len(reply); i += 2 {
		a.values[reply[i]] = reply[i+1]
	}
	return a, nil
}

// says returns a value of what the server says of itself; empty: it does not say.
func (a *answer) says(name string) string {
	_, rest, _ := strings.Cut("\n"+a.info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r")
	return value
}
