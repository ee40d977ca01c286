// Dragging over the timeline opens the page of that stretch of time. Without this
// script, and by keyboard, the names of the phases lead to the same pages.
"use strict";

(function () {
  var svgNS = "http://www.w3.org/2000/svg";
  var least = 6; // pixels on the screen: less is a click
  var drag = null;

  // place is the horizontal place of a pointer in the picture's own units, in the plot.
  function place(svg, event) {
    var box = svg.getBoundingClientRect();
    var x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return Math.min(Math.max(x, Number(svg.dataset.left)), Number(svg.dataset.right));
  }

  // moment is the time at a place, in milliseconds since 1970.
  function moment(svg, x) {
    var from = Number(svg.dataset.from), to = Number(svg.dataset.to);
    var left = Number(svg.dataset.left), right = Number(svg.dataset.right);
    return from + ((x - left) / (right - left)) * (to - from);
  }

  function draw() {
    if (!drag.mark.isConnected) { // a live update has taken it away
      drag.svg.appendChild(drag.mark);
    }
    drag.mark.setAttribute("x", Math.min(drag.begin, drag.end));
    drag.mark.setAttribute("width", Math.abs(drag.end - drag.begin));
  }

  function stop() {
    drag.mark.remove();
    drag = null;
  }

  document.addEventListener("pointerdown", function (event) {
    var svg = event.target.closest && event.target.closest("svg[data-zoom]");
    // A finger scrolls the picture; phases can be touched instead.
    if (!svg || event.button !== 0 || event.pointerType === "touch") {
      return;
    }
    var mark = document.createElementNS(svgNS, "rect");
    mark.setAttribute("class", "select");
    mark.setAttribute("y", "44");
    mark.setAttribute("height", String(Number(svg.dataset.bottom) - 44));
    var x = place(svg, event);
    drag = { svg: svg, mark: mark, begin: x, end: x, screen: event.clientX, moved: false };
  });

  document.addEventListener("pointermove", function (event) {
    if (!drag) {
      return;
    }
    drag.moved = drag.moved || Math.abs(event.clientX - drag.screen) >= least;
    if (drag.moved) {
      drag.end = place(drag.svg, event);
      draw();
      event.preventDefault();
    }
  });

  document.addEventListener("pointerup", function () {
    if (!drag) {
      return;
    }
    var svg = drag.svg, moved = drag.moved;
    var from = moment(svg, Math.min(drag.begin, drag.end)), to = moment(svg, Math.max(drag.begin, drag.end));
    stop();
    // Whole milliseconds, rounded inwards so that they stay in the window.
    from = Math.ceil(from);
    to = Math.floor(to);
    if (!moved || to <= from) {
      return;
    }
    window.addEventListener("click", function (click) { // of a phase that the drag ended on
      click.preventDefault();
      click.stopPropagation();
    }, { capture: true, once: true });
    var query = new URLSearchParams({ from: new Date(from).toISOString(), to: new Date(to).toISOString() });
    window.location.assign(svg.dataset.zoom + "?" + query.toString());
  });

  document.addEventListener("keydown", function (event) {
    if (drag && event.key === "Escape") {
      stop();
    }
  });
  window.addEventListener("blur", function () {
    if (drag) {
      stop();
    }
  });
  document.addEventListener("dragstart", function (event) { // of a phase's link
    if (event.target.closest && event.target.closest("svg[data-zoom]")) {
      event.preventDefault();
    }
  });
})();
