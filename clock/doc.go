// Package clock tells the time that IDs are stamped with.
//
// A Snowflake ID carries wall-clock time, so this package is about the wall
// clock and its vices: it can be stepped backward or forward by an operator or
// by NTP, it goes on while a machine is suspended, and two machines never agree
// on it. Nothing here hides that. A [Clock] reports what the operating system
// says, and package core decides what a step means for the IDs.
//
// # Which clock to use
//
//   - [System] is the operating system's wall clock, to within 33 us. It is the
//     default and what nearly everybody wants.
//   - [Coarse] returns a reading that a background tick refreshes about once a
//     millisecond. A call costs a memory load; the price is that IDs may carry a
//     time that is a tick or so old.
//   - clocktest.Manual and clocktest.Shifted are for tests: they stand still,
//     advance or step backward when they are told to.
//
// # Ticks
//
// The protocol between holders and coordinators counts time in integer ticks,
// never in durations: a tick is one time unit of the ID layout, counted from
// the layout's epoch. [Scale] is the one place where wall-clock readings become
// ticks and ticks become wall-clock readings. Comparing in one unit and stamping
// in another is how other generators issued duplicates.
//
// # Writing a clock
//
// A Clock is one method. Two optional interfaces refine it: [Fresher] for a
// clock whose ordinary reading may be stale, and [Alarmer] for a clock that does
// not run with the machine's time.
package clock
