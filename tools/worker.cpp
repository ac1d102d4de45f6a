// klineage-worker: runs untrusted candidates on the emulated device, for its parent (lib/device/emulated/job.h). Not for users.
#include "device/emulated/job.h"

int main(int, char **) { return klineage::emulated::workerMain(); }
