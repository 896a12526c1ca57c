import type { ApiRequest, KubeObject, NewEvent } from '@agentfleet/kube';
import { seededRandom, settle, startFakeServer, VirtualClock, type FakeApiServer, type KindDefinition } from '@agentfleet/kube/testing';
import { ruled } from '../../src/revisions/testing/policies.ts';
import { resources } from '../../src/runtime/resources.ts';
import type { AskInfo } from '../../src/serving/index.ts';
import { newPool } from '../../src/controllers/agenttask/testing/objects.ts';
import { kinds, Stage } from '../../src/controllers/agenttask/testing/stage.ts';
import { History } from './history.ts';
import { InvariantChecker } from './invariants.ts';
import type { Lag } from './lag.ts';
import { Life, type ControllerSet } from './life.ts';
import { operatorRules } from './rules.ts';
import { Wire, writes, type Injection } from './wire.ts';

/** A write of the operator. */
export interface Write {
  readonly method: string;
  readonly path: string;
}

export interface WorldOptions {
  readonly controllerSet: ControllerSet;
  readonly seed: number;
  /** More of the pool platform/coding, `rollout`: its RolloutPolicy; undefined: there is no pool. */
  readonly pool: Readonly<Record<string, unknown>> | undefined;
  /** Returns the injection of the n-th write of the operator, counted from 1 when `counting` is set. */
  readonly injection: (n: number, world: World) => Verdict | undefined;
  /** The lag of the watches of a new operator. */
  readonly lag?: (life: number, world: World) => Lag | undefined;
  /** Namespaces that the operator watches; default: all. */
  readonly namespaces?: readonly string[];
}

/** Injection of a write, and whether the process goes on. */
export interface Verdict {
  readonly injection: Injection;
  readonly survives: boolean;
}

const more: readonly KindDefinition[] = [
  ...[resources.roles, resources.roleBindings, resources.deviceClasses, resources.resourceClaims, resources.controllerRevisions].map(
    (resource) => ({ resource }),
  ),
  { resource: resources.resourceSlices, selectableFields: ['spec.driver'] },
  { resource: resources.podTemplates },
  { resource: resources.jobs, statusSubresource: true, generation: true },
];
const budgets = { resource: resources.podDisruptionBudgets, statusSubresource: true, generation: true };

/** Steps of a quarter of a second after which watches that lag show what they hold back. */
const longestLag = 24;

/** Steps after which a run that still writes never ends. */
const mostSteps = 400;

/** Rounds of the event loop in which all that is due at one moment must be done. */
const mostRounds = 500;

/** A cluster in which the operator can die at any write: everything is virtual, and the same at every run. */
export class World extends Stage {
  readonly history: History;
  readonly checker: InvariantChecker;
  readonly events: NewEvent[] = [];
  readonly written: Write[] = [];
  /** Whether writes count, and can be fatal. */
  counting = false;
  /** Version of the server when writes began to count: no cache is older. */
  firstVersion = 0;
  /** Returns the answer of servers to `/v1/info`. */
  ask: AskInfo = () => Promise.reject(new Error('nobody answers'));
  readonly #options: WorldOptions;
  readonly #random: () => number;
  readonly #lives: Life[] = [];
  #doomed: Life | undefined;
  #lag: Lag | undefined;
  #lagged = 0;

  private constructor(server: FakeApiServer, clock: VirtualClock, random: () => number, options: WorldOptions) {
    super(server, clock, new Wire({ server, clock, userAgent: 'test/1' }));
    this.#options = options;
    this.#random = random;
    this.history = new History(server);
    this.checker = new InvariantChecker(server, this.history, operatorRules(options.namespaces));
  }

  static async start(options: WorldOptions): Promise<World> {
    const clock = new VirtualClock();
    const random = seededRandom(options.seed);
    const server = await startFakeServer({ kinds: [...kinds, ...more, budgets], bookmarkMs: 1000, clock, random });
    const world = new World(server, clock, random, options);
    for (const name of ['agentfleet-system', 'platform', 'team', 'other']) server.createNamespace(name);
    if (options.pool !== undefined) {
      const pool = newPool(await ruled(world.transport, 'coding', options.pool));
      await world.createPool(pool);
      if (options.controllerSet === 'tasks') await world.prepare(pool, ['team']);
    }
    if (options.controllerSet === 'tasks') await world.addWorker('w-1');
    return world;
  }

  get life(): Life | undefined {
    return this.#lives.at(-1);
  }

  /** Number of times that the operator was started. */
  get starts(): number {
    return this.#lives.length;
  }

  /** From here on writes count. */
  count(): void {
    this.counting = true;
    this.firstVersion = Number(this.server.version);
  }

  /** Starts an operator, beside no other one, and waits until its caches are full. */
  async startOperator(): Promise<void> {
    const { server, clock } = this;
    const { controllerSet, lag, namespaces } = this.#options;
    this.#lag = lag?.(this.#lives.length, this);
    this.#lagged = 0;
    const life = new Life({
      server,
      clock,
      controllerSet,
      ...(namespaces === undefined ? {} : { namespaces }),
      random: this.#random,
      injection: (of, request) => this.#injection(of, request),
      ask: (origin, signal, namespace) => this.ask(origin, signal, namespace),
      onHot: () => this.checker.fault('the operator wakes up again and again'),
      onEvent: (_: KubeObject, event) => void this.events.push(event),
      ...(this.#lag === undefined ? {} : { tap: this.#lag }),
    });
    this.#lives.push(life);
    await this.quiesce();
  }

  /** A quarter of a second for the operator, in which everybody acts. */
  async step(ms = 250): Promise<void> {
    if (this.life?.isDead === true) await this.startOperator();
    await this.beat();
    await this.kubelet.act();
    for (const actor of this.actors) await actor();
    await this.quiesce();
    if (this.#lag?.holds === true && (this.#lagged += 1) >= longestLag) this.#lag.release();
    await this.clock.advance(ms);
    await this.quiesce();
  }

  /** Steps until it holds; throws with what was waited for. */
  async until(what: string, holds: () => boolean, steps = 1500): Promise<void> {
    for (let i = 0; i < steps; i += 1) {
      if (holds()) return;
      await this.step();
    }
    const statuses = this.server.objects(resources.agentTasks).map(({ status }) => status);
    throw new Error(`never came true: ${what}\n${JSON.stringify(statuses, undefined, 1)}\n${this.checker.faults.join('\n')}`);
  }

  /** Lets virtual time pass, in long steps. */
  async pass(seconds: number, stepSeconds = 1): Promise<void> {
    for (let rest = seconds; rest > 0; rest -= stepSeconds) await this.step(stepSeconds * 1000);
  }

  /** Steps until nothing changes any more, and the operator has lived through everything that was planned. */
  async rest(): Promise<void> {
    for (let [calm, steps] = [0, 0]; calm < 8; steps += 1) {
      if (steps > mostSteps) throw new Error(`never comes to rest: ${JSON.stringify(this.written.slice(-6))}`);
      const before = this.#changes();
      await this.step();
      calm = this.#changes() === before ? calm + 1 : 0;
      if (this.#lag?.holds === true) calm = 0;
      if (calm < 8 || this.#doomed === undefined) continue;
      this.#doomed.kill();
      this.#doomed = undefined;
      calm = 0;
    }
  }

  /** Runs everything that is due now; no time passes. */
  async quiesce(): Promise<void> {
    for (let [calm, seen, rounds] = [0, -1, 0]; calm < 2; rounds += 1) {
      await settle();
      const count = this.server.requests.length + this.history.changes.length;
      const busy = this.#lives.some(({ isDead, wire }) => !isDead && wire.inFlight > 0);
      calm = !busy && count === seen ? calm + 1 : 0;
      seen = count;
      if (rounds === mostRounds) throw new Error(`never quiet: ${JSON.stringify(this.server.requests.slice(-4))}`);
    }
  }

  /** Reconciles of all lives. */
  async reconciles(): Promise<number> {
    let sum = 0;
    for (const life of this.#lives) for (const count of (await life.reconciles()).values()) sum += count;
    return sum;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const life of this.#lives) life.kill();
    await settle();
    await this.server.close();
  }

  #changes(): number {
    return this.history.changes.filter(({ kind }) => !kind.startsWith('leases')).length;
  }

  #injection(life: Life, request: ApiRequest): Injection | undefined {
    if (!this.counting || !writes(request)) return undefined;
    if (this.#doomed === life) {
      this.#doomed = undefined;
      life.kill();
      return 'never sent';
    }
    this.written.push({ method: request.method, path: request.path });
    const verdict = this.#options.injection(this.written.length, this);
    if (verdict === undefined) return undefined;
    if (verdict.injection === 'error after commit') this.#doomed = verdict.survives ? undefined : life;
    else if (!verdict.survives) life.kill();
    return verdict.injection;
  }
}
