// Package driver has what those share who write a driver for package coord and make it known
// by a URL scheme: the parser of URLs, and the checks that all drivers make alike. What a
// coordinator has to do is said in package coord, and package coordtest holds it to that.
//
//	func init() { driver.Register("toy", open) }
//
//	func open(ctx context.Context, u *driver.URL) (coord.Coordinator, error) {
//		if err := u.CheckOptions("namespace"); err != nil {
//			return nil, err
//		}
//		return newCoordinator(u.Hosts, u.Option("namespace"), u.Logger)
//	}
package driver
