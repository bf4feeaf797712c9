#!/usr/bin/env python3
"""Programs outside of the tree find Pawl, link it and run.

usage: consumers.py PROJECT SCRATCH [STEP...]

Takes a copy of the tree as a user has it and follows docs/install.md in it: its blocks marked "consumers NAME" are what is run
here. A prefix is moved before it is used. Then a durable hello (hello.cpp) is built in every variant and run: killed in its second
activity, and started again.
"""
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
STANDARDS = "17;20;23"
CROSS = {"armhf": ("arm-linux-gnueabihf", "qemu-arm-static"), "arm64": ("aarch64-linux-gnu", "qemu-aarch64-static")}
if not os.environ.get("PAWL_SOAK"):
    del CROSS["armhf"]  # as arm64, for minutes
failures = []
checks = 0


def expect(holds, what):
    global checks
    checks += 1
    if not holds:
        failures.append(what)
    print("ok    " if holds else "FAILED", what, flush=True)


def run(*command, cwd=None, env=None, check=True, errors=subprocess.STDOUT):
    words = [str(word) for word in command]
    result = subprocess.run(words, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=errors, text=True,
                            errors="replace")
    if check and result.returncode != 0:
        print(result.stdout[-6000:])
        raise RuntimeError(f"{' '.join(words)}: status {result.returncode}")
    return result


class Page:
    """The blocks of docs/install.md by language and name."""

    def __init__(self, project):
        text = (project / "docs/install.md").read_text(encoding="utf-8")
        self.blocks = {(language, name): body for language, name, body in
                       re.findall(r"^```(\w+) consumers ([\w-]+)\n(.*?)^```$", text, re.S | re.M)}

    def take(self, language, name):
        return self.blocks.pop((language, name))


class Consumers:
    def __init__(self, project, scratch):
        self.project, self.scratch = project, scratch
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        self.page = Page(project)
        self.environment = {**os.environ, "HOME": str(scratch), "LC_ALL": "C"}
        for name in ("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH"):
            self.environment.pop(name, None)
        self.tree = scratch / "pawl"
        self.programs = []  # (name, command of it)
        self.served = []  # the same of those with an endpoint
        self.on_server = []  # (lines of a shell, output)
        self.copy_tree()

    def copy_tree(self):
        for folder in ("docs", "examples", "include", "packaging", "port", "src", "test", "toolchains"):
            shutil.copytree(self.project / folder, self.tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"):
            shutil.copy(self.project / file, self.tree / file)
        (self.tree / "build").mkdir()
        (self.tree / "build/packages").symlink_to(self.project / "build/packages")
        self.virtual = self.scratch / "virtual.cpp"
        run(sys.executable, self.tree / "test/build/extract_sample.py", self.tree / "docs/guide/testing.md", "testing", self.virtual)
        self.hello = re.search(r"<!-- hello.*?\n```cpp\n(.*?)```", (self.project / "README.md").read_text(), re.S)[1]

    def shell(self, name, folder):
        run("bash", "-euc", self.page.take("sh", name), cwd=folder, env=self.environment)

    def folder(self, name, project_text=None):
        folder = self.scratch / name
        folder.mkdir()
        if project_text:
            (folder / "CMakeLists.txt").write_text(project_text)
        (folder / "main.cpp").write_text(self.hello)
        return folder

    # --- steps

    def install(self):
        self.shell("install", self.scratch)
        opt = self.scratch / "opt"
        opt.rename(self.scratch / "moved")
        # The commands on the page name $HOME/opt; the folder that things were installed to is not there any more.
        self.environment["HOME"] = str(self.scratch / "home")
        (self.scratch / "home/opt").mkdir(parents=True)
        shutil.move(self.scratch / "moved/pawl", self.scratch / "home/opt/pawl")
        self.prefix = self.scratch / "home/opt/pawl"
        texts = "".join(path.read_text() for path in self.prefix.glob("lib/**/*") if path.suffix in (".cmake", ".pc"))
        expect(str(self.scratch) not in texts, "nothing installed names the folder it was built in or installed to")
        library = (self.prefix / "lib/libpawl.so").resolve().name
        expect(re.fullmatch(r"libpawl\.so\.\d+\.\d+\.\d+\.\d+", library) and (self.prefix / "lib/libpawl.so.0").is_symlink(),
               f"the shared library has its versions in its name: {library}")
        for file in ("lib/libpawl.a", "lib/libpawl_testing.a", "lib/libpawl_endpoint.a", "include/pawl/endpoint.hpp",
                     "lib/libpawl_postgres.a", "include/pawl/postgres.hpp", "include/pawl/pawl_postgres.h",
                     "include/pawl/host.hpp", "include/pawl/version.h",
                     "share/doc/pawl/LICENSE", "share/doc/pawl/LICENSE.cJSON", "share/doc/pawl/LICENSE.libmd",
                     "share/doc/pawl/docs/install.md"):
            expect((self.prefix / file).is_file(), f"installed: {file}")
        needed = self.needed(self.prefix / "lib/libpawl.so")
        expect(not {"libmicrohttpd.so.12", "libpq.so.5"} & set(needed), f"the library alone needs neither libmicrohttpd nor libpq: {needed}")
        compiled = run("ninja", "-C", self.scratch / "pawl-build", "-t", "commands", "pawl_shared", "pawl_static",
                       "pawl_endpoint_shared", "pawl_endpoint_static", "pawl_postgres_static").stdout
        sources = re.findall(r" -c (\S+/src/\S+\.cpp)", compiled)
        expect(sources and len(sources) == len(set(sources)), "no source is compiled twice for static and shared libraries")

    def needed(self, file):
        return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", file).stdout)

    def find_package(self):
        folder = self.folder("find_package", self.page.take("cmake", "find_package"))
        self.shell("find_package", folder)
        self.matrix("native", self.prefix, ["-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_C_COMPILER=gcc"], standards=STANDARDS)
        self.matrix("clang", self.prefix, ["-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_C_COMPILER=clang"])
        folder = self.folder("components")
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.20)\nproject(c LANGUAGES CXX)\n"
            "find_package(Pawl 0.1 CONFIG REQUIRED COMPONENTS ${WANTED})\n"
            "add_executable(c main.cpp)\ntarget_link_libraries(c PRIVATE ${LINKED})\n")
        # A package whose endpoint or PostgreSQL is not there, as its own Debian package may not be.
        without = self.scratch / "without"
        shutil.copytree(self.prefix, without, symlinks=True)
        for path in [*without.glob("lib/cmake/Pawl/PawlEndpoint*"), *without.glob("lib/cmake/Pawl/PawlPostgres*")]:
            path.unlink()
        for prefix, wanted, linked, says in (
                (self.prefix, "shared;static", "", "can be one"), (self.prefix, "frobs", "", "no component frobs"),
                (self.prefix, "shared;postgres", "", "postgres goes with the static library"),
                (self.prefix, "postgres", "pawl::postgres;pawl::pawl_shared", "PAWL_LIBRARY property"),
                (without, "endpoint", "", "libpawl-endpoint-dev"), (without, "postgres", "", "libpawl-postgres-dev")):
            answer = run("cmake", "-S", folder, "-B", folder / "build", f"-DPawl_DIR={prefix}/lib/cmake/Pawl", f"-DWANTED={wanted}",
                         f"-DLINKED={linked}", env=self.environment, check=False)
            text = " ".join(answer.stdout.split())
            expect(answer.returncode != 0 and says in text, f"find_package refuses {wanted} {linked}: {says}")
        folder = self.folder("endpoint", self.page.take("cmake", "endpoint"))
        shutil.copy(HERE / "endpoint.cpp", folder / "main.cpp")
        run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            env=self.environment)
        run("cmake", "--build", folder / "build", env=self.environment)
        self.served.append(("by find_package", [folder / "build/greenhouse"]))
        folder = self.folder("postgres", self.page.take("cmake", "postgres"))
        shutil.copy(HERE / "hello.cpp", folder / "main.cpp")
        run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_CXX_FLAGS=-DWITH_SERVER", env=self.environment)
        run("cmake", "--build", folder / "build", env=self.environment)
        self.links_server(folder / "build/hello", "by find_package")
        hello = f"{folder}/build/hello {folder}/hello.db"
        self.on_server.append((f"{hello} die || test $? = 3\n{hello}\n", "hello\ngoodbye\n"))

    def links_server(self, program, how):
        linked = self.needed(program)
        expect("libpq.so.5" in linked and "libpawl.so.0" not in linked, f"on a server, {how}: libpq, and the static library {linked}")

    def matrix(self, name, prefix, options, emulator="", standards="17"):
        """hello.cpp by find_package, for each standard, with exceptions and without, and what else there is to link."""
        cjson = self.project / "build/packages/cjson"
        for variant in ("shared", "static"):
            build = self.scratch / f"matrix-{name}-{variant}"
            static = ["-DCMAKE_EXE_LINKER_FLAGS=-static"] if emulator and variant == "static" else []
            endpoint = "OFF" if emulator else "ON"  # no libmicrohttpd of another architecture
            run("cmake", "-S", HERE, "-B", build, "-G", "Ninja", f"-DVARIANT={variant}", f"-DCMAKE_PREFIX_PATH={prefix}",
                f"-DWITH_ENDPOINT={endpoint}", f"-DSTANDARDS={standards}",
                f"-DOWN_CJSON={cjson}", f"-DVIRTUAL={self.virtual}", *options, *static, env=self.environment)
            run("cmake", "--build", build, env=self.environment)
            for program in sorted(build.glob("hello-*")):
                self.programs.append((f"{name} {variant} {program.name}", [*emulator.split(), program]))
            run(*emulator.split(), build / "virtual")  # a test in virtual time, with pawl::testing
            kind = run("readelf", "-h", build / f"hello-pie-{variant}").stdout
            expect(re.search(r"Type:\s+DYN", kind), f"{name}: {variant} links into a program at any address")
            linked = self.needed(build / f"hello-17-exceptions-{variant}")
            expect(("libpawl.so.0" in linked) == (variant == "shared") and "libpq.so.5" not in linked,
                   f"{name}: {variant} is what was linked, and no libpq")
            if endpoint == "ON":
                linked = self.needed(build / f"endpoint-{variant}")
                wanted = "libpawl_endpoint.so.0" if variant == "shared" else "libmicrohttpd.so.12"
                expect(wanted in linked and ("libpawl.so.0" in linked) == (variant == "shared"), f"{name}: so is the endpoint")
                self.served.append((f"{name} {variant}", [build / f"endpoint-{variant}"]))

    def pkg_config(self):
        folder = self.folder("pkg-config")
        self.shell("pkg-config", folder)
        environment = {**self.environment, "PKG_CONFIG_PATH": str(self.prefix / "lib/pkgconfig"),
                       "LD_LIBRARY_PATH": str(self.prefix / "lib")}
        run(sys.executable, self.tree / "test/build/extract_sample.py", self.tree / "docs/guide/c-api.md", "c_api", folder / "c_api.c")
        for flags in ("", "-static"):
            kind = "--static" if flags else ""
            run("sh", "-c", f"cc -std=c99 {flags} c_api.c $(pkg-config --cflags --libs {kind} pawl) -o c{flags}", cwd=folder,
                env=environment)
            shutil.rmtree(folder / "garden.db", ignore_errors=True)
            for left in folder.glob("garden.db*"):
                shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
            said = run(f"./c{flags}", cwd=folder, env=environment).stdout
            expect("roses: the bed is dry" in said, f"C by pkg-config {kind}")
        shutil.copy(HERE / "endpoint.cpp", folder / "endpoint.cpp")
        self.shell("pkg-config-endpoint", folder)
        self.served.append(("by pkg-config", [folder / "greenhouse"]))
        folder = self.folder("pkg-config-postgres")
        shutil.copy(HERE.parent / "c_api/c_server_test.c", folder / "main.c")
        shutil.copy(HERE.parent / "c_api/c_api_test.h", folder)
        self.shell("pkg-config-postgres", folder)
        self.links_server(folder / "hello", "C by pkg-config")
        run("sh", "-c", "cc -std=c99 main.c $(pkg-config --cflags --libs pawl pawl-postgres) -o both", cwd=folder, env=environment)
        self.links_server(folder / "both", "beside the package pawl")
        self.on_server.append((f'{folder}/hello {folder}/c "$PAWL_POSTGRES password=s3cret"\n', "ok\n"))
        asked = run("pkg-config", "--modversion", "pawl", env=environment).stdout.strip()
        expect(asked == self.version(), f"pkg-config and the header have one version: {asked}")

    def subfolder(self):
        """As a subfolder, by clang; cJSON is an installed static library, and libmd is in a folder that is named."""
        folder = self.folder("subfolder", self.page.take("cmake", "add_subdirectory"))
        shutil.copytree(self.tree, folder / "pawl", ignore=shutil.ignore_patterns("build"))
        cjson = self.scratch / "cjson-installed"
        (cjson / "include/cjson").mkdir(parents=True)
        (cjson / "lib").mkdir()
        source = self.project / "build/packages/cjson"
        libmd = f"-DPAWL_LIBMD_DIR={self.project}/build/packages/libmd"
        shutil.copy(source / "cJSON.h", cjson / "include/cjson")
        run("cc", "-O1", "-fPIC", "-c", source / "cJSON.c", "-o", cjson / "cJSON.o")
        run("ar", "rc", cjson / "lib/libcjson.a", cjson / "cJSON.o")
        said = run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_CXX_COMPILER=clang++",
                   "-DCMAKE_C_COMPILER=clang", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-g0", f"-DCMAKE_PREFIX_PATH={cjson}", libmd, "-DPAWL_FETCH=OFF",
                   env=self.environment)
        expect("libcjson.a" in said.stdout, "cJSON is the installed static library")
        cache = (folder / "build/CMakeCache.txt").read_text()
        expect("PAWL_WERROR:BOOL=OFF" in cache, "a parent's compiler may warn of what ours does not")
        run("cmake", "--build", folder / "build", env=self.environment)
        self.programs_of_readme.append(folder / "build/hello")
        self.only_what_is_linked("add_subdirectory", folder / "build")
        exported = run("nm", "--defined-only", folder / "build/hello").stdout
        expect("pawl_cJSON_Parse" in exported and not re.search(r" cJSON_Parse\b", exported), "and its functions are renamed")
        for name, options in (("libmd", []), ("cJSON", [libmd])):
            without = run("cmake", "-S", folder, "-B", folder / f"without-{name}", "-G", "Ninja", "-DPAWL_FETCH=OFF", *options,
                          env=self.environment, check=False)
            expect(without.returncode != 0 and f"PAWL_{name.upper()}_DIR" in without.stdout,
                   f"no {name}, not to be fetched: says what would help")

    def fetch(self):
        """Fetched from a repository, and cJSON and libmd from archives whose hashes are checked."""
        repository = self.scratch / "repository"
        shutil.copytree(self.tree, repository, ignore=shutil.ignore_patterns("build"))
        git = ["git", "-C", repository, "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"]
        run(*git, "init", "-q")
        run(*git, "add", "-A")
        run(*git, "commit", "-qm", "A copy")
        commit = run(*git, "rev-parse", "HEAD").stdout.strip()
        folder = self.folder("fetch", self.page.take("cmake", "FetchContent"))
        options = [f"-DPAWL_REPOSITORY=file://{repository}", f"-DPAWL_COMMIT={commit}"]
        digests = {}
        for name in ("cJSON", "libmd"):
            archive = self.scratch / f"{name}.tar.gz"
            run("tar", "-C", self.project / "build/packages", "-czf", archive, name.lower())
            options.append(f"-DPAWL_{name.upper()}_URL=file://{archive}")
            digests[name] = f"-DPAWL_{name.upper()}_SHA256={hashlib.sha256(archive.read_bytes()).hexdigest()}"
        for name in digests:
            others = [digest for other, digest in digests.items() if other != name]
            wrong = run("cmake", "-S", folder, "-B", folder / f"wrong-{name}", "-G", "Ninja", *options, *others,
                        env=self.environment, check=False)
            expect(wrong.returncode != 0 and "does not match expected value" in wrong.stdout and f"{name}.tar.gz" in wrong.stdout,
                   f"another {name} than the one named is refused")
        run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-g0", *options, *digests.values(),
            env=self.environment)
        run("cmake", "--build", folder / "build", env=self.environment)
        self.programs_of_readme.append(folder / "build/hello")
        self.only_what_is_linked("FetchContent", folder / "build")
        expect(not list((folder / "build").glob("**/PawlConfig.cmake")), "and a parent does not install it unasked")

    def only_what_is_linked(self, name, build):
        files = [path for path in build.glob("**/*") if path.is_file() and not
                 {"CMakeFiles", "pawl-src", "pawl-subbuild", "pawl_cjson_source-src", "pawl_libmd_source-src"} & set(path.parts)]
        archives = {path.name for path in files if path.suffix == ".a" or ".so" in path.name}
        programs = {path.name for path in files if os.access(path, os.X_OK)} - archives
        unasked = {file for file in archives if re.search(r"testing|port_sim|port_template|gtest|libpawl\.", file)}
        expect(programs == {"hello"} and "libpawl_runtime.a" in archives and not unasked,
               f"{name} builds hello, and no tool, test, example or other library {sorted(programs)} {sorted(unasked)}")

    def cross(self):
        text = self.page.take("sh", "cross")
        for arch, (triplet, emulator) in CROSS.items():
            run("bash", "-euc", text.replace("arm64", arch), cwd=self.scratch, env=self.environment)
            self.scratch.joinpath("sysroots").mkdir(exist_ok=True)
            prefix = self.scratch / "sysroots" / arch
            shutil.move(self.scratch / f"home/opt/pawl-{arch}", prefix)
            sysroot = self.project / "build/packages" / arch / "usr/lib" / triplet
            command = f"{emulator} -L /usr/{triplet} -E LD_LIBRARY_PATH={sysroot}:{prefix}/lib"
            options = [f"-DCMAKE_TOOLCHAIN_FILE={self.tree}/toolchains/debian.cmake", f"-DPAWL_DEBIAN_ARCH={arch}",
                       f"-DPAWL_TARGET_ROOT={prefix}"]
            self.matrix(arch, "/", options, command)
        # A sysroot without the static library.
        sysroot = self.scratch / "shared-only"
        shutil.copytree(self.project / "build/packages/arm64", sysroot, symlinks=True)
        next(sysroot.glob("usr/lib/*/libsqlite3.a")).unlink()
        build = self.scratch / "shared-only-build"
        run("cmake", "-S", self.tree, "-B", build, "-G", "Ninja", f"-DCMAKE_TOOLCHAIN_FILE={self.tree}/toolchains/debian.cmake",
            "-DPAWL_DEBIAN_ARCH=arm64", "-DPAWL_BUILD_TESTS=OFF", "-DPAWL_BUILD_EXAMPLES=OFF",
            f"-DPAWL_SQLITE3_LIBRARY={next(sysroot.glob('usr/lib/*/libsqlite3.so'))}", env=self.environment)
        expect("libsqlite3.so" in (build / "CMakeCache.txt").read_text(), "a sysroot with libsqlite3.so alone configures")

    def packages(self):
        """Debian packages of what was built above, installed to a folder, used there, and purged."""
        native = run("dpkg", "--print-architecture").stdout.strip()
        arches = ("amd64", *CROSS)
        text = self.page.take("sh", "packages")
        for word in re.findall(r" (\w+)=\S+", text):
            if word not in arches:
                text = re.sub(rf" {word}=\S+", "", text)
        run("bash", "-euc", text, cwd=self.tree, env=self.environment)
        out = self.tree / "build/debs"
        found = {tuple(path.name[:-4].split("_")) for path in out.glob("*.deb")}
        version = self.version()
        library = "libpawl" + re.search(r"set\(PAWL_SOVERSION (\d+)\)", (self.tree / "CMakeLists.txt").read_text())[1]
        wanted = {(name, version, arch) for arch in arches for name in (library, "libpawl-dev", "pawl-tools")}
        endpoint = library.replace("libpawl", "libpawl-endpoint")
        wanted |= {(name, version, native) for name in (endpoint, "libpawl-endpoint-dev", "libpawl-postgres-dev")}
        wanted |= {("pawl-doc", version, "all")}
        expect(found == wanted, f"three packages for each architecture, those of endpoint and server, and the pages {sorted(found ^ wanted)}")
        self.shell("revision", self.tree)
        for arch in arches:
            of = [*out.glob(f"*_{version}_{arch}.deb"), *(out.glob(f"*_{version}_all.deb") if arch == native else ())]
            said = run(sys.executable, "-B", self.tree / "test/build/sbom_test.py", "--check", out / f"pawl_{version}_{arch}.spdx.json",
                       *of, check=False)
            expect(said.returncode == 0, f"the bill of materials is that of the packages of {arch} {said.stdout.strip()}")
        lintian = run("lintian", "--fail-on", "error,warning", *sorted(out.glob("*.deb")), check=False)
        expect(lintian.returncode == 0, f"lintian finds nothing {lintian.stdout if lintian.returncode else ''}")
        self.depends(out, library, native)
        self.install_packages(sorted([*out.glob(f"*_{version}_{native}.deb"), *out.glob(f"*_{version}_all.deb")]), native)
        # For test/e2e/first_day_test.py, which needs not build them again.
        kept = self.scratch.parent / "debs"
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for package in [*out.glob(f"*_{native}.deb"), *out.glob("*_all.deb")]:
            shutil.copy(package, kept)

    def version(self):
        header = (self.project / "include/pawl/version.h").read_text()
        return ".".join(re.findall(r"#define PAWL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def depends(self, out, library, native):
        """The lists of what packages need, which are written by hand, have all that dpkg-shlibdeps finds."""
        endpoint = library.replace("libpawl", "libpawl-endpoint")
        for name, files in ((library, "usr/lib/*/libpawl.so.*.*"), ("pawl-tools", "usr/bin/*"),
                            (endpoint, "usr/lib/*/libpawl_endpoint.so.*.*")):
            self.depends_of(next(out.glob(f"{name}_{self.version()}_{native}.deb")), self.scratch / "shlibdeps" / name, files)
        own = run("dpkg-deb", "-f", next(out.glob(f"{library}_{self.version()}_{native}.deb")), "Depends").stdout
        expect(not re.search("microhttpd|libpq", own), f"a program without endpoint and server brings no library for them: {own.strip()}")
        for name, other in ((endpoint, library), ("libpawl-postgres-dev", "libpawl-dev")):
            own = run("dpkg-deb", "-f", next(out.glob(f"{name}_{self.version()}_{native}.deb")), "Depends").stdout
            expect(f"{other} (= {self.version()})" in own, f"{name} goes with the library of its build: {own.strip()}")

    def depends_of(self, package, folder, files):
        (folder / "debian").mkdir(parents=True)
        (folder / "debian/control").write_text("Source: pawl\n\nPackage: pawl\nArchitecture: any\n")
        run("dpkg-deb", "-x", package, folder / "x")
        # Of the library that the endpoint stands on dpkg knows nothing here.
        libraries = [f"-l{path.parent}" for path in folder.parent.glob("*/x/usr/lib/*/libpawl.so.0")]
        needed = run("dpkg-shlibdeps", "-O", "--ignore-missing-info", *libraries, *sorted((folder / "x").glob(files)), cwd=folder).stdout
        needed = set(re.findall(r"([\w.+-]+) \(>= ([\w.+-]+)\)", needed))
        stated = dict(re.findall(r"([\w.+-]+) \(>= ([\w.+-]+)\)", run("dpkg-deb", "-f", package, "Depends").stdout))
        lacking = [name for name, least in needed if name not in stated or
                   run("dpkg", "--compare-versions", stated[name], "lt", least, check=False).returncode == 0]
        expect(needed and not lacking, f"{package.name} needs what dpkg-shlibdeps finds {lacking}")

    def install_packages(self, packages, native):
        root = self.scratch / "root"
        for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "usr", "etc"):
            (root / folder).mkdir(parents=True)
        (root / "var/lib/dpkg/status").write_text("")
        as_root = [] if os.geteuid() == 0 else ["fakeroot"]
        dpkg = [*as_root, "dpkg", f"--root={root}", "--force-depends", "--force-script-chrootless", "--log=/dev/null"]
        before = {path for path in root.glob("**/*") if "var" not in path.parts}
        run(*dpkg, "--install", *packages)
        listed = run("dpkg", f"--root={root}", "--list").stdout
        # A user stays when its package goes, as Debian has it.
        if shutil.which("systemd-sysusers"):
            expect("pawl:" in (root / "etc/passwd").read_text(), "the user of pawld.service is made")
        shutil.rmtree(root / "etc")
        (root / "etc").mkdir()
        expect(len(re.findall(r"^ii ", listed, re.M)) == len(packages), "dpkg installs the packages")
        folder = self.folder("against-packages", "cmake_minimum_required(VERSION 3.20)\nproject(hello LANGUAGES CXX)\n"
                             "find_package(Pawl 0.1 CONFIG REQUIRED COMPONENTS shared)\nadd_executable(hello main.cpp)\n"
                             "target_link_libraries(hello PRIVATE pawl::pawl)\n")
        run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={root}/usr", env=self.environment)
        run("cmake", "--build", folder / "build", env=self.environment)
        expect(str(root) in run("ldd", folder / "build/hello").stdout, "hello links the library of the package")
        self.programs_of_readme.append(folder / "build/hello")
        tools = sorted((root / "usr/bin").iterdir())
        expect(tools and all(run(tool, "--help", check=False).stdout for tool in tools), f"the tools run: {[tool.name for tool in tools]}")
        pages = {path.name.split(".")[0] for path in (root / "usr/share/man").glob("man[18]/*.gz")}
        expect({tool.name for tool in tools} <= pages, f"each has a manual page: {sorted(pages)}")
        examples = root / "usr/share/doc/pawl/examples"
        for example in ("pawld/gateway.json", "openrc/pawld", "systemd/devices.conf"):
            expect((examples / example).is_file(), f"the example {example}")
        self.run_readme_programs()
        self.programs_of_readme = []
        run(*dpkg, "--purge", *[path.name.split("_")[0] for path in packages])
        left = {path for path in root.glob("**/*") if "var" not in path.parts} - before
        expect(not left, f"purged, they leave nothing {sorted(map(str, left))[:5]}")

    # --- running

    def run_programs(self):
        environment = {**self.environment, "LD_LIBRARY_PATH": str(self.prefix / "lib")}

        def live(job):
            number, (name, command) = job
            folder = self.scratch / f"run-{number}"
            folder.mkdir()
            emulated = "qemu" in str(command[0])
            # A slow machine has warnings on standard error.
            options = {"env": self.environment if emulated else environment, "check": False, "errors": subprocess.DEVNULL}
            first = run(*command, folder / "hello.db", "die", **options)
            second = run(*command, folder / "hello.db", **options)
            good = first.returncode == 3 and first.stdout == "hello\n" and second.returncode == 0 and second.stdout == "goodbye\n"
            return name, good, "" if good else f"{first.returncode} {first.stdout} / {second.returncode} {second.stdout}"

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for name, good, text in pool.map(live, enumerate(self.programs)):
                expect(good, f"{name} says hello, dies, and goes on {text}")
        for number, (name, command) in enumerate(self.served):
            said = run(*command, self.scratch / f"served-{number}.db", env=environment, check=False, errors=subprocess.DEVNULL)
            expect(said.returncode == 0 and said.stdout == "healthy\n", f"{name} reads /health of its own endpoint {said.stdout.strip()}")
        lines, wanted = ("".join(texts) for texts in zip(("exec 2>/dev/null\n", ""), *self.on_server))
        said = run(sys.executable, "-B", HERE.parent / "store/postgres/server.py", "sh", "-euc", lines, env=self.environment, check=False)
        expect(said.stdout in (wanted, "no PostgreSQL server is installed (Debian: postgresql)\n"), f"on a server {said.stdout.split()}")
        self.run_readme_programs()

    def run_readme_programs(self):
        def live_as_printed(program):
            said = run(program, cwd=program.parent, env=self.environment, check=False, errors=subprocess.DEVNULL)
            return str(program.relative_to(self.scratch)), said.stdout == "hello\ngoodbye, two seconds later\n", said.stdout

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for name, good, text in pool.map(live_as_printed, self.programs_of_readme):
                expect(good, f"{name} runs {'' if good else text}")

    def all(self, steps):
        self.programs_of_readme = []
        self.install()
        for step in steps or ("find_package", "pkg_config", "subfolder", "fetch", "cross", "packages"):
            getattr(self, step)()
        self.run_programs()
        if not steps:
            expect(not self.page.blocks, f"every block of docs/install.md was run {sorted(self.page.blocks)}")


def main(project, scratch, *steps):
    Consumers(pathlib.Path(project).resolve(), pathlib.Path(scratch).resolve()).all(steps)
    print("\n".join(f"FAILED {what}" for what in failures))
    print(f"{checks} checks, {len(failures)} failed")
    if not failures:
        shutil.rmtree(scratch)
    return 1 if failures or not checks else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
