package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// backend is what the nodes share, in a server of its own that no scenario kills:
// the database's orders, the waiting room, and the payment gateways.
type backend struct {
	orders   *orderBook
	room     *waitingRoom
	gateways *gateways
	server   *http.Server
	url      string
}

// startBackend serves until the lab is closed.
func startBackend(log *slog.Logger) (*backend, error) {
	b := &backend{orders: newOrderBook(), room: newWaitingRoom(), gateways: newGateways()}
	mux := http.NewServeMux()
	b.orders.routes(mux)
	b.room.routes(mux)
	b.gateways.routes(mux)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for what the nodes share: %w", err)
	}
	b.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	b.url = "http://" + listener.Addr().String()
	go func() { _ = b.server.Serve(listener) }()
	return b, nil
}

// close cuts off also what is held back.
func (b *backend) close() { _ = b.server.Close() }

// backendClient is a node's connection to what the nodes share.
type backendClient struct {
	base string
	http *http.Client
}

func newBackendClient(base string) *backendClient {
	return &backendClient{base: base, http: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 32}, Timeout: 5 * time.Second,
	}}
}

// do sends one command and decodes its answer into out, which may be nil. It gives
// the status; only what could not be asked at all is an error.
func (c *backendClient) do(method, path string, in, out any) (status int, err error) {
	var body io.Reader
	if in != nil {
		encoded, err := json.Marshal(in)
		if err != nil {
			return 0, fmt.Errorf("encode for the backend: %w", err)
		}
		body = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, c.base+path, body)
	if err != nil {
		return 0, fmt.Errorf("ask the backend: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask the backend: %w", err)
	}
	defer response.Body.Close()
	if out != nil && response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(out); err != nil {
			return response.StatusCode, fmt.Errorf("read the backend's answer: %w", err)
		}
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, nil
}

// answerJSON answers 200 with a value.
func answerJSON(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	reply{http.StatusOK, body}.write(w)
}
