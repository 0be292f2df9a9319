package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/abi"
	"github.com/sluice-dev/sluice/plugins/wazero"
)

// server is the policy host with one policy in force.
type server struct {
	name string
	rt   *wazero.Runtime
	host *plugins.Host
	said bytes.Buffer // what the policy logged, and what became of it
	now  int64
}

// serve starts a host with the module. The caller closes it.
func serve(r run, wasm []byte, config map[string]string) (*server, error) {
	rt, err := wazero.New(wazero.Options{CacheDir: r.cache})
	if err != nil {
		return nil, err
	}
	s := &server{name: r.name, rt: rt}
	log := slog.New(slog.NewTextHandler(&s.said, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutVersion}))
	s.host = plugins.New(rt, plugins.Options{Inline: true, Log: log})
	if err := s.push(wasm, config); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// versionDigest is the part of an error that says which version it was.
var versionDigest = regexp.MustCompile(`@[0-9a-f]{12}\b`)

// withoutVersion leaves out of a log line what differs between two modules that do the same.
func withoutVersion(_ []string, a slog.Attr) slog.Attr {
	switch a.Key {
	case "time", "digest", "previous", "version":
		return slog.Attr{}
	case "err":
		return slog.String(a.Key, versionDigest.ReplaceAllString(a.Value.String(), ""))
	}
	return a
}

func (s *server) push(wasm []byte, config map[string]string) error {
	err := s.host.Push(context.Background(), s.name, wasm, config)
	s.host.Swap(s.now)
	return err
}

func (s *server) close() {
	s.host.Close()
	s.rt.Close()
}

// refusal is why the host does not take the module with these settings; "" when it does.
func refusal(r run, wasm []byte, config map[string]string) string {
	s, err := serve(r, wasm, config)
	if err == nil {
		s.close()
		return ""
	}
	var refused *plugins.RefusedError
	if errors.As(err, &refused) {
		return fmt.Sprintf("at %s: %v", refused.Stage, refused.Err)
	}
	return err.Error()
}

// answer is all that one step under a policy shows.
type answer struct {
	verdicts []abi.Verdict
	by       []abi.PolicyID
	ranks    []abi.Ranking
	batch    abi.BatchPlan
	spec     abi.SpecPlan
	k        []int32
	whose    [3]string // of the ranking, the batch plan and the speculation plan
	said     string
}

// ask puts all questions of one step.
func (s *server) ask(step *step) (a answer) {
	s.now = step.st.NowNS
	set, _, _ := s.host.Swap(s.now)
	set.Events(&step.st, step.events)
	n := len(step.rows)
	a.verdicts, a.by, a.ranks, a.k = make([]abi.Verdict, n), make([]abi.PolicyID, n), make([]abi.Ranking, n), make([]int32, n)
	set.Admit(&step.st, step.rows, a.verdicts, a.by)
	for i := range a.by { // whose it is, and not which version
		a.by[i] = min(max(a.by[i], -1), 1)
	}
	whose := func(decided bool, by abi.PolicyID) string {
		return fmt.Sprintf("decided %v, fallback %v", decided, by < 0)
	}
	a.whose[0] = whose(set.Prioritize(&step.st, step.rows, a.ranks))
	a.whose[1] = whose(set.BatchPlan(&step.st, &a.batch))
	a.whose[2] = whose(set.Speculate(&step.st, step.rows, &a.spec, a.k))
	a.said = versionDigest.ReplaceAllString(s.said.String(), "")
	s.said.Reset()
	return a
}

// fuel raises most to what each hook has used.
func (s *server) fuel(most map[string]uint64) {
	for _, p := range s.host.List() {
		for _, h := range p.Calls {
			most[h.Hook] = max(most[h.Hook], h.MaxFuel)
		}
	}
}

// differ says where two answers differ.
func differ(want, got answer) error {
	for i := range want.verdicts {
		if want.verdicts[i] != got.verdicts[i] || want.by[i] != got.by[i] {
			return fmt.Errorf("verdict on row %d\nwant %+v by %d\ngot  %+v by %d", i, want.verdicts[i], want.by[i], got.verdicts[i], got.by[i])
		}
	}
	for i := range want.ranks {
		if want.ranks[i] != got.ranks[i] {
			return fmt.Errorf("ranking of row %d\nwant %+v\ngot  %+v", i, want.ranks[i], got.ranks[i])
		}
	}
	switch {
	case want.batch != got.batch:
		return fmt.Errorf("batch plan\nwant %+v\ngot  %+v", want.batch, got.batch)
	case want.spec != got.spec || !slices.Equal(want.k, got.k):
		return fmt.Errorf("speculation plan\nwant %+v %v\ngot  %+v %v", want.spec, want.k, got.spec, got.k)
	case want.whose != got.whose:
		return fmt.Errorf("who decided\nwant %q\ngot  %q", want.whose, got.whose)
	case want.said != got.said:
		return fmt.Errorf("what it logs\nwant %q\ngot  %q", want.said, got.said)
	}
	return nil
}
