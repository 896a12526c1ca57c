import { ResourceClient, type KubeObject, type Transport } from '@agentfleet/kube';
import { resources } from '@agentfleet/operator/resources';
import { auditSince, isWrite, markAudit, tally, type AuditEvent } from './auditLog.ts';
import type { TestEnvironment } from './environment.ts';
import { poll, type Running, type Subject } from './subject.ts';
import { latenciesOf, perObject, type Leftovers, type Recovery, type Result } from './result.ts';
import type { Scenario } from './scenarios.ts';
import { Tracker } from './tracker.ts';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cpuSecondsOf, machineSecondsOf } from './process.ts';

/** CPU seconds so far: of each part of the control plane, and of the whole machine. */
export interface Spent {
  readonly parts: Readonly<Record<string, number>>;
  readonly busy: number;
  readonly idle: number;
}

interface DaemonRecord {
  readonly name: string;
  readonly identity: { readonly pid: number };
}

/** Reads what the daemons of a control plane have used, from the records of who they are. */
export async function spentBy(folder: string): Promise<Spent> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json') && name !== 'watchdog.json');
  const parts = await Promise.all(
    names.map(async (file) => {
      const { name, identity } = JSON.parse(await readFile(join(folder, file), 'utf8')) as DaemonRecord;
      return [name, cpuSecondsOf(await readFile(`/proc/${identity.pid}/stat`, 'utf8'))] as const;
    }),
  );
  return { parts: Object.fromEntries(parts), ...machineSecondsOf(await readFile('/proc/stat', 'utf8')) };
}

const round = (value: number): number => Number(value.toFixed(2));

/**
 * Returns the CPU seconds between two reads, of the control plane for 1,000 objects, and the idle share of the machine, percent. A part
 * that was started again meanwhile counts from zero again: neither its use nor that of all together is known. Pure.
 */
export function spentBetween(
  before: Spent,
  after: Spent,
  objects: number,
): { readonly controlPlane: Readonly<Record<string, number>>; readonly idlePercent: number } {
  const anew = Object.entries(after.parts).some(([name, seconds]) => seconds < (before.parts[name] ?? 0));
  const each = Object.entries(anew ? {} : after.parts).map(
    ([name, seconds]) => [name, round(((seconds - (before.parts[name] ?? 0)) / objects) * 1000)] as const,
  );
  const [busy, idle] = [after.busy - before.busy, after.idle - before.idle];
  return { controlPlane: Object.fromEntries(each), idlePercent: busy + idle === 0 ? 0 : round((idle / (busy + idle)) * 100) };
}

export interface Load {
  readonly count: number;
  /** A second; Infinity: all at once. */
  readonly rate: number;
  readonly prefix: string;
}

export interface Loaded {
  readonly seconds: number;
  /** Delay of the last object behind its time: more than a little shows that the generator was the bottleneck. */
  readonly behindMs: number;
}

/** Creates objects at a steady rate, whatever the server answers to those before. Rejects when one is refused. */
async function createAll(
  transport: Transport,
  { resource, manifest }: Pick<Subject, 'resource' | 'manifest'>,
  tracker: Tracker,
  namespace: string,
  { count, rate, prefix }: Load,
): Promise<Loaded> {
  const client = new ResourceClient<KubeObject>(transport, resource);
  const began = performance.now();
  const calls: Promise<unknown>[] = [];
  let behindMs = 0;
  for (let index = 0; index < count; index += 1) {
    const due = began + (index / rate) * 1000;
    const early = due - performance.now();
    if (early > 1) await new Promise((resolve) => setTimeout(resolve, early));
    behindMs = Math.max(behindMs, performance.now() - due);
    const name = `${prefix}-${index}`;
    tracker.creating(name);
    const call = client.create({ ...manifest(name, namespace) }, { timeoutMs: 120_000 });
    call.catch(() => undefined);
    calls.push(call);
  }
  await Promise.all(calls);
  return { seconds: (performance.now() - began) / 1000, behindMs };
}

/** Objects that come first and do not count, so that nothing is measured cold. */
const warmUp = 20;
const readyTimeoutMs = 180_000;
/** After the last object is ready, writes may still come that belong to it. */
const settleMs = 1_500;

const wait = (ms: number): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, ms));
const seconds = (since: number): number => Number(((performance.now() - since) / 1000).toFixed(2));

export interface RunOptions {
  readonly environment: TestEnvironment;
  readonly subject: Subject;
  readonly scenario: Scenario;
  readonly run: number;
  readonly log: (line: string) => void;
}

/** Runs one scenario on one subject in fresh namespaces, and leaves nothing. */
export async function runOnce(options: RunOptions): Promise<Result> {
  const { environment, scenario, run } = options;
  const subject = scenario.warm === true ? options.subject.warm() : options.subject;
  const namespace = `bench-${Date.now().toString(36)}`;
  const place = {
    transport: environment.transport,
    kubeconfig: environment.kubeconfig,
    logs: environment.logs,
    namespace,
    system: `${namespace}-system`,
  };
  const namespaces = new ResourceClient<KubeObject>(environment.transport, resources.namespaces);
  for (const name of [namespace, place.system]) await namespaces.create({ metadata: { name } });
  const tracker = new Tracker({
    transport: environment.transport,
    namespace,
    resource: subject.resource,
    isReady: (one) => subject.isReady(one),
  });
  let running: Running | undefined;
  try {
    await tracker.opened();
    const replicas = scenario.kill === undefined ? 1 : 2;
    const warm = scenario.warm === true ? scenario.objects : 0;
    running = await subject.start(place, { objects: scenario.objects + warmUp, warm, replicas });
    const measurement = new Measurement({ ...options, subject, namespace, tracker, running });
    if (warm === 0) await measurement.warmUp();
    const measured = await measurement.measure();
    const leftovers = await measurement.deleteAll();
    return { scenario: scenario.name, subject: options.subject.name, run, ...measured, leftovers };
  } finally {
    // While the controller still runs: it has to let go of what it holds.
    for (const name of [namespace, place.system]) await namespaces.delete({ name });
    const isGone = async (): Promise<boolean> => (await namespaces.find({ name: namespace })) === undefined;
    await poll(`${namespace} is gone`, isGone, 120_000).catch((error: unknown) => options.log(String(error)));
    await running?.stop();
    await tracker.close();
  }
}

interface MeasurementOptions extends RunOptions {
  readonly namespace: string;
  readonly tracker: Tracker;
  readonly running: Running;
}

/** Time at which the leader got its signal, monotonic and wall ms, and the time since which only the other process can have written. */
interface Killed {
  readonly at: number;
  readonly wall: number;
  readonly othersFrom: number;
}

const inFlightMs = 150;

/** CPU seconds and MiB of all processes of a subject. */
interface Costs {
  readonly cpu: number;
  readonly rss: number;
  readonly growth: number;
  readonly whole: boolean;
}

type Measures = Omit<Result, 'scenario' | 'subject' | 'run' | 'leftovers'>;

/** One subject that runs, and what is measured of it. */
class Measurement {
  readonly #options: MeasurementOptions;

  constructor(options: MeasurementOptions) {
    this.#options = options;
  }

  async warmUp(): Promise<void> {
    const { environment, subject, tracker, namespace } = this.#options;
    await createAll(environment.transport, subject, tracker, namespace, { count: warmUp, rate: 50, prefix: 'first' });
    if (!(await tracker.until(() => tracker.ready === warmUp, readyTimeoutMs))) throw new Error('the first objects do not become ready');
    await wait(settleMs);
    tracker.reset();
  }

  async measure(): Promise<Measures> {
    const { environment, subject, scenario, tracker, namespace, running } = this.#options;
    const { objects, rate } = scenario;
    const mark = await markAudit(environment.audit);
    const [cpuBefore, rssBefore, generatorBefore] = [await this.#cpu(), await this.#rss(), process.cpuUsage()];
    await running.loopLagMs();
    const spentBefore = await spentBy(environment.daemons);
    const began = performance.now();
    const loading = createAll(environment.transport, subject, tracker, namespace, { count: objects, rate, prefix: 'task' });
    const killed = scenario.kill === undefined ? undefined : await this.#kill(scenario.kill);
    const loaded = await loading;
    // A process that ends by itself, such as one that lost its lease, is not started again: its figures would mean nothing.
    await tracker.until(() => tracker.ready === objects || this.#ended() > 0, readyTimeoutMs);
    const taken = seconds(began);
    const spent = spentBetween(spentBefore, await spentBy(environment.daemons), objects);
    const { user, system } = process.cpuUsage(generatorBefore);
    const loopLagP99 = (await running.loopLagMs()) ?? null;
    await wait(settleMs);
    const [cpu, rss] = [(await this.#cpu()) - cpuBefore, await this.#rss()];
    const events = await auditSince(environment.audit, mark, subject.agent);
    return {
      objects,
      rate: Number.isFinite(rate) ? rate : null,
      ready: tracker.ready,
      ended: this.#ended(),
      seconds: taken,
      ...latenciesOf(tracker.timelines.values()),
      // The pod was there before the object.
      ...(scenario.warm === true ? { createToPod: null, podToObject: null } : {}),
      ...perObject(tally(events), objects),
      ...this.#costs({ cpu, rss, growth: rss - rssBefore, whole: killed === undefined && this.#ended() === 0 }),
      loopLagP99: loopLagP99 === null ? null : Number(loopLagP99.toFixed(1)),
      ...spent,
      generatorCpuSeconds: Number(((user + system) / 1e3 / objects).toFixed(2)),
      generatorBehind: Math.round(loaded.behindMs),
      recovery: killed === undefined ? null : this.#recovery(killed, events),
      idleCpuPercent: await this.#idle(scenario.idleSeconds),
    };
  }

  /** For 1,000 objects. A process that is gone takes its figures along: then nothing is `whole`. */
  #costs({ cpu, rss, growth, whole }: Costs): Pick<Result, 'cpuSeconds' | 'rssGrowthMiB' | 'rssMiB'> {
    const thousands = this.#options.scenario.objects / 1000;
    return {
      cpuSeconds: whole ? Number((cpu / thousands).toFixed(2)) : null,
      rssGrowthMiB: whole ? Number((growth / thousands).toFixed(1)) : null,
      rssMiB: Math.round(rss),
    };
  }

  /** Deletes all objects at once, and returns what stays. */
  async deleteAll(): Promise<Leftovers> {
    const { environment, subject, tracker, namespace } = this.#options;
    const began = performance.now();
    const client = new ResourceClient(environment.transport, subject.resource);
    await client.deleteCollection({ namespace }, { timeoutMs: 300_000, propagationPolicy: 'Background' });
    await tracker.until(() => tracker.liveObjects.size === 0 && tracker.livePods.size === 0, readyTimeoutMs);
    return { objects: tracker.liveObjects.size, pods: tracker.livePods.size, seconds: seconds(began) };
  }

  /** Ends the leader when half of the objects are ready. */
  async #kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<Killed> {
    const { tracker, running, scenario } = this.#options;
    await tracker.until(() => tracker.ready >= scenario.objects / 2, readyTimeoutMs);
    const [at, wall] = [performance.now(), Date.now()];
    await running.processes[0]?.end(signal);
    // Requests that a killed process had sent may be received a little after its end; a process that ends in order sends nothing more.
    return { at, wall, othersFrom: Date.now() + (signal === 'SIGKILL' ? inFlightMs : 0) };
  }

  #recovery({ at, wall, othersFrom }: Killed, events: readonly AuditEvent[]): Recovery {
    const { tracker, subject, scenario } = this.#options;
    const ours = new Set(['pods', `${subject.resource.plural}/status`, subject.resource.plural]);
    const first = events.find((event) => event.receivedAt > othersFrom && isWrite(event) && event.code < 400 && ours.has(event.resource));
    const readyAt = [...tracker.timelines.values()].map(({ ready }) => ready ?? Number.NaN);
    return {
      lost: scenario.objects - tracker.ready,
      duplicated: [...tracker.timelines.keys()].filter((name) => (tracker.pods.get(name)?.size ?? 0) > 1).length,
      firstWriteSeconds: first === undefined ? null : (first.receivedAt - wall) / 1000,
      allReadySeconds: Number(((Math.max(...readyAt.filter((one) => !Number.isNaN(one))) - at) / 1000).toFixed(2)),
    };
  }

  async #idle(duration: number | undefined): Promise<number | null> {
    if (duration === undefined) return null;
    // Work that follows a load, such as garbage collection and events, is not rest.
    await wait(5_000);
    const before = await this.#cpu();
    await wait(duration * 1000);
    return Number(((((await this.#cpu()) - before) / duration) * 100).toFixed(2));
  }

  /** Processes that ended by themselves. */
  #ended(): number {
    const { running, scenario } = this.#options;
    return running.processes.slice(scenario.kill === undefined ? 0 : 1).filter(({ alive }) => !alive).length;
  }

  async #cpu(): Promise<number> {
    return this.#sum((one) => one.cpuSeconds());
  }

  async #rss(): Promise<number> {
    return this.#sum((one) => one.rssMiB());
  }

  /** Over the processes that live. */
  async #sum(figure: (process: Running['processes'][number]) => Promise<number>): Promise<number> {
    const figures = await Promise.all(this.#options.running.processes.filter(({ alive }) => alive).map(figure));
    return figures.reduce((a, b) => a + b, 0);
  }
}
