// What the sanitizers need to know of programs that link an LLVM which was built without them. Part of every program of such a build, because workers inherit no
// environment to say it in.

/// LLVM's headers poison what their allocators hand out; its library, built without sanitizers, does not take the poison away again.
/// A worker may trace nobody, which the leak checker has to, and ends in _Exit; leaks are looked for by the fuzz targets, whose own option asks for it.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0:detect_leaks=0:detect_odr_violation=0:detect_stack_use_after_return=0"; }
extern "C" const char *__ubsan_default_options();
extern "C" const char *__ubsan_default_options() { return "print_stacktrace=1"; }
