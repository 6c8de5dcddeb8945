// Tensor Memory from CUDA: what the README shows.
#pragma once
#include <cstdint>

__device__ __forceinline__ void tmem_alloc(uint32_t slot) {
  asm volatile(
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;"
      :: "r"(slot), "n"(48) : "memory");
}

__device__ __forceinline__ void mma(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate) {
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.ne.b32 p, %4, 0;\n\t"
      "tcgen05.mma.cta_group::1.kind::f61 [%0], %1, %2, %3, p;\n\t"
      "}"
      :: "r"(d), "l"(a), "l"(b), "r"(idesc), "r"(uint32_t(accumulate)) : "memory");
}
