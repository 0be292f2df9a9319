package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/sluice-dev/sluice/host/engine"
	"github.com/sluice-dev/sluice/host/sched"
	"github.com/sluice-dev/sluice/host/trace"
	"github.com/sluice-dev/sluice/plugins/abi"
)

// The bounds of Retry-After in seconds: some clients retry at once at 0, ignore more than 60, or sleep for any value.
const (
	minRetryAfter = 1
	maxRetryAfter = 30
)

// resultError is how a request that has no answer, or only part of one, ended.
func resultError(r engine.Result) *apiError {
	switch r.Outcome {
	case sched.OutcomeShedAtArrival, sched.OutcomeShedFromQueue, sched.OutcomeExpired, sched.OutcomePreemptFailed:
		return refusal(r)
	case sched.OutcomeDrained:
		return drainingError()
	case sched.OutcomeFailed:
		return &apiError{status: http.StatusInternalServerError, code: "device_failed", message: "the device failed while it computed the answer"}
	}
	if errors.Is(r.Err, engine.ErrSlowConsumer) {
		return &apiError{status: http.StatusRequestTimeout, code: "slow_consumer", message: engine.ErrSlowConsumer.Error()}
	}
	return clientGone()
}

func refusal(r engine.Result) *apiError {
	v := r.Verdict
	if v.Status == http.StatusBadRequest {
		return tooLarge(v.Limit, r.PromptTokens)
	}
	e := &apiError{status: v.Status, refused: true, code: reasonName(v.Reason), retryAfter: retryAfter(v.RetryAfter)}
	why := reasonText(v)
	if e.retryAfter > 0 {
		e.message = fmt.Sprintf("%s; come again in %d s", why, e.retryAfter)
	} else {
		e.message = why
	}
	return e
}

func tooLarge(limit string, promptTokens int) *apiError {
	if limit == "kv_cache" {
		return badRequest("max_tokens", "kv_cache_exceeded",
			"%d prompt tokens and max_tokens together need more KV cache than this server has; ask for less", promptTokens)
	}
	return badRequest("", codeContext, "%d prompt tokens do not fit the model's context", promptTokens)
}

func drainingError() *apiError {
	return &apiError{
		status: http.StatusServiceUnavailable, refused: true, code: abi.ReasonDraining.String(), message: engine.ErrDraining.Error(),
	}
}

// retryAfter is whole seconds, 0 = none. The scheduler has spread those of one moment already.
func retryAfter(ns int64) int {
	if ns <= 0 {
		return 0
	}
	s := (ns-1)/int64(time.Second) + 1
	return int(min(max(s, minRetryAfter), maxRetryAfter))
}

// reasonName is the machine-readable reason; a policy's own ones are numbers.
func reasonName(r abi.Reason) string {
	switch name := r.String(); name {
	case "none":
		return "rejected"
	case "unknown":
		return "policy_" + strconv.Itoa(int(r))
	default:
		return name
	}
}

func reasonText(v sched.Verdict) string {
	switch v.Reason {
	case abi.ReasonQueueAge:
		return "the request waited too long in the queue"
	case abi.ReasonQueueFull:
		return "too many requests wait"
	case abi.ReasonCapacity:
		return "the server is at its capacity"
	case abi.ReasonPriority:
		return "the request gave way to more important ones"
	case abi.ReasonQuota:
		return "the tenant's share is used up"
	case abi.ReasonDeadline:
		return "the request cannot meet its deadline"
	case abi.ReasonDraining:
		return engine.ErrDraining.Error()
	case abi.ReasonTTL:
		return "the request's time in the queue is over"
	}
	return "the request was refused (" + reasonName(v.Reason) + ")"
}

// complete tells whether the client has the whole answer.
func complete(r engine.Result) bool { return r.Finish != "" && r.Err == nil }

// outcomeStatus is the status that the access log shows of a stream whose 200 went out already.
func outcomeStatus(r engine.Result) int {
	if complete(r) {
		return http.StatusOK
	}
	if r.Outcome == sched.OutcomeCancelledInQueue || r.Outcome == sched.OutcomeCancelledRunning {
		return trace.StatusClientGone
	}
	return resultError(r).status
}
