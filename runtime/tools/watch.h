// An observer of a scheduler's executions for as long as this lives.
#pragma once

#include "runtime/sched/sched.h"

namespace ggml::tools {

class Watch {
  public:
    Watch(sched::Scheduler & s, sched::StepObserver & observer) : s_(s) { s_.observer = &observer; }
    ~Watch() { s_.observer = nullptr; }
    Watch(const Watch &) = delete;
    Watch & operator=(const Watch &) = delete;

  private:
    sched::Scheduler & s_;
};

} // namespace ggml::tools
