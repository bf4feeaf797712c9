// Everything a program that embeds Pawl includes, without a port.
#ifndef PAWL_PAWL_HPP
#define PAWL_PAWL_HPP

#include "pawl/activity.hpp"
#include "pawl/activity_options.hpp"
#include "pawl/client.hpp"
#include "pawl/error.hpp"
#include "pawl/export.hpp"
#include "pawl/json.hpp"
#include "pawl/kv.hpp"
#include "pawl/log.hpp"
#include "pawl/management.hpp"
#include "pawl/name.hpp"
#include "pawl/name_stats.hpp"
#include "pawl/options.hpp"
#include "pawl/orchestration.hpp"
#include "pawl/orchestration_code.hpp"
#include "pawl/port.hpp"
#include "pawl/printable.hpp"
#include "pawl/process.hpp"
#include "pawl/registry.hpp"
#include "pawl/replay_check.hpp"
#include "pawl/runtime.hpp"
#include "pawl/session_cache.hpp"
#include "pawl/session_listener.hpp"
#include "pawl/session_recovery.hpp"
#include "pawl/session_stats.hpp"
#include "pawl/status.hpp"
#include "pawl/typed.hpp"
#include "pawl/typed_code.hpp"

#endif  // PAWL_PAWL_HPP
