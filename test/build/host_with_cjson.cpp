// Goal: the calls and hooks of an application with its own cJSON reach that copy, although the copy
// inside Pawl is in the same link.
// Method: this program looks where its calls end; cjson_symbols.py looks at the names of symbols.
#include <cjson/cJSON.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int allocations = 0;

void* counted_malloc(size_t size) {
  ++allocations;
  return std::malloc(size);
}

const char* object_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fname : "(nowhere)";
}

}  // namespace

int main() {
  cJSON_Hooks hooks{counted_malloc, std::free};
  cJSON_InitHooks(&hooks);
  cJSON* tree = cJSON_Parse(R"({"answer": [4, 2]})");
  const bool parsed = cJSON_GetArraySize(cJSON_GetObjectItem(tree, "answer")) == 2;
  cJSON_Delete(tree);

  const char* home = object_of(reinterpret_cast<const void*>(&cJSON_Parse));
  std::printf("parsed: %d, allocations through our hooks: %d, cJSON_Parse is in %s\n", parsed,
              allocations, home);
  return parsed && allocations > 0 && std::strstr(home, "libcjson.so") != nullptr ? 0 : 1;
}
