import pytest

from training.licences import expression_of, is_permissive, licence_of_text


@pytest.mark.parametrize(
    ("spelling", "expression"),
    [
        ("MIT", "MIT"),
        ("MIT License", "MIT"),
        ("The MIT License (MIT)", "MIT"),
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("Apache Software License", "Apache-2.0"),
        ("BSD 3-Clause", "BSD-3-Clause"),
        ("New BSD License", "BSD-3-Clause"),
        ("Expat", "MIT"),
        ("Python Software Foundation License", "PSF-2.0"),
        ("Apache Software License (Apache 2.0)", "Apache-2.0"),
        ("BSD-0-Clause", "0BSD"),
        ("BSD-3-clauses", "BSD-3-Clause"),
        ("MIT OR Apache-2.0", "MIT OR Apache-2.0"),
        ("MIT/Apache-2.0", "MIT/Apache-2.0"),
        ("GPL-3.0-or-later", None),
        ("GNU Lesser General Public License v3", None),
        ("Proprietary", None),
        ("", None),
    ],
)
def test_only_unambiguous_spellings_of_licences_are_recognised(spelling, expression):
    assert expression_of([spelling]) == expression


@pytest.mark.parametrize(
    ("expression", "permissive"),
    [
        ("GPL-2.0 OR MIT", True),
        ("GPL-2.0 AND MIT", False),
        ("(MIT OR GPL-3.0) AND Apache-2.0", True),
        ("(MIT AND GPL-3.0) OR BSD-3-Clause", True),
        ("MIT AND", False),
        ("(MIT", False),
        ("MIT) OR MIT", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2.0 WITH Classpath-exception-2.0", False),
        ("", False),
    ],
)
def test_or_needs_one_permissive_side_and_and_needs_both(expression, permissive):
    assert is_permissive(expression) is permissive


def test_several_licences_are_joined_and_an_unclear_licence_rejects_all():
    assert expression_of(["MIT", "BSD License"]) == "MIT AND BSD-3-Clause"
    assert expression_of(["MIT", "see file"]) is None
    assert expression_of([]) is None


def test_a_licence_text_is_recognised_by_its_distinctive_words():
    assert licence_of_text("Permission is hereby granted, free of charge, to any\nperson obtaining a copy") == "MIT"
    assert licence_of_text("GNU LESSER GENERAL PUBLIC LICENSE Version 3") == "GPL-3.0"
    assert licence_of_text("Apache License\n   Version 2.0, January 2004") == "Apache-2.0"
    assert licence_of_text("All rights reserved.") is None
