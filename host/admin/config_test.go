package admin

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// told is a configuration whose reload ends as a test wants it to.
type told struct {
	err     error
	reloads []bool // dry runs
}

func (c *told) Settings() []Setting { return []Setting{{"listen", "127.0.0.1:8080", "sluice.yaml:3"}} }

func (c *told) Reload(_ context.Context, dryRun bool) (Reload, error) {
	c.reloads = append(c.reloads, dryRun)
	if c.err != nil {
		return Reload{}, c.err
	}
	return Reload{DryRun: dryRun, Changed: []Change{{"log.level", "info", "debug"}}, NeedsRestart: []Change{}}, nil
}

func TestConfigurationIsShownAndReloaded(t *testing.T) {
	c, log := &told{}, &entries{}
	a := start(t, Options{Config: c, Audit: log})
	var values ConfigValues
	a.json("GET", "/v1/config", "", &values)
	if len(values.Settings) != 1 || values.Settings[0].Origin != "sluice.yaml:3" {
		t.Errorf("%+v", values)
	}
	for query, dry := range map[string]bool{"": false, "?dry_run=1": true, "?dry_run=true": true} {
		var done Reload
		a.json("POST", "/v1/config/reload"+query, "", &done)
		if done.DryRun != dry || len(done.Changed) != 1 || c.reloads[len(c.reloads)-1] != dry {
			t.Errorf("%q: %+v", query, done)
		}
		if e := log.take(t); e == nil || e.DryRun != dry || e.Path != "/v1/config/reload" || e.Status != 200 {
			t.Errorf("%q: the audit log has %+v", query, e)
		}
	}
	a.problem(400, "POST", "/v1/config/reload?dry_run=perhaps", "", nil)
	c.err = &ConfigError{errors.New("sluice.yaml:7: limits.max_seqs must be between 0 and 256, but is 900")}
	if p := a.problem(422, "POST", "/v1/config/reload", "", nil); p.Code != CodeConfig || !strings.HasPrefix(p.Detail, "sluice.yaml:7: ") {
		t.Errorf("%+v", p)
	}
	c.err = errors.New("secret detail")
	if p := a.problem(500, "POST", "/v1/config/reload", "", nil); strings.Contains(p.Detail, "secret") {
		t.Errorf("%+v", p)
	}
}
