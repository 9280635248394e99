package kkbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/contextrec/contextrec/baselines"
	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/envtest"
	"github.com/contextrec/contextrec/envs/kkbox"
	"github.com/contextrec/contextrec/envs/sim"
)

// twin is a synthetic set that is quickly made.
var twin = kkbox.Source{Users: 60}

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
		"members.csv":         lines("msno,city,bd,gender,registered_via,registration_init_time,expiration_date", "ann=,13,27,female,9,20110820,20170920"),
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

func TestConformance(t *testing.T) {
	files := kkbox.Source{Folder: folder(t, duo())}
	for _, p := range []envs.Problem{
		kkbox.MusicStateless{Source: twin},
		kkbox.MusicState{Source: twin},
		kkbox.MusicState{Source: twin, Fields: kkbox.Variant{SourceFields: true}, Candidates: 3},
		kkbox.MusicStateless{Source: twin, Fields: kkbox.Variant{SourceFields: true, CatalogueCounts: true}},
		kkbox.MusicStateless{Source: files, Candidates: 2},
		kkbox.MusicState{Source: files, Candidates: 3},
	} {
		t.Run(fmt.Sprintf("%T%+v", p, p.Spec()), func(t *testing.T) { envtest.Suite{Steps: 60}.TestProblem(t, p) })
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
	data, _, err := source.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	fields, err := source.Fields(kkbox.Variant{})
	if err != nil {
		t.Fatal(err)
	}
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
	data, _, err := twin.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int, len(data.Users))
	for _, user := range data.User {
		rows[user]++
	}
	env := start(t, kkbox.MusicStateless{Source: twin}, seeds(runs)...)
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

func TestPlayers(t *testing.T) {
	source := kkbox.Source{Folder: folder(t, duo())}
	for candidates, want := range map[int][2]int{2: {3, 0}, 3: {2, 1}, 4: {0, 3}} {
		players, leftOut, err := kkbox.MusicState{Source: source, Candidates: candidates}.Players()
		if err != nil || players != want[0] || leftOut != want[1] {
			t.Errorf("%d candidates: %d play and %d are left out (%v), want %v", candidates, players, leftOut, err, want)
		}
	}
}

// The oracle is there where the law is known, and tells the probabilities.
func TestOracle(t *testing.T) {
	files := duo()
	source := kkbox.Source{Folder: folder(t, files)}
	if _, ok := start(t, kkbox.MusicStateless{Source: source, Candidates: 3}, 1).(envs.Oracle); ok {
		t.Error("there is an oracle of real data")
	}
	files["truth.csv"] = lines("probability", "0.9", "0.25", "0.5", "0.125", "0.375", "0.75", "0.5", "0.5")
	env := start(t, kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, files)}, Candidates: 3}, 1, 2)
	got, rewards := make([]float64, 6), make([]float32, 6)
	env.(envs.Oracle).ExpectedRewards(got)
	env.(envs.PotentialOutcomes).PotentialRewards(rewards)
	for i, row := range env.Observe().Codes.Items {
		if want := float64([]float32{0.9, 0.25, 0.5, 0.125, 0.375, 0.75}[row]); got[i] != want {
			t.Errorf("row %d: expected reward %v, want %v", row, got[i], want)
		}
		if want := []float32{1, 0, 0, 0, 0, 1}[row]; rewards[i] != want {
			t.Errorf("row %d: potential reward %v, want %v", row, rewards[i], want)
		}
	}
}

// The references earn what can be counted: the label oracle always finds the
// liked song, the probability oracle the likeliest, and has no regret.
func TestReferences(t *testing.T) {
	files := duo()
	// ann's likeliest is the one that she likes, bob's is another.
	files["truth.csv"] = lines("probability", "0.9", "0.25", "0.5", "0.8", "0.375", "0.75", "0.5", "0.5")
	p := kkbox.MusicStateless{Source: kkbox.Source{Folder: folder(t, files)}, Candidates: 3}
	data, _, err := p.Source.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		algorithm envs.Algorithm
		reward    [2]float32
		regret    [2]float64
	}{
		{kkbox.LabelOracle{}, [2]float32{1, 1}, [2]float64{0, float64(float32(0.8)) - 0.75}},
		{kkbox.ProbabilityOracle{}, [2]float32{1, 0}, [2]float64{0, 0}},
	} {
		policy, err := test.algorithm.New(p.Spec(), seeds(4))
		if err != nil {
			t.Fatal(err)
		}
		err = sim.Play(context.Background(), start(t, p, seeds(4)...), policy, 50, sim.RecorderFunc(func(step int, tr envs.Transition, regret []float64) {
			for r := range tr.Runs {
				user := data.User[tr.Codes.Items[3*r]]
				if tr.Reward[r] != test.reward[user] || regret[r] != test.regret[user] {
					t.Errorf("%T, step %d: user %d: reward %v and regret %v, want %v and %v",
						test.algorithm, step, user, tr.Reward[r], regret[r], test.reward[user], test.regret[user])
				}
			}
		}))
		if err != nil {
			t.Error(err)
		}
	}
}

// Ties are broken at random, a run depends on its seed alone, and both refuse
// what they cannot look into.
func TestReferencesKeepPromises(t *testing.T) {
	p := kkbox.MusicState{Source: twin}
	for _, a := range []envs.Algorithm{kkbox.LabelOracle{}, kkbox.ProbabilityOracle{}} {
		whole, err := a.New(p.Spec(), seeds(20))
		if err != nil {
			t.Fatal(err)
		}
		obs := start(t, p, seeds(20)...).Observe()
		together := make([]int, 20)
		if err := whole.Act(together, obs); err != nil {
			t.Fatal(err)
		}
		for r, seed := range seeds(20) {
			alone, err := a.New(p.Spec(), []uint64{seed})
			if err != nil {
				t.Fatal(err)
			}
			one := make([]int, 1)
			if err := alone.Act(one, start(t, p, seed).Observe()); err != nil || one[0] != together[r] {
				t.Errorf("%T: run %d chooses %d alone and %d among others (%v)", a, r, one[0], together[r], err)
			}
		}

		other := envs.Linear{Candidates: 10, Dim: 379}
		policy, err := a.New(other.Spec(), []uint64{1})
		if err != nil {
			t.Fatal(err)
		}
		if err := policy.Act(make([]int, 1), start(t, other, 1).Observe()); err == nil {
			t.Errorf("%T plays a problem without rows", a)
		}
		if _, err := a.New(p.Spec(), nil); err == nil {
			t.Errorf("%T: no error without seeds", a)
		}
		if _, err := a.New(envs.Spec{}, []uint64{1}); err == nil {
			t.Errorf("%T: no error for a spec of nothing", a)
		}
	}
	files := kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, duo())}, Candidates: 3}
	policy, err := kkbox.ProbabilityOracle{}.New(files.Spec(), []uint64{1})
	if err != nil {
		t.Fatal(err)
	}
	if err := policy.Act(make([]int, 1), start(t, files, 1).Observe()); err == nil {
		t.Error("ProbabilityOracle plays on real data")
	}

	// Both of ann's other songs earn nothing: one of three liked songs is taken
	// at random where all three earn the same.
	same := duo()
	same["train.csv"] = strings.ReplaceAll(same["train.csv"], ",1\n", ",0\n")
	tied := kkbox.MusicStateless{Source: kkbox.Source{Folder: folder(t, same)}, Candidates: 3}
	policy, err = kkbox.LabelOracle{}.New(tied.Spec(), seeds(60))
	if err != nil {
		t.Fatal(err)
	}
	actions, hits := make([]int, 60), make([]int, 3)
	if err := policy.Act(actions, start(t, tied, seeds(60)...).Observe()); err != nil {
		t.Fatal(err)
	}
	for _, a := range actions {
		hits[a]++
	}
	if slices.Min(hits) < 8 { // of 20, three standard deviations less
		t.Errorf("ties are broken %v times", hits)
	}
}

func TestBadSettings(t *testing.T) {
	source := kkbox.Source{Folder: folder(t, duo())}
	for _, test := range []struct {
		problem envs.Problem
		names   string
	}{
		{kkbox.MusicStateless{Source: source}, "MusicStateless.Candidates is 10, and none of 3 users"},
		{kkbox.MusicStateless{Source: source, Candidates: 1}, "MusicStateless.Candidates is 1"},
		{kkbox.MusicState{Source: source, Candidates: -3}, "MusicState.Candidates is -3"},
		{kkbox.MusicState{Source: twin, Candidates: 256}, "MusicState.Candidates is 256"},
		{kkbox.MusicState{Source: kkbox.Source{Users: -1}}, "Source.Users is -1"},
		{kkbox.MusicState{Source: kkbox.Source{Folder: source.Folder, Users: 5}}, "Users 5"},
		{kkbox.MusicState{Source: kkbox.Source{Folder: filepath.Join(source.Folder, "nowhere")}}, "nowhere"},
		{kkbox.MusicState{Source: kkbox.Source{Users: 3, Seed: 5, Cache: filepath.Join(source.Folder, "train.csv")}}, "Source.Cache"},
	} {
		if _, err := test.problem.New([]uint64{1}); err == nil || !strings.Contains(err.Error(), test.names) {
			t.Errorf("%+v: error %v, want one that says %q", test.problem, err, test.names)
		}
	}
	if _, err := (kkbox.MusicState{Source: twin}).New(make([]uint64, 1<<19)); err == nil || !strings.Contains(err.Error(), "524288 runs") {
		t.Errorf("half a million runs: %v", err)
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
	if got, want := text(kkbox.MusicStateless{}),
		`{"Source":{"Users":3000,"Seed":1,"Version":1},"Fields":{"CatalogueCounts":false,"SourceFields":false},"Candidates":10}`; got != want {
		t.Errorf("the zero value is %s, want %s", got, want)
	}
	if got := text(kkbox.MusicStateless{Source: kkbox.Source{Cache: "anywhere"}}); got != text(kkbox.MusicStateless{}) {
		t.Errorf("with a cache it is %s", got)
	}
	here := kkbox.Source{Folder: folder(t, duo())}
	first := text(kkbox.MusicState{Source: here})
	if !strings.Contains(first, `"Rows":8,"Users":3,"Songs":3,"Checksum":"`) || strings.Contains(first, here.Folder) {
		t.Errorf("real data is %s", first)
	}
	if other := text(kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, duo())}}); other != first {
		t.Errorf("in another folder it is %s, was %s", other, first)
	}
	for name, change := range map[string][2]string{
		"a target": {"bob=,s1=,search,,song,0", "bob=,s1=,search,,song,1"},
		"a source": {"bob=,s1=,search,,song,0", "bob=,s1=,search,,radio,0"},
		"a user":   {"cat=", "dog="},
	} {
		files := duo()
		files["train.csv"] = strings.ReplaceAll(files["train.csv"], change[0], change[1])
		if other := text(kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, files)}}); other == first {
			t.Errorf("with %s changed it is still %s", name, other)
		}
	}
	files := duo()
	files["songs.csv"] = strings.ReplaceAll(files["songs.csv"], "200000", "200001")
	if other := text(kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, files)}}); other == first {
		t.Errorf("with a song changed it is still %s", other)
	}
	if _, err := json.Marshal(kkbox.MusicState{Source: kkbox.Source{Folder: t.TempDir()}}); err == nil {
		t.Error("no error without files")
	}
}

// Tables of other data and of other features have another identity.
func TestTable(t *testing.T) {
	table := func(p envs.Problem) envs.Table { return start(t, p, 1).Observe().Codes.Table }
	files := duo()
	files["train.csv"] = strings.Replace(files["train.csv"], "song,0", "song,1", 1)
	seen := map[string]int{}
	for i, p := range []envs.Problem{
		kkbox.MusicState{Source: twin},
		kkbox.MusicStateless{Source: twin},
		kkbox.MusicState{Source: twin, Fields: kkbox.Variant{SourceFields: true}},
		kkbox.MusicState{Source: kkbox.Source{Users: 60, Seed: 2}},
		kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, duo())}, Candidates: 2},
		kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, files)}, Candidates: 2},
	} {
		identity := table(p).Identity()
		if other, ok := seen[identity]; ok {
			t.Errorf("problems %d and %d have tables of the same identity %q", other, i, identity)
		}
		seen[identity] = i
	}

	x := table(kkbox.MusicState{Source: kkbox.Source{Folder: folder(t, duo())}, Candidates: 2}).(*kkbox.MusicTable)
	songs, features, ok := x.Gather()
	if !ok {
		t.Error("contexts of songs alone cannot be gathered")
	}
	of := func(row int32) []float32 { return features[songs[row]*94:][:94] }
	var want, got []float32
	want = append(append(want, of(5)...), x.Feedback(5)) // bob, who liked row 5 and not row 1
	want = append(append(want, of(1)...), x.Feedback(1))
	want = append(append(want, make([]float32, 95)...), of(3)...)
	got = make([]float32, 379)
	if x.Expand(got, []int32{5, 1, envs.NoItem}, 3); !slices.Equal(got, want) || x.Feedback(5) != 1 || x.Feedback(1) != -1 {
		t.Errorf("expanded %v, gathered %v", got, want)
	}
	if _, _, ok := table(kkbox.MusicState{Source: twin, Fields: kkbox.Variant{SourceFields: true}}).(*kkbox.MusicTable).Gather(); ok {
		t.Error("contexts with source fields can be gathered")
	}
	for name, bad := range map[string]func(){
		"a short destination": func() { x.Expand(make([]float32, 378), []int32{-1, -1, -1}, 0) },
		"two state codes":     func() { x.Expand(make([]float32, 379), []int32{-1, -1}, 0) },
		"row 8 of 8":          func() { x.Expand(make([]float32, 379), []int32{-1, -1, -1}, 8) },
		"row -2 in the state": func() { x.Expand(make([]float32, 379), []int32{-2, -1, -1}, 0) },
		"no item on offer":    func() { x.Expand(make([]float32, 379), []int32{-1, -1, -1}, envs.NoItem) },
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

func benchmarkMusic(b *testing.B, p envs.Problem) {
	env := start(b, p, 1)
	policy, err := baselines.Random{}.New(p.Spec(), []uint64{1})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := sim.Play(context.Background(), env, policy, b.N, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
}

// A step of one run with a random policy, on the twin that the experiments play
// on.
func BenchmarkMusicStateless(b *testing.B) { benchmarkMusic(b, kkbox.MusicStateless{}) }

func BenchmarkMusicState(b *testing.B) { benchmarkMusic(b, kkbox.MusicState{}) }
