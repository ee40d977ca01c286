//go:build !race

package follow

// raced: the tests run with the race detector.
const raced = false
