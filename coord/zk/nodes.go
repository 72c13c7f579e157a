package zk

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
)

// rootName is the node of all namespaces, below the chroot.
const rootName = "/unalike"

// folder gives the paths of a namespace's nodes.
type folder struct{ root, space string }

func newFolder(chroot, namespace string) folder {
	return folder{root: chroot + rootName, space: chroot + rootName + "/" + escape(namespace)}
}

// meta is the namespace's layout and floor.
func (f folder) meta() string { return f.space + "/meta" }

// clock is written before anything is read: what is read after it is at least as new,
// the time of the write is a reading of the leader's clock, and its version only grows.
func (f folder) clock() string { return f.space + "/clock" }

// slots, owners, holders, tokens and identities are folders.
func (f folder) slots() string      { return f.space + "/slots" }
func (f folder) owners() string     { return f.space + "/owners" }
func (f folder) holders() string    { return f.space + "/holders" }
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
		return 0, damaged(path+"/"+name,
			fmt.Errorf("the node is not one of this driver: its name has ten digits"))
	}
	return int(n), nil
}

// escape makes a name of a node from any text, and different ones from different
// texts. ZooKeeper refuses some characters, and a dot and two dots.
func escape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' ||
			c == '_' || c == '.' && i > 0
		if plain {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unescape returns the text that escape has made a name of, and false for any other name.
func unescape(name string) (string, bool) {
	s, err := url.PathUnescape(name)
	return s, err == nil && escape(s) == name
}

// op is one operation of a transaction.
type op struct {
	path    string
	guard   string // the node whose ACL decides on it
	request any
}

func (st *store) create(at string, value []byte, flags int32) op {
	return op{at, path.Dir(at), &client.CreateRequest{
		Path: at, Data: value, Acl: st.acl,
		Flags: flags,
	}}
}

func remove(at string, version int64) op {
	return op{at, path.Dir(at), &client.DeleteRequest{Path: at, Version: int32(version)}}
}

func replace(at string, value []byte, version int64) op {
	return op{at, at, &client.SetDataRequest{Path: at, Data: value, Version: int32(version)}}
}

// check refuses the transaction unless a node has a version; any: -1.
func check(at string, version int64) op {
	return op{at, at, &client.CheckVersionRequest{Path: at, Version: int32(version)}}
}

// damaged is the error of a node whose value this driver cannot have written.
func damaged(path string, err error) error {
	return fmt.Errorf("%w ZooKeeper node %q: %w; it is not overwritten: restore it from a backup, or "+
		"use another namespace", coord.ErrInvalid, path, err)
}
