package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/certtest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// pod is an instance as a cluster sees it.
type pod struct {
	*served
	to    *httputil.ReverseProxy
	probe string // its URL
	ready atomic.Bool
}

// balancer leads each request to a pod that is ready as far as its probe has said, and does nothing
// else: a pod that ends goes on getting requests until the probe has seen it.
type balancer struct {
	mu   sync.Mutex
	pods []*pod
	next int
	took sync.Map // how many requests went to each
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	var one *pod
	for range b.pods {
		b.next++
		if p := b.pods[b.next%len(b.pods)]; p.ready.Load() {
			one = p
			break
		}
	}
	b.mu.Unlock()
	if one == nil {
		http.Error(w, "no pod is ready", http.StatusServiceUnavailable)
		return
	}
	n, _ := b.took.LoadOrStore(one, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
	one.to.ServeHTTP(w, r)
}

// put adds a pod, and takes another one away.
func (b *balancer) put(in, out *pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if in != nil {
		b.pods = append(b.pods, in)
	}
	for i, p := range b.pods {
		if p == out {
			b.pods = append(b.pods[:i], b.pods[i+1:]...)
			break
		}
	}
}

// TestRollingUpdate: with the probe, the drain and the strategy of the manifests, two instances
// under load are replaced one after the other, and no request fails.
func TestRollingUpdate(t *testing.T) {
	t.Parallel()
	fulltest.Long(t, "two instances drain for five seconds each")
	all := objectsOf(t, read(t, manifests))
	deployment := kind(t, all, "Deployment")
	if deployment.at(t, "spec/replicas") != 2 ||
		deployment.at(t, "spec/strategy/rollingUpdate/maxSurge") != 1 ||
		deployment.at(t, "spec/strategy/rollingUpdate/maxUnavailable") != 0 {
		t.Fatal("the deployment is not of two, of which one new one comes before an old one goes")
	}
	etcd := etcdtest.Start(t)
	file := kind(t, all, "ConfigMap").at(t, "data/serve.yaml").(string)
	folder := t.TempDir()
	file = strings.NewReplacer("kubernetes://?namespace=ids", "etcd://"+etcd.Endpoint+"/ids", ":8080",
		"127.0.0.1:0", "/var/lib/unalike/", folder+"/$-").Replace(file)
	begin := func() *pod {
		admin := proctest.FreePorts(t, 1)[0]
		own := strings.NewReplacer(":8081", fmt.Sprintf("127.0.0.1:%d", admin), "/$",
			fmt.Sprintf("/%d", admin)).Replace(file)
		path := put(t, folder, "serve.yaml", own)
		var args []string
		for _, a := range deployment.at(t, "spec/template/spec/containers/0/args").([]any) {
			args = append(args, strings.Replace(a.(string), "/etc/unalike/serve.yaml", path, 1))
		}
		s := start(t, exec.Command(command(t), args...)) //nolint:gosec // it is ours
		u, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		return &pod{
			served: s, to: httputil.NewSingleHostReverseProxy(u),
			probe: fmt.Sprintf("http://127.0.0.1:%d%s", admin,
				deployment.at(t, "spec/template/spec/containers/0/readinessProbe/httpGet/path")),
		}
	}
	ctx, end := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer end()
	period := time.Duration(deployment.at(t,
		"spec/template/spec/containers/0/readinessProbe/periodSeconds").(int)) * time.Second
	if deployment.at(t, "spec/template/spec/containers/0/readinessProbe/failureThreshold") != 1 {
		t.Fatal("this test knows one failure alone")
	}
	kubelet := &http.Client{Timeout: period, Transport: &http.Transport{DisableKeepAlives: true}}
	watch := func(p *pod) {
		work.Go(func() {
			for ctx.Err() == nil {
				resp, err := kubelet.Get(p.probe) //nolint:noctx // it has a timeout
				if err == nil {
					_ = resp.Body.Close()
				}
				p.ready.Store(err == nil && resp.StatusCode == http.StatusOK)
				select {
				case <-time.After(period):
				case <-p.proc.Done():
					return
				case <-ctx.Done():
				}
			}
		})
	}
	b := &balancer{}
	add := func() *pod {
		p := begin()
		watch(p)
		for limit := time.Now().Add(time.Minute); !p.ready.Load(); {
			if time.Now().After(limit) {
				t.Fatalf("not ready\n%s", p.log)
			}
			<-time.After(50 * time.Millisecond)
		}
		b.put(p, nil)
		return p
	}
	old := []*pod{add(), add()}
	front := httptest.NewServer(b)
	defer front.Close()
	asked := load(ctx, t, &work, front.URL)
	for _, p := range old {
		next := add()
		p.stop() // which takes requests until the probe has seen it
		b.put(nil, p)
		if n, ok := b.took.Load(next); !ok || n.(*atomic.Int64).Load() == 0 {
			t.Errorf("the new instance had no request")
		}
	}
	end()
	work.Wait()
	if asked.Load() < 100 {
		t.Errorf("%d requests alone", asked.Load())
	}
	t.Logf("%d requests, none failed", asked.Load())
}

// load asks for IDs with eight callers until ctx ends, and fails the test if one gets none, or one
// again.
func load(ctx context.Context, t *testing.T, work *sync.WaitGroup, url string) *atomic.Int64 {
	t.Helper()
	var asked atomic.Int64
	var seen sync.Map
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 8},
	}
	t.Cleanup(client.CloseIdleConnections)
	for n := range 8 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				// Whatever repeats a request by itself does not do so with these.
				//nolint:noctx // it has a timeout
				resp, err := client.Post(url+"/v1/generators/default/ids?count=1", "text/plain",
					http.NoBody)
				if err != nil {
					t.Errorf("caller %d: %v", n, err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK {
					t.Errorf("caller %d, request %d: %d %s, %v", n, i, resp.StatusCode, body, err)
					return
				}
				if _, again := seen.LoadOrStore(string(body), true); again {
					t.Errorf("caller %d: %s again", n, body)
				}
				asked.Add(1)
				<-time.After(2 * time.Millisecond)
			}
		})
	}
	return &asked
}

// makeSecrets makes what a Secret has.
func makeSecrets(t *testing.T, folder string) {
	t.Helper()
	pair := certtest.New(t).Issue(t)
	put(t, folder, "tls.crt", read(t, pair.Cert))
	put(t, folder, "tls.key", read(t, pair.Key))
	put(t, folder, "token", "token-of-the-test\n")
}
