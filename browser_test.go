//go:build e2e

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// TestBrowser watches a demo in a real browser: pages change by themselves while a
// deploy runs, without an error on the console and without a breach of the content
// security policy. CHROMIUM names the browser, GAPLESS_SHOTS a folder in which
// screenshots are left.
func TestBrowser(t *testing.T) {
	demo := start(t, nil, "demo", "--listen", "127.0.0.1:0", "--scenario", "rolling-naive")
	b := openBrowser(t)

	// The list of deploys gets the deploy without being loaded again.
	b.do(chromedp.Navigate(demo.url+"/"), chromedp.WaitReady("main"))
	b.shot("deploys-empty")
	b.do(mark)
	b.until("the list shows the deploy by itself", `document.querySelector('a[href^="/deploys/rolling-naive-"]') !== null`)
	b.stayed("the list of deploys")

	// So does the page of the deploy, while it runs.
	b.do(chromedp.Click(`a[href^="/deploys/rolling-naive-"]`), chromedp.WaitReady("#live svg"), mark)
	var deploy, before string
	b.do(chromedp.Location(&deploy), chromedp.Evaluate(`document.querySelector('#live').innerText`, &before))
	b.until("the deploy page changes by itself", fmt.Sprintf(`document.querySelector('#live').innerText !== %q`, before))
	b.shot("deploy-running")
	b.until("a step of the running deploy shows", `document.querySelector('#live').innerText.includes('api-2')`)
	b.until("the verdict shows by itself", `document.querySelector('#live').innerText.toLowerCase().includes('disproved')`)
	eventually(t, "the demo is over", func() bool { return strings.Contains(demo.stdout.String(), "rolling-naive: disproved") })
	b.stayed("the deploy page")
	// What the page says at last is what was judged.
	b.until("the final counts show", `document.querySelector('#live').innerText.includes('restart-before-eject') || document.querySelector('#live').innerText.includes('still sent to it')`)
	b.do(chromedp.Reload(), chromedp.WaitReady("#live svg"))
	b.shot("deploy")

	// Dragging over the timeline opens that stretch of time alone; a phase's name does too.
	b.drag("svg[data-zoom]", .4, .6)
	b.until("a part of the window shows", `document.querySelector('.part') !== null`)
	b.shot("part")
	b.do(chromedp.Click(".part a"), chromedp.WaitReady("#live svg"), chromedp.Click(`section[aria-labelledby="h-phases"] tbody tr:nth-child(3) a`))
	b.until("the phase shows alone", `document.querySelectorAll('section[aria-labelledby="h-phases"] tbody tr').length === 1`)

	// What a person claims is judged.
	b.do(chromedp.Navigate(deploy), chromedp.Click("#d-claim summary"), chromedp.SetValue(`#d-claim input[name="text"]`, "No customer noticed"),
		chromedp.SetValue(`#d-claim select[name="basis"]`, "health"), chromedp.Submit("#d-claim form"))
	b.until("the claim is judged", `document.querySelector('#live') !== null && document.querySelector('#live').innerText.includes('health-sample-claim')`)
	for _, name := range []string{"claims", "services"} {
		b.do(chromedp.Navigate(demo.url+"/"+name), chromedp.WaitReady("main"))
		b.shot(name)
	}

	b.do(chromedp.Navigate(demo.url+"/"), chromedp.WaitReady(`a[href^="/deploys/"]`))
	b.shot("deploys")
	b.do(chromedp.Navigate(demo.url+"/collectors"), chromedp.WaitReady("main"))
	b.until("the collectors show", `document.querySelector('main').innerText.includes('elbv2')`)
	b.shot("collectors")

	// A retrospective of the last minutes reads the logs again and leads to the deploy
	// found in them. The lab is gone by now, so its load balancer cannot be asked any
	// more, and the page says so.
	b.do(chromedp.Navigate(demo.url+"/retrospectives/new"), chromedp.WaitReady("form"))
	b.shot("retrospective")
	now := time.Now().UTC()
	b.do(
		chromedp.SetValue(`input[name="from"]`, now.Add(-10*time.Minute).Format("2006-01-02T15:04:05")),
		chromedp.SetValue(`input[name="to"]`, now.Format("2006-01-02T15:04:05")),
		chromedp.Submit("form"),
	)
	b.until("the retrospective leads to the deploy", `document.querySelector('.results a[href^="/deploys/rolling-naive-"]') !== null`)
	b.until("it says what could not be read", `document.querySelector('#live').innerText.includes('elbv2')`)
	b.do(chromedp.Click(`.results a[href^="/deploys/"]`), chromedp.WaitReady("#live svg"))

	// No page is wider than a phone.
	_, id, _ := strings.Cut(deploy, "/deploys/")
	for _, path := range []string{"/", strings.TrimPrefix(deploy, demo.url), "/collectors", "/services", "/claims", "/claims/new", "/compare?a=" + id + "&b=" + id, "/retrospectives/new"} {
		b.narrow(demo.url + path)
	}
	b.complaints()
	if status := demo.stop(); status != exitOK {
		t.Errorf("the demo ended with %d: %s", status, demo.stderr)
	}
}

// mark leaves a mark in the page, which loading it again would wipe away.
var mark = chromedp.Evaluate(`window.marked = true`, nil)

// drag pulls the pointer over an element, from one share of its width to another.
func (b *browser) drag(selector string, from, to float64) {
	b.t.Helper()
	var box struct{ X, Y, Width, Height float64 }
	b.do(chromedp.ScrollIntoView(selector), chromedp.Evaluate(fmt.Sprintf(`document.querySelector(%q).getBoundingClientRect().toJSON()`, selector), &box))
	y := box.Y + box.Height*.6
	b.do(chromedp.MouseEvent(input.MousePressed, box.X+box.Width*from, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, box.X+box.Width*(from+to)/2, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseMoved, box.X+box.Width*to, y, chromedp.ButtonLeft),
		chromedp.MouseEvent(input.MouseReleased, box.X+box.Width*to, y, chromedp.ButtonLeft))
}

// browser is a tab that collects every complaint.
type browser struct {
	t     *testing.T
	ctx   context.Context
	shots string

	mu   sync.Mutex
	said []string
}

func openBrowser(t *testing.T) *browser {
	t.Helper()
	path := cmp.Or(os.Getenv("CHROMIUM"), "/usr/bin/chromium")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no browser: %v (CHROMIUM names one)", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancelAllocator)
	tab, cancelTab := chromedp.NewContext(allocator)
	t.Cleanup(cancelTab)
	ctx, cancel := context.WithTimeout(tab, 4*time.Minute)
	t.Cleanup(cancel)

	b := &browser{t: t, ctx: ctx, shots: os.Getenv("GAPLESS_SHOTS")}
	if b.shots != "" {
		if err := os.MkdirAll(b.shots, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	chromedp.ListenTarget(ctx, b.listen)
	b.do(
		log.Enable(), runtime.Enable(),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(`document.addEventListener("securitypolicyviolation", e => console.error("CSP: " + e.violatedDirective + " " + e.blockedURI))`).Do(ctx)
			return err
		}),
		chromedp.EmulateViewport(1440, 900),
	)
	return b
}

// listen notes what a person would see in red on the console.
func (b *browser) listen(event any) {
	complaint := ""
	switch event := event.(type) {
	case *runtime.EventExceptionThrown:
		complaint = event.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if event.Type == runtime.APITypeError || event.Type == runtime.APITypeWarning {
			complaint = "console:"
			for _, argument := range event.Args {
				complaint += " " + string(argument.Value) + argument.Description
			}
		}
	case *log.EventEntryAdded:
		if event.Entry.Level == log.LevelError || event.Entry.Level == log.LevelWarning {
			complaint = fmt.Sprintf("%s: %s %s", event.Entry.Source, event.Entry.Text, event.Entry.URL)
		}
	}
	if complaint != "" {
		b.mu.Lock()
		b.said = append(b.said, complaint)
		b.mu.Unlock()
	}
}

func (b *browser) complaints() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range b.said {
		b.t.Errorf("the browser complains: %s", complaint)
	}
}

func (b *browser) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.complaints()
		b.t.Fatal(err)
	}
}

// until waits until an expression is true in the page, across loads of it.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	holds := false
	for end := time.Now().Add(45 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := chromedp.Run(b.ctx, chromedp.Evaluate(expression, &holds)); err == nil && holds {
			return
		}
	}
	var text string
	_ = chromedp.Run(b.ctx, chromedp.Evaluate(`document.body.innerText`, &text))
	b.complaints()
	b.t.Fatalf("in vain waited until %s; the page says:\n%.2000s", what, text)
}

// stayed checks that the page was not loaded again since it was marked.
func (b *browser) stayed(what string) {
	b.t.Helper()
	marked := false
	b.do(chromedp.Evaluate(`window.marked === true`, &marked))
	if !marked {
		b.t.Errorf("%s was loaded again", what)
	}
}

// narrow checks that a page fits a phone's width, and that a timeline on it begins
// where the deploy does.
func (b *browser) narrow(address string) {
	b.t.Helper()
	var wide []string
	b.do(
		chromedp.EmulateViewport(390, 844), chromedp.Navigate(address), chromedp.WaitReady("main"),
		chromedp.Evaluate(`document.documentElement.scrollWidth > 390 ? ["page is " + document.documentElement.scrollWidth + " px wide"] : []`, &wide),
		// With the room that the names of the lanes would take before it.
		chromedp.Poll(`!document.querySelector(".tl-start") || (() => {
			const from = document.querySelector(".tl-scroll").getBoundingClientRect().left;
			return Math.abs(document.querySelector(".tl-start i").getBoundingClientRect().left - from) < 2;
		})()`, nil, chromedp.WithPollingTimeout(5*time.Second)),
		chromedp.EmulateViewport(1440, 900),
	)
	if len(wide) > 0 {
		b.t.Errorf("%s: %s", address, wide[0])
	}
}

// shot leaves the whole page as pictures, wide and narrow, light and dark.
func (b *browser) shot(name string) {
	b.t.Helper()
	if b.shots == "" {
		return
	}
	for _, width := range []int64{1440, 390} {
		for _, scheme := range []string{"light", "dark"} {
			var picture []byte
			b.do(
				chromedp.EmulateViewport(width, 900),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.FullScreenshot(&picture, 100),
			)
			path := filepath.Join(b.shots, fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
			if err := os.WriteFile(path, picture, 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.do(chromedp.EmulateViewport(1440, 900), emulation.SetEmulatedMedia().WithFeatures(nil))
}
