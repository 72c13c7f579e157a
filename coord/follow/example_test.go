package follow_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/core"
)

// An operator's program that moves a namespace to another cluster. It imports the drivers of
// both, coord/redis and coord/etcd here, and runs while the generators of both are stopped.
func Example() {
	move := func(ctx context.Context) (err error) {
		prev, err := coord.Open(ctx, "redis://old:6379/0?namespace=orders", coord.OpenOptions{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, prev.Close()) }()
		next, err := coord.Open(ctx, "etcd://etcd1:2379,etcd2:2379,etcd3:2379/orders",
			coord.OpenOptions{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, next.Close()) }()
		floor, err := follow.Namespace(ctx, next, prev, core.DefaultLayout().Space())
		if err != nil {
			return err // next must not be used; running this again is safe
		}
		fmt.Println("start the new generators; their IDs begin after", floor)
		return nil
	}
	_ = move
}

// Who still holds a worker ID of a namespace that is to be followed, and how far it has come.
func ExampleEndOf() {
	look := func(ctx context.Context, prev coord.Coordinator) error {
		end, err := follow.EndOf(ctx, prev, core.DefaultLayout().Space())
		if held, ok := errors.AsType[*follow.HeldError](err); ok {
			for _, s := range held.Slots {
				log.Printf("worker ID %d is held by %s", s.WorkerID, s.Holder)
			}
		}
		if err != nil {
			return err
		}
		fmt.Println("nothing was issued after", end.Until.Format(time.RFC3339))
		return nil
	}
	_ = look
}
