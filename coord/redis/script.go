package redis

import (
	_ "embed" // the scripts are files of their own
	"errors"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/clock"
)

// The scripts. Each is one atomic step in the server, and one call; the preamble, what is
// known of a namespace as a whole, and the arithmetic of slots are in front of all of them.
var (
	//go:embed lua/preamble.lua
	preamble string
	//go:embed lua/namespace.lua
	namespaceSource string
	//go:embed lua/slot.lua
	slotSource string
	//go:embed lua/acquire.lua
	acquireSource string
	//go:embed lua/renew.lua
	renewSource string
	//go:embed lua/release.lua
	releaseSource string
	//go:embed lua/init.lua
	initSource string
	//go:embed lua/quarantine.lua
	quarantineSource string
	//go:embed lua/lower.lua
	lowerSource string
	//go:embed lua/retire.lua
	retireSource string
	//go:embed lua/list.lua
	listSource string
	//go:embed lua/inspect.lua
	inspectSource string
)

// script is what the server runs. The server knows it by its hash; one that does not
// know it yet is sent the text, which costs one more round trip.
type script struct{ *goredis.Script }

func newScript(sources ...string) script {
	return script{goredis.NewScript(strings.Join(sources, "\n"))}
}

var (
	acquireScript    = newScript(preamble, namespaceSource, slotSource, acquireSource)
	renewScript      = newScript(preamble, namespaceSource, slotSource, renewSource)
	releaseScript    = newScript(preamble, namespaceSource, slotSource, releaseSource)
	initScript       = newScript(preamble, namespaceSource, slotSource, initSource)
	quarantineScript = newScript(preamble, namespaceSource, slotSource, quarantineSource)
	lowerScript      = newScript(preamble, namespaceSource, slotSource, lowerSource)
	retireScript     = newScript(preamble, namespaceSource, slotSource, retireSource)
	listScript       = newScript(preamble, namespaceSource, slotSource, listSource)
	inspectScript    = newScript(preamble, namespaceSource, slotSource, inspectSource)
)

// reply is what a script returned: a status, and what belongs to it.
type reply []any

var errReply = errors.New("the script's reply is not one that this program knows; is something between here and Redis that changes replies?")

func (r reply) status() string { s, _ := r.text(0); return s }

// text returns the i-th part, which is a text.
func (r reply) text(i int) (string, error) {
	if i < len(r) {
		if s, ok := r[i].(string); ok {
			return s, nil
		}
	}
	return "", fmt.Errorf("%w (part %d of %d)", errReply, i, len(r))
}

// ints returns the n parts from i on, which are numbers.
func (r reply) ints(i, n int) ([]int64, error) {
	out := make([]int64, n)
	for j := range out {
		v, ok := int64(0), false
		if i+j < len(r) {
			v, ok = r[i+j].(int64)
		}
		if !ok {
			return out, fmt.Errorf("%w (part %d of %d)", errReply, i+j, len(r))
		}
		out[j] = v
	}
	return out, nil
}

// scale returns the i-th part and the next one, which are the epoch and the unit of a layout.
func (r reply) scale(i int) (clock.Scale, error) {
	v, err := r.ints(i, 2)
	if err == nil && (v[0] < 0 || v[1] <= 0) {
		err = fmt.Errorf("%w (epoch %d and unit %d)", errReply, v[0], v[1])
	}
	return clock.Scale{Epoch: v[0], Unit: v[1]}, err
}

// list returns the i-th part, which is a list of replies.
func (r reply) list(i int) ([]reply, error) {
	if i < len(r) {
		if all, ok := r[i].([]any); ok {
			out := make([]reply, len(all))
			for j := range all {
				if out[j], ok = all[j].([]any); !ok {
					return nil, fmt.Errorf("%w (part %d of list %d)", errReply, j, i)
				}
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("%w (part %d of %d)", errReply, i, len(r))
}
