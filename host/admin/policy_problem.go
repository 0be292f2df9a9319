package admin

import (
	"context"
	"errors"
	"net/http"

	"github.com/sluice-dev/sluice/plugins"
	"github.com/sluice-dev/sluice/plugins/registry"
	"github.com/sluice-dev/sluice/plugins/store"
)

// policyErrors are the registry's errors that need no more than a status and a code.
var policyErrors = []struct {
	err    error
	status int
	code   Code
}{
	{registry.ErrRequest, http.StatusBadRequest, CodeBadRequest},
	{registry.ErrSignature, http.StatusForbidden, CodeSignature},
	{registry.ErrPinned, http.StatusForbidden, CodePinned},
	{plugins.ErrUnknown, http.StatusNotFound, CodeUnknownPolicy},
	{plugins.ErrNoShadow, http.StatusNotFound, CodeNoShadow},
	{store.ErrMissing, http.StatusNotFound, CodeUnknownModule},
	{registry.ErrNotStarted, http.StatusServiceUnavailable, CodeClosing},
	{registry.ErrClosed, http.StatusServiceUnavailable, CodeClosing},
	{plugins.ErrClosed, http.StatusServiceUnavailable, CodeClosing},
	{store.ErrClosed, http.StatusServiceUnavailable, CodeClosing},
	{context.Canceled, http.StatusServiceUnavailable, CodeClosing},
	{registry.ErrUnrecorded, http.StatusInsufficientStorage, CodeUnrecorded},
	{registry.ErrUndone, http.StatusInsufficientStorage, CodeUndone},
	{store.ErrFull, http.StatusInsufficientStorage, CodeStoreFull},
}

// policyProblem sorts the registry's errors into what the client did wrong and what it did not. set is the settings that
// it sent.
func (s *Server) policyProblem(err error, set map[string]string) error {
	var refused *plugins.RefusedError
	if errors.As(err, &refused) {
		return s.refusal(refused, set)
	}
	var stale *registry.StaleError
	if errors.As(err, &stale) {
		p := problem(http.StatusPreconditionFailed, CodeStale, err.Error())
		p.Revision, p.IfMatch = stale.Have, stale.Want
		return p
	}
	for _, e := range policyErrors {
		if errors.Is(err, e.err) {
			return problem(e.status, e.code, err.Error())
		}
	}
	return err
}

// refusal says where and why the preparation of a module ended, and what its tests had found until then.
func (s *Server) refusal(refused *plugins.RefusedError, set map[string]string) error {
	p := problem(http.StatusUnprocessableEntity, CodePolicyRefused, refused.Error())
	p.Stage, p.Digest, p.Report = string(refused.Stage), refused.Digest, &refused.Report
	if refused.Stage == plugins.StageConfigure && s.o.SettingsHint != nil {
		p.Detail += s.o.SettingsHint(set)
	}
	return p
}
