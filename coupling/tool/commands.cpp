// SPDX-License-Identifier: Apache-2.0
#include "coupling/tool/commands.hpp"

#include <sstream>

namespace surrogate::tool {

namespace {

const char* const footer =
    "surrogate help COMMAND is surrogate COMMAND --help.\n"
    "Exit status: 0 done; 1 ran, and the result is not right; 2 bad usage or bad file, or the\n"
    "output could not be written; 3 see check; 4 see train.\n"
    "Example: surrogate info share/models/darcy_flow.safetensors";

const char* const info_footer =
    "Exit status: 0 printed; 2 bad usage or bad file.\n"
    "Example: surrogate info share/models/darcy_flow.safetensors";

const char* const check_footer =
    "Exit status: 0 passed; 1 ran and did not pass; 2 bad usage or bad file; 3 no check case in "
    "the\n"
    "file, or family not built or not allowed (--allow-code).\n"
    "Example: mpirun -n 4 surrogate check model.safetensors --partition scattered --json "
    "report.json";

const char* const predict_footer =
    "Exit status: 0 written; 1 a value is not finite, or --strict and inputs outside; 2 bad usage "
    "or\n"
    "bad file, or the output exists.\n"
    "Example: mpirun -n 4 surrogate predict model.safetensors --mesh run.pvd --out predicted.pvd\n"
    "  --map mobility=lambda";

const char* const convert_footer =
    "KEY is the path of a card entry: provenance.license, network.num_heads, "
    "inputs.mobility.unit.\n"
    "VALUE is JSON, or else a text. The library must be able to load the new file.\n"
    "Exit status: 0 written; 2 bad usage or bad file, or the card and the tensors contradict.\n"
    "Example: surrogate convert old.safetensors new.safetensors --set inputs.mobility.max=14";

const char* const create_footer =
    "Fields are NAME or NAME=UNIT, and may be repeated. The columns of the matrix are the\n"
    "coordinates, the inputs and the numbers per cloud, in this order.\n"
    "Exit status: 0 written; 2 bad usage, or OUT exists.\n"
    "Example: surrogate create affine test.safetensors --coordinate x=m --input temperature=K\n"
    "  --output heat=W/m^2 --matrix 0,2.5 --offset -700";

const char* const spectrum_footer =
    "For each block and head: the second eigenvalue (the first is 1), the number above 1e-6, exp "
    "of\n"
    "their entropy (effective rank), and their sum; means over the samples.\n"
    "Exit status: 0 printed; 1 a number is not finite; 2 bad usage or bad file, or another family; "
    "3\n"
    "no check case in the file and no --mesh.\n"
    "Example: mpirun -n 4 surrogate spectrum model.safetensors --csv all.csv --plot all.png";

const char* const bench_footer =
    "The limit: simple loops of multiply-adds and of exponentials in single precision on the same\n"
    "threads, measured here. Points and inputs are generated; weights are from the model.\n"
    "Exit status: 0 printed; 1 a number is not finite; 2 bad usage or bad file.\n"
    "Example: mpirun -n 2 surrogate bench model.safetensors --points 100000 --json bench.json";

const char* const train_footer =
    "Exit status: 0 done; 1 a number is not finite; 2 bad usage, configuration or data, or the\n"
    "output could not be written; 4 stopped by SIGTERM, SIGINT or SIGUSR1 after a checkpoint was\n"
    "written: --resume continues.\n"
    "Example: mpirun -n 4 surrogate train darcy.toml";

const char* const evaluate_footer =
    "Errors of an output at a point are weighted with the data's weights, on the sphere with "
    "areas.\n"
    "L1 and relative L2 are means over the samples, L2 is the root of the mean square, the maximum "
    "is\n"
    "over all points. The worst sample has the largest relative L2 error.\n"
    "Scores of classes are of the weighted fractions of points, averaged over the samples. "
    "Average\n"
    "precision and ROC AUC are of one class against all others in each sample, averaged over the\n"
    "samples in which they are defined. Rank 0 holds one sample for them.\n"
    "Exit status: 0 evaluated; 1 a value is not finite; 2 bad usage, file or data, or an output "
    "exists.\n"
    "Example: mpirun -n 4 surrogate evaluate model.safetensors --data test.h5 --csv errors.csv\n"
    "  --plot worst.png";

const char* const model_help = "Model file (safetensors with a card)";
const char* const allow_code_help =
    "Run the machine code beside a model of family torch; only for files that you trust";
const char* const reproducible_help =
    "Bitwise identical for any ranks, partition, threads and vectors (default: within 1e-6)";

CLI::Option* add_model(CLI::App* verb, std::string& file, const char* help = model_help) {
    return verb->add_option("MODEL", file, help)->type_name("FILE");
}

/// Adds the plan options of all commands that run a model. `Value` maps a text to a member.
template <class Value>
void add_plan_options(CLI::App* verb, const Value& value) {
    verb->add_option("--backend", value("backend"),
                     "Backend: ref (scalar reference), simd (vectorized CPU) or cuda (GPU); "
                     "default: auto, which is simd, or ref for fp64")
        ->type_name("auto|ref|simd|cuda");
    verb->add_option(
            "--precision", value("precision"),
            "fp32 everywhere (default), fp64 with backend ref, the others with backend cuda")
        ->type_name("fp32|fp64|tf32|fp16|bf16");
    verb->add_option(
            "--threads", value("threads"),
            "Threads of a rank (default: auto, the cores that it may use or OMP_NUM_THREADS)")
        ->type_name("N");
    verb->add_option("--vector", value("vector"),
                     "Vector instructions (default: auto, the widest that the machine has)")
        ->type_name("auto|avx512|avx2|neon|scalar");
}

void add_info(CLI::App& app, InfoArguments& info) {
    auto* verb =
        app.add_subcommand("info", "Describe a model file, or this machine if MODEL is omitted");
    add_model(verb, info.file);
    verb->add_flag("--memory", info.has_memory,
                   "Measure the memory of a plan even if that takes more than 256 MB");
    auto* json = verb->add_flag("--json", info.has_json, "Print JSON instead of lines");
    verb->add_flag("--card", info.has_card,
                   "Print the card only, as JSON without checksums, for convert --card")
        ->excludes(json);
    verb->footer(info_footer);
}

void add_check(CLI::App& app, CheckArguments& check) {
    auto* verb = app.add_subcommand("check", "Run the check case of a model file and compare");
    CheckSettings& s = check.settings;
    add_model(verb, check.file, "Model file with a check case")->required();
    verb->add_option("--partition", s.partition,
                     "Partition of the points over ranks (default: contiguous)")
        ->type_name("contiguous|scattered|uneven");
    verb->add_flag("--reproducible", s.is_reproducible, reproducible_help);
    verb->add_flag("--allow-code", s.allows_code, allow_code_help);
    add_plan_options(verb, [&](const std::string& key) -> std::string& {
        return key == "backend"     ? s.backend
               : key == "precision" ? s.precision
               : key == "threads"   ? s.threads
                                    : s.vector;
    });
    verb->add_option("--json", check.json, "Write a report to this file, in every case")
        ->type_name("FILE");
    verb->add_option("--save", check.save, "Write the computed y to this file (safetensors)")
        ->type_name("FILE");
    verb->footer(check_footer);
}

/// Adds the options shared by `predict`, `evaluate` and `bench`.
void add_run_options(CLI::App* verb, Arguments& arguments) {
    auto& options = arguments.plan_options;
    verb->add_flag("--reproducible", arguments.is_reproducible, reproducible_help);
    verb->add_flag("--allow-code", arguments.allows_code, allow_code_help);
    add_plan_options(verb, [&](const std::string& key) -> std::string& { return options[key]; });
    verb->add_option("--device", options["device"],
                     "Number of the device, with backend cuda (default: auto, the current one)")
        ->type_name("N");
}

void add_predict(CLI::App& app, Arguments& arguments) {
    auto* verb = app.add_subcommand("predict", "Evaluate a model on a mesh file or a series (VTK)");
    PredictArguments& predict = arguments.predict;
    add_model(verb, predict.model)->required();
    verb->add_option("--mesh", predict.mesh,
                     "Input: .vtu .vti .vtp .vts, parallel .pvtu .., or a series .pvd")
        ->type_name("FILE")
        ->required();
    verb->add_option("--out", predict.out,
                     "Output, the same kind of mesh: one file, or (.pvtu ..) one piece per rank; a "
                     "series, .pvd, has the times of the input")
        ->type_name("FILE")
        ->required();
    verb->add_option("--map", arguments.predict_maps,
                     "The array for a field of the card, may be repeated; ARRAY:2 is component 2, "
                     "ARRAY.x the "
                     "first of a vector (default: arrays have the names of the fields)")
        ->type_name("FIELD=ARRAY")
        ->allow_extra_args(false);
    verb->add_option("--set", arguments.predict_numbers,
                     "An input with the role cloud, such as a Reynolds number, may be repeated "
                     "(default: an array of its name, constant in each cloud)")
        ->type_name("INPUT=NUMBER")
        ->allow_extra_args(false);
    verb->add_option("--clouds", predict.clouds,
                     "Integer array with the cloud of each point; points of different clouds do "
                     "not see each other (default: one cloud)")
        ->type_name("ARRAY");
    verb->add_option(
            "--at", predict.at,
            "Location of the evaluation (default: location of the arrays; points if at both), or a "
            "second mesh: predictions at its points, which do not influence others (models with "
            "weights of points)")
        ->type_name("points|cells|FILE");
    verb->add_option("--weights", predict.weights,
                     "The array with the weights of the points, areas or volumes, for models that "
                     "use them")
        ->type_name("ARRAY");
    verb->add_option("--compress", predict.compress,
                     "Compression of the arrays written (default: zlib; meshio reads none and "
                     "zlib, lz4 is faster)")
        ->type_name("none|zlib|lz4");
    verb->add_flag("--logits", predict.logits,
                   "Of a classifier: write the logits, too, as NAME_logit");
    verb->add_option("--receptive-field", predict.receptive_field,
                     "Also write the array receptive_field: the influence of each point on the "
                     "prediction at the point (or cell) with this id, or nearest to this location")
        ->type_name("ID|X,Y,Z")
        ->delimiter(',')
        ->expected(1, 3);
    verb->add_flag("--ignore-units", predict.ignore_units, "Accept arrays with a different unit");
    auto* overwrite =
        verb->add_flag("--overwrite", predict.overwrite, "Replace an output that exists");
    verb->add_flag("--resume", predict.resume,
                   "Resume a series after the steps of the output; start it if there is none")
        ->excludes(overwrite);
    verb->add_flag("--strict", predict.strict,
                   "Inputs outside the training ranges: exit status 1, nothing is written");
    verb->add_flag("--quiet", predict.quiet, "Print warnings and errors only");
    add_run_options(verb, arguments);
    verb->footer(predict_footer);
}

void add_evaluate(CLI::App& app, Arguments& arguments) {
    auto* verb = app.add_subcommand("evaluate", "Errors of a model on data sets (HDF5)");
    EvaluateArguments& evaluate = arguments.evaluate;
    add_model(verb, evaluate.model)->required();
    verb->add_option("--data", evaluate.data, "Data set with inputs and targets, may be repeated")
        ->type_name("FILE")
        ->required()
        ->allow_extra_args(false);
    verb->add_option("--map", arguments.evaluate_maps,
                     "The variable for a field of the card, may be repeated (default: variables "
                     "have the names of the fields)")
        ->type_name("FIELD=VARIABLE")
        ->allow_extra_args(false);
    auto* labels =
        verb->add_option("--labels", evaluate.labels,
                         "Of a classifier: the integer variable with the class of each point")
            ->type_name("VARIABLE");
    verb->add_option("--top-k", evaluate.top_k,
                     "Of a classifier: accuracy among the N most probable classes, may be repeated "
                     "(default: 1, and 5 of more than 5 classes)")
        ->type_name("N")
        ->allow_extra_args(false);
    auto* particles =
        verb->add_option(
                "--particles", evaluate.particles,
                "Of an embedding: the integer variable with the particle of each hit, -100 for "
                "none; scores of the 19 nearest hits")
            ->type_name("VARIABLE")
            ->excludes(labels);
    verb->add_option("--min-pt", evaluate.min_pt,
                     "Score only hits whose transverse momentum, the variable 'pt' of the data "
                     "(--map pt=VARIABLE), is above this number")
        ->type_name("N")
        ->needs(particles);
    verb->add_option("--lead", evaluate.lead,
                     "Seconds between input and target of a series (default: its time step)")
        ->type_name("N");
    verb->add_option(
            "--csv", evaluate.csv,
            "Write the errors of every sample and output, the confusion matrix, or the scores "
            "of every sample")
        ->type_name("FILE");
    verb->add_option("--json", evaluate.json,
                     "Write all numbers, on the sphere also the errors by latitude")
        ->type_name("FILE");
    verb->add_option(
            "--plot", evaluate.plot,
            "Plot target, prediction and difference of the worst sample (PNG), of a classifier "
            "label, class and probability of the label")
        ->type_name("FILE");
    verb->add_option(
            "--worst", evaluate.worst,
            "Write the worst sample for ParaView (.pvd): prediction, target and error, of a "
            "classifier class, label and probabilities")
        ->type_name("FILE");
    verb->add_flag("--overwrite", evaluate.overwrite, "Replace outputs that exist");
    add_run_options(verb, arguments);
    verb->footer(evaluate_footer);
}

void add_convert(CLI::App& app, ConvertArguments& convert) {
    auto* verb = app.add_subcommand("convert", "Add, edit or validate the card of a model file");
    verb->add_option("MODEL", convert.file, "Safetensors file, with or without a card")
        ->type_name("FILE")
        ->required();
    verb->add_option("OUT", convert.out, "New file; weights and check case stay unchanged")
        ->type_name("FILE");
    verb->add_option("--card", convert.card, "JSON that replaces the file's card")
        ->type_name("FILE");
    verb->add_option("--set", convert.sets, "Set a card entry; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    verb->add_option("--remove", convert.removes,
                     "Remove a card entry, before --set; may be repeated")
        ->type_name("KEY")
        ->allow_extra_args(false);
    verb->add_flag("--no-checksums", convert.no_checksums,
                   "The new file has no checksums (default: they are computed)");
    verb->add_flag("--overwrite", convert.overwrite, "OUT may exist, and may be MODEL itself");
    verb->add_flag("--dry-run", convert.dry_run, "Validate only; write nothing");
    verb->footer(convert_footer);
}

void add_create(CLI::App& app, CreateArguments& create) {
    auto* verb = app.add_subcommand(
        "create", "Write a model for tests without training: a linear map of each point");
    verb->add_option("FAMILY", create.family, "Family of the model")
        ->type_name("affine")
        ->required();
    verb->add_option("OUT", create.out, "New model file, with a check case")
        ->type_name("FILE")
        ->required();
    verb->add_option("--coordinate", create.coordinates, "Coordinate, of axis 0, 1, ..")
        ->type_name("FIELD")
        ->allow_extra_args(false);
    verb->add_option("--input", create.inputs, "Input field")
        ->type_name("FIELD")
        ->allow_extra_args(false);
    verb->add_option("--cloud", create.numbers, "Input with one number per cloud")
        ->type_name("FIELD")
        ->allow_extra_args(false);
    verb->add_option("--output", create.outputs, "Output field")
        ->type_name("FIELD")
        ->required()
        ->allow_extra_args(false);
    verb->add_option("--matrix", create.matrix, "Rows of the matrix, one per output: 1,2;3,4")
        ->type_name("NUMBERS")
        ->required();
    verb->add_option("--offset", create.offset, "One number per output (default: zeros)")
        ->type_name("NUMBERS");
    verb->add_flag("--overwrite", create.overwrite, "Replace a file that exists");
    verb->footer(create_footer);
}

void add_spectrum(CLI::App& app, SpectrumArguments& spectrum) {
    auto* verb = app.add_subcommand("spectrum", "Eigenvalues of FLARE's mixing, by block and head");
    add_model(verb, spectrum.model)->required();
    verb->add_option("--mesh", spectrum.mesh,
                     "Mesh with points and fields, as for predict (default: the check case)")
        ->type_name("FILE");
    verb->add_option("--map", spectrum.maps, "The array for a field of the card, as for predict")
        ->type_name("FIELD=ARRAY")
        ->allow_extra_args(false);
    verb->add_option("--set", spectrum.numbers, "Same as predict")
        ->type_name("INPUT=NUMBER")
        ->allow_extra_args(false);
    verb->add_option("--at", spectrum.at, "Same as predict")->type_name("points|cells");
    verb->add_flag("--ignore-units", spectrum.ignore_units, "Same as predict");
    verb->add_option("--block", spectrum.block, "This block only, from 0 (default: all)")
        ->type_name("N");
    verb->add_option("--csv", spectrum.csv, "Write all eigenvalues to this file")
        ->type_name("FILE");
    verb->add_option("--plot,--picture", spectrum.plot,
                     "Plot the eigenvalues (PNG), one curve per block, with --block one per head")
        ->type_name("FILE");
    verb->add_option("--precision", spectrum.precision,
                     "Precision of the network; eigenvalues below 1e-6 need fp64 (default: fp64)")
        ->type_name("fp32|fp64");
    verb->add_option("--threads", spectrum.threads, "Threads of a rank (default: auto)")
        ->type_name("N");
    verb->add_flag("--overwrite", spectrum.overwrite, "Replace outputs that exist");
    verb->footer(spectrum_footer);
}

void add_bench(CLI::App& app, Arguments& arguments) {
    auto* verb = app.add_subcommand("bench", "Time, bytes and work of a model on this machine");
    BenchArguments& bench = arguments.bench;
    add_model(verb, bench.model)->required();
    verb->add_option("--points", bench.n_point,
                     "Points on all ranks together (default: 20000); a model on the sphere has its "
                     "grid")
        ->type_name("N");
    verb->add_option("--runs", bench.n_run, "Runs that are timed (default: 5)")->type_name("N");
    verb->add_option("--json", bench.json, "Write all numbers to this file")->type_name("FILE");
    verb->add_flag("--overwrite", bench.overwrite, "Replace a report that exists");
    add_run_options(verb, arguments);
    verb->footer(bench_footer);
}

void add_train(CLI::App& app, TrainArguments& train) {
    auto* verb = app.add_subcommand("train", "Train a model on data sets (HDF5)");
    verb->add_option("CONFIG", train.config, "Configuration (TOML): model, data, training, output")
        ->type_name("FILE")
        ->required();
    verb->add_flag("--resume", train.resume, "Resume from the checkpoint in the output folder");
    auto* overwrite = verb->add_flag("--overwrite", train.overwrite,
                                     "Discard an existing training in the output folder");
    overwrite->excludes("--resume");
    verb->add_flag("--dry-run", train.dry_run,
                   "Print memory, bytes and the time of a step; write nothing");
    verb->add_flag("--quiet", train.quiet, "Print warnings, errors and the result only");
    verb->footer(train_footer);
}

}  // namespace

std::unique_ptr<CLI::App> make_commands(Arguments& arguments) {
    auto app = std::make_unique<CLI::App>(
        "Learned attention surrogates: describe, check, run and train models.\nRuns on one rank or "
        "under mpirun.",
        "surrogate");
    app->set_version_flag("-V,--version", std::string("surrogate ") + surrogate_version(),
                          "Print the version and exit");
    app->require_subcommand(1);
    app->footer(footer);
    app->get_formatter()->column_width(40);
    add_info(*app, arguments.info);
    add_check(*app, arguments.check);
    add_predict(*app, arguments);
    add_evaluate(*app, arguments);
    add_convert(*app, arguments.convert);
    add_create(*app, arguments.create);
    add_spectrum(*app, arguments.spectrum);
    add_bench(*app, arguments);
    add_train(*app, arguments.train);
    return app;
}

std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    std::vector<std::string> words;
    if (type.find('|') == std::string::npos) return words;
    std::istringstream text(type);
    for (std::string word; std::getline(text, word, '|');) words.push_back(word);
    return words;
}

}  // namespace surrogate::tool
