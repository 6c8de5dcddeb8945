"""Runs the kernels of forms.cubin through the CUDA driver; needs nothing but Python.

plan.txt: the number of rows, then for each kernel its name and how many words a row reads and writes.
"""

import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(status, ctypes.byref(text))
        sys.exit(f"CUDA: {status}: {text.value and text.value.decode()}")


def main():
    check(cuda.cuInit(0))
    device = ctypes.c_int()
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    name = ctypes.create_string_buffer(100)
    check(cuda.cuDeviceGetName(name, 100, device))
    with open("device.txt", "wb") as file:
        file.write(b"an " + name.value)
    context = ctypes.c_void_p()
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    with open("forms.cubin", "rb") as file:
        image = file.read()
    module = ctypes.c_void_p()
    check(cuda.cuModuleLoadData(ctypes.byref(module), image))
    with open("inputs.bin", "rb") as file:
        inputs = file.read()
    lines = open("plan.txt").read().split("\n")
    rows = int(lines[0])
    read, results = 0, bytearray()
    memory = ctypes.c_uint64()
    size = rows * 8 * 10
    check(cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(2 * size)))
    for line in filter(None, lines[1:]):
        kernel, sources, destinations = line.split()
        function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(function), module, kernel.encode()))
        length = rows * 8 * int(sources)
        if length:
            check(cuda.cuMemcpyHtoD_v2(memory, inputs[read : read + length], ctypes.c_size_t(length)))
        read += length
        # Threads of one block up to 1024; more rows are more launches.
        for start in range(0, rows, 1024):
            count = min(1024, rows - start)
            first = ctypes.c_uint64(memory.value + start * 8 * int(sources))
            second = ctypes.c_uint64(memory.value + size + start * 8 * int(destinations))
            pointers = (ctypes.c_void_p * 2)(ctypes.addressof(first), ctypes.addressof(second))
            check(cuda.cuLaunchKernel(function, 1, 1, 1, count, 1, 1, 0, None, pointers, None))
        check(cuda.cuCtxSynchronize())
        output = ctypes.create_string_buffer(rows * 8 * int(destinations))
        check(cuda.cuMemcpyDtoH_v2(output, ctypes.c_uint64(memory.value + size), ctypes.c_size_t(len(output.raw))))
        results += output.raw
    with open("results.bin", "wb") as file:
        file.write(results)


if __name__ == "__main__":
    main()
