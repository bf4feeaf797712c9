"""conan create packaging/conan, of the tree that it stands in."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, load

CJSON = {
    "url": "https://github.com/DaveGamble/cJSON/archive/refs/tags/v1.7.18.tar.gz",
    "sha256": "3aa806844a03442c00769b83e99970be70fbef03735ff898f4811dd03b9f5ee5",
}
FOLDERS = ("include", "src", "port", "toolchains", "packaging", "docs")
FILES = ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md")


class Pawl(ConanFile):
    name = "pawl"
    description = "Durable execution for small machines"
    license = "MIT"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "tools": [True, False]}
    default_options = {"shared": False, "tools": False}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "../../include/pawl/version.h"))
        self.version = ".".join(re.findall(r"#define PAWL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for folder in FOLDERS:
            copy(self, f"{folder}/*", root, self.export_sources_folder)
        for file in FILES:
            copy(self, file, root, self.export_sources_folder)

    def requirements(self):
        self.requires("sqlite3/[>=3.36 <4]", transitive_libs=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        get(self, **CJSON, destination=os.path.join(self.build_folder, "cjson"), strip_root=True)
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "PAWL_BUILD_TESTS": False, "PAWL_BUILD_EXAMPLES": False, "PAWL_BUILD_TOOLS": bool(self.options.tools),
            "PAWL_BUILD_SHARED": bool(self.options.shared), "PAWL_FETCH_CJSON": False, "PAWL_ENDPOINT": False,
            "PAWL_CJSON_DIR": os.path.join(self.build_folder, "cjson"),
        })
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "Pawl")
        self.cpp_info.set_property("cmake_target_name", "pawl::pawl")
        self.cpp_info.set_property("pkg_config_name", "pawl")
        self.cpp_info.libs = ["pawl"]
        if self.settings.arch in ("armv7", "armv7hf", "x86"):
            self.cpp_info.defines = ["_FILE_OFFSET_BITS=64", "_TIME_BITS=64"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "dl", "m"]
