// Package accesslog reads the access logs of load balancers and rolls them up.
//
// What belongs here: finding log objects in S3 or in a folder, reading each of
// them once, understanding their lines (or setting them aside, with the reason),
// and rolling them up into [analysis.ObjectBatch] values that a [Sink] stores. Every
// line of an object is either understood or set aside; nothing is skipped.
//
// A format is one file with a parser from a line to an entry (alb.go today); the
// rest of the package does not know which format it reads.
package accesslog
