package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/baselines/neural"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/logged"
	"github.com/contextrec/contextrec/envs/sim"
	"github.com/contextrec/contextrec/notebooks/figure"
	"github.com/contextrec/contextrec/pgcr"
)

// learners are the algorithms of train, and those whose policies evaluate reads, with any settings.
var learners = map[string]envs.Algorithm{
	"pgcr": pgcr.Config{}, "softmax": pgcr.Config{Hidden: []int{}}, "vanilla": neural.VanillaPG{}, "greedy": neural.Greedy{}, "epsilon-greedy": neural.EpsilonGreedy{},
	"lin-ucb": baselines.LinUCB{Alpha: 0.1, Intercept: true}, "glm-ucb": baselines.GLMUCB{Alpha: 0.1},
	"thompson": baselines.LinearThompson{Scale: 0.1}, "logistic-thompson": baselines.LogisticThompson{Scale: 0.1}, "random": baselines.Random{},
}

// objectives are what train maximises in many passes; "pass" is one pass, as if the log's choices were
// the algorithm's.
var objectives = map[string]func(context.Context, *logged.Log, envs.Algorithm, []uint64) (envs.Policy, error){
	"pass": logged.Train, "ips": logged.Learning{}.Train, "clipped": logged.Learning{L: 10}.Train, "snips": logged.Learning{Shift: true}.Train,
	"dr": logged.Learning{Model: logged.Ridge(1)}.Train, "dm": logged.Learning{Model: logged.Ridge(1), Direct: true}.Train,
	"likelihood": logged.Learning{Likelihood: true}.Train,
}

// logCommands are evaluate and train.
func (p *program) logCommands() []*cobra.Command {
	var columns, file, algorithm, objective string
	var crossed, estimate bool
	command := func(use, short string, run func(ctx context.Context, log *logged.Log) error) *cobra.Command {
		c := &cobra.Command{Use: use + " LOG", Short: short, Args: cobra.ExactArgs(1), Long: short + `.
The LOG is kept in memory: go doc ./envs/logged ReadFile says how much it takes.`}
		c.Flags().StringVar(&columns, "columns", "{}", `what the columns of a CSV file are, as JSON of logged.Format: {"Reward":"click","Categories":["colour"]}`)
		c.Flags().BoolVar(&crossed, "crossed", false, "add products of the users' features and the items'")
		c.Flags().BoolVar(&estimate, "estimate-propensities", false, "of a log that has none, from its choices")
		c.Flags().StringVar(&file, "policy", "policy", "file of the policy, as Save writes it; FILE.features has the names of its features")
		c.RunE = func(cmd *cobra.Command, args []string) error {
			var f logged.Format
			d := json.NewDecoder(strings.NewReader(columns))
			d.DisallowUnknownFields()
			if err := cmp.Or(d.Decode(&f), json.Unmarshal([]byte(columns), &f)); err != nil { // the latter wants nothing behind it
				return fmt.Errorf("-columns is %s: %w", columns, err)
			}
			log, err := logged.ReadFile(args[0], f)
			if err == nil && crossed {
				log = log.Crossed()
			}
			if err == nil && estimate {
				log, err = log.EstimatePropensities(cmd.Context(), learners["softmax"])
			}
			if err != nil {
				return err
			}
			for _, w := range log.Warnings {
				fmt.Fprintln(p.stdout, "warning:", w)
			}
			return run(cmd.Context(), log)
		}
		return c
	}
	evaluate := command("evaluate", "Estimate from a log what a saved policy would earn, which has not learned from it", func(ctx context.Context, log *logged.Log) error {
		policy, runs, err := loadPolicy(file, log)
		if err == nil {
			err = p.estimate(ctx, "evaluate", log, policy, runs)
		}
		return err
	})
	train := command("train", "Learn a policy from the first half of a log, save it, and estimate from the second half what it would earn", func(ctx context.Context, log *logged.Log) error {
		learner, learn := learners[algorithm], objectives[objective]
		if learner == nil || learn == nil {
			return fmt.Errorf("-algorithm is %q and -objective %q: %s train -h names them", algorithm, objective, self)
		}
		first, rest := log.Split(0.5)
		policy, err := learn(ctx, first, learner, []uint64{1})
		if err != nil {
			return err
		}
		var saved bytes.Buffer
		err = errors.Join(policy.(envs.Saver).Save(&saved), sim.WriteFile(file, saved.Bytes()), sim.WriteFile(file+".features", []byte(strings.Join(log.Features, "\n"))), p.estimate(ctx, "train", rest, policy, 1))
		if err == nil {
			p.next(fmt.Sprintf("evaluate ANOTHER-LOG -policy %q -crossed=%t -estimate-propensities=%t -columns '%s'", file, crossed, estimate, columns))
		}
		return err
	})
	train.Flags().StringVar(&algorithm, "algorithm", "pgcr", strings.Join(slices.Sorted(maps.Keys(learners)), ", "))
	train.Flags().StringVar(&objective, "objective", "pass", strings.Join(slices.Sorted(maps.Keys(objectives)), ", ")+"; all but pass are for pgcr and softmax")
	return []*cobra.Command{evaluate, train}
}

// loadPolicy makes the policy that a file has. The log takes its number of candidates.
func loadPolicy(file string, log *logged.Log) (policy envs.Policy, runs int, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, 0, err
	}
	header, err := envs.SavedAs(bytes.NewReader(data))
	kind, rest, _ := strings.Cut(header, " ")
	at, candidates := strings.LastIndex(rest, "} of ")+1, 0
	_, err2 := fmt.Sscanf(rest[at:], " of %d runs with %d candidates", &runs, &candidates)
	if err := cmp.Or(err, err2); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", file, err)
	}
	if features, err := os.ReadFile(file + ".features"); err == nil && string(features) != strings.Join(log.Features, "\n") {
		return nil, 0, fmt.Errorf("the log has the features %.300s, and the policy %.300s: names have the same features in all logs with Hash in -columns", fmt.Sprintf("%q", log.Features), fmt.Sprintf("%q", strings.Split(string(features), "\n")))
	}
	for _, a := range learners {
		if declared := reflect.New(reflect.TypeOf(a)); kind == fmt.Sprintf("%T", a) {
			log.Candidates = max(log.Candidates, candidates)
			err := json.Unmarshal([]byte(rest[:at]), declared.Interface())
			if err == nil {
				policy, err = declared.Elem().Interface().(envs.Algorithm).New(log.Spec(), make([]uint64, runs))
			}
			if err == nil {
				err = policy.(envs.Saver).Load(bytes.NewReader(data))
			}
			return policy, runs, err
		}
	}
	return nil, 0, fmt.Errorf("%s has %s, which train does not know", file, kind)
}

// estimate prints and draws what a policy would earn, in the figure of that name.
func (p *program) estimate(ctx context.Context, name string, log *logged.Log, policy envs.Policy, runs int) error {
	e, err := logged.Evaluate(ctx, log, policy, runs)
	if err == nil {
		e.Model, err = log.CrossFit(ctx, logged.Ridge(1))
	}
	if err != nil {
		return err
	}
	rows, labels, bars, mean := [][]string{}, []string{}, figure.Series{}, log.Mean()
	add := func(name string, drawn bool, x logged.Estimate) {
		less := strings.TrimSuffix(x.Minus(mean).String(), "[-Inf, +Inf]") // as of the log itself
		rows = append(rows, []string{name, x.String(), less, fmt.Sprintf("%.0f", x.Effective)})
		if drawn {
			labels, bars.Y = append(labels, name), append(bars.Y, x.Mean)
			bars.Low, bars.High = append(bars.Low, x.Low), append(bars.High, x.High) // infinite ones are not drawn
		}
	}
	add("the log's mean", true, mean)
	for _, k := range logged.Estimators() {
		if x := e.Estimate(k); !math.IsNaN(x.Mean) {
			add(k.Name, k.Grid == nil, x) // there is no room for all
		}
	}
	fmt.Fprintf(p.stdout, "What the policy would earn a decision, by %d decisions of the log:\n", len(log.Decisions))
	p.print([]string{"estimator", "mean reward [95 % interval]", "difference from the log", "effective sample size"}, rows)
	d := e.Diagnose()
	if !math.IsNaN(d.MeanWeight.Mean) { // there are propensities
		fmt.Fprintf(p.stdout, "The importance weights, probability by propensity, have the mean %v, and 1 is expected. The largest is %.3g. The 1 %% of the decisions with most of the weighted rewards have %.0f %% of them.\n", d.MeanWeight, d.Largest, 100*d.Top)
	}
	for _, w := range d.Warnings {
		fmt.Fprintln(p.stdout, "warning:", w)
	}
	return p.save(name)(figure.Bars(labels, []figure.Series{bars}, figure.Axes{Y: "reward a decision"}, figure.Options{}))
}
