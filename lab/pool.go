package lab

import (
	"fmt"
	"sync/atomic"
	"time"
)

const poolName = "HikariPool-1"

// pool is a node's database connections. Who finds none waits for one, and gives up
// after a while.
type pool struct {
	places   chan struct{}
	patience time.Duration // HikariCP's connectionTimeout
	pending  atomic.Int64
}

func newPool(most int, patience time.Duration) *pool {
	if most <= 0 {
		return nil
	}
	return &pool{places: make(chan struct{}, most), patience: patience}
}

func (p *pool) most() int { return cap(p.places) }

func (p *pool) use() (active, pending int) { return len(p.places), int(p.pending.Load()) }

// borrow takes a connection; the caller gives it back. The error is HikariCP's.
func (p *pool) borrow() (giveBack func(), err error) {
	if p == nil {
		return func() {}, nil
	}
	select {
	case p.places <- struct{}{}:
		return func() { <-p.places }, nil
	default:
	}
	p.pending.Add(1)
	defer p.pending.Add(-1)
	patience := time.NewTimer(p.patience)
	defer patience.Stop()
	select {
	case p.places <- struct{}{}:
		return func() { <-p.places }, nil
	case <-patience.C:
		active, waiting := p.use()
		return nil, fmt.Errorf("%s - Connection is not available, request timed out after %dms (total=%d, active=%d, idle=%d, waiting=%d)",
			poolName, p.patience.Milliseconds(), p.most(), active, p.most()-active, waiting-1)
	}
}
