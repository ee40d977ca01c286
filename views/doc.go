// Package views turns reports into words and pages.
//
// What belongs here: the sentences for every code that the judge gives, formats for
// numbers and times, one view model per page built by a pure function, and the templ
// components that print them. It knows neither the store nor HTTP, and computes no
// figure that belongs to the judge: it only counts into the columns of a picture.
package views
