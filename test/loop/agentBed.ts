import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ArtifactStore } from '@agentfleet/agent/store';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import type { ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import { afterAll, afterEach, beforeEach, describe, test } from 'vitest';
// Relatively, so that planted bugs are seen.
import type { AttemptContext, AttemptEngine, EngineOptions } from '../../agent-image/src/attempt/index.ts';
import { runHarness } from '../../agent-image/src/harness/index.ts';
import { loopStrategy } from '../../agent-image/src/loop/index.ts';
import { TranscriptReader, type Transcript } from '../../agent-image/src/loop/transcript.ts';
import { noDecisionModels } from '../../agent-image/src/decision/testing/noDecisionModels.ts';
import type { ChatModels, ModelProposal, ModelRequest } from '../../agent-image/src/models/models.ts';
import {
  buildRunner,
  KeeperProcess,
  RealRunner,
  startHarness,
  waitUntil,
  type Harness,
} from '../../sandbox-image/keeper/src/testing/index.ts';
import { beginRun, compute, engineOf, storeIn, type AttemptRun } from './loopBed.ts';

/** Reply of a scripted model: text, or calls by name. */
export type Script = (request: ModelRequest, n: number) => Reply | Promise<Reply>;
export type Reply =
  | string
  | {
      readonly text?: string;
      readonly calls: readonly (readonly [name: string, args: object | string])[];
      /** Its bound of tokens ended it. */
      readonly cut?: true;
    };

/** A model with scripted replies, which records its requests. */
export class ScriptedModels implements ChatModels {
  readonly requests: ModelRequest[] = [];
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  async complete(_expert: ExpertEndpoint, request: ModelRequest, signal: AbortSignal) {
    signal.throwIfAborted();
    this.requests.push(request);
    const reply = await this.#script(request, this.requests.length);
    signal.throwIfAborted();
    const usage = { input: 1000 + this.requests.length, cachedInput: 0, output: 50, estimated: false };
    return { proposals: [proposalOf(reply, request)], usage };
  }
}

function proposalOf(reply: Reply, request: ModelRequest): ModelProposal {
  const made: Exclude<Reply, string> = typeof reply === 'string' ? { text: reply, calls: [] } : reply;
  const calls = made.calls.map(([name, args], index) => ({
    id: `call-${request.messages.length}-${index}`,
    name,
    arguments: typeof args === 'string' ? args : JSON.stringify(args),
  }));
  const finish = made.cut === true ? 'Length' : calls.length > 0 ? 'Calls' : 'Stop';
  return { text: made.text ?? '', calls, finish, entropyNats: null };
}

/** A script with the same reply at the same message for each caller: by the number of its own replies in the conversation. */
export function steps(...replies: readonly Reply[]): Script {
  return ({ messages }) => {
    const at = messages.filter(({ role }) => role === 'Assistant').length;
    return replies[at] ?? 'I have nothing more to say.';
  };
}

const chat: ExpertEndpoint = {
  name: 'gen',
  role: 'Generalist',
  engine: 'OpenAI',
  chat: { contextTokens: 32_768, maxOutputTokens: 2048, toolCalls: 'Native' },
  domains: ['*'],
  url: 'http://127.0.0.1:1',
};

/** The real engine with the tool loop, on a real keeper with the real runner, on this machine and without any wall. */
export class AgentBed implements AsyncDisposable {
  readonly harness: Harness;
  readonly engine: AttemptEngine;
  readonly #store: ArtifactStore;
  readonly #folder: string;
  readonly #binary: string;
  #runner: RealRunner;
  #keeper: KeeperProcess | undefined;
  #closed = false;
  epoch = 1;

  private constructor(harness: Harness, engine: AttemptEngine, store: ArtifactStore, folder: string, binary: string) {
    this.harness = harness;
    this.engine = engine;
    this.#store = store;
    this.#folder = folder;
    this.#binary = binary;
    this.#runner = this.#startRunner();
  }

  static async open(binary: string, own: Partial<EngineOptions> = {}): Promise<AgentBed> {
    const folder = await mkdtemp(join(tmpdir(), 'agent-bed-'));
    const store = await storeIn(folder);
    const harness = await startHarness({ env: { AGENTFLEET_RUNNER: binary } });
    const engine = await engineOf({ loop: loopStrategy, runHarness, ...own });
    const bed = new AgentBed(harness, engine, store, folder, binary);
    await waitUntil(async () => (await harness.client().info()).ready, 20_000);
    return bed;
  }

  /** Puts a process in the place of the keeper, which can be killed. */
  async withKeeperProcess(): Promise<void> {
    const { address } = this.harness.running;
    await this.harness.stop();
    this.#keeper = this.#startKeeper(new URL(address).host);
    await this.#keeper.listening;
    await waitUntil(async () => (await this.harness.client().info()).ready, 20_000);
  }

  #startKeeper(host: string): KeeperProcess {
    const keeper = new KeeperProcess({ ...this.harness.environment, AGENTFLEET_LISTEN: host });
    void keeper.exited.then(() => {
      if (!this.#closed) this.#keeper = this.#startKeeper(host);
    });
    return keeper;
  }

  /** Ends a container of the sandbox without a warning; it is started again. Resolves when it is gone. */
  async kill(container: 'keeper' | 'tools'): Promise<void> {
    await (container === 'tools' ? this.#runner : this.#keeper)?.kill();
  }

  /** Like the kubelet: a runner that exits is started again. */
  #startRunner(): RealRunner {
    const runner = new RealRunner(this.#binary, this.harness.linkPath, this.harness.linkKey);
    void runner.exited.then(() => {
      if (!this.#closed) this.#runner = this.#startRunner();
    });
    return runner;
  }

  begin(spec: Partial<AgentTaskSpec>, models: ChatModels, own: Partial<AttemptContext> = {}, attempt = 1): AttemptRun {
    const epoch = this.epoch;
    this.epoch += 1;
    const pool = {
      pool: { name: 'coding', namespace: 'platform' },
      maxBudget: {},
      egress: { registries: [], environment: {} },
      experts: [chat],
      verifier: null,
    } as unknown as PoolBrief;
    return beginRun(spec, () => ({
      assignment: { attempt, epoch } as AttemptContext['assignment'],
      pool,
      keeper: this.harness.client(epoch),
      experts: { choose: () => chat, generate: () => Promise.reject(new Error('nobody searches here')) },
      models,
      decisionModels: noDecisionModels({ compute, experts: ['gen'] }),
      store: this.#store,
      ...own,
    }));
  }

  /** The notes of the event log, oldest first. */
  async notes(): Promise<readonly { readonly kind: string; readonly data: Readonly<Record<string, unknown>> }[]> {
    const notes: { readonly kind: string; readonly data: Readonly<Record<string, unknown>> }[] = [];
    const visit = ({ type, body }: AuditRecord): void => {
      if (type === 'Noted') notes.push(body as (typeof notes)[number]);
    };
    for await (const record of this.harness.client(this.epoch).events()) visit(record);
    return notes;
  }

  /** The conversation of the first attempt, as a worker that takes over reads it. */
  async transcript(): Promise<Transcript> {
    const reader = new TranscriptReader();
    for await (const record of this.harness.client(this.epoch).events()) reader.visit(record);
    return reader.of(1);
  }

  /** Returns how many commands the keeper ran, by a text that they contain. */
  async ran(text: string): Promise<number> {
    let count = 0;
    for await (const { type, body } of this.harness.client(this.epoch).events())
      if (type === 'ExecRequested' && JSON.stringify(body).includes(text)) count += 1;
    return count;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#runner.kill();
    await this.#keeper?.kill();
    await this.harness[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Builds the runner for a file of tests, and removes it after them. Returns its path, and functions that define tests on it: they are skipped
 * where it cannot be built.
 */
export async function runnerOfTests(isWanted = true) {
  const built = isWanted ? await buildRunner() : { why: 'it is not asked for' };
  const skipped = 'why' in built;
  const binary = skipped ? '' : built.binary;
  afterAll(() => (skipped ? undefined : rm(dirname(binary), { recursive: true, force: true })));
  return { binary, describe: describe.skipIf(skipped), test: test.skipIf(skipped) };
}

/** Opens a bed before each test, and closes it afterwards. */
export function eachBed(open: () => Promise<AgentBed>): void {
  let bed: AgentBed;
  beforeEach(async () => {
    bed = await open();
  });
  afterEach(() => bed[Symbol.asyncDispose]());
}
