// What the pages do beyond htmx: keep what a reader opened while a live page changes,
// and go on to the deploy page once a retrospective has been read.
"use strict";

// A live update must not close a <details> that the reader has opened.
Idiomorph.defaults.callbacks.beforeAttributeUpdated = function (name, node) {
  return !(name === "open" && node.tagName === "DETAILS");
};

document.addEventListener("htmx:afterSettle", function () {
  var next = document.querySelector("[data-goto]");
  if (next) {
    window.location.assign(next.getAttribute("href"));
  }
});
