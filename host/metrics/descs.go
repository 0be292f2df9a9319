package metrics

type desc struct {
	name, help string
	labels     []string
}

// byPolicy are the labels of what one version of one policy did at one hook.
var byPolicy = []string{"hook", "policy", "digest"}

var ownDescs = []desc{
	{"engine_up", "1 while the engine answers.", nil},
	{"draining", "1 while the server finishes what runs and takes nothing new.", nil},
	{"running_requests", "Requests in the batch.", []string{"class"}},
	{"waiting_requests", "Requests in the queue.", []string{"class"}},
	{"oldest_wait_seconds", "Age of the oldest waiting request; 0 when none waits.", []string{"class"}},
	{"waiting_tokens", "Prompt tokens in the queue.", nil},
	{"preempted_waiting_requests", "Preempted requests that wait to go on.", nil},
	{"estimated_wait_seconds", "What a newcomer would wait at the present drain rate.", nil},
	{"kv_blocks", "KV blocks by state: used by requests, cached for the next that begins alike, free.", []string{"state"}},
	{"kv_evicted_blocks_total", "Cached KV blocks that were given up for others.", nil},
	{"kv_saved_requests_total", "Preempted requests whose KV was kept outside the device.", nil},
	{"kv_restored_requests_total", "Preempted requests that got back the KV that was kept.", nil},
	{"kv_restored_tokens_total", "Tokens that were not computed again since their KV was kept.", nil},
	{"kv_offloaded_tokens_total", "Tokens of cached prefixes that left the device and were kept in memory.", nil},
	{"kv_reloaded_tokens_total", "Of them, those that came back since a prompt began with them.", nil},
	{"steps_total", "Device steps.", nil},
	{"arrivals_total", "Requests that arrived at the scheduler.", nil},
	{"admissions_total", "Requests that entered the queue.", nil},
	{"preemptions_total", "Preemptions.", nil},
	{"recomputed_tokens_total", "Tokens that were computed again after preemptions.", nil},
	{"computed_tokens_total", "Known tokens computed, again or for the first time; drafts are not counted.", nil},
	{"prefill_tokens_total", "Prompt tokens computed.", nil},
	{"generated_tokens_total", "Tokens emitted.", nil},
	{"forced_starts_total", "Requests that the host ran against the policies' will, so that something runs.", nil},
	{"aged_starts_total", "Requests that had waited for very long and ran ahead of the policies' order.", nil},
	{"rejecting_spans_total", "Spans of ten seconds or more in which requests were rejected and none got a place.", nil},
	{"infeasible_requests_total", "Requests that could never fit.", nil},
	{"limit_refusals_total", "Requests that a hard limit refused.", []string{"class", "limit"}},
	{"clamped_decisions_total", "Values of policies that were beyond a hard limit.", nil},
	{"decode_step_seconds", "Time of recent steps without prefill.", []string{"quantile"}},
	{"policy_epoch", "Rises by one at each policy swap.", nil},
	{"policy_active_info", "1 for each hook that a policy decides at; 0 while it is quarantined, disabled or in safe mode.", byPolicy},
	{"policy_quarantined", "1 while the native default decides in the policy's place.", []string{"policy", "digest"}},
	{"device_faults_total", "What went wrong on the device: failed steps, steps that stalled, new starts, rows of which it had lost the KV, and KV operations.", []string{"kind"}},
	{"policy_calls_total", "Calls of a policy.", byPolicy},
	{"policy_abstains_total", "Calls in which a policy had no opinion.", byPolicy},
	{"policy_fallbacks_total", "Calls that failed, for which the native default decided.", append(byPolicy[:3:3], "reason")},
	{"trace_records_total", "Trace records stored.", nil},
	{"trace_dropped_total", "Trace records lost.", []string{"reason"}},
}

var vllmDescs = []desc{
	{"num_requests_running", "Requests in the batch.", nil},
	{"num_requests_waiting", "Requests in the queue.", nil},
	{"num_requests_waiting_by_reason", "Requests in the queue by what they wait for.", []string{"reason"}},
	{"kv_cache_usage_perc", "Share of the KV cache in use; 1 is all of it.", nil},
	{"num_preemptions_total", "Preemptions.", nil},
	{"generation_tokens_total", "Tokens emitted.", nil},
	{"spec_decode_num_drafts_total", "Drafts that were verified.", nil},
	{"spec_decode_num_draft_tokens_total", "Draft tokens that were verified.", nil},
	{"spec_decode_num_accepted_tokens_total", "Draft tokens that were accepted.", nil},
	{"spec_decode_num_accepted_tokens_per_pos_total", "Draft tokens that were accepted, by position in the draft.", []string{"position"}},
	{"cache_config_info", "The KV cache's configuration.", []string{"block_size", "num_gpu_blocks"}},
}
