import zipfile

import pytest

from training.clients import Fetched
from training.metadata import licence_of
from training.packages import Package

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy"
GPL = "GNU GENERAL PUBLIC LICENSE Version 3"


def _wheel(folder, metadata, files):
    archive = folder / "name-1-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        wheel.writestr("name-1.dist-info/METADATA", "Metadata-Version: 2.4\nName: name\n" + metadata)
        for path, text in files.items():
            wheel.writestr(path, text)
    return Fetched(Package("pypi", "name", "1"), archive)


@pytest.mark.parametrize(
    ("metadata", "files", "licence"),
    [
        ("License-File: LICENSE\n", {"name-1.dist-info/licenses/LICENSE": MIT}, "MIT"),
        ("License: UNKNOWN\nLicense-File: LICENSE\n", {"name-1.dist-info/LICENSE": MIT}, "MIT"),
        ("License-File: LICENSE\nLicense-File: AUTHORS\n", {"name-1.dist-info/licenses/LICENSE": MIT}, "MIT"),
        ("License-File: LICENSE\n", {"name-1.dist-info/licenses/LICENSE": GPL}, None),
        ("License-File: LICENSE\n", {"name-1.dist-info/licenses/LICENSE": "All rights reserved."}, None),
        ("License-File: LICENSE\n", {"name/vendored/LICENSE": MIT}, None),
        (
            "License-File: LICENSE\nLicense-File: LICENSE.old\n",
            {"name-1.dist-info/licenses/LICENSE": MIT, "name-1.dist-info/licenses/LICENSE.old": GPL},
            None,
        ),
        ("License-File: LICENSE\nLicense-File: LICENSE.gone\n", {"name-1.dist-info/licenses/LICENSE": MIT}, None),
        ("", {"name-1.dist-info/licenses/LICENSE": MIT}, None),
        ("License: GPLv3\nLicense-File: LICENSE\n", {"name-1.dist-info/licenses/LICENSE": MIT}, None),
        (
            "Classifier: License :: Freely Distributable\nLicense-File: LICENSE\n",
            {"name-1.dist-info/licenses/LICENSE": MIT},
            None,
        ),
    ],
)
def test_a_wheel_that_only_names_licence_files_is_judged_by_all_their_texts(tmp_path, metadata, files, licence):
    assert licence_of(_wheel(tmp_path, metadata, files)) == licence
