package unalike_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/unalike-id/unalike"
)

// All processes of this machine that open the same file make different IDs.
func ExampleOpen() {
	const file = "orders.ids" // in the working directory; the first process makes it
	ctx := context.Background()
	ids, err := unalike.Open(ctx, "file:"+file, unalike.Config{})
	if err != nil {
		log.Print(err)
		return
	}
	first, err := ids.Next()
	if err != nil {
		log.Print(err)
	}
	second, err := ids.Next()
	if err != nil {
		log.Print(err)
	}
	fmt.Println(second > first)
	if err := ids.Close(ctx); err != nil {
		log.Print(err)
	}
	_ = os.Remove(file) // of this example; a program keeps it
	_ = os.Remove(file + ".lock")
	// Output: true
}
