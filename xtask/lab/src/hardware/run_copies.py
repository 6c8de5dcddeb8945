"""Runs copies.cubin: boxes of tensors into shared memory, scripts of mbarriers.

Writes copies.txt: for each case of cases.txt the line and where each byte of shared memory came
from, in runs `place:length:origin`, hexadecimal; the origin is a place in the tensor, or `fill` for what is
out of bounds; the bytes of an element that stands for it come last.
"""

import ctypes
import subprocess
import sys

from run import check, cuda

TYPES = {"u8": (0, 1), "u16": (1, 2), "u32": (2, 4), "u64": (4, 8), "f16": (6, 2), "f32": (7, 4), "f64": (8, 8), "bf16": (9, 2)}
INTERLEAVES = ["none", "16B", "32B"]
SWIZZLES = ["none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B", "128B_ATOM_64B"]
BYTES = 1 << 20
SIZE = 1 << 14


class Gpu:
    def __init__(self):
        check(cuda.cuInit(0))
        device, context = ctypes.c_int(), ctypes.c_void_p()
        check(cuda.cuDeviceGet(ctypes.byref(device), 0))
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        check(cuda.cuCtxSetCurrent(context))
        self.module = ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(self.module), open("copies.cubin", "rb").read()))

    def memory(self, size):
        address = ctypes.c_uint64()
        check(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)))
        return address.value

    def write(self, address, data):
        check(cuda.cuMemcpyHtoD_v2(ctypes.c_uint64(address), bytes(data), ctypes.c_size_t(len(data))))

    def read(self, address, size):
        data = ctypes.create_string_buffer(size)
        check(cuda.cuMemcpyDtoH_v2(data, ctypes.c_uint64(address), ctypes.c_size_t(size)))
        return data.raw

    def launch(self, kernel, grid, block, shared, *arguments):
        function = ctypes.c_void_p()
        check(cuda.cuModuleGetFunction(ctypes.byref(function), self.module, kernel.encode()))
        pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(argument) for argument in arguments])
        check(cuda.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, None, pointers, None))
        check(cuda.cuCtxSynchronize())


def fields(line):
    parts = line.strip().split(" | ")
    kind, ty = parts[0].split()
    return kind, ty, dict(part.split(" ", 1) for part in parts[1:])


def numbers(text):
    return [] if text == "-" else [int(word) for word in text.split(",")]


def interleave(case):
    return INTERLEAVES.index(case.get("interleave", "none"))


def encode(kind, ty, case, base):
    number, _ = TYPES[ty]
    sizes, strides, box = numbers(case["sizes"]), numbers(case["strides"]), numbers(case["box"])
    rank = len(sizes)
    storage = ctypes.create_string_buffer(128 + 64)
    start = (ctypes.addressof(storage) + 63) // 64 * 64
    array = lambda kind, values: (kind * len(values))(*values) if values else None
    common = [
        ctypes.c_void_p(start), ctypes.c_int(number), ctypes.c_uint32(rank), ctypes.c_void_p(base),
        array(ctypes.c_uint64, sizes), array(ctypes.c_uint64, strides or [0]),
    ]
    rest = [
        array(ctypes.c_uint32, numbers(case["steps"])), ctypes.c_int(interleave(case)),
        ctypes.c_int(SWIZZLES.index(case["swizzle"])), ctypes.c_int(0), ctypes.c_int(int(case["fill"] == "nan")),
    ]
    if kind == "tile":
        status = cuda.cuTensorMapEncodeTiled(*common, array(ctypes.c_uint32, box), *rest)
    else:
        lower, upper = [numbers(corner) for corner in case["corners"].split(";")]
        status = cuda.cuTensorMapEncodeIm2col(
            *common, array(ctypes.c_int, lower), array(ctypes.c_int, upper),
            ctypes.c_uint32(box[0]), ctypes.c_uint32(box[1]), *rest,
        )
    return status, ctypes.string_at(start, 128)


def expected(kind, ty, case):
    box, steps = numbers(case["box"]), numbers(case["steps"])
    if interleave(case):
        # Units of 16 or 32 bytes; along the dimension of the slices of channels, one is taken.
        count = 16 * interleave(case)
        if kind == "im2col":
            return count * box[1]
        for index, size in enumerate(box):
            count *= 1 if index == len(box) - 2 else -(-size // steps[index])
        return count
    count = TYPES[ty][1]
    for index, size in enumerate(box):
        count *= -(-size // steps[index]) if index and kind == "tile" else size
    return count


def run_case(gpu, line, data, out, at):
    kind, ty, case = fields(line)
    status, image = encode(kind, ty, case, data)
    if status:
        return f"refused {status}"
    tensor = (ctypes.c_byte * 128).from_buffer_copy(image)
    coordinates = numbers(case["at"])
    rank = len(coordinates)
    words = (ctypes.c_int32 * 8)(*coordinates)
    offsets = (ctypes.c_uint16 * 8)(*numbers(case.get("offsets", "-")))
    size = SIZE
    passes = []
    fills = [(b"\xff" * BYTES, 0xEEEEEEEE), (b"\x00" * BYTES, 0xDDDDDDDD)]
    planes = [bytes((place >> shift) & 0xFF for place in range(BYTES)) for shift in (0, 8, 16)] if not PLANES else PLANES
    PLANES[:] = planes
    for content, fill in fills + [(plane, 0) for plane in planes]:
        gpu.write(data, content)
        gpu.write(at, bytes(words) + bytes(offsets) + bytes(4))
        gpu.launch(
            f"{kind}{rank}", 1, 128, size, tensor, ctypes.c_uint64(out), ctypes.c_uint64(at),
            ctypes.c_uint32(expected(kind, ty, case)), ctypes.c_uint32(int(case["to"])), ctypes.c_uint32(fill),
            ctypes.c_uint32(size),
        )
        if gpu.read(at + 48, 4) != bytes(4):
            return "never complete"
        passes.append(gpu.read(out, size))
    ones, zeros, low, middle, high = passes
    runs, fill = [], None
    for place in range(size):
        if (ones[place], zeros[place]) == (0xEE, 0xDD):
            continue
        if (ones[place], zeros[place]) == (0xFF, 0):
            origin = low[place] | middle[place] << 8 | high[place] << 16
        else:
            origin = "fill"
            fill = fill or zeros[place : place + TYPES[ty][1]].hex()
        follows = runs and runs[-1][0] + runs[-1][1] == place
        if follows and origin == (runs[-1][2] + runs[-1][1] if isinstance(runs[-1][2], int) else "fill"):
            runs[-1][1] += 1
        else:
            runs.append([place, 1, origin])
    words = [f"{place:x}:{length:x}:{origin if origin == 'fill' else format(origin, 'x')}" for place, length, origin in runs]
    return " ".join(words + ([f"fill={fill}"] if fill else []))


def operand(gpu, line, out):
    """Which elements of shared memory are the rows of an operand, of 16 each."""
    major, *words = line.split()
    lbo, sbo, start, base = [int(word.split("=")[1]) for word in words[1:] + ["base=0"]][:4]
    layout = ["none", "128B", "64B", "32B"].index(words[0])
    descriptor = start >> 4 | lbo >> 4 << 16 | sbo >> 4 << 32 | base << 49 | layout << 62
    results = []
    for high in (0, 1):
        gpu.launch(f"operand_{major}", 1, 128, 49152, ctypes.c_uint64(descriptor), ctypes.c_uint64(out), ctypes.c_uint32(high))
        results.append(memoryview(gpu.read(out, 128 * 256)).cast("f"))
    # Lane 4r + c of the first warp has columns 2c, 2c + 1 of rows r and r + 8, for each eight columns.
    def element(row, column):
        at = 64 * (4 * (row % 8) + column % 8 // 2) + 4 * (column // 8) + 2 * (row // 8) + column % 2
        return int(results[0][at]) + 1024 * int(results[1][at])
    rows = [0, 1, 2, 5, 7, 8, 9, 15, 16, 31, 32, 63, 64, 65, 100, 127]
    return "\n".join(f"{row}: " + " ".join(f"{element(k, row):x}" for k in range(16)) for row in rows)


PLANES = []


def child(first):
    gpu = Gpu()
    data, out, at = gpu.memory(BYTES), gpu.memory(SIZE), gpu.memory(256)
    for line in open("cases.txt").read().splitlines()[first:]:
        print(f"> {line}\n{run_case(gpu, line, data, out, at)}", flush=True)


def main():
    if len(sys.argv) > 1:
        return child(int(sys.argv[1]))
    cases = open("cases.txt").read().splitlines()
    done = []
    while len(done) < len(cases):
        result = subprocess.run([sys.executable, __file__, str(len(done))], capture_output=True, text=True)
        lines = result.stdout.splitlines()
        done += [f"{head}\n{body}" for head, body in zip(lines[::2], lines[1::2])]
        if result.returncode:
            done.append(f"> {cases[len(done)]}\nfailed {result.stderr.strip().splitlines()[-1][:200]}")
    open("copies.txt", "w").write("\n".join(done) + "\n")
    gpu = Gpu()
    script, out = gpu.memory(1 << 16), gpu.memory(1 << 18)
    with open("barriers.txt", "w") as file:
        for line in open("scripts.txt").read().splitlines():
            steps = [[int(number) for number in step.split(":")] for step in line.split()]
            gpu.write(script, b"".join(number.to_bytes(4, "little") for step in steps for number in step))
            gpu.launch("barrier", 1, 1, 0, ctypes.c_uint64(script), ctypes.c_uint64(out), ctypes.c_uint32(len(steps)))
            data = gpu.read(out, 8 * len(steps))
            words = [int.from_bytes(data[index : index + 8], "little") for index in range(0, len(data), 8)]
            file.write(" ".join(f"{what}:{number}={words[index]:x}" for index, (what, number) in enumerate(steps)) + "\n")
    with open("operands.txt", "w") as file:
        for line in open("operand_cases.txt").read().splitlines():
            file.write(f"> {line}\n{operand(gpu, line, out)}\n")
    gpu.launch("matrices", 1, 32, 0, ctypes.c_uint64(out))
    words = memoryview(gpu.read(out, 128 * (14 + 24))).cast("I")
    with open("matrices.txt", "w") as file:
        rows = iter(range(0, len(words), 32))
        for name, registers in [("ldmatrix", None), ("stmatrix", 4)]:
            for count in (1, 2, 4):
                for trans in ("", ".trans"):
                    file.write(f"> {name}.x{count}{trans}\n")
                    for _ in range(registers or count):
                        row = next(rows)
                        file.write(" ".join(f"{word:x}" for word in words[row : row + 32]) + "\n")
    gpu.launch("out_of_bounds", 256, 256, 0, ctypes.c_uint64(out))
    data = gpu.read(out, 4 << 16)
    with open("out_of_bounds.txt", "w") as file:
        for bits in range(1 << 16):
            half, brain = int.from_bytes(data[4 * bits : 4 * bits + 2], "little"), int.from_bytes(data[4 * bits + 2 : 4 * bits + 4], "little")
            if bits & 0x7FFF > 0x7C00 and half != 0x7FFF:
                file.write(f"f16 {bits:x} {half:x}\n")
            if bits & 0x7FFF > 0x7F80 and brain != 0x7FFF:
                file.write(f"bf16 {bits:x} {brain:x}\n")


if __name__ == "__main__":
    main()
