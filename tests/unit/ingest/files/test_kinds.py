import pytest

from codequarry.ingest.chunking.languages import language_of
from codequarry.ingest.files.kinds import kind_of_path

KINDS = {
    "source": [
        "src/app.py", "lib/testimony.rb", "contest.go", "Attestation.java", "latest.js", "index.html", "data",
        "pkg/pods/list.go", "Lib/venv/__init__.py", "src/main/java/shop/vendor/Vendor.java",
    ],
    "test": [
        "tests/test_app.py", "test_app.py", "app_test.go", "src/app.spec.ts", "app.test.js", "FooTest.java",
        "spec/foo_spec.rb", "src/__tests__/x.js", "conftest.py", "FooTests.cs", "pkg/testdata/in.txt",
    ],
    "example": ["examples/run.py", "docs/samples/a.go", "demo/index.html"],
    "docs": ["README.md", "docs/guide.rst", "LICENSE", "notes.txt", "docs/manual"],
    "config": [
        "pyproject.toml", "a/b.yaml", "package.json", "Dockerfile", "go.mod", ".gitignore", ".env", "CMakeLists.txt",
        "pom.xml", "Jenkinsfile", ".unknownrc",
    ],
    "lock": ["package-lock.json", "sub/Cargo.lock", "go.sum", "uv.lock", ".terraform.lock.hcl"],
    "generated": ["api/x.pb.go", "x_pb2.py", "Form.Designer.cs", "app.min.js", "a.js.map", "zz_generated.deepcopy.go"],
    "vendored": [
        "vendor/a/b.go", "node_modules/x/index.js", "third_party/README.md", "src/_vendor/six.py", "Pods/A/a.m",
        "vendor/src/main/java/a/A.java", ".venv/lib/python3.12/site-packages/a.py", "3rdparty/zlib/zlib.h",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in KINDS.items() for path in paths])
def test_a_path_determines_the_kind_of_file(kind, path):
    assert kind_of_path(path, language_of(path)) == kind
