import { describe, expect, test } from 'vitest';
import type { ExecRequest, SessionRunRequest } from '@agentfleet/protocol/keeper';
import { newExecId } from '@agentfleet/keeper/client';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { eventually, shell, useNamespace } from './harness.ts';

const bench = useNamespace('sessions');
let sandbox: Sandbox;
bench.share((opened) => (sandbox = opened), { toolsResources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '512Mi' } } });

const run = (command: string, more: Partial<SessionRunRequest> = {}): SessionRunRequest => ({ execId: newExecId(), command, ...more });
const slow = (command: string, more: Partial<ExecRequest> = {}) =>
  ({ execId: newExecId(), tool: 'Shell', command, timeoutSeconds: 60, ...more }) as ExecRequest;

async function open(program?: 'bash' | 'sh'): Promise<string> {
  const { sessionId } = await sandbox.client.openSession({ sessionId: newExecId(), ...(program === undefined ? {} : { shell: program }) });
  return sessionId;
}

async function started(request: ExecRequest): Promise<void> {
  await eventually(`${request.execId} runs`, 20, async () => {
    for await (const event of sandbox.client.follow(request.execId)) if (event.type === 'start') return true;
    return false;
  });
}

describe('sessions in a real pod', () => {
  test('keep folder, variables and functions, with the image’s bash', async () => {
    const id = await open();
    expect(await sandbox.client.sessions()).toMatchObject([{ sessionId: id, shell: 'bash', cwd: '/workspace' }]);
    await sandbox.client.runInSession(id, run('mkdir -p d && cd d && export A=1 && f() { echo "f $A"; }'));
    const { stdout, end } = await sandbox.client.runInSession(id, run('f; pwd; id -u'));
    expect(stdout).toBe('f 1\n/workspace/d\n10001\n');
    expect(end.session).toEqual({ sessionId: id, cwd: '/workspace/d', restarted: false, alive: true });
    await sandbox.client.closeSession(id);
  });

  test('outlive a hung child; sh is rebuilt with folder and exported variables', async () => {
    for (const program of ['bash', 'sh'] as const) {
      const id = await open(program);
      await sandbox.client.runInSession(id, run('cd /tmp; export A=1; f() { echo fun; }'));
      const hang = 'sh -c \'trap "" TERM; while :; do sleep 1; done\'; echo NEXT';
      const hung = await sandbox.client.runInSession(id, run(hang, { timeoutSeconds: 1 }));
      expect({ timedOut: hung.end.timedOut, stdout: hung.stdout }).toEqual({ timedOut: true, stdout: '' });
      const after = await sandbox.client.runInSession(id, run('pwd; echo $A; type f >/dev/null 2>&1 && f'));
      expect(after.stdout).toBe(program === 'bash' ? '/tmp\n1\nfun\n' : '/tmp\n1\n');
      expect(after.end.session?.restarted).toBe(program === 'sh');
      await sandbox.client.closeSession(id);
    }
  });

  test('are frozen between commands, whatever they left running', async () => {
    const id = await open();
    const left = await sandbox.client.runInSession(
      id,
      run('for n in 1 2 3; do (setsid sh -c "while :; do date >> /workspace/ticks; done" &) ; done; sleep 0.3'),
    );
    expect(left.end.swept).toBeGreaterThan(0);
    const first = await sandbox.client.takeSnapshot();
    const second = await sandbox.client.takeSnapshot();
    expect(second.manifestDigest).toBe(first.manifestDigest);
    await sandbox.client.runInSession(id, run('date >> /workspace/ticks'));
    expect(await sandbox.client.restore(first.id)).toMatchObject({ verified: true, manifestDigest: first.manifestDigest });
    await expect(sandbox.client.runInSession(id, run('true'))).rejects.toMatchObject({ code: 'AF_SESSION_UNKNOWN' });
  });

  test('a shell that was replaced by a program cannot act between commands, nor outlive a restart of the tools', async () => {
    const id = await open('bash');
    // It reports the end of the run, then keeps writing and has the kernel send it SIGCONT.
    const impostor = `import ctypes, os, sys, time
out = os.open("/workspace/alive", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)
libc = ctypes.CDLL(None)
event = (ctypes.c_uint64 * 8)(0, 18)
timer = ctypes.c_int()
period = (ctypes.c_int64 * 4)(0, 5000000, 0, 5000000)
libc.syscall(222, 1, ctypes.byref(event), ctypes.byref(timer)); libc.syscall(223, timer, 0, ctypes.byref(period), None)
os.write(15, b"\\0r " + sys.argv[1].encode() + b" 0\\n/\\n\\0")
while True:
    os.write(out, b"tick\\n"); time.sleep(0.001)
`;
    await sandbox.client.writeFile('/workspace/impostor.py', impostor);
    const replaced = await sandbox.client.runInSession(
      id,
      run('exec 15>/proc/$$/fd/11; exec python3 /workspace/impostor.py $__af_n', { timeoutSeconds: 5 }),
    );
    expect(replaced.end.session).toMatchObject({ alive: true });
    const first = await sandbox.client.takeSnapshot();
    const second = await sandbox.client.takeSnapshot();
    expect(second.manifestDigest).toBe(first.manifestDigest);
    const { tools } = await sandbox.client.info();
    await sandbox.client.restartTools();
    await eventually('fresh tools', 60, async () => {
      const info = await sandbox.client.info();
      return info.ready && info.tools.instance !== tools.instance;
    });
    expect(await sandbox.client.sessions()).toEqual([]);
    expect((await shell(sandbox, 'ps -e -o args 2>/dev/null | grep -c "[i]mpostor" || true')).stdout.trim()).toMatch(/^0?$/);
  });
});

describe('commands that live, in a real pod', () => {
  test('have a terminal, also with a read-only root and without privileges', async () => {
    const request = slow("trap 'echo INT; exit 5' INT; stty size; tty; echo ready; while :; do sleep 0.05; done", {
      pty: { rows: 30, columns: 90 },
    });
    const running = sandbox.client.run(request);
    await started(request);
    await eventually('it is ready', 20, async () => {
      for await (const event of sandbox.client.follow(request.execId)) if ('text' in event && event.text.includes('ready')) return true;
      return false;
    });
    await sandbox.client.resizeTerminal(request.execId, 31, 91);
    await sandbox.client.writeStdin(request.execId, 1, '\u0003');
    const { stdout, end } = await running;
    expect(stdout).toContain('30 90\r\n/dev/pts/');
    expect(stdout).toContain('INT\r\n');
    expect(end.exitCode).toBe(5);
    // The walls hold on a terminal too.
    const walls = await sandbox.client.run(
      slow('cat /.agentfleet/bin/runner; unshare -U true; echo x > /etc/x; true', { pty: { rows: 24, columns: 80 } }),
    );
    expect(walls.stdout).toMatch(/[Pp]ermission denied|Operation not permitted/);
    expect(walls.stdout).not.toContain('ELF');
  });

  test('take input in parts', async () => {
    const request = slow('while read line; do echo "got $line"; done', { stdinMode: 'Open' });
    const running = sandbox.client.run(request);
    await started(request);
    await sandbox.client.writeStdin(request.execId, 1, 'one\n');
    expect(await sandbox.client.writeStdin(request.execId, 1, 'one\n')).toMatchObject({ repeated: true });
    await sandbox.client.writeStdin(request.execId, 2, 'two\n', true);
    expect((await running).stdout).toBe('got one\ngot two\n');
  });

  test('read beside one that writes, and cannot write', async () => {
    await shell(sandbox, 'echo text > /workspace/f; chmod 644 /workspace/f');
    const writer = slow('sleep 60');
    const running = sandbox.client.run(writer);
    await started(writer);
    const tries =
      'cat f; echo no > f; chmod 600 f; touch f; mkdir g; echo no > /tmp/x; echo no > /dev/shm/x; rm -f f; git status >/dev/null 2>&1; stat -c %a f';
    const readers = await Promise.all([1, 2, 3].map(() => sandbox.client.run(slow(tries, { access: 'Read' }))));
    for (const { stdout } of readers) expect(stdout).toBe('text\n644\n');
    expect((await sandbox.client.readFile('/workspace/f')).toString()).toBe('text\n');
    await expect(sandbox.client.run(slow('true'))).rejects.toMatchObject({ code: 'AF_BUSY' });
    await sandbox.client.cancel(writer.execId);
    expect((await running).end.killed).toBe('Cancelled');
    expect(await sandbox.client.waitFor(writer.execId, 10)).toMatchObject({ killed: 'Cancelled' });
    expect((await shell(sandbox, 'ls /tmp/x /dev/shm/x /workspace/g 2>/dev/null; true')).stdout).toBe('');
  });
});
