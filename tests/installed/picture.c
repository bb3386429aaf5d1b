// A program of somebody who installed the engine: picture DIFFUSION_MODEL LLM VAE OUTPUT makes a picture and
// writes it as PPM. Fails unless everything comes as the header promises.
#include <stable-diffusion.h>

#include <stdio.h>
#include <string.h>

enum { kWidth = 64, kHeight = 48, kSteps = 2 };

struct progress {
    uint64_t steps;
};

static bool note_progress(const char * what, uint64_t done, uint64_t total, void * data) {
    struct progress * progress = data;
    (void)total;
    if (strcmp(what, "sampling") == 0) progress->steps = done;
    return true;
}

static bool write_ppm(const char * path, const sd_image_t * image) {
    const size_t bytes = (size_t)image->width * image->height * image->channel;
    FILE * file = fopen(path, "wb");
    if (file == NULL) return false;
    fprintf(file, "P6\n%u %u\n255\n", (unsigned)image->width, (unsigned)image->height);
    const bool written = fwrite(image->data, 1, bytes, file) == bytes;
    return fclose(file) == 0 && written;
}

static bool is_picture(const sd_image_t * image) {
    if (image->width != kWidth || image->height != kHeight || image->channel != 3) return false;
    for (size_t i = 1; i < (size_t)kWidth * kHeight * 3; ++i) {
        if (image->data[i] != image->data[0]) return true;
    }
    return false; // one color
}

static int generate(sd_ctx_t * ctx, const char * output) {
    struct progress progress = {0};
    sd_gen_callbacks_t callbacks = {0};
    callbacks.progress = note_progress;
    callbacks.data = &progress;
    sd_img_gen_params_t params;
    sd_img_gen_params_init(&params);
    params.prompt = "a cat";
    params.width = kWidth;
    params.height = kHeight;
    params.seed = 7;
    params.sample_params.sample_steps = kSteps;
    params.sample_params.txt_cfg = 1.0f;
    sd_image_t * images = NULL;
    int count = 0;
    if (!generate_image(ctx, &params, &callbacks, &images, &count)) {
        fprintf(stderr, "%s\n", sd_last_error());
        return 1;
    }
    const bool good =
        count == 1 && progress.steps == kSteps && is_picture(images) && write_ppm(output, images);
    free_sd_images(images, count);
    return good ? 0 : 1;
}

// What is open is not written over, whoever asks for it.
static bool protects(sd_ctx_t * ctx, const char * model) {
    sd_img_gen_params_t params;
    sd_img_gen_params_init(&params);
    params.dump_tensors = model;
    if (generate_image(ctx, &params, NULL, NULL, NULL)) return false;
    return strcmp(sd_last_error_code(), "E_ARGUMENT") == 0 && sd_ctx_reads_file(ctx, model) &&
           !sd_ctx_reads_file(ctx, "none");
}

int main(int argc, char ** argv) {
    if (argc != 5) return 1;
    sd_ctx_params_t params;
    sd_ctx_params_init(&params);
    if (new_sd_ctx(&params) != NULL || sd_last_error()[0] == '\0') return 1; // no files are given
    params.files.diffusion_model = argv[1];
    params.files.llm = argv[2];
    params.files.vae = argv[3];
    sd_ctx_t * ctx = new_sd_ctx(&params);
    if (ctx == NULL) {
        fprintf(stderr, "%s\n", sd_last_error());
        return 1;
    }
    const int status = protects(ctx, argv[1]) ? generate(ctx, argv[4]) : 1;
    free_sd_ctx(ctx);
    return status;
}
