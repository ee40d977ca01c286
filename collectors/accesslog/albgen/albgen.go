// Package albgen writes ALB access-log lines as a busy service would have them, for
// tests and benchmarks: about 670 bytes a line, tens of thousands of distinct URLs
// and clients, thousands of user agents, and ids that do not compress.
package albgen

import (
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Generator makes lines. The same Seed makes the same lines.
type Generator struct {
	random *rand.Rand
	at     time.Time
	step   time.Duration
	probe  int

	urls, agents, clients []string
}

// Settings shape what is generated.
type Settings struct {
	Seed  uint64
	Start time.Time     // when the first request ends
	Step  time.Duration // mean time from one end to the next
}

// Sizes of the sets that lines draw from, skewed so that some are frequent.
const (
	URLs    = 60000
	Clients = 40000
	Agents  = 3000
)

// New makes a generator.
func New(s Settings) *Generator {
	g := &Generator{random: rand.New(rand.NewPCG(s.Seed, 0x9e3779b97f4a7c15)), at: s.Start.UTC(), step: s.Step}
	paths := []string{"/v1/orders/", "/v1/stores/", "/v1/customers/", "/v2/search/products/", "/v1/carts/", "/assets/img/catalog/"}
	for i := range URLs {
		url := "https://shop.example.test:443" + paths[g.random.IntN(len(paths))] + strconv.Itoa(100000+g.random.IntN(900000))
		if i%3 == 0 {
			url += "?page=" + strconv.Itoa(g.random.IntN(40)) + "&sort=price"
		}
		g.urls = append(g.urls, url)
	}
	for range Clients {
		b := strconv.AppendUint(nil, uint64(1+g.random.IntN(223)), 10)
		for range 3 {
			b = strconv.AppendUint(append(b, '.'), uint64(g.random.IntN(256)), 10)
		}
		g.clients = append(g.clients, string(b))
	}
	systems := []string{"Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7", "X11; Linux x86_64", "iPhone; CPU iPhone OS 17_4 like Mac OS X", "Linux; Android 14; SM-S918B"}
	for range Agents {
		version := strconv.Itoa(90+g.random.IntN(50)) + ".0." + strconv.Itoa(g.random.IntN(7000)) + "." + strconv.Itoa(g.random.IntN(200))
		g.agents = append(g.agents, "Mozilla/5.0 ("+systems[g.random.IntN(len(systems))]+") AppleWebKit/537.36 (KHTML, like Gecko) Chrome/"+version+" Safari/537.36")
	}
	return g
}

// Node is the load balancer's node that all lines name.
const Node = "203.0.113.200"

// Append adds one line with its line end.
func (g *Generator) Append(b []byte) []byte {
	g.at = g.at.Add(time.Duration(g.random.ExpFloat64() * float64(g.step)))
	took := time.Duration(math.Exp(g.random.NormFloat64()*0.7+3.2) * float64(time.Millisecond)) // median 24 ms
	target := "10.0." + strconv.Itoa(1+g.random.IntN(2)) + "." + strconv.Itoa(11+g.random.IntN(2)) + ":8080"
	status, targetStatus := "200", "200"
	request, wait, response := "0.001", strconv.FormatFloat(took.Seconds(), 'f', 3, 64), "0.000"
	switch p := g.random.IntN(10000); {
	case p < 5: // nobody listening
		status, targetStatus, request, wait, response = "502", "-", "-1", "-1", "-1"
	case p < 10:
		status, targetStatus = "500", "500"
	case p < 15:
		status, targetStatus, request, wait, response = "460", "-", "-1", "-1", "-1"
	case p < 400:
		status, targetStatus = "404", "404"
	case p < 700:
		status, targetStatus = "304", "304"
	case p < 1000:
		status, targetStatus = "201", "201"
	}
	agent := g.agents[g.skewed(Agents)]
	if g.random.IntN(500) == 0 {
		g.probe++
		agent = "gapless-probe/1.0 r1-" + leftPad(g.probe, 6)
	}
	method := "GET"
	if g.random.IntN(8) == 0 {
		method = "POST"
	}
	b = append(b, "h2 "...)
	b = appendTime(b, g.at)
	b = append(b, " app/shop-public/50dc6c495c0c9188 "...)
	b = append(b, g.clients[g.skewed(Clients)]...)
	b = append(b, ':')
	b = strconv.AppendInt(b, int64(1024+g.random.IntN(64000)), 10)
	for _, field := range []string{target, request, wait, response, status, targetStatus} {
		b = append(b, ' ')
		b = append(b, field...)
	}
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(200+g.random.IntN(900)), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(300+g.random.IntN(40000)), 10)
	b = append(b, ` "`...)
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, g.urls[g.skewed(URLs)]...)
	b = append(b, ` HTTP/2.0" "`...)
	b = append(b, agent...)
	b = append(b, `" TLS_AES_128_GCM_SHA256 TLSv1.3 arn:aws:elasticloadbalancing:ap-northeast-2:123456789012:targetgroup/shop-api/73e2d6bc24d8a067 "Root=1-`...)
	b = g.appendHex(b, 8)
	b = append(b, '-')
	b = g.appendHex(b, 24)
	b = append(b, `" "shop.example.test" "session-reused" 10 `...)
	b = appendTime(b, g.at.Add(-took))
	b = append(b, ` "forward" "-" "-" "`...)
	b = append(b, target...)
	b = append(b, `" "`...)
	b = append(b, targetStatus...)
	b = append(b, `" "-" "-" TID_`...)
	b = g.appendHex(b, 32)
	b = append(b, ` "-" "-" "-" `...)
	b = append(b, Node...)
	return append(b, '\n')
}

// skewed draws from n with the low numbers far more frequent.
func (g *Generator) skewed(n int) int {
	f := g.random.Float64()
	return int(f * f * f * float64(n))
}

func (g *Generator) appendHex(b []byte, n int) []byte {
	const hex = "0123456789abcdef"
	for range n {
		b = append(b, hex[g.random.IntN(16)])
	}
	return b
}

func appendTime(b []byte, t time.Time) []byte {
	return t.AppendFormat(b, "2006-01-02T15:04:05.000000Z")
}

func leftPad(n, width int) string {
	s := strconv.Itoa(n)
	for len(s) < width {
		s = "0" + s
	}
	return s
}
