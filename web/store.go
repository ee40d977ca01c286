package web

import (
	"context"
	"time"

	"gapless/analysis"
	"gapless/store"
)

// Store is what the console asks of the database; *store.DB is one.
type Store interface {
	Services(ctx context.Context) ([]analysis.Service, error)
	Service(ctx context.Context, name string) (analysis.Service, error)
	Tell(ctx context.Context, service string, events []analysis.StepEvent) (store.Told, error)
	Deploy(ctx context.Context, id string) (analysis.Deploy, error)
	MergedInto(ctx context.Context, id string) (string, error)
	Deploys(ctx context.Context, service string, limit int) ([]store.DeploySummary, error)
	DeploysIn(ctx context.Context, service string, from, to time.Time) ([]analysis.Deploy, error)
	Observations(ctx context.Context, deployID string) (analysis.Observations, error)
	ObservationsAndBefore(ctx context.Context, deployID string) (o analysis.Observations, before string, err error)
	ObservationsBetween(ctx context.Context, service string, from, to time.Time, deployID string) (analysis.Observations, error)
	ObservationsOfTwo(ctx context.Context, first, second string) (a, b analysis.Observations, err error)
	DeployList(ctx context.Context, service string, limit int) (store.DeployList, error)
	Overview(ctx context.Context, limit int) ([]store.ServiceOverview, error)
	Collectors(ctx context.Context) ([]store.CollectorStatus, error)
	AddProbes(ctx context.Context, service string, run analysis.Run, requests []analysis.ProbeRequest) error
	AddClaim(ctx context.Context, c analysis.TypedClaim) (id string, stored bool, err error)
	Claims(ctx context.Context, service string, limit int) (store.Register, error)
	Objects(ctx context.Context, service, source string, skip, limit int) (store.SourceObjects, error)
	SetAsideLines(ctx context.Context, service, source string, skip, limit int) (store.SourceLines, error)
	EachSetAside(ctx context.Context, service, source string, visit func(store.SetAsideRow) error) error
	Subscribe() (changes <-chan string, cancel func())
}

var _ Store = (*store.DB)(nil)
