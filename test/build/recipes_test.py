#!/usr/bin/env python3
"""The recipes on the pages for Yocto and Buildroot say what the tree says.

usage: recipes_test.py PROJECT

A block that is marked "recipe FILE" is the whole text of that file; nothing else holds it. Version, licences, releases and hashes
of cJSON and libmd are compared with the tree, and every option that a recipe gives to CMake is one of CMakeLists.txt. Buildroot's
pawl.mk is read by make, with Buildroot's function as a stub. Yocto's recipe is split into its statements here. Neither
recipe was ever run by its own tool, and both pages say so.
"""
import hashlib
import pathlib
import re
import subprocess
import sys

YOCTO, BUILDROOT = "docs/howto/yocto.md", "docs/howto/buildroot.md"
CMAKE = ("CMakeLists.txt", "toolchains/sources.cmake", "toolchains/cjson.cmake", "toolchains/libmd.cmake")  # have the options
OPTION = r"-D(\w+)=(\S*)"
# What both give to CMake: an image needs no tests, its build has no network, and the endpoint and a server need a library more.
OFF = {"PAWL_BUILD_TESTS", "PAWL_BUILD_EXAMPLES", "PAWL_FETCH", "PAWL_ENDPOINT", "PAWL_POSTGRES"}
# A statement of BitBake: a variable, a class, a shell function, a task. Lines that end with \ are joined before.
STATEMENT = re.compile(r'(?:([\w:${}-]+(?:\[[\w.]+\])?) (?:\?=|=|\+=|=\+) "([^"]*)"|inherit [\w ]+|\w+\(\) \{\n(?:    .*\n)+\}|addtask \w[\w ]+|#.*)\n')
# Buildroot gives these to pawl.mk, and make prints those.
PLACES = ("TAR=tar", "STAGING_DIR=/staging", "PAWL_DL_DIR=/downloads", "PAWL_SOURCE=pawl.tar.gz", "XZCAT=xzcat")
PRINTED = ("BR_NO_CHECK_HASH_FOR", "PAWL_VERSION", "PAWL_DEPENDENCIES", "PAWL_EXTRA_DOWNLOADS", "PAWL_EXTRACT_SOURCES", "PAWL_CONF_OPTS")


class Source:
    """What the recipes repeat of a source that is compiled in."""

    def __init__(self, project, cmake, name, licence):
        self.name, self.licence = name, licence
        self.url = re.search(rf"PAWL_{name.upper()}_URL (\S+)", cmake)[1]
        self.release = re.search(r"[v-]([\d.]+)\.tar\.", self.url)[1]
        self.digest = re.search(rf"PAWL_{name.upper()}_SHA256 ([0-9a-f]{{64}})", cmake)[1]
        # ./setup puts it there; without it the hash of the licence is not compared.
        file = project / "build/packages" / name.lower() / licence
        self.md5 = hashlib.md5(file.read_bytes()).hexdigest() if file.is_file() else "[0-9a-f]{32}"


class Tree:
    """What the recipes repeat."""

    def __init__(self, project):
        self.cmake = "".join((project / file).read_text(encoding="utf-8") for file in CMAKE)
        header = (project / "include/pawl/version.h").read_text(encoding="utf-8")
        self.version = ".".join(re.findall(r"#define PAWL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
        self.licence = hashlib.md5((project / "LICENSE").read_bytes()).hexdigest()
        self.sources = [Source(project, self.cmake, "cJSON", "LICENSE"), Source(project, self.cmake, "libmd", "COPYING")]


def options_hold(options, tree):
    """(what holds, whether it does), for both recipes."""
    unknown = sorted(name for name in options if f"({name} " not in tree.cmake)
    yield f"CMake has every option that it sets {unknown}", not unknown
    yield f"{', '.join(sorted(OFF))} are off", {name for name, value in options.items() if value == "OFF"} >= OFF


def files_of(page):
    """File -> text, of the blocks of a page that are marked as files of a recipe."""
    blocks = re.findall(r"^```\w+ recipe (\S+)\n(.*?)^```$", page, re.M | re.S)
    return dict(blocks) if len(dict(blocks)) == len(blocks) else {}


def yocto(page, tree):
    """(what holds, whether it does)"""
    files, name = files_of(page), f"pawl_{tree.version}.bb"
    yield f"the page has one file, {name}, and names no other", set(files) == set(re.findall(r"pawl_[\d.]+\.bb", page)) == {name}
    text = "\n" + re.sub(r"\\\n\s*", "", "".join(files.values()))
    rest = STATEMENT.sub("", text).strip()
    yield f"it consists of statements {rest[:60]!r}", not rest and text.count("\n") > 20
    said = {name: value for name, value in STATEMENT.findall(text) if name}
    names = re.sub(r"\$\{\w+\}", "", re.sub(r"\(\) \{\n(.*?)\n\}\n", r"\1", text, flags=re.S))
    yield "each reference in it is closed", not re.search(r"[${}]", names)
    licences = [f"file://LICENSE;md5={tree.licence}", *(f"file://{one.name.lower()}/{one.licence};md5={one.md5}" for one in tree.sources)]
    yield "it has the hash of each licence", re.fullmatch(" +".join(licences), said.get("LIC_FILES_CHKSUM", "")) is not None
    releases = {one.release for one in tree.sources}
    yield f"each release in it is of {sorted(releases)}", set(re.findall(r"\d+\.\d+\.\d+", text)) == releases
    options = dict(re.findall(OPTION, said.get("EXTRA_OECMAKE", "")))
    yield from options_hold(options, tree)
    for one in tree.sources:
        name = one.name.lower()
        subdir = f"{name}-source"
        yield f"it fetches {one.name} from where CMake does", f" {one.url};name={name};subdir={subdir} " in said.get("SRC_URI", "") + " "
        yield f"it has the hash of {one.name}", said.get(f"SRC_URI[{name}.sha256sum]") == one.digest
        folder = options.get(f"PAWL_{name.upper()}_DIR", "")
        yield f"{one.name} is where it is unpacked: {folder}", folder == f"${{WORKDIR}}/{subdir}/{one.name}-{one.release}"
        yield "and so is its licence", f"cp {folder}/{one.licence} ${{S}}/{name}/{one.licence}\n" in text


def printed_by_make(text, *settings):
    """Name -> value, of the names that are printed."""
    lines = "".join(f"\t$(info {name}: $({name}))\n" for name in PRINTED)
    makefile = f"cmake-package =\n{text}\n.PHONY: /pawl/\n/pawl/:\n{lines}\t@true\n"
    made = subprocess.run(["make", "-s", "-f", "-", "/pawl/", *PLACES, *settings], input=makefile, capture_output=True, text=True)
    print(made.stderr, end="")
    return dict(re.findall(r"^(\w+): (.*(?:\n\t.*)*)", made.stdout, re.M))


def buildroot(page, tree):
    """(what holds, whether it does)"""
    files = files_of(page)
    yield "the page has three files", set(files) == {"Config.in", "pawl.hash", "pawl.mk"}
    recipe, menu = files.get("pawl.mk", ""), files.get("Config.in", "")
    made = printed_by_make(recipe, "BR2_PACKAGE_PAWL_TOOLS=y")
    static = printed_by_make(recipe, "BR2_STATIC_LIBS=y")
    yield "make reads pawl.mk", set(made) == set(PRINTED) and set(static) == set(PRINTED)
    if set(made) != set(PRINTED):
        return
    yield "it asks for no hash of the archive that Buildroot makes", made["BR_NO_CHECK_HASH_FOR"] == "pawl.tar.gz"
    yield f"it has the version v{tree.version}", made["PAWL_VERSION"] == f"v{tree.version}"
    cjson, libmd = tree.sources
    archives = f"cjson-{cjson.release}.tar.gz", f"libmd-{libmd.release}.tar.xz"
    yield "it fetches cJSON and libmd from where CMake does", made["PAWL_EXTRA_DOWNLOADS"].split() == [
        f"{cjson.url.removesuffix('.tar.gz')}/{archives[0]}", libmd.url]
    yield "and unpacks that", made["PAWL_EXTRACT_SOURCES"].split() == (
        "mkdir -p /pawl/cjson /pawl/libmd "
        f"tar --strip-components=1 -C /pawl/cjson -xf /downloads/{archives[0]} "
        f"xzcat /downloads/{archives[1]} | tar --strip-components=1 -C /pawl/libmd -xf -").split()
    yield "pawl.hash has the hashes of both", files.get("pawl.hash") == "".join(
        f"sha256  {one.digest}  {archive}\n" for one, archive in zip(tree.sources, archives))
    options = dict(re.findall(OPTION, made["PAWL_CONF_OPTS"]))
    yield from options_hold(options, tree)
    yield "cJSON, libmd and CLI11 are where they are unpacked and installed", [
        options.get(f"PAWL_{name}") for name in ("CJSON_DIR", "LIBMD_DIR", "CLI11_HEADER")] == [
        "/pawl/cjson", "/pawl/libmd", "/staging/usr/include/CLI/CLI.hpp"]
    without = dict(re.findall(OPTION, static["PAWL_CONF_OPTS"]))
    yield "the tools are built where they are selected", (options.get("PAWL_BUILD_TOOLS"), without.get("PAWL_BUILD_TOOLS")) == ("ON", "OFF")
    yield "and with CLI11", "cli11" in made["PAWL_DEPENDENCIES"].split() and "cli11" not in static["PAWL_DEPENDENCIES"].split()
    yield "the shared library is, unless libraries are static", (options.get("PAWL_BUILD_SHARED"), without.get("PAWL_BUILD_SHARED")) == ("ON", "OFF")
    packages = {f"BR2_PACKAGE_{name.upper()}" for name in made["PAWL_DEPENDENCIES"].split()}
    yield "Config.in selects what pawl.mk depends on", set(re.findall(r"\bselect (\w+)", menu)) == packages
    own = set(re.findall(r"\bBR2_PACKAGE_PAWL\w*", recipe)) | {"BR2_PACKAGE_PAWL"}
    yield "and has the settings that it reads", set(re.findall(r"^config (\w+)", menu, re.M)) == own
    yield "and names no other package", set(re.findall(r"\bBR2_PACKAGE_\w+", menu)) == own | packages
    quotes = [line for line in menu.splitlines() if '"' in line]
    yield "each text in it is closed", len(quotes) == 3 and all(re.fullmatch(r'(?:\tbool|comment) "[^"]+"', line) for line in quotes)


def main(project):
    project = pathlib.Path(project).resolve()
    tree = Tree(project)
    all_hold = True
    for page, checks in ((YOCTO, yocto), (BUILDROOT, buildroot)):
        for what, holds in checks((project / page).read_text(encoding="utf-8"), tree):
            print("ok    " if holds else "FAILED", f"{page}: {what}")
            all_hold = all_hold and holds
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
