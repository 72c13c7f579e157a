// Package file keeps the numbers of package segment in a file, for the processes of one machine,
// without a server. It is what package coord/file is for worker IDs, and both can use one file.
//
// As a URL for segment.Open, with this package imported for its side effect:
//
//	file:///var/lib/app/numbers?namespace=orders
//
// Or as a value:
//
//	store, err := file.New("/var/lib/app/numbers", file.Options{Namespace: "orders"})
//
// The namespace is "default" if none is named. The file works where that of package coord/file
// does, and locks and writes it in the same way. Takes of one process that wait at the same time
// share one write.
//
// # Losses
//
// The file PATH.mark next to the file PATH counts its changes. A file is refused with
// segment.ErrStoreChanged if it is missing or older than its mark or than this process saw it, or
// if another machine wrote it. 'unalike segments advance --all' accepts the file as it is; then
// create lost tags again, above the numbers in use. A copy of the machine, or of the whole
// directory, is not noticed.
package file
