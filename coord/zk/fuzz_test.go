package zk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/protocol"
)

// FuzzWire: what a server sends is refused or followed, the same in whatever pieces it
// comes, and the length of a packet is never believed beyond the limit.
func FuzzWire(f *testing.F) {
	greeting := framed(37, hello(4*time.Second, 42))
	ping := framed(16, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 0xfffffffe00000000), 1<<40))
	f.Add(slices.Concat(greeting, ping, ping), uint8(1))
	f.Add(slices.Concat(greeting, framed(2000, nil)), uint8(3))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), uint8(7))
	f.Add(framed(1<<31+5, nil), uint8(200))
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		whole, seenWhole := newWire(&silent{}, time.Minute)
		parts, seenParts := newWire(&silent{}, time.Minute)
		errWhole := whole.look(stream)
		var errParts error
		for rest := range slices.Chunk(stream, max(int(piece), 1)) {
			if errParts = parts.look(rest); errParts != nil {
				break
			}
		}
		seenWhole.greeting.took, seenParts.greeting.took = 0, 0
		if (errWhole == nil) != (errParts == nil) || errWhole != nil && errWhole.Error() != errParts.Error() ||
			seenWhole.greeting != seenParts.greeting || whole.shaken != parts.shaken {
			t.Errorf("%x: %v with %+v; in pieces of %d: %v with %+v", stream, errWhole, seenWhole, piece, errParts, seenParts)
		}
		if errWhole == nil && (whole.size > lengthBytes+max(whole.limit, handshakeMost) || whole.have > max(whole.size, lengthBytes)) {
			t.Errorf("%x: a packet of %d bytes is waited for, and has %d", stream, whole.size, whole.have)
		}
		if seenWhole.greeting.timeout < 0 {
			t.Errorf("%x: %+v", stream, seenWhole)
		}
	})
}

// silent is a connection to nobody.
type silent struct{ net.Conn }

func (silent) SetDeadline(time.Time) error     { return nil }
func (silent) SetReadDeadline(time.Time) error { return nil }
func (silent) RemoteAddr() net.Addr            { return &net.TCPAddr{} }
func (silent) Write(b []byte) (int, error)     { return len(b), nil }
func (silent) Read([]byte) (int, error)        { return 0, io.EOF }

// FuzzStored: the value of a node is read as what the driver has written there, or refused
// with the name of the node.
func FuzzStored(f *testing.F) {
	space := coord.Space{Fingerprint: "test", Scale: clock.Scale{Unit: 1000}, LastTick: 1 << 41, Capacity: 1024}
	slot := protocol.Slot{Version: protocol.Version, Worker: 3, Token: "token", Generation: 1, NotAfter: 10, LastTick: 1 << 41, TTL: 15_000}
	for _, r := range []protocol.Record{protocol.NewMeta(space), slot, protocol.PointerTo(3), protocol.MarkOf(slot)} {
		s, err := protocol.Encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(s))
	}
	for _, s := range []string{"", "{}", `{"version":2}`, `{"version":1,"worker":3}{}`, `{"worker":3,"version":1}`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		st := &store{nodes: newFolder("/apps", "orders")}
		r := reply{data: value, stat: &client.Stat{Version: 4, Czxid: 2}}
		meta, err := st.metaOf(r)
		asStored(t, st.nodes.meta(), meta, err, value)
		slot, err := st.slotOf(3, r)
		asStored(t, st.nodes.slot(3), slot, err, value)
		if err == nil && slot.Record.Worker != 3 {
			t.Errorf("%q is read as the slot of worker ID 3", value)
		}
		pointer, err := read[protocol.Pointer](st.nodes.token("t"), r)
		asStored(t, st.nodes.token("t"), pointer, err, value)
	})
}

// asStored checks what was read of a node, or why it was refused.
func asStored[R protocol.Record](t *testing.T, path string, e protocol.Entry[R], err error, value []byte) {
	t.Helper()
	if err != nil {
		if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), `node "`+path+`"`) {
			t.Errorf("%q: %v", value, err)
		}
		return
	}
	if s, err := protocol.Encode(e.Record); err != nil || s != string(value) || !bytes.Equal(e.Raw, value) || !e.There() {
		t.Errorf("%q is read as %+v, %v", value, e, err)
	}
}

// FuzzNames: names of nodes stand for what they were made from, and for nothing else.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", ".", "..", "a.b", "a/b", "%2F", "☃", "\x00\xff", "0000000007", "7", "-000000007", "9999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := escape(s)
		if back, err := url.PathUnescape(name); err != nil || back != s || strings.Trim(name, "%-_.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" || strings.HasPrefix(name, ".") {
			t.Errorf("%q becomes %q, and then %q, %v", s, name, back, err)
		}
		id, err := workerOf("/owners", s)
		switch {
		case err != nil && !errors.Is(err, coord.ErrInvalid):
			t.Errorf("%q: %v", s, err)
		case err == nil && (digits(id) != s || id < 0):
			t.Errorf("%q is read as worker ID %d", s, id)
		}
	})
}

// FuzzURL: a URL is refused as invalid, or gives options that are allowed.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"zk://h/?namespace=ns", "zk://u:p@h1:1,[::1]/apps?namespace=ns&ttl=20s&horizon=40s&renew=4s&skew=2s", "zk://h/a/../b?namespace=ns",
		"zk://h/apps/?namespace=ns", "zk://h//a?namespace=ns", "zk://u%3A:p@h?namespace=n", "zk://h,h:2181?namespace=n", "zk:///?namespace=n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := driver.ParseURL(s)
		if err != nil {
			return
		}
		namespace, opts, err := parse(u)
		var c *Coordinator
		if err == nil {
			c, err = New(u.Hosts, namespace, opts)
		}
		if err != nil {
			if c, err := open(t.Context(), u); !errors.Is(err, coord.ErrInvalid) || c != nil {
				t.Errorf("%q: %v, %v", s, c, err)
			}
			return
		}
		_ = c.Close()
		if driver.CheckNamespace(namespace) != nil || opts.SkewBound < 0 || (opts.User == "") != (opts.Password == "") || strings.HasSuffix(opts.Chroot, "/") {
			t.Errorf("%q is read as %q, %+v", s, namespace, opts)
		}
	})
}
