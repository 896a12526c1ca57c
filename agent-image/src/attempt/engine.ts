import { boundsOf, refuseAblations, Meter } from './meter.ts';
import { answerFile, writeAnswer, asksForAnswer, shownAnswer } from './artifacts.ts';
import type { Baseline } from './checkRun.ts';
import { judgeAtBaseline } from './baseline.ts';
import { checkResults, close, conclusion, countedThere, failed, failedThere, reviewRejected, summary, type Ledger } from './closing.ts';
import { Approvals } from './approvals.ts';
import { DeliveryReader, changedFiles, type DeliveryOrder } from '../delivery/index.ts';
import { AttemptFailure, retryWhileUnavailable, throwIfSuperseded } from '../base/failure.ts';
import { SandboxSession, poolRules } from './sandboxSession.ts';
import { BegunActs, NoteReader } from './notes.ts';
import type { AttemptContext, AttemptEngine, Outcome } from './ports.ts';
import { hasChat, openStrategy, type EngineOptions, type Prepared, type Scope, type StrategyScope, type Winner } from './scope.ts';
import { labelled, labels, prepare } from './prepare.ts';
import { Progress, taskBegan } from './progress.ts';
import { rollBack } from './rollback.ts';
import { createSourceReader } from '../features/index.ts';
import { verify, type Verified } from './verify.ts';
import { sleep } from '@agentfleet/kube';
import { agent, handOn, inSpan, isRecorded, noTracing, withinTask, type Attributes, type Tracing } from '@agentfleet/protocol/tracing';

/** Time between two fetches of spans from the keeper of a long attempt, ms. */
const fetchMs = 15_000;

/** Runs `body` for a task, as a span of it: what it logs has the ids of the attempt, and its spans belong to the task's trace. */
function traced<T>(tracing: Tracing, context: AttemptContext, name: string, own: Attributes, body: () => Promise<T>): Promise<T> {
  const { task, assignment } = context;
  const { attempt, epoch } = assignment;
  const attributes = { ...own, 'agentfleet.attempt': attempt, 'agentfleet.epoch': epoch };
  return withinTask(task, assignment, tracing, ({ root: { traceId } }) =>
    isRecorded() ? withKeeper(context, traceId, () => inSpan(name, { attributes }, body)) : body(),
  );
}

/** Fetches the spans of the keeper meanwhile and at the end, as no receiver is reached from a sandbox. */
async function withKeeper<T>({ keeper, clock }: AttemptContext, traceId: string, body: () => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const fetch = async (): Promise<void> => {
    const spans = await keeper.spans(traceId).catch(() => []);
    handOn('agentfleet-keeper', () => spans);
  };
  const fetching = (async () => {
    while (await sleep(clock, fetchMs, ended.signal)) await fetch();
  })();
  try {
    return await body();
  } finally {
    ended.abort();
    await fetching;
    await fetch();
  }
}

function phase<T>(name: string, body: () => Promise<T>): Promise<T> {
  return inSpan(name, {}, body);
}

/**
 * Brings a result that succeeded to its repository, where spec.output asks for that, and reports where it is. The result stays
 * good whatever a server answers: the report has the reason then.
 */
async function deliverResult(scope: Scope, ledger: Ledger): Promise<void> {
  const { context, options, session, deliveries, progress } = scope;
  const { task, pool, assignment, clock, signal } = context;
  const { prepared, result, answer, discard = [] } = ledger;
  if (task.spec.output === undefined || options.deliver === undefined || prepared === undefined || result === undefined) return;
  const [before, after] = await Promise.all(
    [prepared.initial.id, result.id].map((id) => session.call((keeper) => keeper.manifest(id, signal))),
  );
  const made = new Set(discard);
  if (asksForAnswer(task.spec.checks)) made.add(answerFile);
  const order: DeliveryOrder = {
    task,
    attempt: assignment.attempt,
    files: changedFiles(before ?? Buffer.alloc(0), after ?? Buffer.alloc(0)).filter(({ shown }) => !made.has(shown)),
    checks: checkResults(ledger.proofs.map(({ run }) => run)),
    ...(answer !== undefined && { answer: shownAnswer(answer) }),
  };
  const output = await options.deliver(order, {
    read: (parts) => session.call((keeper) => keeper.exportParts(parts, signal)),
    note: (kind, data) => session.note(kind, data),
    intentDurable: () => context.intentDurable(),
    before: deliveries,
    credentials: pool.credentials,
    rules: poolRules(pool),
    clock,
    signal,
    say: (message) => progress.say(message),
  });
  context.report({ output });
  const { reason, message } = output;
  if (reason !== undefined) context.log.warn('a result could not be delivered', { reason, message });
}

/**
 * The engine of attempts: imports, sets up, judges the baseline, repairs, verifies, stores. It keeps nothing of a task:
 * what it has to know again is in the snapshots and notes of the keeper.
 *
 * @example
 * const engine = createAttemptEngine({ rails, importWorkspace, collectCoverage });
 * const outcome = await engine.run(context); // { result: 'Succeeded', reason: 'ChecksHold', … }
 */
export function createAttemptEngine(options: EngineOptions): AttemptEngine {
  const { tracing = noTracing } = options;
  return {
    run: (context) => {
      const { pool, task } = context;
      const name = `${pool.pool.namespace}/${pool.pool.name}`;
      return traced(tracing, context, agent.name(name), agent.request(name, task.metadata.uid ?? ''), () => run(options, context));
    },
    rollback: (context, which) => traced(tracing, context, 'rollback', {}, () => rollBack(options, context, which)),
  };
}

async function run(options: EngineOptions, context: AttemptContext): Promise<Outcome> {
  const ledger: Ledger = { proofs: [], reviews: [] };
  let outcome: Outcome;
  try {
    context.signal.throwIfAborted();
    const scope = await openScope(options, context);
    outcome = await pursue(scope, ledger);
    if (outcome.result === 'Succeeded') await deliverResult(scope, ledger);
  } catch (error) {
    if (context.signal.aborted) return stopped(context, ledger);
    throwIfSuperseded(error);
    outcome = failed(error);
    const level = outcome.class === 'AgentError' ? 'error' : 'info';
    context.log[level]('an attempt failed', { reason: outcome.reason, error: error instanceof Error ? error.stack : String(error) });
  }
  try {
    return await phase('close', () => close(context, ledger, outcome));
  } catch (error) {
    if (context.signal.aborted) return stopped(context, ledger);
    throw error;
  }
}

async function openScope(options: EngineOptions, context: AttemptContext): Promise<Scope> {
  refuseAblations(context);
  const meter = new Meter(context.clock, context.used, boundsOf(context));
  const session = new SandboxSession(context, meter, await retryWhileUnavailable(() => context.keeper.info(), context), options.openEgress);
  const notes = new NoteReader();
  const begun = new BegunActs();
  const deliveries = new DeliveryReader();
  const conversations = hasChat(context) ? options.loop?.reader() : undefined;
  await session.events((record) => {
    notes.visit(record);
    begun.visit(record);
    deliveries.visit(record);
    conversations?.visit(record);
  });
  if (!notes.hasBegun) await session.note('TaskBegan', { ...taskBegan(context) });
  const resumes = conversations?.isOpen(context.assignment.attempt) === true;
  const { noted } = notes;
  const progress = new Progress(context, meter);
  const approvals = new Approvals({ context, session, meter, progress, noted: noted.decided });
  const sources = createSourceReader(session, options.grammars);
  return { context, options, session, sources, meter, progress, approvals, noted, begun, deliveries, resumes };
}

async function pursue(scope: Scope, ledger: Ledger): Promise<Outcome> {
  const { context, progress, noted } = scope;
  ledger.meter = scope.meter;
  ledger.progress = progress;
  const green = noted.green.at(-1);
  if (green !== undefined) ledger.green = green;
  const prepared = await phase('prepare', () => prepare(scope));
  ledger.prepared = prepared;
  progress.say(null, { snapshots: await summary({ context, signal: context.signal }, ledger) });
  const baseline = await phase('baseline', () => judgeAtBaseline(scope, prepared));
  ledger.baseline = baseline;
  // The plan says so while the work can still be stopped.
  const best = conclusion(baseline.checks, { changed: true, answer: true, review: baseline.reviews.length > 0 });
  if (best.result === 'Failed' && !baseline.alreadyTrue)
    progress.change('baseline', { intent: `checks at snapshot 0: all hold, and none is a review: this ends as ${best.reason}` });
  const isFirst = context.used.earlier.toolCalls + context.used.before.toolCalls === 0 && !baseline.alreadyTrue;
  if (isFirst) scope.meter.onNextCall(() => context.actedFirst?.());
  const strategy = baseline.alreadyTrue ? null : openStrategy(scope);
  if (strategy !== null) {
    progress.change('localise', { state: 'Dropped' });
    progress.begin('repair', strategy.working);
    const conclude: StrategyScope['conclude'] = (answer) => concludeWith(scope, prepared, baseline, ledger, answer);
    return phase('solve', () => strategy.run({ scope, prepared, baseline, conclude }));
  }
  const winner = await phase('solve', () => search(scope, prepared, baseline));
  const { reviewed } = await proveResult(scope, prepared, baseline, winner, ledger);
  const how =
    winner === null
      ? 'nothing was changed: they held at snapshot 0 already'
      : `the last step: ${winner.rationale ?? 'of an earlier attempt'}`;
  const reason = winner === null ? 'AlreadyHolds' : reviewed ? 'ReviewAccepted' : 'ChecksHold';
  return {
    result: 'Succeeded',
    reason,
    message: `all checks hold in a fresh container${failedThere(ledger.proofs)}; ${how}${countedThere(ledger.proofs)}`,
  };
}

/** Verifies the tree as it is; the ledger gets the result. */
async function proveResult(scope: Scope, prepared: Prepared, baseline: Baseline, winner: Winner | null, ledger: Ledger): Promise<Verified> {
  const { progress } = scope;
  ledger.proofs.length = 0;
  ledger.reviews.length = 0;
  const verified = await phase('verify', () => verify(scope, prepared, baseline, winner, ledger));
  ledger.result = verified.result;
  ledger.green = verified.result.id;
  ledger.discard = verified.discard;
  progress.change('g', { state: 'Done' });
  progress.say('storing the artifacts');
  return verified;
}

/** Classes of a refused result that another round of the loop may cure. */
const curable: ReadonlySet<string> = new Set(['CheckFailed', 'PolicyViolation']);

/**
 * Proves what the loop handed in and decides what it is worth. A result that is refused is described in words; the tree is that of
 * the result again.
 *
 * @throws AttemptFailure Unproved where checks hold that prove nothing: the change is offered
 */
async function concludeWith(
  scope: Scope,
  prepared: Prepared,
  baseline: Baseline,
  ledger: Ledger,
  answer: string,
): Promise<Outcome | { readonly refused: string }> {
  const { progress } = scope;
  progress.establish('ReachedInPlace');
  const words = answer.trim();
  if (words !== '') {
    ledger.answer = words;
    await writeAnswer(scope, words);
  }
  let verified: Verified;
  try {
    verified = await proveResult(scope, prepared, baseline, null, ledger);
  } catch (error) {
    if (error instanceof AttemptFailure && (curable.has(error.failureClass) || error.reason === reviewRejected))
      return { refused: error.message };
    throw error;
  }
  progress.finish('repair');
  const shown = { changed: verified.changed, answer: words !== '', review: verified.reviewed };
  const { result, reason, message } = conclusion(baseline.checks, shown);
  if (result === 'Failed') throw new AttemptFailure('Unproved', reason, message);
  return { result, reason, message: `${message}${failedThere(ledger.proofs)}${countedThere(ledger.proofs)}` };
}

async function search(scope: Scope, prepared: Prepared, baseline: Baseline): Promise<Winner | null> {
  const { progress } = scope;
  if (baseline.holds) {
    progress.establish('ReachedInPlace');
    progress.change('repair', { state: 'Dropped' });
    return null;
  }
  progress.begin('repair', 'looking for an edit that makes the checks hold');
  const winner = await scope.options.search(scope, prepared, baseline);
  progress.finish('repair');
  return winner;
}

/** Ends an interrupted attempt. The keeper's record is the truth for a worker that takes over; a stop leaves its files behind as well. */
async function stopped(context: AttemptContext, ledger: Ledger): Promise<never> {
  const reason: unknown = context.signal.reason;
  if (reason === 'Lost') context.signal.throwIfAborted();
  const note = context.keeper.note('Paused', { attempt: context.assignment.attempt, reason: String(reason) });
  await note.catch((error: unknown) => context.log.warn('a pause could not be noted', { error: String(error) }));
  if (reason === 'Stop') {
    await findInitial(context, ledger);
    await close(context, ledger, { result: 'Stopped', reason: 'Stopped', message: 'stopped as directed' });
  }
  context.signal.throwIfAborted();
  throw new AttemptFailure('AgentError', 'NotStopped', 'an attempt ended as stopped without a signal; report this fault');
}

/** A worker that is asked to stop a task that it never ran finds snapshot 0 at the keeper. */
async function findInitial({ keeper }: AttemptContext, ledger: Ledger): Promise<void> {
  if (ledger.prepared !== undefined) return;
  const snapshots = await keeper.snapshots().catch(() => []);
  const initial = labelled(snapshots, labels.initial);
  const empty = labelled(snapshots, labels.empty);
  if (initial !== undefined && empty !== undefined) ledger.prepared = { empty, initial, start: initial };
}
