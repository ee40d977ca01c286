package lab

import "context"

// trickle is a scenario's ordinary traffic, which ends before something happens that
// it must not get into.
type trickle struct {
	over chan struct{} // closed when it is to end
	gone chan struct{} // closed when the last of it is answered
}

func newTrickle() *trickle { return &trickle{over: make(chan struct{}), gone: make(chan struct{})} }

// run runs do with a context that ends with ctx or when the trickle is stopped.
func (t *trickle) run(ctx context.Context, do func(context.Context)) {
	defer close(t.gone)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-t.over:
			stop()
		case <-ctx.Done():
		}
	}()
	do(ctx)
}

// stop ends it, once, and waits for the last answer.
func (t *trickle) stop() {
	close(t.over)
	<-t.gone
}
