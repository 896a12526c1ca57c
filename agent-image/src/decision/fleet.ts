import type { AbsentExpert, ComputeBrief, ExpertEndpoint, PoolBrief } from '@agentfleet/protocol/pool';
import type { Features, Candidate, EnergyHead } from '@agentfleet/protocol/inference';
import { editFeatures } from '../attempt/approvals.ts';
import type { Participant, RankingContext } from '../attempt/ports.ts';
import { shortened } from '../base/text.ts';
import type { Exchanges, Part, PartCapability, PartsClient } from '../experts/index.ts';
import type { Comparison, Mirror } from '../shadow/index.ts';

export interface FleetOptions {
  readonly pool: Pick<PoolBrief, 'experts' | 'verifier'> & Partial<Pick<PoolBrief, 'absent'>>;
  readonly compute: ComputeBrief;
  readonly parts: Pick<PartsClient, 'ask'>;
  /** Begins the ids of all requests; of the characters that a request id may have. */
  readonly name: string;
  readonly signal: AbortSignal;
  /** Returns the wall time, ms, which decides whether a calibration is stale. Absent: only the brief decides. */
  readonly now?: () => number;
  /**
   * Features that verifiers read, by their addresses; shared by the attempts of a worker, so that each need not request
   * it again.
   */
  readonly reads?: Map<string, ReadonlySet<keyof Features>>;
  /** Copies answered questions to a revision in shadow. Absent: there is none. */
  readonly mirror?: Pick<Mirror, 'question'>;
}

/** A part with its role. */
export interface Member extends Part {
  readonly role: Participant['role'];
}

/** Parameters of a question. */
export interface CallOptions<C extends PartCapability = PartCapability> {
  readonly timeoutMillis: number;
  /** The fallback without an answer. */
  readonly without: string;
  /** Compares the answer with that of a verifier in shadow. */
  readonly compare?: (
    stable: Exchanges[C]['response'],
    shadow: Exchanges[C]['response'],
    verifier: NonNullable<PoolBrief['verifier']>,
  ) => Comparison;
}

const maxReported = 128;

/** The fallback without a declared role that has no pods; for other roles nothing is reported. */
const withoutPods: Readonly<Partial<Record<ExpertEndpoint['role'], string>>> = {
  Planner: 'priors are uniform',
  Policy: 'gate 2 goes by its table',
  Embedder: 'no specCosine',
  Draft: 'no likelihoods',
};

/** The parts of one attempt: those available, those that took part, and those missing. */
export class Fleet {
  readonly options: FleetOptions;
  readonly #missing = new Map<string, string>();
  readonly #participants = new Map<string, Participant>();
  readonly #reads: Map<string, ReadonlySet<keyof Features>>;
  /** Calibration by which the verifier made its last answer; undefined before the first one. */
  calibration: string | null | undefined;
  #asked = 0;

  constructor(options: FleetOptions) {
    this.options = options;
    this.#reads = options.reads ?? new Map<string, ReadonlySet<keyof Features>>();
    for (const absent of options.pool.absent ?? []) this.#tellAbsent(absent);
  }

  /** The first expert of a role; undefined when the pool has none. */
  member(role: ExpertEndpoint['role']): Member | undefined {
    return this.options.pool.experts.find((expert) => expert.role === role);
  }

  get verifier(): (Member & NonNullable<PoolBrief['verifier']>) | undefined {
    const { verifier } = this.options.pool;
    return verifier === null ? undefined : { ...verifier, role: 'Verifier' };
  }

  /** The part that gives likelihoods: the Draft, else another one whose engine is a language model. */
  get draft(): Member | undefined {
    const models = this.options.pool.experts.filter(({ engine }) => engine === 'Llama');
    return models.find(({ role }) => role === 'Draft') ?? models[0];
  }

  get requestId(): string {
    this.#asked += 1;
    return `${this.options.name}.m${this.#asked}`.slice(-128);
  }

  /**
   * Asks a part. Without an answer it is reported as missing, with the fallback, until it answers again.
   *
   * @returns the answer, or why there is none
   */
  async ask<C extends PartCapability>(
    member: Member,
    capability: C,
    request: Exchanges[C]['request'],
    { timeoutMillis, without, compare }: CallOptions<C>,
  ): Promise<Exchanges[C]['response'] | string> {
    const { parts, signal, mirror } = this.options;
    const question = mirror?.question();
    const answer = await parts.ask(member, { capability, request, timeoutMillis, signal }).finally(() => question?.end());
    if (typeof answer === 'string') {
      this.tell(member, `${answer}; ${without}`);
      return answer;
    }
    this.#missing.delete(keyOf(member));
    this.#participants.set(keyOf(member), { role: member.role, name: member.name, digest: answer.modelDigest });
    question?.copy({
      part: member,
      capability,
      request,
      timeoutMillis,
      compare: (shadow, verifier) => (verifier === null ? {} : (compare?.(answer, shadow, verifier) ?? {})),
    });
    return answer;
  }

  /** Reports what a part does not do. */
  tell(member: Pick<Member, 'name' | 'role'>, what: string): void {
    this.#missing.set(keyOf(member), shortened(`${member.role} ${member.name}: ${what}`, maxReported));
  }

  /** No report where another part does the same. */
  #tellAbsent({ name, role }: AbsentExpert): void {
    const without = withoutPods[role];
    const other = role === 'Draft' ? this.draft : this.member(role);
    if (without !== undefined && other === undefined) this.tell({ name, role }, `no pods, ${without}`);
  }

  /** Reports whether a feature would change the energies; unknown counts as yes. */
  reads(feature: keyof Features): boolean {
    return this.#reads.get(this.verifier?.url ?? '')?.has(feature) ?? true;
  }

  learnReads(features: readonly (keyof Features)[]): void {
    this.#reads.set(this.verifier?.url ?? '', new Set(features));
  }

  get degraded(): readonly string[] {
    return [...this.#missing.values()];
  }

  get participants(): readonly Participant[] {
    return [...this.#participants.values()];
  }
}

const keyOf = ({ role, name }: Pick<Member, 'name' | 'role'>): string => `${role}/${name}`;

/** Returns the features of a candidate that are known before it is tried, without a request. */
export function featuresBefore(candidate: Candidate, { suspicion }: Pick<RankingContext, 'suspicion'>): Features {
  const { score, location } = candidate;
  const suspicious = suspicion(location.path, location.line);
  return { ...editFeatures(candidate), proposalShare: score, ...(suspicious !== null && { suspicion: suspicious }) };
}

/** Returns the verifier's head for a candidate: commands have the widest effects, so they decide. */
export function headOf({ acts = [] }: Candidate): EnergyHead {
  return acts.length > 0 ? 'Shell' : 'Code';
}
