#!/usr/bin/env python3
"""The recipes under packaging/ for Yocto, Buildroot, vcpkg and Conan say what the tree says.

usage: recipes_test.py PROJECT

Version, licence, the release of cJSON and its hashes, and every option of CMake that they set. vcpkg's manifest and Conan's recipe are
parsed; Buildroot's is read by make and vcpkg's by cmake, with the functions of the tools as stubs. docs/install.md says which tools
never saw their recipe.
"""
import ast
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

STUBS = ("vcpkg_download_distfile vcpkg_extract_source_archive vcpkg_check_features vcpkg_cmake_configure vcpkg_cmake_install "
         "vcpkg_cmake_config_fixup vcpkg_fixup_pkgconfig vcpkg_copy_tools vcpkg_install_copyright").split()


def main(project):
    project = pathlib.Path(project).resolve()
    packaging = project / "packaging"

    def read(path):
        return (project / path).read_text(encoding="utf-8")

    version = ".".join(re.findall(r"#define PAWL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", read("include/pawl/version.h")))
    cmake = read("CMakeLists.txt") + read("toolchains/cjson.cmake")
    digest = re.search(r"PAWL_CJSON_SHA256 ([0-9a-f]{64})", cmake)[1]
    url = re.search(r"PAWL_CJSON_URL (\S+)", cmake)[1]
    release = re.search(r"v([\d.]+)\.tar\.gz", url)[1]
    licence = hashlib.md5((project / "LICENSE").read_bytes()).hexdigest()
    recipes = {path.relative_to(packaging).as_posix(): path.read_text(encoding="utf-8")
               for folder in ("yocto", "buildroot", "vcpkg", "conan") for path in sorted((packaging / folder).iterdir()) if path.is_file()}
    yocto = next(name for name in recipes if name.endswith(".bb"))
    manifest = json.loads(recipes["vcpkg/vcpkg.json"])
    ast.parse(recipes["conan/conanfile.py"])

    makefile = "cmake-package =\n" + recipes["buildroot/pawl.mk"] + "\nall: ; @echo '$(PAWL_VERSION) $(PAWL_CONF_OPTS)'\n"
    made = subprocess.run(["make", "-s", "-f", "-", "all", "BR2_PACKAGE_PAWL_TOOLS=y"], input=makefile, capture_output=True, text=True)
    stubs = "cmake_policy(VERSION 3.20)\n" + "".join(f"function({name})\nendfunction()\n" for name in STUBS)
    portfile = recipes["vcpkg/portfile.cmake"].replace("file(REMOVE_RECURSE", "message(STATUS")
    with tempfile.NamedTemporaryFile("w", suffix=".cmake") as script:
        script.write(stubs + portfile)
        script.flush()
        parsed = subprocess.run(["cmake", "-P", script.name], capture_output=True, text=True)

    options = {option for text in recipes.values()
               for option in re.findall(r'(?:-D|"|tools )(PAWL_[A-Z_]+)(?=[=":)])', text)}
    unknown = {option for option in options if f"({option} " not in cmake}
    checks = {
        "Yocto has the version": yocto == f"yocto/pawl_{version}.bb",
        "Buildroot has it, and make reads the recipe": made.stdout.startswith(version + " ") and "PAWL_BUILD_TOOLS=ON" in made.stdout,
        "vcpkg has it": manifest["version"] == version,
        "cmake reads vcpkg's recipe": parsed.returncode == 0,
        "Yocto has the hash of the licence": f"file://LICENSE;md5={licence}" in recipes[yocto],
        "the hash of cJSON is everywhere the same": all(digest in recipes[name] for name in
                                                        (yocto, "buildroot/pawl.hash", "conan/conanfile.py")),
        "and its release": all(release in recipes[name] for name in (yocto, "buildroot/pawl.mk", "vcpkg/portfile.cmake", "conan/conanfile.py")),
        f"CMake has every option that a recipe sets {sorted(unknown)}": not unknown and len(options) > 5,
    }
    for what, holds in checks.items():
        print("ok    " if holds else "FAILED", what)
    print(made.stderr + parsed.stderr)
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
