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
	UID    string `json:"uid"`   // of the object itself; empty: it was made just now
	Stamp  string `json:"stamp"` // random with every write
	Writes int64  `json:"writes"`
	// Change is the number of the last change of the namespace's record which this object has.
	Change int64 `json:"change"`

	// Of a namespace:
	Done  int64 `json:"done,omitempty"`  // the number of the last change which all slots have
	Mend  bool  `json:"mend,omitempty"`  // the last change puts back slots that were lost
	Count int   `json:"count,omitempty"` // the worker IDs below it have slots
	Claim int64 `json:"claim,omitempty"` // until when somebody makes more, in microseconds since 1970

	// Of a worker ID:
	Floor int64  `json:"floor,omitempty"` // the namespace's, at the last change that it has
	Token string `json:"token,omitempty"` // that leads here
	Ends  int64  `json:"ends,omitempty"`  // the lease, by the API server's clock, in microseconds since 1970

	Record json.RawMessage `json:"record,omitempty"` // of package protocol; empty: it was never granted
}

// format is the version of all this.
const format = 1

// forever is when the lease of a retired worker ID ends.
const forever = math.MaxInt64

// sumLength is how much of a checksum is stored: what it finds is damage, nobody's malice.
const sumLength = 8

func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:sumLength])
}

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
		return c, fmt.Errorf("the annotation %s has format %d and this program reads format %d", annotation, c.Format, format)
	}
	return c, nil
}

// object is an object as it was read.
type object struct {
	name, uid string
	text      string // the annotation
	version   string // the API server's, for people; empty: it was not read
	content
	damage error // the content cannot be read
}

// objectOf reads a Lease.
func objectOf(l lease) *object {
	o := &object{name: l.Metadata.Name, uid: l.Metadata.UID, text: l.Metadata.Annotations[annotation], version: l.Metadata.Version}
	if o.content, o.damage = contentOf(o.text); o.damage != nil {
		o.damage = fmt.Errorf("%w: Lease %s is damaged: %w; it is not overwritten: put it back from a backup, or delete it, which is taken for a loss", coord.ErrInvalid, o.name, o.damage)
	}
	return o
}

// is reports whether there is an object, and is the same one as another, with the same content.
func (o *object) is(p *object) bool { return o != nil && o.uid == p.uid && o.text == p.text }

// damaged reports whether the content cannot be read.
func (o *object) damaged() bool { return o.damage != nil }

// copied reports whether an object has the content of another one: it was deleted and put back.
func (o *object) copied() bool { return o.damage == nil && o.UID != o.uid }

// ever reports whether a worker ID was ever granted or retired.
func (o *object) ever() bool { return o.damage != nil || len(o.Record) > 0 || o.Ends != 0 }

// raw is the value of an entry: whose object it is, and its annotation.
func (o *object) raw() []byte { return []byte(o.uid + "\n" + o.text) }

// fromRaw is the object that a raw value was read from; nil: there is none.
func fromRaw(name string, raw []byte) *object {
	uid, text, ok := bytes.Cut(raw, []byte("\n"))
	if !ok {
		return nil
	}
	o := &object{name: name, uid: string(uid), text: string(text)}
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
	e.Raw = o.raw()
	if len(o.Record) == 0 {
		return e, nil
	}
	e.Made, e.Version = made(o.uid), o.Writes
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

// notAfter is where the window of a slot ends, as far as can be told without reading all of the
// record: a list has many. What is decided by it costs time if it is wrong, and nothing else.
func (o *object) notAfter() (tick int64) {
	const name = `"notAfter":`
	i := bytes.Index(o.Record, []byte(name))
	if i < 0 {
		return 0
	}
	for _, digit := range o.Record[i+len(name):] {
		if digit < '0' || digit > '9' {
			break
		}
		tick = tick*10 + int64(digit-'0')
	}
	return tick
}

// next is the content of the next write of an object.
func (o *object) next() content {
	c := o.content
	c.Format, c.UID, c.Stamp = format, o.uid, rand.Text()
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
// annotation as when it was read. See, if not nil, is what people see then.
func (o *object) patch(c content, see *spec) (body []byte, text string, err error) {
	if text, err = c.text(); err != nil {
		return nil, "", err
	}
	ops := []operation{
		{"test", "/metadata/uid", o.uid},
		{"test", inPatch, o.text},
		{"replace", inPatch, text},
		// Who has written which field is not kept: it is longer than all else in a list.
		{"add", "/metadata/managedFields", []struct{}{{}}},
	}
	if see != nil {
		ops = append(ops, operation{"add", "/spec", see})
	}
	body, err = json.Marshal(ops)
	return body, text, err
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

// workerOf reads the worker ID in the name of a slot's object.
func (s *store) workerOf(name string) (int, error) {
	rest, ok := strings.CutPrefix(name, s.metaName()+".")
	if !ok {
		return 0, errNoWorker
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 || n >= MaxCapacity || strconv.Itoa(n) != rest {
		return 0, errNoWorker
	}
	return n, nil
}

// metaName and slotName are the names of objects. A key has no dot.
func (s *store) metaName() string           { return "unalike." + s.key }
func (s *store) slotName(worker int) string { return s.metaName() + "." + strconv.Itoa(worker) }
