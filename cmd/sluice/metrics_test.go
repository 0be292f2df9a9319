package main

import (
	"testing"

	"github.com/sluice-dev/sluice/plugins"
)

func listed(digest string, state plugins.State, calls, traps uint64) plugins.PolicyInfo {
	return plugins.PolicyInfo{
		Name: "p", Digest: digest, State: state,
		Calls: []plugins.HookInfo{{Hook: "admit", Calls: calls, Fallbacks: map[string]uint64{"trap": traps}}},
	}
}

func TestWhatLedToAQuarantineStaysOnTheMetricsPage(t *testing.T) {
	fallen := listed("bad", plugins.StateQuarantined, 9, 5)
	good := listed("good", plugins.StateActive, 7, 1)
	good.Fallen = &fallen
	got := policySamples([]plugins.PolicyInfo{good})
	if len(got) != 2 || got[0].Quarantined || !got[1].Quarantined {
		t.Fatalf("samples %+v, want the active version and the quarantined one", got)
	}
	if n := got[1].Hooks[0].Fallbacks["trap"]; got[1].Digest != "bad" || n != 5 {
		t.Errorf("%s has %d fallbacks, want bad with 5", got[1].Digest, n)
	}
}

func TestOneModuleUnderTwoSettingsIsOneSeries(t *testing.T) {
	fallen := listed("same", plugins.StateQuarantined, 9, 5)
	good := listed("same", plugins.StateActive, 7, 1)
	good.Fallen = &fallen
	got := policySamples([]plugins.PolicyInfo{good})
	if len(got) != 1 || got[0].Quarantined || got[0].Hooks[0].Calls != 16 || got[0].Hooks[0].Fallbacks["trap"] != 6 {
		t.Errorf("samples %+v, want one that is active with 16 calls and 6 fallbacks", got)
	}
}

func TestAPolicyThatDoesNotDecideIsIdleAndAShadowIsNoSeries(t *testing.T) {
	for state, idle := range map[plugins.State]bool{plugins.StateActive: false, plugins.StateHalfOpen: false, plugins.StateQuarantined: false,
		plugins.StateDisabled: true, plugins.StateSuspended: true} {
		if got := policySamples([]plugins.PolicyInfo{listed("d", state, 1, 0)}); len(got) != 1 || got[0].Idle != idle {
			t.Errorf("%s: %+v", state, got)
		}
	}
	if got := policySamples([]plugins.PolicyInfo{listed("d", plugins.StateShadow, 1, 0)}); len(got) != 0 {
		t.Errorf("a shadow: %+v", got)
	}
}
