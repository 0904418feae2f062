"""Which file an import may mean, as far as its own file says."""

import pytest

from codequarry.shared.relations import IMPORTED_FILE


@pytest.mark.parametrize(
    ("path", "text", "files"),
    [
        ("src/a.c", '#include "b/c.h"\n', ["src/b/c.h|**/b/c.h"]),
        ("src/a.c", '#include "../c.h"\n', ["c.h|**/c.h"]),
        ("a.c", '#include "../../c.h"\n', ["**/c.h"]),
        ("src/a.cc", "#include <acme/c.h>\n", ["**/acme/c.h"]),
        ("src/a.cc", "#include <c.h>\n", ["c.h|src/c.h|**/include/c.h|**/includes/c.h|**/inc/c.h"]),
        ("src/a.c", "#include CONFIG_H\n", []),
        ("lib/a/b.rb", "require_relative '../c'\n", ["lib/c.rb"]),
        ("app.rb", 'require "acme/c"\n', ["lib/acme/c.rb|**/lib/acme/c.rb|**/test/acme/c.rb|**/spec/acme/c.rb"]),
        ("app.rb", 'load "./c.rb"\n', ["c.rb"]),
        ("app.rb", 'require "#{x}/c"\nit "requires" do\nend\n', []),
        ("x/y/a.php", "<?php require 'b.php';\n", ["x/y/b.php|b.php"]),
        ("x/y/a.php", "<?php require_once __DIR__ . '/b.php';\n", ["x/y/b.php"]),
        ("x/y/a.php", "<?php include(dirname(__FILE__) . '/../b.php');\n", ["x/b.php"]),
        ("x/y/a.php", "<?php include_once dirname(__DIR__) . '/b.php';\n", ["x/b.php"]),
        ("x/y/a.php", "<?php include_once dirname(__DIR__, 2) . '/b.php';\n", ["b.php"]),
        ("x/y/a.php", "<?php require ROOT . 'inc/b.php';\n", ["**/inc/b.php"]),
        ("x/y/a.php", '<?php require $b; require "a$b.php"; require ROOT . "b.php";\n', []),
        ("src/lib.rs", "mod b;\n", ["src/b.rs|src/b/mod.rs"]),
        ("src/a.rs", "pub mod b;\nmod c { mod d; }\n", ["src/a/b.rs|src/a/b/mod.rs", "src/a/c/d.rs|src/a/c/d/mod.rs"]),
        ("src/lib.rs", '#[path = "unix.rs"]\nmod b;\n', ["src/unix.rs"]),
        ("tests/a.rs", "mod b;\n", ["tests/b.rs|tests/b/mod.rs|tests/a/b.rs|tests/a/b/mod.rs"]),
    ],
)
def test_an_import_says_where_its_file_may_be(read, path, text, files):
    modules = [one.target.module for one in read(path, text).references if one.kind == "import"]
    assert [module.removeprefix(IMPORTED_FILE) for module in modules if module.startswith(IMPORTED_FILE)] == files


def test_the_import_has_the_name_of_its_file(read):
    """By it, the imports of a file are found."""
    (found,) = read("src/a.c", '#include "b/c.h"\n').references
    assert (found.name, found.line, found.target.origin) == ("c.h", 1, "import")
