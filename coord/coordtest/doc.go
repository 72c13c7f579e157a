// Package coordtest helps to test with coordinators: a suite that holds every
// driver to the rules of package coord, and a fake to test the users of a
// coordinator with.
//
// # The fake
//
// [Fake] is a back end in memory that keeps the rules and that misbehaves on
// demand, as networks and servers do: it loses requests or replies, delays,
// holds back, reorders and replays them, ends leases, raises the floor, and goes
// away altogether. It tells the time with time.Now, or with a clock that it is
// given, and waits with timers and channels alone, so it works inside the bubble
// of testing/synctest.
//
//	f := coordtest.NewFake(coordtest.FakeConfig{Workers: 4})
//	c := f.Client()                      // one participant
//	f.LoseReplies(coordtest.Renew, 2)    // the next two renewals are done, but nobody is told
//	f.Steal(3)                           // somebody else takes worker ID 3
//	slot := f.Slot(3)                    // what is stored
//
// Faults of one operation are used up in the order in which they were asked for,
// one a call; calls without a fault go through.
package coordtest
