// How long threads that wait for others keep a processor busy.
#pragma once

namespace cli {

// Called before anything else. GNU's OpenMP lets a thread spin for some milliseconds before it sleeps, which
// on a machine that has other work, too, keeps away the very thread it waits for: twelve small pictures took
// 31 s instead of 2.5. Some microseconds cost an idle machine nothing. The library reads its setting before
// main, so the program starts itself again with GOMP_SPINCOUNT, unless that or OMP_WAIT_POLICY is set
// already; where that fails, it goes on as it is.
void limit_spinning(char ** arguments);

} // namespace cli
