package kubernetes

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/protocol"
)

const (
	// annotation has what is stored of a namespace or a worker ID.
	annotation = "unalike/record"
	// labelNamespace is for people: nothing depends on it.
	labelNamespace = "unalike/namespace"
	// annotationName has the namespace's name, which a label may not have.
	annotationName = "unalike/name"
)

// lease is a Lease object, as far as it is read and written.
type lease struct {
	APIVersion string   `json:"apiVersion,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Metadata   metadata `json:"metadata"`
	Spec       *spec    `json:"spec,omitempty"`
}

// check implements [answer].
func (l *lease) check(r request) error {
	if l.Kind != "Lease" {
		return fmt.Errorf("%w: a %q, and no Lease", errKind, l.Kind)
	}
	if l.Metadata.UID == "" || r.name != "" && l.Metadata.Name != r.name {
		return fmt.Errorf("it is Lease %q, and not Lease %s", l.Metadata.Name, r.name)
	}
	return nil
}

type metadata struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// spec is what people see. Nothing is decided by it.
type spec struct {
	Holder  string `json:"holderIdentity,omitempty"`
	Seconds int64  `json:"leaseDurationSeconds,omitempty"`
	Renewed string `json:"renewTime,omitempty"`
}

// content is what the annotation of an object says.
type content struct {
	Format int    `json:"format"`
	Stamp  string `json:"stamp"` // random with every write
	Writes int64  `json:"writes"`

	// Of a namespace: the uid of the object itself. Empty: it is new, or has settled a loss, and the
	// marks are to be made as the slots are.
	UID string `json:"uid,omitempty"`

	// Of a worker ID:
	Seen  int64  `json:"seen,omitempty"`  // how often the namespace's record was written by then
	Floor int64  `json:"floor,omitempty"` // that it had
	Base  int64  `json:"base,omitempty"`
	Token string `json:"token,omitempty"` // that leads here
	Ends  int64  `json:"ends,omitempty"`  // the lease: the API server's clock, microseconds since 1970

	Record json.RawMessage `json:"record"` // of package protocol

	see *spec // what people are to see; nil: what they see
}

// format is the version of all this.
const format = 2

// forever is when the lease of a retired worker ID ends.
const forever = math.MaxInt64

// checksum is part of a sum: what it finds is damage, nobody's malice.
func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// lacks is one of the annotations that a Lease was to have and has not; empty: there is none.
func (l *lease) lacks(to map[string]string) string {
	for name, value := range to {
		if l.Metadata.Annotations[name] != value {
			return name
		}
	}
	return ""
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
func contentOf(text string) (content, error) {
	var c content
	sum, rest, ok := strings.Cut(text, " ")
	if !ok {
		return content{}, fmt.Errorf("the annotation %s is missing or truncated", annotation)
	}
	if sum != checksum(rest) { //mutant:kube-edited
		return content{}, fmt.Errorf("the checksum of the annotation %s is wrong: it was edited",
			annotation)
	}
	if err := json.Unmarshal([]byte(rest), &c); err != nil {
		return content{}, fmt.Errorf("the annotation %s is not understood: %w", annotation, err)
	}
	if c.Format != format {
		return content{}, fmt.Errorf("the annotation %s was written by another version of unalike; stop "+
			"its generators, and declare another namespace above it with 'unalike move', or with "+
			"'unalike quarantine --until' a time that it cannot have reached: it has format %d, and this "+
			"program reads format %d", annotation, c.Format, format)
	}
	return c, nil
}

// object is an object as it was read.
type object struct {
	name, uid string
	text      string // the annotation
	content
	damage error // the content cannot be read
}

// objectOf reads a Lease.
func objectOf(l *lease) *object {
	return newObject(l.Metadata.Name, l.Metadata.UID, l.Metadata.Annotations[annotation])
}

// newObject reads an annotation.
func newObject(name, uid, text string) *object {
	o := &object{name: name, uid: uid, text: text}
	if o.content, o.damage = contentOf(text); o.damage != nil {
		o.damage = damaged(name, o.damage)
	}
	return o
}

// damaged is the error of an object that cannot be read.
func damaged(name string, why error) error {
	return invalid.Errorf("Lease %s is damaged: %w; it is not overwritten: put it back from a "+
		"backup, or delete it, which is taken for a loss", name, why)
}

// settled reports whether the marks are as the slots were, of a namespace's record.
func (o *object) settled() bool { return o.UID != "" }

// fromRaw is the object that a raw value was read from; its uid is empty if there is none.
func (s *store) fromRaw(worker int, raw []byte) *object {
	name := s.objectName(worker)
	uid, text, ok := strings.Cut(string(raw), "\n")
	if !ok {
		return &object{name: name}
	}
	return newObject(name, uid, text)
}

// entry is an object's record.
func entry[R protocol.Record](o *object) (e protocol.Entry[R], err error) {
	switch {
	case o == nil:
		return e, nil
	case o.damage != nil:
		return e, o.damage
	}
	e.Raw, e.Made, e.Version = []byte(o.uid+"\n"+o.text), protocol.MadeUnknown, o.Writes
	if e.Record, err = protocol.Decode[R](o.Record); err != nil {
		err = damaged(o.name, err)
	}
	return e, err
}

// slotEntry is the slot of a worker ID.
func slotEntry(o *object, worker int) (protocol.Entry[protocol.Slot], error) {
	e, err := entry[protocol.Slot](o)
	if err == nil && e.There() && e.Record.Worker != worker {
		err = damaged(o.name, fmt.Errorf("it has the slot of worker ID %d", e.Record.Worker))
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

// holding is a content with a record.
func holding[R protocol.Record](c content, r R) (content, error) {
	text, err := protocol.Encode(r)
	c.Record = []byte(text)
	return c, err
}

// shown is what people see of a slot.
func (c content) shown(slot protocol.Slot) *spec {
	s := &spec{Seconds: int64(slot.Lease().Seconds())}
	if slot.Renewed > 0 {
		s.Renewed = time.UnixMicro(slot.Renewed).UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	switch {
	case slot.Retired:
		s.Holder = "retired"
	case c.Token != "":
		s.Holder = cmp.Or(slot.Holder, "unalike")
	}
	return s
}

// operation is one of a JSON Patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// changes are the operations that change annotations of a Lease; an empty one is not there.
func changes(from, to map[string]string) (ops []operation) {
	for name, next := range to {
		was, at := from[name], "/metadata/annotations/"+strings.ReplaceAll(name, "/", "~1")
		test, set := operation{"test", at, was}, operation{"add", at, next}
		if was == "" {
			test.Value = nil
		}
		if next == "" {
			set = operation{"remove", at, nil}
		}
		if was != next {
			ops = append(ops, test, set)
		}
	}
	return ops
}

// unmanaged forgets who has written which field: that is longer than all else in a list.
var unmanaged = operation{"add", "/metadata/managedFields", []struct{}{{}}}

// keyOf is a namespace's name in labels and in names of objects, which allow less.
func keyOf(namespace string) string {
	if names.MatchString(namespace) && !strings.HasPrefix(namespace, "x-") {
		return namespace
	}
	sum := sha256.Sum256([]byte(namespace))
	return "x-" + hex.EncodeToString(sum[:16])
}

// numberOf reads a number below [MaxCapacity] behind a prefix of a name; -1: there is none.
func numberOf(name, prefix string) int {
	rest, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.Atoi(rest)
	if !ok || err != nil || n < 0 || n >= MaxCapacity || strconv.Itoa(n) != rest {
		return -1
	}
	return n
}

// objectPrefix begins the names of all objects.
const objectPrefix = "unalike."

// objectName is the name of a worker ID's object; -1: of the namespace's own. A key has no dot.
func (s *store) objectName(worker int) string {
	if worker < 0 {
		return objectPrefix + s.key
	}
	return objectPrefix + s.key + "." + strconv.Itoa(worker)
}
