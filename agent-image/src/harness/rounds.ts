import { judgeEffects } from '../attempt/acts.ts';
import { holds, proveAgain, type Proof } from '../attempt/checkRun.ts';
import { createGate, type Gate } from '../attempt/gate.ts';
import type { Outcome } from '../attempt/ports.ts';
import type { HarnessAt } from '../attempt/scope.ts';
import { AttemptFailure } from '../base/failure.ts';
import { noteIn } from '../base/notes.ts';
import { ActServer } from './acts.ts';
import { serveModelEndpoint, type ModelEndpoint } from './endpoint/index.ts';
import { runProgram, type Program, type ProgramRun } from './program.ts';
import { fill, showing, useless, type Filled } from './words.ts';

/** The note after each round: the next worker continues from it. */
const roundNote = 'HarnessRound';

interface Standing {
  readonly rounds: number;
  /** The last snapshot whose effects may stay. */
  readonly snapshot: string;
  /** Reason why the result of the last round was rejected; null before the first. */
  readonly said: string | null;
  /** The failure of the attempt when no round is left. */
  readonly failure: AttemptFailure | null;
}

/**
 * Runs the agent program of the pool: a round is one run, the judgement of its changes, and the checks. A rejected
 * result is passed to the next round with its reason; after a kill of the worker the interrupted round is run again on
 * the tree before it.
 *
 * @throws AttemptFailure with the tree of the last good snapshot
 */
export async function runHarness(at: HarnessAt): Promise<Outcome> {
  const { scope, baseline } = at;
  const { options, context, session } = scope;
  const gate = createGate({ rails: options.rails, task: context.task, session, writing: 'Programs' }, baseline.protectedSet);
  const acts = at.harness.acts === 'Tools' ? await ActServer.open(at, gate) : null;
  const endpoint = await openEndpoint(at, acts);
  try {
    const rounds = new Rounds({ ...at, endpoint, acts, gate });
    let standing = await findStanding(at);
    for (;;) {
      if (standing.rounds >= at.harness.rounds && standing.failure !== null) throw standing.failure;
      const next = await rounds.one(standing);
      if ('result' in next) return next;
      standing = next;
    }
  } finally {
    await endpoint?.close();
  }
}

/** @throws AttemptFailure Infrastructure where the brief does not name the model yet */
async function openEndpoint({ scope, harness: { api, model }, models }: HarnessAt, acts: ActServer | null): Promise<ModelEndpoint | null> {
  if (api === 'None') return null;
  const expert = scope.context.pool.experts.find(({ name }) => name === model);
  if (models === undefined || expert?.chat === undefined) {
    const message = `the brief of the pool names no chat model ${model ?? ''} for the agent program; wait for the operator`;
    throw new AttemptFailure('Infrastructure', 'GatewayMissing', message);
  }
  return serveModelEndpoint({ scope, models, expert: { ...expert, chat: expert.chat }, api, ...(acts !== null && { acts }) });
}

/** Finds the state of an earlier worker of this attempt; the tree is that of its last good snapshot then. */
async function findStanding({ scope, prepared }: HarnessAt): Promise<Standing> {
  const { session, context } = scope;
  let found: Standing = { rounds: 0, snapshot: prepared.start.id, said: null, failure: null };
  await session.events((record) => {
    const { kind, data } = noteIn(record);
    if (kind !== roundNote || data['attempt'] !== context.assignment.attempt) return;
    const { round, snapshot, said, reason } = data;
    if (typeof round !== 'number' || typeof snapshot !== 'string' || typeof said !== 'string') return;
    const failure = reason === 'HarnessRefused' ? refusedFor(said) : stillFails(round, said);
    found = { rounds: round, snapshot, said, failure };
  });
  await session.backTo(found.snapshot);
  return found;
}

function refusedFor(said: string): AttemptFailure {
  return new AttemptFailure('PolicyViolation', 'HarnessRefused', `${said}; it was undone`);
}

function stillFails(round: number, said: string): AttemptFailure {
  return new AttemptFailure('CheckFailed', 'StillFails', `after ${round} runs of the agent program: ${said}`);
}

interface Serving {
  readonly endpoint: ModelEndpoint | null;
  readonly acts: ActServer | null;
  readonly gate: Gate;
}

class Rounds {
  readonly #at: HarnessAt & Serving;

  constructor(at: HarnessAt & Serving) {
    this.#at = at;
  }

  /** Runs one round, from the tree of the last good snapshot to the next state, or to the outcome. */
  async one(standing: Standing): Promise<Standing | Outcome> {
    const { scope, harness } = this.#at;
    const { progress, meter, context } = scope;
    const round = standing.rounds + 1;
    meter.check();
    const step = progress.step('repair', `run ${round} of ${harness.command[0] ?? ''}`);
    progress.say(`run ${round} of ${harness.rounds} of the agent program`);
    try {
      const filled = fill(harness, context.task, this.#at.endpoint, standing.said);
      await this.#beginActs(standing.snapshot);
      const program = { scope, endpoint: this.#at.endpoint, acts: this.#at.acts, stallSeconds: harness.stallSeconds, round };
      const run = await this.#run(program, filled);
      await this.#at.endpoint?.settled();
      this.#assertUsable(run);
      const next = await this.#judge(standing, run);
      progress.change(step, { state: 'result' in next ? 'Done' : 'Failed' });
      progress.count(round, harness.rounds);
      return next;
    } catch (error) {
      progress.change(step, { state: 'Failed' });
      // The next worker restores by itself.
      if (!context.signal.aborted && error instanceof AttemptFailure) await scope.session.backTo(standing.snapshot);
      throw error;
    }
  }

  /** Nothing that the program began acts any more afterwards. */
  async #run(program: Program, filled: Filled): Promise<ProgramRun> {
    try {
      return await runProgram(program, filled);
    } finally {
      await this.#at.acts?.end();
    }
  }

  async #beginActs(snapshot: string): Promise<void> {
    if (this.#at.acts === null) return;
    const found = (await this.#at.scope.session.snapshots()).find(({ id }) => id === snapshot);
    this.#at.acts.begin({ id: snapshot, digest: found?.manifestDigest ?? '' });
  }

  /** @throws AttemptFailure for a run without anything to judge */
  #assertUsable({ end, stopped, ...run }: ProgramRun): void {
    const program = this.#program;
    if (stopped !== null) throw stopped;
    if (end.error !== undefined || end.exitCode === 127) {
      const why = end.error?.message ?? 'its shell did not find a program';
      const message = `${program} cannot be started: ${why}; name a program of the image, or install it by harness.install${showing(run)}`;
      throw new AttemptFailure('InvalidInput', 'HarnessMissing', message);
    }
    if (end.timedOut) {
      this.#at.scope.meter.check();
      throw new AttemptFailure(
        'Stuck',
        'HarnessTimedOut',
        `${program} was ended after ${Math.round(end.durationMs / 1000)} s${showing(run)}`,
      );
    }
    // The model was away: another attempt may go better.
    if (end.exitCode !== 0 && this.#at.endpoint?.failure != null) throw this.#at.endpoint.failure;
  }

  get #program(): string {
    return (this.#at.harness.command[0] ?? '').slice(0, 200);
  }

  async #judge(standing: Standing, run: ProgramRun): Promise<Standing | Outcome> {
    const { scope, baseline, conclude } = this.#at;
    const { session, meter } = scope;
    const round = standing.rounds + 1;
    const changed = (await session.diff(standing.snapshot)).entries.length > 0;
    if (!changed && standing.failure === null) throw useless(this.#program, run, null);
    if (!changed) return this.#stand({ ...standing, rounds: round });
    const after = await session.snapshot(`round ${round}`);
    const { refused } = await judgeEffects(session, baseline, this.#at.gate, standing.snapshot, after.id);
    if (refused !== null) {
      await session.restore(standing.snapshot);
      meter.add('vetoes');
      return this.#stand({ rounds: round, snapshot: standing.snapshot, said: refused, failure: refusedFor(refused) });
    }
    const failing = await this.#failing(after.id);
    const concluded = failing === null ? await conclude('') : { refused: failing };
    if (!('refused' in concluded)) return concluded;
    await session.backTo(after.id);
    const failure = stillFails(round, `${concluded.refused}${showing(run)}`);
    return this.#stand({ rounds: round, snapshot: after.id, said: concluded.refused, failure });
  }

  /** Returns the failures of the checks in place, if any: a fresh container is only for a likely success. The tree stays. */
  async #failing(snapshot: string): Promise<string | null> {
    const { scope, baseline } = this.#at;
    const failed: Proof[] = [];
    for (const judged of baseline.checks) {
      scope.progress.say(`running check ${judged.check.name}`);
      const proof = await proveAgain(judged, baseline);
      if (!holds(proof)) failed.push(proof);
      await scope.session.backTo(snapshot);
    }
    return failed.length === 0 ? null : failed.map(described).join('\n');
  }

  async #stand(standing: Standing): Promise<Standing> {
    const { session, context } = this.#at.scope;
    const { rounds: round, snapshot, said, failure } = standing;
    await session.note(roundNote, {
      attempt: context.assignment.attempt,
      round,
      snapshot,
      said: said?.slice(0, 8000),
      reason: failure?.reason,
    });
    return standing;
  }
}

function described({ judged, verdict, run }: Proof): string {
  const why = verdict.reasons.slice(0, 3).map(({ message }) => message);
  const still = verdict.stillFailing.slice(0, 5);
  const parts = [...why, ...(still.length > 0 ? [`still failing: ${still.join(', ')}`] : [])];
  return `check ${judged.check.name} does not hold: ${parts.join('; ')}\n${run.output.slice(-2000)}`.trimEnd();
}
