package etcd_test

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestTLS: a server that wants certificates, through the URL.
func TestTLS(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	servers, mine := ca.Issue(t), ca.Issue(t)
	server := etcdtest.StartTLS(t, etcdtest.TLS{CA: ca.Path, Cert: servers.Cert, Key: servers.Key})
	for name, tc := range map[string]struct{ url, says string }{
		"all right": {"etcds://" + server.Endpoint + "/ns?ca=" + ca.Path + "&cert=" +
			mine.Cert + "&key=" + mine.Key, ""},
		"no client certificate": {"etcds://" + server.Endpoint + "/ns?ca=" + ca.Path, server.Endpoint},
		"unknown authority": {"etcds://" + server.Endpoint + "/ns?cert=" + mine.Cert + "&key=" +
			mine.Key, "unknown authority"},
		"no TLS": {"etcd://" + server.Endpoint + "/ns", server.Endpoint},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := open(t, tc.url)
			if err == nil {
				_, err = c.Acquire(hurried(t), request(1))
			}
			switch {
			case tc.says == "" && err != nil:
				t.Error(err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("%v; want an error that says %q", err, tc.says)
			}
		})
	}
}
