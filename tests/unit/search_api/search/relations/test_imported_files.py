"""What files import, and what imports them, over a real repository that the real pipeline indexes."""

import pytest

from codequarry.ingest.run.pipeline import IndexRequest, index_repository
from codequarry.search_api.answers.json import to_json
from codequarry.search_api.query.relations_request import graph_request
from codequarry.search_api.search.engine import SearchEngine
from codequarry.search_api.search.relations.edges import find_edges
from codequarry.shared.access.grants import Grant, Principal
from codequarry.shared.model import PathGlobs
from codequarry.shared.settings.config import SettingsModel

FILES = {
    "c/src/pay.c": '#include "pay.h"\n#include <acme/till.h>\n#include <stdio.h>\n#include "common.h"\nint x;\n',
    "c/src/pay.h": "int pay(void);\n",
    "c/include/acme/till.h": "int till(void);\n",
    "c/one/common.h": "int one(void);\n",
    "c/two/common.h": "int two(void);\n",
    "rb/lib/acme/pay.rb": "require 'acme/till'\nrequire 'json'\nmodule Acme\n  class Pay; end\nend\n",
    "rb/lib/acme/till.rb": "module Acme\n  class Till; end\nend\n",
    "php/pay.php": "<?php\nrequire_once __DIR__ . '/inc/till.php';\nfunction pay() { return till(); }\n",
    "php/inc/till.php": "<?php\nfunction till() { return 1; }\n",
    "rs/Cargo.toml": "[package]\nname = 'acme'\n",
    "rs/src/lib.rs": "mod pay;\nmod till;\n",
    "rs/src/pay.rs": "use crate::till::Till;\npub fn pay(t: Till) {}\n",
    "rs/src/till/mod.rs": "pub struct Till;\n",
    "go/go.mod": "module example.org/shop\n",
    "go/main.go": 'package main\n\nimport "example.org/shop/till"\n\nfunc main() { till.Open() }\n',
    "go/till/till.go": "package till\n\nfunc Open() {}\n",
    "js/pay.js": "import {open} from './till.js';\nexport function pay() { return open(); }\n",
    "js/till.js": "export function open() {}\n",
    "java/org/acme/Pay.java": "package org.acme;\nimport org.acme.till.Till;\nclass Pay { Till till; }\n",
    "java/org/acme/till/Till.java": "package org.acme.till;\npublic class Till {}\n",
    "py/pay.py": "from till import Till\n\n\ndef pay(till: Till):\n    return till\n",
    "py/till.py": "class Till:\n    pass\n",
    "src/shop/desk.py": "import shop.rack\n\n\ndef desk():\n    return shop.rack\n",
    "src/shop/rack.py": "RACK = 1\n",
    "py/app.py": "from pay import pay\n\n\npay(1)\n",
}


@pytest.fixture
def opened(make_repository, make_workshop):
    workshop = make_workshop()
    index_repository(IndexRequest(make_repository("shop", files=FILES).origin), workshop)
    return SearchEngine(workshop.store, workshop.embedder, SettingsModel())


def imports(engine, name, direction, **options):
    return to_json(find_edges(engine, graph_request(name, {}, direction=direction, kinds=["import"], **options)))[
        "edges"
    ]


def imported(engine, name):
    return [(edge["to"] and edge["to"]["path"], edge["confidence"]) for edge in imports(engine, name, "out")]


def importing(engine, name):
    return [(edge["from"]["path"], edge["from"]["line"]) for edge in imports(engine, name, "in")]


def test_every_language_leads_to_files_and_back(opened):
    """What is not in the repository, such as a header of the system, has no end; of two files, neither is sure."""
    assert imported(opened, "c/src/pay.c") == [
        ("c/src/pay.h", 0.97),
        ("c/include/acme/till.h", 0.921),
        (None, 0.0),
        ("c/one/common.h", 0.461),
    ]
    assert importing(opened, "c/src/pay.h") == [("c/src/pay.c", 1)]
    assert importing(opened, "c/include/acme/till.h") == [("c/src/pay.c", 2)]
    assert importing(opened, "c/two/common.h") == [("c/src/pay.c", 4)]
    assert imported(opened, "rb/lib/acme/pay.rb") == [("rb/lib/acme/till.rb", 0.921), (None, 0.0)]
    assert importing(opened, "rb/lib/acme/till.rb") == [("rb/lib/acme/pay.rb", 1)]
    assert imported(opened, "php/pay.php") == [("php/inc/till.php", 0.97)]
    assert importing(opened, "php/inc/till.php") == [("php/pay.php", 2)]
    assert [path for path, _ in imported(opened, "rs/src/lib.rs")] == ["rs/src/pay.rs", "rs/src/till/mod.rs"]
    assert importing(opened, "rs/src/till/mod.rs") == [("rs/src/lib.rs", 2), ("rs/src/pay.rs", 1)]
    assert [path for path, _ in imported(opened, "go/main.go")] == ["go/till/till.go"]
    assert importing(opened, "go/till/till.go") == [("go/main.go", 3)]
    assert importing(opened, "js/till.js") == [("js/pay.js", 1), ("js/pay.js", 1)]
    assert importing(opened, "java/org/acme/till/Till.java") == [("java/org/acme/Pay.java", 2)]
    assert importing(opened, "py/till.py") == [("py/pay.py", 1)]
    assert importing(opened, "src/shop/rack.py") == [("src/shop/desk.py", 1)]


def test_a_deeper_walk_goes_from_file_to_file(opened):
    found = imports(opened, "py/till.py", "in", depth=3)
    assert [(edge["depth"], edge["from"]["path"]) for edge in found] == [(1, "py/pay.py"), (2, "py/app.py")]
    found = imports(opened, "py/app.py", "out", depth=3)
    assert [(edge["depth"], edge["to"]["path"]) for edge in found] == [(1, "py/pay.py"), (2, "py/till.py")]


def test_both_files_must_be_visible(opened):
    repo_id = opened.head().id_of_repo("shop")
    grant = Grant("shop", PathGlobs(exclude=("include/", "lib.rs")), repo_id)
    limited = opened.seen_by(Principal("reader", frozenset({"search"}), (grant,)))
    assert ("c/include/acme/till.h", 0.921) not in imported(limited, "c/src/pay.c")
    assert importing(limited, "rs/src/pay.rs") == []
    assert importing(limited, "rs/src/till/mod.rs") == [("rs/src/pay.rs", 1)]


def test_an_include_is_of_its_own_repository(make_repository, make_workshop):
    workshop = make_workshop()
    for name, files in (("a", {"src/a.c": '#include "till.h"\n'}), ("b", {"src/till.h": "int till(void);\n"})):
        index_repository(IndexRequest(make_repository(name, files=files).origin), workshop)
    engine = SearchEngine(workshop.store, workshop.embedder, SettingsModel())
    assert imported(engine, "src/a.c") == [(None, 0.0)]
    assert importing(engine, "src/till.h") == []
