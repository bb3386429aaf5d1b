#include "convert/convert.h"

#include "api/boundary.h"
#include "api/files.h"
#include "base/read_files.h"

extern "C" void sd_convert_params_init(sd_convert_params_t * params) { *params = {}; }

extern "C" bool sd_convert(const sd_convert_params_t * params, sd_work_cb_t progress, void * data) {
    return sd::at_boundary(false, [&] {
        if (params == nullptr) throw sd::Error("sd_convert: no parameters");
        sd::ConvertRequest request;
        request.output = sd::text_of(params->output);
        if (request.output.empty()) throw sd::Error("sd_convert: no output is given");
        request.type = sd::text_of(params->wtype);
        request.rules = sd::text_of(params->tensor_type_rules);
        request.quants.assume_int8_group = params->assume_int8_group;
        request.threads = params->n_threads;
        if (progress != nullptr)
            request.progress = [&](const char * what, uint64_t done, uint64_t total) {
                return progress(what, done, total, data);
            };
        sd::ReadFiles files;
        const sd::ReadFiles::Recording recording(files);
        const sd::Checkpoint checkpoint = sd::open_model(sd::paths_of(params->files));
        files.refuse(request.output);
        sd::convert(checkpoint, request);
        return true;
    });
}
