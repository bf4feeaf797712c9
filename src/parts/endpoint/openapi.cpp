// The description of all routes, as OpenAPI has it. openapi.json beside this is a copy, for people.
#include <cstdio>

#include "parts/endpoint/routes.hpp"
#include "parts/fields/json_fields.hpp"
#include "pawl/name.hpp"

namespace pawl::http {
namespace {

using fields::Field;
using fields::FieldKind;
using fields::Words;

constexpr char kErrorResponse[] = "#/components/responses/Error";

void put_reference(std::string_view name, JsonOut& out) {
  char text[96];
  std::snprintf(text, sizeof text, "#/components/schemas/%.*s", PAWL_TEXT(name));
  out.begin_object().text("$ref", text).end_object();
}

void put_words(const Words& words, JsonOut& out) {
  out.begin_list("enum");
  for (std::size_t i = 0; i < words.count; ++i)
    out.text(words.name(i));
  out.end_list();
}

JsonOut& begin_integer(JsonOut& out) {
  return out.begin_object().text("type", "integer").text("format", "int64");
}

void put_flag(const char* help, JsonOut& out) {
  out.begin_object().text("type", "boolean").text("description", help).end_object();
}

// ---- schemas ----

// Whether it is another member when it is no UTF-8.
bool is_free_text(FieldKind kind) {
  return kind == FieldKind::kText || kind == FieldKind::kCallText;
}

bool is_required(const Field& field) {
  return field.shown == fields::Shown::kAlways && !is_free_text(field.kind);
}

void put_text(const Field& field, JsonOut& out) {
  const Words words = field.words.count > 0 ? field.words : words_of(field.kind);
  out.begin_object().text("type", "string");
  if (words.count > 0) put_words(words, out);
  out.text("description", field.help).end_object();
}

void put_property(const Field& field, JsonOut& out) {
  out.key(field.name);
  switch (field.kind) {
    case FieldKind::kInteger:
    case FieldKind::kBytes:
    case FieldKind::kCount:
    case FieldKind::kCount32:
    case FieldKind::kMs: begin_integer(out).text("description", field.help).end_object(); return;
    case FieldKind::kFlag: return put_flag(field.help, out);
    case FieldKind::kLines:
      out.begin_object().text("type", "array").text("description", field.help);
      out.begin_object("items").text("type", "string").end_object().end_object();
      return;
    case FieldKind::kDurations: return put_reference("Durations", out);
    case FieldKind::kHistoryLengths:
    case FieldKind::kSessionLasted:
    case FieldKind::kSessionActivities: return put_reference("Histogram", out);
    default: break;
  }
  put_text(field, out);
  if (!is_free_text(field.kind)) return;
  char name[64];
  char help[96];
  std::snprintf(name, sizeof name, "%s_base64", field.name);
  std::snprintf(help, sizeof help, "In the place of `%s` when that is no UTF-8.", field.name);
  out.begin_object(name).text("type", "string").text("description", help).end_object();
}

void put_part(const Part& part, JsonOut& out) {
  out.key(part.name);
  if (part.form == Part::Form::kObject) return put_reference(part.schema->name, out);
  out.begin_object().text("type", "array").key("items");
  put_reference(part.schema->name, out);
  out.end_object();
  if (part.form == Part::Form::kList) return;
  char name[64];
  std::snprintf(name, sizeof name, "%s_more", part.name);
  put_flag("There are more.", out.key(name));
}

void put_required(const AnswerSchema& schema, JsonOut& out) {
  out.begin_list("required");
  for (const FieldList& list : schema.lists)
    for (const Field* one = list.first; one != list.first + list.count; ++one)
      if (is_required(*one)) out.text(one->name);
  for (const Part* one = schema.parts; one != schema.parts + schema.part_count; ++one) {
    out.text(one->name);
    if (one->form != Part::Form::kCutList) continue;
    char name[64];
    std::snprintf(name, sizeof name, "%s_more", one->name);
    out.text(name);
  }
  out.end_list();
}

void put_schema(const AnswerSchema& schema, JsonOut& out) {
  out.begin_object(schema.name).text("type", "object").text("description", schema.help);
  put_required(schema, out);
  out.begin_object("properties");
  for (const FieldList& list : schema.lists)
    for (const Field* one = list.first; one != list.first + list.count; ++one)
      if (one->shown != fields::Shown::kNever) put_property(*one, out);
  for (const Part* one = schema.parts; one != schema.parts + schema.part_count; ++one)
    put_part(*one, out);
  out.end_object().flag("additionalProperties", false).end_object();
}

void put_histogram(const char* name, const char* help, const fields::HistogramNames& names,
                   JsonOut& out) {
  out.begin_object(name).text("type", "object").text("description", help).begin_list("required");
  for (const char* member : {names.up_to, names.counts, names.total, names.most})
    out.text(member);
  out.end_list().begin_object("properties");
  for (const char* member : {names.up_to, names.counts}) {
    out.begin_object(member).text("type", "array").key("items");
    begin_integer(out).end_object().end_object();
  }
  for (const char* member : {names.total, names.most})
    begin_integer(out.key(member)).end_object();
  out.end_object().flag("additionalProperties", false).end_object();
}

void put_components(JsonOut& out) {
  out.begin_object("components").begin_object("securitySchemes").begin_object("bearer");
  out.text("type", "http").text("scheme", "bearer");
  out.text("description", "On TCP; a Unix socket needs none.").end_object().end_object();
  out.begin_object("responses").begin_object("Error").text("description", "Anything else.");
  out.begin_object("content").begin_object("application/json").key("schema");
  put_reference(schema::kRefusal.name, out);
  out.end_object().end_object().end_object().end_object().begin_object("schemas");
  for (std::size_t i = 0; i < kSchemaCount; ++i)
    put_schema(*kSchemas[i], out);
  put_histogram("Durations", "How long things took. The last count has no bound.",
                fields::kDurationsNames, out);
  put_histogram("Histogram", "How many things had which number. The last count has no bound.",
                fields::kHistogramNames, out);
  out.end_object().end_object();
}

// ---- routes ----

void put_value(const Parameter& parameter, JsonOut& out) {
  out.begin_object("schema");
  const bool has_default = parameter.absent.has_value();
  switch (parameter.form) {
    case Parameter::Form::kText:
      out.text("type", "string");
      if (parameter.most != INT64_MAX) out.number("maxLength", parameter.most);
      break;
    case Parameter::Form::kNumber:
      out.text("type", "integer").text("format", "int64").number("minimum", parameter.least);
      if (parameter.most != INT64_MAX) out.number("maximum", parameter.most);
      if (has_default) out.number("default", *parameter.absent);
      break;
    case Parameter::Form::kFlag:
      out.text("type", "boolean").flag("default", *parameter.absent != 0);
      break;
    case Parameter::Form::kWord:
      out.text("type", "string");
      put_words(parameter.words, out);
      if (has_default)
        out.text("default", parameter.words.name(static_cast<std::size_t>(*parameter.absent)));
      break;
  }
  out.end_object();
}

JsonOut& begin_parameter(std::string_view name, const char* in, bool required, const char* help,
                         JsonOut& out) {
  out.begin_object().text("name", name).text("in", in);
  if (required) out.flag("required", true);
  return out.text("description", help);
}

void put_parameters(const Route& route, JsonOut& out) {
  std::string_view path = route.path;
  const bool is_read = route.method == Method::kGet;
  if (is_read && route.parameter_count == 0 && path.find('{') == std::string_view::npos) return;
  out.begin_list("parameters");
  for (std::size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{')) {
    path.remove_prefix(at + 1);
    begin_parameter(path.substr(0, path.find('}')), "path", true, "Percent-encoded.", out)
        .begin_object("schema")
        .text("type", "string")
        .number("maxLength", std::int64_t{kNameBytesMax})
        .end_object()
        .end_object();
  }
  for (const Parameter* one = route.parameters; one != route.parameters + route.parameter_count;
       ++one) {
    begin_parameter(one->name, "query", one->required, one->help, out);
    put_value(*one, out);
    out.end_object();
  }
  if (!is_read)
    begin_parameter("X-Pawl-Request", "header", true,
                    "Any value: no page of another site can send it.", out)
        .begin_object("schema")
        .text("type", "string")
        .end_object()
        .end_object();
  out.end_list();
}

void put_answer(int status, const char* help, const Route& route, JsonOut& out) {
  char code[8];
  std::snprintf(code, sizeof code, "%d", status);
  out.begin_object(code).text("description", help).begin_object("content");
  out.begin_object(route.content).key("schema");
  if (route.schema != nullptr)
    put_reference(route.schema->name, out);
  else
    out.begin_object().text("type", route.is_json() ? "object" : "string").end_object();
  out.end_object().end_object().end_object();
}

void put_error(std::string_view code, JsonOut& out) {
  out.begin_object(code).text("$ref", kErrorResponse).end_object();
}

void put_answers(const Route& route, JsonOut& out) {
  out.begin_object("responses");
  put_answer(route.success, route.success == 201 ? "It was created." : "Success.", route, out);
  if (route.unavailable != nullptr) put_answer(503, route.unavailable, route, out);
  std::string_view errors = route.errors;
  while (!errors.empty()) {
    const std::size_t end = errors.find(' ');
    put_error(errors.substr(0, end), out);
    errors.remove_prefix(end == std::string_view::npos ? errors.size() : end + 1);
  }
  put_error("default", out);
  out.end_object();
}

void put_route(const Route& route, JsonOut& out) {
  static constexpr const char* kMethods[] = {"get", "post", "delete"};
  out.begin_object(kMethods[static_cast<std::size_t>(route.method)]);
  out.text("operationId", route.id).text("summary", route.summary);
  put_parameters(route, out);
  if (route.body != nullptr) {
    out.begin_object("requestBody").text("description", route.body).begin_object("content");
    out.begin_object("application/octet-stream").begin_object("schema").text("type", "string");
    out.text("format", "binary").end_object().end_object().end_object().end_object();
  }
  put_answers(route, out);
  if (route.access != Access::kToken) out.begin_list("security").end_list();
  out.end_object();
}

}  // namespace

void write_openapi(JsonOut& out) {
  out.begin_object().text("openapi", "3.0.3").begin_object("info").text("title", "Pawl endpoint");
  out.text("version", "1.0.0");
  out.text("description", "docs/endpoint.md says what holds for all routes.").end_object();
  out.begin_list("security").begin_object().begin_list("bearer").end_list().end_object().end_list();
  out.begin_object("paths");
  std::string_view path;  // whose routes are being written; they stand in a sequence
  for (std::size_t i = 0; i < kRouteCount; ++i) {
    if (path != kRoutes[i].path) {
      if (i > 0) out.end_object();
      path = kRoutes[i].path;
      out.begin_object(path);
    }
    put_route(kRoutes[i], out);
  }
  out.end_object().end_object();
  put_components(out);
  out.end_object();
}

}  // namespace pawl::http
