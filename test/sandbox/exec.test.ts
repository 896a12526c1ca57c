import { describe, expect, test } from 'vitest';
import { execBounds, type ExecEvent, type ExecRequest } from '@agentfleet/protocol/keeper';
import { newExecId } from '@agentfleet/keeper/client';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { containerOf, killContainer, podOf } from './containers.ts';
import { eventually, shell, useNamespace } from './harness.ts';

const bench = useNamespace('exec');
let sandbox: Sandbox;
bench.share((opened) => (sandbox = opened), { toolsResources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '512Mi' } } });

/**
 * Returns names of processes that commands left. Not the runner's: a supervisor sends `end` before it exits, a spare
 * one starts after that, and neither is awaited. No process is started to look, so that there is no other to
 * distinguish.
 */
async function survivors(): Promise<readonly string[]> {
  const look = 'echo $$; for f in /proc/[0-9]*/stat; do read -r line < "$f" && echo "$line"; done 2>/dev/null';
  const [own = '', ...lines] = (await shell(sandbox, look)).stdout.trim().split('\n');
  return lines.flatMap((line) => {
    const [, pid, name = '', state = ''] = /^(\d+) \((.*)\) (\S)/.exec(line) ?? [];
    const ours = pid === own || name === 'runner' || name === 'exe'; // as it is called once it was executed
    return ours || state === 'Z' || state === 'X' ? [] : [name];
  });
}

describe('exec in a real pod', () => {
  test('outputs, exit code, standard input, environment and folder arrive', async () => {
    const { stdout, stderr, end } = await shell(sandbox, 'cat; echo "$GREETING in $PWD" >&2; exit 7', {
      stdin: 'hello',
      env: { GREETING: 'servus' },
      cwd: '/home/agent',
    });
    expect({ stdout, stderr, code: end.exitCode }).toEqual({ stdout: 'hello', stderr: 'servus in /home/agent\n', code: 7 });
  });

  test('a repeated execId replays and never runs again', async () => {
    const request: ExecRequest = { execId: newExecId(), tool: 'Shell', command: 'echo run >> /workspace/count; wc -l < /workspace/count' };
    const first = await sandbox.client.run(request);
    const second = await sandbox.client.run(request);
    expect(second).toEqual(first);
    expect((await shell(sandbox, 'wc -l < /workspace/count')).stdout.trim()).toBe('1');
    await expect(sandbox.client.run({ ...request, command: 'echo other' })).rejects.toMatchObject({
      status: 409,
      code: 'AF_EXEC_ID_REUSED',
    });
  });

  test('re-attaching from a sequence number gives the rest; an unknown execId is 404', async () => {
    const execId = newExecId();
    await sandbox.client.run({ execId, tool: 'Shell', command: 'echo a; sleep 0.2; echo b' });
    const seen: ExecEvent[] = [];
    for await (const event of sandbox.client.follow(execId, 2)) seen.push(event);
    expect(seen[0]).toMatchObject({ seq: 2 });
    expect(seen.at(-1)).toMatchObject({ type: 'end', exitCode: 0 });
    const unknown = sandbox.client.follow(newExecId());
    await expect(unknown.next()).rejects.toMatchObject({ status: 404, code: 'AF_EXEC_UNKNOWN' });
  });

  test('a command that is not there, or is not a program, has a defined end', async () => {
    const absent = await sandbox.client.run({ execId: newExecId(), tool: 'ExecCode', argv: ['no-such-command'] });
    expect(absent.end).toMatchObject({ exitCode: 127, error: { code: 'ENOENT' } });
    const data = await sandbox.client.run({ execId: newExecId(), tool: 'ExecCode', argv: ['/etc/passwd'] });
    expect(data.end).toMatchObject({ exitCode: 126, error: { code: 'EACCES' } });
    const lost = await sandbox.client.run({ execId: newExecId(), tool: 'ExecCode', argv: ['true'], cwd: '/workspace/none' });
    expect(lost.end.error).toMatchObject({ code: 'ENOENT' });
  });

  test('an output flood is cut at the limit, counted, and does not block', async () => {
    const { stdout, end } = await shell(sandbox, 'head -c 50000000 /dev/zero | tr "\\0" x; echo; echo end >&2', { timeoutSeconds: 60 });
    expect(end.exitCode).toBe(0);
    expect(end.bytes.stdout).toBe(50_000_001);
    expect(end.dropped.stdout + stdout.length).toBe(50_000_001);
    expect(stdout.length).toBeLessThanOrEqual(execBounds.outputLimitBytes);
  });

  test('a time-out ends the whole tree: setsid, double fork, cleared environment', async () => {
    const { end } = await shell(
      sandbox,
      'setsid sleep 300 & (setsid env -i /bin/sh -c "(sleep 301 &) ; sleep 302" &) ; trap "" TERM; sleep 303; sleep 304',
      { timeoutSeconds: 1 },
    );
    expect(end).toMatchObject({ timedOut: true, exitCode: null });
    expect(await survivors()).toEqual([]);
  });

  test('processes that outlive their command are killed', async () => {
    const { end } = await shell(sandbox, '(setsid sleep 300 >/dev/null 2>&1 &) ; (setsid sleep 300 >/dev/null 2>&1 &) ; echo out');
    expect(end.exitCode).toBe(0);
    expect(end.swept).toBe(2);
    expect(await survivors()).toEqual([]);
  });

  test('a fork bomb is stopped; runner, keeper and pod go on', async () => {
    // A shell's bomb dies by itself at the pod's process limit; this one goes on when a fork fails. It doubles twice a
    // second, so that its processes are counted before they exhaust the memory: a faster one would be kept below the
    // limit by the kernel's kills for memory for as long as it runs.
    const bomb = 'import os, time\nwhile True:\n  try: os.fork()\n  except OSError: pass\n  time.sleep(0.5)';
    const argv = ['python3', '-c', bomb];
    const { end } = await sandbox.client.run({
      execId: newExecId(),
      tool: 'ExecCode',
      argv,
      limits: { processes: 48 },
      timeoutSeconds: 60,
    });
    expect(end).toMatchObject({ timedOut: false, oom: false });
    expect(end.killed).toMatch(/^(ProcessLimit|Swept)$/);
    expect(await survivors()).toEqual([]);
    expect((await shell(sandbox, 'echo fine')).stdout).toBe('fine\n');
    expect((await containerOf(bench.kubectl, sandbox, 'tools')).restartCount).toBe(0);
  });

  test('one command at a time; cancel ends it', async () => {
    const execId = newExecId();
    const running = sandbox.client.run({ execId, tool: 'Shell', command: 'sleep 30', timeoutSeconds: 60 });
    await eventually('the command runs', 5, async () => (await sandbox.client.info()).running === execId);
    await expect(shell(sandbox, 'true')).rejects.toMatchObject({ status: 409, code: 'AF_BUSY' });
    await expect(sandbox.client.takeSnapshot()).rejects.toMatchObject({ code: 'AF_BUSY' });
    await sandbox.client.cancel(execId);
    expect((await running).end).toMatchObject({ killed: 'Cancelled' });
  });

  test('a single process killed for memory is reported as OOM; the keeper survives', async () => {
    const { end } = await shell(sandbox, 'python3 -c "x = bytearray(600 << 20); print(len(x))"', { timeoutSeconds: 30 });
    expect(end.exitCode).not.toBe(0);
    expect(end.oom).toBe(true);
    expect((await shell(sandbox, 'echo fine')).stdout).toBe('fine\n');
    expect((await containerOf(bench.kubectl, sandbox, 'keeper')).restartCount).toBe(0);
  });

  test('the whole container killed at once: the command is interrupted, the files stay, a fresh container follows', async () => {
    await sandbox.client.writeFile('/workspace/kept', 'kept');
    const execId = newExecId();
    const running = sandbox.client.run({ execId, tool: 'Shell', command: 'sleep 60', timeoutSeconds: 90 });
    await eventually('the command runs', 5, async () => (await sandbox.client.info()).running === execId);
    const before = (await sandbox.client.info()).tools.instance;
    await killContainer(bench.kubectl, sandbox, 'tools');
    expect((await running).end).toMatchObject({ interrupted: 'ToolsLost', exitCode: null });
    await eventually('a fresh tools container', 40, async () => {
      const { tools } = await sandbox.client.info();
      return tools.connected && tools.instance !== before;
    });
    expect((await shell(sandbox, 'cat /workspace/kept')).stdout).toBe('kept');
    expect((await podOf(bench.kubectl, sandbox)).status.containerStatuses.find((c) => c.name === 'keeper')?.restartCount).toBe(0);
  });
});
