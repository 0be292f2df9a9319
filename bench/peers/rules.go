package main

import (
	"context"
	"fmt"

	"github.com/expr-lang/expr"
	"github.com/google/cel-go/cel"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"go.starlark.net/starlark"
)

func none() {}

func exprPeer() (func(Question) (bool, error), func(), error) {
	program, err := expr.Compile("WaitNS > MaxAgeNS && Waiting > 0", expr.Env(Question{}), expr.AsBool())
	if err != nil {
		return nil, nil, err
	}
	return func(q Question) (bool, error) {
		v, err := expr.Run(program, q)
		if err != nil {
			return false, err
		}
		return v.(bool), nil
	}, none, nil
}

func celPeer() (func(Question) (bool, error), func(), error) {
	env, err := cel.NewEnv(cel.Variable("wait", cel.IntType), cel.Variable("max_age", cel.IntType), cel.Variable("waiting", cel.IntType))
	if err != nil {
		return nil, nil, err
	}
	checked, issues := env.Compile("wait > max_age && waiting > 0")
	if issues.Err() != nil {
		return nil, nil, issues.Err()
	}
	program, err := env.Program(checked)
	if err != nil {
		return nil, nil, err
	}
	return func(q Question) (bool, error) {
		v, _, err := program.Eval(map[string]any{"wait": q.WaitNS, "max_age": q.MaxAgeNS, "waiting": q.Waiting})
		if err != nil {
			return false, err
		}
		return v.Value().(bool), nil
	}, none, nil
}

func starlarkPeer() (func(Question) (bool, error), func(), error) {
	thread := &starlark.Thread{Name: "policy"}
	globals, err := starlark.ExecFile(thread, "policy.star", "def shed(wait, max_age, waiting):\n    return wait > max_age and waiting > 0\n", nil) //nolint:staticcheck // the plain dialect is meant
	if err != nil {
		return nil, nil, err
	}
	return func(q Question) (bool, error) {
		v, err := starlark.Call(thread, globals["shed"], starlark.Tuple{starlark.MakeInt64(q.WaitNS), starlark.MakeInt64(q.MaxAgeNS), starlark.MakeInt64(q.Waiting)}, nil)
		if err != nil {
			return false, err
		}
		return bool(v.Truth()), nil
	}, none, nil
}

const regoRule = `package policy
default shed := false
shed if {
	input.wait > input.max_age
	input.waiting > 0
}`

func opaPeer() (func(Question) (bool, error), func(), error) {
	ctx := context.Background()
	query, err := rego.New(rego.Query("data.policy.shed"), rego.Module("policy.rego", regoRule)).PrepareForEval(ctx)
	if err != nil {
		return nil, nil, err
	}
	return func(q Question) (bool, error) {
		input, err := ast.InterfaceToValue(map[string]any{"wait": q.WaitNS, "max_age": q.MaxAgeNS, "waiting": q.Waiting})
		if err != nil {
			return false, err
		}
		set, err := query.Eval(ctx, rego.EvalParsedInput(input))
		if err != nil {
			return false, err
		}
		if len(set) != 1 {
			return false, fmt.Errorf("%d results", len(set))
		}
		return set[0].Expressions[0].Value.(bool), nil
	}, none, nil
}
