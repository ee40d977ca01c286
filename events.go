package main

import (
	"time"

	"gapless/analysis"
)

// How deploys and steps are told: the same shape over HTTP and in a steps file.

func startedEvent(d analysis.Deploy) analysis.StepEvent {
	return analysis.StepEvent{
		Deploy: d.ID, Service: d.Service, Kind: analysis.StepDeployStarted, At: analysis.Time{Time: d.StartedAt}, Source: d.Source,
		DeployKind: d.Kind, VersionBefore: d.VersionBefore, VersionAfter: d.VersionAfter, RollbackOf: d.RollbackOf,
		Actor: d.Actor, Environment: d.Environment, URL: d.URL,
	}
}

func stepEvent(service string, s analysis.Step) analysis.StepEvent {
	return analysis.StepEvent{
		Deploy: s.Deploy, Service: service, Kind: s.Kind, At: analysis.Time{Time: s.At},
		Target: s.Target, Source: s.Source, Clock: s.Clock,
	}
}

func reportedEvent(service, deploy string, at time.Time, result, source string) analysis.StepEvent {
	return analysis.StepEvent{
		Deploy: deploy, Service: service, Kind: analysis.StepDeployReported, At: analysis.Time{Time: at}, Result: result, Source: source,
	}
}
