package etcd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/invalid"
)

// root is the folder of all namespaces.
const root = "/unalike/"

// taken is the folder below root that package segment/etcd has for its namespaces.
const taken = "segments"

// checkNamespace refuses a namespace that this driver cannot use.
func checkNamespace(namespace string) error {
	if namespace == taken {
		return invalid.Errorf("the namespace is %q, which in etcd is where the numbers of segments lie; "+
			"take another name", namespace)
	}
	return driver.CheckNamespace(namespace)
}

// keyspace gives the names of a namespace's keys. It is the prefix they share.
type keyspace string

// meta is the namespace's layout and floor.
func (k keyspace) meta() string { return string(k) + "namespace" }

// former is where meta was with other keys of slots, which this program does not read.
func (k keyspace) former() string { return string(k) + "meta" }

// cluster is the ID of the cluster that the namespace lives in.
func (k keyspace) cluster() string { return string(k) + "cluster" }

// ticket is put once for each acquisition; its Version numbers them.
func (k keyspace) ticket() string { return string(k) + "ticket" }

// slots, holders and owners are the folders of the windows, of who has them and of the leases.
func (k keyspace) slots() string   { return string(k) + "slot/" }
func (k keyspace) holders() string { return string(k) + "holder/" }
func (k keyspace) owners() string  { return string(k) + "owner/" }

// slot is the window of a worker ID, which renewals change, and holder the rest of its slot,
// which they do not. Neither has a lease.
func (k keyspace) slot(id int) string   { return k.slots() + digits(id) }
func (k keyspace) holder(id int) string { return k.holders() + digits(id) }

// owner is there for as long as the lease of the worker ID's holder.
func (k keyspace) owner(id int) string { return k.owners() + digits(id) }

// token leads from an acquisition to its worker ID. It is on the holder's lease.
func (k keyspace) token(token string) string { return string(k) + "token/" + token }

// identity is the worker ID that an identity had last.
func (k keyspace) identity(identity string) string { return string(k) + "identity/" + identity }

// unused are the conditions that nobody was ever granted anything.
func (k keyspace) unused() []clientv3.Cmp {
	return []clientv3.Cmp{
		clientv3.Compare(clientv3.CreateRevision(k.former()), "=", 0),
		clientv3.Compare(clientv3.CreateRevision(k.slots()), "=", 0).WithPrefix(),
		clientv3.Compare(clientv3.CreateRevision(k.owners()), "=", 0).WithPrefix(),
	}
}

// noMeta is the error of a namespace of which only the rest is there.
func (k keyspace) noMeta() error {
	return damaged(k.meta(), errors.New("the key is missing and there are slots, or "+k.former()+
		" of a version of unalike before the first release"))
}

// digits prints a worker ID so that the order of keys is that of worker IDs.
func digits(id int) string { return fmt.Sprintf("%010d", id) }

// workerOf returns the worker ID that a key in folder is about.
func workerOf(folder, key string) (int, error) {
	s, ok := strings.CutPrefix(key, folder)
	n, err := strconv.ParseInt(s, 10, 32)
	if !ok || err != nil || n < 0 || digits(int(n)) != s {
		return 0, damaged(key, fmt.Errorf("the key is not one of this driver: after %q it has ten digits",
			folder))
	}
	return int(n), nil
}
