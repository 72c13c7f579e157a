package redis_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// unusedOnOne are the rights that only another database or a Cluster takes.
var unusedOnOne = []string{"+select", "+cluster|slots", "+command"}

// everything does with a user's client all that a coordinator can do. Others, who have
// all rights, take worker IDs meanwhile.
func everything(t *testing.T, ns string, user, others goredis.UniversalClient) error {
	t.Helper()
	c := newCoordinator(t, user, ns)
	ctx := within(t)
	if err := c.Init(ctx, space()); err != nil {
		return err
	}
	if err := c.Init(ctx, space()); err != nil {
		return err
	}
	req := request(2)
	req.Identity = "pod-a"
	g, err := c.Acquire(ctx, req)
	if err != nil {
		return err
	}
	if g, err = c.Renew(ctx, g, g.NotAfter+1); err != nil {
		return err
	}
	if err := c.Release(ctx, g, g.NotBefore); err != nil {
		return err
	}
	for range 2 {
		mustAcquire(t, newCoordinator(t, others, ns), request(2))
	}
	if _, err := c.Acquire(ctx, request(2)); !errors.Is(err, coord.ErrNoWorkerID) {
		return err
	}
	_, err = c.Quarantine(ctx, time.Time{})
	_, err1 := c.List(ctx)
	return errors.Join(err, err1, c.Retire(ctx, 1))
}

// setUser makes a user with the password pw that has these rights in a namespace, and
// forgets what was denied before.
func setUser(t *testing.T, s *redistest.Server, user, ns string, rights []string) {
	t.Helper()
	args := []any{"ACL", "SETUSER", user, "reset", "on", ">pw", "~" + redis.AllKeys(ns)}
	for _, r := range rights {
		args = append(args, r)
	}
	s.Do(t, args...)
	s.Do(t, "ACL", "LOG", "RESET")
}

// login returns a client of a server as a user that setUser has made.
func login(t *testing.T, s *redistest.Server, user string, db int) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{
		Addr: s.Addr, Username: user, Password: "pw", DB: db, Protocol: 2, DisableIdentity: true,
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// without returns all rights but one.
func without(right string) []string {
	return slices.DeleteFunc(slices.Clone(redis.Commands()), func(r string) bool { return r == right })
}

// wantNothingDenied checks that a server has denied nothing since setUser.
func wantNothingDenied(t *testing.T, s *redistest.Server) {
	t.Helper()
	if denied := s.Do(t, "ACL", "LOG"); denied != "[]" {
		t.Errorf("%s has denied: %s", s.Addr, denied)
	}
}

// TestRights: the rights that the error names are enough, and each of them is needed.
func TestRights(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	setUser(t, server, "enough", "enough", redis.Commands())
	if err := everything(t, "enough", login(t, server, "enough", 0), client); err != nil {
		t.Errorf("with all the rights that are named: %v", err)
	}
	wantNothingDenied(t, server)
	for _, right := range redis.Commands() {
		if slices.Contains(unusedOnOne, right) {
			continue
		}
		name := strings.TrimPrefix(right, "+")
		setUser(t, server, name, name, without(right))
		if name == "eval" {
			server.Do(t, "SCRIPT", "FLUSH")
		}
		err := everything(t, name, login(t, server, name, 0), client)
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(strings.ToLower(err.Error()), name) {
			t.Errorf("without the right %s: %v; want an error that names it", right, err)
		}
	}
	setUser(t, server, "elsewhere", "another", redis.Commands())
	drivertest.WantInvalid(t, "without a right to the key",
		everything(t, "ns", login(t, server, "elsewhere", 0), client), redis.AllKeys("ns"))
}

// TestRightsInADatabase: in a database other than 0, that has to be selected.
func TestRightsInADatabase(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for right, want := range map[string]bool{"none": true, "+select": false} {
		setUser(t, server, right, "ns", without(right))
		_, err := newCoordinator(t, login(t, server, right, 1), "ns").List(within(t))
		if want && err != nil {
			t.Errorf("with all the rights that are named: %v", err)
		} else if !want {
			drivertest.WantInvalid(t, "List", err, right)
		}
	}
}

// TestRightsInACluster: the same in a Cluster, whose client asks for its map, and for
// what commands there are.
func TestRightsInACluster(t *testing.T) {
	cluster := redistest.StartCluster(t, redistest.Options{}, 3)
	client := func(name, password string) *goredis.ClusterClient {
		o := &goredis.ClusterOptions{
			Username: name, Password: password, DisableIdentity: true, Protocol: 2,
			ContextTimeoutEnabled: true, DialerRetries: 1,
			DialTimeout: callTime, ReadTimeout: callTime, WriteTimeout: callTime, PoolTimeout: callTime,
		}
		for _, s := range cluster.Nodes {
			o.Addrs = append(o.Addrs, s.Addr)
		}
		c := goredis.NewClusterClient(o)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	others := client("", "")
	user := func(ns string, rights []string) *goredis.ClusterClient {
		for _, s := range cluster.Nodes {
			setUser(t, s, ns, ns, rights)
		}
		return client(ns, "pw")
	}
	if err := everything(t, "enough", user("enough", redis.Commands()), others); err != nil {
		t.Errorf("with all the rights that are named: %v", err)
	}
	for _, s := range cluster.Nodes {
		wantNothingDenied(t, s)
	}
	drivertest.WantInvalid(t, "less", everything(t, "less",
		user("less", without("+cluster|slots")), others), "+cluster|slots")
	// Without +command everything goes on, with calls that are denied each time.
	if err := everything(t, "slow", user("slow", without("+command")), others); err != nil {
		t.Errorf("without the right +command: %v", err)
	}
}
