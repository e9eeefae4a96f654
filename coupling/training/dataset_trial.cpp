// SPDX-License-Identifier: Apache-2.0
#include "coupling/training/dataset_trial.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "coupling/dataset/read_file.hpp"
#include "coupling/job/job.hpp"
#include "coupling/job/read_text.hpp"

extern char** environ;

namespace surrogate::tool {

namespace {

using namespace std::chrono_literals;

constexpr const char* trial_word = "--surrogate-dataset-trial";
constexpr rlim_t processor_seconds = 10;
constexpr rlim_t memory_bytes = rlim_t{4} << 30;
constexpr auto longest = 120s;
constexpr size_t longest_text = 1 << 16;
constexpr char accepted = 'y', refused = 'n';

// ---- the process that opens the data set ----

/// Lowers a limit. A limit that is lower already stays.
void limit(__rlimit_resource resource, rlim_t most) {
    rlimit now = {};
    if (::getrlimit(resource, &now) != 0) return;
    now.rlim_cur = std::min(now.rlim_cur, most);
    ::setrlimit(resource, &now);
}

/// Returns the address space of the program itself; sanitizers reserve terabytes.
rlim_t address_bytes() {
    const std::string pages = read_text("/proc/self/statm").value_or("0");
    return std::strtoull(pages.c_str(), nullptr, 10) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return;
        text.remove_prefix(static_cast<size_t>(n));
    }
}

// ---- the process that waits for it ----

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }
    operator int() const { return number_; }

private:
    int number_;
};

/// Result of the child process.
struct Ended {
    std::string text;  ///< standard output
    int signal = 0;    ///< signal that ended it
    bool is_late = false;
};

[[noreturn]] void fail_dataset(const std::string& path, const std::string& text) {
    throw Failure(Exit::bad_usage, "data set '" + path + "': " + text);
}

/// Returns the environment without variables that would make the child a rank of this job.
std::vector<char*> environment() {
    std::vector<char*> kept;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string_view text = *entry;
        const auto starts = [&](const char* prefix) { return text.starts_with(prefix); };
        if (!starts("OMPI_") && !starts("PMIX_") && !starts("PMI_") && !starts("PRTE_") &&
            !starts("HYDRA_") && !starts("MPIR_"))
            kept.push_back(*entry);
    }
    kept.push_back(nullptr);
    return kept;
}

/// Starts this program with its standard output in a pipe. Uses posix_spawn, because fork() runs
/// handlers that print warnings of MPI.
pid_t start(const std::string& path, int output) {
    posix_spawn_file_actions_t actions;
    if (::posix_spawn_file_actions_init(&actions) != 0) throw std::bad_alloc();
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string word = trial_word, file = path, name = "surrogate";
    std::array<char*, 4> argv = {name.data(), word.data(), file.data(), nullptr};
    pid_t process = -1;
    const int code = ::posix_spawn(&process, "/proc/self/exe", &actions, nullptr, argv.data(),
                                   environment().data());
    ::posix_spawn_file_actions_destroy(&actions);
    if (code != 0)
        fail_dataset(
            path, std::string("cannot start the process that opens it first (/proc/self/exe): ") +
                      std::strerror(code) + "; nothing was read");
    return process;
}

/// Appends input until the other end is closed. Returns false on timeout.
bool read_until_closed(int input, std::chrono::steady_clock::time_point end, std::string* text) {
    std::array<char, 4096> piece{};
    while (std::chrono::steady_clock::now() < end) {
        pollfd one = {input, POLLIN, 0};
        if (::poll(&one, 1, 100) <= 0) continue;
        const ssize_t n = ::read(input, piece.data(), piece.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return true;
        text->append(piece.data(), std::min(static_cast<size_t>(n), longest_text - text->size()));
    }
    return false;
}

/// Waits for the end of a process, and kills it on timeout.
void wait_for(pid_t process, std::chrono::steady_clock::time_point end, Ended* ended) {
    int status = 0;
    while (!ended->is_late) {
        const pid_t found = ::waitpid(process, &status, WNOHANG);
        if (found == process && WIFSIGNALED(status)) ended->signal = WTERMSIG(status);
        // ECHILD: the host process lets the system reap its children.
        if (found == process || (found < 0 && errno != EINTR)) return;
        ended->is_late = std::chrono::steady_clock::now() >= end;
        std::this_thread::sleep_for(1ms);
    }
    ::kill(process, SIGKILL);
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
}

Ended run(const std::string& path) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        fail_dataset(path, std::string("cannot make a pipe: ") + std::strerror(errno));
    const Descriptor input(ends[0]);
    Descriptor output(ends[1]);
    const auto end = std::chrono::steady_clock::now() + longest;
    const pid_t process = start(path, output);
    output.close();
    Ended ended;
    ended.is_late = !read_until_closed(input, end, &ended.text);
    wait_for(process, end, &ended);
    return ended;
}

std::string reason(const Ended& ended) {
    if (ended.is_late) return "took more than " + std::to_string(longest.count()) + " s";
    if (ended.signal == SIGXCPU)
        return "took more than its processor time, " + std::to_string(processor_seconds) + " s";
    if (ended.signal == SIGKILL)
        return "was killed, by a limit of processor time or for lack of memory";
    if (ended.signal == 0) return "ended without an answer";
    return "was ended by signal " + std::to_string(ended.signal) + " (" +
           ::strsignal(ended.signal) + ")";
}

}  // namespace

bool is_dataset_trial(int argc, char** argv) {
    return argc == 3 && std::strcmp(argv[1], trial_word) == 0;
}

int run_dataset_trial(char** argv) {
    for (int i = 3; i < 1024; ++i) ::close(i);  // files of the job
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, processor_seconds);
    limit(RLIMIT_AS, address_bytes() + memory_bytes);
    ::alarm(static_cast<unsigned>(longest.count()) + 10);  // ends the child if its parent is gone
    try {
        std::optional<dataset::ReadFile> file(std::in_place, argv[2]);
        file.reset();  // may crash, too
        write_all({&accepted, 1});
        return 0;
    } catch (const std::bad_alloc&) {
        write_all(std::string(1, refused) + "data set '" + argv[2] +
                  "': its structure needs more than 4 GiB of memory");
    } catch (const std::exception& error) {
        write_all(std::string(1, refused) + error.what());
    }
    return static_cast<int>(Exit::bad_usage);
}

void try_dataset(const std::string& path) {
    const Ended ended = run(path);
    const bool has_answered = !ended.is_late && ended.signal == 0;
    if (has_answered && ended.text.starts_with(accepted)) return;
    if (has_answered && ended.text.starts_with(refused))
        throw Failure(Exit::bad_usage, ended.text.substr(1));
    fail_dataset(path, "the process that opened it first " + reason(ended) +
                           ": the file is damaged or malformed; write it again");
}

}  // namespace surrogate::tool
