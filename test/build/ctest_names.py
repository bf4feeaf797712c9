"""The tests that ctest knows, by the names the pages under docs/ use."""
import pathlib
import re
import subprocess
import tempfile


def list_names(build, ctest):
    # From a folder of its own: a ctest inside a ctest of the same folder overwrites its logs.
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "CTestTestfile.cmake").write_text(f'subdirs("{build}")\n', encoding="utf-8")
        listed = subprocess.run([ctest, "--test-dir", folder, "-N"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^ +Test +#\d+: (\S+)", listed, re.M)


def programs(build, ctest):
    """{program: its tests}; a test that is no case of GoogleTest is a program of its own."""
    found = {}
    for name in list_names(build, ctest):
        # program.[Instances/]Suite.Test[/parameter]
        at = re.fullmatch(r"(\w+)\.(?:\w+/)?(\w+)\.(\w+)(/\S+)?", name)
        tests = found.setdefault(at[1] if at else name, set())
        tests.update({f"{at[2]}.{at[3]}", f"{at[2]}.{at[3]}{at[4] or ''}", f"{at[2]}.*"} if at else {name})
    return found


def known_tests(build, ctest):
    return set().union(*programs(build, ctest).values())
