package client_test

import (
	"context"
	"net/http"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/unalike-id/unalike/core"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

// FuzzReply: whatever comes as a reply, the client has its IDs if it has as many as were asked for,
// all of 63 bits, and none otherwise.
func FuzzReply(f *testing.F) {
	const count = 5
	for _, runs := range [][]*unalikev1.Run{
		{{First: 7, Count: 5}},
		{{First: 7, Count: 3}, {First: 20, Count: 2}},
		{{First: 1<<63 - 5, Count: 5}},
		{{First: 1<<63 - 4, Count: 5}},
		{{First: 7, Count: 4}},
		{{First: 7}, {First: 7, Count: 5}},
		{{First: 7, Count: 1<<32 - 1}, {First: 7, Count: 6}},
		nil,
	} {
		text, err := proto.Marshal(&unalikev1.GenerateResponse{
			NamespaceNonce: "n", Layout: "l",
			Runs: runs,
		})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)-1])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		asked := false
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			asked = true
			w.Header().Set("Content-Type", "application/proto")
			_, _ = w.Write(body)
		})
		c := network{"a": handler}.client(t, stocks(count), "a")
		defer c.Close()
		ids := make([]core.ID, count)
		n, err := c.Fill(context.Background(), ids)
		want := idsIn(body, count)
		if (err == nil) != (want != nil) || n != len(want) {
			t.Fatalf("%d IDs, %v; want %v", n, err, want)
		}
		for i := range want {
			if ids[i] != want[i] {
				t.Fatalf("%v; want %v", ids, want)
			}
		}
	})
}

// idsIn returns the IDs of a reply one by one; nil: it is not one with so many.
func idsIn(body []byte, count int) []core.ID {
	var resp unalikev1.GenerateResponse
	if proto.Unmarshal(body, &resp) != nil || resp.Layout == "" {
		return nil
	}
	var ids []core.ID
	for _, run := range resp.Runs {
		if run.Count == 0 || uint64(run.Count) > uint64(count) {
			return nil
		}
		for i := range uint64(run.Count) {
			if id := run.First + i; id < 1<<63 && id >= run.First {
				ids = append(ids, core.ID(id))
			} else {
				return nil
			}
		}
	}
	if len(ids) != count {
		return nil
	}
	return ids
}
