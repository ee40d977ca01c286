package lab

import (
	"encoding/xml"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const elbv2Namespace = "http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"

// elbv2 is the query API of the load balancer: enough of ELBv2 (version 2015-12-01)
// for the real AWS SDK to read target states and settings and to register and
// deregister targets. It asks for no signature.
type elbv2 struct {
	id    *identity
	group *targetGroup
	port  int // the group's default port
}

type apiError struct {
	status        int
	code, message string
}

// ServeHTTP answers one action.
func (api *elbv2) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		writeError(w, &apiError{http.StatusBadRequest, "MalformedQueryString", "The query string could not be read"})
		return
	}
	var result any
	var failed *apiError
	action := r.Form.Get("Action")
	switch action {
	case "DescribeTargetHealth":
		result, failed = api.describeTargetHealth(r.Form)
	case "DescribeTargetGroups":
		result, failed = api.describeTargetGroups(r.Form)
	case "DescribeTargetGroupAttributes":
		result, failed = api.describeAttributes(r.Form)
	case "RegisterTargets":
		result, failed = api.change(r.Form, action, api.group.register)
	case "DeregisterTargets":
		result, failed = api.change(r.Form, action, api.group.deregister)
	default:
		failed = &apiError{http.StatusBadRequest, "InvalidAction", fmt.Sprintf("Could not find operation %s for version 2015-12-01", action)}
	}
	if failed != nil {
		writeError(w, failed)
		return
	}
	writeXML(w, http.StatusOK, result)
}

type xmlMetadata struct {
	RequestID string `xml:"ResponseMetadata>RequestId"`
}

func metadata() xmlMetadata { return xmlMetadata{requestUUID()} }

type xmlTargetHealth struct {
	XMLName xml.Name       `xml:"DescribeTargetHealthResponse"`
	NS      string         `xml:"xmlns,attr"`
	Result  xmlHealthItems `xml:"DescribeTargetHealthResult"`
	xmlMetadata
}

type xmlHealthItems struct {
	Members []xmlHealthItem `xml:"TargetHealthDescriptions>member"`
}

type xmlHealthItem struct {
	ID          string `xml:"Target>Id"`
	Port        int    `xml:"Target>Port"`
	CheckPort   int    `xml:"HealthCheckPort"`
	State       string `xml:"TargetHealth>State"`
	Reason      string `xml:"TargetHealth>Reason,omitempty"`
	Description string `xml:"TargetHealth>Description,omitempty"`
}

func (api *elbv2) describeTargetHealth(form url.Values) (any, *apiError) {
	if failed := api.wrongGroup(form.Get("TargetGroupArn")); failed != nil {
		return nil, failed
	}
	asked, failed := api.addresses(form)
	if failed != nil {
		return nil, failed
	}
	response := xmlTargetHealth{NS: elbv2Namespace, xmlMetadata: metadata()}
	for _, status := range api.group.describe(asked...) {
		host, port := splitAddress(status.address)
		response.Result.Members = append(response.Result.Members, xmlHealthItem{
			ID: host, Port: port, CheckPort: port,
			State: string(status.state), Reason: status.reason, Description: status.description,
		})
	}
	return response, nil
}

type xmlTargetGroups struct {
	XMLName xml.Name      `xml:"DescribeTargetGroupsResponse"`
	NS      string        `xml:"xmlns,attr"`
	Result  xmlGroupItems `xml:"DescribeTargetGroupsResult"`
	xmlMetadata
}

type xmlGroupItems struct {
	Members []xmlGroupItem `xml:"TargetGroups>member"`
}

type xmlGroupItem struct {
	ARN             string   `xml:"TargetGroupArn"`
	Name            string   `xml:"TargetGroupName"`
	Protocol        string   `xml:"Protocol"`
	ProtocolVersion string   `xml:"ProtocolVersion"`
	Port            int      `xml:"Port"`
	VPC             string   `xml:"VpcId"`
	TargetType      string   `xml:"TargetType"`
	AddressType     string   `xml:"IpAddressType"`
	LoadBalancers   []string `xml:"LoadBalancerArns>member"`
	CheckEnabled    bool     `xml:"HealthCheckEnabled"`
	CheckProtocol   string   `xml:"HealthCheckProtocol"`
	CheckPort       string   `xml:"HealthCheckPort"`
	CheckPath       string   `xml:"HealthCheckPath"`
	CheckInterval   int      `xml:"HealthCheckIntervalSeconds"`
	CheckTimeout    int      `xml:"HealthCheckTimeoutSeconds"`
	Healthy         int      `xml:"HealthyThresholdCount"`
	Unhealthy       int      `xml:"UnhealthyThresholdCount"`
	Codes           string   `xml:"Matcher>HttpCode"`
}

func (api *elbv2) describeTargetGroups(form url.Values) (any, *apiError) {
	names, arns := members(form, "Names"), members(form, "TargetGroupArns")
	balancer := form.Get("LoadBalancerArn")
	for _, arn := range arns {
		if failed := api.wrongGroup(arn); failed != nil {
			return nil, failed
		}
	}
	if len(names) > 0 && !slices.Contains(names, api.id.targetGroup) {
		return nil, groupNotFound()
	}
	if balancer != "" && balancer != api.id.loadBalancerARN {
		return nil, &apiError{http.StatusBadRequest, "LoadBalancerNotFound", "One or more load balancers not found"}
	}
	health := api.group.health
	return xmlTargetGroups{NS: elbv2Namespace, xmlMetadata: metadata(), Result: xmlGroupItems{[]xmlGroupItem{{
		ARN: api.id.targetGroupARN, Name: api.id.targetGroup, Protocol: "HTTP", ProtocolVersion: "HTTP1",
		Port: api.port, VPC: "vpc-0gapless", TargetType: "ip", AddressType: "ipv4",
		LoadBalancers: []string{api.id.loadBalancerARN},
		CheckEnabled:  true, CheckProtocol: "HTTP", CheckPort: "traffic-port", CheckPath: health.Path,
		CheckInterval: wholeSeconds(health.Interval), CheckTimeout: wholeSeconds(health.Timeout),
		Healthy: health.Healthy, Unhealthy: health.Unhealthy, Codes: "200",
	}}}}, nil
}

type xmlAttributes struct {
	XMLName xml.Name          `xml:"DescribeTargetGroupAttributesResponse"`
	NS      string            `xml:"xmlns,attr"`
	Result  xmlAttributeItems `xml:"DescribeTargetGroupAttributesResult"`
	xmlMetadata
}

type xmlAttributeItems struct {
	Members []xmlAttribute `xml:"Attributes>member"`
}

type xmlAttribute struct {
	Key   string `xml:"Key"`
	Value string `xml:"Value"`
}

func (api *elbv2) describeAttributes(form url.Values) (any, *apiError) {
	if failed := api.wrongGroup(form.Get("TargetGroupArn")); failed != nil {
		return nil, failed
	}
	return xmlAttributes{NS: elbv2Namespace, xmlMetadata: metadata(), Result: xmlAttributeItems{[]xmlAttribute{
		{"deregistration_delay.timeout_seconds", strconv.Itoa(wholeSeconds(api.group.delay))},
		{"stickiness.enabled", "false"},
		{"stickiness.type", "lb_cookie"},
		{"slow_start.duration_seconds", "0"},
		{"load_balancing.algorithm.type", "round_robin"},
		{"load_balancing.algorithm.anomaly_mitigation", "off"},
		{"load_balancing.cross_zone.enabled", "use_load_balancer_configuration"},
		{"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count", "1"},
		{"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage", "off"},
	}}}, nil
}

type xmlChanged struct {
	XMLName xml.Name
	NS      string   `xml:"xmlns,attr"`
	Result  struct{} // its name is set per action below
	xmlMetadata
}

// MarshalXML names the empty result after the action, as the original does.
func (c xmlChanged) MarshalXML(e *xml.Encoder, _ xml.StartElement) error {
	start := xml.StartElement{Name: xml.Name{Local: c.XMLName.Local + "Response"}, Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: c.NS}}}
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	if err := e.EncodeElement(struct{}{}, xml.StartElement{Name: xml.Name{Local: c.XMLName.Local + "Result"}}); err != nil {
		return err
	}
	if err := e.EncodeElement(struct {
		RequestID string `xml:"RequestId"`
	}{c.RequestID}, xml.StartElement{Name: xml.Name{Local: "ResponseMetadata"}}); err != nil {
		return err
	}
	return e.EncodeToken(start.End())
}

// change registers or deregisters targets. Deregistering one that is not there
// succeeds, as in the original.
func (api *elbv2) change(form url.Values, action string, apply func(string)) (any, *apiError) {
	if failed := api.wrongGroup(form.Get("TargetGroupArn")); failed != nil {
		return nil, failed
	}
	asked, failed := api.addresses(form)
	if failed != nil {
		return nil, failed
	}
	if len(asked) == 0 {
		return nil, validation("At least one target must be specified")
	}
	for _, address := range asked {
		apply(address)
	}
	return xmlChanged{XMLName: xml.Name{Local: action}, NS: elbv2Namespace, xmlMetadata: metadata()}, nil
}

// addresses reads Targets.member.N.{Id,Port}.
func (api *elbv2) addresses(form url.Values) ([]string, *apiError) {
	var asked []string
	for n := 1; ; n++ {
		key := "Targets.member." + strconv.Itoa(n) + "."
		id := form.Get(key + "Id")
		if id == "" {
			return asked, nil
		}
		port := api.port
		if text := form.Get(key + "Port"); text != "" {
			var err error
			if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
				return nil, validation("The port '" + text + "' is not valid")
			}
		}
		if net.ParseIP(id) == nil {
			return nil, &apiError{http.StatusBadRequest, "InvalidTarget", "The IP address '" + id + "' is not a valid IPv4 address"}
		}
		asked = append(asked, net.JoinHostPort(id, strconv.Itoa(port)))
	}
}

func (api *elbv2) wrongGroup(arn string) *apiError {
	switch {
	case arn == "":
		return validation("A target group ARN must be specified")
	case !strings.HasPrefix(arn, "arn:"):
		return validation("'" + arn + "' is not a valid target group ARN")
	case arn != api.id.targetGroupARN:
		return groupNotFound()
	}
	return nil
}

func groupNotFound() *apiError {
	return &apiError{http.StatusBadRequest, "TargetGroupNotFound", "One or more target groups not found"}
}

func validation(message string) *apiError {
	return &apiError{http.StatusBadRequest, "ValidationError", message}
}

type xmlError struct {
	XMLName   xml.Name `xml:"ErrorResponse"`
	NS        string   `xml:"xmlns,attr"`
	Type      string   `xml:"Error>Type"`
	Code      string   `xml:"Error>Code"`
	Message   string   `xml:"Error>Message"`
	RequestID string   `xml:"RequestId"`
}

func writeError(w http.ResponseWriter, failed *apiError) {
	writeXML(w, failed.status, xmlError{
		NS: elbv2Namespace, Type: "Sender", Code: failed.code, Message: failed.message, RequestID: requestUUID(),
	})
}

func writeXML(w http.ResponseWriter, status int, value any) {
	body, err := xml.Marshal(value)
	if err != nil { // only strings and numbers are ever passed
		http.Error(w, "Internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// members reads a list, name.member.N.
func members(form url.Values, name string) []string {
	var all []string
	for n := 1; ; n++ {
		value := form.Get(name + ".member." + strconv.Itoa(n))
		if value == "" {
			return all
		}
		all = append(all, value)
	}
}

// wholeSeconds rounds up: the API knows whole seconds only.
func wholeSeconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

func splitAddress(address string) (host string, port int) {
	host, text, _ := net.SplitHostPort(address)
	port, _ = strconv.Atoi(text)
	return host, port
}

func requestUUID() string {
	s := randomHex(16)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
