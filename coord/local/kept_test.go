package local

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestForeignFiles: a file of somebody else that is as long as a state file.
func TestForeignFiles(t *testing.T) {
	for name, content := range map[string][]byte{
		"of that length": bytes.Repeat([]byte("precious"), 2*recordSize/8),
		"newer version":  []byte(heading + " v2 2 00\n{}\n"),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if err := os.WriteFile(r.file(), content, 0o600); err != nil {
				t.Fatal(err)
			}
			p := r.start()
			_, err := p.Acquire(r.ctx(), r.request(4))
			if now, _ := os.ReadFile(r.file()); !bytes.Equal(now, content) {
				t.Fatalf("a file that is not this program's is written over: %v", err)
			}
		})
	}
}

// TestTruncated: a file that was truncated while it was in use, and of which nothing is
// left but zeros after a loss of power.
func TestTruncated(t *testing.T) {
	t.Run("in use", func(t *testing.T) {
		r := newRig(t)
		p := r.start()
		p.acquire(4)
		p.known()
		for {
			p.Coordinator.mu.Lock()
			next := p.Coordinator.file.next
			p.Coordinator.mu.Unlock()
			if next%2 == 1 {
				break
			}
			p.known()
		}
		if err := os.Truncate(r.file(), 0); err != nil {
			t.Fatal(err)
		}
		p.known()
		p.kill()
		if _, err := r.start().Acquire(r.ctx(), r.request(4)); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("zeros", func(t *testing.T) {
		r := newRig(t)
		if err := os.WriteFile(r.file(), make([]byte, 4096), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.start().Acquire(r.ctx(), r.request(4)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestOneTooMany: what has no room in the file ends those that have.
func TestOneTooMany(t *testing.T) {
	r := newRig(t)
	p := r.start()
	req := r.request(1024)
	req.Identity = strings.Repeat("i", 128)
	g, err := p.Acquire(r.ctx(), req)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for range 400 {
		req := r.request(1024)
		req.Identity = strings.Repeat("i", 128)
		if _, err := p.Acquire(r.ctx(), req); err != nil {
			refused++
			t.Log(err)
			break
		}
	}
	if refused == 0 {
		t.Fatal("all 400 have room in the file")
	}
	for began := tickNow(); tickNow() < began+4_000; {
		if g, err = p.Renew(r.ctx(), g, tickNow()+horizon); err != nil {
			t.Fatalf("the first holder has no window any more: %v", err)
		}
	}
}

// TestMode: whoever has the token can go on as the holder.
func TestMode(t *testing.T) {
	r := newRig(t)
	r.start().acquire(4)
	if info, err := os.Stat(r.file()); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Fatalf("everybody may read the tokens: %v %v", info.Mode(), err)
	}
}
