package zk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// rootName is the node of all namespaces, below the chroot.
const rootName = "/unalike"

// folder gives the paths of a namespace's nodes.
type folder struct{ root, space string }

func newFolder(chroot, namespace string) folder {
	return folder{root: chroot + rootName, space: chroot + rootName + "/" + escape(namespace)}
}

// moment is a node that is made to learn the time. No namespace has such a name.
func (f folder) moment(name string) string { return f.root + "/.moment-" + name }

// meta is the namespace's layout and floor.
func (f folder) meta() string { return f.space + "/meta" }

// clock is written before anything is read: what is read after it is at least as new,
// the time of the write is a reading of the leader's clock, and its version a ticket.
func (f folder) clock() string { return f.space + "/clock" }

// slots, owners, tokens and identities are folders.
func (f folder) slots() string      { return f.space + "/slots" }
func (f folder) owners() string     { return f.space + "/owners" }
func (f folder) tokens() string     { return f.space + "/tokens" }
func (f folder) identities() string { return f.space + "/identities" }

// slot is the window of a worker ID.
func (f folder) slot(id int) string { return f.slots() + "/" + digits(id) }

// owner is there for as long as the session of the worker ID's holder.
func (f folder) owner(id int) string { return f.owners() + "/" + digits(id) }

// token leads from an acquisition to its worker ID. It is on the holder's session.
func (f folder) token(token string) string { return f.tokens() + "/" + escape(token) }

// identity is the worker ID that an identity had last.
func (f folder) identity(identity string) string { return f.identities() + "/" + escape(identity) }

// digits prints a worker ID so that the order of names is that of worker IDs.
func digits(id int) string { return fmt.Sprintf("%010d", id) }

// workerOf returns the worker ID that a child of path is about.
func workerOf(path, name string) (int, error) {
	n, err := strconv.ParseInt(name, 10, 32)
	if err != nil || n < 0 || digits(int(n)) != name {
		return 0, damaged(path+"/"+name, fmt.Errorf("the node is not one of this driver: its name has ten digits"))
	}
	return int(n), nil
}

// escape makes a name of a node from any text, and different ones from different
// texts. ZooKeeper refuses some characters, and a dot and two dots.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// mark is the path of the child that says what a node's value is. A transaction of
// ZooKeeper can compare versions, which come again after a loss of data, but no
// values. So each record has one child, whose name is the digest of the value, and
// which is replaced together with it: that this child is there is what a transaction
// can ask for, and it is the same as comparing the value.
func mark(path string, value []byte) string {
	sum := sha256.Sum256(value)
	return path + "/" + hex.EncodeToString(sum[:16])
}

// unchanged compares a record with its value.
func unchanged(path string, value []byte) any {
	return &client.CheckVersionRequest{Path: mark(path, value), Version: 0}
}

// replaces puts next in the place of old, if old is what is stored, with this version.
func (st *store) replaces(path string, old, next []byte, version int32) []any {
	return []any{
		&client.DeleteRequest{Path: mark(path, old), Version: -1},
		&client.CreateRequest{Path: mark(path, next), Acl: st.acl},
		&client.SetDataRequest{Path: path, Data: next, Version: version},
	}
}

// creates makes a record that is not there.
func (st *store) creates(path string, value []byte) []any {
	return []any{
		&client.CreateRequest{Path: path, Data: value, Acl: st.acl},
		&client.CreateRequest{Path: mark(path, value), Acl: st.acl},
	}
}

// misfit is the error of a transaction that was refused for op, though what it took to
// be stored is what is stored.
func misfit(op any, why error) error {
	at := nodeOf(op)
	if _, creates := op.(*client.CreateRequest); creates && definite(why, client.ErrNoNode) {
		at = path.Dir(at) // that is what was missing
	}
	return damaged(at, errors.New("the node is missing, or is there and should not be: something else has changed what is stored"))
}

// guardOf is the path of the node whose ACL decides on an operation.
func guardOf(op any) string {
	switch op.(type) {
	case *client.CreateRequest, *client.DeleteRequest:
		return path.Dir(nodeOf(op))
	}
	return nodeOf(op)
}

// nodeOf is the path of the node that an operation of a transaction is about.
func nodeOf(op any) string {
	switch op := op.(type) {
	case *client.CreateRequest:
		return op.Path
	case *client.DeleteRequest:
		return op.Path
	case *client.SetDataRequest:
		return op.Path
	case *client.CheckVersionRequest:
		return op.Path
	}
	return ""
}

// read decodes the answer to a Get; the zero Entry if there is no node.
func read[R protocol.Record](path string, r reply) (protocol.Entry[R], error) {
	if r.err != nil {
		if definite(r.err, client.ErrNoNode) {
			return protocol.Entry[R]{}, nil
		}
		return protocol.Entry[R]{}, refusedAt(path, r.err)
	}
	rec, err := protocol.Decode[R](r.data)
	if err != nil {
		return protocol.Entry[R]{}, damaged(path, err)
	}
	return protocol.Entry[R]{Record: rec, Raw: r.data, Version: int64(r.stat.Version), Made: r.stat.Czxid}, nil
}

// damaged is the error of a node whose value this driver cannot have written.
func damaged(path string, err error) error {
	return fmt.Errorf("%w ZooKeeper node %q: %w; it is not overwritten: restore it from a backup, or use another namespace", coord.ErrInvalid, path, err)
}
