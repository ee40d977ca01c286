package main

import (
	"context"
	"log/slog"
	"time"

	"gapless/store"
)

// noticeEvery is the least time between two looks for deploys that nobody announced.
const noticeEvery = 2 * time.Second

// notice looks for deploys that nobody announced whenever the service has new
// evidence, until ctx ends. What fails is logged and tried again.
func notice(ctx context.Context, db *store.DB, service string, every time.Duration, log *slog.Logger) {
	changes, cancel := db.Subscribe()
	defer cancel()
	for {
		if changed, err := db.Notice(ctx, service); err != nil && ctx.Err() == nil {
			log.Error("notice deploys", "service", service, "error", err)
		} else if changed > 0 {
			log.Info("noticed deploys that nobody had announced, or that were announced late", "service", service, "deploys", changed)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		for changed := ""; changed != service; {
			var open bool
			select {
			case <-ctx.Done():
				return
			case changed, open = <-changes:
				if !open { // the database is closed
					return
				}
			}
		}
	}
}
