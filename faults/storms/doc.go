// Package storms runs mixtures of all faults at once: a seed decides which processes and generators there are,
// and what happens to them, to the network, to the servers and to their clocks, and when. A seed repeats its
// schedule; what the processes do meanwhile is up to the machine.
package storms
