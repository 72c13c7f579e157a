package worker

import (
	"fmt"
	"net/http"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/kubernetes"
)

// openKubernetes opens a URL of a Kubernetes cluster.
func (p *pools) openKubernetes(u *driver.URL, o kubernetes.Options) (coord.Coordinator, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := fmt.Sprint(u.Hosts, u.Option("namespace"), u.Option("in"), o.Lease, o.SkewBound)
	if c, ok := p.kubernetes[at]; ok {
		return shared{c}, nil
	}
	o.In = u.Option("in")
	c, err := kubernetes.New(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: kubernetesConns}}, "http://"+u.Hosts[0], u.Option("namespace"), o)
	if err != nil {
		return nil, err
	}
	if p.kubernetes == nil {
		p.kubernetes = map[string]*kubernetes.Coordinator{}
	}
	p.kubernetes[at] = c
	return shared{c}, nil
}

// kubernetesConns is how many connections wait for requests.
const kubernetesConns = 8

// shared is a coordinator that several generators use. It ends with the process.
type shared struct{ *kubernetes.Coordinator }

// Close does nothing.
func (shared) Close() error { return nil }
