// Package filesys has what the drivers that keep files need of the system.
//
// A file that is to be replaced safely is written under another name, synced, and
// renamed. The rename is a change of the folder, not of the file: until the folder is
// synced as well, a power failure may bring back the file that was renamed over.
package filesys
