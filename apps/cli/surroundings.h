// What the program was started with: open streams, and signals about its outputs.
#pragma once

namespace cli {

// Called first. Closed standard streams are opened, so that no file of the program gets their number and
// messages with it; writing to such an output still fails. Writing to a pipe that nobody reads any more, or
// beyond the limit of file sizes, is an error where it happens and not the program's end.
void settle_surroundings();

} // namespace cli
