package coord_test

import (
	"context"
	"fmt"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// A coordinator of one's own, here one in memory, is used as any other. Its code, which is in
// example_coordinator_test.go, imports this package alone and passes package coordtest.
func ExampleCoordinator() {
	ctx := context.Background()
	c := &inMemory{slots: map[int]slot{}}
	defer c.Close()
	g, err := core.New(ctx, c, core.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close(ctx)
	id, err := g.Next()
	fmt.Println(g.Layout().Decompose(id).WorkerID, err)
	// Output: 0 <nil>
}

// A grant that is kept in a file can be used by the next process, with [coord.Resumer].
func ExampleGrant_MarshalText() {
	g := coord.Grant{
		WorkerID: 7, Generation: 3, Token: "4XTFQV", NotBefore: 89120000,
		NotAfter: 89130000,
	}
	text, err := g.MarshalText()
	fmt.Println(string(text), err)

	var read coord.Grant
	err = read.UnmarshalText(text)
	fmt.Println(read, err)
	// Output:
	// unalike-grant v1 worker=7 generation=3 notBefore=89120000 notAfter=89130000 token="4XTFQV" <nil>
	// worker ID 7, generation 3, window (89120000, 89130000] <nil>
}
