package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/host/admin"
	"github.com/spf13/cobra"
)

const defaultAdmin = "http://127.0.0.1:9090"

// client talks to the admin API of a running server.
type client struct {
	name  string // of the address, for people
	base  string
	token string
	http  http.Client
}

func adminFlag(cmd *cobra.Command, v *string) {
	cmd.PersistentFlags().StringVar(v, "admin", "", "URL of the server's admin API, or unix:PATH (default $SLUICE_ADMIN, else "+defaultAdmin+")")
}

// newClient reads the address from the flag, else SLUICE_ADMIN, else the default, and the token from the environment.
func newClient(t terminal, addr string) (*client, error) {
	addr = orDefault(orDefault(addr, t.getenv("SLUICE_ADMIN")), defaultAdmin)
	if path, ok := admin.SocketPath(addr); ok {
		return newSocketClient(addr, path), nil
	}
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, usageErrorf("admin address %q must be like %s or unix:PATH", addr, defaultAdmin)
	}
	token, err := admin.ReadToken(t.getenv("SLUICE_ADMIN_TOKEN_FILE"), t.env)
	if err != nil {
		return nil, usageError{err}
	}
	base := u.Scheme + "://" + u.Host
	c := &client{name: base, base: base, token: token}
	c.http.Transport = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ResponseHeaderTimeout: answerTimeout,
	}
	return c, nil
}

const (
	dialTimeout   = 10 * time.Second
	answerTimeout = 2 * time.Minute // a large policy takes a while to compile
)

// newSocketClient needs no token: the socket's file says who may connect.
func newSocketClient(addr, path string) *client {
	c := &client{name: addr, base: "http://localhost"}
	c.http.Transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "unix", path)
		},
		ResponseHeaderTimeout: answerTimeout,
	}
	return c
}

// call is one request to the admin API.
type call struct {
	method, path string
	query        url.Values
	kind         string // media type of the body
	body         []byte
	header       http.Header // more of it; nil for none
}

// do sends one request. An answer that is not a success is returned as an error. The caller closes the body.
func (c *client) do(ctx context.Context, r call) (*http.Response, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("build request: %w", err)
	}
	if r.header != nil {
		req.Header = r.header
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, c.refused(resp)
	}
	return resp, nil
}

// json decodes the answer of one request.
func (c *client) json(ctx context.Context, r call, into any) error {
	resp, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return c.decode(resp, into)
}

func (c *client) decode(resp *http.Response, into any) error {
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.name, err)
	}
	return nil
}

func (c *client) unreachable(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // without the method and the URL, which the message has
	}
	return fmt.Errorf("cannot reach the admin API at %s: %w; is `sluice serve` running there? --admin or SLUICE_ADMIN names another address", c.name, err)
}

// refused turns an answer into an error. What is wrong with the request is the caller's input; the rest is a failure.
func (c *client) refused(resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return c.unreachable(err)
	}
	p := &admin.Problem{Title: resp.Status}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind != admin.ProblemType || json.Unmarshal(data, p) != nil {
		return fmt.Errorf("%s answered %s: it does not look like the admin API of Sluice", c.name, resp.Status)
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusPreconditionFailed, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return usageError{p}
	case http.StatusUnauthorized:
		if c.token != "" {
			return fmt.Errorf("%s does not know the token of SLUICE_ADMIN_TOKEN or SLUICE_ADMIN_TOKEN_FILE", c.name)
		}
		return fmt.Errorf("%s wants a token: set SLUICE_ADMIN_TOKEN or SLUICE_ADMIN_TOKEN_FILE (%w)", c.name, p)
	}
	return p
}
