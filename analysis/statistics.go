package analysis

import "math"

// significance is the level of every test of the judge.
const significance = 0.01

func share(part, rest int) float64 {
	if part+rest == 0 {
		return 1
	}
	return float64(part) / float64(part+rest)
}

// binomialAtLeast is P(X ≥ k) for X binomial(n, p).
func binomialAtLeast(k, n int, p float64) float64 {
	if k <= 0 || p >= 1 {
		return 1
	}
	sum := 0.0
	for i := k; i <= n; i++ {
		sum += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// poissonAtLeast is P(X ≥ k) for X Poisson with the given mean.
func poissonAtLeast(k int, mean float64) float64 {
	term, below := math.Exp(-mean), 0.0
	for i := range k {
		below += term
		term *= mean / float64(i+1)
	}
	return max(0, 1-below)
}

// fisherGreater is the one-sided p-value of Fisher's exact test that the first arm
// fails more: P(X ≥ failed) for X hypergeometric.
func fisherGreater(failed, all, otherFailed, otherAll int) float64 {
	k, n := failed+otherFailed, all+otherAll
	sum := 0.0
	for i := failed; i <= min(k, all); i++ {
		sum += math.Exp(logChoose(all, i) + logChoose(otherAll, k-i) - logChoose(n, k))
	}
	return min(sum, 1)
}

// logChoose is the logarithm of "n choose k": −∞ where k is more than n.
func logChoose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	return lg(n) - lg(k) - lg(n-k)
}
