// Package coordtest helps to test with coordinators: a suite that holds every
// driver to the rules of package coord, and a fake to test the users of a
// coordinator with.
//
// # The fake
//
// [Fake] is a back end in memory that keeps the rules and that misbehaves on
// demand, as networks and servers do: it loses requests or replies, delays,
// holds back, reorders and replays them, ends leases, raises the floor, and goes
// away altogether. It tells the time with time.Now, and waits with timers and channels
// alone, so it works inside the bubble of testing/synctest.
//
//	f := coordtest.NewFake(coordtest.FakeConfig{Workers: 4})
//	c := f.Client()                      // one participant
//	f.LoseReplies(coordtest.Renew, 2)    // the next two renewals are done, but nobody is told
//	f.Steal(3)                           // somebody else takes worker ID 3
//	slot := f.Slot(3)                    // what is stored
//
// Faults of one operation are used up in the order in which they were asked for,
// one a call; calls without a fault go through.
//
// # The suite
//
// The test of a driver hands [Run] a function that makes a [Harness]: participants
// on one back end, and the means to do to them what happens in life.
//
//	func TestConformance(t *testing.T) {
//		coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
//			ns := newNamespace(tb)
//			return coordtest.Harness{
//				Client: func(tb testing.TB, _ coord.Range) coord.Coordinator { return connect(tb, ns) },
//				Expire: func(tb testing.TB, g coord.Grant) { deleteLease(tb, ns, g.WorkerID) },
//			}
//		})
//	}
//
// [RunAdmin] is beside it, for what an operator does with a namespace, and [RunBetween],
// for what can happen between two calls of one operation.
//
// The names of the cases say what is required; package coord has the numbered
// rules. What a back end cannot do is left out of the harness, and the cases that
// need it are skipped with a message. The suite waits for nothing to happen by
// itself: Expire and Crash return when what they do is done. It stays within 30 s
// of the present, so that a back end with a clock accepts its requests; in all it
// makes some 400 calls and ends some 50 leases.
//
// The suite is itself tested with coordinators that are wrong in one way each:
// every case has to find at least one of them.
package coordtest
