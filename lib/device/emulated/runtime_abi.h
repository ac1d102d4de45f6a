// The border between lowered device code and the emulator's runtime: the C functions that lowered code calls, and the tables that
// it carries. Plain C layout, because the JIT's code reads these structs by offset.
//
// One `kl_thread` stands for one CUDA thread and is handed to the kernel's entry, and from there to every hook; lowered code
// reads the special registers from it directly. Everything device-side is inlined into the entry, so a static place in a kernel
// is one `site`, and `key` tells apart the dynamic passes of a thread through it: it is a hash of the enclosing loops, each with
// the number of its current iteration. Lanes of a warp that meet at one (site, key) form one request.
//
// All addresses are host addresses. Shared memory lies below 4 GiB so that 32-bit shared addresses in inline PTX keep their
// meaning; local memory is the fiber's stack and is never reported where it is provably private.
//
// A hook that finds a fault records it and does not return: the runtime abandons the fiber without unwinding.
#pragma once
#include <cstddef>
#include <cstdint>

extern "C" {

/// What a thread can read about itself. The runtime fills it before the entry is called; it may keep its own state behind it
/// (derive from it, or use `runtime`). Lowered code reads every field but writes only blockCounts[] and fuel.
struct kl_thread {
  uint32_t tid[3];      ///< threadIdx
  uint32_t ctaid[3];    ///< blockIdx
  uint32_t ntid[3];     ///< blockDim
  uint32_t nctaid[3];   ///< gridDim
  uint32_t lane;        ///< Of the linear thread index, 0..31.
  uint32_t warp;        ///< Of the linear thread index.
  uint32_t smid;        ///< A number below the count of multiprocessors.
  uint32_t dynamicShared; ///< Bytes given at launch.
  uint64_t gridid;
  unsigned char *shared;  ///< Base of this block's shared memory, below 4 GiB, aligned to 1024. Statics first, then the dynamic part.
  uint32_t *blockCounts;  ///< One counter for each basic block of the kernel (kl_kernel::blockCount), zero at the start.
  int64_t fuel;           ///< Counted down at back-edges of loops whose trip count is unknown; kl_out_of_fuel is called below zero.
  void *runtime;          ///< The runtime's own.
};

// ---------------------------------------------------------------- tables

enum kl_space : uint8_t { KL_GENERIC = 0, KL_GLOBAL = 1, KL_SHARED = 3, KL_CONSTANT = 4, KL_LOCAL = 5 };

enum kl_site_kind : uint8_t {
  KL_SITE_LOAD, KL_SITE_STORE, KL_SITE_ATOMIC, KL_SITE_BARRIER, KL_SITE_SYNCWARP, KL_SITE_FENCE, KL_SITE_EXCHANGE, KL_SITE_BRANCH,
  KL_SITE_LOOP, KL_SITE_COPY_ASYNC, KL_SITE_MMA, KL_SITE_MATRIX, KL_SITE_CALL
};

enum kl_site_flags : uint16_t {
  KL_VOLATILE = 1,   ///< Access that must not be taken from a register.
  KL_READ_ONLY = 2,  ///< ld.global.nc: through the read-only path.
  KL_WEAK_HINT = 4,  ///< A cache hint (cs, cg, lu, ...) was given.
  KL_BYPASS_L1 = 8,  ///< cp.async.cg, ld.cg.
  KL_UNIFORM = 16    ///< The address or condition is the same for all lanes of a warp.
};

struct kl_site {
  uint8_t kind;      ///< kl_site_kind
  uint8_t space;     ///< kl_space as far as the compiler knows; KL_GENERIC: by address.
  uint16_t flags;    ///< kl_site_flags
  uint32_t bytes;    ///< Of one lane's access; 0 where it has no meaning or is only known at run time.
  uint32_t line, column;
  const char *file;  ///< May be "" when there is no debug location.
  /// The shared variable that the access was written for, as bytes of the block's shared memory; both 0 where that is not known. What lies beside it is
  /// another variable, or nothing: no compiler promises which.
  uint32_t sharedBegin, sharedEnd;
};

/// Machine instructions by kind, as estimated statically for one basic block and one thread.
enum kl_instruction : uint32_t {
  KL_FP32,      ///< add, mul, compare, min, max
  KL_FP32_FMA,
  KL_FP64,      ///< all, an fma counts once
  KL_FP16,      ///< half and bfloat16, packed or not
  KL_INT,       ///< add, logic, compare, select, shift
  KL_INT_MUL,   ///< mul, mad
  KL_SPECIAL,   ///< reciprocal, square root, exponential, logarithm, sine
  KL_CONVERT,
  KL_LOAD, KL_STORE, KL_ATOMIC,
  KL_BRANCH, KL_BARRIER, KL_SHUFFLE, KL_VOTE, KL_TENSOR, KL_MATRIX_LOAD, KL_COPY_ASYNC, KL_OTHER,
  KL_INSTRUCTION_KINDS
};

struct kl_block {
  uint16_t mix[KL_INSTRUCTION_KINDS];
  uint16_t depth;    ///< Latency-weighted longest chain of dependent instructions, in issue cycles; 0 is unknown.
  uint32_t line;
};

struct kl_kernel {
  const char *name;                              ///< Mangled device name.
  void (*entry)(kl_thread *self, void **arguments); ///< As cudaLaunchKernel gets them: one pointer an argument.
  const kl_block *blocks;
  uint32_t blockCount;
  uint32_t staticShared;                         ///< Bytes; the dynamic part starts there (16-byte aligned already).
  uint32_t maxThreads;                           ///< From __launch_bounds__; 0 is none.
  uint32_t parameterBytes;
  uint32_t clusterX, clusterY, clusterZ;         ///< 0: none.
};

/// A __device__ or __constant__ variable, or a constant table that the compiler made.
struct kl_global {
  const char *name;
  void *address;
  uint64_t bytes;
  uint8_t space;     ///< KL_GLOBAL or KL_CONSTANT
  uint8_t readOnly;
};

struct kl_module {
  const kl_kernel *kernels;
  const kl_site *sites;
  const kl_global *globals;
  uint32_t kernelCount, siteCount, globalCount, version;
};
enum : uint32_t { KL_ABI_VERSION = 2 };

// ---------------------------------------------------------------- memory
// The check-and-count hook comes right before the real access, which stays an ordinary host instruction. One call is one
// access of `bytes` bytes (1, 2, 4, 8 or 16), aligned to its own width on a GPU; misalignment is the hook's to find.

void kl_load(kl_thread *self, const void *address, uint32_t bytes, uint32_t site, uint64_t key);
void kl_store(kl_thread *self, void *address, uint32_t bytes, uint32_t site, uint64_t key);

/// Copies and fills whose size is only known at run time, or large; they do the work themselves, byte by byte as far as counting goes.
void kl_memcpy(kl_thread *self, void *to, const void *from, uint64_t bytes, uint32_t site, uint64_t key);
void kl_memmove(kl_thread *self, void *to, const void *from, uint64_t bytes, uint32_t site, uint64_t key);
void kl_memset(kl_thread *self, void *to, uint32_t byte, uint64_t bytes, uint32_t site, uint64_t key);

enum kl_atomic_op : uint32_t {
  KL_ADD, KL_SUB, KL_AND, KL_OR, KL_XOR, KL_NAND, KL_EXCHANGE, KL_MIN_S, KL_MAX_S, KL_MIN_U, KL_MAX_U, KL_INC_WRAP, KL_DEC_WRAP,
  KL_FADD, KL_FSUB, KL_FMIN, KL_FMAX
};
enum kl_atomic_type : uint32_t { KL_I16, KL_I32, KL_I64, KL_F16, KL_BF16, KL_F16X2, KL_BF16X2, KL_F32, KL_F64, KL_I128 };
enum kl_order : uint32_t { KL_RELAXED, KL_ACQUIRE, KL_RELEASE, KL_ACQ_REL, KL_SEQ_CST };
enum kl_scope : uint32_t { KL_SCOPE_BLOCK, KL_SCOPE_DEVICE, KL_SCOPE_SYSTEM };

/// order and scope are packed: order | scope << 8. They check, count and do the whole operation, also against other blocks.
/// Values travel in the low bits of 64.
uint64_t kl_atomic_rmw(kl_thread *self, void *address, uint32_t op, uint32_t type, uint64_t value, uint32_t orderScope, uint32_t site,
                       uint64_t key);
uint64_t kl_atomic_cas(kl_thread *self, void *address, uint32_t bytes, uint64_t compare, uint64_t value, uint32_t orderScope,
                       uint32_t site, uint64_t key);
uint64_t kl_atomic_load(kl_thread *self, const void *address, uint32_t bytes, uint32_t orderScope, uint32_t site, uint64_t key);
void kl_atomic_store(kl_thread *self, void *address, uint32_t bytes, uint64_t value, uint32_t orderScope, uint32_t site, uint64_t key);

void kl_fence(kl_thread *self, uint32_t orderScope, uint32_t site, uint64_t key);

// ---------------------------------------------------------------- order and exchange

/// bar.sync id, count; count 0 means the whole block. `arrive` does not wait.
void kl_barrier(kl_thread *self, uint32_t id, uint32_t count, uint32_t site, uint64_t key);
void kl_barrier_arrive(kl_thread *self, uint32_t id, uint32_t count, uint32_t site, uint64_t key);
/// bar.red: a barrier that also combines the predicates of the block.
enum kl_barrier_op : uint32_t { KL_REDUCE_POPC, KL_REDUCE_AND, KL_REDUCE_OR };
uint32_t kl_barrier_reduce(kl_thread *self, uint32_t id, uint32_t count, uint32_t op, uint32_t predicate, uint32_t site, uint64_t key);
void kl_syncwarp(kl_thread *self, uint32_t mask, uint32_t site, uint64_t key);

/// shfl.sync: `lane` and `clamp` are PTX's operands b and c. The predicate (source lane in range) is bit 32 of the answer.
enum kl_shuffle_mode : uint32_t { KL_SHUFFLE_UP, KL_SHUFFLE_DOWN, KL_SHUFFLE_BFLY, KL_SHUFFLE_IDX };
uint64_t kl_shuffle(kl_thread *self, uint32_t mask, uint32_t mode, uint32_t value, uint32_t lane, uint32_t clamp, uint32_t site,
                    uint64_t key);
enum kl_vote_mode : uint32_t { KL_VOTE_ALL, KL_VOTE_ANY, KL_VOTE_UNI, KL_VOTE_BALLOT };
uint32_t kl_vote(kl_thread *self, uint32_t mask, uint32_t mode, uint32_t predicate, uint32_t site, uint64_t key);
/// match.any / match.all; for all, bit 32 of the answer is the predicate.
uint64_t kl_match(kl_thread *self, uint32_t mask, uint32_t all, uint64_t value, uint32_t bytes, uint32_t site, uint64_t key);
/// redux.sync: op is a kl_atomic_op (ADD, AND, OR, XOR, MIN_*, MAX_*).
uint32_t kl_redux(kl_thread *self, uint32_t mask, uint32_t op, uint32_t value, uint32_t site, uint64_t key);
uint32_t kl_activemask(kl_thread *self, uint32_t site, uint64_t key);
uint32_t kl_elect(kl_thread *self, uint32_t mask, uint32_t site, uint64_t key); ///< elect.sync: 1 for one lane of the mask.

// ---------------------------------------------------------------- asynchronous copies

/// Copies srcBytes (<= bytes; the rest is zero) when the thread waits. `to` is in shared memory.
void kl_cp_async(kl_thread *self, void *to, const void *from, uint32_t bytes, uint32_t srcBytes, uint32_t site, uint64_t key);
void kl_cp_async_commit(kl_thread *self, uint32_t site, uint64_t key);
void kl_cp_async_wait(kl_thread *self, uint32_t pending, uint32_t site, uint64_t key); ///< At most `pending` groups stay in flight.
void kl_cp_async_wait_all(kl_thread *self, uint32_t site, uint64_t key);

// ---------------------------------------------------------------- matrix units
// Whole-warp operations; every lane hands its registers, 32 bits each, in PTX's order.

enum kl_element : uint32_t { KL_E_F16, KL_E_BF16, KL_E_TF32, KL_E_F32, KL_E_F64, KL_E_S8, KL_E_U8, KL_E_S32 };
/// d = a × b + c of mma.sync (PTX fragment layouts, row.col). shape = m << 16 | n << 8 | k;
/// types = a | b << 8 | c << 16 | d << 24 (kl_element).
void kl_mma(kl_thread *self, uint32_t shape, uint32_t types, uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c,
            uint32_t site, uint64_t key);
/// ldmatrix .m8n8 .x1/.x2/.x4, b16. `row` is this lane's row address.
void kl_ldmatrix(kl_thread *self, uint32_t *out, const void *row, uint32_t count, uint32_t transposed, uint32_t site, uint64_t key);
void kl_stmatrix(kl_thread *self, void *row, const uint32_t *in, uint32_t count, uint32_t transposed, uint32_t site, uint64_t key);

/// wmma: which = 0 a, 1 b, 2 c, 3 d; element a kl_element; shape as above; the fragment's layout over lanes is the runtime's own.
/// Fragments are arrays of 32-bit registers (8 of f16x2 for a and b, 4 or 8 for c and d of m16n16k16).
void kl_wmma_load(kl_thread *self, uint32_t which, uint32_t shape, uint32_t element, uint32_t columnMajor, uint32_t *out, const void *from,
                  uint32_t stride, uint32_t site, uint64_t key);
void kl_wmma_store(kl_thread *self, uint32_t shape, uint32_t element, uint32_t columnMajor, void *to, const uint32_t *in, uint32_t stride,
                   uint32_t site, uint64_t key);
/// layouts: bit 0 set when a is column-major, bit 1 when b is.
void kl_wmma_mma(kl_thread *self, uint32_t shape, uint32_t types, uint32_t layouts, uint32_t *d, const uint32_t *a, const uint32_t *b,
                 const uint32_t *c, uint32_t site, uint64_t key);

// ---------------------------------------------------------------- control

/// Before a conditional branch that is not uniform over a warp; `way` is the number of the successor taken.
void kl_branch(kl_thread *self, uint32_t way, uint32_t site, uint64_t key);
/// At back-edges of loops that read volatile or atomic data, and for nanosleep: lets other threads run; bounded, then a hang.
void kl_yield(kl_thread *self, uint32_t site, uint64_t key);
/// fuel went below zero: refill it (and let others run), or call it a hang.
void kl_out_of_fuel(kl_thread *self, uint32_t site, uint64_t key);

uint64_t kl_clock(kl_thread *self, uint32_t globalNanoseconds);
[[noreturn]] void kl_trap(kl_thread *self, uint32_t site);
/// An access at a known place outside a local variable.
[[noreturn]] void kl_leaves_local(kl_thread *self, uint32_t site);
[[noreturn]] void kl_assert_failed(kl_thread *self, const char *message, const char *file, uint32_t line, const char *function,
                                   uint32_t site);
/// `arguments` is CUDA's vprintf buffer: values in order, each at its natural alignment.
int32_t kl_vprintf(kl_thread *self, const char *format, const void *arguments);
/// Device-side heap, for completeness; the runtime may refuse by a fault.
void *kl_malloc(kl_thread *self, uint64_t bytes, uint32_t site);
void kl_free(kl_thread *self, void *address, uint32_t site);
/// Which space a generic address lies in: 1 when it is in `space` (isspacep).
uint32_t kl_is_space(kl_thread *self, const void *address, uint32_t space);

} // extern "C"
