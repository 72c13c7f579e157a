package core

import "context"

// Fill fills dst with IDs and returns how many it wrote, which is len(dst) unless
// there is an error. The IDs of one tick are taken with a single compare-and-swap,
// so it is much cheaper per ID than Next. It waits like NextContext, for ticks and
// for the coordinator, and allocates nothing unless it waits. With an error, the first n
// IDs of dst are good to use. An empty dst is filled at once, whatever ctx says.
//
// With one worker ID the IDs are in ascending order, though not necessarily
// without gaps: others may get IDs in between.
func (g *Generator) Fill(ctx context.Context, dst []ID) (n int, err error) {
	for n < len(dst) {
		if err := g.begin(ctx); err != nil {
			return n, err
		}
		a := g.grab(len(dst) - n)
		for a.verdict != issue {
			if err := g.waitFor(ctx, &a, true); err != nil {
				return n, err
			}
		}
		first := g.id(a.term, a.word)
		for i := range dst[n : n+a.got] {
			dst[n+i] = first + ID(i)
		}
		n += a.got
	}
	return n, nil
}
