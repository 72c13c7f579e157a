// Package verify looks for IDs that there should not be: equal ones, impossible ones, and IDs of
// one worker ID that are out of order. It reads any number of IDs in bounded memory, and says what
// may have caused the duplicates.
package verify
