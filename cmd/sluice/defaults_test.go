package main

import (
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
	"github.com/sluice-dev/sluice/host/replay"
)

// A replay names classes as a server does that configures none.
func TestReplayAndServerNameTheSameClasses(t *testing.T) {
	cfg := config.Default()
	if got, want := classNames(&cfg), replay.DefaultClasses(); !slices.Equal(got, want) {
		t.Errorf("the server has %q, the replay %q", got, want)
	}
}
