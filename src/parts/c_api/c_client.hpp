// pawl_client: a Client, the memory it lies in, and the parts that a C program needs beside it.
//
// Purpose: shared by the files of the calls. Ownership: it owns all its parts. Thread rule: the
// same as in pawl_client.h.
#ifndef PAWL_PARTS_C_API_C_CLIENT_HPP
#define PAWL_PARTS_C_API_C_CLIENT_HPP

#include "parts/c_api/c_host.hpp"
#include "parts/c_api/c_layouts.hpp"
#include "parts/host/heap_block.hpp"
#include "pawl/client.hpp"
#include "pawl/visit.hpp"

// Members end in reverse order: the client first, the memory it lies in last.
struct pawl_client {
  ~pawl_client() {
    client.close();
    if (process.stop() == pawl::Status::kBusy) for_sqlite.leave();
    if (host != nullptr) host->clients.fetch_sub(1, std::memory_order_release);
  }
  pawl::Status open(const pawl::ClientOptions& options, pawl_host* of, pawl::Diagnostic& why);
  // Returns the status, and keeps its text for pawl_client_error().
  pawl_status keep(pawl::Status status);
  // The same for a call that was refused before it came to the client.
  pawl_status refuse(pawl::Status status);

  pawl::posix::SystemPort port;
  pawl_host* host = nullptr;  // null: the client has a process of its own
  pawl::HeapBlock for_sqlite;
  pawl::HeapBlock for_client;
  pawl::Process process;
  pawl::ServerDatabase database;
  pawl::Client client;
  pawl::c_api::LastError error;
};

namespace pawl::c_api {

// Takes options for a call of a client; *refused is the answer if that is false.
bool take_for(pawl_client* client, const Layout& layout, const void* given, void* out,
              pawl_status* refused);
template <typename C>
bool take_for(pawl_client* client, const C* given, typename StructOf<C>::Cpp* out,
              pawl_status* refused) {
  static_assert(sizeof(C) <= kOptionsBytesMost);
  return take_for(client, StructOf<C>::kLayout, given, out, refused);
}

// ---- calls of one form ----

pawl_status call_with(pawl_client* client, Status (Client::*call)(std::string_view),
                      const char* text);
pawl_status call_with(pawl_client* client,
                      Status (Client::*call)(std::string_view, std::string_view), const char* text,
                      const char* second);
// Makes a call that goes over a page.
pawl_status over_page(pawl_client* client, pawl_page* page, const CallOf<Status(Page*)>& call);

// A visitor that shows each row to a C function.
class ShownRows final : public InstanceVisitor,
                        public ExecutionVisitor,
                        public ActivityVisitor,
                        public CauseVisitor,
                        public WorkVisitor,
                        public MessageVisitor,
                        public HistoryVisitor,
                        public WorkerVisitor,
                        public SessionVisitor {
 public:
  // The function takes a void* and a pointer to the row's struct of C.
  using Visit = void (*)();
  ShownRows(Visit visit, void* user);
  void on_instance(const InstanceInfo& row) noexcept override;
  void on_execution(const ExecutionInfo& row) noexcept override;
  void on_activity(const ActivityInfo& row) noexcept override;
  void on_cause(const Cause& row) noexcept override;
  void on_work(const WorkInfo& row) noexcept override;
  void on_message(const MessageInfo& row) noexcept override;
  void on_event(const HistoryEvent& row) noexcept override;
  void on_worker(const WorkerInfo& row) noexcept override;
  void on_session(const SessionInfo& row) noexcept override;

 private:
  template <typename C>
  void show(const typename StructOf<C>::Cpp& row);
  static void fill(const Layout& layout, const void* row, void* shown);
  Visit visit_;
  void* user_;
};
template <typename C>
ShownRows::Visit visit_of(void (*visit)(void*, const C*)) {
  return reinterpret_cast<ShownRows::Visit>(visit);
}

// Makes a call that lists a page.
pawl_status list(pawl_client* client, pawl_page* page, ShownRows::Visit visit, void* user,
                 const CallOf<Status(Page*, ShownRows&)>& call);
// Makes a call that lists a page, or all, of the rows of one instance.
pawl_status list_of(pawl_client* client, const char* id, pawl_page* page, ShownRows::Visit visit,
                    void* user, Status (*call)(Client&, std::string_view, Page*, ShownRows&));
pawl_status list_of(pawl_client* client, const char* id, ShownRows::Visit visit, void* user,
                    Status (*call)(Client&, std::string_view, ShownRows&));

// Makes a call that reads one struct.
template <typename C, typename Call>
pawl_status read_one(pawl_client* client, C* out, const Call& call) {
  if (client == nullptr || !has_room(StructOf<C>::kLayout, out)) return PAWL_INVALID_ARGUMENT;
  typename StructOf<C>::Cpp read;
  const Status status = call(&read);
  if (status == Status::kOk) from_cpp(StructOf<C>::kLayout, &read, out);
  return client->keep(status);
}

}  // namespace pawl::c_api

#endif  // PAWL_PARTS_C_API_C_CLIENT_HPP
