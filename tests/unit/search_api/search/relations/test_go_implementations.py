"""Types of Go and the interfaces whose methods they have, over repositories that the real pipeline indexes."""

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.relations_request import graph_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.relations.edges import find_edges
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.model import PathGlobs
from codequarry.shared.settings.config import SettingsModel
from codequarry.shared.versions.refs import Ref

FILES = {
    "go.mod": "module example.org/shop\n",
    "pay/pay.go": """package pay

import "io"

type Namer interface {
	Name() string
}

type Payer interface {
	Namer
	Pay(amount int, to Account) error
}

type Logged interface {
	io.Writer
	Log(line string)
}

type Account struct{}
""",
    "till/till.go": """package till

import "example.org/shop/pay"

type base struct{}

func (b *base) Name() string { return "x" }

type Till struct {
	base
}

func (t *Till) Pay(n int, account pay.Account) error { return nil }

type Other struct{}

func (o Other) Pay(n string, account pay.Account) error { return nil }
func (o Other) Name() string { return "o" }
func (o Other) Log(line string) {}
""",
    "secret/till.go": "package secret\n\ntype Hidden struct{}\n\nfunc (h Hidden) Name() string { return `h` }\n",
    "till/till_test.go": "package till\n\ntype fake struct{}\n\nfunc (f fake) Name() string { return `f` }\n",
}


@pytest.fixture
def workshop(make_workshop):
    return make_workshop()


@pytest.fixture
def origin(make_repository):
    return make_repository("shop", files=FILES)


@pytest.fixture
def engine(origin, workshop):
    index_repository(IndexRequest(origin.origin), workshop)
    return SearchEngine(workshop.store, workshop.embedder, SettingsModel())


def edges(engine, name, direction, filters=(), kinds=("implements",), **options):
    given = {key: [value] for key, value in dict(filters).items()}
    return to_json(find_edges(engine, graph_request(name, given, direction=direction, kinds=kinds, **options)))["edges"]


def ends(found):
    return [(edge["from"]["symbol"], edge["to"]["symbol"], edge["confidence"], edge["found_by"]) for edge in found]


def test_types_have_the_methods_of_what_they_embed(engine):
    assert ends(edges(engine, "Payer", "in")) == [("Till", "Payer", 0.95, "methods")]
    assert sorted(ends(edges(engine, "Till", "out"))) == [
        ("Till", "Namer", 0.95, "methods"),
        ("Till", "Payer", 0.95, "methods"),
    ]
    (edge,) = edges(engine, "Payer", "both")
    assert (edge["from"]["path"], edge["from"]["line"], edge["to"]["line"]) == ("till/till.go", 9, 9)


def test_an_interface_that_embeds_an_unknown_one_is_less_sure(engine):
    assert ends(edges(engine, "Logged", "in")) == [("Other", "Logged", 0.7, "methods")]


def test_filters_select_the_types(engine):
    everyone = {edge["from"]["symbol"] for edge in edges(engine, "Namer", "in")}
    assert everyone == {"base", "Till", "Other", "Hidden", "fake"}
    assert [one for one, *_ in ends(edges(engine, "Namer", "in", {"path": "secret/"}))] == ["Hidden"]
    assert [one for one, *_ in ends(edges(engine, "Namer", "in", {"kind_of_file": "test"}))] == ["fake"]
    assert edges(engine, "Namer", "in", {"language": "python"}) == []


def test_both_ends_must_be_visible(engine):
    repo_id = engine.head().id_of_repo("shop")

    def limited(*exclude):
        grant = Grant("shop", PathGlobs(exclude=exclude), repo_id)
        return engine.seen_by(Principal("reader", frozenset({"search"}), (grant,)))

    assert "Hidden" not in str(edges(limited("secret/"), "Namer", "in"))
    assert edges(limited("pay/"), "Till", "out") == []


def test_a_branch_has_methods_of_its_own(origin, workshop, engine):
    origin.git("checkout", "--quiet", "-b", "dev")
    origin.write("pay/pay.go", FILES["pay/pay.go"].replace("Name() string", "Name() string\n\tClose() error"))
    origin.commit("dev")
    index_repository(IndexRequest(origin.origin, Ref("branch", "dev")), workshop)
    assert edges(engine, "Payer", "in", {"ref": "dev"}) == []
    assert len(edges(engine, "Payer", "in")) == 1


def test_other_kinds_and_other_symbols_have_no_such_edges(engine):
    assert all(edge["kind"] != "implements" for edge in edges(engine, "Payer", "in", kinds=("type", "call")))
    assert edges(engine, "Till.Pay", "out") == [] and edges(engine, "Account", "out") == []
