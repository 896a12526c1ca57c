import { createServedNamespaceController } from '../../src/controllers/expertpool/served/controller.ts';
import {
  fencedTransport,
  LeaderElector,
  leases,
  Manager,
  ResourceClient,
  silentLog,
  type Clock,
  type Controller,
  type KubeObject,
  type ManagedCache,
  type NewEvent,
  type Timer,
  type Transport,
} from '@agentfleet/kube';
import type { FakeApiServer } from '@agentfleet/kube/testing';
import { Registry } from 'prom-client';
import { createAgentTaskController } from '../../src/controllers/agenttask/index.ts';
import { config } from '../../src/controllers/agenttask/testing/stage.ts';
import { createAgentTaskOrderController } from '../../src/controllers/agenttaskorder/controller.ts';
import { createEnergyModelController } from '../../src/controllers/energymodel/index.ts';
import { childKinds, ChildWriter, createChildCaches, createExpertPoolController } from '../../src/controllers/expertpool/index.ts';
import { createGpuCaches, createPlacementController, defaultDriver } from '../../src/controllers/placement/index.ts';
import { createWarmPoolController } from '../../src/controllers/warmpool/index.ts';
import { EngineReader, LatencyReader, QueryReader, RolloutLock, Trials } from '../../src/revisions/index.ts';
import { createCaches } from '../../src/runtime/caches.ts';
import type { OperatorContext } from '../../src/runtime/context.ts';
import { Heartbeats } from '../../src/runtime/heartbeats.ts';
import { InfoReader, type AskInfo } from '../../src/serving/index.ts';
import { leaseName } from '../../src/start.ts';
import { Wire, withTimeouts, type WireOptions } from './wire.ts';

/** Controllers that run: those of tasks, or all. */
export type ControllerSet = 'tasks' | 'all';

export interface LifeOptions extends Omit<WireOptions, 'userAgent' | 'clock' | 'injection'> {
  readonly server: FakeApiServer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly controllerSet: ControllerSet;
  readonly injection?: (
    life: Life,
    request: Parameters<NonNullable<WireOptions['injection']>>[0],
  ) => ReturnType<NonNullable<WireOptions['injection']>>;
  readonly ask: AskInfo;
  readonly onEvent: (object: KubeObject, event: NewEvent) => void;
  /** Called when it does not stop to wake up; it is ended then. */
  readonly onHot: () => void;
  /** Set for a candidate for the lease; without it the process leads alone. */
  readonly identity?: string;
  /** Namespaces that are watched; default: all. */
  readonly namespaces?: readonly string[];
}

/** Timers after which a life is a loop that makes the machine hot. */
const mostTimers = 10_000;

/** A clock whose timers end with the process. */
class MortalClock implements Clock {
  readonly #clock: Clock;
  readonly #set = new Set<Timer>();
  readonly #onHot: () => void;
  #over = false;
  #fired = 0;

  constructor(clock: Clock, onHot: () => void) {
    this.#clock = clock;
    this.#onHot = onHot;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(ms: number, run: () => void): Timer {
    if (this.#over) return { cancel: () => {} };
    const timer = this.#clock.after(ms, () => {
      this.#set.delete(timer);
      this.#fired += 1;
      if (this.#fired === mostTimers) this.#onHot();
      run();
    });
    this.#set.add(timer);
    const cancel = (): void => {
      this.#set.delete(timer);
      timer.cancel();
    };
    return { cancel };
  }

  end(): void {
    this.#over = true;
    for (const timer of this.#set) timer.cancel();
    this.#set.clear();
  }
}

/** The key of every namespace: nothing random may differ between two runs. */
const newLinkKey = (): string => 'k'.repeat(43);

/** One life of the operator, from its start to its death: the real controllers on a wire that can be cut. */
export class Life {
  readonly wire: Wire;
  readonly elector: LeaderElector | undefined;
  readonly #clock: MortalClock;
  readonly #abort = new AbortController();
  readonly #registry = new Registry();
  readonly #controllers: readonly Controller[];
  readonly #options: LifeOptions;
  #failure: unknown;

  constructor(options: LifeOptions) {
    this.#options = options;
    this.#clock = new MortalClock(options.clock, () => {
      options.onHot();
      this.kill();
    });
    const { injection, identity, namespaces: _, ...rest } = options;
    const decide =
      injection === undefined
        ? {}
        : { injection: (request: Parameters<NonNullable<WireOptions['injection']>>[0]) => injection(this, request) };
    this.wire = new Wire({ ...rest, ...decide, clock: this.#clock, userAgent: `operator/${identity ?? '1'}` });
    const transport = identity === undefined ? this.wire : withTimeouts(this.wire, this.#clock);
    this.elector = identity === undefined ? undefined : this.#candidate(transport, identity);
    const manager = new Manager({ clock: this.#clock, log: silentLog, registry: this.#registry, elector: this.elector });
    this.#controllers = this.#build(transport, manager);
    manager.run(this.#abort.signal).catch((error: unknown) => (this.#failure = error));
  }

  get isDead(): boolean {
    return this.wire.isCut;
  }

  /** Reason that it ended by itself, such as the loss of its lease. */
  get failure(): unknown {
    return this.#failure;
  }

  get hasSynced(): boolean {
    return this.#controllers.every((controller) => controller.hasSynced());
  }

  /** Ends it at once: no request, no event of a watch and no timer from here on. */
  kill(): void {
    this.wire.cut();
    this.#clock.end();
    this.#abort.abort();
    for (const controller of this.#controllers) controller.kill();
  }

  /** Returns the number of times that each controller has reconciled, by its name. */
  async reconciles(): Promise<ReadonlyMap<string, number>> {
    const metric = await this.#registry.getSingleMetric('controller_runtime_reconcile_total')?.get();
    const counts = new Map<string, number>();
    for (const { labels, value } of metric?.values ?? []) {
      const name = String(labels['controller']);
      counts.set(name, (counts.get(name) ?? 0) + value);
    }
    return counts;
  }

  #candidate(transport: Transport, identity: string): LeaderElector {
    const client = new ResourceClient(transport, leases, 'lease');
    const { random } = this.#options;
    return new LeaderElector({
      client,
      namespace: config.namespace,
      name: leaseName,
      identity,
      clock: this.#clock,
      random,
      log: silentLog,
    });
  }

  #build(transport: Transport, manager: Manager): readonly Controller[] {
    const { random, controllerSet, ask, onEvent, namespaces } = this.#options;
    const [clock, log, registry] = [this.#clock, silentLog, this.#registry];
    const options = { transport, clock, random, log, namespaces };
    const caches = createCaches(options);
    const context: OperatorContext = {
      config: { ...config, watchNamespaces: namespaces },
      transport: this.elector === undefined ? transport : fencedTransport(transport, this.elector.fence),
      clock,
      random,
      log,
      registry,
      events: { record: onEvent },
      caches,
      tokens: { issuer: () => 'https://kubernetes.default.svc', jwks: () => '{"keys":[{"kid":"a"}]}', onChange: () => () => {} },
    };
    for (const cache of Object.values(caches) as ManagedCache[]) manager.addCache(cache);
    const forTasks = [createAgentTaskController(context), createAgentTaskOrderController(context), createWarmPoolController(context)];
    const controllers = controllerSet === 'tasks' ? forTasks : [...forTasks, ...this.#forPools(context, options, manager, ask)];
    for (const controller of controllers) manager.addController(controller);
    return controllers;
  }

  #forPools(
    context: OperatorContext,
    options: Parameters<typeof createChildCaches>[0],
    manager: Manager,
    ask: AskInfo,
  ): readonly Controller[] {
    const children = createChildCaches(options);
    for (const cache of Object.values(children) as ManagedCache[]) manager.addCache(cache);
    const gpus = createGpuCaches(options, defaultDriver.driver);
    for (const cache of Object.values(gpus) as ManagedCache[]) manager.addCache(cache);
    const writer = new ChildWriter(context.transport, childKinds(context.caches, children));
    const infos = new InfoReader({ ask, clock: context.clock, log: context.log });
    const { clock, log } = context;
    const nobody = { ask: () => Promise.resolve(''), clock, log };
    const trials = new Trials(context, new EngineReader(nobody), new QueryReader(nobody));
    const lock = new RolloutLock(context.transport);
    const latencies = new LatencyReader({ expert: nobody.ask, gateway: nobody.ask, clock, log });
    const heartbeats = new Heartbeats(context.caches.leases, context.clock);
    return [
      createServedNamespaceController(context, { children, writer, newLinkKey }),
      createExpertPoolController(context, { children, writer, heartbeats, infos, latencies, ask, trials, lock }),
      createEnergyModelController(context, { children, writer, infos, trials, lock }),
      createPlacementController(context, gpus, children.controllerRevisions),
    ];
  }
}
