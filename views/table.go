package views

// Table is what the table component prints.
type Table struct {
	Caption string // read by screen readers, names the table
	Groups  []Cell // an upper row of heads over several columns; may be empty
	Columns []Cell
	Rows    []Row
	Foot    *Row
	More    string // said below: how many rows are not shown
	AllURL  string // where all rows can be had; empty where nowhere
	Empty   string // said instead of a table without rows
	Note    string
}

// Row is one row; its first cell heads it.
type Row struct {
	Cells []Cell
	Class string
}

// Cell is one cell of a table.
type Cell struct {
	Text  string
	Class string // n: number, l: text, bad: failures, z: a zero that may recede, mono
	Title string
	Stamp *Stamp // printed as a time instead of Text
	Code  bool
	Link  string
	Spans []SpanText // printed one below the other, instead of Text
	Span  int        // columns; 0 is 1
	Under string     // printed small below
}

// SpanText is a stretch of time and what is said of it.
type SpanText struct {
	From, To Stamp
	Text     string
}

func left(text string) Cell { return Cell{Text: text, Class: "l"} }

// wide is a text that needs room to be read.
func wide(text string) Cell { return Cell{Text: text, Class: "l w"} }

func right(text string) Cell { return Cell{Text: text, Class: "n"} }

func at(s Stamp) Cell { return Cell{Stamp: &s, Class: "l nw"} }

// lostCell is a number of failures: marked when there are some, receding when none.
func lostCell(n int) Cell {
	if n == 0 {
		return Cell{Text: "0", Class: "n z"}
	}
	return Cell{Text: Count(n), Class: "n bad"}
}

func unmeasured() Cell { return Cell{Text: Missing, Class: "n z", Title: "not measured"} }
