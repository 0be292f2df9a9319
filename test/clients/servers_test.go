package clients

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/gpu"
	"github.com/sluice-dev/sluice/gpu/sim"
	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/server/servertest"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// plain serves as it should.
func plain(t *testing.T) *servertest.Server { return servertest.Start(t, servertest.Options{}) }

// refusing turns the first request away with a status, to come again after a second, and takes the next one.
func refusing(t *testing.T, status uint16) *servertest.Server {
	gate := &servertest.Gate{Phase: abi.PhaseArrival, Verdict: servertest.Reject(status, abi.ReasonQuota, 1000), Times: 1}
	return servertest.Start(t, servertest.Options{Engine: gate.Install})
}

// failing has a device that fails in every sixth step, when a request has some of its tokens.
func failing(t *testing.T) *servertest.Server {
	return servertest.Start(t, servertest.Options{Sim: sim.Options{Fault: func(step uint64, _ *gpu.Batch) error {
		if step%6 == 0 {
			return errors.New("the device is broken")
		}
		return nil
	}}})
}

// draining is on its way out: one request still runs, slowly, and new ones are refused for good.
func draining(t *testing.T) *servertest.Server {
	s := servertest.Start(t, servertest.Options{Sim: sim.Options{Wall: 20}})
	resp, err := http.Post(s.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"x","max_tokens":500,"ignore_eos":true,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	t.Cleanup(func() {
		_ = resp.Body.Close() // the last request leaves: the drain is over
		if err := <-stopped; err != nil {
			t.Errorf("shut down: %v", err)
		}
	})
	s.Await(t, "drained", func(snap engine.Snapshot) bool { return snap.State.HostState == uint8(abi.HostStateDraining) })
	return s
}

// checkRetried holds that a client was refused once, came again once, and was served.
func checkRetried(t *testing.T, s *servertest.Server) {
	t.Helper()
	s.Await(t, "recorded the retry", func(engine.Snapshot) bool { return len(s.Records()) == 2 })
	refused, served := s.Records()[0], s.Records()[1]
	if refused.Outcome != sched.OutcomeShedAtArrival.String() || refused.Attempt != 0 || served.Attempt != 1 {
		t.Errorf("attempt %d %s, attempt %d %s", refused.Attempt, refused.Outcome, served.Attempt, served.Outcome)
	}
	if gap := served.Arrival - refused.Arrival; gap < 1e9 {
		t.Errorf("it came again after %d ns, before Retry-After", gap)
	}
}
