package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
)

// ErrNeedsToken says that an address can be reached from other machines and no token protects it.
var ErrNeedsToken = errors.New("an admin address that is not loopback needs a token: set SLUICE_ADMIN_TOKEN or admin.token_file")

// Listen opens the admin listener: HOST:PORT, or unix:PATH. An address that is neither loopback nor a socket is refused
// when token is "".
func Listen(addr, token string) (net.Listener, error) {
	if path, ok := SocketPath(addr); ok {
		return listenSocket(path)
	}
	if token == "" && !loopback(addr) {
		return nil, fmt.Errorf("listen on %s: %w", addr, ErrNeedsToken)
	}
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("open admin listener: %w", err)
	}
	return ln, nil
}

// loopback tells whether only this machine can reach an address. A name other than localhost counts as reachable: what
// it resolves to may change.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}

// maxToken bounds the token file: something larger is not a token.
const maxToken = 4096

// ReadToken is the admin token: the value of SLUICE_ADMIN_TOKEN, else the text of file, else "". Space around it does not
// count.
func ReadToken(file string, env func(string) (string, bool)) (string, error) {
	if t, ok := env("SLUICE_ADMIN_TOKEN"); ok && strings.TrimSpace(t) != "" {
		return strings.TrimSpace(t), nil
	}
	if file == "" {
		return "", nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read admin token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	switch {
	case token == "":
		return "", fmt.Errorf("read admin token: %s is empty", file)
	case len(token) > maxToken:
		return "", fmt.Errorf("read admin token: %s is larger than %d bytes", file, maxToken)
	}
	return token, nil
}
