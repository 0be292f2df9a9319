package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/store"
)

// Push puts a module into force, in the place of the one of the same name or at the end of the chain. It returns when the
// policy decides and that is durable; when it cannot be made durable, it is undone. A refusal of the module is recorded.
func (r *Registry) Push(ctx context.Context, req Request) (Result, error) {
	return r.put(ctx, req, store.OpPush, "")
}

// Shadow puts a module beside the policy of its name, where it is asked and not obeyed. A restart forgets it.
func (r *Registry) Shadow(ctx context.Context, req Request) (Result, error) {
	return r.put(ctx, req, store.OpShadow, "")
}

// Check does all of a Push but the push: nothing changes and nothing is recorded. A module that is refused has a report too,
// in the *plugins.RefusedError.
func (r *Registry) Check(ctx context.Context, req Request) (plugins.Report, error) {
	cand, _, err := r.prepare(ctx, &req)
	if err != nil {
		return plugins.Report{}, err
	}
	defer cand.Close()
	return cand.Report(), nil
}

// put prepares a module before it takes the place for a change, so that nobody waits while it compiles. watched is what to
// remember of the folder that it comes from.
func (r *Registry) put(ctx context.Context, req Request, op store.Op, watched string) (Result, error) {
	cand, signedBy, err := r.prepare(ctx, &req)
	if err != nil {
		r.refuse(ctx, op, &req, err)
		return Result{}, err
	}
	p := &placing{r: r, host: r.host.Load(), req: &req, op: op, watched: watched, cand: cand}
	res, err := r.do(ctx, change{op: op, name: req.Name, by: req.By, signedBy: signedBy, run: p.run, undo: p.undo})
	if !p.taken {
		cand.Close()
		r.refuse(ctx, op, &req, err)
	}
	return res, err
}

// placing is a candidate on its way into the host.
type placing struct {
	r       *Registry
	host    *plugins.Host
	req     *Request
	op      store.Op
	watched string
	cand    *plugins.Candidate
	taken   bool   // the candidate is the host's
	forgot  string // what was remembered of the folder before
}

// run stores the module before the host has it in force: what is in force can always be had again.
func (p *placing) run(ctx context.Context, _ *plugins.PolicyInfo) error {
	if _, err := p.r.disk.Put(p.req.Wasm); err != nil {
		if !errors.Is(err, store.ErrFull) && !errors.Is(err, store.ErrClosed) {
			err = fmt.Errorf("%w: %w", ErrUndone, err)
		}
		return fmt.Errorf("%s policy %s: %w", p.op, p.req.Name, err)
	}
	p.r.sign(p.req.Digest, string(p.req.Signature))
	enter := p.host.Activate
	if p.op == store.OpShadow {
		enter = p.host.Attach
	}
	if err := enter(ctx, p.cand); err != nil {
		return err
	}
	p.taken = true
	if p.watched != "" {
		p.forgot, p.r.watched[p.req.Name] = p.r.watched[p.req.Name], p.watched
	}
	return nil
}

func (p *placing) undo(ctx context.Context, before *plugins.PolicyInfo) error {
	switch {
	case p.forgot != "":
		p.r.watched[p.req.Name] = p.forgot
	case p.watched != "":
		delete(p.r.watched, p.req.Name)
	}
	if p.op == store.OpShadow {
		return p.host.Unshadow(ctx, p.req.Name)
	}
	return takeBack(ctx, p.host, before, p.req.Name)
}

// takeBack puts the version into force that was there before a push or a promotion.
func takeBack(ctx context.Context, host *plugins.Host, before *plugins.PolicyInfo, name string) error {
	if before == nil || before.State == plugins.StateShadow || before.State == plugins.StateQuarantined {
		return host.Remove(ctx, name)
	}
	if err := host.Rollback(ctx, name); err != nil {
		return err
	}
	if before.State == plugins.StateDisabled {
		return host.Disable(ctx, name)
	}
	return nil
}

// prepare checks a module in every way, completes the request, and says whose signature it has.
func (r *Registry) prepare(ctx context.Context, req *Request) (cand *plugins.Candidate, signedBy string, err error) {
	host, err := r.started()
	if err != nil {
		return nil, "", err
	}
	if err := errors.Join(req.By.check(), r.match(req.By)); err != nil {
		return nil, "", err
	}
	if err := r.resolve(req); err != nil {
		return nil, "", err
	}
	if err := r.pinned(req.Name, req.Digest); err != nil {
		return nil, "", err
	}
	if signedBy, err = r.verify(req.Name, req.Wasm, req.Signature); err != nil {
		return nil, "", err
	}
	cand, err = host.Prepare(ctx, req.Name, req.Wasm, req.Config)
	return cand, signedBy, err
}

// resolve finds the module that a digest stands for, or the digest of a module.
func (r *Registry) resolve(req *Request) error {
	if len(req.Wasm) == 0 {
		if req.Digest == "" {
			return fmt.Errorf("%w: policy %s has neither a module nor the digest of one", ErrRequest, req.Name)
		}
		wasm, err := r.disk.Get(req.Digest)
		if err != nil {
			return fmt.Errorf("policy %s: %w", req.Name, err)
		}
		req.Wasm = wasm
		if len(req.Signature) == 0 {
			req.Signature = []byte(r.signature(req.Digest))
		}
		return nil
	}
	digest := store.Digest(req.Wasm)
	if req.Digest != "" && req.Digest != digest {
		return fmt.Errorf("%w: policy %s has the sha256 %s, and %s was announced", ErrRequest, req.Name, digest, req.Digest)
	}
	req.Digest = digest
	return nil
}

// pinned reports a module that its name does not allow.
func (r *Registry) pinned(name, digest string) error {
	allowed, ok := r.opt.Pins[name]
	if !ok || slices.Contains(allowed, digest) {
		return nil
	}
	return fmt.Errorf("policy %s@%s: %w: policy_pins allows %s", name, short(digest), ErrPinned, strings.Join(allowed, ", "))
}

// verify checks a signature as far as the options want it.
func (r *Registry) verify(name string, wasm, signature []byte) (signedBy string, err error) {
	if len(r.opt.Keys) == 0 {
		return "", nil
	}
	if len(signature) == 0 {
		if !r.opt.RequireSignature {
			return "", nil
		}
		return "", fmt.Errorf("policy %s: %w: there is none, and require_signature is set: make one with sluice policy sign", name, ErrSignature)
	}
	if signedBy, err = Verify(r.opt.Keys, wasm, signature); err != nil {
		return "", fmt.Errorf("policy %s: %w", name, err)
	}
	return signedBy, nil
}

// refuse records that a module was not taken, if it was the module's fault.
func (r *Registry) refuse(ctx context.Context, op store.Op, req *Request, why error) {
	var refused *plugins.RefusedError
	if !errors.As(why, &refused) && !errors.Is(why, ErrSignature) && !errors.Is(why, ErrPinned) && !errors.Is(why, store.ErrFull) {
		return
	}
	if r.hold(ctx) != nil {
		return // the caller has gone, or the registry is closing
	}
	defer r.release()
	c := change{op: op, name: req.Name, by: req.By}
	e := r.entry(c, nil, nil)
	e.Digest, e.Config, e.Refused = req.Digest, req.Config, clipped(why.Error(), maxRefused)
	r.record(e)
}

// maxRefused bounds what the history keeps of a reason, in bytes.
const maxRefused = 2048

// clipped is a text of at most so many bytes, all of whose characters are whole.
func clipped(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// short abbreviates a digest for people.
func short(digest string) string { return digest[:min(len(digest), 12)] }
