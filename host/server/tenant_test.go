package server_test

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/server/servertest"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// byWeight lets every request have three output tokens for each unit of its tenant's weight.
type byWeight struct{ servertest.Gate }

func (w *byWeight) install(c *engine.Config) { c.Policies = w }

// Swap implements engine.PolicySource.
func (w *byWeight) Swap(now int64) (abi.Decider, uint32, bool) {
	_, epoch, changed := w.Gate.Swap(now)
	return w, epoch, changed
}

// Admit implements abi.Decider.
func (w *byWeight) Admit(_ *abi.State, rows []abi.Row, out []abi.Verdict, by []abi.PolicyID) {
	for i := range rows {
		out[i] = abi.Verdict{Action: uint8(abi.ActionDegrade), MaxTokensCap: 3 * rows[i].TenantWeight, ClassOverride: -1, SpeculationCap: -1}
		by[i] = 1
	}
}

// Under a policy that gives by weight all tenants get the same, however they are named, and one that has much in flight too.
func TestEveryTenantHasTheWeightOne(t *testing.T) {
	f := start(t, options{Engine: new(byWeight).install})
	for name, headers := range map[string][]string{
		"nobody": nil, "a tenant": {"x-sluice-tenant", "a"}, "another one": {"x-sluice-tenant", "b"}, "a key": {"Authorization", "Bearer k"},
	} {
		for _, n := range []string{"1", "4"} { // choices: requests of one tenant at once
			_, body := f.post(t, "/v1/completions", `{"prompt":"x","max_tokens":50,"ignore_eos":true,"n":`+n+`}`, headers...)
			if want := `"completion_tokens":` + map[string]string{"1": "3", "4": "12"}[n] + ","; !strings.Contains(string(body), want) {
				t.Errorf("%s, %s choices: %s, want %s", name, n, body, want)
			}
		}
	}
}
