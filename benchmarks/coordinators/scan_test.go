package coordinators

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// BenchmarkScan is what many do by hand: SET NX with a TTL on worker ID 0, 1, 2 and so
// on, until one is free. 1000 are held.
func BenchmarkScan(b *testing.B) {
	client := redistest.Start(b, redistest.Options{}).Client(b)
	ctx := context.Background()
	claim := func(id int) bool {
		ok, err := client.SetNX(ctx, "worker:"+strconv.Itoa(id), "holder", time.Minute).Result()
		if err != nil {
			b.Fatal(err)
		}
		return ok
	}
	for id := range 1000 {
		claim(id)
	}
	b.Run("coordinator=SETNX/held=1000/call=acquire", func(b *testing.B) {
		for b.Loop() {
			id := 0
			for !claim(id) {
				id++
			}
			b.StopTimer()
			if err := client.Del(ctx, "worker:"+strconv.Itoa(id)).Err(); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
}
