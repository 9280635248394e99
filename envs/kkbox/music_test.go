package kkbox_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/envs/kkbox"
)

// few is synthetic data that is quickly made.
var few = kkbox.Source{Users: 60}

func lines(all ...string) string { return strings.Join(all, "\n") + "\n" }

// folder writes files to a new folder.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// duo is a set of two users with three rows each, ann's being 0, 2 and 4 of
// train.csv, and of one with two. Each user likes one song of the own.
func duo() map[string]string {
	return map[string]string{
		"train.csv": lines(
			"msno,song_id,source_system_tab,source_screen_name,source_type,target",
			"ann=,s1=,my library,,local-library,1",
			"bob=,s1=,search,,song,0",
			"ann=,s2=,discover,,radio,0",
			"bob=,s2=,search,,song,0",
			"ann=,s3=,my library,,local-library,0",
			"bob=,s3=,search,,song,1",
			"cat=,s1=,search,,song,1",
			"cat=,s2=,search,,song,1",
		),
		"songs.csv": lines(
			"song_id,song_length,genre_ids,artist_name,composer,lyricist,language",
			"s1=,247640,465|458,張信哲 (Jeff Chang),董貞| 何啟弘,何啟弘,3.0",
			"s2=,200000,921,Heroes,,,52.0",
			"s3=,300000,139,Nobody,Nobody,,-1.0",
		),
		"song_extra_info.csv": lines("song_id,name,isrc", "s1=,愛,TWUM71200043", "s3=,Heroes,GBAYE7500234"),
	}
}

func start(t testing.TB, p envs.Problem, seeds ...uint64) envs.Environment {
	t.Helper()
	env, err := p.New(seeds)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func open(t testing.TB, source kkbox.Source) *kkbox.Dataset {
	t.Helper()
	data, err := source.Open()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPromises(t *testing.T) {
	files := kkbox.Source{Folder: folder(t, duo())}
	for _, p := range []envs.Problem{
		kkbox.MusicStateless{Source: few},
		kkbox.MusicState{Source: few},
		kkbox.MusicStateless{Source: files, Candidates: 2},
		kkbox.MusicState{Source: files, Candidates: 3},
	} {
		t.Run(fmt.Sprintf("%T%+v", p, p.Spec()), func(t *testing.T) { envtest.TestProblem(t, p) })
	}
}

func TestSpec(t *testing.T) {
	if got, want := (kkbox.MusicStateless{}).Spec(), (envs.Spec{Candidates: 10, Dim: 94}); got != want {
		t.Errorf("stateless: %+v, want %+v", got, want)
	}
	// 3 songs of 94 fields and a feedback, and the song on offer: 285 + 94.
	if got, want := (kkbox.MusicState{Candidates: 4}).Spec(), (envs.Spec{Candidates: 4, Dim: 379, State: 285}); got != want {
		t.Errorf("with state: %+v, want %+v", got, want)
	}
}

// The chain of states of two users, followed by hand: rows that were chosen,
// the latest first, each with its song's fields and the feedback.
func TestStateChain(t *testing.T) {
	source := kkbox.Source{Folder: folder(t, duo())}
	data := open(t, source)
	fields := kkbox.Encode(data)
	env := start(t, kkbox.MusicState{Source: source, Candidates: 3}, 3, 4)
	past := map[[2]int32][]int32{} // by run and user, the latest last
	visits := map[int32]int{}
	for step := range 60 {
		obs := env.Observe()
		chosen, actions := [2]int32{}, make([]int, 2)
		for r := range 2 {
			user := obs.Session[r]
			visits[user]++
			// Row 2i+u of train.csv is user u's i-th.
			items := slices.Clone(obs.Codes.Items[3*r : 3*r+3])
			sorted := slices.Sorted(slices.Values(items))
			if !slices.Equal(sorted, []int32{user, user + 2, user + 4}) {
				t.Fatalf("step %d: user %d is offered rows %v", step, user, items)
			}
			rows := past[[2]int32{int32(r), user}]
			for m := range 3 {
				context := obs.Contexts[(3*r+m)*379:][:379]
				for i := range 3 {
					song := context[95*i:][:95]
					if i >= len(rows) {
						if slices.ContainsFunc(song, func(x float32) bool { return x != 0 }) {
							t.Fatalf("step %d: place %d of the state is not 0 after %d visits", step, i, len(rows))
						}
						continue
					}
					row := rows[len(rows)-1-i]
					feedback := []float32{+1, -1, -1, -1, -1, +1}[row] // ann likes row 0, bob row 5
					if want := fields.Song(int(data.Song[row])); !slices.Equal(song[:94], want) || song[94] != feedback {
						t.Fatalf("step %d: place %d of the state is %v, want row %d", step, i, song, row)
					}
				}
				if !slices.Equal(context[285:], fields.Song(int(data.Song[items[m]]))) {
					t.Fatalf("step %d: candidate %d is not row %d", step, m, items[m])
				}
			}
			actions[r] = step % 3
			chosen[r] = items[actions[r]]
			past[[2]int32{int32(r), user}] = append(rows, chosen[r])
		}
		out, err := env.Step(actions)
		if err != nil {
			t.Fatal(err)
		}
		for r, row := range chosen {
			want := float32(0)
			if row == 0 || row == 5 {
				want = 1
			}
			if out.Reward[r] != want || out.Discount[r] != 1 {
				t.Fatalf("step %d: row %d paid %v with discount %v, want %v and 1", step, row, out.Reward[r], out.Discount[r], want)
			}
		}
	}
	if visits[0] < 30 || visits[1] < 30 || visits[0]+visits[1] != 120 {
		t.Errorf("visits of users %v, want about 60 each of users 0 and 1 and none of user 2, who has too few rows", visits)
	}
}

// Users come equally often, whatever their number of rows, and their rows are
// offered equally often, at every place.
func TestUniform(t *testing.T) {
	const runs, steps, candidates = 20, 500, 10
	data := open(t, few)
	rows := make([]int, len(data.Users))
	for _, user := range data.User {
		rows[user]++
	}
	env := start(t, kkbox.MusicStateless{Source: few}, seeds(runs)...)
	visits := make([]float64, len(data.Users))
	seen := make([]float64, len(data.User))
	var later float64 // of pairs of neighbours, those in the order of time
	for range steps {
		obs := env.Observe()
		for r := range runs {
			items := obs.Codes.Items[r*candidates : (r+1)*candidates]
			user := data.User[items[0]]
			visits[user]++
			for i, row := range items {
				if data.User[row] != user {
					t.Fatalf("row %d of user %d is offered to user %d", row, data.User[row], user)
				}
				if slices.Contains(items[:i], row) {
					t.Fatalf("row %d is offered twice", row)
				}
				seen[row]++
				if i > 0 && row > items[i-1] {
					later++
				}
			}
		}
		if _, err := env.Step(make([]int, runs)); err != nil {
			t.Fatal(err)
		}
	}
	players := 0
	for _, n := range rows {
		if n >= candidates {
			players++
		}
	}
	// Pearson's statistic of a uniform law: mean n-1, variance below 2(n-1).
	// Rows are drawn without replacement, which makes it smaller.
	var byUser, byRow, rowsOfPlayers float64
	for user, n := range rows {
		expected := float64(runs*steps) / float64(players)
		if n < candidates {
			if visits[user] > 0 {
				t.Errorf("user %d has %d rows and comes", user, n)
			}
			continue
		}
		byUser += (visits[user] - expected) * (visits[user] - expected) / expected
	}
	for row, user := range data.User {
		if rows[user] < candidates {
			continue
		}
		rowsOfPlayers++
		expected := visits[user] * candidates / float64(rows[user])
		byRow += (seen[row] - expected) * (seen[row] - expected) / expected
	}
	if n := float64(players - 1); math.Abs(byUser-n) > 5*math.Sqrt(2*n) {
		t.Errorf("users: Pearson's statistic is %.1f of %v users", byUser, players)
	}
	if n := rowsOfPlayers; byRow > n+5*math.Sqrt(2*n) || byRow < 0.5*n {
		t.Errorf("rows: Pearson's statistic is %.1f of %v rows", byRow, n)
	}
	n := float64(runs * steps * (candidates - 1))
	if math.Abs(later/n-0.5) > 0.02 {
		t.Errorf("%.3f of neighbouring candidates are in the order of time, want half", later/n)
	}
}

func seeds(n int) []uint64 {
	s := make([]uint64, n)
	for i := range s {
		s[i] = uint64(i + 1)
	}
	return s
}

// On synthetic data the oracle knows the probabilities; on real data it does not
// exist. A choice by them has no regret, and one by the targets earns 1 wherever
// a liked song is on offer.
func TestOracles(t *testing.T) {
	if _, ok := start(t, kkbox.MusicStateless{Source: kkbox.Source{Folder: folder(t, duo())}, Candidates: 3}, 1).(envs.Oracle); ok {
		t.Error("there is an oracle of real data")
	}
	const runs, steps, m = 5, 100, 10
	p, data := kkbox.MusicState{Source: few}, open(t, few)
	for _, algorithm := range []envs.Algorithm{kkbox.LabelOracle{}, kkbox.ProbabilityOracle{}} {
		policy, err := algorithm.New(p.Spec(), seeds(runs))
		if err != nil {
			t.Fatal(err)
		}
		env, actions, expected := start(t, p, seeds(runs)...), make([]int, runs), make([]float64, runs*m)
		for range steps {
			obs := env.Observe()
			env.(envs.Oracle).ExpectedRewards(expected)
			if err := policy.Act(actions, obs); err != nil {
				t.Fatal(err)
			}
			out, err := env.Step(actions)
			if err != nil {
				t.Fatal(err)
			}
			for r, action := range actions {
				best, liked := 0., uint8(0)
				for i, row := range obs.Codes.Items[r*m : (r+1)*m] {
					if expected[r*m+i] != float64(data.Probability[row]) {
						t.Fatalf("row %d: expected reward %v, want %v", row, expected[r*m+i], data.Probability[row])
					}
					best, liked = max(best, expected[r*m+i]), max(liked, data.Target[row])
				}
				if algorithm == (kkbox.LabelOracle{}) && out.Reward[r] != float32(liked) {
					t.Errorf("LabelOracle earns %v where %v is to be had", out.Reward[r], liked)
				}
				if algorithm == (kkbox.ProbabilityOracle{}) && expected[r*m+action] != best {
					t.Errorf("ProbabilityOracle expects %v where %v is to be had", expected[r*m+action], best)
				}
			}
			if err := policy.Update(envs.Transition{Observation: obs, Actions: actions, Outcome: out}); err != nil {
				t.Error(err)
			}
		}
	}
}

// The oracles refuse what they cannot look into.
func TestOraclesRefuse(t *testing.T) {
	linear := envs.Linear{}
	real := kkbox.MusicStateless{Source: kkbox.Source{Folder: folder(t, duo())}, Candidates: 3}
	for _, c := range []struct {
		algorithm envs.Algorithm
		problem   envs.Problem
		refused   bool
	}{
		{kkbox.LabelOracle{}, linear, true}, {kkbox.ProbabilityOracle{}, linear, true}, {kkbox.ProbabilityOracle{}, real, true}, {kkbox.LabelOracle{}, real, false},
	} {
		policy, err := c.algorithm.New(c.problem.Spec(), seeds(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := policy.Act(make([]int, 1), start(t, c.problem, 1).Observe()); (err != nil) != c.refused {
			t.Errorf("%T on %T: error %v", c.algorithm, c.problem, err)
		}
		if _, err := c.algorithm.New(c.problem.Spec(), nil); err == nil {
			t.Errorf("%T: no error without seeds", c.algorithm)
		}
	}
}

func TestBadSettings(t *testing.T) {
	source := kkbox.Source{Folder: folder(t, duo())}
	for _, test := range []struct {
		problem envs.Problem
		names   string
	}{
		{kkbox.MusicStateless{Source: source}, "Candidates is 10, and none of 3 users"},
		{kkbox.MusicState{Source: source, Candidates: -3}, "Candidates -3"},
		{kkbox.MusicState{Source: few, Candidates: 1001}, "Candidates 1001"},
		{kkbox.MusicState{Source: kkbox.Source{Users: -1}}, "Source.Users is -1"},
		{kkbox.MusicState{Source: kkbox.Source{Folder: source.Folder, Users: 5}}, "Users 5"},
		{kkbox.MusicState{Source: kkbox.Source{Folder: filepath.Join(source.Folder, "nowhere")}}, "nowhere"},
	} {
		if _, err := test.problem.New([]uint64{1}); err == nil || !strings.Contains(err.Error(), test.names) {
			t.Errorf("%+v: error %v, want one that says %q", test.problem, err, test.names)
		}
	}
}

// A declaration says what the data is, and not where.
func TestDeclaration(t *testing.T) {
	text := func(p envs.Problem) string {
		t.Helper()
		b, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, p := range []envs.Problem{kkbox.MusicStateless{}, kkbox.MusicState{}} {
		if got, want := text(p), `{"Source":{"Seed":1,"Users":3000,"Version":2},"Candidates":10}`; got != want {
			t.Errorf("the zero value is %s, want %s", got, want)
		}
	}
	here := kkbox.Source{Folder: folder(t, duo())}
	first := text(kkbox.MusicState{Source: here})
	if !strings.Contains(first, `"Rows":8,"Songs":3,"Users":3`) || strings.Contains(first, here.Folder) {
		t.Errorf("real data is %s", first)
	}
	if other := text(kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, duo())}}); other != first {
		t.Errorf("in another folder it is %s, was %s", other, first)
	}
	for name, change := range map[string][3]string{
		"a target": {"train.csv", "bob=,s1=,search,,song,0", "bob=,s1=,search,,song,1"},
		"a source": {"train.csv", "bob=,s1=,search,,song,0", "bob=,s1=,search,,radio,0"},
		"a user":   {"train.csv", "cat=", "dog="},
		"a song":   {"songs.csv", "200000", "200001"},
	} {
		files := duo()
		files[change[0]] = strings.ReplaceAll(files[change[0]], change[1], change[2])
		if other := text(kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, files)}}); other == first {
			t.Errorf("with %s changed it is still %s", name, other)
		}
	}
	if _, err := json.Marshal(kkbox.MusicState{Source: kkbox.Source{Folder: t.TempDir()}}); err == nil {
		t.Error("no error without files")
	}
}

// Tables of other data and of other states have another identity. A state that
// has fewer rows is 0 where they are missing.
func TestTable(t *testing.T) {
	table := func(p envs.Problem) envs.Table { return start(t, p, 1).Observe().Codes.Table }
	source := kkbox.Source{Folder: folder(t, duo())}
	seen := map[string]int{}
	for i, p := range []envs.Problem{
		kkbox.MusicState{Source: few}, kkbox.MusicStateless{Source: few}, kkbox.MusicState{Source: kkbox.Source{Users: 60, Seed: 2}},
		kkbox.MusicState{Source: source, Candidates: 2},
	} {
		identity := table(p).Identity()
		if other, ok := seen[identity]; ok {
			t.Errorf("problems %d and %d have tables of the same identity %q", other, i, identity)
		}
		seen[identity] = i
	}
	x, data := table(kkbox.MusicState{Source: source, Candidates: 2}), open(t, source)
	fields := kkbox.Encode(data)
	of := func(row int) []float32 { return fields.Song(int(data.Song[row])) }
	want := slices.Concat(of(5), []float32{1}, of(1), []float32{-1}, make([]float32, 95), of(3)) // bob liked row 5 and not row 1
	got := slices.Repeat([]float32{7}, 379)
	if x.Expand(got, []int32{5, 1, -1}, 3); !slices.Equal(got, want) {
		t.Errorf("expanded to %v, want %v", got, want)
	}
	for name, bad := range map[string]func(){
		"a short destination": func() { x.Expand(make([]float32, 378), []int32{-1, -1, -1}, 0) },
		"two state codes":     func() { x.Expand(make([]float32, 379), []int32{-1, -1}, 0) },
		"row 8 of 8":          func() { x.Expand(make([]float32, 379), []int32{-1, -1, -1}, 8) },
		"no item on offer":    func() { x.Expand(make([]float32, 379), []int32{-1, -1, -1}, -1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic for %s", name)
				}
			}()
			bad()
		}()
	}
}
