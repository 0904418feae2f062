// Command go resolves the identifiers in the Go files of a work tree with go/types and prints JSON lines.
//
//	go run . TREE > truth.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/packages"
)

type definition struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Name string `json:"name"`
}

type reference struct {
	Path   string       `json:"path"`
	Line   int          `json:"line"`
	Column int          `json:"column"`
	Name   string       `json:"name"`
	Kind   string       `json:"kind"`
	To     *definition  `json:"to"`
	ToAny  []definition `json:"to_any,omitempty"`
}

type resolver struct {
	root  string
	fset  *token.FileSet
	lines map[string][]string
	found map[string]reference
	// bodies lists the bodies of functions by file, as offsets
	bodies map[string][][2]int
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: go run . TREE"))
	}
	root, err := filepath.Abs(os.Args[1])
	if err != nil {
		fail(err)
	}
	r := &resolver{root: root, lines: map[string][]string{}, found: map[string]reference{}, bodies: map[string][][2]int{}}
	for _, module := range modules(root) {
		r.load(module)
	}
	r.print()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

// modules lists the folders of the tree that have a go.mod.
func modules(root string) (found []string) {
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "go.mod" {
			found = append(found, filepath.Dir(name))
		}
		return err
	})
	if err != nil {
		fail(err)
	}
	return found
}

func (r *resolver) load(module string) {
	mode := packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo
	r.fset = token.NewFileSet()
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: module, Fset: r.fset, Tests: true}, "./...")
	if err != nil {
		fmt.Fprintln(os.Stderr, module, "is left out:", err)
		return
	}
	packages.PrintErrors(loaded)
	for _, one := range loaded {
		for _, file := range one.Syntax {
			r.readBodies(file)
		}
	}
	for _, one := range loaded {
		for _, file := range one.Syntax {
			r.file(one, file)
		}
	}
}

// readBodies remembers where the bodies of a file's functions are.
func (r *resolver) readBodies(file *ast.File) {
	for _, declared := range file.Decls {
		if function, ok := declared.(*ast.FuncDecl); ok && function.Body != nil {
			start, end := r.fset.Position(function.Body.Pos()), r.fset.Position(function.Body.End())
			r.bodies[start.Filename] = append(r.bodies[start.Filename], [2]int{start.Offset, end.Offset})
		}
	}
}

// inBody returns whether a field or a method belongs to a type that is declared in a function.
func (r *resolver) inBody(object types.Object) bool {
	at := r.fset.Position(object.Pos())
	for _, body := range r.bodies[at.Filename] {
		if body[0] <= at.Offset && at.Offset < body[1] {
			return true
		}
	}
	return false
}

// file adds the references of a file; a file that belongs to several packages is added again without effect.
func (r *resolver) file(from *packages.Package, file *ast.File) {
	kinds := kindsOf(file)
	for _, spec := range file.Imports {
		r.addImport(from, spec)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok {
			if object := from.TypesInfo.Uses[name]; object != nil {
				r.addUse(name, object, kinds[name])
			}
		}
		return true
	})
}

func (r *resolver) addUse(name *ast.Ident, object types.Object, kind string) {
	if isLocal(object) || r.inBody(object) {
		return
	}
	if kind == "" {
		kind = "other"
		if _, ok := object.(*types.TypeName); ok {
			kind = "type"
		}
	}
	r.add(name.Pos(), name.Name, kind, r.definition(origin(object)))
}

// addImport adds an import of a package; line 1 of each of its files is a target.
func (r *resolver) addImport(from *packages.Package, spec *ast.ImportSpec) {
	name, err := strconv.Unquote(spec.Path.Value)
	imported := from.Imports[name]
	if err != nil || imported == nil {
		return
	}
	var targets []definition
	for _, file := range imported.Syntax {
		if inside, place := r.place(file.Name.Pos()); inside {
			targets = append(targets, definition{place.Filename, 1, file.Name.Name})
		}
	}
	r.add(spec.Path.Pos(), path.Base(name), "import", targets)
}

func (r *resolver) add(at token.Pos, name, kind string, targets []definition) {
	inside, place := r.place(at)
	if !inside {
		return
	}
	one := reference{place.Filename, place.Line, r.characters(place), name, kind, nil, nil}
	if len(targets) > 0 {
		one.To = &targets[0]
	}
	if len(targets) > 1 {
		one.ToAny = targets
	}
	key := fmt.Sprintf("%s:%09d:%09d", one.Path, one.Line, one.Column)
	if before, ok := r.found[key]; !ok || before.To == nil {
		r.found[key] = one
	}
}

func (r *resolver) definition(object types.Object) []definition {
	if inside, place := r.place(object.Pos()); inside {
		return []definition{{place.Filename, place.Line, object.Name()}}
	}
	return nil
}

// place returns a position with its path relative to the tree, and whether it is inside of the tree.
func (r *resolver) place(at token.Pos) (bool, token.Position) {
	place := r.fset.PositionFor(at, false)
	relative, err := filepath.Rel(r.root, place.Filename)
	inside := at.IsValid() && err == nil && !strings.HasPrefix(relative, "..")
	place.Filename = filepath.ToSlash(relative)
	return inside, place
}

func (r *resolver) characters(place token.Position) int {
	if _, ok := r.lines[place.Filename]; !ok {
		text, _ := os.ReadFile(filepath.Join(r.root, place.Filename))
		r.lines[place.Filename] = strings.Split(string(text), "\n")
	}
	return utf8.RuneCountInString(r.lines[place.Filename][place.Line-1][:place.Column-1])
}

func (r *resolver) print() {
	keys := make([]string, 0, len(r.found))
	for key := range r.found {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	for _, key := range keys {
		if err := encoder.Encode(r.found[key]); err != nil {
			fail(err)
		}
	}
}
