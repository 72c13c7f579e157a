package file_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/file"
)

// temporary returns a path in a new folder, and a function that removes the folder.
func temporary() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "unalike")
	if err != nil {
		log.Fatal(err)
	}
	return filepath.Join(dir, "numbers"), func() { _ = os.RemoveAll(dir) }
}

// A program numbers its orders and invoices.
func ExampleNew() {
	path, remove := temporary()
	defer remove()
	ctx := context.Background()
	store, err := file.New(path, file.Options{Namespace: "shop"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	for _, tag := range []string{"orders", "invoices"} { // once, by whoever sets the program up
		if err := store.Create(ctx, segment.Tag{Name: tag, Next: 1, Step: 100}); err != nil {
			fmt.Println(err)
			return
		}
	}
	var numbers *segment.Set
	if numbers, err = segment.NewSet(ctx, store, segment.Config{}); err != nil {
		fmt.Println(err)
		return
	}
	defer numbers.Close(ctx) // gives back those that were not used
	order, err := numbers.Next(ctx, "orders")
	fmt.Println("order", order, err)
	invoice, err := numbers.Next(ctx, "invoices")
	fmt.Println("invoice", invoice, err)
	// Output:
	// order 1 <nil>
	// invoice 1 <nil>
}

// After a backup was restored, an operator raises all tags above every number in use, and removes
// the groups of past years. A store that cannot do one of these lacks the method.
func ExampleStore() {
	path, remove := temporary()
	defer remove()
	ctx := context.Background()
	store, err := segment.Open(ctx, "file:"+path, segment.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	if s, ok := store.(segment.Creator); ok {
		if err := s.Create(ctx, segment.Tag{Name: "orders", Next: 1, Step: 100}); err != nil {
			fmt.Println(err)
			return
		}
	}
	if s, ok := store.(segment.Advancer); ok {
		fmt.Println(s.AdvanceAll(ctx, 5000))
	}
	if s, ok := store.(segment.Pruner); ok {
		fmt.Println(s.Prune(ctx, "orders", time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)))
	}
	if s, ok := store.(segment.Warner); ok {
		fmt.Println(s.Warnings()) // of settings with which the store can lose numbers
	}
	if s, ok := store.(segment.Clock); ok {
		now, err := s.Now(ctx)
		fmt.Println("the store has a clock of its own:", now, err)
	}
	tag, err := store.Tag(ctx, "orders")
	var (
		back    *segment.WentBackError
		changed *segment.StoreChangedError
	)
	switch {
	case errors.As(err, &back):
		fmt.Println("raise the tag above", back.Above)
	case errors.As(err, &changed):
		fmt.Println("the store was", changed.Was, "and is", changed.Here)
	default:
		fmt.Println(tag.Next, err)
	}
	// Output:
	// <nil>
	// 0 <nil>
	// 5001 <nil>
}
