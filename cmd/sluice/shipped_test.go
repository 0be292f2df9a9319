package main

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/cmd/sluice/config"
)

// The batch shrinks only where the host cannot keep steps at the objective by itself, whatever the objective is.
func TestTheBatchCapActsBeyondTheObjective(t *testing.T) {
	for objective, want := range map[time.Duration]string{0: "75ms", 20 * time.Millisecond: "30ms", 200 * time.Millisecond: "75ms", 10 * time.Microsecond: "100µs"} {
		cfg := config.Default()
		cfg.Classes[0].TPOT = config.Duration(objective) // the other class has 50 ms
		if got := shippedSettings("tpot-cap", &cfg)["tpot"]; got != want {
			t.Errorf("an objective of %v: a target of %s, want %s", objective, got, want)
		}
	}
	cfg := config.Default()
	if got := shippedSettings("queue-age", &cfg); got != nil {
		t.Errorf("queue-age is told %v", got)
	}
}
