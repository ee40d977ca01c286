package lab

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go"

	"gapless/analysis"
)

func TestSDKReadsAndChangesTargets(t *testing.T) {
	health := analysis.HealthCheck{Interval: time.Second, Timeout: 300 * time.Millisecond, Unhealthy: 2, Healthy: 2, Path: healthPath}
	b := startBalancer(t, health)
	target := startTarget(t, nil)
	host, port := splitAddress(target.address)
	id := newIdentity()
	server := httptest.NewServer(&elbv2{id: id, group: b.group, port: port})
	defer server.Close()
	client := elb.New(elb.Options{
		Region: id.region, BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("lab", "lab", ""),
	})
	ctx := t.Context()

	groups, err := client.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{Names: []string{id.targetGroup}})
	if err != nil {
		t.Fatal(err)
	}
	group := groups.TargetGroups[0]
	if *group.TargetGroupArn != id.targetGroupARN || *group.HealthCheckIntervalSeconds != 1 || *group.HealthCheckTimeoutSeconds != 1 ||
		*group.UnhealthyThresholdCount != 2 || *group.HealthyThresholdCount != 2 || *group.HealthCheckPath != healthPath ||
		*group.Matcher.HttpCode != "200" || group.TargetType != types.TargetTypeEnumIp || group.LoadBalancerArns[0] != id.loadBalancerARN {
		t.Errorf("group %+v", group)
	}
	attributes, err := client.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: group.TargetGroupArn})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for _, attribute := range attributes.Attributes {
		said[*attribute.Key] = *attribute.Value
	}
	if said["deregistration_delay.timeout_seconds"] != "1" || said["load_balancing.algorithm.type"] != "round_robin" {
		t.Errorf("attributes %v", said)
	}

	state := func(targets ...types.TargetDescription) []types.TargetHealthDescription {
		t.Helper()
		out, err := client.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{
			TargetGroupArn: group.TargetGroupArn, Targets: targets,
			Include: []types.DescribeTargetHealthInputIncludeEnum{types.DescribeTargetHealthInputIncludeEnumAll},
		})
		if err != nil {
			t.Fatal(err)
		}
		return out.TargetHealthDescriptions
	}
	this := types.TargetDescription{Id: aws.String(host), Port: aws.Int32(int32(port))}
	if got := state(); len(got) != 0 {
		t.Errorf("targets %v, want none", got)
	}
	if got := state(this)[0].TargetHealth; got.State != types.TargetHealthStateEnumUnused || got.Reason != types.TargetHealthReasonEnumNotRegistered {
		t.Errorf("a target that is not registered is %+v", got)
	}
	if _, err := client.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: group.TargetGroupArn, Targets: []types.TargetDescription{this}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "healthy by the SDK", func() bool {
		got := state()
		return len(got) == 1 && *got[0].Target.Id == host && int(*got[0].Target.Port) == port &&
			got[0].TargetHealth.State == types.TargetHealthStateEnumHealthy && got[0].TargetHealth.Reason == ""
	})
	if _, err := client.DeregisterTargets(ctx, &elb.DeregisterTargetsInput{TargetGroupArn: group.TargetGroupArn, Targets: []types.TargetDescription{{Id: aws.String(host)}}}); err != nil {
		t.Fatal(err)
	}
	if got := state(this)[0].TargetHealth; got.State != types.TargetHealthStateEnumDraining || got.Reason != types.TargetHealthReasonEnumDeregistrationInProgress {
		t.Errorf("a deregistered target is %+v, want draining", got)
	}
}

func TestSDKGetsELBv2sErrors(t *testing.T) {
	b := startBalancer(t, testChecks)
	id := newIdentity()
	server := httptest.NewServer(&elbv2{id: id, group: b.group, port: 8080})
	defer server.Close()
	client := elb.New(elb.Options{Region: id.region, BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1, Credentials: aws.AnonymousCredentials{}})
	ctx := t.Context()
	other := aws.String(strings.Replace(id.targetGroupARN, "/api/", "/other/", 1))
	wantNotFound := func(err error) {
		t.Helper()
		if _, ok := errors.AsType[*types.TargetGroupNotFoundException](err); !ok {
			t.Errorf("error %v, want TargetGroupNotFoundException", err)
		}
	}
	_, err := client.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: other})
	wantNotFound(err)
	_, err = client.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{TargetGroupArns: []string{*other}})
	wantNotFound(err)
	_, err = client.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{Names: []string{"other"}})
	wantNotFound(err)
	_, err = client.DescribeTargetGroupAttributes(ctx, &elb.DescribeTargetGroupAttributesInput{TargetGroupArn: other})
	wantNotFound(err)

	_, err = client.RegisterTargets(ctx, &elb.RegisterTargetsInput{TargetGroupArn: &id.targetGroupARN, Targets: []types.TargetDescription{{Id: aws.String("i-0abc")}}})
	if _, ok := errors.AsType[*types.InvalidTargetException](err); !ok {
		t.Errorf("error %v, want InvalidTargetException", err)
	}
	_, err = client.DescribeTargetGroups(ctx, &elb.DescribeTargetGroupsInput{LoadBalancerArn: aws.String("arn:aws:other")})
	if _, ok := errors.AsType[*types.LoadBalancerNotFoundException](err); !ok {
		t.Errorf("error %v, want LoadBalancerNotFoundException", err)
	}
	_, err = client.DescribeTargetHealth(ctx, &elb.DescribeTargetHealthInput{TargetGroupArn: aws.String("nonsense")})
	if failed, ok := errors.AsType[smithy.APIError](err); !ok || failed.ErrorCode() != "ValidationError" {
		t.Errorf("error %v, want ValidationError", err)
	}
	_, err = client.DescribeRules(ctx, &elb.DescribeRulesInput{})
	if failed, ok := errors.AsType[smithy.APIError](err); !ok || failed.ErrorCode() != "InvalidAction" {
		t.Errorf("error %v, want InvalidAction", err)
	}
}
