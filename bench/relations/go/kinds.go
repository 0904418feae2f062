package main

import (
	"go/ast"
	"go/types"
)

// isLocal returns whether an object is a package's name, a label or declared in a function.
func isLocal(object types.Object) bool {
	switch one := object.(type) {
	case *types.PkgName, *types.Label:
		return true
	case *types.Var:
		if one.IsField() {
			return false
		}
	case *types.Func:
		return false
	}
	return object.Pkg() != nil && object.Parent() != object.Pkg().Scope()
}

// origin returns the declaration of an instantiated function, method or field.
func origin(object types.Object) types.Object {
	switch one := object.(type) {
	case *types.Func:
		return one.Origin()
	case *types.Var:
		return one.Origin()
	}
	return object
}

// kindsOf returns the kinds of the names that are called or embedded.
func kindsOf(file *ast.File) map[*ast.Ident]string {
	kinds := map[*ast.Ident]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch one := node.(type) {
		case *ast.CallExpr:
			mark(kinds, one.Fun, "call")
		case *ast.StructType:
			markEmbedded(kinds, one.Fields)
		case *ast.InterfaceType:
			markEmbedded(kinds, one.Methods)
		}
		return true
	})
	return kinds
}

func markEmbedded(kinds map[*ast.Ident]string, fields *ast.FieldList) {
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			mark(kinds, field.Type, "inherits")
		}
	}
}

func mark(kinds map[*ast.Ident]string, expression ast.Expr, kind string) {
	switch one := expression.(type) {
	case *ast.Ident:
		kinds[one] = kind
	case *ast.SelectorExpr:
		kinds[one.Sel] = kind
	case *ast.IndexExpr:
		mark(kinds, one.X, kind)
	case *ast.IndexListExpr:
		mark(kinds, one.X, kind)
	case *ast.ParenExpr:
		mark(kinds, one.X, kind)
	case *ast.StarExpr:
		mark(kinds, one.X, kind)
	}
}
