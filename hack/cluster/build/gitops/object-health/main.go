// object-health reports what tools of GitOps make of objects: kstatus, the health expressions of Flux, and a health script of
// Argo CD. It reads lines of JSON with an object, and writes one line for each.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubejson "k8s.io/apimachinery/pkg/util/json"
)

type question struct {
	Object json.RawMessage `json:"object"`
	// Flux holds healthCheckExprs of a Kustomization.
	Flux *kustomize.HealthCheckExpressions `json:"flux"`
	// Argo holds a script health.lua.
	Argo string `json:"argo"`
}

type answer struct {
	Kstatus string `json:"kstatus"`
	Flux    string `json:"flux"`
	Argo    string `json:"argo"`
	Message string `json:"message"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		said, err := answered(lines.Bytes())
		if err == nil {
			err = out.Encode(said)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func answered(line []byte) (answer, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{}, err
	}
	// Whole numbers stay whole, as kstatus demands.
	object := &unstructured.Unstructured{}
	if err := kubejson.Unmarshal(asked.Object, &object.Object); err != nil {
		return answer{}, err
	}
	plain, err := status.Compute(object)
	if err != nil {
		return answer{}, fmt.Errorf("kstatus: %w", err)
	}
	said := answer{Kstatus: string(plain.Status), Flux: string(plain.Status)}
	if asked.Flux != nil {
		evaluator, err := cel.NewStatusEvaluator(asked.Flux)
		if err != nil {
			return answer{}, fmt.Errorf("healthCheckExprs: %w", err)
		}
		// As the controller does: it asks again for what cannot be judged yet.
		said.Flux = string(status.UnknownStatus)
		if result, err := evaluator.Evaluate(context.Background(), object); err == nil {
			said.Flux = string(result.Status)
		}
	}
	said.Argo, said.Message, err = scripted(asked.Argo, object.Object)
	return said, err
}

// scripted runs a script as Argo CD does: the object is the global obj, no library is open but those that cannot reach out.
func scripted(script string, object map[string]any) (health, message string, err error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(script); err != nil {
		return "", "", fmt.Errorf("health.lua: %w", err)
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", "", fmt.Errorf("health.lua returns %s and no table", state.Get(-1).Type())
	}
	return table.RawGetString("status").String(), table.RawGetString("message").String(), nil
}

func value(state *lua.LState, from any) lua.LValue {
	switch typed := from.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, inner := range typed {
			table.RawSetString(key, value(state, inner))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, inner := range typed {
			table.Append(value(state, inner))
		}
		return table
	case string:
		return lua.LString(typed)
	case int64:
		return lua.LNumber(typed)
	case float64:
		return lua.LNumber(typed)
	case bool:
		return lua.LBool(typed)
	default:
		return lua.LNil
	}
}
