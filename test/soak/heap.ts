// `node hack/bootstrap.mjs test/soak/heap.ts PID…`: what processes of Node.js hold, once a forced collection has run, by the protocol of V8's
// inspector. One line of JSON for each: pid, resident MiB before, and MiB of objects, heap and memory outside of it after. A process in a
// container is reached in its network namespace, and only without `--disable-sigusr1`, which our images have.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const port = 9229;
const mib = (bytes: number): number => Math.round((bytes / 2 ** 20) * 10) / 10;

/** Asks the inspector of this network namespace. */
async function look(): Promise<NodeJS.MemoryUsage> {
  const [target] = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as { readonly webSocketDebuggerUrl: string }[];
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '');
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', reject);
  });
  const ask = (
    id: number,
    method: string,
    params: object = {},
  ): Promise<{ readonly result: { readonly result: { readonly value: string } } }> =>
    new Promise((resolve) => {
      const heard = ({ data }: MessageEvent): void => {
        const answer = JSON.parse(String(data)) as { readonly id?: number };
        if (answer.id !== id) return;
        socket.removeEventListener('message', heard);
        resolve(answer as never);
      };
      socket.addEventListener('message', heard);
      socket.send(JSON.stringify({ id, method, params }));
    });
  await ask(1, 'HeapProfiler.enable');
  await ask(2, 'HeapProfiler.collectGarbage');
  const { result } = await ask(3, 'Runtime.evaluate', { expression: 'JSON.stringify(process.memoryUsage())' });
  socket.close();
  return JSON.parse(result.result.value) as NodeJS.MemoryUsage;
}

const [first = '', ...others] = process.argv.slice(2);
if (first === '--inside') console.log(JSON.stringify(await look()));
else
  for (const pid of [first, ...others]) {
    if (!/^[1-9]\d*$/.test(pid)) throw new Error(`PID "${pid}" must be the number of a process`);
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    if (command.includes('--disable-sigusr1')) throw new Error(`process ${pid} runs with --disable-sigusr1: take it out of its Dockerfile`);
    const resident = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
    process.kill(Number(pid), 'SIGUSR1');
    await sleep(1000);
    const own = [process.execPath, import.meta.filename, '--inside'];
    const { heapUsed, heapTotal, external } = JSON.parse(
      execFileSync('nsenter', ['-t', pid, '-n', ...own], { encoding: 'utf8' }),
    ) as NodeJS.MemoryUsage;
    const after = { objects: mib(heapUsed), heap: mib(heapTotal), outside: mib(external) };
    console.log(JSON.stringify({ at: new Date().toISOString(), pid: Number(pid), resident: mib(resident), ...after }));
  }
