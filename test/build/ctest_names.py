"""The tests that ctest knows, by the names the pages under docs/ use."""
import pathlib
import re
import subprocess
import tempfile


def known_tests(build, ctest):
    # From a folder of its own: a ctest inside a ctest of the same folder overwrites its logs.
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(f'subdirs("{build}")\n', encoding="utf-8")
        listed = subprocess.run([ctest, "--test-dir", folder, "-N"], capture_output=True, text=True, check=True).stdout
    tests = set()
    for name in re.findall(r"^ +Test +#\d+: (\S+)", listed, re.M):
        # program.[Instances/]Suite.Test[/parameter]
        at = re.fullmatch(r"\w+\.(?:\w+/)?(\w+)\.(\w+)(/\S+)?", name)
        if at:
            tests.update({f"{at[1]}.{at[2]}", f"{at[1]}.{at[2]}{at[3] or ''}", f"{at[1]}.*"})
        else:
            tests.add(name)
    return tests
