"""Files of keys and values: YAML, JSON, TOML, INI and properties."""

import pytest

from codequarry.ingest.chunking.pieces import Sizes

SMALL = Sizes(40, 80, 10)
TINY = Sizes(12, 24, 0)

KEYS = {
    "settings.yml": [
        "server", "server.port", "server.hosts", "server.tls", "server.tls.certificate", "server.tls.min version",
        "billing", "billing.fees", "billing.fees.name", "billing.fees.amount", "billing.fees.note",
        "billing.currencies", "billing.message", "billing.retries",
    ],
    "settings.json": [
        "server", "server.port", "server.hosts", "server.tls", "server.tls.certificate", "server.tls.versions",
        "billing", "billing.fees", "billing.fees.name", "billing.fees.amount", "billing.fees.note",
        "billing.currencies",
    ],
    "settings.json5": ["server", "server.port", "server.host", "billing", "billing.currencies"],
    "records.jsonl": ["invoice", "paid", "paid.at"],
    "settings.toml": [
        "name", "server", "server.port", "server.hosts", "server.tls", "server.tls.min version", "server.tls.note",
        "billing.fees", "billing.fees.name", "billing.fees.amount",
    ],
    "settings.ini": [
        "debug", "server", "server.port", "server.hosts", "billing", "billing.currency", "billing.retries",
    ],
    "settings.properties": [
        "server.port", "server.hosts", "billing.fee.card", "billing.fee.transfer", "debug",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(KEYS))
def test_keys_are_defined_plain_and_with_the_keys_around_them(sample, name):
    defined = dict.fromkeys(each for chunk in sample(name) for each in chunk.defines)
    wanted = [name for key in KEYS[name] for name in (key.rpartition(".")[2], key)]
    assert list(defined) == list(dict.fromkeys(wanted))


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_small_file_is_one_chunk_without_a_name(chunked, sample, name):
    text = "".join(dict.fromkeys(chunk.text for chunk in sample(name)))
    (chunk,) = chunked(name, text)
    assert (chunk.symbol_type, chunk.symbol_name) == ("config", None)


def test_a_large_key_is_a_chunk_with_its_name(chunked):
    services = "".join(
        f"  service{number}:\n    image: acme/{number}\n    ports:\n      - 80\n      - 443\n    command: run it now\n"
        for number in range(3)
    )
    chunks = chunked("compose.yml", f"version: 3\nservices:\n{services}", Sizes(40, 80, 10))
    assert chunks.names == ["services.service0", "services.service1", "services.service2"]
    assert chunks[0].symbol_kind == "key"
    assert [chunk.context for chunk in chunks] == ["services"] * 3
    assert all(chunk.text.startswith("  service") for chunk in chunks[1:])


@pytest.mark.parametrize("path", ["a.json", "a.yml", "a.toml", "a.ini", "a.properties"])
def test_small_neighbours_share_a_chunk(chunked, path):
    row = {"a.json": '"key{0}": {0},\n', "a.yml": "key{0}: {0}\n"}.get(path, "key{0} = {0}\n")
    text = "".join(row.format(number) for number in range(60))
    chunks = chunked(path, "{\n" + text + "}\n" if path == "a.json" else text, SMALL)
    assert 3 < len(chunks) < 20


def test_a_comment_belongs_to_the_key_below_it(chunked):
    text = "".join(f"# About {name}.\n{name} = '{'word ' * 20}'\n\n" for name in "abc")
    chunks = chunked("a.toml", text, SMALL)
    assert chunks.names == ["a", "b", "c"]
    assert all(chunk.text.startswith(f"# About {chunk.symbol_name}.") for chunk in chunks)


def test_documents_of_a_yaml_file_are_apart(chunked):
    document = "---\nkind: Service\nmetadata:\n  name: web\nspec:\n  ports: [80, 443, 8080]\n  selector: web-of-acme\n"
    chunks = chunked("a.yml", document * 3, SMALL)
    assert [chunk.text for chunk in chunks] == [document] * 3
    assert "metadata.name" in chunks[0].defines


@pytest.mark.parametrize("broken", ["a: [1, 2\n", "a: 'open\n", 'a: "open\n', "a: {b: 1,\n"])
def test_what_nobody_closes_in_yaml_ends_at_the_next_key(chunked, broken):
    (chunk,) = chunked("a.yml", f"{broken}next: 1\n")
    assert chunk.defines == ("a", "next")


def test_records_in_lines_are_cut_between_lines(chunked):
    record = '{"invoice": 1, "customer": "acme", "total": 10, "paid": false}\n'
    chunks = chunked("a.jsonl", record * 50, SMALL)
    assert all(chunk.text.startswith("{") and chunk.text.endswith("}\n") for chunk in chunks)


def test_items_of_a_list_are_borders(chunked):
    record = '  {\n    "invoice": 1,\n    "customer": "acme",\n    "total": 10\n  },\n'
    chunks = chunked("a.json", '{"invoices": [\n' + record * 30 + "]}\n", SMALL)
    assert all(chunk.text.startswith("  {") for chunk in chunks[1:])
    assert {chunk.context for chunk in chunks[1:]} == {"invoices"}


@pytest.mark.parametrize(
    ("path", "unit"), [("a.json", "["), ("a.json", '{"a":'), ("a.yml", "- "), ("a.yml", "["), ("a.xml", "<a>")]
)
def test_a_line_as_long_as_a_file_is_one_chunk(chunked, path, unit):
    assert len(chunked(path, unit * (100_000 // len(unit)))) == 1


@pytest.mark.parametrize("unit", ["[\n", '{"a":\n', "]\n", "1,\n", '"a": 1,\n'])
def test_a_deep_or_long_file_has_no_more_chunks_than_its_size_needs(chunked, unit):
    text = unit * 20_000
    assert len(chunked("a.json", text)) < len(text) // 100
