import type { Tracing } from '@agentfleet/protocol/tracing';
import type { SnapshotRecord, AuditRecord } from '@agentfleet/protocol/keeper';
import type { KeeperClient } from '@agentfleet/keeper/client';
import type { Workspace, Delivered } from '@agentfleet/protocol/api';
import type { HarnessBrief } from '@agentfleet/protocol/pool';
import type { collectCoverage } from '../coverage/index.ts';
import type { AddressRules, OpenDialer, OpenEgress } from '../egress/index.ts';
import type { ChatModels } from '../models/models.ts';
import type { Grammars, Rails } from '../rails/index.ts';
import type { DeliveryOrder, DeliveryPorts, DeliveryReader } from '../delivery/index.ts';
import type { BegunActs, Noted, TriedNote } from './notes.ts';
import type { Approvals } from './approvals.ts';
import type { Baseline } from './checkRun.ts';
import type { SandboxSession } from './sandboxSession.ts';
import type { Meter } from './meter.ts';
import type { AttemptContext, Outcome } from './ports.ts';
import type { Progress } from './progress.ts';
import type { SourceReader } from '../features/index.ts';
import type { WorkspacePorts } from '../workspace/index.ts';

/** Puts a workspace in place. Rejects with an AttemptFailure when it cannot be had. */
type ImportWorkspace = (
  workspace: Workspace,
  ports: Required<Pick<WorkspacePorts, 'readConfigMap' | 'credentials' | 'signal' | 'clock'>> & {
    readonly keeper: KeeperClient;
    readonly root: string;
    readonly rules: AddressRules;
  },
) => Promise<{ readonly commit?: string }>;

/** Brings a result that was proved to its repository. Rejects only when the work has to end now. */
export type Deliver = (
  order: DeliveryOrder,
  ports: Omit<DeliveryPorts, 'dialer' | 'scratch' | 'authorities'> & {
    readonly rules: AddressRules;
  },
) => Promise<Delivered>;

/** Input of a strategy: the attempt after its baseline, and the way to have a result proved. */
export interface StrategyScope {
  readonly scope: Scope;
  readonly prepared: Prepared;
  readonly baseline: Baseline;
  readonly models: ChatModels;
  /**
   * Proves the tree as it is in a fresh container. Resolves with why it is refused, for another round, or with the outcome of
   * a success. Rejects with an AttemptFailure that no further round can cure.
   */
  readonly conclude: (answer: string) => Promise<Outcome | { readonly refused: string }>;
}

/** Input of an agent program. */
export interface HarnessAt extends Omit<StrategyScope, 'models'> {
  readonly harness: HarnessBrief;
  /** Absent where the pool has no chat model. */
  readonly models?: ChatModels;
}

/** The tool loop of chat models; in `loop/`, which the engine does not import. */
export interface LoopStrategy {
  /** Reads an event log: whether an attempt has a conversation to go on with. */
  readonly reader: () => { readonly visit: (record: AuditRecord) => void; readonly isOpen: (attempt: number) => boolean };
  readonly run: (at: StrategyScope) => Promise<Outcome>;
}

/** A tree on which all checks hold in place, and how the search found it. */
export interface Winner {
  /** Description of the last step; absent when an earlier attempt left the tree. */
  readonly rationale?: string;
  /** Note of the last step for later attempts when the tree does not hold in a fresh container. */
  readonly ifNotVerified?: TriedNote;
}

export interface EngineOptions {
  readonly rails: Rails;
  /**
   * For pools without a chat model or an agent program; in `search/`, which the engine does not import.
   *
   * @throws AttemptFailure Stuck when nothing is left to try, BudgetExceeded
   */
  readonly search: (scope: Scope, prepared: Prepared, baseline: Baseline) => Promise<Winner>;
  /** For pools with a chat model; absent: they are searched like the others. */
  readonly loop?: LoopStrategy;
  /** For pools with an agent program; in `harness/`, which the engine does not import. */
  readonly runHarness?: (at: HarnessAt) => Promise<Outcome>;
  readonly importWorkspace: ImportWorkspace;
  readonly collectCoverage: typeof collectCoverage;
  /** Absent: spec.output is not obeyed. */
  readonly deliver?: Deliver;
  readonly openEgress: OpenEgress;
  /** Access with which the worker itself gets a page for the model; absent: it does not. `authorities` may change between uses. */
  readonly web?: { readonly openDialer: OpenDialer; readonly authorities?: string | undefined };
  /** Parser of sources that are measured before they are tried; absent: they are not. */
  readonly grammars?: Grammars;
  /** Destination of the spans of attempts; absent: nowhere. */
  readonly tracing?: Tracing;
}

/** State that all phases of one attempt share; made once, at its start. */
export interface Scope {
  readonly context: AttemptContext;
  readonly options: EngineOptions;
  readonly session: SandboxSession;
  readonly sources: SourceReader;
  readonly meter: Meter;
  readonly progress: Progress;
  readonly approvals: Approvals;
  /** Notes of the trials before this worker came. */
  readonly noted: Noted;
  /** Commands that had been begun before this worker came. */
  readonly begun: BegunActs;
  readonly deliveries: DeliveryReader;
  /** Whether an earlier worker left a conversation that this one goes on with: the tree as it is belongs to it. */
  readonly resumes: boolean;
}

/** Snapshot 0 and what the attempt starts from. */
export interface Prepared {
  readonly empty: SnapshotRecord;
  readonly initial: SnapshotRecord;
  /** Snapshot at which an attempt begins that goes on with the tree as it is; else `initial`. */
  readonly start: SnapshotRecord;
}

/** The agent program of the pool, which runs its attempts; null: it has none. */
export function harnessOf({ pool }: Pick<AttemptContext, 'pool'>): HarnessBrief | null {
  return pool.experts.find(({ harness }) => harness !== undefined)?.harness ?? null;
}

/** Reports whether the pool has a chat model that works on goals of every kind by itself. */
export function hasChat({ pool }: Pick<AttemptContext, 'pool'>): boolean {
  return harnessOf({ pool }) === null && pool.experts.some(({ chat, role }) => chat !== undefined && role === 'Generalist');
}

type Rest = Omit<StrategyScope, 'models'>;

/** The strategy of a pool for goals of every kind: the agent program, or the loop of a chat model; null: candidates are searched. */
export function openStrategy({ context, options }: Pick<Scope, 'context' | 'options'>) {
  const { models } = context;
  const { loop, runHarness } = options;
  const harness = harnessOf(context);
  if (harness !== null && runHarness !== undefined) {
    const at = { harness, ...(models !== undefined && { models }) } satisfies Partial<HarnessAt>;
    return { working: 'running the agent program', run: (rest: Rest) => runHarness({ ...rest, ...at }) };
  }
  if (loop === undefined || models === undefined || !hasChat(context)) return null;
  return { working: 'working with the model', run: (rest: Rest) => loop.run({ ...rest, models }) };
}
