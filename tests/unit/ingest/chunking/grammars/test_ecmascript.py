"""JavaScript, JSX, TypeScript and TSX files."""


def test_typescript_declarations_have_exact_names(sample):
    assert sample("invoice.ts").names == [
        "Payable", "Handler", "State", "Invoice", "Invoice.constructor", "Invoice.pay", "Invoice.isOpen", "applyFee",
        "helper", "main",
    ]  # fmt: skip


def test_types_map_to_the_nearest_symbol_type(sample):
    chunks = sample("invoice.ts")
    kinds = {name: (chunks.named(name).symbol_type, chunks.named(name).symbol_kind) for name in chunks.names}
    assert kinds["Payable"] == ("interface", "interface")
    assert kinds["Handler"] == ("interface", "type")
    assert kinds["State"] == ("enum", "enum")
    assert kinds["Invoice"] == ("class", "class")
    assert kinds["Invoice.isOpen"] == ("method", "method")
    assert kinds["applyFee"] == ("function", "function")


def test_a_method_has_its_decorator_doc_and_facts(sample):
    pay = sample("invoice.ts").named("Invoice.pay")
    assert pay.signature == "public async pay(card: string): Promise<boolean>"
    assert pay.doc == "Pays it at most once."
    assert '@HostListener("click")' in pay.text
    assert pay.context.splitlines()[0] == "export class Invoice extends Base<Money> implements Payable"
    assert pay.calls == ("HostListener", "chargeCard", "applyFee")
    assert pay.imports == ("@acme/gateway/client", "../errors")
    assert pay.dependencies == ("@acme/gateway",)
    assert pay.complexity_score == 5


def test_a_decorated_class_begins_with_doc_and_decorator(sample):
    invoice = sample("invoice.ts").named("Invoice")
    assert invoice.text.startswith("/** An invoice of one customer. */\n@Injectable(")
    assert {"Base", "Payable", "Money"} <= set(invoice.references)


def test_exports_are_found_in_statements_and_lists(sample):
    chunks = sample("invoice.ts")
    assert chunks.named("applyFee").exported is True
    assert chunks.named("helper").exported is True
    assert chunks.named("main").exported is True
    assert chunks.named("Invoice.pay").exported is None


def test_a_function_without_export_is_not_exported(chunked):
    text = "function hidden(a) {\n  const b = a;\n  const c = b;\n  return c;\n}\n"
    assert chunked("x.ts", text).named("hidden").exported is False


def test_jsx_components_are_references(sample):
    panel = sample("panel.jsx").named("PayPanel")
    assert {"Button", "Input"} <= set(panel.references)
    assert "form" not in panel.references
    assert panel.imports == ("react", "@acme/ui")
    assert panel.exported is True


def test_tsx_is_parsed_with_its_own_grammar(chunked):
    text = (
        "export function Panel(props: Props): JSX.Element {\n  const a = 1;\n  return (\n    <Box a={a} />\n  );\n}\n"
    )
    panel = chunked("Panel.tsx", text).named("Panel")
    assert (panel.language, panel.exported) == ("typescript", True)
    assert {"Props", "Box"} <= set(panel.references)


def test_prototype_methods_and_object_methods_are_named(sample):
    chunks = sample("panel.jsx")
    assert chunks.named("PayPanel.render").signature == "PayPanel.prototype.render = function ()"
    assert chunks.named("actions").symbol_kind == "object"
    assert chunks.named("actions.open").symbol_type == "method"
    assert chunks.named("actions.close").context == "const actions"


def test_commonjs_requires_are_imports_and_exports_are_found(sample):
    chunks = sample("panel.jsx")
    assert chunks[0].imports == ("react", "@acme/ui")
    assert chunks[0].symbol_kind == "prologue"
    assert chunks[-1].exports[-3:] == ("version", "PayPanel", "actions")


def test_the_cases_of_a_large_test_suite_are_opened_but_not_cut_up(chunked):
    case = "".join(f"    expect(sum({index}, 1)).toBe({index + 1});\n" for index in range(20))
    suite = "".join(f"  it('adds {index}', () => {{\n{case}  }});\n\n" for index in range(3))
    chunks = chunked("sum.test.js", f"import {{ sum }} from './sum';\n\ndescribe('sum', () => {{\n{suite}}});\n")
    cases = [chunk for chunk in chunks if chunk.symbol_kind == "test"]
    assert [chunk.signature for chunk in cases] == [f"it('adds {index}', ()" for index in range(3)]
    assert all(chunk.context.startswith("describe('sum', ()") for chunk in cases)


def test_a_module_in_a_function_is_opened(chunked):
    body = "".join(
        f"  function f{index}(a) {{\n    const b = a + {index};\n    const c = b * 2;\n    return c;\n  }}\n"
        for index in range(20)
    )
    chunks = chunked("old.js", f"(function (root) {{\n{body}}})(this);\n")
    assert chunks.names == [f"f{index}" for index in range(20)]


def test_declared_modules_and_namespaces_are_scopes(chunked):
    module = "declare module 'm' {\n  export function f(a: A): B;\n}\n"
    text = module + "namespace N {\n  export class C {\n    x = 1;\n    y = 2;\n    z = 3;\n  }\n}\n"
    chunks = chunked("x.d.ts", text)
    assert chunks.named("N.C").symbol_type == "class"
    assert chunks.defining("f")
