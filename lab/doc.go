// Package lab makes real deploys on loopback, so that the console can be seen at
// work, and its judge held against the truth, on a machine that has nothing else.
//
// What belongs here: node processes (children of the same binary, which can be
// killed for real), the load balancer in front of them with the behaviours that
// matter during a deploy, its access logs and its ELBv2 query API, simulated
// users, what the nodes share (orders, a waiting room, payment gateways), and the
// scenarios that restart, kill or slow the nodes. The lab remembers every
// request in memory ([Truth]); that memory does not pass through the access log.
//
// What does not belong here: probes (the console sends its own through the load
// balancer, and the lab recognises them by their user agent) and any judging.
//
// Where the lab is simpler than the load balancer that it imitates:
//   - It is one load-balancer node, HTTP/1.1 without TLS, and opens a new
//     connection to a target for every request. It never repeats a request.
//   - It reads a target's whole answer before it passes it on; an answer cut short
//     is a 502, where the original would pass on what it has.
//   - Every request that it was sent stands in its access log; the original gives
//     no such promise.
//   - Intervals may be shorter than the original's least ones. Where its API can
//     only tell whole seconds, it tells them rounded up.
package lab
