// Package cases runs a policy on cases that are written as text: states, requests, and what the policy is to answer, by the
// names of the ABI's fields.
//
// It is no replay: nothing becomes of a decision, and what the policy sees next is what the case says next. The steps of a
// case meet one instance, so that a policy that learns can be tested.
//
//   - name: batch gives way when the KV cache is full
//     config: {full: 80%}
//     hook: admit
//     state: {blocks_total: 100, blocks_free: 20}
//     rows: [{class: 0}, {class: 1}]
//     expect:
//   - abstain
//   - {action: reject, status: 529, retry_after_ms: 5s}
//
// Only what is given is compared. docs/policies.md describes all keys.
package cases
