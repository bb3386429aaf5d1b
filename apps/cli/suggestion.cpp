#include "apps/cli/suggestion.h"

#include <algorithm>

namespace cli {
namespace {

// Nobody means such a long word; the time grows with its square.
constexpr size_t kLongest = 64;

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    return text;
}

// Edits that turn a into b, a swap of neighbours being one: row by row, with the two rows above.
size_t distance(const std::string & a, const std::string & b) {
    std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const bool same = a[i - 1] == b[j - 1];
            row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, above);
        std::swap(above, row);
    }
    return above[b.size()];
}

} // namespace

std::string nearest(const std::string & word, const std::vector<std::string> & known) {
    if (word.size() > kLongest) return {};
    const std::string given = lower(word);
    std::string best;
    // About one letter in four may be wrong, and never all of them.
    size_t least = std::min(word.size(), 1 + word.size() / 4);
    for (const std::string & candidate : known) {
        const size_t d = distance(given, lower(candidate));
        // The first of equally near ones, as the list has them.
        if (d >= least + (best.empty() ? 1 : 0) || d >= candidate.size()) continue;
        least = d;
        best = candidate;
    }
    return best;
}

std::string did_you_mean(const std::string & word, const std::vector<std::string> & known) {
    const std::string meant = nearest(word, known);
    return meant.empty() ? meant : "; did you mean " + meant + "?";
}

} // namespace cli
