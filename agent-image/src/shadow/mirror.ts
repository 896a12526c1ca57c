import { asError, type Clock, sleep, type Log } from '@agentfleet/kube';
import type { GenerateResponse } from '@agentfleet/protocol/inference';
import { generateMillis, type Capability, type Exchanges, type InferenceClient, type Part } from '../experts/index.ts';
import { createHash } from 'node:crypto';
import type { ShadowReport } from '@agentfleet/protocol/api';
import type { ExpertEndpoint, ShadowBrief, VerifierEndpoint } from '@agentfleet/protocol/pool';
import { compared, noCounts, plus, type Comparison } from './counts.ts';
import type { Experts } from '../attempt/ports.ts';

/**
 * Bounds the copies that a worker has in flight. Real requests have priority: while more of them are waiting than
 * copies may be in flight, no copy is sent.
 */
export class Lane {
  #copies = 0;
  #real = 0;

  /** Takes a place for a copy; false: there is none, and the copy is dropped. */
  enter(most: number): boolean {
    if (this.#copies >= most || this.#real > most) return false;
    this.#copies += 1;
    return true;
  }

  leave(): void {
    this.#copies -= 1;
  }

  /** A real request waits for its answer, until the function is called. */
  waits(): () => void {
    this.#real += 1;
    return () => void (this.#real -= 1);
  }
}

/** Parts of a hundred thousand, as those by which tasks go to a canary. */
const parts = 100_000;

/**
 * Decides whether a request is copied: by a hash of the rollout and of the request's id, which names task, attempt and
 * number, so that the choice is reproducible. Pure.
 */
export function isSampled(rollout: string, requestId: string, percent: number): boolean {
  const digest = createHash('sha256').update(`shadow\0${rollout}\0${requestId}`).digest();
  return digest.readUInt32BE(0) % parts < (percent / 100) * parts;
}

interface MirrorOptions {
  /** The current shadow of the task's rollout; undefined once there is none. */
  readonly shadow: () => ShadowBrief | undefined;
  /** Counts of earlier attempts of the task, of whatever rollout. */
  readonly before: ShadowReport | undefined;
  readonly client: Pick<InferenceClient, 'ask'>;
  /** Shared by all tasks of a worker. */
  readonly lane: Lane;
  readonly clock: Clock;
  readonly log: Log;
}

/** The part that got the real request. */
type Asked = Pick<ExpertEndpoint, 'name'> & { readonly role: ExpertEndpoint['role'] | 'Verifier' };

/** A request with its real answer. */
export interface Answered<C extends Capability> {
  readonly part: Asked;
  readonly capability: C;
  readonly request: Exchanges[C]['request'];
  /** Longest time for a copy, ms; for a verifier the shadow's own time limit counts. */
  readonly timeoutMillis: number;
  readonly compare?: (shadow: Exchanges[C]['response'], verifier: VerifierEndpoint | null) => Comparison;
}

/** A real request on its way. */
export interface Question {
  /** It has ended, with or without an answer. */
  end(): void;
  /** Copies it after its answer. Returns at once and never throws. */
  copy<C extends Capability>(answered: Answered<C>): void;
}

/**
 * Copies some requests of one task to a revision in shadow. Nothing waits for a copy, none is sent twice, and its result changes
 * counters only: a shadow that hangs, answers falsely or refuses is a number in a report.
 */
export class Mirror {
  readonly #options: MirrorOptions;
  readonly #closed = new AbortController();
  readonly #underWay = new Set<Sent<Capability>>();
  #counts: ShadowReport | undefined;

  constructor(options: MirrorOptions) {
    this.#options = options;
    this.#counts = options.before;
  }

  /** For `status.run`; undefined as long as there are no counts. */
  get counts(): ShadowReport | undefined {
    return this.#counts;
  }

  /** Call this when a real request is sent. */
  question(): Question {
    const over = this.#options.lane.waits();
    let ended = false;
    const end = (): void => {
      if (ended) return;
      ended = true;
      over();
    };
    return {
      end,
      copy: (answered) => {
        end();
        this.#copy(answered);
      },
    };
  }

  /** Ends copies in flight, which are counted as dropped at once; no more are sent. */
  close(): void {
    this.#closed.abort();
    for (const copy of this.#underWay) this.#end(copy, { dropped: 1 });
  }

  #copy<C extends Capability>(answered: Answered<C>): void {
    const { shadow, lane } = this.#options;
    const brief = this.#closed.signal.aborted ? undefined : shadow();
    if (brief === undefined) return;
    const to = fits(brief, answered) ? partOf(brief, answered.part) : undefined;
    if (to === undefined || !isSampled(brief.rollout, answered.request.requestId, brief.percent)) return;
    if (lane.enter(brief.maxInFlight)) void this.#send({ brief, to, answered } as unknown as Sent<Capability>);
    else this.#count(brief, { dropped: 1 });
  }

  /** Never rejects. */
  async #send(copy: Sent<Capability>): Promise<void> {
    const { lane, log } = this.#options;
    this.#underWay.add(copy);
    try {
      await this.#compare(copy);
    } catch (error) {
      this.#end(copy, { failed: 1 });
      log.warn('an answer of a shadow could not be compared', { part: copy.to.name, error: asError(error).message });
    } finally {
      lane.leave();
    }
  }

  async #compare(copy: Sent<Capability>): Promise<void> {
    const { clock, client, log } = this.#options;
    const { brief, to, answered } = copy;
    const { signal } = this.#closed;
    const { capability, request, compare } = answered;
    // The task continues with the real answer first.
    if (!(await sleep(clock, 0, signal))) return;
    const timeoutMillis = capability === 'Score' ? (brief.verifier?.timeoutMillis ?? answered.timeoutMillis) : answered.timeoutMillis;
    const said = await client.ask({ to, capability, request, timeoutMillis }, signal);
    if (signal.aborted) return;
    if ('failure' in said) {
      log.debug('a shadow gave no answer', { part: to.name, capability, error: said.why });
      return this.#end(copy, { failed: 1 });
    }
    const found = compare?.(said.value, brief.verifier) ?? {};
    this.#end(copy, { answered: 1 });
    this.#counts = compared(this.#of(brief), found);
  }

  /** Counts how a copy ended, once. */
  #end(copy: Sent<Capability>, more: Parameters<typeof plus>[1]): void {
    if (this.#underWay.delete(copy)) this.#count(copy.brief, more);
  }

  #of({ rollout }: ShadowBrief): ShadowReport {
    return this.#counts?.rollout === rollout ? this.#counts : noCounts(rollout);
  }

  #count(brief: ShadowBrief, more: Parameters<typeof plus>[1]): void {
    this.#counts = plus(this.#of(brief), more);
  }
}

interface Sent<C extends Capability> {
  readonly brief: ShadowBrief;
  readonly to: Part;
  readonly answered: Answered<C>;
}

/** A batch that the verifier in shadow would refuse for its size is not compared. */
function fits<C extends Capability>({ verifier }: ShadowBrief, { capability, request }: Answered<C>): boolean {
  return capability !== 'Score' || verifier === null || (request as Exchanges['Score']['request']).items.length <= verifier.batchMax;
}

/** Returns the shadow's part for another one: of the same name, else of the same role. */
function partOf({ experts, verifier }: ShadowBrief, { name, role }: Asked): Part | undefined {
  if (role === 'Verifier') return verifier ?? undefined;
  const alike = experts.filter((expert) => expert.role === role);
  return alike.find((expert) => expert.name === name) ?? alike[0];
}

/** Wraps experts: their answered requests are copied; the answers stay theirs. */
export function mirroredExperts(experts: Experts, mirror: Pick<Mirror, 'question'> | undefined): Experts {
  if (mirror === undefined) return experts;
  return {
    choose: (domain, weights) => experts.choose(domain, weights),
    generate: async (expert, request, signal) => {
      const question = mirror.question();
      const answer = await experts.generate(expert, request, signal).finally(() => question.end());
      const timeoutMillis = generateMillis(request);
      question.copy({ part: expert, capability: 'Generate', request, timeoutMillis, compare: (shadow) => sameFirst(answer, shadow) });
      return answer;
    },
  };
}

/** The id of a candidate is a hash of its changes. */
function sameFirst(stable: GenerateResponse, shadow: GenerateResponse): Comparison {
  const [mine, theirs] = [stable.candidates[0], shadow.candidates[0]];
  return mine === undefined || theirs === undefined ? {} : { sameCandidate: mine.id === theirs.id };
}
