package paper

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/contextrec/contextrec/envs"
	"github.com/contextrec/contextrec/envs/logged"
)

// NewsLogFile is the name of the file with NewsLog, in the folder of the
// notebooks.
const NewsLogFile = "own-data.csv"

// NewsLog makes the log that the notebook own-data reads as if it were somebody's
// own: 2,000 decisions of a news site that offers three articles to one of 150
// readers, who reads the article that is put on top or does not. expected is what
// only the maker of a log knows: the probability with which each article would
// have been read, [N, M].
//
// An article is described by its match with the reader's interests, its freshness
// and its length, all uniform on 0 to 1 in steps of 0.01. A reader of eagerness g,
// uniform on 0.7 to 1 and in no column, reads it with probability
//
//	g · (0.1 + 0.9·match) · (0.3 + 0.7·fresh) · exp(−((length − 0.35)/0.3)²)
//
// The site has put the freshest article on top with probability 0.6, and each of
// the others with 0.2 (the first of equals counts as the freshest).
func NewsLog() (log *logged.Log, expected []float64) {
	const readers, decisions, articles = 150, 2000, 3
	offers, choices, luck := envs.NewRand(1, "news/offers"), envs.NewRand(1, "news/choices"), envs.NewRand(1, "news/luck")
	eager := make([]float64, readers)
	for u := range eager {
		eager[u] = 0.7 + 0.3*offers.Float64()
	}
	log = &logged.Log{Candidates: articles, Dim: 3, Features: []string{"match", "fresh", "length"}}
	for i := range decisions {
		reader := offers.IntN(readers)
		freshest, newest := 0, -1.0
		for c := range articles {
			match, fresh, length := hundredths(offers), hundredths(offers), hundredths(offers)
			log.Contexts = append(log.Contexts, float32(match), float32(fresh), float32(length))
			hill := (length - 0.35) / 0.3
			expected = append(expected, eager[reader]*(0.1+0.9*match)*(0.3+0.7*fresh)*math.Exp(-hill*hill))
			if fresh > newest {
				freshest, newest = c, fresh
			}
		}
		chosen, propensity := freshest, 0.6
		if k := choices.IntN(5); k > 2 { // two cases of five, one for each of the others
			chosen, propensity = (freshest+k-2)%articles, 0.2
		}
		reward := float32(0)
		if luck.Float64() < expected[articles*i+chosen] {
			reward = 1
		}
		log.ID = append(log.ID, fmt.Sprint(i+1))
		log.User = append(log.User, fmt.Sprintf("r%d", reader+1))
		log.Chosen = append(log.Chosen, chosen)
		log.Reward = append(log.Reward, reward)
		log.Propensity = append(log.Propensity, propensity)
	}
	return log, expected
}

// hundredths is uniform on 0, 0.01, ... 1.
func hundredths(rng *rand.Rand) float64 { return float64(rng.IntN(101)) / 100 }
