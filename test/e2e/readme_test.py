#!/usr/bin/env python3
"""The README, held to its words.

  readme_test.py SOURCE_DIR BUILD_DIR hello|compact|commands|embedding|names [EMULATOR ARGUMENT...]

hello: the printed program, run, killed and run again; compact: likewise with the compact SQLite. commands: the blocks of
commands marked `run`. embedding: the printed CMake lines in a project of their own. names: every file, preset, target and
option that is named exists.
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

SOURCE, BUILD, PART = sys.argv[1:4]
SCRATCH = os.path.join(BUILD, "test", "e2e", "readme.scratch", PART)
PROGRAM = "test/compact/hello_compact" if PART == "compact" else "examples/hello/hello"
HELLO = [*sys.argv[4:], os.path.join(BUILD, PROGRAM)]
with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as readme:
    README = readme.read()

# (the comment before it or None, language, text) of every fenced block.
BLOCKS = re.findall(r"(?:<!-- (.*?) -->\n)?```(\w+)\n(.*?)```", README, re.DOTALL)


def expect(condition, text):
    if not condition:
        print(f"FAILED: {text}")
        sys.exit(1)


def marked(word):
    found = [block for block in BLOCKS if block[0].startswith(word)]
    expect(found, f"no block marked {word}")
    return found


def hello():
    _, language, program = marked("hello")[0]
    built = os.path.join(BUILD, "examples", "hello", "main.cpp")
    with open(built, encoding="utf-8") as source:
        expect(language == "cpp" and source.read() == program, f"{built} is not the README's program")
    lines = len(program.splitlines())
    expect(lines <= 35, f"{lines} lines do not fit one screen")
    main = program[program.index("int main()"):].splitlines()
    expect(len(main) <= 10, f"main() has {len(main)} lines")

    whole = "hello\ngoodbye, two seconds later\n"
    began = time.monotonic()
    run = subprocess.run(HELLO, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    took = time.monotonic() - began
    expect(run.returncode == 0 and run.stdout == whole, f"status {run.returncode}, output {run.stdout!r}")
    expect(took >= 2, f"two seconds took {took:.2f} s")
    again = subprocess.run(HELLO, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    expect(again.returncode == 0 and again.stdout == "", f"done already, and yet {again.stdout!r}")

    for name in os.listdir("."):
        shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)
    first = subprocess.Popen(HELLO, stdout=subprocess.PIPE, text=True)
    expect(first.stdout.readline() == "hello\n", "no hello")
    time.sleep(0.7)
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = subprocess.run(HELLO, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    expect(second.returncode == 0 and second.stdout == "goodbye, two seconds later\n",
           f"after a kill: status {second.returncode}, output {second.stdout!r}")


def commands():
    """In an empty folder in which build/examples is the build at hand."""
    os.mkdir("build")
    os.symlink(BUILD, "build/examples")
    for _, language, text in marked("run"):
        expect(language == "sh", f"a block of {language} is marked run")
        run = subprocess.run(["sh", "-e", "-c", text], stdout=subprocess.PIPE, text=True, timeout=90, check=False)
        print(text, run.stdout, sep="\n")
        expect(run.returncode == 0, f"status {run.returncode}")
    expect('|{"name":"greet"' in run.stdout and "|goodbye" in run.stdout, "the history does not show")


def embedding():
    _, language, text = marked("embed")[0]
    expect(language == "cmake", "not CMake")
    os.symlink(SOURCE, "pawl")
    with open("CMakeLists.txt", "w", encoding="utf-8") as project:
        project.write("cmake_minimum_required(VERSION 3.20)\nproject(embedding LANGUAGES C CXX)\n" + text)
    with open("main.cpp", "w", encoding="utf-8") as program:
        program.write(marked("hello")[0][2])
    cache = {}
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as lines:
        for line in lines:
            name, _, value = line.rstrip("\n").partition("=")
            cache[name.partition(":")[0]] = value
    run = subprocess.run(["cmake", "-S", ".", "-B", "out", "-G", "Ninja",
                          f"-DCMAKE_C_COMPILER={cache['CMAKE_C_COMPILER']}",
                          f"-DCMAKE_CXX_COMPILER={cache['CMAKE_CXX_COMPILER']}",
                          f"-DPAWL_CJSON_DIR={cache['PAWL_CJSON_DIR']}",
                          f"-DPAWL_LIBMD_DIR={cache['PAWL_LIBMD_DIR']}"], check=False)
    expect(run.returncode == 0, "does not configure")
    # Compiled, and not linked: that would build all of Pawl once more, as test/consumers does.
    objects = subprocess.run(["ninja", "-C", "out", "CMakeFiles/hello.dir/main.cpp.o"], check=False)
    expect(objects.returncode == 0, "does not compile")


def names():
    with open(os.path.join(SOURCE, "CMakePresets.json"), encoding="utf-8") as file:
        presets = json.load(file)
    known = {kind: {preset["name"] for preset in presets[kind + "Presets"]} for kind in ("configure", "build", "test")}
    cmake_text = ""
    for pattern in ("CMakeLists.txt", "cmake/*.cmake", "toolchains/*.cmake", "test/CMakeLists.txt"):
        for path in glob.glob(os.path.join(SOURCE, pattern)):
            with open(path, encoding="utf-8") as file:
                cmake_text += file.read()

    wrong = []
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        if not os.path.exists(os.path.join(SOURCE, target)):
            wrong.append(f"link to {target}")
    for path in re.findall(r"`((?:include|src|examples|docs|test|port)/[\w/.]*)`", README):
        if not os.path.exists(os.path.join(SOURCE, path)):
            wrong.append(f"file {path}")
    for comment, language, text in BLOCKS:
        if language != "sh" or comment.startswith("run"):
            continue
        for line in text.splitlines():
            words = line.partition("#")[0].split()
            if not words:
                continue
            if words[0].startswith("./"):
                if not os.access(os.path.join(SOURCE, words[0]), os.X_OK):
                    wrong.append(f"command {words[0]}")
            elif shutil.which(words[0]) is None:
                wrong.append(f"command {words[0]}")
            if "--preset" in words:
                kind = "test" if words[0] == "ctest" else "build" if "--build" in words else "configure"
                preset = words[words.index("--preset") + 1]
                if preset not in known[kind]:
                    wrong.append(f"{kind} preset {preset}")
            for option in re.findall(r"-D(PAWL_\w+)=", line):
                if not re.search(rf"(?:option|set)\({option}\b", cmake_text):
                    wrong.append(f"option {option}")
    headers = ""
    for path in glob.glob(os.path.join(SOURCE, "include", "pawl", "*.hpp")):
        with open(path, encoding="utf-8") as file:
            headers += file.read()
    # `Runtime::run()`, `tick()`, `kOk`, `attempt`: what looks like a name of the API is one.
    for name in re.findall(r"`(?:\w+::)*(\w+)(?:\(\))?`", README):
        if re.search(r"^k[A-Z]|^[A-Z]\w*[a-z]$", name) or f"`{name}()`" in README or f"::{name}()`" in README:
            if not re.search(rf"\b{name}\b", headers):
                wrong.append(f"name {name}")
    expect(not wrong, "the README names what is not there: " + ", ".join(wrong))


shutil.rmtree(SCRATCH, ignore_errors=True)
os.makedirs(SCRATCH)
os.chdir(SCRATCH)
{"hello": hello, "compact": hello, "commands": commands, "embedding": embedding, "names": names}[PART]()
print("passed")
