package etcdclient

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/unalike-id/unalike/internal/tlsfiles"
)

// fileCredentials is the TLS of a client, which reads its files for each connection.
type fileCredentials struct {
	credentials.TransportCredentials // what does not depend on the files
	files                            *tlsfiles.Files
}

func credentialsOf(files *tlsfiles.Files) credentials.TransportCredentials {
	return fileCredentials{credentials.NewTLS(nil), files}
}

// ClientHandshake implements [credentials.TransportCredentials].
func (c fileCredentials) ClientHandshake(ctx context.Context, authority string,
	conn net.Conn,
) (net.Conn, credentials.AuthInfo, error) {
	config, err := c.files.Client()
	if err != nil {
		return nil, nil, err
	}
	return credentials.NewTLS(config).ClientHandshake(ctx, authority, conn)
}

// Clone implements [credentials.TransportCredentials].
func (c fileCredentials) Clone() credentials.TransportCredentials { return c }
