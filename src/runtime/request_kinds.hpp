// The kinds of requests: one for each call of the Runtime that is piggybacked.
//
// Ownership: constants. Thread rule: the loop's thread.
#ifndef PAWL_RUNTIME_REQUEST_KINDS_HPP
#define PAWL_RUNTIME_REQUEST_KINDS_HPP

#include "runtime/passed_calls.hpp"
#include "runtime/requests.hpp"

namespace pawl::request_kinds {

extern const Request::Kind kStart;
extern const Request::Kind kStartLimited;  // with a time limit
extern const Request::Kind kStartOfUsed;   // of an id that may be in use
extern const Request::Kind kRaise;
extern const Request::Kind kOffer;
extern const Request::Kind kEnqueue;
// A call that a Client has passed, and the steps by which the loop takes it. They are weak, so that
// a program with a Client alone links neither, nor the loop, and passes nothing. They stand here
// since each program with a Runtime that makes calls has this source.
[[gnu::weak]] extern const Request::Kind kCall;
[[gnu::weak]] extern const internal::PassedCall::Steps kPassed;
extern const Request::Kind kComplete;
extern const Request::Kind kFail;
extern const Request::Kind kFailForGood;
extern const Request::Kind kHeartbeat;
extern const Request::Kind kCancel;
extern const Request::Kind kTerminate;
extern const Request::Kind kSuspend;
extern const Request::Kind kResume;
extern const Request::Kind kChangeTimeLimit;
extern const Request::Kind kDelete;
extern const Request::Kind kPrune;
extern const Request::Kind kDeclare;
extern const Request::Kind kWithdraw;

}  // namespace pawl::request_kinds

#endif  // PAWL_RUNTIME_REQUEST_KINDS_HPP
