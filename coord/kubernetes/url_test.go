package kubernetes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
)

// TestOpen: a URL leads to a grant.
func TestOpen(t *testing.T) {
	s := kubetest.Shared(t)
	drivertest.Opened(t, "kubernetes+http://"+s.Proxy(t)+"?namespace=ns&in="+s.Namespace(t))
}

// TestBadURL: errors name what is wrong, and no password.
func TestBadURL(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	drivertest.BadURLs(t, map[string]string{
		"kubernetes://?namespace=ns":                       "KUBERNETES_SERVICE_HOST is not set",
		"kubernetes:///path?namespace=ns":                  "there is a host or a path",
		"kubernetes://":                                    "there is no namespace",
		"kubernetes+http://h,i?namespace=ns":               "there are 2 hosts",
		"kubernetes+http://h:8001?namespace=ns&skew=-1s":   "is a positive duration",
		"kubernetes+http://h:8001?namespace=ns&skew=5m":    "SkewBound is 5m0s",
		"kubernetes+http://h:8001?namespace=ns&horizon=5m": "Horizon is 5m0s",
		"kubernetes+http://?namespace=ns":                  "there are 0 hosts",
		"kubernetes+http://ann:secret@h?namespace=ns":      "there is user information",
		"kubernetes+http://h:8001?namespace=ns&in=A_b":     "1 to 63 lower case letters",
		"kubernetes+http://h:8001?namespace=ns&role=a%20b": "1 to 253 characters and no space",
		"kubernetes+http://h:8001?namespace=ns&renew=20s":  "RenewEvery is 20s",
		"kubernetes+http://h:8001?namespace=ns&ttl=1s":     "at least 2s",
	})
}

// TestBadOptions: what New refuses.
func TestBadOptions(t *testing.T) {
	client, good := &http.Client{}, "https://10.0.0.1:443"
	const address = "the address of the API server is not understood; it is http:// or https:// " +
		"with a host"
	for name, tc := range map[string]struct {
		client          *http.Client
		base, namespace string
		options         kubernetes.Options
		says            string
	}{
		"no client":       {nil, good, "ns", kubernetes.Options{}, "the client is nil"},
		"no address":      {client, "", "ns", kubernetes.Options{}, address},
		"a user":          {client, "https://ann:secret@h", "ns", kubernetes.Options{}, address},
		"a bad namespace": {client, good, "a/b", kubernetes.Options{}, "namespace"},
		"In": {
			client, good, "ns",
			kubernetes.Options{In: "Shop"},
			`In is "Shop"; the name of a Kubernetes namespace has 1 to 63 lower case letters, digits ` +
				`and hyphens`,
		},
		"Role": {
			client, good, "ns",
			kubernetes.Options{Role: "a\nb"},
			`Role is "a\nb"; the name of a Role has 1 to 253 characters and no space, / or %`,
		},
		"SkewBound": {client, good, "ns", kubernetes.Options{SkewBound: -1}, "SkewBound is -1"},
	} {
		c, err := kubernetes.New(tc.client, tc.base, tc.namespace, tc.options)
		drivertest.WantInvalid(t, name, err, tc.says)
		if c != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
}
