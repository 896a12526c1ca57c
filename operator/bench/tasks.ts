// Measures the time and the memory that the AgentTask controller takes for very many queued tasks: all are streamed
// from memory, looked at, and written once. Usage: node --expose-gc operator/bench/tasks.ts [tasks]
import { silentLog, systemClock, type Clock } from '@agentfleet/kube';
import { Registry } from 'prom-client';
import { createAgentTaskController } from '../src/controllers/agenttask/index.ts';
import { ManyTasks } from '../src/controllers/agenttask/queue/testing/manyTasks.ts';
import { createCaches } from '../src/runtime/caches.ts';
import type { OperatorContext } from '../src/runtime/context.ts';

interface Runs {
  run(signal: AbortSignal): Promise<unknown>;
}

const count = Number(process.argv[2] ?? '100000');
const namespaces = Array.from({ length: 50 }, (_, at) => `n${at}`);
const words = 'Make the failing tests of the parser pass without touching the lexer, and say why they failed. ';
const server = new ManyTasks({
  count,
  namespaces,
  namespaceOf: (at) => `n${at % 50}`,
  pool: { workers: { concurrency: 4 } },
  // A goal, files and checks as people write them: some 2.5 kB.
  spec: (at) => ({ goal: `${words.repeat(12)}${at}`, checks: [{ name: 'unit', command: ['npm', 'test', '--', `--shard=${at % 7}`] }] }),
});
/** No Lease grows old. */
const clock: Clock = { ...systemClock, now: () => Date.UTC(2030, 0, 1, 0, 1), monotonic: () => performance.now() / 1000 };
const options = { transport: server, clock, random: Math.random, log: silentLog };
const caches = createCaches(options);
const context: OperatorContext = {
  ...options,
  config: {
    namespace: 'agentfleet-system',
    images: { agent: 'agent:1', inference: 'inference:1', sandbox: 'sandbox:1', tools: 'tools:1' },
    egress: { registries: [], environment: {} },
    platformNamespaces: [],
    workerClusterRole: 'agentfleet-worker',
  },
  registry: new Registry(),
  events: { record: () => {} },
  caches,
  tokens: { issuer: () => 'https://kubernetes.default.svc', jwks: () => '{}', onChange: () => () => {} },
};
const abort = new AbortController();
const controller = createAgentTaskController(context);
const parts: readonly Runs[] = [...(Object.values(caches) as readonly Runs[]), controller];
const running = parts.map((part) => part.run(abort.signal));
const written = (): number => server.writes.get('PATCH agenttasks/status') ?? 0;
let highest = 0;
/** Reports whether all that was written is in the cache too, and not on its way any more. */
const shown = (): boolean => written() >= count && [...caches.tasks.lister.values()].every(({ status }) => status !== undefined);
while (!shown()) {
  await new Promise((resolve) => setTimeout(resolve, 500));
  highest = Math.max(highest, process.memoryUsage.rss());
}
await new Promise((resolve) => setTimeout(resolve, 1000));
const collect = globalThis.gc;
collect?.();
const { rss, heapUsed } = process.memoryUsage();
const { user, system } = process.cpuUsage();
const mib = (bytes: number): number => Math.round(bytes / 2 ** 20);
const writes = Object.fromEntries(server.writes);
console.log(
  JSON.stringify({
    tasks: count,
    rssMiB: mib(rss),
    highestRssMiB: mib(highest),
    heapMiB: mib(heapUsed),
    cpuSeconds: (user + system) / 1e6,
    writes,
  }),
);
abort.abort();
controller.kill();
await server.close();
await Promise.allSettled(running);
