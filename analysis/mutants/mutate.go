package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
)

// writer puts mutants into one file. It works on the text, so that lines stay where
// they are.
type writer struct {
	p        *mutated
	info     *types.Info
	file     *token.File
	source   []byte
	function string
	edits    []edit
	breaks   map[*ast.BranchStmt]bool // those that leave a loop
}

// edit replaces source[at:to]. What opens at a place stands in the order in which it
// was added, outer before inner; what closes there, the other way round and first.
type edit struct {
	at, to  int
	text    string
	closing bool
	order   int
}

func (w *writer) offset(p token.Pos) int { return w.file.Offset(p) }

var space = regexp.MustCompile(`\s+`)

// text is an expression's code on one line.
func (w *writer) text(from, to token.Pos) string {
	return space.ReplaceAllString(string(w.source[w.offset(from):w.offset(to)]), " ")
}

// mutant adds one and returns its number as code.
func (w *writer) mutant(at token.Pos, from, to string) string {
	w.p.mutants = append(w.p.mutants, mutant{file: w.file.Name(), line: w.file.Line(at), function: w.function, from: from, to: to})
	return strconv.Itoa(len(w.p.mutants))
}

func (w *writer) open(at token.Pos, text string) {
	w.edits = append(w.edits, edit{at: w.offset(at), to: w.offset(at), text: text, order: len(w.edits)})
}

func (w *writer) close(at token.Pos, text string) {
	w.edits = append(w.edits, edit{at: w.offset(at), to: w.offset(at), text: text, closing: true, order: len(w.edits)})
}

func (w *writer) replace(from, to token.Pos, text string) {
	w.edits = append(w.edits, edit{at: w.offset(from), to: w.offset(to), text: text, order: len(w.edits)})
}

// result is the file with all its edits.
func (w *writer) result() []byte {
	slices.SortStableFunc(w.edits, func(x, y edit) int {
		switch {
		case x.at != y.at:
			return x.at - y.at
		case x.closing && y.closing:
			return y.order - x.order
		case x.closing:
			return -1
		case y.closing:
			return 1
		}
		return x.order - y.order
	})
	var out []byte
	done := 0
	for _, e := range w.edits {
		out = append(out, w.source[done:e.at]...)
		out = append(out, e.text...)
		done = e.to
	}
	return append(out, w.source[done:]...)
}

func (w *writer) mutate(f *ast.File) {
	w.breaks = loopBreaks(f)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				w.function = d.Name.Name
				w.walk(d.Body)
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				w.function = "var"
				w.walk(d)
			}
		}
	}
}

// walk visits what may hold mutants.
func (w *writer) walk(n ast.Node) {
	if isNil(n) {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			w.walk(n.Init)
			w.condition(n.Cond)
			w.walk(n.Body)
			w.walk(n.Else)
			return false
		case *ast.ForStmt: // what it does after each round stays: else it would not end
			w.walk(n.Init)
			if n.Cond != nil {
				w.condition(n.Cond)
			}
			w.walk(n.Body)
			return false
		case *ast.SwitchStmt:
			w.walk(n.Init)
			w.walk(n.Tag)
			for _, c := range n.Body.List {
				clause := c.(*ast.CaseClause)
				for _, e := range clause.List {
					if n.Tag == nil {
						w.condition(e)
					} else {
						w.walk(e)
					}
				}
				for _, s := range clause.Body {
					w.walk(s)
				}
			}
			return false
		case *ast.ReturnStmt:
			for _, e := range n.Results {
				if w.boolean(e) {
					w.condition(e)
				} else {
					w.walk(e)
				}
			}
			return false
		case *ast.BranchStmt:
			if n.Tok == token.CONTINUE || w.breaks[n] {
				text := w.text(n.Pos(), n.End())
				w.open(n.Pos(), "if !mutantHit("+w.mutant(n.Pos(), text, "nothing")+") { ")
				w.close(n.End(), " }")
			}
		case *ast.IncDecStmt:
			return w.incDec(n)
		case *ast.AssignStmt:
			return w.assign(n)
		case *ast.BinaryExpr:
			return w.binary(n)
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				w.condition(n)
				return false
			}
		case *ast.CallExpr:
			return w.call(n)
		}
		return true
	})
}

func (w *writer) boolean(e ast.Expr) bool {
	t := w.info.Types[e].Type
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// number reports whether an expression is a number that is computed at run time.
func (w *writer) number(e ast.Expr) bool {
	tv := w.info.Types[e]
	if tv.Type == nil || tv.Value != nil {
		return false
	}
	b, ok := tv.Type.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsFloat) != 0
}

// condition mutates a boolean: its opposite, and what is in it.
func (w *writer) condition(e ast.Expr) {
	from := w.text(e.Pos(), e.End())
	to := "!(" + from + ")"
	switch from {
	case "true":
		to = "false"
	case "false":
		to = "true"
	}
	w.open(e.Pos(), "mutantNot("+w.mutant(e.Pos(), from, to)+", ")
	w.inside(e)
	w.close(e.End(), ")")
}

// inside mutates the parts of a boolean whose opposite is there already.
func (w *writer) inside(e ast.Expr) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		w.inside(x.X)
		return
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			w.inside(x.X)
			return
		}
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND, token.LOR:
			w.operand(x.X, x.Op)
			w.operand(x.Y, x.Op)
			return
		case token.EQL, token.NEQ:
			w.walk(x.X)
			w.walk(x.Y)
			return
		}
		w.binary(x)
		return
	case *ast.CallExpr:
		if w.call(x) {
			w.walk(x.Fun)
			for _, a := range x.Args {
				w.walk(a)
			}
		}
		return
	case *ast.Ident:
		return
	}
	w.walk(e)
}

// operand mutates one of a row of && or ||: left out, and its opposite.
func (w *writer) operand(e ast.Expr, op token.Token) {
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == op {
		w.operand(b.X, op)
		w.operand(b.Y, op)
		return
	}
	name, neutral := "mutantTrue", "true"
	if op == token.LOR {
		name, neutral = "mutantFalse", "false"
	}
	w.open(e.Pos(), name+"("+w.mutant(e.Pos(), w.text(e.Pos(), e.End()), neutral)+", ")
	w.condition(e)
	w.close(e.End(), ")")
}

var boundaries = map[token.Token]struct{ name, to string }{
	token.LSS: {"mutantLess", "<="}, token.LEQ: {"mutantLessEqual", "<"},
	token.GTR: {"mutantGreater", ">="}, token.GEQ: {"mutantGreaterEqual", ">"},
}

// binary mutates a comparison or a sum; it reports whether the parts remain to be
// visited.
func (w *writer) binary(e *ast.BinaryExpr) bool {
	if w.info.Types[e].Value != nil { // a constant
		return false
	}
	name, to := "", ""
	switch e.Op {
	case token.LAND, token.LOR, token.EQL, token.NEQ:
		w.condition(e)
		return false
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		name, to = boundaries[e.Op].name, boundaries[e.Op].to
	case token.ADD, token.SUB:
		if !w.number(e) {
			return true
		}
		name, to = "mutantAdd", "-"
		if e.Op == token.SUB {
			name, to = "mutantSub", "+"
		}
	default:
		return true
	}
	x, y := w.text(e.X.Pos(), e.X.End()), w.text(e.Y.Pos(), e.Y.End())
	w.open(e.Pos(), name+"("+w.mutant(e.OpPos, x+" "+e.Op.String()+" "+y, x+" "+to+" "+y)+", ")
	w.walk(e.X)
	w.replace(e.OpPos, e.OpPos+token.Pos(len(e.Op.String())), ",")
	w.walk(e.Y)
	w.close(e.End(), ")")
	return false
}

var timeMethods = map[string]string{"Before": "mutantBefore", "After": "mutantAfter", "Add": "mutantTimeAdd", "Sub": "mutantTimeSub"}

// call mutates a comparison or a sum of times; it reports whether the parts remain to
// be visited.
func (w *writer) call(e *ast.CallExpr) bool {
	s, ok := e.Fun.(*ast.SelectorExpr)
	if !ok || w.info.Selections[s] == nil {
		return true
	}
	if sub, ok := s.X.(*ast.CallExpr); ok && s.Sel.Name == "Abs" { // a length has no sign: the two may change places
		if d, ok := sub.Fun.(*ast.SelectorExpr); ok && d.Sel.Name == "Sub" {
			w.walk(d.X)
			w.walk(sub.Args[0])
			return false
		}
	}
	name := timeMethods[s.Sel.Name]
	if name == "" || w.info.Selections[s].Obj().Pkg() == nil || w.info.Selections[s].Obj().Pkg().Path() != "time" {
		return true
	}
	receiver := w.info.Types[s.X].Type
	if receiver.String() == "time.Duration" {
		return true
	}
	embedded := ""
	if receiver.String() != "time.Time" {
		embedded = ".Time"
	}
	x, y := w.text(s.X.Pos(), s.X.End()), w.text(e.Args[0].Pos(), e.Args[0].End())
	to := map[string]string{"Before": "!" + x + ".After(" + y + ")", "After": "!" + x + ".Before(" + y + ")", "Add": x + ".Add(-(" + y + "))", "Sub": y + ".Sub(" + x + ")"}[s.Sel.Name]
	w.open(e.Pos(), name+"("+w.mutant(s.Sel.Pos(), w.text(e.Pos(), e.End()), to)+", ")
	w.walk(s.X)
	w.replace(s.X.End(), e.Args[0].Pos(), embedded+", ")
	w.walk(e.Args[0])
	return false
}

func (w *writer) incDec(s *ast.IncDecStmt) bool {
	if !w.number(s.X) {
		return true
	}
	op, to := "+=", "--"
	if s.Tok == token.DEC {
		op, to = "-=", "++"
	}
	x := w.text(s.X.Pos(), s.X.End())
	typ := types.TypeString(w.info.Types[s.X].Type, func(*types.Package) string { return "" })
	w.walk(s.X)
	w.replace(s.TokPos, s.End(), " "+op+" mutantSign("+w.mutant(s.Pos(), x+s.Tok.String(), x+to)+", "+typ+"(1))")
	return false
}

func (w *writer) assign(s *ast.AssignStmt) bool {
	switch {
	case (s.Tok == token.ADD_ASSIGN || s.Tok == token.SUB_ASSIGN) && w.number(s.Lhs[0]):
		x, y := w.text(s.Lhs[0].Pos(), s.Lhs[0].End()), w.text(s.Rhs[0].Pos(), s.Rhs[0].End())
		to := " -= "
		if s.Tok == token.SUB_ASSIGN {
			to = " += "
		}
		w.walk(s.Lhs[0])
		typ := types.TypeString(w.info.Types[s.Lhs[0]].Type, types.RelativeTo(nil))
		if w.info.Types[s.Rhs[0]].Value == nil {
			typ = "" // its own type is the right one
		}
		w.open(s.Rhs[0].Pos(), "mutantSign("+w.mutant(s.Pos(), x+" "+s.Tok.String()+" "+y, x+to+y)+", "+typ+"(")
		w.walk(s.Rhs[0])
		w.close(s.Rhs[0].End(), "))")
		return false
	}
	for _, e := range s.Lhs {
		w.walk(e)
	}
	for _, e := range s.Rhs {
		if id, ok := e.(*ast.Ident); ok && s.Tok == token.ASSIGN && (id.Name == "true" || id.Name == "false") {
			w.condition(e)
			continue
		}
		w.walk(e)
	}
	return false
}

// loopBreaks are the breaks without a label that leave a loop, not a switch.
func loopBreaks(f *ast.File) map[*ast.BranchStmt]bool {
	breaks := map[*ast.BranchStmt]bool{}
	var stack []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		b, ok := n.(*ast.BranchStmt)
		if !ok || b.Tok != token.BREAK {
			return true
		}
		for _, outer := range slices.Backward(stack) {
			switch outer.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				breaks[b] = true
				return true
			case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				return true
			}
		}
		return true
	})
	return breaks
}

// isNil reports whether a node is absent: an interface that holds a nil pointer is.
func isNil(n ast.Node) bool {
	switch n := n.(type) {
	case nil:
		return true
	case *ast.BlockStmt:
		return n == nil
	}
	return false
}
