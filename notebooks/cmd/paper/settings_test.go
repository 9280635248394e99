package main

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/paper"
	"github.com/contextrec/contextrec/pgcr"
)

// Whatever number a setting cannot have, the error of an experiment names the setting.
func TestSettingsAreNamed(t *testing.T) {
	for _, declared := range []any{
		envs.Linear{}, envs.Bernoulli{}, envs.Mixed{}, kkbox.MusicStateless{}, kkbox.MusicState{}, paper.Family{},
		baselines.LinUCB{}, baselines.GLMUCB{}, baselines.LinearThompson{}, baselines.LogisticThompson{},
		neural.Greedy{}, neural.EpsilonGreedy{}, neural.VanillaPG{}, pgcr.Config{},
	} {
		numbers(reflect.TypeOf(declared), nil, func(name string, at []int, bad reflect.Value) {
			v := reflect.New(reflect.TypeOf(declared)).Elem()
			v.FieldByIndex(at).Set(bad)
			e := sim.Experiment{Name: "bad", Problem: envs.Linear{}, Entries: []sim.Entry{{Name: "a", Algorithm: baselines.Random{}}}, Runs: 1, Steps: 10}
			if problem, ok := v.Interface().(envs.Problem); ok {
				e.Problem = problem
			} else {
				e.Entries[0].Algorithm = v.Interface().(envs.Algorithm)
			}
			if _, err := e.Run(t.Context(), sim.Store{Dir: t.TempDir()}, sim.Options{}); err == nil || !strings.Contains(err.Error(), name+" is ") {
				t.Errorf("%T with %s %v: error is %v", declared, name, bad, err)
			}
		})
	}
}

// numbers calls f for each field of numbers in a struct, and in those within it, with each of
// some numbers that no setting can have.
func numbers(t reflect.Type, at []int, f func(name string, at []int, bad reflect.Value)) {
	for i := range t.NumField() {
		field, here := t.Field(i), append(at[:len(at):len(at)], i)
		bad := []any{}
		switch field.Type.Kind() {
		case reflect.Struct:
			numbers(field.Type, here, f)
		case reflect.Int:
			bad = []any{-2}
		case reflect.Float64:
			bad = []any{math.NaN(), math.Inf(1), math.Inf(-1), -2.0}
		case reflect.Slice:
			bad = []any{[]int{-2}, []int{1 << 16, 1 << 16}}
		}
		for _, b := range bad {
			f(field.Name, here, reflect.ValueOf(b))
		}
	}
}
