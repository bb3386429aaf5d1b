// What is decided about layers before the file is planned: formats, where "auto" leaves them open, and
// levels.
#pragma once

#include "quantize/journal.h"
#include "quantize/quantize.h"

#include <memory>
#include <optional>
#include <string>

namespace sd {

// OUTPUT.part.measured: errors that are measured, so that measuring goes on after an interrupt, too.
class MeasuredNotes {
  public:
    explicit MeasuredNotes(const std::string & output) : path_(output + ".part.measured") {}
    ~MeasuredNotes(); // the file goes, unless it is kept
    MeasuredNotes(const MeasuredNotes &) = delete;
    MeasuredNotes & operator=(const MeasuredNotes &) = delete;

    Journal & open(const JournalIdentity & identity);
    void keep();

    // "" or the name of the file that stays.
    std::string kept() const { return kept_ ? path_ : ""; }

  private:
    std::string path_;
    std::unique_ptr<Journal> journal_;
    bool kept_ = false;
};

// An Error for a request whose format and budget do not belong together.
void check_budget(const QuantizeRequest & request);

// Measures what is open, and decides it; the choice, where formats were open. An Error (E_CANCELLED) says
// what is kept.
std::optional<Choice> decide_formats(const Checkpoint & checkpoint, const QuantModules & quants,
                                     const QuantizeRequest & request, Selection & selection,
                                     MeasuredNotes & notes);

} // namespace sd
