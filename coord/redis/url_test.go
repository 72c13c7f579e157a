package redis_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestOpen: each kind of URL leads to a grant; what is wrong with certificates is said.
func TestOpen(t *testing.T) {
	const password = "p@ss:w/rd"
	escaped := "p%40ss%3Aw%2Frd"
	single := redistest.Start(t, redistest.Options{Password: password})
	watched := redistest.StartReplicated(t, redistest.Options{Password: password})
	cluster := redistest.StartCluster(t, redistest.Options{}, 3)
	ca := certtest.New(t)
	servers, mine := ca.Issue(t), ca.Issue(t)
	secure := redistest.Start(t, redistest.Options{TLS: redistest.TLS{
		CA: ca.Path, Cert: servers.Cert,
		Key: servers.Key,
	}})
	for name, url := range map[string]string{
		"single":   "redis://:" + escaped + "@" + single.Addr + "?",
		"database": "redis://default:" + escaped + "@" + single.Addr + "/3?",
		"Sentinel": "redis-sentinel://:" + escaped + "@" + watched.Sentinel + "/" +
			redistest.MasterName + "/1?",
		"Cluster": "redis-cluster://" + cluster.Nodes[0].Addr + "," + cluster.Nodes[1].Addr + "?",
		"TLS": "rediss://" + secure.Addr + "/0?ca=" + ca.Path + "&cert=" + mine.Cert + "&key=" +
			mine.Key + "&",
	} {
		c := drivertest.Opened(t, url+"namespace="+rand.Text())
		if w := coord.Describe(c).Warnings; w != nil {
			t.Errorf("%s: warnings %q", name, w)
		}
	}
	for url, says := range map[string]string{
		// no certificate of the client
		"rediss://" + secure.Addr + "?namespace=ns&ca=" + ca.Path: secure.Addr,
		"rediss://" + secure.Addr + "?namespace=ns&cert=" + mine.Cert + "&key=" +
			mine.Key: "unknown authority",
		"redis://" + secure.Addr + "?namespace=ns": secure.Addr,
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			c, err := open(t, url)
			if err == nil {
				_, err = c.Acquire(hurried(t), request(1))
			}
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v; want an error that says %q", url, err, says)
			}
		})
	}
}

// TestBadURL: errors name what is wrong, and no password.
func TestBadURL(t *testing.T) {
	junk, old := drivertest.BadFiles(t)
	drivertest.BadURLs(t, map[string]string{
		"redis3://h?namespace=ns": "unknown scheme",
		"redis:///0?namespace=ns": "there is no host; write redis://",
		"redis://h":               "no namespace",
		"redis://h?namespace=":    "no namespace",
		"redis://h?namespace=a:b": "namespace",
		"redis://h,i?namespace=ns": "there are 2 hosts; one server " +
			"is one host, several are a Cluster (redis-cluster://) or Sentinels (redis-sentinel://)",
		"redis-cluster://h,h:6379?namespace=ns":    "twice",
		"redis://h:0?namespace=ns":                 "port",
		"unix:///run/redis.sock?namespace=ns":      `unknown scheme "unix"`,
		"redis:///run/redis.sock?namespace=ns":     "no host",
		"rediss://h?namespace=ns&skip_verify=true": `unknown option "skip_verify"`,
		"redis://h/x?namespace=ns":                 `database is "x"`,
		"redis://h/-1?namespace=ns": `the database is "-1"; it is a ` +
			`number from 0 on, as in redis://`,
		"redis://h/01?namespace=ns":          `database is "01"`,
		"redis://h?namespace=ns&colour=red":  "known are ca, cert",
		"redis://h?namespace=ns&ttl=10":      "unit",
		"redis://h?namespace=ns&ttl=500ms":   "at least 1s",
		"redis://h?namespace=ns&horizon=31s": "at most 30s",
		"redis://h?namespace=ns&skew=-1s": `option skew is "-1s"; it is a positive duration ` +
			"with a unit, for example 1s",
		"redis://h?namespace=ns&skew=5m": "SkewBound is 5m0s; it is positive and less " +
			"than 30s",
		"redis://user@h?namespace=ns":                     "password",
		"redis://u:sec@ret@h?namespace=ns":                "%40",
		"redis://h?namespace=ns&ca=x":                     "rediss://",
		"redis://h?namespace=ns&sentinel_password=secret": "unknown option",
		"redis-cluster://h/0?namespace=ns": "a Cluster has one database, and its " +
			"URL no path",
		"redis-cluster://h?namespace=ns&ca=x": "rediss-cluster://",
		"redis-sentinel://h?namespace=ns": "there is no name of a master; write " +
			"redis-sentinel://",
		"redis-sentinel://h/m/x?namespace=ns":               `database is "x"`,
		"redis-sentinel://h/m?namespace=ns&sentinel_user=a": "sentinel_password",
		"rediss://h?namespace=ns&cert=x": "cert and key belong together; " +
			"give both, or neither",
		"rediss-sentinel://h/m?namespace=ns&ca=/no/such/file":          "no such file",
		"rediss-cluster://h?namespace=ns&ca=" + junk:                   "no certificate",
		"rediss://h?namespace=ns&cert=" + old.Cert + "&key=" + old.Key: "valid from",
	})
}

// TestPlace: what leads to another namespace is another place.
func TestPlace(t *testing.T) {
	drivertest.Place(t, "redis://ann:secret@h/1?namespace=orders", "redis://h?namespace=orders",
		"redis://h/1?namespace=payments", "redis://i/1?namespace=orders")
	drivertest.Place(t, "redis-sentinel://h,i/main/0?namespace=orders",
		"redis-sentinel://h,i/other/0?namespace=orders", "redis-sentinel://h/main/0?namespace=orders")
	drivertest.Place(t, "redis-cluster://h,i?namespace=orders", "redis-cluster://h?namespace=orders")
}
