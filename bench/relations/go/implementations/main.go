// Command implementations prints, as JSON lines, which types of a work tree implement which of its interfaces.
//
//	go run ./implementations TREE > truth.jsonl
//
// It reads the main module of the tree with its tests, for one build configuration. Generic types, aliases and
// interfaces without methods are left out.
package main

import (
	"encoding/json"
	"fmt"
	"go/types"
	"os"
	"path/filepath"

	"golang.org/x/tools/go/packages"
)

type place struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Name string `json:"name"`
}

type pair struct {
	Type      place `json:"type"`
	Interface place `json:"interface"`
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: go run ./implementations TREE"))
	}
	root, err := filepath.Abs(os.Args[1])
	if err != nil {
		fail(err)
	}
	mode := packages.NeedName | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedImports |
		packages.NeedDeps | packages.NeedModule | packages.NeedFiles
	loaded, err := packages.Load(&packages.Config{Mode: mode, Dir: root, Tests: true}, "./...")
	if err != nil {
		fail(err)
	}
	packages.PrintErrors(loaded)
	concrete, interfaces := map[*types.TypeName]place{}, map[*types.TypeName]place{}
	for _, one := range loaded {
		for _, name := range one.Types.Scope().Names() {
			found, ok := one.Types.Scope().Lookup(name).(*types.TypeName)
			if !ok || found.IsAlias() {
				continue
			}
			if named, ok := found.Type().(*types.Named); ok && named.TypeParams().Len() > 0 {
				continue
			}
			position := one.Fset.Position(found.Pos())
			file, err := filepath.Rel(root, position.Filename)
			if err != nil {
				fail(err)
			}
			at := place{filepath.ToSlash(file), position.Line, name}
			if inner, ok := found.Type().Underlying().(*types.Interface); !ok {
				concrete[found] = at
			} else if inner.NumMethods() > 0 {
				interfaces[found] = at
			}
		}
	}
	// A package and its variant for tests have the same types twice.
	seen := map[pair]bool{}
	out := json.NewEncoder(os.Stdout)
	for wanted, there := range interfaces {
		methods := wanted.Type().Underlying().(*types.Interface)
		for found, here := range concrete {
			is := types.Implements(found.Type(), methods) || types.Implements(types.NewPointer(found.Type()), methods)
			if one := (pair{here, there}); is && !seen[one] {
				seen[one] = true
				if err := out.Encode(one); err != nil {
					fail(err)
				}
			}
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
