package main

import (
	"net/rpc"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
)

var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "SLUICE_BENCH_PLUGIN", MagicCookieValue: "shed"}

// rule is the plugin: a service of net/rpc in a process of its own.
type rule struct{}

func (rule) Shed(q Question, out *bool) error {
	*out = shed(q)
	return nil
}

type rulePlugin struct{}

func (rulePlugin) Server(*plugin.MuxBroker) (any, error) { return rule{}, nil }

func (rulePlugin) Client(_ *plugin.MuxBroker, c *rpc.Client) (any, error) { return c, nil }

func servePlugin() {
	if os.Getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
		return
	}
	plugin.Serve(&plugin.ServeConfig{HandshakeConfig: handshake, Plugins: plugin.PluginSet{"rule": rulePlugin{}}})
	os.Exit(0)
}

func goPlugin() (func(Question) (bool, error), func(), error) {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake, Plugins: plugin.PluginSet{"rule": rulePlugin{}},
		Cmd: exec.Command(os.Args[0]), Logger: hclog.NewNullLogger(),
	})
	c, err := client.Client()
	if err != nil {
		client.Kill()
		return nil, nil, err
	}
	raw, err := c.Dispense("rule")
	if err != nil {
		client.Kill()
		return nil, nil, err
	}
	conn := raw.(*rpc.Client)
	return func(q Question) (out bool, err error) {
		err = conn.Call("Plugin.Shed", q, &out)
		return out, err
	}, client.Kill, nil
}
