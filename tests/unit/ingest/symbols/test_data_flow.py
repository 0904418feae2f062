"""Results that functions return or are given, in every language: whose result, by whom, and into which function."""

import pytest

PYTHON = """
def f(x):
    return g(x)

def k(x):
    h(a.b(x), y=g(x))
    run(lambda: g(x))
    return await g(x)
"""
JAVASCRIPT = """
import {g, h} from './g';
function f(x) { return g(x); }
const k = async (x) => { h(g(x), await g(x)); return await g(x); };
const s = (x) => g(x);
function n(xs) { xs.map((x) => g(x)); xs.map(function (x) { return g(x); }); return () => g(1); }
class A { m() { return this.p(); } p() { return new B(g(1)); } }
class B {}
"""
GO = """package a

func f(x int) int { return g(x) }
func k(x int) (int, error) { h(g(x), t.U(x)); return g(x), nil }
func n() func() int { return func() int { return g(1) } }
func g(x int) int { return x }
func h(x, y int) {}
"""
JAVA = """
class A {
  int f(int x) { return g(x); }
  B k(int x) { h(g(x), new B(g(x))); return new B(x); }
  Runnable n() { return () -> { return g(1); }; }
  int g(int x) { return x; }
  void h(int x, B b) {}
}
class B { B(int x) {} }
"""
KOTLIN = """
fun f(x: Int): Int { return g(x) }
fun s(x: Int) = g(x)
fun k(x: Int) { h(g(x), y = a.g(x)); throw E(g(x)) }
fun n(xs: List<Int>): Int { xs.forEach { return g(it) }; val z = fun(x: Int): Int { return g(x) }; return 1 }
fun g(x: Int) = x
fun h(x: Int, y: Int) {}
class E(x: Int)
"""
RUST = """
fn f(x: i32) -> i32 { g(x) }
fn k(x: i32) -> i32 { h(g(x), &g(x)); return g(x)?; }
fn n(xs: V) -> i32 { xs.map(|x| { return g(x); }); 1 }
fn g(x: i32) -> i32 { x }
fn h(x: i32, y: &i32) {}
"""
CSHARP = """
class A {
  int F(int x) { return G(x); }
  int S(int x) => G(x);
  async B K(int x) { H(G(x), new B(G(x))); return await L<int>(x); }
  Func<int> N() { return () => { return G(1); }; }
  int G(int x) { return x; }
  void H(int x, B b) {}
  B L<T>(int x) { return null; }
}
class B {}
"""
RUBY = """
class A
  attr_reader :x
  def f(x)
    return g(x)
  end

  def k(x)
    h(g(x), y: g(x))
    g x
  end

  def n
    z = -> { return g(1) }
    x = 1
    x
  end

  def s
    refresh
  end

  def g(x); end

  def h(x, y); end

  def refresh; end
end
"""
PHP = r"""<?php
class A {
  function f($x) { return $this->g($x); }
  function k($x) { self::h($this->g($x), new B($x)); return self::g($x); }
  function n() { return fn() => $this->g(1); }
  function g($x) { return strlen(trim($x)); }
  static function h($x, $y) {}
}
"""
C = """
static int g(int x) { return x; }
static void h(int x, int y) {}
int f(int x) { return g(x); }
int k(struct s *t, int x) { h(g(x), g(x)); return t->u(x); }
"""
CPP = """
namespace a {
class A { int f(int x) { return g(x); } int g(int x); int n(); };
int A::n() { run([](int x) { return b::q(x); }); return b::q(g(1)); }
}
"""


def shown(read, path, text):
    """Return the flows as `taker < giver`, with the path of the definition around the place."""
    found = []
    for one in read(path, text).references:
        if one.kind == "data_flow":
            taker = f"{'.'.join(one.into.names)}(" if one.into else "return "
            found.append(f"{'.'.join(one.within)}: {taker}{'.'.join(one.target.names)}")
    return found


@pytest.mark.parametrize(
    ("path", "text", "flows"),
    [
        ("a.py", "def g(x):\n    return x\n\n\ndef h(x, y):\n    return x\n" + PYTHON,
         ["f: return g", "k: h(g", "k: return g"]),
        ("a.js", JAVASCRIPT,
         ["f: return g", "k: h(g", "k: h(g", "k: return g", "s: return g", "A.m: return A.p",
          "A.p: return B", "A.p: B(g"]),
        ("a.go", GO, ["f: return g", "k: h(g", "k: h(t.U", "k: return g"]),
        ("A.java", JAVA, ["A.f: return A.g", "A.k: A.h(A.g", "A.k: A.h(B", "A.k: B(A.g", "A.k: return B"]),
        ("a.kt", KOTLIN, ["f: return g", "s: return g", "k: h(g", "k: h(a.g", "k: E(g", "n: return g"]),
        ("a.rs", RUST, ["f: return g", "k: h(g", "k: h(g", "k: return g"]),
        ("A.cs", CSHARP,
         ["A.F: return A.G", "A.S: return A.G", "A.K: A.H(A.G", "A.K: A.H(B", "A.K: B(A.G", "A.K: return A.L"]),
        ("a.rb", RUBY,
         ["A.f: return A.g", "A.k: A.h(A.g", "A.k: A.h(A.g", "A.k: return A.g", "A.s: return A.refresh"]),
        ("a.php", PHP,
         ["A.f: return A.g", "A.k: A.h(A.g", "A.k: A.h(B", "A.k: return A.g", "A.g: return strlen",
          "A.g: strlen(trim"]),
        ("a.c", C, ["f: return g", "k: h(g", "k: h(g", "k: return s.u"]),
        ("a.cc", CPP, ["a.A.f: return a.A.g", "a.A.n: return b.q", "a.A.n: b.q(g"]),
    ],
)  # fmt: skip
def test_results_go_to_who_returns_or_takes_them(read, path, text, flows):
    """A function without a name returns results of its own, unless it is the value of a variable."""
    assert shown(read, path, text) == flows
