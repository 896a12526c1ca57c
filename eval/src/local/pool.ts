import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAttemptEngine, type AttemptEngine } from '@agentfleet/agent/attempt';
import { collectCoverage } from '@agentfleet/agent/coverage';
import { createDialer } from '@agentfleet/agent/egress';
import { loopStrategy } from '@agentfleet/agent/loop';
import { repair } from '@agentfleet/agent/search';
import { createRails, installedGrammars, loadGrammars } from '@agentfleet/agent/rails';
import { createArtifactStore, type ArtifactStore } from '@agentfleet/agent/store';
import { importWorkspace } from '@agentfleet/agent/workspace';
import { systemClock } from '@agentfleet/kube';
import { homeDir, workspaceDir } from '@agentfleet/protocol/keeper';
import type { ArtifactPlace, PoolBrief } from '@agentfleet/protocol/pool';
import { openTracing, type Tracing, type TracingConfig } from '@agentfleet/protocol/tracing';
import type { PackTask } from '../format/index.ts';
import {
  defaultBudget,
  type AttemptBudget,
  type AttemptOptions,
  type EvalPool,
  type ModelOptions,
  compute,
  digestOf,
  variantsOf,
  type Variant,
} from '../run/run.ts';
import { notAttempted, type Attempted } from '../run/results.ts';
import type { Observed, Scenario } from '../scenarios/scenario.ts';
import { attempt, judgeHidden, judgePatch, agentTaskOf, briefOf } from './attempt.ts';
import { LocalModel, play } from './model.ts';
import { buildPrograms, type Programs } from './programs.ts';
import { ProcessSandbox, digestOfFolders, poolSources } from './sandbox.ts';
import { PartServers } from './servers.ts';

export interface LocalPoolOptions {
  /** Root of the sources. */
  readonly checkout: string;
  /** Budget of each attempt. */
  readonly budget?: AttemptBudget;
  /** Does the tasks in place of the search for edits. */
  readonly model?: ModelOptions | undefined;
  /** Destination of spans; absent: none are sent. */
  readonly tracing?: TracingConfig;
}

interface Parts {
  readonly folder: string;
  readonly programs: Programs;
  readonly engine: AttemptEngine;
  /** Digest of the sources. */
  readonly sources: string;
  readonly model: LocalModel | undefined;
  readonly tracing: Tracing;
}

/** A pool of processes of this machine: real engine, keeper, runner and servers, without a cluster. */
export class LocalPool implements EvalPool {
  readonly name = 'local';
  readonly #parts: Parts;
  readonly #servers: PartServers;
  readonly #budget: AttemptBudget;
  readonly #options: LocalPoolOptions;

  private constructor(parts: Parts, options: LocalPoolOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#servers = new PartServers(options.checkout);
    this.#budget = options.budget ?? defaultBudget;
  }

  /** Builds the programs of sandboxes. @throws EvalError where this machine cannot build them */
  static async open(options: LocalPoolOptions): Promise<LocalPool> {
    const folder = await mkdtemp(join(tmpdir(), 'agentfleet-eval-'));
    for (const name of ['keeper', 'bin', 'artifacts', 'scratch']) await mkdir(join(folder, name));
    try {
      const programs = await buildPrograms(options.checkout, { keeper: join(folder, 'keeper'), bin: join(folder, 'bin') });
      const tracing = await openTracing(options.tracing ?? null, { service: 'agentfleet-worker', version: 'local' });
      const engine = await engineIn(join(folder, 'scratch'), tracing);
      const sources = await digestOfFolders(options.checkout, poolSources);
      const model = options.model && (await LocalModel.open(options.checkout, folder, options.model, options.tracing));
      return new LocalPool({ folder, programs, engine, sources, model, tracing }, options);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  /** Starts the servers of the variant too: one that cannot start must end a run before it begins, not fail each of its attempts. */
  async digest(variant: Variant): Promise<string> {
    await this.#brief(variant);
    const { ablations, snapshots } = variant;
    const { model } = this.#options;
    return digestOf({
      pool: 'local',
      sources: this.#parts.sources,
      compute,
      ablations,
      snapshots,
      budget: this.#budget,
      ...(model && { model }),
    });
  }

  #brief(variant: Variant): Promise<PoolBrief> {
    return briefOf(variant, this.#servers, this.#storage, this.#parts.model?.expert);
  }

  /** Writes the conversations to a folder; returns their number. */
  async keepConversations(folder: string): Promise<number> {
    return (await this.#parts.model?.keep(folder)) ?? 0;
  }

  get #storage(): ArtifactPlace {
    return { type: 'Volume', path: join(this.#parts.folder, 'artifacts'), claim: 'artifacts' };
  }

  #store(): ArtifactStore {
    return createArtifactStore(this.#storage, { clock: systemClock, random: Math.random, spool: this.#parts.folder });
  }

  async attempt(task: PackTask, variant: Variant, { seed, signal, onWait }: AttemptOptions): Promise<Attempted> {
    const began = performance.now();
    const seconds = (): number => (performance.now() - began) / 1000;
    try {
      const brief = await this.#brief(variant);
      await using sandbox = await ProcessSandbox.open(this.#parts.programs, signal);
      const { keeper } = sandbox;
      const models = this.#parts.model && { models: this.#parts.model.models };
      const loseWorkerAt = this.#options.model?.loseWorkerAt;
      const environment = {
        engine: this.#parts.engine,
        brief,
        store: this.#store(),
        keeper,
        seed,
        signal,
        ...models,
        loseWorkerAt,
        onWait,
      };
      const done = await attempt(agentTaskOf(task, variant, this.#budget), environment);
      if (done.result !== 'Succeeded' && done.class !== 'Unproved') return { ...done, hidden: 'NotJudged', wallSeconds: seconds() };
      const passed = await judgeHidden(task, keeper, signal);
      return { ...done, hidden: passed ? 'Passed' : 'Failed', wallSeconds: seconds() };
    } catch (error) {
      signal.throwIfAborted();
      return notAttempted(error, seconds());
    }
  }

  /** Plays a scenario with a task, without learned parts, because their judgement is no part of the scenario. */
  async play(scenario: Scenario, task: PackTask, signal: AbortSignal): Promise<Observed> {
    const [, alone] = variantsOf(['Learned']) as [Variant, Variant];
    const brief = await briefOf(alone, this.#servers, this.#storage);
    await using sandbox = await ProcessSandbox.open(this.#parts.programs, signal);
    const environment = { engine: this.#parts.engine, brief, store: this.#store(), keeper: sandbox.keeper, seed: task.seed, signal };
    return await play(scenario, task, agentTaskOf(task, alone, this.#budget), environment);
  }

  /** Judges another pool's result for a task, in a sandbox of this machine. */
  async judgePatch(task: PackTask, patch: string, signal: AbortSignal): Promise<boolean> {
    await using sandbox = await ProcessSandbox.open(this.#parts.programs, signal);
    return await judgePatch(task, patch, sandbox.keeper, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.model?.[Symbol.asyncDispose]();
    await this.#servers[Symbol.asyncDispose]();
    await this.#parts.tracing.close();
    await rm(this.#parts.folder, { recursive: true, force: true });
  }
}

async function engineIn(scratch: string, tracing: Tracing): Promise<AttemptEngine> {
  const grammars = await loadGrammars(installedGrammars());
  const openDialer = createDialer({ clock: systemClock, env: process.env });
  return createAttemptEngine({
    search: repair,
    loop: loopStrategy,
    tracing,
    rails: createRails({ grammars, home: homeDir }),
    grammars,
    importWorkspace: (workspace, { rules, ...ports }) => importWorkspace(workspace, { ...ports, dialer: openDialer(rules), scratch }),
    collectCoverage: (request) => collectCoverage({ ...request, cwd: workspaceDir }),
    openEgress: () => Promise.reject(new Error('a local sandbox reaches nothing')),
  });
}
