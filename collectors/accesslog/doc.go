// Package accesslog reads the access logs of load balancers and rolls them up.
//
// What belongs here: finding log objects in S3 or in a folder, following the files of
// proxies, reading each of them once, understanding their lines (or setting them aside,
// with the reason), and rolling them up into [analysis.ObjectBatch] values that a
// [Sink] stores. Every line of an object is either understood or set aside; nothing is
// skipped.
//
// A format is a parser from a line to an entry: alb.go, albhealth.go and albconn.go on
// the fields that tokens.go cuts, nginx.go with nginxformat.go, nginxtail.go and
// nginxjson.go, and haproxy.go. formats.go lists them. What reads, counts and stores
// lines knows entries only, but for two things: health checks are kept one by one and
// connections are not counted (rollup.go), and proxies' logs are followed as files
// (reader.go). recognise.go tells whose a line is that its parser did not understand.
package accesslog
