// `npm run bench:operator:scale`: memory and rest of our operator with many tasks, as its image starts it. The API server
// is the fake one in a process of its own, so that neither its memory nor its CPU is in the figures.
//   --finished N (default 90000)   --live N (default 10000)   --rest SECONDS (default 60)
//   --node-flags "…" (default: as in its image)   --profile DIR: a CPU profile of the whole run   --json FILE: a line
import { fork } from 'node:child_process';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { imageFlags, startProcess } from '../ours.ts';
import { poll } from '../subject.ts';
import { type Measured, metricOf } from '../process.ts';
import { makeIdentity } from './identity.ts';
import { namespaces } from './population.ts';

const { values } = parseArgs({
  options: {
    finished: { type: 'string', default: '90000' },
    live: { type: 'string', default: '10000' },
    rest: { type: 'string', default: '60' },
    'node-flags': { type: 'string', default: imageFlags },
    profile: { type: 'string' },
    json: { type: 'string' },
  },
});
const [finished, live, rest] = [Number(values.finished), Number(values.live), Number(values.rest)];
const mostMs = 1_800_000;
/** Time to wait before rest is measured, ms: work that follows a load, such as garbage collection, is not rest. */
const settleMs = 15_000;
const scrapes = 9;

const wait = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));
const say = (line: string): void => void process.stderr.write(`${(performance.now() / 1000).toFixed(0).padStart(5)} s  ${line}\n`);

const folder = await mkdtemp(join(tmpdir(), 'agentfleet-scale-'));
const identity = await makeIdentity(folder);
const server = fork(fileURLToPath(new URL('server.ts', import.meta.url)), [folder, values.finished, values.live], {
  execArgv: ['--disable-warning=ExperimentalWarning', '--max-old-space-size=4000'],
});
let [port, running] = [0, 0];
server.on('message', (message: { readonly port?: number; readonly running?: number }) => {
  port = message.port ?? port;
  running = message.running ?? running;
});

async function startOperator(): Promise<{
  readonly operator: Measured;
  readonly page: () => Promise<string>;
  readonly isReady: () => Promise<boolean>;
}> {
  const env = {
    AGENTFLEET_SERVICE_ACCOUNT: identity.folder,
    KUBERNETES_SERVICE_HOST: '127.0.0.1',
    KUBERNETES_SERVICE_PORT: String(port),
  };
  const nodeFlags = values['node-flags'].split(' ').filter((word) => word !== '');
  const profile = values.profile === undefined ? undefined : resolve(values.profile);
  const operator = await startProcess(namespaces.system, 0, { nodeFlags, profile, env, log: join(folder, 'operator.log') });
  const page = async (): Promise<string> => (await fetch(operator.metrics)).text();
  const isReady = async (): Promise<boolean> =>
    fetch(`${operator.probes}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  return { operator, page, isReady };
}

/** MiB that the process has held at most. */
const peakOf = async ({ pid }: Measured): Promise<number> =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** MiB of it that belong to files, above all Node itself: pages that all its processes on a node share. */
const filesOf = async ({ pid }: Measured): Promise<number> =>
  Number(/^RssFile:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Times that its main thread went to sleep: how often something woke it. */
const sleepsOf = async ({ pid }: Measured): Promise<number> =>
  Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** Reconciles of all controllers so far. */
const looksOf = (page: string): number =>
  [...page.matchAll(/^controller_runtime_reconcile_total\{.*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);

/** Returns the size of a scrape by Prometheus, and the operator's time for it: the median of some scrapes, one after the other. */
async function scrapeOf(page: () => Promise<string>): Promise<Record<string, number>> {
  const times: number[] = [];
  let text = '';
  for (let count = 0; count < scrapes; count += 1) {
    const begun = performance.now();
    text = await page();
    times.push(performance.now() - begun);
  }
  const sorted = times.toSorted((a, b) => a - b);
  return {
    scrapeKiB: Math.round(Buffer.byteLength(text) / 1024),
    scrapeMs: Number((sorted[Math.floor(scrapes / 2)] ?? Number.NaN).toFixed(1)),
  };
}

/** Measures the activity of an operator that has nothing to do. */
async function restOf(operator: Measured, page: () => Promise<string>): Promise<Record<string, number>> {
  const looks = looksOf(await page());
  const [cpu, sleeps] = [await operator.cpuSeconds(), await sleepsOf(operator)];
  await wait(rest * 1000);
  const [restCpu, restSleeps] = [(await operator.cpuSeconds()) - cpu, (await sleepsOf(operator)) - sleeps];
  return {
    restCpuPercent: Number(((restCpu / rest) * 100).toFixed(3)),
    restWakesPerSecond: Number((restSleeps / rest).toFixed(2)),
    restReconcilesPerSecond: Number(((looksOf(await page()) - looks) / rest).toFixed(2)),
  };
}

async function assertAlive({ alive, log }: Measured): Promise<void> {
  if (!alive) throw new Error(`the operator ended: ${(await readFile(log, 'utf8')).split('\n').slice(-3).join('\n')}`);
}

async function measure(): Promise<Record<string, number>> {
  say(`${finished} tasks that have ended are being made`);
  await poll('the server is up', () => Promise.resolve(port > 0 || server.exitCode !== null), mostMs, 1_000);
  const { operator, page, isReady } = await startOperator();
  try {
    await poll('the operator is ready', async () => (await isReady()) || !operator.alive, 600_000, 500);
    await assertAlive(operator);
    await wait(settleMs);
    const [startRss, startPeak] = [await operator.rssMiB(), await peakOf(operator)];
    say(`ready: RSS ${startRss.toFixed(0)} MiB; ${live} tasks are made now`);
    await page();
    const before = await operator.cpuSeconds();
    server.send('live');
    await poll('all run', () => Promise.resolve(running >= live || !operator.alive), mostMs, 1_000);
    await assertAlive(operator);
    const cpu = (await operator.cpuSeconds()) - before;
    const loaded = await page();
    await wait(settleMs);
    const atRest = await restOf(operator, page);
    const last = await page();
    return {
      finished,
      live,
      rssWithFinishedMiB: Math.round(startRss),
      peakWithFinishedMiB: Math.round(startPeak),
      rssMiB: Math.round(await operator.rssMiB()),
      peakMiB: Math.round(await peakOf(operator)),
      filesMiB: Math.round(await filesOf(operator)),
      heapMiB: Math.round((metricOf(last, 'nodejs_heap_size_used_bytes') ?? Number.NaN) / 2 ** 20),
      cpuSecondsPer1000: live === 0 ? 0 : Number(((cpu / live) * 1000).toFixed(2)),
      loopLagP99Ms: Number(((metricOf(loaded, 'nodejs_eventloop_lag_p99_seconds') ?? Number.NaN) * 1000).toFixed(1)),
      ...atRest,
      ...(await scrapeOf(page)),
    };
  } finally {
    await operator.end();
  }
}

try {
  const result = await measure();
  process.stdout.write(`${JSON.stringify(result)}\n`);
  if (values.json !== undefined) await appendFile(values.json, `${JSON.stringify(result)}\n`);
} finally {
  server.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
}
