//go:build !race

package main

// raced: the tests run with the race detector.
const raced = false
