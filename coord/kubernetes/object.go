package kubernetes

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// annotation has what is stored of a namespace or a worker ID.
	annotation = "unalike/record"
	// inPatch is the annotation's place, as a patch names it.
	inPatch = "/metadata/annotations/unalike~1record"
	// labelNamespace and labelWorker are for listing.
	labelNamespace, labelWorker = "unalike/namespace", "unalike/worker"
	// annotationName has the namespace's name, which a label may not have.
	annotationName = "unalike/name"
)

// lease is a Lease object, as far as it is read and written.
type lease struct {
	APIVersion string   `json:"apiVersion,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec"`
}

// check implements [answer].
func (l *lease) check(r request) error {
	if l.Kind != "Lease" || l.Metadata.UID == "" || r.name != "" && l.Metadata.Name != r.name {
		return fmt.Errorf("it is a %q of the name %q, and not Lease %s", l.Kind, l.Metadata.Name, r.name)
	}
	return nil
}

type metadata struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid,omitempty"`
	Version     string            `json:"resourceVersion,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// spec is what people see. Nothing is decided by it.
type spec struct {
	Holder      string `json:"holderIdentity,omitempty"`
	Seconds     int64  `json:"leaseDurationSeconds,omitempty"`
	Acquired    string `json:"acquireTime,omitempty"`
	Renewed     string `json:"renewTime,omitempty"`
	Transitions *int64 `json:"leaseTransitions,omitempty"`
}

// content is what the annotation of an object says.
type content struct {
	Format int    `json:"format"`
	Stamp  string `json:"stamp"` // random with every write
	Writes int64  `json:"writes"`

	// Of a namespace:
	UID   string   `json:"uid,omitempty"`   // of the object itself; empty: it was made just now
	Marks []string `json:"marks,omitempty"` // the uids of the objects that have the marks; none: they are to be compared with the slots

	// Of a worker ID:
	Seen  int64  `json:"seen,omitempty"`  // how often the namespace's record was written by then
	Floor int64  `json:"floor,omitempty"` // that it had
	Base  int64  `json:"base,omitempty"`
	Token string `json:"token,omitempty"` // that leads here
	Ends  int64  `json:"ends,omitempty"`  // the lease, by the API server's clock, in microseconds since 1970

	Record json.RawMessage `json:"record"` // of package protocol
}

// format is the version of all this.
const format = 2

// forever is when the lease of a retired worker ID ends.
const forever = math.MaxInt64

// sumLength is how much of a checksum is stored: what it finds is damage, nobody's malice.
const sumLength = 8

func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:sumLength])
}

// errFormat says that another version of this driver has written an annotation.
var errFormat = fmt.Errorf("the annotation %s was written by another version of unalike; stop its generators, and declare another namespace above it with 'unalike move', "+
	"or with 'unalike quarantine --until' a time that it cannot have reached: it has format", annotation)

// text is the annotation: a checksum and the content.
func (c content) text() (string, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	return checksum(string(b)) + " " + string(b), nil
}

// contentOf reads an annotation.
func contentOf(text string) (c content, _ error) {
	sum, rest, ok := strings.Cut(text, " ")
	if !ok {
		return c, fmt.Errorf("the annotation %s is missing or truncated", annotation)
	}
	if sum != checksum(rest) {
		return c, fmt.Errorf("the checksum of the annotation %s is wrong: it was edited", annotation)
	}
	if err := json.Unmarshal([]byte(rest), &c); err != nil {
		return c, fmt.Errorf("the annotation %s is not understood: %w", annotation, err)
	}
	if c.Format != format {
		return c, fmt.Errorf("%w %d, and this program reads format %d", errFormat, c.Format, format)
	}
	return c, nil
}

// object is an object as it was read.
type object struct {
	name, uid string
	text      string // the annotation
	labels    map[string]string
	content
	damage error // the content cannot be read
}

// objectOf reads a Lease.
func objectOf(l lease) *object {
	o := &object{name: l.Metadata.Name, uid: l.Metadata.UID, text: l.Metadata.Annotations[annotation], labels: l.Metadata.Labels}
	if o.content, o.damage = contentOf(o.text); o.damage != nil {
		o.damage = fmt.Errorf("%w: Lease %s is damaged: %w; it is not overwritten: put it back from a backup, or delete it, which is taken for a loss", coord.ErrInvalid, o.name, o.damage)
	}
	return o
}

// is reports whether there is an object, and is the same one as another, with the same content.
func (o *object) is(p *object) bool { return o != nil && o.uid == p.uid && o.text == p.text }

// copied reports whether the namespace's record has the content of another object: it was deleted and
// put back.
func (o *object) copied() bool { return o.damage == nil && o.UID != "" && o.UID != o.uid }

// raw is the value of an entry: whose object it is, and its annotation.
func (o *object) raw() []byte { return []byte(o.uid + "\n" + o.text) }

// fromRaw is the object that a raw value was read from; nil: there is none.
func (s *store) fromRaw(worker int, raw []byte) *object {
	uid, text, ok := bytes.Cut(raw, []byte("\n"))
	if !ok {
		return nil
	}
	o := &object{name: s.objectName(worker), uid: string(uid), text: string(text), labels: s.labels(worker)}
	o.content, o.damage = contentOf(o.text)
	return o
}

// made is a number for an object's uid: it is made once.
func made(uid string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(uid))
	return int64(h.Sum64()>>1) | 1 //nolint:gosec // it fits
}

// entry is an object's record.
func entry[R protocol.Record](o *object) (e protocol.Entry[R], err error) {
	switch {
	case o == nil:
		return e, nil
	case o.damage != nil:
		return e, o.damage
	}
	e.Raw, e.Made, e.Version = o.raw(), made(o.uid), o.Writes
	if e.Record, err = protocol.Decode[R](o.Record); err != nil {
		err = fmt.Errorf("%w: Lease %s is damaged: %w; it is not overwritten: put it back from a backup", coord.ErrInvalid, o.name, err)
	}
	return e, err
}

// slotEntry is the slot of a worker ID.
func slotEntry(o *object, worker int) (protocol.Entry[protocol.Slot], error) {
	e, err := entry[protocol.Slot](o)
	if err == nil && e.There() && e.Record.Worker != worker {
		err = fmt.Errorf("%w: Lease %s is damaged: it has the slot of worker ID %d", coord.ErrInvalid, o.name, e.Record.Worker)
	}
	return e, err
}

// next is the content of the next write of an object.
func (o *object) next() content {
	c := o.content
	c.Format, c.Stamp = format, rand.Text()
	c.Writes++
	return c
}

// micro prints a time for a Lease.
func micro(at int64) string { return time.UnixMicro(at).UTC().Format("2006-01-02T15:04:05.000000Z") }

// shown is what people see of a slot.
func (c content) shown(slot protocol.Slot) spec {
	s := spec{Seconds: int64(math.Ceil(slot.Lease().Seconds()))}
	if slot.Generation > 0 {
		n := int64(slot.Generation) - 1 //nolint:gosec // a generation is counted
		s.Transitions, s.Acquired, s.Renewed = &n, micro(slot.Since), micro(slot.Renewed)
	}
	switch {
	case slot.Retired:
		s.Holder = "retired"
	case c.Token != "":
		if s.Holder = slot.Holder; s.Holder == "" {
			s.Holder = "unalike"
		}
	}
	if s.Seconds < 1 {
		s.Seconds = 1
	}
	return s
}

// operation is one of a JSON Patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch is what replaces an object's content, if the object is the same one and has the same
// annotation as when it was read. Labels that are not there are put back. See, if not nil, is what
// people see then.
func (s *store) patch(o *object, c content, see *spec) (body []byte, text string, err error) {
	if text, err = c.text(); err != nil {
		return nil, "", err
	}
	ops := []operation{
		{"test", "/metadata/uid", o.uid},
		{"test", inPatch, o.text},
		{"replace", inPatch, text},
		{"add", "/metadata/annotations/unalike~1name", s.namespace},
		unmanaged,
	}
	if worker, err := s.workerOf(o.name); err == nil || o.name == s.objectName(-1) {
		ops = append(ops, relabel(o.labels, s.labels(worker))...)
	}
	if see != nil {
		ops = append(ops, operation{"add", "/spec", see})
	}
	body, err = json.Marshal(ops)
	return body, text, err
}

// unmanaged forgets who has written which field: that is longer than all else in a list.
var unmanaged = operation{"add", "/metadata/managedFields", []struct{}{{}}}

// relabel puts labels back. Those of others stay.
func relabel(have, want map[string]string) (ops []operation) {
	if len(have) == 0 {
		return []operation{{"add", "/metadata/labels", want}}
	}
	for name, value := range want {
		if have[name] != value {
			ops = append(ops, operation{"add", "/metadata/labels/" + strings.ReplaceAll(name, "/", "~1"), value})
		}
	}
	return ops
}

// labels are those of a worker ID's object; -1: of the namespace's own.
func (s *store) labels(worker int) map[string]string {
	out := map[string]string{labelNamespace: s.key}
	if worker >= 0 {
		out[labelWorker] = strconv.Itoa(worker)
	}
	return out
}

// keyOf is a namespace's name in labels and in names of objects, which allow less.
func keyOf(namespace string) string {
	if names.MatchString(namespace) && !strings.HasPrefix(namespace, "x-") {
		return namespace
	}
	sum := sha256.Sum256([]byte(namespace))
	return "x-" + hex.EncodeToString(sum[:16])
}

// errNoWorker says that an object has no worker ID in its name.
var errNoWorker = errors.New("there is no worker ID in the name")

// workerOf reads the worker ID in the name of a slot's object. It is -1 with an error.
func (s *store) workerOf(name string) (int, error) {
	return s.numberOf(name, s.objectName(-1)+".", MaxCapacity)
}

// numberOf reads a number below a limit behind a prefix of a name.
func (s *store) numberOf(name, prefix string, limit int) (int, error) {
	rest, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.Atoi(rest)
	if !ok || err != nil || n < 0 || n >= limit || strconv.Itoa(n) != rest {
		return -1, errNoWorker
	}
	return n, nil
}

// objectName is the name of a worker ID's object; -1: of the namespace's own. A key has no dot.
func (s *store) objectName(worker int) string {
	if worker < 0 {
		return "unalike." + s.key
	}
	return "unalike." + s.key + "." + strconv.Itoa(worker)
}
