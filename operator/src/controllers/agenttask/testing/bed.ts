import {
  createTransport,
  Informer,
  silentLog,
  systemClock,
  type Controller,
  type KubeObject,
  type NewEvent,
  type Transport,
} from '@agentfleet/kube';
import { settle, startFakeServer, VirtualClock, type FakeApiServer } from '@agentfleet/kube/testing';
import type { ExpertPool } from '@agentfleet/protocol/api';
import { Registry } from 'prom-client';
import { createCaches } from '../../../runtime/caches.ts';
import type { Caches, OperatorConfig, OperatorContext } from '../../../runtime/context.ts';
import { resources } from '../../../runtime/resources.ts';
import { createAgentTaskOrderController } from '../../agenttaskorder/controller.ts';
import { createWarmPoolController } from '../../warmpool/index.ts';
import { createAgentTaskController } from '../controller.ts';
import { Invariants } from './invariants.ts';
import { newPool } from './objects.ts';
import { config, kinds, Stage } from './stage.ts';

/** One life of the operator: from its start to its crash. */
interface Operator {
  readonly controllers: readonly Controller[];
  readonly caches: Caches;
  readonly transport: Transport;
  readonly stop: () => Promise<void>;
}

/**
 * The controllers of tasks and orders on a fake API server, with a kubelet and workers that tests script. Time is
 * virtual for the controllers, and passes while a test waits.
 */
export class Bed extends Stage {
  readonly events: NewEvent[] = [];
  readonly invariants: Invariants;
  readonly #config: OperatorConfig;
  readonly #watching = new AbortController();
  readonly #observed: Promise<unknown>;
  #operator: Operator | undefined;

  private constructor(server: FakeApiServer, clock: VirtualClock, settings: OperatorConfig) {
    super(server, clock, createTransport(server.config, { userAgent: 'test/1' }));
    const options = { transport: this.transport, clock: systemClock, random: Math.random, log: silentLog };
    this.#config = settings;
    const { pods } = createCaches(options);
    // Those that have ended too, which no cache of the operator holds.
    const tasks = new Informer({ ...options, resource: resources.agentTasks });
    this.invariants = new Invariants({ tasks, pods });
    this.#observed = Promise.all([tasks.run(this.#watching.signal), pods.run(this.#watching.signal)]);
  }

  /** A server with the pool platform/coding, the prepared namespace team and one ready worker. */
  static async start(pool: ExpertPool = newPool(), changes: Partial<OperatorConfig> = {}): Promise<Bed> {
    // Objects of the server are as old as they are in the virtual time of the controllers.
    const time = new VirtualClock();
    const clock = { ...systemClock, now: (): number => time.now() };
    const bed = new Bed(await startFakeServer({ kinds, bookmarkMs: 20, clock }), time, { ...config, ...changes });
    for (const name of ['platform', 'team', 'other', config.namespace]) bed.server.createNamespace(name);
    await bed.createPool(pool);
    await bed.prepare(pool, ['team']);
    await bed.addWorker('w-1');
    await bed.startOperator();
    return bed;
  }

  async startOperator(): Promise<void> {
    const transport = createTransport(this.server.config, { userAgent: 'operator/1' });
    const caches = createCaches({ transport, clock: systemClock, random: Math.random, log: silentLog });
    const context = this.#context(transport, caches);
    const controllers = [
      createAgentTaskController(context, { pollMs: 5 }),
      createAgentTaskOrderController(context),
      createWarmPoolController(context, { pollMs: 5 }),
    ];
    const abort = new AbortController();
    const running = [...(Object.values(caches) as { run(signal: AbortSignal): Promise<void> }[]), ...controllers].map((part) =>
      part.run(abort.signal),
    );
    const ended = Promise.allSettled(running);
    const stop = async (): Promise<void> => {
      abort.abort();
      for (const controller of controllers) controller.kill();
      await ended;
      await transport.close();
    };
    this.#operator = { controllers, caches, transport, stop };
    await this.until('the caches are full', () => controllers.every((controller) => controller.hasSynced()));
  }

  #context(transport: Transport, caches: Caches): OperatorContext {
    return {
      config: this.#config,
      transport,
      clock: this.clock,
      random: Math.random,
      log: silentLog,
      registry: new Registry(),
      events: { record: (_: KubeObject, event: NewEvent) => void this.events.push(event) },
      caches,
      tokens: { issuer: () => 'https://kubernetes.default.svc', jwks: () => '{}', onChange: () => () => {} },
    };
  }

  /** The operator looks at all tasks that have ended, as it does every ten minutes. */
  sweep(): void {
    this.#operator?.caches.census.sweepSoon();
  }

  async stopOperator(): Promise<void> {
    await this.#operator?.stop();
    this.#operator = undefined;
  }

  /** Lets a quarter of a second pass for the controllers, and everybody act. */
  async step(): Promise<void> {
    await this.beat();
    await this.kubelet.act();
    for (const actor of this.actors) await actor();
    await this.clock.advance(250);
    await settle();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }

  /** Steps until it holds; fails after `steps` with what was waited for and the tasks as they are. */
  async until(what: string, holds: () => boolean, steps = 4000): Promise<void> {
    for (let i = 0; i < steps; i += 1) {
      if (holds()) return;
      await this.step();
    }
    throw new Error(
      `never came true: ${what}\n${JSON.stringify(
        this.server.objects(resources.agentTasks).map(({ status }) => status),
        null,
        1,
      )}\nfaults: ${this.invariants.faults.join('\n')}`,
    );
  }

  /** Whether watches of a resource show nothing new. */
  frozen = false;

  freeze(frozen: boolean, resource = 'agenttasks.agentfleet.dev'): void {
    this.frozen = frozen;
    if (frozen) this.server.watches.freeze(resource);
    else this.server.watches.thaw(resource);
  }

  /** Lets virtual time pass. */
  async pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds * 4; i += 1) await this.step();
  }

  async close(): Promise<void> {
    await this.stopOperator();
    this.#watching.abort();
    await this.#observed;
    await this.transport.close();
    await this.server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
