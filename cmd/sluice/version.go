package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/spf13/cobra"
)

// version is set at link time (-X main.version=...); without it the build's own information has to do.
var version = ""

// build says what this binary is made of.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	ABI     string `json:"abi"`
	Wazero  string `json:"wazero,omitempty"`
	// Wasmtime is "" in a binary that was built without it.
	Wasmtime string `json:"wasmtime,omitempty"`
}

func buildInfo() build {
	b := build{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, ABI: fmt.Sprintf("%d.%d", abi.Major, abi.Minor)}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b.orDevelopment()
	}
	if b.Version == "" && info.Main.Version != "(devel)" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		}
	}
	for _, d := range info.Deps {
		switch d.Path {
		case "github.com/tetratelabs/wazero":
			b.Wazero = d.Version
		case "github.com/bytecodealliance/wasmtime-go/v39":
			b.Wasmtime = d.Version
		}
	}
	return b.orDevelopment()
}

func (b build) orDevelopment() build {
	if b.Version == "" {
		b.Version = "development"
	}
	return b
}

func newVersion(t terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this binary is",
		Args:  takes(),
		RunE: func(*cobra.Command, []string) error {
			b := buildInfo()
			if asJSON {
				return printJSON(t.out, b)
			}
			return printPairs(t.out, [][2]string{
				{"version", b.Version}, {"commit", b.Commit}, {"date", b.Date}, {"go", b.Go},
				{"platform", b.OS + "/" + b.Arch}, {"abi", b.ABI}, {"wazero", b.Wazero}, {"wasmtime", b.Wasmtime},
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
