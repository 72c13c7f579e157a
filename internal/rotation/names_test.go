package rotation

import (
	"context"
	"encoding/binary"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/proxytest"
)

// names answers questions of DNS: each name has one address of IPv4, which may change.
type names struct {
	mu        sync.Mutex
	addresses map[string]net.IP // by the name, with a dot at its end
}

// set gives a name an address.
func (n *names) set(name, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses[name+"."] = net.ParseIP(address).To4()
}

// serve answers until conn is closed.
func (n *names) serve(conn net.PacketConn) {
	buffer := make([]byte, 512)
	for {
		size, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		if a := n.answer(buffer[:size]); a != nil {
			_, _ = conn.WriteTo(a, from)
		}
	}
}

// answer returns the answer to a message with one question.
func (n *names) answer(message []byte) []byte {
	const header, wantsIPv4 = 12, 1
	var name strings.Builder
	at := header
	for at < len(message) && message[at] > 0 {
		end := at + 1 + int(message[at])
		name.Write(message[at+1 : end])
		name.WriteByte('.')
		at = end
	}
	question := message[header : at+5]
	n.mu.Lock()
	defer n.mu.Unlock()
	address := n.addresses[name.String()]
	known := address != nil && binary.BigEndian.Uint16(question[len(question)-4:]) == wantsIPv4
	out := append([]byte{}, message[:2]...)
	out = append(out, 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0)
	out = append(out, question...)
	if known {
		out[7] = 1
		out = append(out, 0xc0, header, 0, wantsIPv4, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, address...)
	}
	return out
}

// resolve has the process ask n for the addresses of names, until end is called.
func (n *names) resolve() (end func(), err error) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		n.serve(conn)
	}()
	usual := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
		},
	}
	return func() {
		net.DefaultResolver = usual
		_ = conn.Close()
		<-served
	}, nil
}

// TestHosts_AreLookedUpAgain: each connection goes to the address that the name of the host has
// then.
func TestHosts_AreLookedUpAgain(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this system has one address of its own: %v", err)
	}
	_ = l.Close()
	address := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
	for _, b := range backEnds {
		if b.name == "Redis Sentinel" || b.name == "Redis Cluster" {
			continue // the servers tell each other's addresses
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			options, _, write := b.files(t)
			write("ann", "secret")
			host := strings.ToLower(strings.ReplaceAll(b.name, " ", "-")) + ".test"
			hosts.set(host, "127.0.0.1")
			uses, change := b.login(t)
			change("ann", "secret")
			var all calls
			var first *proxytest.Proxy
			for _, u := range uses {
				server := address.FindString(u.url)
				if first == nil {
					first = proxytest.Start(t, server)
				}
				_, port, _ := strings.Cut(first.Addr, ":")
				u.url = strings.Replace(u.url, server, host+":"+port, 1)
				all = append(all, u.open(t, options))
			}
			first.Refuse()
			_, port, _ := strings.Cut(first.Addr, ":")
			moved := proxytest.StartAt(t, "127.0.0.2:"+port, address.FindString(uses[0].url))
			hosts.set(host, "127.0.0.2")
			change("ann", "secret") // which ends connections that go around the proxy
			all.each(t, "a call goes to the new address", func(err error) bool {
				return err == nil && moved.Connections() > 0
			})
		})
	}
}
