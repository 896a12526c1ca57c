import { setTimeout as sleep } from 'node:timers/promises';
import { isApiError, ResourceClient } from '@agentfleet/kube';
import { seededRandom } from '@agentfleet/kube/testing';
import { resources, type Pod } from '@agentfleet/operator/resources';
import { labels } from '@agentfleet/protocol/pool';
import { gather } from './evidence.ts';
import { inventory } from './inventory.ts';
import { judge, type Verdict } from './judge.ts';
import { drawVictim, drawWait, killOne, residentMiB, type Victim } from './killer.ts';
import { slopeOf, verdictOf, type Sample, type Slope } from './slope.ts';
import type { Stage } from './stage.ts';
import { draw, specOf, type Drawn } from './tasks.ts';
import { Watch } from './watch.ts';

interface SoakOptions {
  readonly tasks: number;
  /** Nothing is submitted after so many minutes; 0: there is no such bound. */
  readonly minutes: number;
  /** Nothing is submitted after it either; what was submitted is judged. */
  readonly enough: AbortSignal;
  readonly seed: number;
  /** Mean time from one death to the next; 0: no part dies. */
  readonly everyMs: number;
  /** Tasks that are submitted and have not finished, at most. */
  readonly ahead: number;
  readonly say: (line: string) => void;
}

export interface PartMemory {
  readonly part: string;
  readonly slope: Slope | undefined;
  readonly verdict: ReturnType<typeof verdictOf>;
}

export interface Outcome {
  readonly submitted: number;
  readonly passed: boolean;
  readonly seconds: number;
  readonly verdict: Verdict;
  readonly deaths: ReadonlyMap<Victim, number>;
  readonly memory: readonly PartMemory[];
}

/** Parts whose memory is followed. */
const followed = ['operator', 'worker', 'gateway'] as const;
const sampleMs = 10_000;
const pollMs = 500;
/** A task that takes longer is lost. */
const stuckMs = 1_200_000;
/** Most time until what ended tasks hold is taken away, ms. */
const settleMs = 120_000;

/** Submits the tasks while parts die, waits for all ends, and judges by what is there. */
export async function runSoak(stage: Stage, options: SoakOptions): Promise<Outcome> {
  const before = await inventory(stage.kubectl, stage.namespace);
  const watch = await Watch.open(stage.transport, stage.namespace);
  const soak = new Soak(stage, watch, options);
  const began = performance.now();
  try {
    const submitted = await soak.play();
    const seconds = (performance.now() - began) / 1000;
    options.say(`all that will finish has finished after ${seconds.toFixed(0)} s; the judgement begins`);
    const verdict = judge(await gather(stage, watch, { submitted, before, settleMs }));
    const memory = soak.memory();
    const good = [verdict.lost, verdict.twice, verdict.wrong, verdict.orphans].every(({ length }) => length === 0);
    return {
      submitted: submitted.length,
      passed: good && memory.every((part) => part.verdict !== 'Grows'),
      seconds,
      verdict,
      deaths: soak.deaths,
      memory,
    };
  } finally {
    await watch.close();
  }
}

class Soak {
  readonly deaths = new Map<Victim, number>();
  readonly #stage: Stage;
  readonly #watch: Watch;
  readonly #options: SoakOptions;
  readonly #samples = new Map<string, Sample[]>();
  readonly #stop = new AbortController();
  readonly #submitted: Drawn[] = [];
  readonly #orders: Promise<void>[] = [];
  /** Time at which the second half began: the parts whose memory is followed die no more, so that growth would show. */
  #half = Infinity;

  constructor(stage: Stage, watch: Watch, options: SoakOptions) {
    this.#stage = stage;
    this.#watch = watch;
    this.#options = options;
  }

  /** Submits, and resolves when all tasks have finished or nothing has finished for too long. */
  async play(): Promise<readonly Drawn[]> {
    const beside = [this.#kill(), this.#follow()];
    try {
      await this.#submit();
      await Promise.all(this.#orders);
    } finally {
      this.#stop.abort();
      await Promise.all(beside);
    }
    return this.#submitted;
  }

  memory(): readonly PartMemory[] {
    return followed.map((part) => {
      const slope = slopeOf(this.#samples.get(part) ?? [], this.#half);
      return { part, slope, verdict: verdictOf(slope) };
    });
  }

  async #submit(): Promise<void> {
    const { tasks, minutes, enough, ahead, seed, say } = this.#options;
    const random = seededRandom(seed);
    const requester = await this.#whoAmI();
    const began = performance.now();
    const until = minutes === 0 ? Infinity : began + minutes * 60_000;
    const isHalf = (): boolean => this.#submitted.length >= tasks / 2 || performance.now() > (began + until) / 2;
    const isAll = (): boolean => this.#submitted.length >= tasks || enough.aborted || performance.now() > until;
    let [last, lastAt] = [0, performance.now()];
    while (!isAll() || this.#watch.finished < this.#submitted.length) {
      while (!isAll() && this.#submitted.length - this.#watch.finished < ahead) {
        const drawn = draw(this.#submitted.length, random);
        await this.#create(drawn);
        this.#submitted.push(drawn);
        if (drawn.cancelAfter !== undefined) this.#orders.push(this.#cancel(drawn, requester));
      }
      if (this.#half === Infinity && isHalf()) {
        this.#half = performance.now();
        say(`the second half begins: ${followed.join(', ')} die no more`);
      }
      await sleep(pollMs);
      const { finished } = this.#watch;
      if (Math.floor(finished / 50) > Math.floor(last / 50)) say(`${finished} of ${tasks} have finished`);
      if (finished > last) [last, lastAt] = [finished, performance.now()];
      else if (performance.now() - lastAt > stuckMs) return say(`nothing has finished for ${stuckMs / 1000} s`);
    }
  }

  async #create(drawn: Drawn): Promise<void> {
    const { transport, namespace } = this.#stage;
    const body = { metadata: { name: drawn.name, namespace }, spec: specOf(drawn) };
    await persist(() => new ResourceClient(transport, resources.agentTasks).create(body as never));
  }

  async #cancel({ name, cancelAfter = 0 }: Drawn, requester: string): Promise<void> {
    const { transport, namespace } = this.#stage;
    await sleep(cancelAfter * 1000);
    if (this.#watch.hasFinished(name)) return;
    const body = { metadata: { name, namespace }, spec: { taskRef: { name }, type: 'Cancel', requester } };
    await persist(() => new ResourceClient(transport, resources.agentTaskOrders).create(body as never));
  }

  async #whoAmI(): Promise<string> {
    const { kubectl } = this.#stage;
    const { status } = await kubectl.json<{ readonly status: { readonly userInfo: { readonly username: string } } }>(['auth', 'whoami']);
    return status.userInfo.username;
  }

  /** Running pods of a part. */
  async #pods(victim: Victim): Promise<readonly Pod[]> {
    const { transport, namespace, system } = this.#stage;
    const component = victim === 'keeper' || victim === 'tools' ? 'sandbox' : victim;
    const where =
      victim === 'operator'
        ? { namespace: system, labelSelector: 'app.kubernetes.io/name=agentfleet,app.kubernetes.io/component notin (results,dashboard)' }
        : { namespace, labelSelector: `${labels.component}=${component}` };
    const all = await new ResourceClient(transport, resources.pods).list(where).catch(() => []);
    return all.filter(({ metadata, status }) => status?.phase === 'Running' && metadata.deletionTimestamp === undefined);
  }

  async #kill(): Promise<void> {
    const { everyMs, seed, say } = this.#options;
    if (everyMs === 0) return;
    const random = seededRandom(seed + 1);
    const target = { ...this.#stage, pods: (victim: Victim) => this.#pods(victim), random };
    while (await this.#rest(drawWait(everyMs, random))) {
      const victim = drawVictim(random, this.#half === Infinity ? [] : followed);
      const died = await killOne(victim, target).catch((error: unknown) => `not killed: ${String(error).split('\n')[0]}`);
      if (/^(?:process|pod) /.test(died)) this.deaths.set(victim, (this.deaths.get(victim) ?? 0) + 1);
      say(`${victim} dies: ${died}`);
    }
  }

  async #follow(): Promise<void> {
    while (await this.#rest(sampleMs)) {
      for (const part of followed) {
        for (const pod of await this.#pods(part)) {
          const id = (pod.status?.containerStatuses?.[0] as { readonly containerID?: string } | undefined)?.containerID ?? '';
          const found = await residentMiB(id);
          if (found === undefined) continue;
          const sample = { life: `${id} ${found.pid}`, at: performance.now(), mib: found.mib };
          this.#samples.set(part, [...(this.#samples.get(part) ?? []), sample]);
        }
      }
    }
  }

  /** False: it is over. */
  async #rest(ms: number): Promise<boolean> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    return !this.#stop.signal.aborted;
  }
}

/** Asks again while the API server is away. An object that is there already was made by an answer that was lost. */
async function persist(ask: () => Promise<unknown>): Promise<void> {
  for (const until = performance.now() + 300_000; ;) {
    try {
      return void (await ask());
    } catch (error) {
      if (isApiError(error) && error.code === 409) return;
      if ((isApiError(error) && error.code < 500 && error.code !== 429 && error.code !== 403) || performance.now() > until) throw error;
      await sleep(pollMs);
    }
  }
}
